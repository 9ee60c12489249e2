"""Piece values by removal, for every family: how much the score falls for its owner without the piece."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING, ONE, WHITE, bit, colour_of, lsb, type_of
from merino.core.board.position import POSITION, occupied_squares, piece_on
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record

POSITIONS_AT_ONCE = 1024  # whose copies, one for each piece, fit into the processor's cache


@kernel
def take_off(position, square):
    """Take the piece on a square off the board, and what it may castle; the key stays as it is."""
    piece, others = piece_on(position, square), ~bit(square)
    position.pieces[type_of(piece)] &= others
    position.colours[colour_of(piece)] &= others
    position.castling &= others
    position.board[square] = EMPTY


@entry
def _without_each(positions, without, places):
    """Fill `without` with the positions after removing each piece except kings, and `places` with 64 * index + square.

    Returns their number.
    """
    found = 0
    for index in range(len(positions)):
        position = positions[index]
        pieces = occupied_squares(position) & ~position.pieces[KING]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            copy_record(without[found], position)
            take_off(without[found], square)
            places[found] = 64 * index + square
            found += 1
    return found


def removals(positions: np.ndarray, scores: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What the owner of the piece on each square loses when it is taken off the board, the side to move unchanged.

    int64[n, 64] in centipawns for POSITION[n], 0 for kings and empty squares. `scores` returns those of POSITION[m]
    for the side to move, int64[m], after the draw rules.
    """
    parts = [
        _removals(positions[first : first + POSITIONS_AT_ONCE], scores)
        for first in range(0, max(1, len(positions)), POSITIONS_AT_ONCE)
    ]
    return np.concatenate(parts)


def without_each(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """POSITION[n] without each piece but kings: POSITION[m], and of each 64 * index + square, int64[m]."""
    capacity = int((positions["board"] != EMPTY).sum())
    without, places = np.empty(capacity, dtype=POSITION), np.zeros(capacity, dtype=np.int64)
    found = _without_each(positions, without, places)
    return without[:found], places[:found]


def _removals(positions: np.ndarray, scores: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    without, places = without_each(positions)
    index = places >> 6
    falls = scores(positions)[index] - scores(without)  # for the side to move
    mover_is_black = positions["side"][index] != WHITE
    owner_is_black = positions["board"].ravel()[places] >= BLACK_PIECE
    values = np.zeros(64 * len(positions), dtype=np.int64)
    values[places] = np.where(mover_is_black == owner_is_black, falls, -falls)
    return values.reshape(-1, 64)
