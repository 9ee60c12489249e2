"""Quiescence: captures and promotions until the position is quiet; every move when in check."""

import numpy as np

from engine.board.bitboard import ZERO
from engine.board.move import NO_MOVE, PROMOTION, kind_of
from engine.compiled.jit import kernel
from engine.compiled.recursion import call_at
from engine.search.correction import set_static_score
from engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY
from engine.search.ordering import next_move, start_picking
from engine.search.path import count_node, extend_line, follow, is_draw
from engine.search.pruning import better_score, may_cut
from engine.search.see import captured_type
from engine.search.state import INFINITE
from engine.search.static_score import static_evaluation
from engine.search.transposition import bound_of, entry_is_on_line, entry_move, entry_score, probe, store


@kernel
def quiescence(s, ply, alpha, beta, depth):
    """The score at `ply` when only noisy moves are searched, fail-soft; `depth` is 0."""
    here, position = s.plies[ply], s.positions[ply]
    here.pv_length = 0
    if count_node(s, ply) or is_draw(s, ply):
        return 0
    if ply >= MAX_PLY:
        return static_evaluation(s, ply)
    found = probe(s, position.key)
    if beta - alpha == 1 and may_cut(found, entry_score(found, ply), beta, 0):
        return entry_score(found, ply)
    set_static_score(s, ply, found)
    best = np.int64(-INFINITE)
    if position.checkers == ZERO:
        best = better_score(found, here.static_score, ply)  # stand pat: nobody has to capture
        if beta - alpha > 1 and abs(best) >= MATE_IN_MAX_PLY:
            best = here.static_score  # a line that is shown must lead to the mate it promises
        if best >= beta:
            return best
    start_picking(s, ply, entry_move(found), position.checkers == ZERO)
    here.on_line = beta - alpha > 1 or entry_is_on_line(found)
    return _search_noisy(s, ply, alpha, beta, best)


@kernel
def _search_noisy(s, ply, alpha, beta, best):
    here, position = s.plies[ply], s.positions[ply]
    in_check = position.checkers != ZERO
    old_alpha, best_move, hope = alpha, np.int64(NO_MOVE), best + s.parameters.delta_margin
    alpha = max(alpha, best)
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            break
        if best > -MATE_IN_MAX_PLY and not in_check and kind_of(move) < PROMOTION:
            reach = hope + s.values[captured_type(position, move)]
            if reach <= alpha:  # delta pruning: even the piece for nothing is not enough
                best = max(best, reach)
                continue
        follow(s, ply, move)
        score = -call_at(s.quiet_node, s, ply + 1, -beta, -alpha, 0)
        if s.stopped:
            return 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                extend_line(s, ply, move)
                if score >= beta:
                    break
    if best == -INFINITE:
        return ply - MATE_SCORE  # in check without a move
    bound = bound_of(best, old_alpha, beta)
    store(s, ply, position.key, best_move, best, here.raw_score, 0, bound, here.on_line)
    return best
