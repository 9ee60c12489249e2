"""Quiescence search: captures and promotions until the position is quiet; every move when in check."""

import numpy as np

from merino.core.board.bitboard import ZERO
from merino.core.board.move import NO_MOVE, PROMOTION, kind_of
from merino.core.compiled.calls import call_at
from merino.core.compiled.jit import kernel
from merino.engine.search.correction_history import set_static_eval
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE, MAX_PLY
from merino.engine.search.move_picker import init_move_picker, next_move
from merino.engine.search.pruning import transposition_table_cutoff, tt_adjusted_eval
from merino.engine.search.see import captured_type
from merino.engine.search.state import INFINITE
from merino.engine.search.static_eval import static_evaluation
from merino.engine.search.transposition import bound_of, entry_is_pv, entry_move, entry_score, probe, store
from merino.engine.search.tree import count_node, is_draw, make_move, update_pv


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
    tt_entry = probe(s, ply)
    if beta - alpha == 1 and transposition_table_cutoff(tt_entry, entry_score(tt_entry, ply), beta, 0):
        return entry_score(tt_entry, ply)
    best = np.int64(-INFINITE)
    if position.checkers == ZERO:
        best = stand_pat(s, ply, alpha, beta, tt_entry)
        if best >= beta:
            return best
    init_move_picker(s, ply, entry_move(tt_entry), position.checkers == ZERO)
    here.tt_pv = beta - alpha > 1 or entry_is_pv(tt_entry)
    return _search_noisy(s, ply, alpha, beta, best)


@kernel
def stand_pat(s, ply, alpha, beta, tt_entry):
    """Stand pat: the score of the side to move without a capture, as nobody has to capture."""
    score = tt_adjusted_eval(tt_entry, s.plies[ply].static_eval, ply)
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
    bound = bound_of(best, old_alpha, beta)
    store(s, ply, best_move, best, here.raw_eval, 0, bound, here.tt_pv)
    return best
