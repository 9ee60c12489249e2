"""What is said of an answer to an exercise: right, or why not."""

from __future__ import annotations

from dataclasses import dataclass

import chess

from merino.inner.core.board.game import Position
from merino.inner.engine.notation.positions import needs_chess960
from merino.inner.engine.notation.san import read_move, san
from merino.inner.engine.search.limits import Limits
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.analyser import Analyser, best_line, expected_of
from merino.inner.study.drill.exercises import Exercise, named_line

ATTEMPTS = 2  # at a move, before the solution is shown
REPLY_NODES = 20_000  # of the search for what refutes a move


@dataclass(frozen=True)
class Reply:
    """What is said of a move: whether it is the solution, a sentence, and the line that refutes it."""

    move: str  # in short notation
    is_right: bool
    sentence: str
    refutation: tuple[str, ...] = ()


def reply_to(exercise: Exercise, text: str, evaluation: Evaluation, analyse: Analyser) -> Reply:
    """What is said of a move as people write it; raises MoveRejected if it is none."""
    position = Position(exercise.fen, chess960=needs_chess960(exercise.fen))
    move = read_move(position, text)
    name = san(position, move)
    if name == exercise.solution:
        return Reply(name, True, "Right.")
    if name == exercise.played and exercise.refutation:
        line = exercise.refutation
        return Reply(name, False, f"That is what you played: {line[0]} answers it.", line)
    position.push(move)
    best = best_line(position, Limits(nodes=REPLY_NODES), analyse)
    if best is None:
        return Reply(name, False, f"{name} is not the best.")
    line = tuple(named_line(position, best.pv))
    left = 1 - expected_of(best.score, evaluation)
    sentence = f"{name} is not the best: {line[0]} answers it, and leaves you {left:.0%} of the points."
    return Reply(name, False, sentence, line)


def hint_for(exercise: Exercise) -> str:
    """Which piece moves, in words."""
    move = chess.Board(exercise.fen).parse_san(exercise.solution)
    return f"It moves the piece on {chess.square_name(move.from_square)}."
