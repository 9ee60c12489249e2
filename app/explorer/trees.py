"""Games with variations, comments and signs, as the page has them, and as PGN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import chess
import chess.pgn

from merino.inner.app.explorer.fields import MAX_MOVES, Fields, RequestError
from merino.inner.core.board.fen import START_FEN
from merino.inner.formats.pgn_text import tree_text

MAX_DEPTH = 20  # of variations within variations; deeper ones are not shown
MAX_NAG = 255


@dataclass(frozen=True)
class PlayedMove:
    """A move of a game, with its comment, signs, and the lines that were possible in its place."""

    san: str
    uci: str
    comment: str = ""
    nags: tuple[int, ...] = ()
    variations: tuple[tuple[PlayedMove, ...], ...] = ()


def tree_of(game: chess.pgn.Game, plies: int) -> tuple[PlayedMove, ...]:
    """The first `plies` moves of the main line, each with its variations."""
    return _line(game, game.board(), 0)[:plies]


def _line(node: chess.pgn.GameNode, board: chess.Board, depth: int) -> tuple[PlayedMove, ...]:
    """What follows a node, whose position is on the board; the board is left as it was."""
    found = list[PlayedMove]()
    while node.variations:
        main, *others = node.variations
        variations = tuple(_variation(other, board, depth + 1) for other in others) if depth < MAX_DEPTH else ()
        found.append(_played(main, board, variations))
        board.push(main.move)
        node = main
    for _ in found:
        board.pop()
    return tuple(found)


def _variation(start: chess.pgn.ChildNode, board: chess.Board, depth: int) -> tuple[PlayedMove, ...]:
    first = _played(start, board, ())
    board.push(start.move)
    rest = _line(start, board, depth)
    board.pop()
    return (first, *rest)


def _played(
    node: chess.pgn.ChildNode, board: chess.Board, variations: tuple[tuple[PlayedMove, ...], ...]
) -> PlayedMove:
    return PlayedMove(board.san(node.move), board.uci(node.move), node.comment, tuple(sorted(node.nags)), variations)


def pgn_of(fen: str, tags: Mapping[str, str], moves: Sequence[Fields]) -> str:
    """A game as PGN: its tags, and its moves as the page sends them, like PlayedMove.

    Raises RequestError, and ValueError for an illegal move.
    """
    game = chess.pgn.Game()
    for name, value in tags.items():
        game.headers[name] = value
    if fen != START_FEN:
        game.setup(chess.Board(fen))
    _add(game, game.board(), moves, 0)
    return tree_text(game)


def _add(node: chess.pgn.GameNode, board: chess.Board, moves: Sequence[Fields], depth: int) -> None:
    """Append moves to a node, whose position is on the board; the board is left as it was."""
    if depth > MAX_DEPTH:
        raise RequestError(f"variations lie more than {MAX_DEPTH} deep in each other")
    if len(moves) > MAX_MOVES:
        raise RequestError(f"these are more than {MAX_MOVES} moves")
    for fields in moves:
        move = board.parse_uci(fields.text("uci"))
        child = node.add_variation(move, comment=fields.text("comment", ""), nags=fields.whole_numbers("nags", MAX_NAG))
        for variation in fields.lists("variations"):
            _add(node, board, variation, depth + 1)
        board.push(move)
        node = child
    for _ in moves:
        board.pop()
