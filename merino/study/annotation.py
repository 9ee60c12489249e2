"""A game move by move: evaluation, expected score, the terms a move changed, and how much it lost.

Expected scores are those of `eval.outlook`, by score and K; a mate in view is certain. A move loses the expected score
of the best move minus its own. The search before a move gives the best move and its score. The search after the move
sees further, so the two scores differ by more than the move. If they differ by as much as a mistake, the best move is
also made and searched to the same limits. If the move played was the best one itself, the best of the others takes its
place. A negative loss counts as 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from merino.core.board import game
from merino.core.board.bitboard import WHITE
from merino.core.board.move import Move
from merino.engine.notation.san import san, score_text
from merino.engine.report import schema, static
from merino.engine.search.limits import MATE_SCORE, Limits, Score
from merino.eval.evaluation import Evaluation
from merino.study import mistakes
from merino.study.analyser import Analyser, expected_of


@dataclass(frozen=True)
class Grade:
    """A kind of mistake: from this loss of expected score on, it has this sign."""

    least_loss: float
    nag: int  # the Numeric Annotation Glyph of the PGN standard, $6 and so on
    name: str
    sign: str


# The worst first. A twentieth of a point may go unnoticed, a fifth usually decides.
GRADES = (
    Grade(0.20, 4, "blunder", "??"),
    Grade(0.10, 2, "mistake", "?"),
    Grade(0.05, 6, "inaccuracy", "?!"),
)
MISTAKE = GRADES[1].least_loss


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
    mistake: mistakes.Mistake | None = None  # what kind of mistake it is, if it has a grade

    @property
    def loss(self) -> float:
        """The mover's expected score that the move lost, 0..1."""
        if self.better.best and self.better.best[0] == self.move:
            return 0.0
        return max(0.0, _fall(self.better, self.after, self.turn))

    @property
    def grade(self) -> Grade | None:
        """The grade of the mistake, None if it is none; the loss is rounded as shown, to tenths of a percent."""
        shown = round(self.loss, 3)
        return next((grade for grade in GRADES if shown >= grade.least_loss), None)


def annotate_moves(
    position: game.Position,
    moves: Sequence[str],
    evaluation: Evaluation,
    analyser: Analyser,
    limits: Limits,
) -> Iterator[AnnotatedMove]:
    """Each of the legal `moves`, coordinates, played from `position`.

    Each position is searched once within `limits`, and before a move that seems a mistake once or twice more.
    """
    current = position.copy()
    before = _verdict(current, evaluation, analyser, limits)
    explained = evaluation.explain(current.record)
    for text in moves:
        move, turn = current.parse_uci(text), current.turn
        name, previous = san(current, move), current.copy()
        current.push(move)
        after, explained_after = _verdict(current, evaluation, analyser, limits), evaluation.explain(current.record)
        better = before
        if _fall(before, after, turn) >= GRADES[-1].least_loss and before.score.mate is None:
            better = _better(previous, move, before, evaluation, analyser, limits)
        change = static.report_change(explained, explained_after)
        annotated = AnnotatedMove(move, name, turn, before=before, better=better, after=after, change=change)
        if annotated.grade is not None:
            best, reply = (mistakes.ScoredLine(found.best, found.score) for found in (better, after))
            annotated = replace(annotated, mistake=mistakes.mistake_in(previous, move, best, reply, evaluation))
        yield annotated
        before, explained = after, explained_after


def _better(
    position: game.Position, move: Move, before: MoveVerdict, evaluation: Evaluation, analyser: Analyser, limits: Limits
) -> MoveVerdict:
    """The verdict on the best move other than `move`, from a search after it; `before` if there is no other."""
    best = before.best[0]
    if best == move:
        others = [other for other in position.legal_moves if other != move]
        if not others:
            return before
        best = _verdict(position, evaluation, analyser, replace(limits, search_moves=others)).best[0]
    made = position.copy()
    made.push(best)
    verdict = _verdict(made, evaluation, analyser, limits)
    return replace(verdict, score=_a_ply_before(verdict.score), turn=position.turn, best=(best, *verdict.best))


def _a_ply_before(score: Score) -> Score:
    """The score before the move that leads to a position with this score, for the side that makes it."""
    farther = 0 if score.mate is None else 1 if score > 0 else -1
    return Score(farther - score)


def _fall(before: MoveVerdict, after: MoveVerdict, turn: int) -> float:
    """How much less of the points one side may expect, -1..1."""
    change = after.expected - before.expected
    return -change if turn == WHITE else change


def _verdict(position: game.Position, evaluation: Evaluation, analyser: Analyser, limits: Limits) -> MoveVerdict:
    """The verdict of the rules if the game is over without a claim, else of the search."""
    turn = position.turn
    if position.is_checkmate():
        return MoveVerdict(0.0 if turn == WHITE else 1.0, Score(-MATE_SCORE), turn, 0, ())
    if not position.legal_moves or position.is_insufficient_material():
        return MoveVerdict(0.5, Score(0), turn, 0, ())
    (line,) = analyser(position, limits)
    expected = expected_of(line.score, evaluation)
    return MoveVerdict(expected if turn == WHITE else 1 - expected, line.score, turn, line.depth, line.pv)
