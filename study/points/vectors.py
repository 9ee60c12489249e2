"""Material vectors of games: one for each quiet phase of the balance, by the rule of Medvedev's first study.

A vector is (dP, dN, dB, dR, dQ), White's pieces less Black's. It is written when at least two half-moves in a row were
no capture, no promotion and no check, and the five numbers differ from the vector written last in that game. The first
of a game is all zeros, since nothing can be captured or checked at once. (Rule: read off V. Medvedev's program
`pgnlearn`, which his article describes; this code is our own.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.board.bitboard import PIECE_LETTERS, QUEEN, ZERO, popcount
from engine.board.makemove import make
from engine.board.movegen import is_noisy
from engine.board.position import POSITION
from engine.compiled.jit import entry, kernel
from engine.compiled.memory import copy_record
from formats.pgn_games import NO_FAULT, Games
from formats.pgn_tokens import BLACK_WON, DRAWN, UNFINISHED, WHITE_WON

PIECES = PIECE_LETTERS[: QUEEN + 1]  # of the columns
PIECE_NAMES = ("pawn", "knight", "bishop", "rook", "queen")
QUIET_HALF_MOVES = 2  # in a row, before the balance counts as settled
DRAW = 1  # half points
_HALF_POINTS = np.zeros(UNFINISHED + 1, dtype=np.int8)
_HALF_POINTS[[BLACK_WON, DRAWN, UNFINISHED, WHITE_WON]] = 0, DRAW, DRAW, 2
_NO_VECTOR = 127  # in place of the vector before a game's first: no balance is like it


@dataclass(frozen=True)
class Vectors:
    """The vectors of some games.

    `differences` int8[n, 5], White's pieces less Black's in the order of PIECES; `game` int32[n], from 0, rising;
    `results` int8[games], White's half points: 0, 1 or 2. `by_game` is false where the text that they were read from
    does not say where games begin, and a "game" is only a stretch of rows that may be part of one.
    """

    differences: np.ndarray
    game: np.ndarray
    results: np.ndarray
    by_game: bool = True

    def __len__(self) -> int:
        return len(self.differences)

    @property
    def games(self) -> int:
        """How many games."""
        return len(self.results)

    @property
    def outcomes(self) -> np.ndarray:
        """The result of each vector's game, int8[n]."""
        return self.results[self.game]

    def of_games(self, chosen: np.ndarray) -> Vectors:
        """The games for which `chosen`, bool[games], is true, numbered anew."""
        kept = chosen[self.game]
        numbers = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        return Vectors(self.differences[kept], numbers[self.game[kept]], self.results[chosen], self.by_game)

    def decided(self) -> Vectors:
        """The games that were not drawn."""
        return self.of_games(self.results != DRAW)


@kernel
def _write_balance(position, row):
    """Fill `row`, int8[5], with White's pieces less Black's."""
    for kind in range(len(row)):
        white = popcount(position.pieces[kind] & position.colours[0])
        row[kind] = white - popcount(position.pieces[kind] & position.colours[1])


@kernel
def _is_new(row, last):
    """Whether `row` differs from `last`, int8[5] both; then `last` becomes like it."""
    changed = False
    for kind in range(len(row)):
        changed |= row[kind] != last[kind]
        last[kind] = row[kind]
    return changed


@entry
def _extract(table, numbers, starts, moves, differences, game):
    """Fill the rows of the games table[numbers]; how many there are."""
    stack, last, found = np.zeros(2, dtype=POSITION), np.zeros(len(PIECES), dtype=np.int8), 0
    for index in range(len(numbers)):
        record = table[numbers[index]]
        copy_record(stack[0], starts[record.position])
        last[:] = _NO_VECTOR
        quiet = 0
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            move = np.int64(moves[record.first + ply])
            make(after, before, move)
            quiet = 0 if is_noisy(before, move) or after.checkers != ZERO else quiet + 1
            if quiet >= QUIET_HALF_MOVES:
                _write_balance(after, differences[found])
                if _is_new(differences[found], last):
                    game[found] = index
                    found += 1
    return found


def vectors_of_games(games: Games) -> tuple[Vectors, np.ndarray]:
    """The vectors of every game that could be read, and the numbers of these games, int64[games].

    An unfinished game counts as drawn, as it does in Medvedev's program.
    """
    table = games.table
    numbers = np.flatnonzero((table["fault"] == NO_FAULT) & (table["plies"] > 0))
    room = int(table["plies"][numbers].sum()) + 1  # the row behind the last is written before it is found not new
    differences, game = np.zeros((room, len(PIECES)), dtype=np.int8), np.zeros(room, dtype=np.int32)
    found = _extract(table, numbers, games.starts, games.moves, differences, game)
    results = _HALF_POINTS[table["result"][numbers]]
    return Vectors(differences[:found].copy(), game[:found].copy(), results), numbers


def joined(parts: Sequence[Vectors]) -> Vectors:
    """All games of the parts, one part after the other."""
    offsets = np.cumsum([0, *(part.games for part in parts)], dtype=np.int32)
    return Vectors(
        np.concatenate([part.differences for part in parts]),
        np.concatenate([part.game + offset for part, offset in zip(parts, offsets, strict=False)]),
        np.concatenate([part.results for part in parts]),
        all(part.by_game for part in parts),
    )
