"""A node of the alpha-beta tree, principal variation search (PVS), and one of the quiescence search behind it.

All scores are for the side to move at the node, in centipawns. `s` is the search record of the thread.
"""

import numpy as np

from merino.core.board.bitboard import ZERO
from merino.core.board.move import NO_MOVE, PROMOTION, SQUARES, kind_of
from merino.core.board.movegen import is_noisy
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import call_at
from merino.engine.search import pruning, transposition
from merino.engine.search.history import note_eval_change, note_searched, update_histories
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE, MAX_PLY
from merino.engine.search.move_picker import init_move_picker, next_move
from merino.engine.search.see import captured_type
from merino.engine.search.state import INFINITE
from merino.engine.search.static_eval import set_static_eval, static_evaluation, update_correction_history
from merino.engine.search.tablebase_probe import tablebase_cutoff
from merino.engine.search.tree import count_node, is_draw, make_move, search_child, update_pv

# Quiescence search: captures and promotions until the position is quiet; every move when in check.


@kernel
def quiescence(s, ply, alpha, beta, depth):
    """The score at `ply` if only noisy moves are searched, fail-soft; `depth`, 0 or below, has no effect."""
    here, position = s.plies[ply], s.positions[ply]
    here.pv_length = 0
    if count_node(s, ply) or is_draw(s, ply):
        return 0
    if ply >= MAX_PLY:
        return static_evaluation(s, ply)
    set_static_eval(s, ply, ZERO)  # while the table's entry is still on its way from memory
    tt_entry = transposition.probe(s, ply)
    if beta - alpha == 1 and pruning.transposition_table_cutoff(
        tt_entry, transposition.entry_score(tt_entry, ply), beta, 0
    ):
        return transposition.entry_score(tt_entry, ply)
    best = np.int64(-INFINITE)
    if position.checkers == ZERO:
        best = stand_pat(s, ply, alpha, beta, tt_entry)
        if best >= beta:
            return best
    init_move_picker(s, ply, transposition.entry_move(tt_entry), position.checkers == ZERO)
    here.tt_pv = beta - alpha > 1 or transposition.entry_is_pv(tt_entry)
    return _search_noisy(s, ply, alpha, beta, best)


@kernel
def stand_pat(s, ply, alpha, beta, tt_entry):
    """Stand pat: the score of the side to move without a capture, as nobody has to capture."""
    score = pruning.tt_adjusted_eval(tt_entry, s.plies[ply].static_eval, ply)
    if beta - alpha > 1 and abs(score) >= KNOWN_WIN:
        return s.plies[ply].static_eval  # a principal variation must lead to the mate it promises
    return score


@kernel
def delta_pruning(s, ply, move, best, stand_pat_score, alpha):
    """Delta pruning: a score up to alpha if even a free capture and a margin are not enough; else INFINITE.

    In check, for promotions and against a mate every move is searched.
    """
    position = s.positions[ply]
    if best <= -KNOWN_WIN or position.checkers != ZERO or kind_of(move) >= PROMOTION:
        return INFINITE
    futility_value = stand_pat_score + s.parameters.delta_margin + s.exchange_values[captured_type(position, move)]
    return futility_value if futility_value <= alpha else INFINITE


@kernel
def _search_noisy(s, ply, alpha, beta, best):
    here = s.plies[ply]
    old_alpha, best_move, stand_pat_score = alpha, np.int64(NO_MOVE), best
    alpha = max(alpha, best)
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            break
        futility_value = delta_pruning(s, ply, move, best, stand_pat_score, alpha)
        if futility_value != INFINITE:
            best = max(best, futility_value)
            continue
        make_move(s, ply, move)
        score = -call_at(s.quiescence, s, ply + 1, -beta, -alpha, 0)
        if s.stopped:
            return 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                update_pv(s, ply, move)
                if score >= beta:
                    break
    if best == -INFINITE:
        return ply - MATE_SCORE  # in check without a move
    bound = transposition.bound_of(best, old_alpha, beta)
    transposition.store(s, ply, best_move, best, here.raw_eval, 0, bound, here.tt_pv)
    return best


DEEPER_PER_PLY = 2  # centipawns added to `deeper_margin` for each ply: a deeper second search needs a better score


@kernel
def alpha_beta(s, ply, alpha, beta, depth):
    """Search the position at `ply` to `depth` plies, at least one, within (alpha, beta), fail-soft.

    A node with an open window (beta - alpha > 1) is a PV node; its principal variation is left in `s.pv[ply]`.
    """
    here = s.plies[ply]
    here.pv_length = 0
    if count_node(s, ply) or ply > 0 and is_draw(s, ply):
        return 0
    if ply >= MAX_PLY:
        return static_evaluation(s, ply)
    alpha, beta = pruning.mate_distance_pruning(ply, alpha, beta)
    if alpha >= beta:
        return alpha
    is_pv, is_excluding = beta - alpha > 1, here.excluded != NO_MOVE
    tt_entry = ZERO if is_excluding else transposition.probe(s, ply)
    if not is_pv and pruning.transposition_table_cutoff(
        tt_entry, transposition.entry_score(tt_entry, ply), beta, depth
    ):
        return transposition.entry_score(tt_entry, ply)
    if not is_excluding:
        here.tt_pv = is_pv or transposition.entry_is_pv(tt_entry)
        set_static_eval(s, ply, tt_entry)
        note_eval_change(s, ply)
        score = tablebase_cutoff(s, ply, depth)
        if score != pruning.NO_CUTOFF:
            return score
        depth += pruning.hindsight_extension(s, ply, depth)
    s.plies[ply + 1].killers[0] = s.plies[ply + 1].killers[1] = NO_MOVE
    s.plies[ply + 2].cutoffs = 0
    may_prune = not is_pv and not is_excluding and not s.full_width and ply != s.null_move_verified_ply
    if may_prune and s.positions[ply].checkers == ZERO:
        score = pruning.prune_node(s, ply, alpha, beta, depth, tt_entry)
        if score != pruning.NO_CUTOFF:
            return score
    score = pruning.singular_extension(s, ply, beta, depth, tt_entry)
    if score != pruning.NO_CUTOFF:
        return score
    depth -= pruning.internal_iterative_reduction(s, ply, depth, tt_entry)
    init_move_picker(s, ply, transposition.entry_move(tt_entry), False)
    return search_moves(s, ply, alpha, beta, depth)


@kernel
def search_moves(s, ply, alpha, beta, depth):
    """Search the moves that the move picker hands out; returns the best score, fail-soft."""
    here, position = s.plies[ply], s.positions[ply]
    old_alpha, best, best_move, searched = alpha, np.int64(-INFINITE), np.int64(NO_MOVE), 0
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            break
        if move == here.excluded or ply == 0 and not is_searched_at_root(s, move):
            continue
        is_quiet = not is_noisy(position, move)
        if best > -KNOWN_WIN and pruning.prune_move(s, ply, move, is_quiet, alpha, depth, searched):
            continue
        searched += 1
        if ply == 0:
            s.current_move, s.current_number = move, searched
        before = s.nodes
        score = search_move(s, ply, alpha, beta, depth, move, is_quiet, searched, best)
        if ply == 0:
            s.root_nodes[move & SQUARES] += s.nodes - before
        if s.stopped:
            return best if ply == 0 else 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                update_pv(s, ply, move)
                if score >= beta:
                    here.cutoffs += 1
                    break
        note_searched(s, ply, move, is_quiet)
    if searched == 0:
        if here.excluded != NO_MOVE:
            return alpha
        return ply - MATE_SCORE if position.checkers else 0
    update_histories(s, ply, best_move, depth)
    if here.excluded == NO_MOVE and (ply > 0 or s.root_count == 0):
        store_result(s, ply, best, best_move, transposition.bound_of(best, old_alpha, beta), depth)
    return best


@kernel
def store_result(s, ply, best, best_move, bound, depth):
    """Store the result of a node in the table, and what it says of the static evaluation in the correction history."""
    here, position = s.plies[ply], s.positions[ply]
    transposition.store(s, ply, best_move, best, here.raw_eval, depth, bound, here.tt_pv)
    if position.checkers != ZERO or best_move != NO_MOVE and is_noisy(position, best_move):
        return  # the score comes from tactics, which a static evaluation cannot see
    error = best - here.static_eval
    if bound == transposition.EXACT or (bound == transposition.LOWER_BOUND) == (error > 0):
        update_correction_history(s, ply, error, depth)


@kernel
def is_searched_at_root(s, move):
    """Whether a move is searched at the root: all are, unless `root_moves` lists some."""
    if s.root_count == 0:
        return True
    for index in range(s.root_count):
        if s.root_moves[index] == move:
            return True
    return False


@kernel
def search_move(s, ply, alpha, beta, depth, move, is_quiet, searched, best):
    """Principal variation search of one move.

    The first move gets the full window. Later ones are expected to be worse, which a null window at reduced depth can
    show. A move that fails high is searched again at full depth, and with the full window if its score lies in it.
    """
    here, p, is_pv = s.plies[ply], s.parameters, beta - alpha > 1
    new_depth = depth - 1 + (here.extension if move == here.hash_move else 0)
    reduction = pruning.late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched)
    make_move(s, ply, move)
    if searched == 1:
        return search_child(s, ply, alpha, beta, new_depth, not is_pv and not here.is_cut_node)
    if s.positions[ply + 1].checkers != ZERO:
        reduction = 0  # a check may be forcing
    here.reduction = reduction = max(0, min(reduction, new_depth - 1))
    score = search_child(s, ply, alpha, alpha + 1, new_depth - reduction, reduction > 0 or not here.is_cut_node)
    here.reduction = 0
    if score > alpha and reduction > 0:
        new_depth += score > best + p.deeper_margin + DEEPER_PER_PLY * new_depth
        new_depth -= score < best + p.shallower_margin
        score = search_child(s, ply, alpha, alpha + 1, new_depth, not here.is_cut_node)
    if alpha < score < beta:
        score = search_child(s, ply, alpha, beta, new_depth, False)
    return score
