"""What may be said of a line, a mistake or a threat: claims, each proved on the board and confirmed by a search.

A claim of tactics is about a line that one side begins: a mate, a draw, or material (`winning`).

A claim about a place is about a move and a better one: a fact (`places`) that the line of one leaves and that of
the other does not, where both end quiet with level material. The terms must speak for it, and so must what its piece is
worth to its owner by the strongest net; one of both must make at least half of what the move loses. Searches from both
ends must find that difference again. What belongs to the mover comes first.

A claim about tempo compares a move with a pass. What does not pass is not said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import chess

from merino.core.board.fen import COLOUR_NAMES, MAX_COUNTER
from merino.core.board.game import FIFTY_MOVES, Position
from merino.engine.notation.san import san_line
from merino.engine.report import phrases, places, schema, static
from merino.engine.search.limits import MATE_SCORE, Limits, Score
from merino.study import tactics, winning
from merino.study.judge import Judge, lengthened
from merino.study.lines import PLAYED_ON, SPARED, Course, LineEnd, after_move, end_of, played_on, seen_after

LEAST_OF_SEVERAL = 35  # centipawns that a move must lose for each pawn of several
LEAST_APART = 0.05  # of the points, by which an only move must be better than any other
HARMED = 0.05  # of the points, by which a pass must be better than a move that does harm
HELD, LOST = 0.25, 0.1  # of the points, of a side that has not lost, and of one that has
MIN_PLACE = 15.0  # centipawns that terms must make of a fact
LATEST_PLACE = 10  # plies, the move itself among them, within which a fact of place must show
MATE_SEARCHES = 8  # at most, to find the rest of a mate
NAMED_SHARE = 0.2  # of what a move loses, that a fact must make to be named with another
PLACES_NAMED = 3
MOST_BY_NET = 2
ENDS_TRIED = 3  # pairs of ends of two lines, at which a fact may differ
NEARLY_EVEN = 20  # centipawns that a search after the first move of a draw may find
LONGEST_MATE = 6  # moves of a mate that is shown to its end
SIMPLER = 4  # times fewer nodes than elsewhere prove a threat, or that a move is not the only one
LATER = (PLAYED_ON, 1 / 8, -4), (12, 1 / 4, -2)  # plies of lines played on, with a share of the nodes, or fewer plies
LONGEST_DRAW = 8  # plies within which a draw must be shown


@dataclass(frozen=True)
class Mistake:
    """What kind of mistake a move is, why in a sentence without a full stop, and the line that shows it, as text."""

    kind: str
    sentence: str
    line: str
    claims: tuple[schema.ClaimReport, ...] = ()

    @property
    def text(self) -> str:
        """All of it: "fork allowed: 12...Nc2+ forks the king on e1 and the rook on a1 (12...Nc2+ ...)"."""
        return f"{self.kind}: {self.sentence} ({self.line})"


UNPROVED = "no proved reason"
NO_REASON = "no reason in words could be proved"
GIVEN_AWAY, NOT_GAINED = "position given away", "improvement missed"
# The kinds of claims, each with the mistake of who allows it, and of who misses it.
TACTICS = {
    "mate": ("mate allowed", "mate missed"),
    "takes": ("hanging piece", "free piece left"),
    "promotion": ("passed pawn let through", "promotion missed"),
    "fork": ("fork allowed", "fork missed"),
    "skewer": ("skewer allowed", "skewer missed"),
    "pin": ("pin allowed", "pin missed"),
    "discovered attack": ("discovered attack allowed", "discovered attack missed"),
    "trapped": ("piece trapped", "piece not trapped"),
    "wins material": ("material lost", "material not won"),
}
DRAW_ALLOWED, DRAW_MISSED = "draw allowed", "draw missed"
REPLY_ALLOWED, ONLY_MISSED = "reply overlooked", "only move missed"
THREAT_ALLOWED, THREAT_MISSED = "threat allowed", "threat missed"
HARMFUL, WASTED = "harmful move", "wasted move"
MISTAKES = (*(name for pair in TACTICS.values() for name in pair), DRAW_ALLOWED, DRAW_MISSED, UNPROVED)
MISTAKES += (REPLY_ALLOWED, ONLY_MISSED, THREAT_ALLOWED, THREAT_MISSED, HARMFUL, WASTED, GIVEN_AWAY, NOT_GAINED)

_Reason = tuple[str, Sequence[schema.ClaimReport]]  # the kind of a mistake, and what proves it


class _Candidate(NamedTuple):
    """A fact of place that may be a reason: at the end of the line played or not, its piece, and what it is worth."""

    kind: str
    square: chess.Square
    is_played: bool
    is_own: bool  # of the mover
    favours: chess.Color
    cp: float
    text: str


@dataclass(frozen=True)
class Prover:
    """Makes claims, each confirmed by the judge's search within these limits."""

    judge: Judge
    limits: Limits

    def of_mistake(self, played: int, best: Course, own: Course) -> Mistake:
        """What is wrong with `played` instead of the line `best`; `own` is the line after it, both as searched.

        Where nothing is proved, it is tried again with the lines of longer searches, and with lines played on.
        """
        for better, answer in self._lines(played, best, own):
            whole = Course(best.start, (played, *answer.moves), Score(-answer.score))
            for kind, found in self._reasons(whole, better, answer) if better.score > whole.score else ():
                claim, start = found[0], Position(found[0].fen, best.start.chess960)
                is_better = claim.kind == "material" and not whole.lead(len(claim.line))  # which shows what is missed
                line = line_text(start, claim.other_line if is_better else claim.line)
                return Mistake(kind, " and ".join(each.text for each in found), line, tuple(found))
        name = best.boards[0].san(best.made[0])
        is_mate = best.score.mate is not None or own.score.mate is not None
        by = "" if is_mate else f" by {(int(best.score) + int(own.score)) / 100:.2f}"
        return Mistake(UNPROVED, f"{name} is better{by}; {NO_REASON}", best.text(best.shown))

    def _lines(self, played: int, best: Course, own: Course) -> Iterator[tuple[Course, Course]]:
        """The lines of a better move and after the one played, those of longer searches, and those played on."""
        yield best, own
        longer = lengthened(self.limits, *winning.LONGER)
        line, reply = self.judge.line(best.after(1), longer), self.judge.line(own.start, longer)
        better = Course(best.start, (best.moves[0], *line.pv), seen_after(line.score, -1))
        yield better, Course(own.start, reply.pv, reply.score)
        both = ((played, *reply.pv), better.moves)
        for plies, times, depth in LATER:
            limits = lengthened(self.limits, times, depth)
            answer, later = (played_on(best.start, moves, self.judge, limits, plies).moves for moves in both)
            yield replace(better, moves=later), Course(own.start, answer[1:], reply.score)

    def _reasons(self, whole: Course, best: Course, own: Course) -> Iterator[_Reason]:
        """What the lines of a move played, of a better one, and of the reply, prove, with the kind of the mistake."""
        yield from self._tactics(whole, best, own)
        if (difference := self._winning.difference(whole, best)) is not None:
            pawns, (ply, best_ply), (after, before), text = difference
            wins, other = schema.GainReport(pawns, ply), best.uci(best_ply)
            worse = self._claim("material", own.side, whole, ply, text, (before, after), wins=wins, other=other)
            yield TACTICS["wins material"][0], (worse,)
        for course, kind in ((own, THREAT_ALLOWED), (best, THREAT_MISSED)):
            if (threat := self._threatening(course, whole, best)) is not None:
                yield kind, (threat,)
        if (tempo := self._tempo(whole, best, own)) is not None:
            yield tempo
        if (reply := self._only(own, whole, best)) is not None:
            yield REPLY_ALLOWED, (reply,)
        if found := self._places(whole, best):
            yield (GIVEN_AWAY if found[0].line[0] == best.start.uci(whole.moves[0]) else NOT_GAINED), found
        if (only := self._only(best, whole, best)) is not None:
            yield ONLY_MISSED, (only,)

    def _only(self, course: Course, whole: Course, best: Course) -> schema.ClaimReport | None:
        """Any other move loses half as much as the mistake and 5% of the points, or any other reply gains so much less.

        The move takes nothing, or exchanges men of the same worth, but does not take back.
        """
        is_reply, board = course is not best, course.boards[0]
        without = best if is_reply else whole
        others = [move for move in course.start.legal_moves if move not in course.moves[:1]]
        if not course.moves or not others or abs(course.score) >= 100 * winning.MATING:
            return None
        if board.is_capture(course.made[0]) and not (
            tactics.is_exchange(board, course.made)
            and course.moves[0] not in without.moves
            and (not is_reply or whole.lead(1) == 0)
        ):
            return None
        if is_reply and board.is_check():
            return None  # a check may have but one reply anyway
        least = max(LEAST_APART, winning.COVERED * self.judge.fall(best.start, best.score, whole.score))
        score, longer = course.score, lengthened(self.limits, *winning.LONGER)
        shorter = lengthened(self.limits, 1 / SIMPLER, -2)
        for within, is_alone in ((shorter, False), (self.limits, False), (longer, False), (longer, True)):
            if is_alone:
                score = self.judge.line(course.start, replace(within, search_moves=list(course.moves[:1]))).score
            else:
                second = self.judge.line(course.start, replace(within, search_moves=others))
            scores = (Score(-second.score), Score(-score)) if is_reply else (score, second.score)
            if self.judge.fall(best.start, *scores) < least:
                return None
        at_least, at_most = self.judge.shares(course.start, score)[0], self.judge.shares(course.start, second.score)[-1]
        holds = at_least >= HELD and at_most <= LOST
        if not holds and max(abs(score), abs(second.score)) >= 100 * winning.MATING:
            return None
        targets = tactics.attacked(course.boards[1], course.made[0].to_square)
        named = [(board, square) for square in (course.made[0].from_square, *targets)]
        does = f"{does} and " if (does := tactics.deeds(board, course.made)) else ""
        kind, ahead = "reply" if is_reply else "move", f"{(score - second.score) / 100:.2f}"
        by = f"is the only {kind} that does not lose" if holds else f"is better than any other {kind} by {ahead}"
        said = f"{whole.boards[0].san(whole.made[0])} allows {course.opening}, which" if is_reply else course.opening
        seen, other = (second.score, score), (course.start.uci(second.pv[0]),)
        text = f"{said} {does}{by}"
        plies = max(course.shown, 1 + tactics.is_exchange(board, course.made))
        return self._claim("only move", course.side, course, plies, text, seen, pieces=named, other=other)

    def _tempo(self, whole: Course, best: Course, reply: Course) -> _Reason | None:
        """A pass is better than the move by three searches, and no better than the recommended one.

        Where it is better by 1.00 and 5% of the points the move does harm, else it takes and gains nothing.
        """
        if (passed := _after_pass(whole.start)) is None:
            return None
        for within in (lengthened(self.limits, 1 / SIMPLER, -2), self.limits, lengthened(self.limits, *winning.LONGER)):
            idle, own = (Score(-self.judge.line(at, within).score) for at in (passed, whole.after(1)))
            if any(score.mate for score in (idle, own, best.score)) or not own < idle <= best.score:
                return None
        board, harm, other = whole.boards[0], idle - own, tuple[str, ...]()
        if harm >= winning.BETTER_OFF and self.judge.expected(idle) - self.judge.expected(own) >= HARMED:
            kind, better = HARMFUL, f"better by {harm / 100:.2f}"
            does = self._allowing(reply, passed, idle + winning.COVERED * harm)
        elif board.is_capture(whole.made[0]):
            return None
        else:
            kind, better, does = WASTED, "at least as good", "gains nothing"
            if instead := tactics.deeds(board, best.made):
                does, other = f"{does}, where {board.san(best.made[0])} {instead}", best.uci(2)
        text, plies = f"{board.san(whole.made[0])} {does}: a pass would be {better}", max(3, whole.shown)
        return kind, (self._claim("tempo", not whole.side, whole, plies, text, (idle, own), other=other),)

    def _allowing(self, reply: Course, passed: Position, least: float) -> str:
        """The reply that a move allows: after a pass it is not legal, or leaves the mover `least`; what it does."""
        same = [move for move in passed.legal_moves if passed.uci(move) in reply.uci(1)]
        limits = replace(self.limits, search_moves=same)
        if not reply.moves or (same and -self.judge.line(passed, limits).score < least):
            return "does harm"
        does = tactics.deeds(reply.boards[0], reply.made)
        return f"allows {reply.opening}" + (f", which {does}" if does else "")

    def _threatening(self, course: Course, whole: Course, best: Course) -> schema.ClaimReport | None:
        """What the first move of a line threatens to win soon, if it is a piece and enough.

        The move takes nothing, gives no check, and without it not half as much is threatened or taken: after the move
        played, or where the better move has been answered in the same way.
        """
        is_reply = course is not best
        if not course.moves or course.boards[0].is_capture(course.made[0]):
            return None
        found = replace(self, limits=lengthened(self.limits, 1 / SIMPLER, -2)).threat(course.after(1))
        if found is None or not found[0].text.startswith(found[1].opening):
            return None
        claim, line, _ = found
        worth = winning.MATING if claim.wins is None else claim.wins.pawns
        is_late = claim.wins is not None and claim.wins.ply > winning.SIMPLE
        if is_late or worth < tactics.MIN_PIECE_WON or 100 * worth < winning.COVERED * (best.score - whole.score):
            return None
        without, had = (best.after(1), 0) if is_reply else (whole.after(1), whole.lead(1))
        if not is_reply or course.moves[0] in without.legal_moves:
            passed = _after_pass(after_move(without, *course.moves[:is_reply]))
            if passed is not None and 2 * (had + self._wins(passed)) >= worth:
                return None
        first = course.boards[0].san(course.made[0])
        allowed = f"{whole.boards[0].san(whole.made[0])} allows {first} and the threat of"
        said = f"{allowed if is_reply else f'{first} threatens'} {line.opening}"
        return replace(claim, text=f"{said}, which{claim.text.removeprefix(line.opening)}")

    def _wins(self, position: Position) -> int:
        """The pawns that the side to move wins, by a count of material or by the judge's line."""
        line = self.judge.line(position, self.limits)
        return max(Course(position, line.pv, line.score).kept, self._winning.count(position).pawns)

    def of_line(self, course: Course) -> schema.ClaimReport | None:
        """What the side that begins a line wins by it: a mate or material; None if nothing is proved."""
        return self._mate(course) or self._win(course)

    def threat(self, position: Position) -> tuple[schema.ClaimReport, Course, int] | None:
        """What the other side would win if it were to move, with its line and depth; None if nothing, or in check."""
        if (passed := _after_pass(position)) is None:
            return None
        for line in self.judge.analyse(passed, self.limits):
            course = Course(passed, line.pv, line.score)
            claim = self.of_line(course)
            return None if claim is None else (claim, course, line.depth)
        return None

    # Tactics

    def _tactics(self, whole: Course, best: Course, own: Course) -> Iterator[_Reason]:
        """What the reply gains, then what the better move would have gained, each with the kind of the mistake."""
        for course, is_missed in ((own, False), (best, True)):
            if (claim := self._mate(course)) is not None:
                yield TACTICS["mate"][is_missed], (claim,)
        loss = int(best.score) + int(own.score)
        drawing = own if own.moves else whole
        if best.score > 0 and (claim := self._draw(drawing)) is not None:
            yield DRAW_ALLOWED, (claim,)
        lost, won = self._win(own, whole.lead(1)), self._win(best)
        less, more = (0 if claim is None or claim.wins is None else claim.wins.pawns for claim in (lost, won))
        less -= whole.lead(1)
        if lost and _is_worth(less, less + best.kept, loss) and (said := _of_played(lost, whole, own)):
            yield self._name(said, is_missed=False), (said,)
        is_missed = whole.lead(1) <= 0 or more > whole.kept
        if won and is_missed and _is_worth(more + max(0, less), more - whole.kept, loss):
            yield self._name(won, is_missed=True), (won,)
        if best.score == 0 and own.score > 0 and (claim := self._draw(best)) is not None:
            yield DRAW_MISSED, (claim,)

    def _name(self, claim: schema.ClaimReport, is_missed: bool) -> str:
        """The kind of mistake that allows or misses what is claimed."""
        if claim.kind == "takes" and claim.pieces[0].piece in "Pp":
            return ("hanging pawn", "free pawn left")[is_missed]
        return TACTICS[claim.kind][is_missed]

    def _mate(self, course: Course) -> schema.ClaimReport | None:
        """The line ends in checkmate, and a search after its first move sees the mate, too."""
        mate = course.score.mate
        if mate is None or not 0 < mate <= LONGEST_MATE:
            return None
        moves, position = list(course.moves[: 2 * mate - 1]), course.after(min(len(course.moves), 2 * mate - 1))
        for _ in range(MATE_SEARCHES):
            if position.outcome() or len(moves) >= 2 * mate - 1:
                break
            (line,) = self.judge.analyse(position, self.limits) or (None,)
            if line is None or line.score.mate is None or (line.score.mate > 0) != (len(moves) % 2 == 0):
                return None
            found = line.pv[: 2 * mate - 1 - len(moves)]
            moves, position = [*moves, *found], after_move(position, *found)
        if not position.is_checkmate():
            return None
        whole, count = Course(course.start, moves, course.score), (len(moves) + 1) // 2
        for line in self.judge.lines(whole.after(1), self.limits, len(whole.after(1).legal_moves)):
            if line.score.mate is None or not 1 - count <= line.score.mate <= 0:
                return None
        text = f"{course.opening} mates in {count}" if count > 1 else f"{course.opening} is mate"
        return self._claim("mate", course.side, whole, len(moves), text, (course.score, MATE_SCORE))

    def _draw(self, course: Course) -> schema.ClaimReport | None:
        """The line ends in this draw within 8 plies, a repetition by checks alone, and its score is 0.00."""
        kind = course.score == 0 and course.draw
        if not kind or len(course.moves) > LONGEST_DRAW:
            return None
        how = tactics.DRAWS[kind]
        text = f"{course.opening} {how}" if len(course.moves) <= 2 else f"the line from {course.opening} {how}"
        if course.moves and abs(self.judge.line(course.after(1), self.limits).score) > NEARLY_EVEN:
            return None
        return self._claim(kind, course.side, course, len(course.moves), text, (0, 0))

    def _win(self, course: Course, owed: int = 0) -> schema.ClaimReport | None:
        """What material a line wins beyond what is owed, or another one as good."""
        if (won := self._winning.of(course, owed)) is None:
            return None
        kind, line, gain, squares, text, after = won
        pieces = [(line.boards[0], square) for square in squares]
        return self._claim(kind, line.side, line, gain.ply, text, (line.score, after), pieces=pieces, wins=gain)

    @cached_property
    def _winning(self) -> winning.Winning:
        return winning.Winning(self.judge, self.limits)

    def _places(self, whole: Course, best: Course) -> list[schema.ClaimReport]:
        """What the move gives away or does not gain by place, the mover's own first, the largest first."""
        if whole.score.mate is not None or best.score.mate is not None:
            return []
        scores, loss = (best.score, whole.score), int(best.score) - int(whole.score)
        for plies in _level_ends(whole, best):
            here, there = (end_of(*line, self.judge.narrator) for line in zip((whole, best), plies, strict=True))
            if not (found := _covering(list(_place_candidates(here, there, best.side)), loss)):
                continue
            own_end, best_end = (self._winning.farther(*end)[0] for end in zip((whole, best), plies, strict=True))
            shown, whole_fall = (self.judge.fall(best.start, *pair) for pair in ((best_end, own_end), scores))
            if shown >= winning.COVERED * whole_fall:
                ends = (whole, plies[0], own_end), (best, plies[1], best_end)
                return [self._place(each, *(ends if each.is_played else ends[::-1])) for each in found]
        return []

    def _place(
        self, found: _Candidate, end: tuple[Course, int, int], other: tuple[Course, int, int]
    ) -> schema.ClaimReport:
        """The claim of a fact at the end of a line of so many plies, with its score, and not at that of another."""
        (course, ply, score), (other_course, other_ply, before) = end, other
        pieces, text = [(course.boards[ply], found.square)], f"{found.text} ({found.cp / 100:.2f})"
        against = other_course.uci(other_ply)
        return self._claim(found.kind, found.favours, course, ply, text, (before, score), pieces=pieces, other=against)

    # Searches and certificates

    def _claim(
        self,
        kind: str,
        favours: chess.Color,
        course: Course,
        plies: int,
        text: str,
        scores: tuple[int, int],
        *,
        pieces: Sequence[tuple[chess.Board, chess.Square]] = (),
        wins: schema.GainReport | None = None,
        other: tuple[str, ...] = (),
    ) -> schema.ClaimReport:
        """A claim about so many plies of a line, or about its end and that of another; scores are before and after."""
        named = [schema.NamedPieceReport(board.piece_map()[at].symbol(), chess.square_name(at)) for board, at in pieces]
        seen = (static.report_score(Score(score), course.start.side, self.judge.expected) for score in scores)
        proof, fen = schema.ProofReport(self.judge.name, self.limits.nodes or 0, *seen), course.start.fen()
        side = "white" if favours else "black"
        return schema.ClaimReport(kind, side, fen, tuple(named), course.uci(plies), other, wins, proof, text)


def _after_pass(position: Position) -> Position | None:
    """The position after a move that changes nothing; None in check, or where the game is over before or after."""
    board = position.to_chess(stack=False)
    if board.is_check() or not position.legal_moves:
        return None
    board.push(chess.Move.null())  # its counters may get beyond those that a FEN may have
    counters = f"{min(board.halfmove_clock, FIFTY_MOVES)} {min(board.fullmove_number, MAX_COUNTER)}"
    passed = Position(f"{board.epd()} {counters}", position.chess960)
    return passed if passed.legal_moves else None


def _is_worth(pawns: int, at_last: int, loss: int) -> bool:
    """Whether a move loses enough for so many pawns to be its reason: less, if some are lost where both lines end."""
    each = LEAST_OF_SEVERAL if at_last >= tactics.MIN_GAIN else winning.LEAST_PER_PAWN
    return loss >= max(winning.LEAST_PER_PAWN, each * min(pawns, SPARED))


def _of_played(claim: schema.ClaimReport, whole: Course, own: Course) -> schema.ClaimReport | None:
    """A claim about the reply, whose sentence says what the move loses by it if it is the man just moved that falls.

    That man may be exchanged, and something else lost. None where the move has taken more than half of what the reply
    wins, so that what is lost in the end cannot be named.
    """
    board, move = whole.boards[0], whole.made[0]
    line = Course(own.start, own.start.copy().push_all(claim.line), own.score)  # `own`, or another one as good
    fallen = chess.parse_square(claim.pieces[0].square), tactics.taken_on(line.boards[0], line.made[0])
    if claim.kind not in ("takes", "wins material") or move.to_square not in fallen:
        is_little = claim.wins is not None and 2 * whole.lead(1) <= claim.wins.pawns
        return claim if claim.kind != "wins material" or is_little else None
    given, taken = tactics.exchanged(board, line.boards[-1], whole.side)
    if not given:
        return None
    kind = tactics.kind_at(board, move.from_square)
    lost = f"the {chess.piece_name(kind)}" if given.total() == given[kind] == 1 else phrases.listed(given)
    lost = f"{lost} for {phrases.listed(taken)}" if taken else lost
    verb = "loses" if kind in given else f"exchanges {chess.piece_name(kind)}s and loses"
    said = claim.kind if kind in given else "wins material"
    return replace(claim, kind=said, text=f"{board.san(move)} {verb} {lost}: {line.opening}")


def rules() -> dict[str, str]:
    """What each kind of claim asks of the board, in a sentence or two."""
    by: dict[str, object] = {"mate": Prover._mate, **winning.MEANS}
    by |= {"material": winning.Winning.difference, "only move": Prover._only, "tempo": Prover._tempo}
    by |= dict.fromkeys(tactics.DRAWS, Prover._draw) | {kind: fact.holds for kind, fact in places.FACTS.items()}
    return {kind: " ".join(str(rule.__doc__).split()) for kind, rule in by.items()}


# Places


def _level_ends(whole: Course, best: Course) -> list[tuple[int, int]]:
    """The plies to quiet ends of two lines with level material, the line played first; the latest first, a few."""
    ends = [course.quiet(LATEST_PLACE) for course in (whole, best)]
    pairs = [(own, other) for own in ends[0] for other in ends[1] if whole.lead(own) == best.lead(other)]
    return sorted(pairs, key=lambda pair: (min(pair), sum(pair)), reverse=True)[:ENDS_TRIED]


def _covering(found: Sequence[_Candidate], loss: int) -> list[_Candidate]:
    """The fewest facts at the end of one of the lines that cover enough of what a move loses, the mover's own first.

    A kind is named once.
    """
    for is_played in (True, False):
        chosen = dict[str, _Candidate]()
        for each in sorted(found, key=lambda each: (not each.is_own, -each.cp)):
            if each.is_played == is_played and len(chosen) < PLACES_NAMED and each.cp >= NAMED_SHARE * loss:
                chosen.setdefault(each.kind, each)
                if sum(own.cp for own in chosen.values()) >= winning.COVERED * loss:
                    return list(chosen.values())
    return []


def _place_candidates(here: LineEnd, there: LineEnd, mover: chess.Color) -> Iterator[_Candidate]:
    """Facts at the end of the line played that are bad for the mover, and at that of the better line that are good.

    They are new, and the other line does not come to them later. What terms make of a kind is shared by the places
    where it holds.
    """
    for kind, fact in places.FACTS.items():
        cp = _by_terms(here, there, mover, kind)
        held = [
            (end, found, is_played, owner)
            for end, other, is_played in ((here, there, True), (there, here, False))
            for owner in chess.COLORS
            if (owner == mover) == (fact.is_good != is_played)
            for found in places.differing(kind, end.board, other.board, owner)
            if all(found in places.differing(kind, end.board, board, owner) for board in other.others)
        ]
        for end, found, is_played, owner in held:
            text = places.sentence(kind, end.board, [found], places.HOLDS if is_played else places.WOULD)
            (origin,) = (origin for origin, square in end.squares.items() if square == found.square)
            if worth := _worth(cp / len(held), origin, owner == mover, here, there):
                favours = owner if fact.is_good else not owner
                yield _Candidate(kind, found.square, is_played, owner == mover, favours, worth, text)


def _by_terms(here: LineEnd, there: LineEnd, mover: chess.Color, kind: str) -> float:
    """The centipawns that the mover has more at the end of the better line by terms, usual at both, of a kind."""
    names = [name for name in here.terms if name in there.terms and kind in phrases.counted(name)]
    cp = sum(there.terms[name] - here.terms[name] for name in names)
    return cp if mover else -cp


def _worth(by_terms: float, origin: chess.Square, is_own: bool, here: LineEnd, there: LineEnd) -> float:
    """The centipawns that a fact of a piece makes: by the terms, or by what the piece is worth to its owner.

    0 unless both speak for it; of a king, or of a piece that one line loses, only the terms can. In sharp positions a
    piece may be worth anything to a net, so that counts as MOST_BY_NET times what the terms say at most.
    """
    if origin not in here.worths or origin not in there.worths:
        return by_terms if by_terms >= MIN_PLACE else 0.0
    by_net = (there.worths[origin] - here.worths[origin]) * (1 if is_own else -1)
    both_say_so = min(by_terms, by_net) >= MIN_PLACE
    return max(by_terms, min(by_net, MOST_BY_NET * by_terms)) if both_say_so else 0.0


def line_text(start: Position, line: Sequence[str]) -> str:
    """Moves, coordinates, with their numbers."""
    return san_line(start.to_chess(stack=False), start.copy().push_all(line))


def threat_text(claim: schema.ClaimReport, course: Course) -> str:
    """What the other side threatens, as a sentence with the line."""
    side, line = COLOUR_NAMES[0 if course.side else 1], course.text(len(claim.line))
    if claim.kind == "mate":
        return f"{side} threatens mate in {(len(claim.line) + 1) // 2}: {line}."
    name = course.boards[0].san(course.made[0])
    what = f"it{claim.text.removeprefix(course.opening)}" if claim.text.startswith(course.opening) else claim.text
    return f"{side} threatens {name}: {what} ({line})."
