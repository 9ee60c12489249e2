"""Memory of the search for move ordering: butterfly, continuation and capture history, killers, counter moves.

Butterfly history: how a quiet move has done by its side and squares, distinguished by whether the opponent attacks them
(threat history). Continuation history: how it has done as an answer to the last move, and as a follow-up to the side's
own move before. Capture history: how a capture has done by piece, square and victim. Each changes by bonus and malus,
with gravity.
"""

from merino.core.board.move import NO_MOVE, destination_of, origin_of
from merino.core.board.movegen import is_noisy
from merino.core.board.position import piece_on, side_to_move
from merino.core.compiled.jit import kernel
from merino.engine.search.see import captured_type, look_at_threats, threat_index
from merino.engine.search.state import MAX_QUIETS, NO_SCORE

HISTORY_BITS = 14  # gravity keeps every value within 2 ** HISTORY_BITS
CONTINUATION_PLIES = 2  # of continuation history: the opponent's last move and our own move before it


@kernel
def piece_to_index(position, move):
    """The index of (moving piece, destination), int64."""
    return piece_on(position, origin_of(move)) << 6 | destination_of(move)


@kernel
def piece_to_before(s, ply, back):
    """The (piece, destination) index of the move `back` plies before `ply`; 0 if none or a null move."""
    return s.plies[ply - back].piece_to if ply >= back else 0


@kernel(makes_arrays=True)
def quiet_histories(s, ply):
    """The tables for quiet moves at this node: butterfly and continuation histories, and the threats to go by."""
    look_at_threats(s, ply)
    return (
        s.butterfly_history[side_to_move(s.positions[ply])],
        s.continuation_history[piece_to_before(s, ply, 1)],
        s.continuation_history[piece_to_before(s, ply, 2)],
        s.plies[ply].threats,
    )


@kernel
def quiet_history_in(histories, position, move):
    """How well a quiet move has done, by the `quiet_histories` of a node: by its squares, and after the last moves."""
    butterfly, after_one, after_two, threats = histories
    index = piece_to_index(position, move)
    by_squares = butterfly[threat_index(threats, move), origin_of(move), destination_of(move)]
    return int(by_squares) + int(after_one[index]) + int(after_two[index])


@kernel
def quiet_history(s, ply, move):
    """How well a quiet move has done at this node."""
    return quiet_history_in(quiet_histories(s, ply), s.positions[ply], move)


@kernel
def noisy_history(s, ply, move):
    """How well a capture or promotion has done."""
    position = s.positions[ply]
    return int(s.capture_history[piece_to_index(position, move), captured_type(position, move)])


@kernel
def _gravity(value, bonus):
    """`value` after a bonus or malus with gravity: near the limit on that side it changes less."""
    return value + bonus - (value * abs(bonus) >> HISTORY_BITS)


@kernel
def _update_quiet(s, ply, move, bonus):
    position = s.positions[ply]
    index = piece_to_index(position, move)
    _update_butterfly(s, ply, move, bonus)
    for back in range(1, CONTINUATION_PLIES + 1):
        earlier = piece_to_before(s, ply, back)
        if earlier:
            s.continuation_history[earlier, index] = _gravity(int(s.continuation_history[earlier, index]), bonus)


@kernel
def _update_butterfly(s, ply, move, bonus):
    position = s.positions[ply]
    look_at_threats(s, ply)
    by_squares = s.butterfly_history[side_to_move(position), threat_index(s.plies[ply].threats, move)]
    origin, destination = origin_of(move), destination_of(move)
    by_squares[origin, destination] = _gravity(int(by_squares[origin, destination]), bonus)


@kernel
def _update_noisy(s, ply, move, bonus):
    position = s.positions[ply]
    index, captured = piece_to_index(position, move), captured_type(position, move)
    s.capture_history[index, captured] = _gravity(int(s.capture_history[index, captured]), bonus)


@kernel
def note_eval_change(s, ply):
    """Credit or blame the quiet move that led here for what it did to the static evaluation of its side.

    It says something about moves that are never searched deeply enough for a bonus.
    """
    if ply == 0 or s.plies[ply - 1].move == NO_MOVE:
        return
    before, after, p = s.plies[ply - 1].static_eval, s.plies[ply].static_eval, s.parameters
    if before == NO_SCORE or after == NO_SCORE or is_noisy(s.positions[ply - 1], s.plies[ply - 1].move):
        return
    gained = -after - before
    bonus = max(-p.history_eval_max, min(p.history_eval * gained, p.history_eval_max))
    _update_butterfly(s, ply - 1, s.plies[ply - 1].move, bonus)


@kernel
def note_searched(s, ply, move, is_quiet):
    """Record a move that was searched at this node: it gets a malus if a later one is the best."""
    here = s.plies[ply]
    if is_quiet:
        if here.quiets < MAX_QUIETS:
            s.quiets[ply, here.quiets] = move
        here.quiets += 1
    elif here.noisies < MAX_QUIETS:
        s.noisies[ply, here.noisies] = move
        here.noisies += 1


@kernel
def _bonus(s, depth):
    """The history bonus of the best move of a node, larger for a deeper search."""
    return min(s.parameters.history_bonus * depth, s.parameters.history_bonus_max)


@kernel
def update_histories(s, ply, best_move, depth):
    """After the moves of a node: a bonus for the best one, or if all failed low, for the move that led here."""
    if best_move != NO_MOVE:
        _update_best(s, ply, best_move, depth)
    elif ply > 0:
        _update_prior(s, ply, depth)


@kernel
def _update_prior(s, ply, depth):
    """Every answer failed low: a bonus for the move that led here."""
    move, p = s.plies[ply - 1].move, s.parameters
    if move == NO_MOVE:
        return
    if is_noisy(s.positions[ply - 1], move):
        _update_noisy(s, ply - 1, move, _bonus(s, depth) * p.history_prior_noisy_bonus // 100)
    else:
        _update_quiet(s, ply - 1, move, _bonus(s, depth) * p.history_prior_bonus // 100)


@kernel
def _update_best(s, ply, move, depth):
    """`move` raised alpha and was the best: a bonus for it, a malus for the others that were searched.

    A quiet one becomes a killer move of this ply and the counter move to the move before.
    """
    here = s.plies[ply]
    bonus = _bonus(s, depth)
    if not is_noisy(s.positions[ply], move):
        if here.killers[0] != move:
            here.killers[1] = here.killers[0]
            here.killers[0] = move
        s.counter_moves[piece_to_before(s, ply, 1)] = move
        _update_quiet(s, ply, move, bonus)
        malus = bonus * s.parameters.history_malus // 100
        for index in range(min(here.quiets, MAX_QUIETS)):
            if s.quiets[ply, index] != move:
                _update_quiet(s, ply, int(s.quiets[ply, index]), -malus)
    else:
        _update_noisy(s, ply, move, bonus)
    for index in range(here.noisies):
        if s.noisies[ply, index] != move:
            _update_noisy(s, ply, int(s.noisies[ply, index]), -bonus)
