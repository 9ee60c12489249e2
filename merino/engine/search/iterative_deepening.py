"""Iterative deepening with aspiration windows, and a loop without reports.

`Worker` drives the same steps from Python, one window at a time.
"""

import numpy as np

from merino.core.board.bitboard import FULL
from merino.core.board.movegen import ALL, generate
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import call_at, clear_record, copy_record
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.state import INFINITE, NO_SCORE, PAST
from merino.engine.search.static_eval import static_evaluation

NO_LIMIT = 1 << 62
MIN_NODES = 1000  # whatever the limit, so that there is a move to play
ASPIRATION_DEPTH = 5  # first iteration with a narrow window
MAX_WINDOW = 1000  # half-width beyond which the window is opened fully
FAIL_HIGH_PLIES = 3  # by which an iteration may be searched less deeply when its score keeps rising


@kernel
def set_root(s, position, keys, count, age):
    """Prepare to search `position` without a limit. `keys[:count]` are those of the game so far, the present one last.

    `age` is that of the table. Only the histories of earlier searches are kept.
    """
    copy_record(s.positions[0], position)
    s.past = min(count - 1, PAST)
    for index in range(s.past + 1):
        s.keys[index] = keys[count - 1 - s.past + index]
    s.age = np.uint64(age)
    s.node_limit = NO_LIMIT
    s.nodes = s.stopped = s.current_number = s.full_width = s.null_move_verified_ply = 0
    s.root_nodes[:] = 0
    for ply in range(len(s.plies)):
        clear_record(s.plies[ply])


@kernel
def aspiration_window(s, depth, guess):
    """Aspiration window of an iteration: alpha, beta, half-width. `guess` is the score of the last one, or NO_SCORE.

    Scores change little from one iteration to the next, and a narrow window cuts off more.
    """
    width = s.parameters.aspiration_window
    if depth < ASPIRATION_DEPTH or abs(guess) >= KNOWN_WIN:
        return -INFINITE, INFINITE, width
    return max(guess - width, -INFINITE), min(guess + width, INFINITE), width


@kernel
def widened_window(score, alpha, beta, width):
    """The next window after `score` fell outside (alpha, beta): alpha, beta, and the new half-width."""
    width += width // 2
    if width > MAX_WINDOW:
        return -INFINITE, INFINITE, width
    if score <= alpha:
        return max(score - width, -INFINITE), (alpha + beta) // 2, width
    return alpha, min(score + width, INFINITE), width


@kernel
def fail_high_depth(s, score, beta, searched, depth):
    """The depth of the next search in iteration `depth` after `score` fell outside the window at depth `searched`.

    A ply less after each fail high: the move is good enough, and a shallower search can say how good.
    """
    if score < beta or s.full_width:
        return depth
    return max(searched - 1, depth - FAIL_HIGH_PLIES, 1)


@kernel
def search_root(s, alpha, beta, depth):
    """The score of the root at `depth` in (alpha, beta), fail-soft."""
    s.root_depth = depth
    s.plies[1].cutoffs = 0  # there is no node two plies above to do it
    return call_at(s.alpha_beta, s, 0, alpha, beta, depth)


@kernel
def deepen(s, nodes, last_depth, first=MIN_NODES):
    """Search the root within `nodes` and `last_depth`; returns best move, its score for the side to move, depth.

    There must be a legal move. The first iteration may use `first` nodes; if even that finds no best move, the result
    is the first legal move with the static evaluation. The result of an interrupted iteration counts.
    """
    generate(s.positions[0], s.moves[0], ALL, FULL)
    best, best_score, guess, depth = np.int64(s.moves[0, 0]), np.int64(NO_SCORE), np.int64(NO_SCORE), 1
    s.node_limit = max(first, nodes)
    while depth <= last_depth:
        if depth == 2:
            s.node_limit = nodes
        alpha, beta, width = aspiration_window(s, depth, guess)
        searched = depth
        s.seldepth = 0
        while True:
            guess = search_root(s, alpha, beta, searched)
            if s.stopped or alpha < guess < beta:
                break
            searched = fail_high_depth(s, guess, beta, searched, depth)
            alpha, beta, width = widened_window(guess, alpha, beta, width)
        if s.plies[0].pv_length > 0:
            best, best_score = np.int64(s.pv[0, 0]), guess
        if s.stopped:
            break
        depth += 1
    if best_score == NO_SCORE:
        best_score = static_evaluation(s, 0)
    return best, best_score, depth - 1
