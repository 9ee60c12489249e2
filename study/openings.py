"""The names of openings, by the positions that they lead to: so a game that transposes is named too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from merino.inner.core.board.game import Position
from merino.inner.engine.search.known_openings import NamedOpening, opening_lines


def opening_of(position: Position) -> NamedOpening | None:
    """The opening of a game, by the last of its positions that has a name; None if none has."""
    return opening_by(position.keys)


def opening_by(keys: Iterable[int]) -> NamedOpening | None:
    """The opening of a game whose positions have these Zobrist keys; None if none has a name."""
    known, found = _openings(), None
    for key in keys:
        found = known.get(key, found)
    return found


@cache
def longest_opening() -> int:
    """The plies after which no game comes to another name by the usual moves."""
    return max(len(board.move_stack) for _, board in opening_lines())


@cache
def _openings() -> dict[int, NamedOpening]:
    """Each opening by the key of its position."""
    return {_key(tuple(move.uci() for move in board.move_stack)): opening for opening, board in opening_lines()}


def _key(moves: tuple[str, ...]) -> int:
    position = Position()
    position.push_all(moves)
    return position.keys[-1]
