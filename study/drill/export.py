"""Exercises for other programs: a PGN study, and cards for Anki."""

from __future__ import annotations

import html
from collections.abc import Sequence

import chess
import chess.pgn

from merino.inner.study.drill.exercises import Exercise


def as_pgn(exercises: Sequence[Exercise]) -> str:
    """A chapter for each: the position, the solution with its line, and the move played with its refutation."""
    return "\n\n".join(str(_chapter(number, exercise)) for number, exercise in enumerate(exercises, start=1)) + "\n"


def _chapter(number: int, exercise: Exercise) -> chess.pgn.Game:
    board = chess.Board(exercise.fen)
    game = chess.pgn.Game()
    game.setup(board)
    game.headers["Event"] = f"Exercise {number}: {exercise.kind}"
    game.headers["Site"] = f"game {exercise.game}"
    game.headers["White"], game.headers["Black"] = exercise.title, "?"
    game.comment = f"You played {exercise.number}{exercise.played}. What is better?"
    _add(game, exercise.line or (exercise.solution,)).comment = exercise.why
    wrong = _add(game, (exercise.played, *exercise.refutation))
    wrong.nags.add(chess.pgn.NAG_MISTAKE)
    return game


def _add(game: chess.pgn.Game, moves: Sequence[str]) -> chess.pgn.GameNode:
    """Add a line of short notation; returns the node of its first move."""
    node: chess.pgn.GameNode = game
    first = None
    for move in moves:
        node = node.add_variation(node.board().parse_san(move))
        first = first or node
    return first or game


def as_anki(exercises: Sequence[Exercise]) -> str:
    """A card a line for Anki's import of text: the question, the answer and tags, between tabs."""
    lines = ["#separator:tab", "#html:true", "#tags column:3"]
    for exercise in exercises:
        side = "White" if chess.Board(exercise.fen).turn else "Black"
        board = "<br>".join(str(chess.Board(exercise.fen)).splitlines())
        question = f"<pre>{board}</pre>{exercise.fen}<br>{side} to move; you played {html.escape(exercise.played)}."
        lines.append(f"{question}\t{html.escape(exercise.why)}\tmerino {exercise.kind.replace(' ', '-')}")
    return "\n".join(lines) + "\n"
