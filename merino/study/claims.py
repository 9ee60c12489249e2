"""What may be said of a line, a mistake or a threat: claims, each proved on the board and confirmed by a search.

A claim of tactics is about a line that one side begins: a mate, a draw, or material. Material counts where it is won
within `LATEST` plies and nothing can be taken at a profit any more; a second search from there must agree. How it is
won is named by the first rule that holds: by a fork, a pin, or, if by nothing else, by the pieces that fall.

A claim about a place is about a move and a better one: a fact (`places`) that the line of one leaves and that of
the other does not, where both end quiet with level material. Its terms must make at least half of what the move loses,
and searches from both ends must find that difference again. What belongs to the mover comes first.

What does not pass is not said.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import chess

from merino.core.board.fen import COLOUR_NAMES, MAX_COUNTER
from merino.core.board.game import FIFTY_MOVES, Position
from merino.core.common.text import counted
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report import phrases, places, schema, static
from merino.engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, Limits, Line, Score
from merino.engine.search.searcher import Searcher
from merino.eval import families
from merino.eval.evaluation import Evaluation
from merino.study import tactics
from merino.study.judge import Judge, by_search, lengthened
from merino.study.lines import LineEnd, end_after

LATEST = 7  # plies within which material must be won
FOLLOWED = 12  # plies of a line that must not give it back
MAX_FALL = 50  # centipawns that the second search may find less than the first
SPARED = 3  # pawns from which on a defence may save one
WON = 600  # centipawns of a side that is winning anyway: what it has more or less there is no test
LEAST_AFTER = 100  # centipawns of a side that has won a piece
LEAST_PER_PAWN = 60  # centipawns that a move must lose for each pawn that is said to be lost
MIN_PLACE = 15.0  # centipawns that terms must make of a fact
LATEST_PLACE = 10  # plies, the move itself among them, within which a fact of place must show
COVERED = 0.5  # of what a move loses, that a fact must make
MATE_SEARCHES = 8  # at most, to find the rest of a mate
NAMED_SHARE = 0.2  # of what a move loses, that a fact must make to be named with another
PLACES_NAMED = 3
AS_GOOD = 10  # centipawns that another line that wins material may be worse by
COUNTING = 100_000  # nodes of the search that counts material
COUNTER_MB = 8
COUNTED = (*tactics.PIECES, chess.PAWN)
LONGER = 3, 2  # times the nodes, or more plies, of a search that must not change a score
NEARLY_EVEN = 20  # centipawns that a search after the first move of a draw may find
LONGEST_MATE = 6  # moves of a mate that is shown to its end
LONGEST_DRAW = 8  # plies within which a draw must be shown


class ScoredLine(NamedTuple):
    """A line, and its score as the side that begins it sees it; without moves and 0 where the game is over."""

    moves: Sequence[int]
    score: Score


def least_of(pawns: int) -> int:
    """What a defence must leave of so many pawns."""
    return pawns - (pawns >= SPARED)


def for_beginner(value: int, ply: int) -> int:
    """A value for the side to move after so many plies, for the side that begins the line."""
    return value if ply % 2 == 0 else -value


@cache
def counting() -> Evaluation:
    """An evaluation that counts nothing but material."""
    evaluation = families.default()
    worth = {f"VAL_{chess.piece_symbol(kind).upper()}": 100.0 * tactics.WORTH[kind] for kind in COUNTED}
    return evaluation.with_numbers({name: worth.get(name[:5], 0.0) for name in evaluation.numbers})


class Counted(NamedTuple):
    """The moves of a line, and the pawns that the side to move wins by it."""

    moves: Sequence[int]
    pawns: int


def as_found(line: Line | None) -> ScoredLine:
    """A line of a search; None is that of a game that is over."""
    return ScoredLine((), Score(0)) if line is None else ScoredLine(line.pv, line.score)


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
DIFFERENCE = TACTICS["wins material"][0]
DRAWS = ("repetition", "stalemate", "too little material", "fifty moves")
DRAW_ALLOWED, DRAW_MISSED = "draw allowed", "draw missed"
MISTAKES = (*(name for pair in TACTICS.values() for name in pair), DRAW_ALLOWED, DRAW_MISSED)
MISTAKES += (GIVEN_AWAY, NOT_GAINED, UNPROVED)


@dataclass(frozen=True)
class Course:
    """A line from a position, with the boards along it."""

    start: Position
    moves: tuple[int, ...]
    score: Score  # of the side that begins it

    @property
    def side(self) -> chess.Color:
        """Who begins it."""
        return self.boards[0].turn

    @cached_property
    def made(self) -> tuple[chess.Move, ...]:
        """Its moves for python-chess."""
        return tuple(as_chess_move(move, self.start.chess960) for move in self.moves)

    @cached_property
    def boards(self) -> list[chess.Board]:
        """The board before the first move and after each."""
        return tactics.boards_along(board_of(self.start), self.made)

    @cached_property
    def falls(self) -> list[tuple[int, chess.Square, chess.PieceType]]:
        """The men of the other side that are taken: the ply, the square where each stood at first, and its kind."""
        at, found = {square: square for square in self.boards[0].piece_map()}, []
        for ply, (board, move) in enumerate(zip(self.boards, self.made, strict=False), start=1):
            taken = tactics.taken_on(board, move)
            if taken is not None:
                origin = at.pop(taken)
                if board.turn == self.side:
                    found.append((ply, origin, tactics.kind_at(self.boards[0], origin)))
            tactics.carry(at, board, move)
        return found

    @cached_property
    def gains(self) -> list[schema.GainReport]:
        """What the side that begins it has by `LATEST` where nothing can be taken back, and keeps later, most first."""
        last = min(len(self.moves), FOLLOWED)
        quiet = {ply: won for ply in range(last, 0, -1) if (won := self._secured(ply)) == self.lead(ply)}
        kept, nearly, least = dict[int, int](), dict[int, int](), 1000
        for ply, pawns in quiet.items():
            if pawns >= tactics.MIN_GAIN and ply <= LATEST and least_of(pawns) <= least:
                (kept if pawns <= least else nearly)[pawns] = ply
            least = min(least, pawns)
        found = kept or nearly
        return [schema.GainReport(pawns, found[pawns]) for pawns in sorted(found, reverse=True)]

    @property
    def gain(self) -> schema.GainReport | None:
        """The most of these; None for nothing."""
        return next(iter(self.gains), None)

    def with_tail(self, plies: int, moves: Sequence[int]) -> Self:
        """The course of so many of its moves, followed by others."""
        return replace(self, moves=(*self.moves[:plies], *moves[: FOLLOWED - plies]))

    def wins(self, pawns: int) -> bool:
        """Whether the side that begins it wins so many pawns or more in it."""
        return self.gain is not None and self.gain.pawns >= pawns

    def _secured(self, ply: int) -> int | None:
        """What the side that begins it has won and keeps after so many plies; None during an exchange.

        If it is the side's turn there, it can save one man: only the second largest capture counts.
        """
        board = self.boards[ply]
        if tactics.can_promote(board) or (board.turn == self.side and tactics.best_capture(board)):
            return None
        if board.turn != self.side:
            return self.lead(ply) - tactics.best_capture(board)
        return self.lead(ply) - tactics.second_threat(board)

    def ahead(self, ply: int) -> int:
        """The pawns by which the side that begins it is ahead after so many plies."""
        return tactics.balance(self.boards[ply], self.side)

    def lead(self, ply: int) -> int:
        """The pawns that the side that begins it has won after so many plies."""
        return self.ahead(ply) - self.ahead(0)

    def quiet(self, last: int) -> list[int]:
        """The plies, `last` at most, after which nothing can be taken at a profit."""
        return [ply for ply in range(1, min(len(self.moves), last) + 1) if tactics.is_quiet(self.boards[ply])]

    def text(self, plies: int) -> str:
        """So many of its moves with their numbers."""
        return self.boards[0].variation_san(list(self.made[:plies]))

    @property
    def opening(self) -> str:
        """Its first move with its number: "12...Nc2+"."""
        return self.text(1).replace(". ", ".", 1).replace("... ", "...", 1)

    def uci(self, plies: int) -> tuple[str, ...]:
        """So many of its moves as UCI writes them."""
        return tuple(self.start.uci(move) for move in self.moves[:plies])

    def after(self, plies: int) -> Position:
        """The position after so many of its moves."""
        found = self.start.copy()
        for move in self.moves[:plies]:
            found.push(move)
        return found


@dataclass(frozen=True)
class Prover:
    """Makes claims, each confirmed by the judge's search within these limits."""

    judge: Judge
    limits: Limits
    _counts: dict[tuple[Any, ...], Counted] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of_mistake(self, position: Position, played: int, better: ScoredLine, reply: ScoredLine) -> Mistake:
        """What is wrong with `played` instead of the line `better`; `reply` is the line after it, both as searched."""
        best = Course(position, tuple(better.moves), better.score)
        own = Course(best_after(position, played), tuple(reply.moves), reply.score)
        for claim, kind, course in self._tactics(played, best, own):
            return Mistake(kind, claim.text, _text(course.start, claim.line), (claim,))
        whole = Course(best.start, (played, *own.moves), Score(-own.score))
        worse = self._difference(whole, best)
        if worse is not None:
            shown = worse.line if whole.lead(len(worse.line)) else worse.other_line
            return Mistake(DIFFERENCE, worse.text, _text(best.start, shown), (worse,))
        found = self._places(whole, best)
        if found:
            kind = GIVEN_AWAY if found[0].line[0] == best.start.uci(played) else NOT_GAINED
            sentence = " and ".join(claim.text for claim in found)
            return Mistake(kind, sentence, _text(best.start, found[0].line), tuple(found))
        line = (best if best.moves else own).text(LATEST)
        return Mistake(UNPROVED, self._unproved(best, own), line)

    def of_line(self, course: Course) -> schema.ClaimReport | None:
        """What the side that begins a line wins by it: a mate or material; None if nothing is proved."""
        return self._mate(course) or self._win(course)

    def threat(self, position: Position) -> tuple[schema.ClaimReport, Course, int] | None:
        """What the other side would win if it were to move, with its line and depth; None if nothing, or in check."""
        board = board_of(position)
        if board.is_check() or not position.legal_moves:
            return None
        board.push(chess.Move.null())  # its counters may get beyond those that a FEN may have
        counters = f"{min(board.halfmove_clock, FIFTY_MOVES)} {min(board.fullmove_number, MAX_COUNTER)}"
        passed = Position(f"{board.epd()} {counters}", position.chess960)
        if not passed.legal_moves:
            return None
        for line in self.judge.analyse(passed, self.limits):
            course = Course(passed, tuple(line.pv), line.score)
            claim = self.of_line(course)
            return None if claim is None else (claim, course, line.depth)
        return None

    # Tactics

    def _tactics(self, played: int, best: Course, own: Course) -> Iterator[tuple[schema.ClaimReport, str, Course]]:
        """What the reply gains, then what the better move would have gained, each with the kind of the mistake."""
        for course, is_missed in ((own, False), (best, True)):
            if (claim := self._mate(course)) is not None:
                yield claim, TACTICS["mate"][is_missed], course
        loss = int(best.score) + int(own.score)
        drawing = own if own.moves else Course(best.start, (played,), Score(-own.score))
        if best.score > 0 and (claim := self._draw(drawing)) is not None:
            yield claim, DRAW_ALLOWED, drawing
        taken = tactics.balance(own.boards[0], best.side) - tactics.balance(best.boards[0], best.side)
        lost, won = self._win(own), self._win(best)
        net, more = (0 if claim is None or claim.wins is None else claim.wins.pawns for claim in (lost, won))
        net -= taken
        if lost and min(net, net + more) >= tactics.MIN_GAIN and _is_worth(net, loss, best, own):
            said = _of_played(lost, played, best, own)
            if said is not None:
                yield said, self._name(lost, is_missed=False), own
        if won and more + net >= tactics.MIN_GAIN and taken <= 0 and _is_worth(more + net, loss, best, own):
            yield won, self._name(won, is_missed=True), best
        if best.score == 0 and own.score > 0 and (claim := self._draw(best)) is not None:
            yield claim, DRAW_MISSED, best

    def _name(self, claim: schema.ClaimReport, is_missed: bool) -> str:
        """The kind of mistake that allows or misses what is claimed."""
        if claim.kind == "takes" and claim.pieces[0].piece in "Pp":
            return ("hanging pawn", "free pawn left")[is_missed]
        return TACTICS[claim.kind][is_missed]

    def _mate(self, course: Course) -> schema.ClaimReport | None:
        """A mate that is shown to its end."""
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
            for move in line.pv[: 2 * mate - 1 - len(moves)]:
                moves.append(move)
                position.push(move)
        if not position.is_checkmate():
            return None
        whole = Course(course.start, tuple(moves), course.score)
        if int(self._search(whole.after(1)).score) > -MATE_IN_MAX_PLY:
            return None
        count = (len(moves) + 1) // 2
        text = f"{course.opening} mates in {count}" if count > 1 else f"{course.opening} is mate"
        return self._claim("mate", whole, len(moves), (), None, text, Score(MATE_SCORE))

    def _draw(self, course: Course) -> schema.ClaimReport | None:
        """A draw in which a line ends."""
        kind = course.score == 0 and drawn(course)
        if not kind or len(course.moves) > LONGEST_DRAW:
            return None
        how = "draws by repetition" if kind == "repetition" else tactics.drawing(course.boards[-1])
        text = f"{course.opening} {how}" if len(course.moves) <= 2 else f"the line from {course.opening} {how}"
        if course.moves and abs(self._search(course.after(1)).score) > NEARLY_EVEN:
            return None
        return self._claim(kind, course, len(course.moves), (), None, text, Score(0))

    def _win(self, course: Course) -> schema.ClaimReport | None:
        """What material a line wins, or another one as good, that a search finds which counts nothing else."""
        counted = self._count(course.start)
        if not course.moves or counted.pawns < tactics.MIN_GAIN:
            return None
        claim = self._won_in(course)
        if claim is None and (other := self._as_good(course, counted.moves)) is not None:
            claim = self._won_in(other)
        return claim

    def _as_good(self, course: Course, moves: Sequence[int]) -> Course | None:
        """Another line from the same position; None if the judge finds its first move worse."""
        score = course.score
        if moves[0] != course.moves[0]:
            (line,) = self.judge.analyse(course.start, replace(self.limits, search_moves=[moves[0]]))
            score = line.score
        return None if score < course.score - AS_GOOD else Course(course.start, tuple(moves), score)

    def _won_in(self, course: Course) -> schema.ClaimReport | None:
        """What material a line wins, and by which of the means; None if it is not proved."""
        for gain in course.gains:
            if self._count(course.start, course.moves[:1]).pawns < least_of(gain.pawns):
                continue
            end = course.after(gain.ply)
            line = self._search(end)
            after = line.score if gain.ply % 2 == 0 else Score(-line.score)
            is_kept = course.with_tail(gain.ply, line.moves).wins(gain.pawns)
            if is_kept and self._agrees(course, gain, after) and self._is_forced(course, gain):
                for kind, named in _MEANS.items():
                    if (found := named(course, gain)) is not None:
                        pieces, text = found
                        return self._claim(kind, course, gain.ply, pieces, gain, text, after)
        return None

    def _agrees(self, course: Course, gain: schema.GainReport, after: Score) -> bool:
        """Whether the scores of a line speak of what it wins, before and after it: a pawn decides no game."""
        if abs(after) >= WON:
            return gain.pawns >= SPARED and (after > 0) == (course.score > 0)
        if gain.pawns >= SPARED:
            return after >= max(course.score - MAX_FALL, LEAST_AFTER)
        is_same = abs(after - course.score) <= MAX_FALL
        return is_same and after >= LEAST_PER_PAWN * min(gain.pawns, course.ahead(gain.ply))

    def _is_forced(self, course: Course, gain: schema.GainReport) -> bool:
        """Whether no defence that a search finds, at each turn of the other side, saves more than a pawn of several.

        The first move must keep the score, where it wins no piece in a longer search.
        """
        limits = lengthened(self.limits, *LONGER) if gain.pawns < SPARED else self.limits
        first = as_found(self.judge.line(course.after(1), limits))
        if -first.score < min(course.score - MAX_FALL, WON):
            return False
        defences = {1: first} | {ply: self._search(course.after(ply)) for ply in range(3, gain.ply, 2)}
        least = least_of(gain.pawns)
        return all(course.with_tail(ply, defence.moves).wins(least) for ply, defence in defences.items())

    @cached_property
    def _counter(self) -> Judge:
        """A search that counts nothing but material."""
        return by_search(Searcher(COUNTER_MB, 1, counting()), counting(), "material", is_forgetful=True)

    def _count(self, position: Position, first: Sequence[int] = ()) -> Counted:
        """The pawns that the side to move wins by force, all or by one of the `first` moves, and by which line."""
        asked = position.start_fen(), tuple(position.moves), tuple(first)
        if asked not in self._counts:
            board = board_of(position)
            line = self._counter.line(position, Limits(nodes=COUNTING, search_moves=list(first)))
            pawns = round(line.score / 100) - tactics.balance(board, board.turn)
            self._counts[asked] = Counted(tuple(line.pv), pawns)
        return self._counts[asked]

    # Two lines

    def _difference(self, whole: Course, best: Course) -> schema.ClaimReport | None:
        """How much more material the better line has where both end quiet, and nothing changes it any more."""
        plies = _settled(whole, LATEST + 1, 1), _settled(best, LATEST, -1)
        if not all(plies) or not whole.moves or best.score.mate is not None or whole.score.mate is not None:
            return None
        pawns = best.lead(plies[1]) - whole.lead(plies[0])
        loss = int(best.score) - int(whole.score)
        if pawns < tactics.MIN_GAIN or loss < LEAST_PER_PAWN * min(pawns, SPARED):
            return None
        counted = [self._count(course.after(ply)).pawns for course, ply in zip((whole, best), plies, strict=True)]
        own, other = map(for_beginner, counted, plies)
        certain = pawns + other - own
        ends = self._scores_at(whole, best, plies)
        is_far = max(map(abs, ends)) >= WON and pawns < SPARED
        if is_far or max(counted) > 0 or certain < least_of(pawns) or ends[1] - ends[0] < COVERED * loss:
            return None
        names = (course.boards[0].san(course.made[0]) for course in (whole, best))
        text = f"{' comes out worse than '.join(names)} by {_worse_by(whole, best, plies)}"
        return schema.ClaimReport(
            "material",
            _side(not whole.side),
            whole.start.fen(),
            (),
            whole.uci(plies[0]),
            best.uci(plies[1]),
            schema.GainReport(pawns, plies[0]),
            self._proof(Score(ends[1]), Score(ends[0]), whole.start.side),
            text,
        )

    def _scores_at(self, whole: Course, best: Course, plies: tuple[int, int]) -> tuple[int, int]:
        """The scores at the ends of the line played and of the better one, by longer searches, for who begins them."""
        lines = zip((whole, best), plies, strict=True)
        found = [self.judge.line(course.after(ply), lengthened(self.limits, *LONGER)).score for course, ply in lines]
        own, other = map(for_beginner, map(int, found), plies)
        return own, other

    def _places(self, whole: Course, best: Course) -> list[schema.ClaimReport]:
        """What the move gives away or does not gain by place, the mover's own first, the largest first."""
        loss = int(best.score) - int(whole.score)
        plies = _level_ends(whole, best)
        if plies is None or whole.score.mate is not None or best.score.mate is not None:
            return []
        lines = whole.moves[: plies[0]], best.moves[: plies[1]]
        here, there = (end_after(best.start, moves, self.judge.narrator) for moves in lines)
        found = _covering(list(_place_candidates(here, there, best.side)), loss)
        if not found:
            return []
        own_end, best_end = self._scores_at(whole, best, plies)
        if best_end - own_end < COVERED * loss:
            return []
        ends = (whole, plies[0], own_end), (best, plies[1], best_end)
        made = []
        for each in found:
            (course, ply, score), (other, other_ply, other_score) = ends if each.is_played else ends[::-1]
            claim = schema.ClaimReport(
                each.kind,
                _side(each.favours),
                best.start.fen(),
                (_named(course.boards[ply], each.square),),
                course.uci(ply),
                other.uci(other_ply),
                None,
                self._proof(Score(other_score), Score(score), best.start.side),
                f"{each.text} ({each.cp / 100:.2f})",
            )
            made.append(claim)
        return made

    def _unproved(self, best: Course, own: Course) -> str:
        name = best.boards[0].san(best.made[0]) if best.moves else "another move"
        if best.score.mate is not None or own.score.mate is not None:
            return f"{name} is better; {NO_REASON}"
        return f"{name} is better by {(int(best.score) + int(own.score)) / 100:.2f}; {NO_REASON}"

    # Searches and certificates

    def _search(self, position: Position) -> ScoredLine:
        return as_found(self.judge.line(position, self.limits))

    def _claim(
        self,
        kind: str,
        course: Course,
        plies: int,
        pieces: Sequence[chess.Square],
        wins: schema.GainReport | None,
        text: str,
        after: Score,
    ) -> schema.ClaimReport:
        """A claim of tactics for the side that begins a line; `after` is its score at the end."""
        named = tuple(_named(course.boards[0], square) for square in pieces)
        proof = self._proof(course.score, after, course.start.side)
        return schema.ClaimReport(
            kind, _side(course.side), course.start.fen(), named, course.uci(plies), (), wins, proof, text
        )

    def _proof(self, before: Score, after: Score, turn: int) -> schema.ProofReport:
        scores = (static.report_score(score, turn, self.judge.expected) for score in (before, after))
        return schema.ProofReport(self.judge.name, self.limits.nodes or 0, *scores)


def best_after(position: Position, move: int) -> Position:
    """A copy of the position after a move."""
    after = position.copy()
    after.push(move)
    return after


def drawn(course: Course) -> str | None:
    """How a line ends in a draw by the rules; None if it does not."""
    last = course.boards[-1]
    if last.is_stalemate():
        return "stalemate"
    if last.is_insufficient_material():
        return "too little material"
    keys = [board.epd() for board in course.boards]
    if keys[-1] in keys[:-1]:
        return "repetition"
    return "fifty moves" if last.is_fifty_moves() else None


def _is_worth(pawns: int, loss: int, best: Course, own: Course) -> bool:
    """Whether a move loses enough for so many pawns to be its reason; far from level everything counts less."""
    is_far = abs(int(best.score)) >= WON or abs(int(own.score)) >= WON
    return loss >= LEAST_PER_PAWN * min(pawns, 3 if is_far else pawns)


def _of_played(claim: schema.ClaimReport, played: int, best: Course, own: Course) -> schema.ClaimReport | None:
    """A claim about the reply, whose sentence says what the move loses by it if it is the man just moved that falls.

    None where the move has taken something, so that what is lost in the end cannot be named.
    """
    move, board = as_chess_move(played, best.start.chess960), best.boards[0]
    is_own = claim.kind in ("takes", "wins material") and chess.parse_square(claim.pieces[0].square) == move.to_square
    if not is_own:
        return None if board.is_capture(move) and claim.kind == "wins material" else claim
    given, taken = tactics.exchanged(board, own.boards[claim.wins.ply if claim.wins else 0], best.side)
    if not given:
        return None
    is_the_man = given.total() == 1 and board.piece_type_at(move.from_square) in given
    lost = f"the {chess.piece_name(next(iter(given)))}" if is_the_man else phrases.listed(given)
    price = f" for {phrases.listed(taken)}" if taken else ""
    return replace(claim, text=f"{board.san(move)} loses {lost}{price}: {own.opening}")


# How material is won: each rule has the squares of the pieces that it names, as they stand at first, and its sentence.


def _by_promotion(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """A pawn promotes in the line, and what it becomes stays or is paid for."""
    at = {square: square for square in course.boards[0].piece_map()}
    for board, move in zip(course.boards, course.made[: gain.ply], strict=False):
        if move.promotion and board.turn == course.side:
            origin = at[move.from_square]
            worth = tactics.WORTH[move.promotion] - 1
            if gain.pawns < worth - 1 and not any(ply < gain.ply for ply, *_ in course.falls):
                return None
            how = board.variation_san([move]).replace(". ", ".", 1)
            return (origin,), f"the pawn on {chess.square_name(origin)} promotes: {how}"
        tactics.carry(at, board, move)
    return None


def _by_taking(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """The first move takes what is then won, in three plies at most."""
    board, first = course.boards[0], course.made[0]
    square = tactics.taken_on(board, first)
    if square is None or gain.ply > SIMPLE or not gain.pawns <= tactics.exchange(board, square, course.side) + 1:
        return None
    taken, _ = _exchanged(course, gain)
    is_free = tactics.men(board, course.side) == tactics.men(course.boards[gain.ply], course.side)
    if is_free and taken.total() == 1:
        return (square,), f"{course.opening} takes the {tactics.piece_name(board, square)} for nothing"
    return (square,), f"{course.opening} wins {_spoils(course, gain)}"


SIMPLE = 3  # plies in which what hangs is taken


def _by_fork(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """The first move attacks the king, more valuable pieces or unguarded ones, two or more, and the line takes one."""
    move, board = course.made[0], course.boards[1]
    targets = tactics.fork_targets(board, move.to_square)
    if not targets or not _takes(course, gain, targets):
        return None
    fallen = {origin for ply, origin, _ in course.falls if ply <= gain.ply}
    first, *others = sorted(targets, key=lambda target: -tactics.worth_at(board, target))
    second = others[0] if first in fallen else next(target for target in others if target in fallen)
    named = first, second
    said = " and the ".join(tactics.piece_name(board, target) for target in named)
    return (move.from_square, *named), f"{course.opening} forks the {said} and wins {_spoils(course, gain)}"


def _by_skewer(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """The first move attacks a piece that shields another in line, and the line takes one of them."""
    return _in_line(course, gain, tactics.skewers_by(course.boards[1], course.made[0].to_square), "skewers", "and")


def _by_pin(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """The first move attacks a piece that shields a more valuable one in line, and the line takes one of them."""
    return _in_line(course, gain, tactics.pins_by(course.boards[1], course.made[0].to_square), "pins", "to")


def _in_line(
    course: Course,
    gain: schema.GainReport,
    found: Iterator[tuple[chess.Square, chess.Square]],
    verb: str,
    between: str,
) -> tuple[Sequence[chess.Square], str] | None:
    move, board = course.made[0], course.boards[1]
    if tactics.is_hanging(board, move.to_square):
        return None
    for front, behind in found:
        if _takes(course, gain, [front, behind]):
            said = f"the {tactics.piece_name(board, front)} {between} the {tactics.piece_name(board, behind)}"
            return (move.from_square, front, behind), f"{course.opening} {verb} {said} and wins {_spoils(course, gain)}"
    return None


def _by_discovery(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """The first move lets another piece attack a more valuable or an unguarded one, and the line takes it."""
    move = course.made[0]
    for slider, target in tactics.discovered_by(course.boards[0], move):
        if _takes(course, gain, [target]) or course.boards[0].piece_type_at(target) == chess.KING:
            board = course.boards[0]
            said = f"the attack of the {tactics.piece_name(board, slider)} on the {tactics.piece_name(board, target)}"
            return (
                move.from_square,
                slider,
                target,
            ), f"{course.opening} uncovers {said} and wins {_spoils(course, gain)}"
    return None


def _by_trapping(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """After the first move a piece is attacked and lost wherever it goes, and the line takes it."""
    for square in tactics.trapped(course.boards[1]):
        if _takes(course, gain, [square]):
            return (square,), f"{course.opening} traps the {tactics.piece_name(course.boards[1], square)}"
    return None


def _by_anything(course: Course, gain: schema.GainReport) -> tuple[Sequence[chess.Square], str] | None:
    """What falls in the line, where none of the others holds."""
    falls = [(origin, kind) for ply, origin, kind in course.falls if ply <= gain.ply]
    if not falls:
        return None
    largest = max(falls, key=lambda fall: tactics.WORTH[fall[1]])[0]
    spoils, first = _spoils(course, gain), tactics.piece_name(course.boards[0], falls[0][0])
    if len(falls) == 1 or spoils.startswith(f"the {first}"):
        return (falls[0][0] if spoils.startswith(f"the {first}") else largest,), f"{course.opening} wins {spoils}"
    return (falls[0][0],), f"{course.opening} wins {spoils}: the {first} falls first"


# The kinds of claims about material, in the order in which they are tried.
_MEANS = {
    "promotion": _by_promotion,
    "takes": _by_taking,
    "fork": _by_fork,
    "skewer": _by_skewer,
    "pin": _by_pin,
    "discovered attack": _by_discovery,
    "trapped": _by_trapping,
    "wins material": _by_anything,
}


def rules() -> dict[str, str]:
    """What each kind of claim asks of the board, in a sentence or two."""
    mate = "The line ends in checkmate, and a search after its first move sees the mate, too."
    draw = f"The line ends in this draw within {LONGEST_DRAW} plies, and its score is 0.00."
    mobility = (
        f"A piece reaches {places.LESS_MOBILE} squares fewer, or one of the other side more, than in the other line."
    )
    found = {"mate": mate, **{kind: str(rule.__doc__) for kind, rule in _MEANS.items()}}
    found["material"] = (
        f"Two lines from one position are quiet within {LATEST} plies of a move and of its reply. The one has less "
        "material, that does not come back, and a count of material finds nothing there for the side to move."
    )
    found |= dict.fromkeys(DRAWS, draw) | {kind: str(fact.holds.__doc__) for kind, fact in places.FACTS.items()}
    return found | {"mobility": mobility}


def _takes(course: Course, gain: schema.GainReport, targets: Sequence[chess.Square]) -> bool:
    """Whether one of these pieces, moved or not, falls by the ply at which the material is won."""
    return any(origin in targets and 1 < ply <= gain.ply for ply, origin, _ in course.falls)


def _exchanged(course: Course, gain: schema.GainReport) -> tuple[Counter[chess.PieceType], Counter[chess.PieceType]]:
    """What the side that begins a line takes and gives to where it has won material; like for like is left out."""
    given, taken = tactics.exchanged(course.boards[0], course.boards[gain.ply], course.side)
    return taken, given


def _spoils(course: Course, gain: schema.GainReport) -> str:
    """What a line wins: "the knight on c6", "a rook for a bishop"."""
    taken, given = _exchanged(course, gain)
    if not taken or tactics.pawns_of(taken) - tactics.pawns_of(given) != gain.pawns:
        return "a pawn" if gain.pawns == 1 else f"material worth {gain.pawns} pawns"
    won = phrases.listed(taken)
    if taken.total() == 1:
        (kind,) = taken
        origins = [origin for ply, origin, fallen in course.falls if ply <= gain.ply and fallen == kind]
        won = f"the {tactics.placed(kind, origins[0])}" if len(origins) == 1 else won
    return f"{won} for {phrases.listed(given)}" if given else won


# Places


class _Candidate(NamedTuple):
    """A fact of place that may be a reason: at the end of the line played or not, its piece, and what terms make it."""

    kind: str
    square: chess.Square
    is_played: bool
    is_own: bool  # of the mover
    favours: chess.Color
    cp: float
    text: str


def _settled(course: Course, last: int, sign: int) -> int:
    """The ply of a line from which on its quiet boards, to the `last` ply, have the same material; 0 for none.

    Nor may the side that begins it have more on a later one if `sign` is 1, or less if it is -1.
    """
    quiet = course.quiet(FOLLOWED)
    early = [ply for ply in quiet if ply <= last]
    if not early or any(sign * course.lead(ply) > sign * course.lead(early[-1]) for ply in quiet if ply > last):
        return 0
    other = (ply for ply in reversed(early) if course.lead(ply) != course.lead(early[-1]))
    return early[early.index(found) + 1] if (found := next(other, None)) else early[0]


def _worse_by(whole: Course, best: Course, plies: tuple[int, int]) -> str:
    """What the side that begins two lines has less at the end of the first: "a pawn", "a rook for a bishop"."""
    ends = whole.boards[plies[0]], best.boards[plies[1]]
    own, other = (tactics.men(ends[0], side) for side in (whole.side, not whole.side))
    best_own, best_other = (tactics.men(ends[1], side) for side in (whole.side, not whole.side))
    less = best_own + other
    more = own + best_other
    lost, paid = less - more, more - less
    return phrases.listed(lost, paid)


def _level_ends(whole: Course, best: Course) -> tuple[int, int] | None:
    """The plies to the latest quiet ends of two lines with level material, the line played first; None without."""
    ends = [course.quiet(LATEST_PLACE) for course in (whole, best)]
    pairs = [(own, other) for own in ends[0] for other in ends[1] if whole.lead(own) == best.lead(other)]
    return max(pairs, key=lambda pair: (min(pair), sum(pair)), default=None)


def _covering(found: Sequence[_Candidate], loss: int) -> list[_Candidate]:
    """The fewest facts at the end of one of the lines that cover enough of what a move loses, the mover's own first.

    A kind is named once.
    """
    for is_played in (True, False):
        chosen = dict[str, _Candidate]()
        for each in sorted(found, key=lambda each: (not each.is_own, -each.cp)):
            if each.is_played == is_played and len(chosen) < PLACES_NAMED and each.cp >= NAMED_SHARE * loss:
                chosen.setdefault(each.kind, each)
                if sum(own.cp for own in chosen.values()) >= COVERED * loss:
                    return list(chosen.values())
    return []


def _place_candidates(here: LineEnd, there: LineEnd, mover: chess.Color) -> Iterator[_Candidate]:
    """Facts at the end of the line played that are bad for the mover, and at that of the better line that are good.

    What terms make of a kind is shared by the places where it holds.
    """
    for kind, fact in places.FACTS.items():
        terms = [name for name in places.is_named_by(kind, tuple(here.terms)) if name not in here.unusual]
        cp = sum(there.lead(name, mover) - here.lead(name, mover) for name in terms)
        if cp < MIN_PLACE:
            continue
        held = [
            (end.board, found, is_played, owner)
            for end, other, is_played in ((here, there, True), (there, here, False))
            for owner in chess.COLORS
            if (owner == mover) == (fact.is_good != is_played)
            for found in places.differing(kind, end.board, other.board, owner)
        ]
        for board, found, is_played, owner in held:
            favours = owner if fact.is_good else not owner
            text = places.sentence(kind, board, [found], places.HOLDS if is_played else places.WOULD)
            yield _Candidate(kind, found.square, is_played, owner == mover, favours, cp / len(held), text)
    yield from _mobility(here, there, mover)


def _mobility(here: LineEnd, there: LineEnd, mover: chess.Color) -> Iterator[_Candidate]:
    """Pieces that reach fewer squares at the end of the line played, or the other side's that reach more."""
    for origin in here.pieces.keys() & there.pieces.keys():
        piece, name = here.piece_at(origin), "Mobility"
        if piece is None or piece != there.piece_at(origin) or piece.piece_type in (chess.PAWN, chess.KING):
            continue
        sign = 1 if piece.color == mover else -1
        own, other = (
            sum(cp for term, cp in end.own_terms(origin).items() if term.endswith(name) and term not in end.unusual)
            for end in (here, there)
        )
        square, there_square = here.pieces[origin][0], there.pieces[origin][0]
        squares, others = places.reach(here.board, square), places.reach(there.board, there_square)
        if sign * (other - own) < MIN_PLACE or sign * (others - squares) < places.LESS_MOBILE:
            continue
        whose = f"{COLOUR_NAMES[0 if piece.color else 1]}'s {tactics.placed(piece.piece_type, square)}"
        text = f"{whose} reaches {counted(squares, 'square')} instead of {others}"
        yield _Candidate("mobility", square, True, piece.color == mover, not mover, sign * (other - own), text)


def _side(side: chess.Color) -> str:
    return "white" if side else "black"


def _named(board: chess.Board, square: chess.Square) -> schema.NamedPieceReport:
    piece = board.piece_at(square)
    assert piece
    return schema.NamedPieceReport(piece.symbol(), chess.square_name(square))


def _text(start: Position, line: Sequence[str]) -> str:
    """Moves, coordinates, with their numbers."""
    return board_of(start).variation_san([as_chess_move(move, start.chess960) for move in start.copy().push_all(line)])


def threat_text(claim: schema.ClaimReport, course: Course) -> str:
    """What the other side threatens, as a sentence with the line."""
    side, line = COLOUR_NAMES[0 if course.side else 1], course.text(len(claim.line))
    if claim.kind == "mate":
        return f"{side} threatens mate in {(len(claim.line) + 1) // 2}: {line}."
    name = course.boards[0].san(course.made[0])
    what = f"it{claim.text.removeprefix(course.opening)}" if claim.text.startswith(course.opening) else claim.text
    return f"{side} threatens {name}: {what} ({line})."
