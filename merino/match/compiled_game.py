"""A whole game between two search records as one compiled call, without the GIL, under all rules.

`Worker` must have prepared both records (weights, parameters, table, stop flag). A game depends only on the arguments
if tables and histories are cleared before it.
"""

import numpy as np

from merino.core.board.bitboard import FULL, WHITE, ZERO
from merino.core.board.game import FIFTY_MOVES
from merino.core.board.makemove import make
from merino.core.board.movegen import ALL, count_legal, generate
from merino.core.board.position import is_insufficient_material, side_to_move
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record, load_word, record_dtype
from merino.engine.search.iterative_deepening import deepen, set_root
from merino.engine.search.transposition import age_of
from merino.match.rng import next_random

# Why a game ended. The first stands for a game that has not ended.
UNFINISHED, CHECKMATE, STALEMATE, MATERIAL, FIFTY, REPETITION, WIN_BY_SCORE, DRAW_BY_SCORE, TOO_LONG = range(9)

DRAWS = 8  # tries to find another good move

MAX_PLIES = 2048  # most plies of any game; the fifty-move rule ends nearly all earlier

GAME_RULES = record_dtype(
    [
        ("nodes", np.int64, 2),  # a move, by colour
        ("depth", np.int64, 2),
        ("longest", np.int64),  # plies after the opening, at most MAX_PLIES; then the game is a draw
        ("win_score", np.int64),  # a game is won when both sides have seen at least this score ...
        ("win_moves", np.int64),  # ... on so many moves each; 0 for never
        ("draw_score", np.int64),  # and drawn when no side has seen more than this ...
        ("draw_moves", np.int64),  # ... on so many moves each; 0 for never
        ("draw_from", np.int64),  # ... from this move number on
        ("early", np.int64),  # plies after the opening at which any good move may be played
        ("early_loss", np.int64),  # by how many centipawns such a move may be worse than the best
    ],
)


@kernel
def is_threefold(position, keys, count):
    """Whether the present position, `keys[count - 1]`, has occurred three times."""
    occurred = 1
    for back in range(4, min(int(position.halfmove), count - 1) + 1, 2):
        occurred += keys[count - 1 - back] == keys[count - 1]
    return occurred >= 3


@kernel
def end_by_rule(position, keys, count):
    """Why the game is over, or UNFINISHED; draws need no claim."""
    if count_legal(position) == 0:
        return CHECKMATE if position.checkers else STALEMATE
    if is_insufficient_material(position):
        return MATERIAL
    if position.halfmove >= FIFTY_MOVES:
        return FIFTY
    return REPETITION if is_threefold(position, keys, count) else UNFINISHED


@kernel
def end_by_scores(rules, scores, count, fullmove):
    """WIN_BY_SCORE, DRAW_BY_SCORE or UNFINISHED; `scores[:count]` are those of the moves so far, by their movers.

    The two sides alternate, so that every other score has the opposite sign.
    """
    if 0 < 2 * rules.win_moves <= count:
        sign = 1 if scores[count - 1] > 0 else -1
        agreed = 0
        while agreed < 2 * rules.win_moves and sign * scores[count - 1 - agreed] >= rules.win_score:
            agreed += 1
            sign = -sign
        if agreed == 2 * rules.win_moves:
            return WIN_BY_SCORE
    if 0 < 2 * rules.draw_moves <= count and fullmove >= rules.draw_from:
        agreed = 0
        while agreed < 2 * rules.draw_moves and abs(scores[count - 1 - agreed]) <= rules.draw_score:
            agreed += 1
        if agreed == 2 * rules.draw_moves:
            return DRAW_BY_SCORE
    return UNFINISHED


@entry
def judge_scores(rules, scores, fullmove):
    """What `end_by_scores` says of scores, int32[n], for callers in Python; `rules` is GAME_RULES[1]."""
    return end_by_scores(rules[0], scores, len(scores), fullmove)


@kernel
def vary(s, rules, side, best, score, state):
    """A random move that a search finds nearly as good as the best, with its score; else the best move."""
    for _ in range(DRAWS):
        count = generate(s.positions[0], s.moves[0], ALL, FULL)
        move = np.int64(s.moves[0, next_random(state) % count])
        if move == best:
            break
        s.root_count, s.root_moves[0], s.nodes, s.stopped = 1, move, 0, 0
        other = deepen(s, rules.nodes[side] // DRAWS, rules.depth[side])[1]
        s.root_count = 0
        if other >= score - rules.early_loss:
            return move, other
    return best, score


@entry
def play_game(white, black, positions, rules, state, keys, known, moves, scores, depths):
    """Play from positions[0] to the end of the game; returns the number of moves and the reason.

    `white` and `black` are search records, SEARCH[1]; `rules` GAME_RULES[1]; `state`, uint64[1], for `next_random`.
    `positions` is POSITION[2] and ends with the last position of the game. `keys`, uint64[known + MAX_PLIES], holds
    the keys of the game up to the start. The moves, their scores from the mover's view and their search depths are
    written to `moves`, `scores` and `depths`, int32[MAX_PLIES]. UNFINISHED means that the stop flag of the records
    was set.
    """
    position, count = positions[0], 0
    while True:
        reason = end_by_rule(position, keys, known + count)
        if reason == UNFINISHED:
            reason = end_by_scores(rules[0], scores, count, position.fullmove)
        if reason == UNFINISHED and count >= rules[0].longest:
            reason = TOO_LONG
        if reason != UNFINISHED:
            return count, reason
        side = side_to_move(position)
        s = white[0] if side == WHITE else black[0]
        set_root(s, position, keys, known + count, age_of(1 + count // 2))
        move, score, depth = deepen(s, rules[0].nodes[side], rules[0].depth[side])
        if count < rules[0].early:
            move, score = vary(s, rules[0], side, move, score, state)
        if load_word(s.stop_address) != ZERO:
            return count, UNFINISHED
        make(positions[1], position, move)
        copy_record(position, positions[1])
        moves[count], scores[count], depths[count], keys[known + count] = move, score, depth, position.key
        count += 1
