"""Packed positions from games whose moves carry scores in their comments."""

from __future__ import annotations

import numpy as np

from merino.inner.core.board.bitboard import WHITE
from merino.inner.core.board.makemove import make
from merino.inner.core.board.position import POSITION, side_to_move
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.core.compiled.memory import copy_record
from merino.inner.formats.packed import PACKED, Filter, is_taken, write_packed
from merino.inner.formats.pgn_games import Games, is_finished
from merino.inner.formats.pgn_scores import NOTHING, OF_MOVER, score_between
from merino.inner.formats.pgn_tokens import MOVE, next_token


def packed_of_games(games: Games, chosen: Filter, games_before: int = 0) -> np.ndarray:
    """The positions of finished games that have a score and pass a filter, PACKED[n].

    A score behind a move is that of the search that chose it, as engines write it, so it belongs to the position
    before the move. The games are numbered from `games_before` on.
    """
    packed = np.zeros(len(games.moves), dtype=PACKED)
    count = _pack_games(
        games.data, games.table, games.moves, games.starts, games_before, chosen.most, chosen.noisy, packed
    )
    return packed[:count]


@entry
def _pack_games(data, table, moves, starts, games_before, most, noisy, packed):
    """Fill PACKED[n] with the positions of the games that pass the filter; returns their number."""
    stack = np.zeros(2, dtype=POSITION)
    count = 0
    for number in range(len(table)):
        game = table[number]
        if is_finished(game):
            copy_record(stack[0], starts[game.position])
            count = _pack_game(data, game, moves, games_before + number, most, noisy, stack, packed, count)
    return count


@kernel
def _pack_game(data, game, moves, number, most, noisy, stack, packed, count):
    """Add the positions of one game; returns the number of all so far."""
    kind, _, at, _ = next_token(data, game.text, game.end)
    for ply in range(game.plies):
        kind, start, stop, _ = next_token(data, at, game.end)
        score_kind, value = score_between(data, at, start)
        before, after = stack[ply & 1], stack[(ply + 1) & 1]
        move = np.int64(moves[game.first + ply])
        is_white = side_to_move(before) == WHITE
        score = value if score_kind == OF_MOVER or is_white else -value
        if score_kind != NOTHING and is_taken(before, move, score, most, noisy):
            result = np.int64(game.result)
            write_packed(before, score, result if is_white else 2 - result, number, packed[count])
            count += 1
        make(after, before, move)
        at = stop
        if kind != MOVE:
            break
    return count
