"""A node of the alpha-beta tree: principal variation search with its cutoffs, extensions and reductions.

All scores are for the side to move at the node, in centipawns. `s` is the search record of the thread.
"""

import numpy as np

from engine.board.bitboard import ZERO
from engine.board.move import NO_MOVE, SQUARES
from engine.board.movegen import is_noisy
from engine.compiled.jit import kernel
from engine.compiled.recursion import call_at
from engine.search.correction import learn_correction, set_static_score
from engine.search.history import remember_tried, reward
from engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY
from engine.search.ordering import next_move, start_picking
from engine.search.path import count_node, extend_line, follow, is_draw, search_below
from engine.search.pruning import NO_CUTOFF, may_cut, prune_node, skip_move
from engine.search.selective import hindsight, late_move_reduction, singular_extension
from engine.search.state import INFINITE
from engine.search.static_score import static_evaluation
from engine.search.transposition import (
    EXACT,
    LOWER_BOUND,
    bound_of,
    entry_is_on_line,
    entry_move,
    entry_score,
    probe,
    store,
)


@kernel
def alpha_beta(s, ply, alpha, beta, depth):
    """Search the position at `ply` to `depth` plies within (alpha, beta), fail-soft; the line is in `s.pv[ply]`."""
    here = s.plies[ply]
    here.pv_length = 0
    if depth <= 0:
        return call_at(s.quiet_node, s, ply, alpha, beta, 0)
    if count_node(s, ply) or ply > 0 and is_draw(s, ply):
        return 0
    if ply >= MAX_PLY:
        return static_evaluation(s, ply)
    alpha, beta = max(alpha, ply - MATE_SCORE), min(beta, MATE_SCORE - ply - 1)
    if alpha >= beta:
        return alpha  # a shorter mate has been found elsewhere
    is_pv, is_whole = beta - alpha > 1, here.excluded == NO_MOVE
    found = probe(s, s.positions[ply].key) if is_whole else ZERO
    if not is_pv and may_cut(found, entry_score(found, ply), beta, depth):
        return entry_score(found, ply)
    if is_whole:
        here.on_line = is_pv or entry_is_on_line(found)
        set_static_score(s, ply, found)
        depth += hindsight(s, ply, depth)
    s.plies[ply + 1].killers[0] = s.plies[ply + 1].killers[1] = NO_MOVE
    s.plies[ply + 2].cutoffs = 0
    may_prune = not is_pv and is_whole and not s.full_width and ply != s.verified_ply
    if may_prune and s.positions[ply].checkers == ZERO:
        score = prune_node(s, ply, alpha, beta, depth, found)
        if score != NO_CUTOFF or s.stopped:
            return score
    score = singular_extension(s, ply, beta, depth, found)
    if score != NO_CUTOFF:
        return score
    if entry_move(found) == NO_MOVE and depth >= 4 and is_whole and not s.full_width:
        depth -= 1  # internal iterative reduction: without a hash move the order is poor
    start_picking(s, ply, entry_move(found), False)
    return search_moves(s, ply, alpha, beta, depth)


@kernel
def search_moves(s, ply, alpha, beta, depth):
    """Search the moves that the picker hands out; the best score, fail-soft."""
    here, position = s.plies[ply], s.positions[ply]
    old_alpha, best, best_move, searched = alpha, np.int64(-INFINITE), np.int64(NO_MOVE), 0
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            break
        if move == here.excluded or ply == 0 and not root_allows(s, move):
            continue
        is_quiet = not is_noisy(position, move)
        if best > -MATE_IN_MAX_PLY and skip_move(s, ply, move, is_quiet, alpha, depth, searched):
            continue
        searched += 1
        if ply == 0:
            s.current_move, s.current_number = move, searched
        before = s.nodes
        score = search_move(s, ply, alpha, beta, depth, move, is_quiet, searched, best)
        if ply == 0:
            s.effort[move & SQUARES] += s.nodes - before
        if s.stopped:
            return best if ply == 0 else 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                extend_line(s, ply, move)
                if score >= beta:
                    here.cutoffs += 1
                    break
        remember_tried(s, ply, move, is_quiet)
    if searched == 0:
        if here.excluded != NO_MOVE:
            return alpha
        return ply - MATE_SCORE if position.checkers else 0
    reward(s, ply, best_move, depth)
    if here.excluded == NO_MOVE and (ply > 0 or s.root_count == 0):
        keep_result(s, ply, best, best_move, bound_of(best, old_alpha, beta), depth)
    return best


@kernel
def keep_result(s, ply, best, best_move, bound, depth):
    """Store the result of a node in the table, and what it says of the static score in the correction history."""
    here, position = s.plies[ply], s.positions[ply]
    store(s, ply, position.key, best_move, best, here.raw_score, depth, bound, here.on_line)
    if position.checkers != ZERO or best_move != NO_MOVE and is_noisy(position, best_move):
        return  # the score comes from tactics, which the evaluation is not asked for
    error = best - here.static_score
    if bound == EXACT or (bound == LOWER_BOUND) == (error > 0):
        learn_correction(s, ply, error, depth)


@kernel
def root_allows(s, move):
    """Whether a move may be played at the root: all may, unless `root_moves` lists some."""
    if s.root_count == 0:
        return True
    for index in range(s.root_count):
        if s.root_moves[index] == move:
            return True
    return False


@kernel
def search_move(s, ply, alpha, beta, depth, move, is_quiet, searched, best):
    """Play a move and search what follows: the first with the full window, the others to disprove them."""
    here, p, is_pv = s.plies[ply], s.parameters, beta - alpha > 1
    deeper = depth - 1 + (here.extension if move == here.hash_move else 0)
    reduction = 0
    if depth >= 3 and searched > 1 + (ply == 0) and not s.full_width:
        reduction = late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched)
    follow(s, ply, move)
    if searched == 1:
        return search_below(s, ply, alpha, beta, deeper, not is_pv and not here.is_cut_node)
    if s.positions[ply + 1].checkers != ZERO:
        reduction = 0
    here.reduction = reduction = max(0, min(reduction, deeper - 1))
    score = search_below(s, ply, alpha, alpha + 1, deeper - reduction, reduction > 0 or not here.is_cut_node)
    here.reduction = 0
    if score > alpha and reduction > 0:
        deeper += score > best + p.deeper_margin + 2 * deeper
        deeper -= score < best + p.shallower_margin
        score = search_below(s, ply, alpha, alpha + 1, deeper, not here.is_cut_node)
    if alpha < score < beta:
        score = search_below(s, ply, alpha, beta, deeper, False)
    return score
