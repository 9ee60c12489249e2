"""What the search remembers of moves: history with gravity, continuations, killers, counter moves."""

from engine.board.move import NO_MOVE, destination_of, origin_of
from engine.board.movegen import is_noisy
from engine.board.position import piece_on, side_to_move
from engine.compiled.jit import kernel
from engine.search.see import captured_type
from engine.search.state import MAX_QUIETS

HISTORY_BITS = 14  # gravity keeps every value within 2 ** HISTORY_BITS


@kernel
def piece_to(position, move):
    """The index of (moving piece, destination), int64."""
    return piece_on(position, origin_of(move)) << 6 | destination_of(move)


@kernel
def moved_before(s, ply, back):
    """The (piece, destination) index of the move `back` plies before `ply`; 0 if none or a null move."""
    return s.plies[ply - back].moved if ply >= back else 0


@kernel
def quiet_history(s, ply, move):
    """How well a quiet move has done: by its squares, and as an answer to the last moves."""
    position = s.positions[ply]
    index = piece_to(position, move)
    return (
        int(s.history[side_to_move(position), origin_of(move), destination_of(move)])
        + int(s.continuation[moved_before(s, ply, 1), index])
        + int(s.continuation[moved_before(s, ply, 2), index])
    )


@kernel
def noisy_history(s, ply, move):
    """How well a capture or promotion has done."""
    position = s.positions[ply]
    return int(s.capture_history[piece_to(position, move), captured_type(position, move)])


@kernel
def _toward(value, bonus):
    """`value` moved by `bonus`, the less the nearer it already is to the limit on that side."""
    return value + bonus - (value * abs(bonus) >> HISTORY_BITS)


@kernel
def _update_quiet(s, ply, move, bonus):
    position = s.positions[ply]
    side, origin, destination = side_to_move(position), origin_of(move), destination_of(move)
    index = piece_to(position, move)
    s.history[side, origin, destination] = _toward(int(s.history[side, origin, destination]), bonus)
    for back in range(1, 3):
        earlier = moved_before(s, ply, back)
        if earlier:
            s.continuation[earlier, index] = _toward(int(s.continuation[earlier, index]), bonus)


@kernel
def _update_noisy(s, ply, move, bonus):
    position = s.positions[ply]
    index, captured = piece_to(position, move), captured_type(position, move)
    s.capture_history[index, captured] = _toward(int(s.capture_history[index, captured]), bonus)


@kernel
def remember_tried(s, ply, move, is_quiet):
    """Note a move that was searched at this node, to be blamed if a later one refutes."""
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
    return min(s.parameters.history_bonus * depth, s.parameters.history_bonus_max)


@kernel
def reward(s, ply, best_move, depth):
    """After the moves of a node: credit the best, or, where all of them failed low, the quiet move that led here."""
    if best_move != NO_MOVE:
        _reward_best(s, ply, best_move, depth)
    elif ply > 0:
        _reward_prior(s, ply, depth)


@kernel
def _reward_prior(s, ply, depth):
    """Every answer failed low: credit the quiet move that led here."""
    move = s.plies[ply - 1].move
    if move != NO_MOVE and not is_noisy(s.positions[ply - 1], move):
        _update_quiet(s, ply - 1, move, _bonus(s, depth) * s.parameters.prior_bonus // 100)


@kernel
def _reward_best(s, ply, move, depth):
    """`move` raised alpha and was the best: credit it, blame the others that were searched."""
    here = s.plies[ply]
    bonus = _bonus(s, depth)
    if not is_noisy(s.positions[ply], move):
        if here.killers[0] != move:
            here.killers[1] = here.killers[0]
            here.killers[0] = move
        s.counter_moves[moved_before(s, ply, 1)] = move
        _update_quiet(s, ply, move, bonus)
        for index in range(here.quiets):
            if s.quiets[ply, index] != move:
                _update_quiet(s, ply, int(s.quiets[ply, index]), -bonus)
    else:
        _update_noisy(s, ply, move, bonus)
    for index in range(here.noisies):
        if s.noisies[ply, index] != move:
            _update_noisy(s, ply, int(s.noisies[ply, index]), -bonus)
