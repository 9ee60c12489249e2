"""Triples of packed positions for the PQR objective: before a move, after it, and after another legal move instead."""

from __future__ import annotations

import numpy as np

from merino.core.board.bitboard import FULL, WHITE
from merino.core.board.makemove import make
from merino.core.board.movegen import ALL, MAX_MOVES, generate
from merino.core.board.position import POSITION, side_to_move
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record
from merino.formats.packed import PACKED, write_packed
from merino.formats.pgn_games import Games, is_finished


def triples_of_games(games: Games, games_before: int = 0) -> np.ndarray:
    """Three positions for each move of finished games that is not the only legal one, PACKED[3n].

    They have no scores, and the result of the game. The other move is chosen by a hash of the position, so that the
    same games give the same triples. The games are numbered from `games_before` on.
    """
    packed = np.zeros(3 * len(games.moves), dtype=PACKED)
    count = _pack_games(games.table, games.moves, games.starts, games_before, packed)
    return packed[:count]


@entry
def _pack_games(table, moves, starts, games_before, packed):
    """Fill PACKED[n] with the triples of the games; returns the number of positions."""
    stack, scratch = np.zeros(3, dtype=POSITION), np.zeros(MAX_MOVES, dtype=np.int32)
    count = 0
    for number in range(len(table)):
        game = table[number]
        if is_finished(game):
            copy_record(stack[0], starts[game.position])
            count = _pack_game(game, moves, games_before + number, stack, scratch, packed, count)
    return count


@kernel
def _pack_game(game, moves, number, stack, scratch, packed, count):
    """Add the triples of one game; returns the number of all positions so far."""
    for ply in range(game.plies):
        before, after, other = stack[ply & 1], stack[(ply + 1) & 1], stack[2]
        move = np.int64(moves[game.first + ply])
        make(after, before, move)
        legal = generate(before, scratch, ALL, FULL)
        if legal > 1:
            make(other, before, _another(before, scratch, legal, move))
            result = np.int64(game.result)
            own = result if side_to_move(before) == WHITE else 2 - result
            write_packed(before, 0, own, number, packed[count])
            write_packed(after, 0, 2 - own, number, packed[count + 1])
            write_packed(other, 0, 2 - own, number, packed[count + 2])
            count += 3
    return count


@kernel
def _another(position, moves, count, played):
    """One of the legal moves that was not played, by a hash of the position."""
    mixed = np.uint64(position.key) * np.uint64(0x9E3779B97F4A7C15)
    number = np.int64((mixed >> np.uint64(33)) % np.uint64(count - 1))
    for index in range(count):
        if np.int64(moves[index]) != played:
            if number == 0:
                return np.int64(moves[index])
            number -= 1
    return played
