"""The openings that have a name, found by moves or by positions, and the moves that players know from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from merino.core.board import bitboard, game

if TYPE_CHECKING:
    import chess

MIN_MEN = 29  # on the board in every named opening
# Lines of code of the Encyclopaedia of Chess Openings, name, and moves.
FILE = Path(__file__).with_name("openings.txt")


@dataclass(frozen=True)
class NamedOpening:
    """An opening: its code (ECO) and its name."""

    eco: str
    name: str


def opening_lines() -> Iterator[tuple[NamedOpening, chess.Board]]:
    """Each opening with its moves played on a board."""
    import chess  # noqa: PLC0415 (a start needs no openings)

    boards: dict[tuple[str, ...], chess.Board] = {(): chess.Board()}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        title, moves = line.split(": ")
        played: tuple[str, ...] = ()
        for move in moves.split():
            board, played = boards[played], (*played, move)
            if played not in boards:
                boards[played] = board.copy()
                boards[played].push_san(move)
        yield NamedOpening(*title.split(" ", 1)), boards[played]


def known_moves(position: game.Position) -> Mapping[int, int]:
    """The moves that lead on to named openings, each with the number of openings; empty where none is known."""
    if sum(map(bitboard.popcount, position.record[0]["colours"])) < MIN_MEN:
        return {}  # so that a start, which tries its code on few men, need not read them
    return _known().get(position.keys[-1], {})


@cache
def _known() -> dict[int, Counter[int]]:
    """The known moves of each position by its key."""
    found: dict[int, Counter[int]] = {}
    positions: dict[tuple[chess.Move, ...], game.Position] = {(): game.Position()}
    for _, board in opening_lines():
        played: tuple[chess.Move, ...] = ()
        for move in board.move_stack:
            position, played = positions[played], (*played, move)
            if played not in positions:
                positions[played] = position.copy()
                positions[played].push_uci(move.uci())
            found.setdefault(position.keys[-1], Counter())[positions[played].moves[-1]] += 1
    return found


def opening_of(position: game.Position) -> NamedOpening | None:
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
    position = game.Position()
    position.push_all(moves)
    return position.keys[-1]
