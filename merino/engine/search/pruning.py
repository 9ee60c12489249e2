"""Pruning, extensions and reductions: what is not searched at a node, what deeper than usual, and what less deep.

`prune_node` and `prune_move` list the techniques of pruning in the order in which they are tried. None applies to mates
and other known wins: a margin in centipawns says nothing about them.
"""

import numpy as np

from merino.core.board.bitboard import ZERO
from merino.core.board.move import NO_MOVE, PROMOTION, kind_of
from merino.core.board.position import gives_check, has_pieces, side_to_move
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import call_at
from merino.engine.search.history import noisy_history, quiet_history
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE
from merino.engine.search.move_picker import init_move_picker, is_losing_capture_stage, next_move
from merino.engine.search.see import captured_type, see_at_least
from merino.engine.search.state import INFINITE, NO_SCORE, REDUCTION_SIZE
from merino.engine.search.transposition import (
    EXACT,
    LOWER_BOUND,
    UPPER_BOUND,
    entry_bound,
    entry_depth,
    entry_move,
    entry_score,
    store,
)
from merino.engine.search.tree import make_move, make_null_move, search_child

NO_CUTOFF = -INFINITE - 1


@kernel
def mate_distance_pruning(ply, alpha, beta):
    """Mate distance pruning: the window without unreachable scores; empty if a shorter mate was found elsewhere.

    At best the side to move mates with its next move, at worst it is mated now.
    """
    return max(alpha, ply - MATE_SCORE), min(beta, MATE_SCORE - ply - 1)


@kernel
def transposition_table_cutoff(tt_entry, score, beta, depth):
    """Transposition table cutoff: whether an earlier search, at least as deep, decides a null-window node."""
    if tt_entry == ZERO or entry_depth(tt_entry) < depth:
        return False
    bound = entry_bound(tt_entry)
    return bound == EXACT or bound == (LOWER_BOUND if score >= beta else UPPER_BOUND)


@kernel
def tt_adjusted_eval(tt_entry, static_eval, ply):
    """The static evaluation, or the score of the table if its bound shows that it is closer to the truth."""
    score, bound = entry_score(tt_entry, ply), entry_bound(tt_entry)
    if bound == EXACT or bound == (LOWER_BOUND if score > static_eval else UPPER_BOUND):
        return score
    return static_eval


@kernel
def is_improving(s, ply):
    """Improving: the static evaluation has risen since this side's last move, so prune and reduce less."""
    if ply >= 2 and s.plies[ply - 2].static_eval != NO_SCORE:
        return s.plies[ply].static_eval > s.plies[ply - 2].static_eval
    return ply >= 4 and s.plies[ply].static_eval > s.plies[ply - 4].static_eval


@kernel
def prune_node(s, ply, alpha, beta, depth, tt_entry):
    """Try to decide a null-window node out of check without searching its moves; its score or NO_CUTOFF."""
    if abs(beta) >= KNOWN_WIN:
        return NO_CUTOFF
    adjusted_eval = tt_adjusted_eval(tt_entry, s.plies[ply].static_eval, ply)
    score = reverse_futility_pruning(s, ply, beta, depth, adjusted_eval)
    if score == NO_CUTOFF:
        score = razoring(s, ply, alpha, beta, depth, adjusted_eval)
    if score == NO_CUTOFF:
        score = null_move_pruning(s, ply, beta, depth, adjusted_eval)
    if score == NO_CUTOFF:
        score = probcut(s, ply, beta, depth, tt_entry)
    return score


@kernel
def reverse_futility_pruning(s, ply, beta, depth, adjusted_eval):
    """Reverse futility pruning: near the leaves a score far above beta stays above it. A score or NO_CUTOFF.

    The score has not been searched, so part of its distance above beta is taken off. Mates are certain.
    """
    p = s.parameters
    if depth > p.reverse_futility_depth:
        return NO_CUTOFF
    if adjusted_eval - p.reverse_futility_margin * (depth - is_improving(s, ply)) < beta:
        return NO_CUTOFF
    if abs(adjusted_eval) >= KNOWN_WIN:
        return adjusted_eval
    return adjusted_eval - (adjusted_eval - beta) * p.reverse_futility_blend // 100


@kernel
def razoring(s, ply, alpha, beta, depth, adjusted_eval):
    """Razoring: near the leaves and far below alpha only captures can help, so ask quiescence. A score or NO_CUTOFF."""
    p = s.parameters
    if depth > p.razor_depth or adjusted_eval + p.razor_margin * (1 + depth * depth) >= alpha:
        return NO_CUTOFF
    score = call_at(s.quiescence, s, ply, alpha, beta, 0)
    return score if score <= alpha or s.stopped else NO_CUTOFF


@kernel
def null_move_pruning(s, ply, beta, depth, adjusted_eval):
    """Null move pruning: if a pass still fails high, a move will too. A score or NO_CUTOFF."""
    p, here = s.parameters, s.plies[ply]
    if depth < p.null_move_depth or adjusted_eval < beta or here.static_eval < beta:
        return NO_CUTOFF
    if s.plies[ply - 1].move == NO_MOVE or not has_pieces(s.positions[ply], side_to_move(s.positions[ply])):
        return NO_CUTOFF  # never twice in a row, and not in pawn endings, where zugzwang is common
    by_eval = min((adjusted_eval - beta) // p.null_move_margin, p.null_move_margin_max)
    reduced = depth - p.null_move_base - depth // p.null_move_divisor - by_eval
    make_null_move(s, ply)
    score = search_child(s, ply, beta - 1, beta, reduced, not here.is_cut_node)
    if s.stopped:
        return 0
    if score < beta:
        return NO_CUTOFF
    score = score if score < KNOWN_WIN else beta  # a known win after a pass proves nothing
    if depth < p.null_move_verify_depth or s.null_move_verified_ply > 0:
        return score
    # At high depth an undetected zugzwang costs most: verify that a move does as well as the pass.
    s.null_move_verified_ply = ply
    verified = call_at(s.alpha_beta, s, ply, beta - 1, beta, max(1, reduced))
    s.null_move_verified_ply = 0
    if s.stopped:
        return 0
    return score if verified >= beta else NO_CUTOFF


@kernel
def probcut(s, ply, beta, depth, tt_entry):
    """Probcut: a capture that beats beta by a margin in a shallower search will beat it here. A score or NO_CUTOFF."""
    p, here = s.parameters, s.plies[ply]
    if depth < p.probcut_depth:
        return NO_CUTOFF
    target, shallow = beta + p.probcut_margin, depth - p.probcut_reduction
    if tt_entry != ZERO and entry_depth(tt_entry) >= shallow and entry_score(tt_entry, ply) < target:
        return NO_CUTOFF  # a stored score says otherwise
    init_move_picker(s, ply, entry_move(tt_entry), True)
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            return NO_CUTOFF
        if not see_at_least(s, s.positions[ply], move, target - here.static_eval):
            continue
        make_move(s, ply, move)
        score = -call_at(s.quiescence, s, ply + 1, -target, 1 - target, 0)
        if score >= target and shallow > 0:
            score = search_child(s, ply, target - 1, target, shallow, not here.is_cut_node)
        if s.stopped:
            return 0
        if score >= target:
            store(s, ply, move, score, here.raw_eval, shallow + 1, LOWER_BOUND, here.tt_pv)
            return score


@kernel
def prune_move(s, ply, move, is_quiet, alpha, depth, searched):
    """Whether to skip a later move of a node that already has a score, if the side to move has pieces."""
    position, p = s.positions[ply], s.parameters
    if ply == 0 or searched == 0 or s.full_width or not has_pieces(position, side_to_move(position)):
        return False
    if not is_quiet:
        if noisy_futility_pruning(s, ply, move, alpha, depth):
            return True
        return is_losing_capture_stage(s, ply) and see_pruning(s, ply, move, depth, p.see_noisy_margin)
    if position.checkers != ZERO:
        return False
    if gives_check(position, move, s.plies[ply].check_squares):
        return see_pruning(s, ply, move, depth, p.see_noisy_margin)
    if late_move_pruning(s, ply, depth):
        return True
    history = quiet_history(s, ply, move)
    if history_pruning(s, depth, history) or futility_pruning(s, ply, alpha, depth, history):
        return True
    return see_pruning(s, ply, move, depth, p.see_quiet_margin)


@kernel
def late_move_pruning(s, ply, depth):
    """Late move pruning: near the leaves, after a number of quiet moves the rest will not help. Skips them all."""
    p, here = s.parameters, s.plies[ply]
    if depth > p.late_move_pruning_depth:
        return False
    enough = p.late_move_pruning_base + depth * depth
    if here.quiets < (enough if is_improving(s, ply) else enough // 2):
        return False
    here.skip_quiets = 1
    return True


@kernel
def history_pruning(s, depth, history):
    """History pruning: a quiet move that has failed nearly everywhere else will fail here."""
    p = s.parameters
    return depth <= p.history_pruning_depth and history < -p.history_pruning_margin * depth


@kernel
def futility_pruning(s, ply, alpha, depth, history):
    """Futility pruning: near the leaves a quiet move cannot make up for a static evaluation far below alpha."""
    p = s.parameters
    needed = alpha - s.plies[ply].static_eval - p.futility_base - p.futility_margin * depth
    return depth <= p.futility_depth and history < (needed + 1) * p.futility_history  # history // divisor <= needed


@kernel
def noisy_futility_pruning(s, ply, move, alpha, depth):
    """Futility pruning of captures: even winning the piece for nothing, plus a margin, leaves this side below alpha.

    Promotions and checks are searched, and so is everything in check.
    """
    p, position = s.parameters, s.positions[ply]
    if depth > p.noisy_futility_depth or position.checkers != ZERO or kind_of(move) >= PROMOTION:
        return False
    captured = s.exchange_values[captured_type(position, move)]
    futility_value = s.plies[ply].static_eval + captured + p.noisy_futility_margin * (depth + 1)
    return futility_value <= alpha and not gives_check(position, move, s.plies[ply].check_squares)


@kernel
def see_pruning(s, ply, move, depth, margin):
    """SEE pruning: near the leaves, skip a move that loses more than `margin` per ply of depth by exchange."""
    return depth <= s.parameters.see_depth and not see_at_least(s, s.positions[ply], move, -margin * depth)


# Extensions and reductions: how deep what is not pruned is searched.

ONE_PLY = 1024  # unit of late move reductions
SINGULAR_UNIT = 16  # unit of `singular_margin`; whole centipawns per ply would be too coarse
SINGULAR_PLY_FACTOR = 2  # no extension beyond this many times the depth of the iteration, or the tree may explode
MIN_HINDSIGHT_REDUCTION = 2  # plies; a smaller reduction leaves little to correct


@kernel
def singular_extension(s, ply, beta, depth, tt_entry):
    """Search the node without its hash move: is that the only good move? Sets `extension`; a score or NO_CUTOFF.

    Singular extension: if all others stay well below the hash move's score, it is searched deeper.
    Multi-cut: if another beats beta as well, this node has more than one way to fail high and needs no search.
    Negative extension: where the hash move is not alone and the node should fail high, others will do it too.
    """
    p, here = s.parameters, s.plies[ply]
    here.extension = 0
    if depth < p.singular_depth or ply == 0 or here.excluded != NO_MOVE or s.full_width:
        return NO_CUTOFF
    if ply >= SINGULAR_PLY_FACTOR * s.root_depth:
        return NO_CUTOFF
    score = entry_score(tt_entry, ply)
    if entry_move(tt_entry) == NO_MOVE or entry_bound(tt_entry) == UPPER_BOUND:
        return NO_CUTOFF
    if entry_depth(tt_entry) < depth - p.singular_entry_plies or abs(score) >= KNOWN_WIN:
        return NO_CUTOFF
    target = score - p.singular_margin * depth // SINGULAR_UNIT
    here.excluded = entry_move(tt_entry)
    others = call_at(s.alpha_beta, s, ply, target - 1, target, (depth - 1) // 2)
    here.excluded, here.pv_length = NO_MOVE, 0
    if s.stopped:
        return 0
    if others < target:
        is_alone = not here.tt_pv and others < target - p.singular_double_margin
        here.extension = 2 if is_alone else 1
    elif target >= beta:
        return target  # multi-cut
    elif score >= beta:
        here.extension = -1
    elif here.is_cut_node:
        here.extension = -p.negative_extension
    return NO_CUTOFF


@kernel
def hindsight_extension(s, ply, depth):
    """Hindsight extension: plies to correct the depth of a node whose move was reduced, now that its eval is known.

    A ply more if a strongly reduced move did its side good after all; a ply less if it did harm.
    """
    if ply == 0 or s.plies[ply - 1].reduction < MIN_HINDSIGHT_REDUCTION or s.positions[ply].checkers != ZERO:
        return 0
    parent, p = s.plies[ply - 1], s.parameters
    if parent.static_eval == NO_SCORE:
        return 0
    harm = s.plies[ply].static_eval + parent.static_eval  # done by the move to its side
    if parent.reduction >= p.hindsight_plies and harm < 0:
        return 1
    return -1 if depth >= 2 and harm > p.hindsight_margin else 0


@kernel
def internal_iterative_reduction(s, ply, depth, tt_entry):
    """Internal iterative reduction: a ply less without a hash move, as the next iteration will have one."""
    if entry_move(tt_entry) != NO_MOVE or s.plies[ply].excluded != NO_MOVE or s.full_width:
        return 0
    return 1 if depth >= s.parameters.internal_iterative_reduction_depth else 0


@kernel
def late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched):
    """Late move reduction: the plies by which a late move is searched less deeply; may be negative.

    With good ordering late moves rarely matter. The reduction follows from depth and move number, and from what is
    known about move and node.
    """
    last, here, p = REDUCTION_SIZE - 1, s.plies[ply], s.parameters
    if depth < p.reduction_depth or searched <= p.reduction_moves + (ply == 0) or s.full_width:
        return 0
    reduction = int(s.reductions[min(depth, last), min(searched, last)])
    divisor = int(np.int32(p.reduction_history))  # so narrow, a division takes half the time
    if is_quiet:
        reduction -= quiet_history(s, ply, move) // divisor
        if move == here.killers[0] or move == here.killers[1]:
            reduction -= p.reduction_killer
    else:
        reduction -= p.reduction_noisy + noisy_history(s, ply, move) // divisor
        if not is_losing_capture_stage(s, ply):
            reduction -= p.reduction_captures
    if beta - alpha > 1:
        reduction -= p.reduction_pv_node
    if here.is_cut_node:
        reduction += p.reduction_cut_node
    if s.plies[ply + 1].cutoffs >= p.reduction_cutoff_count:
        reduction += p.reduction_cutoffs
    if not is_improving(s, ply):
        reduction += p.reduction_not_improving
    if s.positions[ply].checkers != ZERO:
        reduction -= p.reduction_in_check
    else:
        reduction -= p.reduction_corrected * abs(here.static_eval - here.raw_eval)
    return reduction // ONE_PLY
