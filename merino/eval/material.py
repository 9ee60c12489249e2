"""How much material a side has: what draw rules, endings and phases of the game go by."""

import numpy as np

from merino.core.board.bitboard import BISHOP, BLACK, KNIGHT, QUEEN, ROOK, WHITE, popcount
from merino.core.board.position import pieces_of
from merino.core.compiled.jit import entry, kernel

FULL_SET = 32  # the units of a full set of pieces
FULL_BOARD = 2 * FULL_SET  # the units of both sides at the start


@kernel
def units(position, colour):
    """The weight of a side's pieces without pawns: N = B = 3, R = 5, Q = 10; a full set is 32."""
    minors = pieces_of(position, colour, KNIGHT) | pieces_of(position, colour, BISHOP)
    return (
        3 * popcount(minors)
        + 5 * popcount(pieces_of(position, colour, ROOK))
        + 10 * popcount(pieces_of(position, colour, QUEEN))
    )


@kernel
def stage_of(position):
    """The stage of a position, int64: 0 for the endgame to FULL_BOARD."""
    return min(units(position, WHITE) + units(position, BLACK), FULL_BOARD)


@kernel
def middlegame_share(enemy_units):
    """How much a side's middlegame terms count, by the pieces its opponent has left; the endgame has the rest.

    As in GreKo it goes beyond 1, and that of the endgame below 0, against promoted queens.
    """
    return enemy_units / FULL_SET


@entry
def _game_stage(positions, found):
    position = positions[0]
    for colour in range(2):
        found[colour] = middlegame_share(units(position, 1 - colour))
    found[2] = stage_of(position) / FULL_BOARD


def game_stage(record: np.ndarray) -> tuple[tuple[float, float], float]:
    """`middlegame_share` of White and of Black in POSITION[1], and its stage as a share, 0..1."""
    found = np.zeros(3)
    _game_stage(record, found)
    white, black, stage = found.tolist()
    return (white, black), stage
