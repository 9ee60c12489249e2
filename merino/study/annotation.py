"""A game move by move: evaluation, expected score, the terms a move changed, and how much it lost.

The expected scores are those of the judge; a mate in view is certain. A move loses the expected score of the best move
minus its own, by the scale of the judge that shows less. The search before a move gives the best move and its score,
the search after the move its own. What then looks like a mistake is looked into with more nodes: the position, the move
played, and the better move, also another one that the deeper search prefers. It stays a mistake only if the deeper
searches before and after the moves agree on it. A negative loss counts as 0. Moves of known openings are not graded.

Much that looks like a mistake of a strong player is none, and hardly anything of a weak one. So the judge is careful
until a player has made one: an inaccuracy must then be one still when the judge has played on after both moves.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from merino.core.board import game
from merino.core.board.bitboard import WHITE
from merino.core.board.move import Move
from merino.engine.notation.san import san, score_text
from merino.engine.report import schema, static
from merino.engine.search.known_openings import known_moves
from merino.engine.search.limits import Limits, Score
from merino.study import claims, winning
from merino.study.judge import Judge, lengthened, remembering
from merino.study.lines import PLAYED_ON, Course, after_move, played_on, seen_after

CONFIRMING = 8  # times the nodes or the time of a position, for what looks like a mistake
FULLY = 6  # such moves of a game get all of it, the next six half of it, and so on: a bound on the time of a game
PLAIN = 0.3  # of the points; what a search of so many nodes sees lost, no longer one has found otherwise
_CONFIRMING_PLIES = 4  # more, where the limit is a depth

Pace = Callable[[int], Limits]  # the limits of the search of a position, by the number of moves that are left


@dataclass(frozen=True)
class Grade:
    """A kind of mistake: from this loss of expected score on, it has this sign."""

    least_loss: float
    nag: int  # the Numeric Annotation Glyph of the PGN standard, $6 and so on
    name: str
    sign: str


# The worst first. A twentieth of a point may go unnoticed, a fifth usually decides.
GRADES = (Grade(0.20, 4, "blunder", "??"), Grade(0.10, 2, "mistake", "?"), Grade(0.05, 6, "inaccuracy", "?!"))
MISTAKE = GRADES[1].least_loss


def grade_of(loss: float) -> Grade | None:
    """The grade of a loss, rounded as shown, to tenths of a percent; None if it is no mistake."""
    return next((grade for grade in GRADES if round(loss, 3) >= grade.least_loss), None)


@dataclass(frozen=True)
class MoveVerdict:
    """The verdict of a search, or of the rules, on a position. Everything from White's view."""

    expected: float  # the share of the points, 0..1
    score: Score  # for the side to move
    turn: int
    depth: int  # 0 where the game is over
    best: Sequence[int]  # the line expected, empty where the game is over

    @property
    def score_text(self) -> str:
        """The score from White's side: "+0.35" or "+M3"."""
        return score_text(self.score, self.turn)

    def seen_by(self, turn: int) -> tuple[Score, float]:
        """The score and the expected score for a side; for the one that has moved, before its move."""
        score = self.score if turn == self.turn else seen_after(self.score, -1)
        return score, self.expected if turn == WHITE else 1 - self.expected


@dataclass(frozen=True)
class AnnotatedMove:
    """A move, the verdicts before and after it, and its change of the evaluation."""

    move: Move
    san: str
    turn: int  # who made it
    before: MoveVerdict
    better: MoveVerdict  # the best verdict available, and its line: `before`, or that after the best move
    after: MoveVerdict
    change: schema.ChangeReport  # by evaluation alone
    loss: float  # the mover's expected score that it lost, 0..1, by the scale of the judge that shows less
    mistake: claims.Mistake | None = None  # what kind of mistake it is, if it has a grade

    def __repr__(self) -> str:
        return f"AnnotatedMove({self.san!r}, loss={self.loss:.3f}, grade={self.grade})"

    @property
    def grade(self) -> Grade | None:
        """The grade of the mistake, None if it is none."""
        return grade_of(self.loss)


def annotate_moves(
    position: game.Position, moves: Sequence[str], judge: Judge, pace: Pace, erring: Collection[int] = ()
) -> Iterator[AnnotatedMove]:
    """Each of the legal `moves`, coordinates, played from `position`.

    `erring` are the sides that are known to have made mistakes before.
    """
    current, judge, erring = position.copy(), remembering(judge), set(erring)
    before = verdict_on(current, judge, pace(len(moves)))
    explained, suspected = judge.narrator.explain(current.record), 0
    for index, text in enumerate(moves):
        limits = pace(len(moves) - index)
        move, turn = current.parse_uci(text), current.side
        name, previous, is_known = san(current, move), current.copy(), move in known_moves(current)
        current.push(move)
        after, explained_after = verdict_on(current, judge, limits), judge.narrator.explain(current.record)
        better, within = before, deeper(limits, suspected // FULLY)
        grader = judge if turn in erring else judge.careful
        if not is_known and grade_of(_loss(previous, before, after, grader)):
            suspected += 1
            better, after = _confirmed(previous, move, before, grader, within)
            is_small = turn not in erring and grade_of(_loss(previous, better, after, grader)) == GRADES[-1]
            if is_small and not _lasts(previous, (better.best, (move, *after.best)), grader, limits):
                better = _from(previous, move, after)
        if (loss := loss_of(previous, move, better, after, grader)) >= MISTAKE:
            erring.add(turn)
        change = static.report_change(explained, explained_after)
        annotated = AnnotatedMove(move, name, turn, before, better, after, change, loss)
        if annotated.grade is not None:
            best, own = Course(previous, better.best, better.score), Course(current, after.best, after.score)
            annotated = replace(annotated, mistake=claims.Prover(judge, deeper(limits)).of_mistake(move, best, own))
        yield annotated
        before, explained = after, explained_after


def loss_of(position: game.Position, move: int, better: MoveVerdict, after: MoveVerdict, judge: Judge) -> float:
    """What a move of a position gives away of the points, 0..1, by the verdicts on the position and after the move."""
    if better.best[:1] == (move,) or move in known_moves(position):
        return 0.0
    return max(0.0, _loss(position, better, after, judge))


def deeper(limits: Limits, halved: int = 0) -> Limits:
    """The limits for what looks like a mistake, halved so many times but never less than those of any position."""
    return lengthened(limits, max(1, CONFIRMING >> halved), max(0, _CONFIRMING_PLIES - halved))


def _loss(position: game.Position, before: MoveVerdict, after: MoveVerdict, judge: Judge) -> float:
    return judge.loss(position, before.seen_by(position.side), after.seen_by(position.side))


def _confirmed(
    position: game.Position, move: Move, before: MoveVerdict, judge: Judge, limits: Limits
) -> tuple[MoveVerdict, MoveVerdict]:
    """The verdicts on the best move and on `move`, by searches within `limits`.

    The best one is `move` itself where the search before it agrees with it, or sees no such fall.
    """
    after = verdict_on(after_move(position, move), judge, limits)
    own = _from(position, move, after)
    deep = verdict_on(position, judge, limits)
    if deep.best[0] == move or not grade_of(_loss(position, deep, after, judge)):
        return own, after
    others = dict.fromkeys(other for other in (deep.best[0], before.best[0]) if other != move)
    found = [_from(position, other, verdict_on(after_move(position, other), judge, limits)) for other in others]
    best = max(found, key=lambda verdict: verdict.seen_by(position.side)[1])
    loss = _loss(position, best, after, judge)
    if not grade_of(loss) or loss >= PLAIN:
        return best, after
    limits = lengthened(limits, *winning.LONGER)
    after = verdict_on(after_move(position, move), judge, limits)
    return _from(position, best.best[0], verdict_on(after_move(position, best.best[0]), judge, limits)), after


def _lasts(position: game.Position, lines: Sequence[Sequence[int]], judge: Judge, limits: Limits) -> bool:
    """Whether the second of two lines is still a mistake when the judge has played on after the first moves of both."""
    scores = (played_on(position, moves, judge, limits, PLAYED_ON).score for moves in lines)
    return grade_of(judge.fall(position, *scores)) is not None


def _from(position: game.Position, move: int, after: MoveVerdict) -> MoveVerdict:
    """The verdict after a move as one on the position before it."""
    return replace(after, score=seen_after(after.score, -1), turn=position.side, best=(move, *after.best))


def verdict_on(position: game.Position, judge: Judge, limits: Limits) -> MoveVerdict:
    """The verdict of the rules if the game is over without a claim, else of the search."""
    turn, line = position.side, judge.line(position, limits)
    expected = judge.expected(line.score)
    return MoveVerdict(expected if turn == WHITE else 1 - expected, line.score, turn, line.depth, line.pv)
