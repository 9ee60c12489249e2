"""The move picker: hash move, good captures by MVV, killers, counter move, quiet moves by history, losing captures.

`next_move` hands out one move at a time and generates them in stages, so that a cutoff by the hash move needs none.
"""

import numpy as np

from merino.core.board.bitboard import FULL, PAWN, QUEEN
from merino.core.board.move import NO_MOVE, QUEEN_PROMOTION, kind_of
from merino.core.board.movegen import NOISY, QUIET, generate, is_legal, is_noisy
from merino.core.board.position import gives_check, set_check_squares
from merino.core.compiled.jit import kernel
from merino.core.compiled.lanes import LANES, greatest_at
from merino.engine.search.history import noisy_history, piece_to_before, quiet_histories, quiet_history_in
from merino.engine.search.see import captured_type, escapes, see_at_least
from merino.engine.search.transposition import fetch_entry

_HASH, _NOISY_GENERATION, _GOOD_NOISY, _QUIET_GENERATION, _QUIETS, _BAD_NOISY, _DONE = range(7)
VICTIM_WEIGHT = 16  # weight of the victim's centipawns relative to capture history, which reaches 2 ** 14
KILLER_SCORES = (200_000, 190_000)  # above any sum of histories and threats of a quiet move
_COUNTER_SCORE = 180_000
PLACE_BITS = 8  # of a place in the list of MAX_MOVES moves
_LAST_PLACE = (1 << PLACE_BITS) - 1
_LOWEST = -(1 << 31)  # below the score of any move


@kernel
def init_move_picker(s, ply, hash_move, noisy_only):
    """Start the move picker at this node; with `noisy_only` it leaves out quiet moves and losing captures."""
    here = s.plies[ply]
    here.hash_move = NO_MOVE
    wanted = hash_move != NO_MOVE and not (noisy_only and not is_noisy(s.positions[ply], hash_move))
    if wanted and is_legal(s.positions[ply], s.moves[ply], hash_move):
        here.hash_move = hash_move
    here.stage, here.noisy_only, here.skip_quiets = _HASH, noisy_only, 0
    here.quiets = here.noisies = 0
    if not noisy_only:
        set_check_squares(s.positions[ply], here.check_squares)


@kernel
def next_move(s, ply):
    """The next move to try, or NO_MOVE when all have been handed out."""
    here = s.plies[ply]
    if here.stage == _HASH:
        here.stage = _NOISY_GENERATION
        if here.hash_move != NO_MOVE:
            return here.hash_move
    if here.stage == _NOISY_GENERATION:
        _generate_noisy(s, ply)
        here.stage = _GOOD_NOISY
    if here.stage == _GOOD_NOISY:
        move = _next_good_noisy(s, ply)
        if move != NO_MOVE:
            return move
        here.stage = _DONE if here.noisy_only else _QUIET_GENERATION
    if here.stage == _QUIET_GENERATION:
        here.stage = _QUIETS
        if not here.skip_quiets:
            _generate_quiets(s, ply)
    if here.stage == _QUIETS:
        move = _next_quiet(s, ply)
        if move != NO_MOVE:
            return move
        here.stage, here.next = _BAD_NOISY, 0
    if here.stage == _BAD_NOISY:
        if here.next < here.bad_end:
            here.next += 1
            return int(s.moves[ply, here.next - 1])
        here.stage = _DONE
    return NO_MOVE


@kernel
def is_losing_capture_stage(s, ply):
    """Whether the move just handed out loses material by static exchange."""
    return s.plies[ply].stage == _BAD_NOISY


@kernel
def ranked(score, index):
    """A score with the place of its move in the list as its lowest bits: the greatest says which move is the best.

    Of equal scores the first is the greatest.
    """
    return score << PLACE_BITS | _LAST_PLACE - index


@kernel
def place_of(ranked_score):
    """The place of the move with this score of `ranked`."""
    return _LAST_PLACE - (ranked_score & _LAST_PLACE)


@kernel
def _generate_noisy(s, ply):
    """Captures and promotions by MVV: the most valuable victim first.

    Capture history decides among equal victims, instead of the least valuable attacker as in MVV/LVA.
    """
    here, position = s.plies[ply], s.positions[ply]
    here.next = here.bad_end = 0
    here.end = generate(position, s.moves[ply], NOISY, FULL)
    best = _LOWEST
    for index in range(here.end):
        move = int(s.moves[ply, index])
        score = VICTIM_WEIGHT * s.exchange_values[captured_type(position, move)] + noisy_history(s, ply, move)
        if kind_of(move) == QUEEN_PROMOTION:
            score += VICTIM_WEIGHT * (s.exchange_values[QUEEN] - s.exchange_values[PAWN])
        score = ranked(score, index)
        s.scores[ply, index] = score
        best = max(best, score)
    _end_scores(s, ply, best)


@kernel
def _generate_quiets(s, ply):
    """Quiet moves, behind the losing captures in memory: killers and counter move first, then by history and threats.

    Killers caused a cutoff in a sibling node at this ply; the counter move did so as an answer to the last move.
    """
    here, position = s.plies[ply], s.positions[ply]
    counter, histories = int(s.counter_moves[piece_to_before(s, ply, 1)]), quiet_histories(s, ply)
    here.next = here.bad_end
    here.end = here.next + generate(position, s.moves[ply, here.next :], QUIET, FULL)
    best = _LOWEST
    for index in range(here.next, here.end):
        move = int(s.moves[ply, index])
        if move == here.killers[0]:
            score = KILLER_SCORES[0]
        elif move == here.killers[1]:
            score = KILLER_SCORES[1]
        elif move == counter:
            score = _COUNTER_SCORE
        else:
            score = quiet_history_in(histories, position, move) + threat_score(s, ply, move)
        score = ranked(score, index)
        s.scores[ply, index] = score
        best = max(best, score)
    _end_scores(s, ply, best)


@kernel
def _end_scores(s, ply, best):
    """Note the best score, and put lowest ones behind the last: no list is so long that there is no room for them."""
    here = s.plies[ply]
    here.best = best
    for place in range(here.end, here.end + LANES):
        s.scores[ply, place] = _LOWEST


@kernel
def _best_score(s, ply):
    """The best score of the remaining moves: as many at once as are mostly there, without a branch for the rest."""
    here = s.plies[ply]
    scores = np.uint64(s.scores[ply].ctypes.data)
    first = here.next
    best = greatest_at(scores + np.uint64(4 * first))
    while first + LANES < here.end:
        first += LANES
        best = max(best, greatest_at(scores + np.uint64(4 * first)))
    return best


@kernel
def _take_best(s, ply):
    """One step of selection sort: swap the best remaining move to the front and hand it out."""
    here = s.plies[ply]
    best = here.best if here.best != _LOWEST else _best_score(s, ply)
    here.best = _LOWEST
    index = place_of(best)
    move = int(s.moves[ply, index])
    s.moves[ply, index] = s.moves[ply, here.next]
    s.scores[ply, index] = ranked(s.scores[ply, here.next] >> PLACE_BITS, index)
    s.moves[ply, here.next] = move
    here.next += 1
    return move


@kernel
def _next_good_noisy(s, ply):
    """The next capture or promotion that does not lose material; the others are kept for the end."""
    here, position = s.plies[ply], s.positions[ply]
    while here.next < here.end:
        move = _take_best(s, ply)
        if move == here.hash_move:
            continue
        fetch_entry(s, position, move)  # while its exchange is looked at
        if see_at_least(s, position, move, 0):
            return move
        s.moves[ply, here.bad_end] = move
        here.bad_end += 1
    return NO_MOVE


@kernel
def _next_quiet(s, ply):
    """The next quiet move by score, unless late move pruning has skipped the rest."""
    here = s.plies[ply]
    while here.next < here.end and not here.skip_quiets:
        move = _take_best(s, ply)
        if move != here.hash_move:
            return move
    return NO_MOVE


@kernel
def threat_score(s, ply, move):
    """How much earlier to try a quiet move for what it escapes or threatens, or later for what it walks into."""
    position = s.positions[ply]
    score = s.parameters.threat_bonus * escapes(position, s.plies[ply].threats, move)
    margin = -s.parameters.check_see_margin
    if gives_check(position, move, s.plies[ply].check_squares) and see_at_least(s, position, move, margin):
        score += s.parameters.check_bonus
    return score
