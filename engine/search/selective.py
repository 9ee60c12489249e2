"""How deep to search a move: the singular extension of the hash move, the reduction of late moves."""

from engine.board.bitboard import ZERO
from engine.board.move import NO_MOVE
from engine.compiled.jit import kernel
from engine.compiled.recursion import call_at
from engine.search.history import noisy_history, quiet_history
from engine.search.limits import MATE_IN_MAX_PLY
from engine.search.ordering import is_losing_capture_stage
from engine.search.pruning import NO_CUTOFF, is_improving
from engine.search.state import NO_SCORE, REDUCTION_SIZE
from engine.search.transposition import UPPER_BOUND, entry_bound, entry_depth, entry_move, entry_score

ONE_PLY = 1024  # unit of reductions
MANY_CUTOFFS = 3  # of the answers to the moves of a node, that tell it is hopeless


@kernel
def singular_extension(s, ply, beta, depth, found):
    """Search the node without its hash move: is that the only good one? Sets `extension`; a score or NO_CUTOFF.

    If all others stay well below the hash move's score, it is searched deeper. If another beats beta as well, this
    node has more than one way to fail high and needs no search.
    """
    p, here = s.parameters, s.plies[ply]
    here.extension = 0
    if depth < p.singular_depth or ply == 0 or here.excluded != NO_MOVE or ply >= 2 * s.root_depth or s.full_width:
        return NO_CUTOFF
    score = entry_score(found, ply)
    if entry_move(found) == NO_MOVE or entry_bound(found) == UPPER_BOUND or entry_depth(found) < depth - 3:
        return NO_CUTOFF
    if abs(score) >= MATE_IN_MAX_PLY:
        return NO_CUTOFF
    target = score - p.singular_margin * depth // 16
    here.excluded = entry_move(found)
    others = call_at(s.node, s, ply, target - 1, target, (depth - 1) // 2)
    here.excluded = NO_MOVE
    if s.stopped:
        return 0
    if others < target:
        is_alone = not here.on_line and others < target - p.singular_double_margin
        here.extension = 2 if is_alone else 1
    elif target >= beta:
        return target
    elif score >= beta:
        here.extension = -1
    return NO_CUTOFF


@kernel
def hindsight(s, ply, depth):
    """By how many plies to correct the depth of a node whose move was reduced, now that its static score is known.

    A ply more where a move that was reduced much did its side good after all; a ply less where it did it harm.
    """
    if ply == 0 or s.plies[ply - 1].reduction < 2 or s.positions[ply].checkers != ZERO:
        return 0
    before, p = s.plies[ply - 1], s.parameters
    if before.static_score == NO_SCORE:
        return 0
    harm = s.plies[ply].static_score + before.static_score  # that the move did to the side that made it
    if before.reduction >= p.hindsight_plies and harm < 0:
        return 1
    return -1 if depth >= 2 and harm > p.hindsight_margin else 0


@kernel
def late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched):
    """By how many plies to search a late move less deeply; may be negative."""
    last, here, p = REDUCTION_SIZE - 1, s.plies[ply], s.parameters
    reduction = int(s.reductions[min(depth, last), min(searched, last)])
    if is_quiet:
        reduction -= quiet_history(s, ply, move) // p.reduction_history
        if move == here.killers[0] or move == here.killers[1]:
            reduction -= ONE_PLY
    else:
        reduction -= ONE_PLY + noisy_history(s, ply, move) // p.reduction_history
        if not is_losing_capture_stage(s, ply):
            reduction -= p.reduction_captures
    if beta - alpha > 1:
        reduction -= ONE_PLY
    if here.is_cut_node:
        reduction += p.reduction_cut_node
    if s.plies[ply + 1].cutoffs > MANY_CUTOFFS:
        reduction += p.reduction_cutoffs
    if not is_improving(s, ply):
        reduction += ONE_PLY // 2
    if s.positions[ply].checkers != ZERO:
        reduction -= ONE_PLY
    else:
        reduction -= p.reduction_corrected * abs(here.static_score - here.raw_score)
    return reduction // ONE_PLY
