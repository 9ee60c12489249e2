"""The depth of searches: singular and hindsight extensions, internal iterative and late move reductions."""

import numpy as np

from merino.core.board.bitboard import ZERO
from merino.core.board.move import NO_MOVE
from merino.core.compiled.calls import call_at
from merino.core.compiled.jit import kernel
from merino.engine.search.history import noisy_history, quiet_history
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.move_picker import is_losing_capture_stage
from merino.engine.search.pruning import NO_CUTOFF, is_improving
from merino.engine.search.state import NO_SCORE, REDUCTION_SIZE
from merino.engine.search.transposition import UPPER_BOUND, entry_bound, entry_depth, entry_move, entry_score

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
