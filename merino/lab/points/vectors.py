"""Material vectors of games: one for each quiet phase of the balance, by the rule of Medvedev's first study.

A vector is (dP, dN, dB, dR, dQ), White's pieces less Black's. It is written when at least two plies in a row were
no capture, no promotion and no check, and the five numbers differ from the vector written last in that game. The first
of a game is all zeros, since nothing can be captured or checked at once. (Rule: read off V. Medvedev's program
`pgnlearn`, which his article describes; this code is our own.)

Beside the balance stand FEATURES of the pieces that are left, White's less Black's, and the phase of the game. Where
these are asked for, a vector is also written when one of them has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from merino.core.board.bitboard import BISHOP, KNIGHT, PAWN, PIECE_LETTERS, QUEEN, ROOK, ZERO, popcount
from merino.core.board.makemove import make
from merino.core.board.movegen import is_noisy
from merino.core.board.position import POSITION, pieces_of
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record
from merino.eval.material import FULL_SET, units
from merino.formats.pgn_games import NO_FAULT, Games
from merino.formats.pgn_tokens import BLACK_WON, DRAWN, NO_SCORE, UNFINISHED, WHITE_WON

PIECES = PIECE_LETTERS[: QUEEN + 1]  # of the columns
PIECE_NAMES = ("pawn", "knight", "bishop", "rook", "queen")
FEATURES = ("bishop pair", "knight by own pawns", "rook by own pawns", "queen with knight", "last pawn")
PHASES = ("opening", "middlegame", "endgame")
NEUTRAL_PAWNS = 5  # own pawns at which a knight and a rook have just their values (L. Kaufman, 1999)
OPENING_UNITS = 2 * FULL_SET - 12  # of both sides: all pieces, or all but four bishops and knights
ENDGAME_UNITS = 26  # of both sides: thirteen each, as J. Speelman draws the line
QUIET_PLIES = 2  # in a row, before the balance counts as settled
DRAW = 1  # half points
_HALF_POINTS = np.zeros(UNFINISHED + 1, dtype=np.int8)
_HALF_POINTS[[BLACK_WON, DRAWN, UNFINISHED, WHITE_WON]] = 0, DRAW, DRAW, 2
_NO_VECTOR = 127  # stands for the vector before a game's first; no balance equals it
_PHASE = len(PIECES) + len(FEATURES)  # its column in a row, behind those of balance and features
_COLUMNS = _PHASE + 1


@dataclass(frozen=True)
class Vectors:
    """The vectors of some games.

    `differences` int8[n, 5], White's pieces less Black's in the order of PIECES; `game` int32[n], from 0, rising;
    `results` int8[games], White's half points: 0, 1 or 2. `by_game` is false where the text that they were read from
    does not say where games begin, and a "game" is only a stretch of rows that may be part of one.

    Optional, else None: `features` int8[n, 5] in the order of FEATURES, `phase` int8[n], an index of PHASES, and
    `scores` float32[n], the score of a search in centipawns for White, nan where there is none.
    """

    differences: np.ndarray
    game: np.ndarray
    results: np.ndarray
    by_game: bool = True
    features: np.ndarray | None = None
    phase: np.ndarray | None = None
    scores: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.differences)

    @property
    def games(self) -> int:
        """The number of games."""
        return len(self.results)

    @property
    def outcomes(self) -> np.ndarray:
        """The result of each vector's game, int8[n]."""
        return self.results[self.game]

    def of_games(self, chosen: np.ndarray) -> Vectors:
        """The games for which `chosen`, bool[games], is true, numbered anew."""
        numbers = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        kept = self._rows(chosen[self.game])
        return replace(kept, game=numbers[kept.game], results=self.results[chosen])

    def of_rows(self, chosen: np.ndarray) -> Vectors:
        """The vectors for which `chosen`, bool[n], is true; games with none of these are left out."""
        has_rows = np.zeros(self.games, dtype=bool)
        has_rows[self.game[chosen]] = True
        return self._rows(chosen).of_games(has_rows)

    def of_phase(self, phase: int) -> Vectors:
        """The vectors of one of PHASES, which must be known."""
        assert self.phase is not None
        return self.of_rows(self.phase == phase)

    def searched(self) -> Vectors:
        """The vectors with the score of a search."""
        assert self.scores is not None
        return self.of_rows(~np.isnan(self.scores))

    def decided(self) -> Vectors:
        """The games that were not drawn."""
        return self.of_games(self.results != DRAW)

    def of_balance(self) -> Vectors:
        """Those vectors whose five differences are not those of the one before in the same game: Medvedev's."""
        if self.features is None:
            return self
        changed = np.ones(len(self), dtype=bool)
        changed[1:] = (np.diff(self.game) != 0) | (np.diff(self.differences, axis=0) != 0).any(axis=1)
        return replace(self._rows(changed), features=None)

    def columns(self) -> np.ndarray:
        """The predictors, int8[n, k]: the differences, followed by the features if known."""
        return self.differences if self.features is None else np.hstack([self.differences, self.features])

    def _rows(self, kept: np.ndarray) -> Vectors:
        """These rows, the games unchanged."""
        extra = (self.features, self.phase, self.scores)
        features, phase, scores = (None if column is None else column[kept] for column in extra)
        return replace(
            self,
            differences=self.differences[kept],
            game=self.game[kept],
            features=features,
            phase=phase,
            scores=scores,
        )


@kernel
def _write_balance(position, row):
    """Fill `row` with White's pieces less Black's, five numbers."""
    for kind in range(len(PIECES)):
        white = popcount(position.pieces[kind] & position.colours[0])
        row[kind] = white - popcount(position.pieces[kind] & position.colours[1])


@kernel
def _features_of(position, colour):
    """The FEATURES of a side."""
    pawns = popcount(pieces_of(position, colour, PAWN))
    knights = popcount(pieces_of(position, colour, KNIGHT))
    bishops = popcount(pieces_of(position, colour, BISHOP))
    rooks = popcount(pieces_of(position, colour, ROOK))
    has_queen = pieces_of(position, colour, QUEEN) != ZERO
    return (
        int(bishops >= 2),
        knights * (pawns - NEUTRAL_PAWNS),
        rooks * (pawns - NEUTRAL_PAWNS),
        int(has_queen and knights > 0),
        int(pawns > 0),
    )


@kernel
def phase_of(position):
    """The phase of the game, by the pieces of both sides: an index of PHASES."""
    left = units(position, 0) + units(position, 1)
    return 0 if left >= OPENING_UNITS else 2 if left <= ENDGAME_UNITS else 1


@kernel
def _write_row(position, row):
    """Fill `row`, int8[11]: the balance, the features, the phase."""
    _write_balance(position, row)
    white, black = _features_of(position, 0), _features_of(position, 1)
    for index in range(len(FEATURES)):
        row[len(PIECES) + index] = white[index] - black[index]
    row[_PHASE] = phase_of(position)


@kernel
def _is_new(row, last, watched):
    """Whether a number of `row` that is watched differs from that of `last`; then `last` becomes like it."""
    changed = False
    for column in range(len(row)):
        changed |= watched[column] and row[column] != last[column]
        last[column] = row[column]
    return changed


@entry
def _extract(table, numbers, starts, moves, watched, rows, game, last_move):
    """Fill the rows of the games table[numbers], and the index of the move before each; how many there are."""
    stack, last, found = np.zeros(2, dtype=POSITION), np.zeros(_COLUMNS, dtype=np.int8), 0
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
            if quiet >= QUIET_PLIES:
                _write_row(after, rows[found])
                if _is_new(rows[found], last, watched):
                    game[found], last_move[found] = index, record.first + ply
                    found += 1
    return found


def vectors_of_games(
    games: Games, features: bool = False, phase: bool = False, scores: bool = False
) -> tuple[Vectors, np.ndarray]:
    """The vectors of every game that could be read, and the numbers of these games, int64[games].

    With `features` and `phase` these are filled in, and each change of one makes a vector, too; with `scores`, which
    the games must have been read with, these are. An unfinished game counts as drawn, as it does in Medvedev's program.
    """
    table = games.table
    numbers = np.flatnonzero((table["fault"] == NO_FAULT) & (table["plies"] > 0))
    capacity = int(table["plies"][numbers].sum()) + 1  # the row behind the last is written before it is found not new
    rows, game = np.zeros((capacity, _COLUMNS), dtype=np.int8), np.zeros(capacity, dtype=np.int32)
    last_move = np.zeros(capacity, dtype=np.int64)
    watched = np.repeat([True, features, phase], [len(PIECES), len(FEATURES), 1])
    found = _extract(table, numbers, games.starts, games.moves, watched, rows, game, last_move)
    balance, extra, last = np.split(rows[:found], [len(PIECES), _PHASE], axis=1)
    vectors = Vectors(balance.copy(), game[:found].copy(), _HALF_POINTS[table["result"][numbers]])
    if features:
        vectors = replace(vectors, features=extra.copy())
    if phase:
        vectors = replace(vectors, phase=last[:, 0].copy())
    if scores:
        searched = games.scores[last_move[:found]]
        vectors = replace(vectors, scores=np.where(searched == NO_SCORE, np.nan, searched).astype(np.float32))
    return vectors, numbers


def joined(parts: Sequence[Vectors]) -> Vectors:
    """All games of the parts, one part after the other."""
    offsets = np.cumsum([0, *(part.games for part in parts)], dtype=np.int32)
    return Vectors(
        np.concatenate([part.differences for part in parts]),
        np.concatenate([part.game + offset for part, offset in zip(parts, offsets, strict=False)]),
        np.concatenate([part.results for part in parts]),
        all(part.by_game for part in parts),
        _joined_column([part.features for part in parts]),
        _joined_column([part.phase for part in parts]),
        _joined_column([part.scores for part in parts]),
    )


def _joined_column(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
