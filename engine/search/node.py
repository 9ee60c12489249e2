"""A node of the alpha-beta tree: principal variation search with its cutoffs, extensions and reductions.

All scores are for the side to move at the node, in centipawns. `s` is the search record of the thread.
"""

import numpy as np

from engine.bitboard import ZERO
from engine.jit import kernel
from engine.makemove import make, make_null
from engine.memory import load_word, prefetch
from engine.move import NO_MOVE
from engine.movegen import count_legal, is_noisy
from engine.position import gives_check, has_pieces, side_to_move
from engine.recursion import call_at
from engine.search.history import piece_to, quiet_history, remember_tried, reward_cutoff
from engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY
from engine.search.ordering import is_losing_capture_stage, next_move, start_picking
from engine.search.see import see_at_least
from engine.search.state import INFINITE, NO_SCORE, REDUCTION_SIZE
from engine.search.transposition import (
    EXACT,
    LOWER_BOUND,
    UPPER_BOUND,
    bound_of,
    bucket_address,
    entry_bound,
    entry_depth,
    entry_move,
    entry_score,
    entry_static,
    probe,
    store,
)
from eval.evaluate import evaluate
from eval.rules import is_material_draw

POLL_NODES = 1024  # how often the stop flag is read
NO_CUTOFF = -INFINITE - 1
ONE_PLY = 1024  # unit of reductions
FIFTY_MOVES = 100


@kernel
def alpha_beta(s, ply, alpha, beta, depth):
    """Search the position at `ply` to `depth` plies within (alpha, beta), fail-soft; the line is in `s.pv[ply]`."""
    here = s.plies[ply]
    here.pv_length = 0
    if depth <= 0:
        return call_at(s.quiet_node, s, ply, alpha, beta, 0)
    if count_node(s, ply):
        return 0
    if ply > 0:
        if is_draw(s, ply):
            return 0
        if ply >= MAX_PLY:
            return evaluate(s.positions[ply], s.weights)
        alpha, beta = max(alpha, ply - MATE_SCORE), min(beta, MATE_SCORE - ply - 1)
        if alpha >= beta:
            return alpha  # a shorter mate has been found elsewhere
    is_pv = beta - alpha > 1
    found = probe(s, s.positions[ply].key) if here.excluded == NO_MOVE else ZERO
    if not is_pv and may_cut(found, entry_score(found, ply), beta, depth):
        return entry_score(found, ply)
    here.static_score = static_score(s, ply, found)
    s.plies[ply + 1].killers[0] = s.plies[ply + 1].killers[1] = NO_MOVE
    if not is_pv and s.positions[ply].checkers == ZERO and here.excluded == NO_MOVE and not s.full_width:
        score = prune_node(s, ply, alpha, beta, depth, found)
        if score != NO_CUTOFF or s.stopped:
            return score
    if entry_move(found) == NO_MOVE and depth >= 4 and not s.full_width:
        depth -= 1  # internal iterative reduction: without a hash move the order is poor
    start_picking(s, ply, entry_move(found), False)
    return search_moves(s, ply, alpha, beta, depth)


@kernel
def count_node(s, ply):
    """Count the node; whether the search has been told to stop, or has used up its nodes."""
    s.nodes += 1
    if s.nodes & (POLL_NODES - 1) == 0 and load_word(s.stop_address) != ZERO or s.nodes >= s.node_limit:
        s.stopped = 1
    if ply > s.seldepth:
        s.seldepth = ply
    return s.stopped != 0


@kernel
def is_draw(s, ply):
    """Draw by repetition, by fifty moves, or by material. One earlier occurrence since the root is enough."""
    position = s.positions[ply]
    if position.halfmove >= FIFTY_MOVES and (position.checkers == ZERO or count_legal(position) > 0):
        return True  # only a mate comes before the rule
    now, occurred = s.past + ply, 0
    for back in range(4, min(int(position.halfmove), now) + 1, 2):
        if s.keys[now - back] == s.keys[now]:
            occurred += 1
            if back < ply or occurred == 2:
                return True
    return is_material_draw(position)


@kernel
def may_cut(found, score, beta, depth):
    """Whether a table entry settles a null-window node at this depth."""
    if found == ZERO or entry_depth(found) < depth:
        return False
    bound = entry_bound(found)
    return bound == EXACT or bound == (LOWER_BOUND if score >= beta else UPPER_BOUND)


@kernel
def static_score(s, ply, found):
    """The evaluation of a position that is not in check, from the table if it is there."""
    if s.positions[ply].checkers:
        return NO_SCORE
    if found != ZERO and entry_static(found) != NO_SCORE:
        return entry_static(found)
    return evaluate(s.positions[ply], s.weights)


@kernel
def better_score(found, static, ply):
    """The static score, or the table's where its bound says that it is nearer the truth."""
    score, bound = entry_score(found, ply), entry_bound(found)
    if bound == EXACT or bound == (LOWER_BOUND if score > static else UPPER_BOUND):
        return score
    return static


@kernel
def is_improving(s, ply):
    """Whether the static score has risen since this side's last move: then threats are real, prune less."""
    return ply >= 2 and s.plies[ply].static_score > s.plies[ply - 2].static_score


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
            return score
    if depth <= p.razor_depth and score + p.razor_margin * (1 + depth * depth) < alpha:
        quiet = call_at(s.quiet_node, s, ply, alpha, beta, 0)
        if quiet <= alpha or s.stopped:
            return quiet
    if depth >= p.null_move_depth and score >= beta and s.plies[ply].static_score >= beta:
        return null_move(s, ply, beta, depth, score)
    return NO_CUTOFF


@kernel
def null_move(s, ply, beta, depth, score):
    """Pass: if the opponent cannot use two moves in a row, this node fails high. Its score or NO_CUTOFF."""
    if s.plies[ply - 1].move == NO_MOVE or not has_pieces(s.positions[ply], side_to_move(s.positions[ply])):
        return NO_CUTOFF  # never twice in a row, and not where zugzwang is common
    p = s.parameters
    reduction = p.null_move_base + depth // p.null_move_divisor + min((score - beta) // p.null_move_margin, 3)
    make_null(s.positions[ply + 1], s.positions[ply])
    s.positions[ply + 1].halfmove = 0  # no repetition reaches across a null move
    s.plies[ply].move, s.plies[ply].moved = NO_MOVE, 0
    s.keys[s.past + ply + 1] = s.positions[ply + 1].key
    score = -call_at(s.node, s, ply + 1, -beta, 1 - beta, depth - reduction)
    if score < beta:
        return NO_CUTOFF
    return score if score < MATE_IN_MAX_PLY else beta  # a mate after a pass proves nothing


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
        score = search_move(s, ply, alpha, beta, depth, move, is_quiet, searched)
        if s.stopped:
            return best if ply == 0 else 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                extend_line(s, ply, move)
                if score >= beta:
                    reward_cutoff(s, ply, move, is_quiet, depth)
                    break
        remember_tried(s, ply, move, is_quiet)
    if searched == 0:
        if here.excluded != NO_MOVE:
            return alpha
        return ply - MATE_SCORE if position.checkers else 0
    if here.excluded == NO_MOVE and (ply > 0 or s.root_count == 0):
        bound = bound_of(best, old_alpha, beta)
        store(s, ply, position.key, best_move, best, here.static_score, depth, bound)
    return best


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
def skip_move(s, ply, move, is_quiet, alpha, depth, searched):
    """Whether a late move of a node that has already a score is not worth a search."""
    position, p = s.positions[ply], s.parameters
    if ply == 0 or searched == 0 or s.full_width or not has_pieces(position, side_to_move(position)):
        return False
    if not is_quiet:
        return (
            depth <= p.see_depth
            and is_losing_capture_stage(s, ply)
            and not see_at_least(s, position, move, -p.see_noisy_margin * depth)
        )
    if position.checkers or gives_check(position, move):
        return False
    if depth <= p.late_move_depth:
        most = (p.late_move_base + depth * depth) // (2 - is_improving(s, ply))
        if s.plies[ply].quiets >= most:
            s.plies[ply].skip_quiets = 1
            return True
    if depth <= p.futility_depth and s.plies[ply].static_score + p.futility_base + p.futility_margin * depth <= alpha:
        return True
    if depth <= p.history_prune_depth and quiet_history(s, ply, move) < -p.history_prune_margin * depth:
        return True
    return depth <= p.see_depth and not see_at_least(s, position, move, -p.see_quiet_margin * depth)


@kernel
def search_move(s, ply, alpha, beta, depth, move, is_quiet, searched):
    """Play a move and search what follows: the first with the full window, the others to disprove them."""
    follow(s, ply, move)
    child = s.positions[ply + 1]
    deeper = depth - 1 + (child.checkers != ZERO)  # check extension
    if searched == 1:
        return -call_at(s.node, s, ply + 1, -beta, -alpha, deeper)
    reduction = 0
    if depth >= 3 and searched > 1 + (ply == 0) and child.checkers == ZERO and not s.full_width:
        reduction = late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched)
        reduction = max(0, min(reduction, deeper - 1))
    score = -call_at(s.node, s, ply + 1, -alpha - 1, -alpha, deeper - reduction)
    if score > alpha and reduction > 0:
        score = -call_at(s.node, s, ply + 1, -alpha - 1, -alpha, deeper)
    if alpha < score < beta:
        score = -call_at(s.node, s, ply + 1, -beta, -alpha, deeper)
    return score


@kernel
def follow(s, ply, move):
    """Make `move` and note it in the records of this ply and of the path."""
    position = s.positions[ply]
    s.plies[ply].move, s.plies[ply].moved = move, piece_to(position, move)
    make(s.positions[ply + 1], position, move)
    key = s.positions[ply + 1].key
    s.keys[s.past + ply + 1] = key
    prefetch(bucket_address(s, key))


@kernel
def late_move_reduction(s, ply, alpha, beta, depth, move, is_quiet, searched):
    """By how many plies to search a late move less deeply; may be negative."""
    last = REDUCTION_SIZE - 1
    reduction = int(s.reductions[min(depth, last), min(searched, last)])
    if is_quiet:
        reduction -= quiet_history(s, ply, move) // s.parameters.reduction_history
        if move == s.plies[ply].killers[0] or move == s.plies[ply].killers[1]:
            reduction -= ONE_PLY
    else:
        reduction -= ONE_PLY
        if not is_losing_capture_stage(s, ply):
            return 0
    if beta - alpha > 1:
        reduction -= ONE_PLY
    if not is_improving(s, ply):
        reduction += ONE_PLY // 2
    if s.positions[ply].checkers:
        reduction -= ONE_PLY
    return reduction // ONE_PLY


@kernel
def extend_line(s, ply, move):
    """The line of this node is now `move` and the line of the node below."""
    length = s.plies[ply + 1].pv_length
    s.pv[ply, 0] = move
    for index in range(length):
        s.pv[ply, index + 1] = s.pv[ply + 1, index]
    s.plies[ply].pv_length = length + 1
