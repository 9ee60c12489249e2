"""What need not be searched: nodes that are as good as settled, and late moves that cannot matter."""

from engine.board.bitboard import ZERO
from engine.board.move import NO_MOVE, PROMOTION, kind_of
from engine.board.position import gives_check, has_pieces, side_to_move
from engine.compiled.jit import kernel
from engine.compiled.recursion import call_at
from engine.search.history import quiet_history
from engine.search.limits import MATE_IN_MAX_PLY
from engine.search.ordering import is_losing_capture_stage, next_move, start_picking
from engine.search.path import follow, follow_null, search_below
from engine.search.see import captured_type, see_at_least
from engine.search.state import INFINITE, NO_SCORE
from engine.search.transposition import (
    EXACT,
    LOWER_BOUND,
    UPPER_BOUND,
    entry_bound,
    entry_depth,
    entry_move,
    entry_score,
    store,
)

NO_CUTOFF = -INFINITE - 1


@kernel
def may_cut(found, score, beta, depth):
    """Whether a table entry settles a null-window node at this depth."""
    if found == ZERO or entry_depth(found) < depth:
        return False
    bound = entry_bound(found)
    return bound == EXACT or bound == (LOWER_BOUND if score >= beta else UPPER_BOUND)


@kernel
def better_score(found, static, ply):
    """The static score, or the table's where its bound says that it is nearer the truth."""
    score, bound = entry_score(found, ply), entry_bound(found)
    if bound == EXACT or bound == (LOWER_BOUND if score > static else UPPER_BOUND):
        return score
    return static


@kernel
def softened(score, beta, percent):
    """A static score above beta, less so many percent of the distance: nobody has searched it. Mates are certain."""
    return score if abs(score) >= MATE_IN_MAX_PLY else score - (score - beta) * percent // 100


@kernel
def is_improving(s, ply):
    """Whether the static score has risen since this side's last move: then threats are real, prune less."""
    if ply >= 2 and s.plies[ply - 2].static_score != NO_SCORE:
        return s.plies[ply].static_score > s.plies[ply - 2].static_score
    return ply >= 4 and s.plies[ply].static_score > s.plies[ply - 4].static_score


@kernel
def prune_node(s, ply, alpha, beta, depth, found):
    """Try to settle a null-window node out of check without searching its moves; its score or NO_CUTOFF."""
    score = better_score(found, s.plies[ply].static_score, ply)
    p = s.parameters
    if abs(beta) >= MATE_IN_MAX_PLY:
        return NO_CUTOFF
    if depth <= p.reverse_futility_depth:
        margin = p.reverse_futility_margin * (depth - is_improving(s, ply))
        if score - margin >= beta:
            return softened(score, beta, p.soft_beta)
    if depth <= p.razor_depth and score + p.razor_margin * (1 + depth * depth) < alpha:
        quiet = call_at(s.quiet_node, s, ply, alpha, beta, 0)
        if quiet <= alpha or s.stopped:
            return quiet
    if depth >= p.null_move_depth and score >= beta and s.plies[ply].static_score >= beta:
        passed = null_move(s, ply, beta, depth, score)
        if passed != NO_CUTOFF or s.stopped:
            return passed
    if depth >= p.probcut_depth:
        return probcut(s, ply, beta, depth, found)
    return NO_CUTOFF


@kernel
def null_move(s, ply, beta, depth, score):
    """Pass: if the opponent cannot use two moves in a row, this node fails high. Its score or NO_CUTOFF."""
    if s.plies[ply - 1].move == NO_MOVE or not has_pieces(s.positions[ply], side_to_move(s.positions[ply])):
        return NO_CUTOFF  # never twice in a row, and not where zugzwang is common
    p = s.parameters
    reduction = p.null_move_base + depth // p.null_move_divisor + min((score - beta) // p.null_move_margin, 3)
    follow_null(s, ply)
    score = search_below(s, ply, beta - 1, beta, depth - reduction, not s.plies[ply].is_cut_node)
    if score < beta:
        return NO_CUTOFF
    score = score if score < MATE_IN_MAX_PLY else beta  # a mate after a pass proves nothing
    if depth < p.null_move_verify_depth or s.verified_ply > 0 or s.stopped:
        return score
    # Deep in the tree an undetected zugzwang costs most: see whether a move does as well as the pass.
    s.verified_ply = ply
    verified = call_at(s.node, s, ply, beta - 1, beta, max(1, depth - reduction))
    s.verified_ply = 0
    return score if verified >= beta else NO_CUTOFF


@kernel
def probcut(s, ply, beta, depth, found):
    """A capture that beats beta by a margin in a shallower search will beat it here. Its score or NO_CUTOFF."""
    p, here = s.parameters, s.plies[ply]
    target, shallow = beta + p.probcut_margin, depth - p.probcut_reduction
    if found != ZERO and entry_depth(found) >= shallow and entry_score(found, ply) < target:
        return NO_CUTOFF  # the table knows better
    start_picking(s, ply, entry_move(found), True)
    while True:
        move = next_move(s, ply)
        if move == NO_MOVE:
            return NO_CUTOFF
        if not see_at_least(s, s.positions[ply], move, target - here.static_score):
            continue
        follow(s, ply, move)
        score = -call_at(s.quiet_node, s, ply + 1, -target, 1 - target, 0)
        if score >= target and shallow > 0:
            score = search_below(s, ply, target - 1, target, shallow, not here.is_cut_node)
        if s.stopped:
            return 0
        if score >= target:
            store(s, ply, s.positions[ply].key, move, score, here.raw_score, shallow + 1, LOWER_BOUND, here.on_line)
            return score


@kernel
def is_hopeless_capture(s, ply, move, alpha, depth):
    """Whether even the piece for nothing, and a margin, leave this side below alpha; checks are never hopeless."""
    position, here, p = s.positions[ply], s.plies[ply], s.parameters
    if position.checkers != ZERO or kind_of(move) >= PROMOTION:
        return False
    reach = here.static_score + s.values[captured_type(position, move)] + p.noisy_futility_margin * (depth + 1)
    return reach <= alpha and not gives_check(position, move)


@kernel
def skip_move(s, ply, move, is_quiet, alpha, depth, searched):
    """Whether a late move of a node that has already a score is not worth a search."""
    position = s.positions[ply]
    if ply == 0 or searched == 0 or s.full_width or not has_pieces(position, side_to_move(position)):
        return False
    if not is_quiet:
        return skip_noisy(s, ply, move, alpha, depth)
    if position.checkers != ZERO:
        return False
    if gives_check(position, move):
        return loses_too_much(s, ply, move, depth, s.parameters.see_noisy_margin)
    return skip_quiet(s, ply, move, alpha, depth)


@kernel
def skip_noisy(s, ply, move, alpha, depth):
    """Whether a capture or promotion gains too little, or loses too much by exchange."""
    p = s.parameters
    if depth <= p.noisy_futility_depth and is_hopeless_capture(s, ply, move, alpha, depth):
        return True
    return is_losing_capture_stage(s, ply) and loses_too_much(s, ply, move, depth, p.see_noisy_margin)


@kernel
def skip_quiet(s, ply, move, alpha, depth):
    """Whether a quiet move that gives no check comes too late, has done badly, or cannot reach alpha or survive."""
    p, here = s.parameters, s.plies[ply]
    if depth <= p.late_move_depth:
        most = (p.late_move_base + depth * depth) // (2 - is_improving(s, ply))
        if here.quiets >= most:
            here.skip_quiets = 1
            return True
    history = quiet_history(s, ply, move)
    if depth <= p.history_prune_depth and history < -p.history_prune_margin * depth:
        return True
    hope = p.futility_base + p.futility_margin * depth + history // p.futility_history
    if depth <= p.futility_depth and here.static_score + hope <= alpha:
        return True
    return loses_too_much(s, ply, move, depth, p.see_quiet_margin)


@kernel
def loses_too_much(s, ply, move, depth, margin):
    """Whether a move loses more than `margin` for each ply of depth by exchange."""
    return depth <= s.parameters.see_depth and not see_at_least(s, s.positions[ply], move, -margin * depth)
