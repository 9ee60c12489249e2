"""How a line wins material: counted and confirmed by searches, and named by the first rule on the board that holds.

Material counts where it is won within `lines.LATEST` plies and nothing can be taken at a profit any more. A search that
counts nothing but material must find it, the judge's search from there must agree, and no defence may save it. It is
won by a fork, a pin, or, if by nothing else, by the pieces that fall. Two lines may also differ by it at their ends.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import chess

from merino.core.board.game import FIFTY_MOVES, Position
from merino.engine.report import phrases, schema
from merino.engine.search.limits import Limits, Line, Score
from merino.engine.search.searcher import Searcher
from merino.eval import families
from merino.eval.evaluation import Evaluation
from merino.study import tactics
from merino.study.judge import Judge, by_search, lengthened, remembering
from merino.study.lines import FOLLOWED, LATEST, OF_MUCH, SPARED, Course, least_of

MAX_FALL = 50  # centipawns that the second search may find less than the first
MAX_RISE = 100  # centipawns that it may find more where a piece is won
WON = 600  # centipawns of a side that is winning anyway: what it has more or less there is no test
UNCLEAR = 170  # centipawns, less than which a pawn won by more than taking it may be worth nothing
BETTER_OFF = 100  # centipawns of a side that needs no closer look when it wins a piece
LEAST_PER_PAWN = 60  # centipawns that a move must lose for each pawn that is said to be lost
COVERED = 0.5  # of what a move loses, that a reason must make
DEFENCES = 3  # replies, or lines, at most, that are looked into
AS_GOOD = 20  # centipawns by which a first move may be worse than another, or MAX_FALL where it costs no points
SAME_POINTS = 0.02  # which a side expects more, at most, where it costs none
CLEARLY = 80  # centipawns by which a move is better than another so that no longer search need confirm it
COUNTING = 100_000  # nodes of the search that counts material
COUNTER_MB = 8
LONGER = 3, 2  # times the nodes, or more plies, of a search that must not change a score
SIMPLE = 3  # plies in which what hangs is taken
MATING = 100  # pawns, more than anything is worth but a mate


def for_beginner(value: int, ply: int) -> Score:
    """A value for the side to move after so many plies, for the side that begins the line."""
    return Score(value if ply % 2 == 0 else -value)


@cache
def counting() -> Evaluation:
    """An evaluation that counts nothing but material."""
    evaluation = families.default()
    worth = {f"VAL_{chess.piece_symbol(kind).upper()}": 100.0 * pawns for kind, pawns in tactics.WORTH.items()}
    return evaluation.with_numbers({name: worth.get(name[:5], 0.0) for name in evaluation.numbers})


class Counted(NamedTuple):
    """The moves of a line, and the pawns that the side to move wins by it."""

    moves: Sequence[int]
    pawns: int


class Win(NamedTuple):
    """How a line wins material: the kind, the squares of the pieces named, as they stand at first, and the sentence."""

    kind: str
    course: Course
    gain: schema.GainReport
    pieces: Sequence[chess.Square]
    text: str
    after: Score  # where it is won, for the side that begins the line


class Shortfall(NamedTuple):
    """By how much a line comes out worse than another: the plies to both ends, the scores there, and in words."""

    pawns: int
    plies: tuple[int, int]
    scores: tuple[int, int]
    text: str


@dataclass(frozen=True)
class Winning:
    """Finds what lines win, by a judge within these limits and by a count of material."""

    judge: Judge
    limits: Limits

    def of(self, course: Course, owed: int = 0) -> Win | None:
        """What material a line wins beyond what is owed, or another as good, that a count of material finds as well."""
        counted = self.count(course.start)
        if not course.moves or counted.pawns < tactics.MIN_GAIN:
            return None
        if (won := self._won_in(course, owed)) is None and (other := self._as_good(course, counted.moves)):
            won = self._won_in(other, owed)
        return won

    def _as_good(self, course: Course, moves: Sequence[int]) -> Course | None:
        """Another line from the same position; None if the judge finds its first move worse."""
        score = course.score
        if moves[0] != course.moves[0]:
            score = self.judge.line(course.start, replace(self.limits, search_moves=[moves[0]])).score
        return Course(course.start, moves, score) if self._is_as_good(course.start, score, course.score) else None

    def _is_as_good(self, position: Position, score: Score, best: Score) -> bool:
        """Whether a first move is hardly worse than another: by what is little, or where the points are the same."""
        behind, points = best - score, self.judge.share(position, best) - self.judge.share(position, score)
        return behind <= AS_GOOD or (behind <= MAX_FALL and points <= SAME_POINTS)

    def _won_in(self, course: Course, owed: int, is_refuting: bool = False) -> Win | None:
        """What material a line wins, and by which of the means; None if it is not proved.

        Of much that is won, the little that comes later is left out. A line that a search refutes, by a defence or by
        what can be taken at its end, is followed once to what that leaves.
        """
        refuting = list[Course]()
        for gain in course.gains:
            won = gain.pawns - owed
            least = won - won // OF_MUCH
            is_late = any(least <= each.pawns - owed < won and each.ply < gain.ply for each in course.gains)
            if won <= 0 or is_late or self.count(course.start, course.moves[:1]).pawns < least_of(gain.pawns):
                continue
            end = course.after(gain.ply)
            counted = self.count(end)
            if gain.pawns + for_beginner(counted.pawns, gain.ply) < least_of(gain.pawns):
                refuting.append(course.with_tail(gain.ply, counted.moves))
                continue
            line = self.judge.line(end, self.limits)
            after, kept = for_beginner(line.score, gain.ply), course.with_tail(gain.ply, line.pv)
            tested = self._tested(course, gain, after) if kept.keeps(gain.pawns) else kept
            if tested is course:
                for kind, named in MEANS.items():
                    if (found := named(course, gain)) is not None:
                        return Win(kind, course, gain, *found, after)
            elif tested is not None:
                refuting.append(tested)
        wins = (self._won_in(other, owed, is_refuting=True) for other in refuting if not is_refuting)
        return next(filter(None, wins), None)

    def _agrees(self, course: Course, gain: schema.GainReport, after: Score) -> bool:
        """Whether the scores of a line before and after what it wins agree: who is winning may win more slowly.

        Where the end is much better than the beginning, the line is not that of the best defence.
        """
        if gain.pawns < SPARED:
            least = LEAST_PER_PAWN * (min(gain.pawns, course.ahead(gain.ply)) - 1)
            return abs(after - course.score) <= MAX_FALL and after >= least
        is_best_defence = after <= course.score + MAX_RISE or course.score >= WON
        return is_best_defence and (after >= course.score - MAX_FALL or after >= WON)

    def _tested(self, course: Course, gain: schema.GainReport, after: Score) -> Course | None:
        """The line itself where its gain is forced, the line that refutes it where there is one, else None.

        No defence that a search finds, at each turn of the other side, may save more than a pawn of several: the one
        that saves most refutes it. Its score must agree with that after the gain. The first move must keep the score;
        if it wins no piece, or too little to be better off, in a longer search. No other may be better, unless it wins
        anyway. Of its replies, those count that are nearly as good as the best.
        """
        if not self._agrees(course, gain, after):
            return None
        is_unsure = gain.pawns < SPARED or course.score < BETTER_OFF
        limits = lengthened(self.limits, *LONGER) if is_unsure else self.limits
        replies = nearly_best(self.judge.lines(course.after(1), limits, DEFENCES))
        first = replies[0]
        if -first.score < min(course.score - MAX_FALL, WON):
            return None
        found = [(1, line) for line in replies]
        found += [(ply, self.judge.line(course.after(ply), self.limits)) for ply in range(3, gain.ply, 2)]
        defences = [course.with_tail(ply, line.pv) for ply, line in found]
        if not all(each.keeps(least_of(gain.pawns)) for each in defences):
            return min(defences, key=lambda each: each.kept)
        if not is_unsure and -first.score >= WON:
            return course
        others = [move for move in course.start.legal_moves if move != course.moves[0]]
        for within in (self.limits, lengthened(limits, *LONGER)) if others else ():
            best = self.judge.line(course.start, replace(within, search_moves=others)).score
            if not -MAX_FALL <= -first.score - best < CLEARLY:
                break
        return course if not others or self._is_as_good(course.start, Score(-first.score), best) else None

    @cached_property
    def _counter(self) -> Judge:
        """A search that counts nothing but material."""
        counter = by_search(Searcher(COUNTER_MB, 1, counting()), counting(), "material", is_forgetful=True)
        return remembering(counter)

    def count(self, position: Position, first: Sequence[int] = ()) -> Counted:
        """The pawns that the side to move wins by force, all or by one of the `first` moves, and by which line."""
        board = position.to_chess(stack=False)
        line = self._counter.line(position, Limits(nodes=COUNTING, search_moves=list(first)))
        # A score is the less the nearer the end of its line is to a draw by the fifty-move rule.
        left = max(1, FIFTY_MOVES - Course(position, line.pv, line.score).boards[-1].halfmove_clock)
        return Counted(line.pv, round(line.score / left) - tactics.balance(board, board.turn))

    def difference(self, whole: Course, best: Course) -> Shortfall | None:
        """Two lines are quiet within 7 plies of a move and its reply; one has less material, which does not come back.

        A count of material finds nothing there for the side to move.
        """
        plies = _settled(whole, LATEST + 1, 1), _settled(best, LATEST, -1)
        if not all(plies) or not whole.moves or best.score.mate is not None or whole.score.mate is not None:
            return None
        pawns = best.lead(plies[1]) - whole.lead(plies[0])
        loss = int(best.score) - int(whole.score)
        lost, paid = _worse_by(whole, best, plies)
        is_unsure = pawns == 1 and (paid or plies[0] < SIMPLE)
        if pawns < tactics.MIN_GAIN or is_unsure or loss < LEAST_PER_PAWN * min(pawns, SPARED):
            return None
        counted = [self.count(course.after(ply)).pawns for course, ply in zip((whole, best), plies, strict=True)]
        own, other = map(for_beginner, counted, plies)
        end, kept = self.farther(whole, plies[0], DEFENCES)
        best_end, best_kept = self.farther(best, plies[1], DEFENCES)
        certain = min(pawns + other - own, min(best_kept) - max(kept))
        is_far = max(abs(end), abs(best_end)) >= WON and pawns < SPARED
        if is_far or max(counted) > 0 or certain < least_of(pawns) or best_end - end < COVERED * loss:
            return None
        names = (course.boards[0].san(course.made[0]) for course in (whole, best))
        text = f"{' comes out worse than '.join(names)} by {phrases.listed(lost, paid)}"
        return Shortfall(pawns, plies, (end, best_end), text)

    def farther(self, course: Course, ply: int, count: int = 1) -> tuple[Score, list[int]]:
        """The score after so many plies by a longer search, for who begins, and the pawns won by its best lines.

        Lines count that are nearly as good as the best, so many at most.
        """
        lines = nearly_best(self.judge.lines(course.after(ply), lengthened(self.limits, *LONGER), count))
        return for_beginner(lines[0].score, ply), [course.with_tail(ply, line.pv).kept for line in lines]


def nearly_best(lines: Sequence[Line]) -> list[Line]:
    """Those of the lines of a search, best first, that are nearly as good as the best."""
    return [line for line in lines if line.score >= lines[0].score - MAX_FALL]


_Named = tuple[Sequence[chess.Square], str]
_Pairs = Iterator[tuple[chess.Square, chess.Square]]

# How material is won: each rule has the squares of the pieces that it names, as they stand at first, and its sentence.


def _by_promotion(course: Course, gain: schema.GainReport) -> _Named | None:
    """A pawn promotes in the line, and what it becomes stays or is paid for."""
    for at, board, move in zip(course.origins, course.boards, course.made[: gain.ply], strict=False):
        if move.promotion and board.turn == course.side:
            origin = at[move.from_square]
            stays = origin in course.origins[gain.ply].values()
            if not stays and not any(ply < gain.ply for ply, *_ in course.falls):
                return None
            how = board.variation_san([move]).replace(". ", ".", 1)
            return (origin,), f"the pawn on {chess.square_name(origin)} promotes: {how}"
    return None


def _by_taking(course: Course, gain: schema.GainReport) -> _Named | None:
    """The first move takes what is then won, in three plies at most."""
    board, first = course.boards[0], course.made[0]
    square = tactics.taken_on(board, first)
    if square is None or gain.ply > SIMPLE or not gain.pawns <= tactics.exchange(board, square, course.side) + 1:
        return None
    taken, _ = _exchanged(course, gain)
    if tactics.kind_at(board, square) not in taken:
        return None  # that is exchanged, and something else won
    is_free = tactics.men(board, course.side) == tactics.men(course.boards[gain.ply], course.side)
    if is_free and taken.total() == 1:
        return (square,), f"{course.opening} takes the {tactics.piece_name(board, square)} for nothing"
    return (square,), f"{course.opening} wins {_spoils(course, gain)}"


def _by_fork(course: Course, gain: schema.GainReport) -> _Named | None:
    """The first move attacks the king, more valuable pieces or unguarded ones, two or more, and the line takes one."""
    move, board = course.made[0], course.boards[1]
    targets = tactics.worth_attacking(board, move.to_square)
    if len(targets) < 2 or not _takes(course, gain, targets):
        return None
    fallen = {origin for ply, origin, _ in course.falls if ply <= gain.ply}
    first, *others = sorted(targets, key=lambda target: -tactics.worth_at(board, target))
    named = first, others[0] if first in fallen else next(target for target in others if target in fallen)
    said = " and the ".join(tactics.piece_name(board, target) for target in named)
    return (move.from_square, *named), f"{course.opening} forks the {said} and wins {_spoils(course, gain)}"


def _by_skewer(course: Course, gain: schema.GainReport) -> _Named | None:
    """The first move attacks a piece that shields another in line, and the line takes one of them."""
    return _in_line(course, gain, tactics.skewers_by(course.boards[1], course.made[0].to_square), "skewers", "and")


def _by_pin(course: Course, gain: schema.GainReport) -> _Named | None:
    """The first move attacks a piece that shields a more valuable one in line, and the line takes one of them."""
    return _in_line(course, gain, tactics.pins_by(course.boards[1], course.made[0].to_square), "pins", "to")


def _in_line(course: Course, gain: schema.GainReport, found: _Pairs, verb: str, between: str) -> _Named | None:
    move, board = course.made[0], course.boards[1]
    if tactics.is_hanging(board, move.to_square):
        return None
    for front, behind in found:
        if _takes(course, gain, [front, behind]):
            said = f"the {tactics.piece_name(board, front)} {between} the {tactics.piece_name(board, behind)}"
            return (move.from_square, front, behind), f"{course.opening} {verb} {said} and wins {_spoils(course, gain)}"
    return None


def _by_discovery(course: Course, gain: schema.GainReport) -> _Named | None:
    """The first move lets another piece attack a more valuable or an unguarded one, and the line takes it."""
    move, board = course.made[0], course.boards[0]
    for slider, target in tactics.discovered_by(board, move):
        if _takes(course, gain, [target]) or board.piece_type_at(target) == chess.KING:
            by, named = f"by the {tactics.piece_name(board, slider)}", (move.from_square, slider, target)
            is_check = board.piece_type_at(target) == chess.KING
            said = f"uncovers an attack {by} on the {tactics.piece_name(board, target)}"
            said = f"is discovered check {by}" if is_check else said
            return named, f"{course.opening} {said} and wins {_spoils(course, gain)}"
    return None


def _by_trapping(course: Course, gain: schema.GainReport) -> _Named | None:
    """After the first move, which takes no guard of it, a piece is attacked and lost wherever it goes, and is taken."""
    board, first = course.boards[0], course.made[0]
    for square in tactics.trapped(course.boards[1]):
        if first.to_square not in board.attackers(not course.side, square) and _takes(course, gain, [square]):
            return (square,), f"{course.opening} traps the {tactics.piece_name(course.boards[1], square)}"
    return None


def _by_anything(course: Course, gain: schema.GainReport) -> _Named | None:
    """What falls in the line, where none of the others holds; a single pawn only where a side is clearly better."""
    if gain.pawns == 1 and abs(course.score) < UNCLEAR:
        return None
    taken, _ = _exchanged(course, gain)
    fallen = [fall for fall in course.falls if fall[0] <= gain.ply]
    falls = [fall for fall in fallen if fall[2] in taken] or fallen
    if not falls:
        return None
    spoils, (_, square, kind) = _spoils(course, gain), falls[0]
    if fallen[0] not in falls and fallen[0][0] == 1:
        return (square,), f"{course.opening} exchanges {chess.piece_name(fallen[0][2])}s and wins {spoils}"
    first = f"the {tactics.placed(kind, square)}"
    order = "" if len(falls) == 1 or spoils.startswith(first) else f": {first} falls first"
    return (square,), f"{course.opening} wins {spoils}{order}"


# The kinds of claims about material, in the order in which they are tried.
MEANS = {
    "promotion": _by_promotion,
    "takes": _by_taking,
    "fork": _by_fork,
    "skewer": _by_skewer,
    "pin": _by_pin,
    "discovered attack": _by_discovery,
    "trapped": _by_trapping,
    "wins material": _by_anything,
}


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


def _worse_by(whole: Course, best: Course, plies: tuple[int, int]) -> tuple[Counter[chess.PieceType], ...]:
    """What the side that begins two lines has less at the end of the first, and what it has more."""
    own, other = whole.boards[plies[0]], best.boards[plies[1]]
    less = tactics.men(other, whole.side) + tactics.men(own, not whole.side)
    more = tactics.men(own, whole.side) + tactics.men(other, not whole.side)
    return less - more, more - less
