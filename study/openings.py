"""The names of openings, by the positions that they lead to: so a game that transposes is named too."""

from __future__ import annotations

from functools import cache

from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import as_chess_move, start_board_of
from merino.inner.engine.search.known_openings import NamedOpening, opening_lines


def opening_of(position: Position) -> NamedOpening | None:
    """The opening of a game, by the last of its positions that has a name; None if none has."""
    board, found = start_board_of(position), None
    known = _openings()
    for move in position.moves:
        board.push(as_chess_move(move, position.chess960))
        found = known.get(board.epd(), found)
    return found


@cache
def _openings() -> dict[str, NamedOpening]:
    """Each opening by its position."""
    return {board.epd(): opening for opening, board in opening_lines()}
