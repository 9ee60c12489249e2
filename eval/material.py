"""How much material a side has: what draw rules, endings and phases of the game go by."""

from engine.board.bitboard import BISHOP, KNIGHT, QUEEN, ROOK, popcount
from engine.board.position import pieces_of
from engine.compiled.jit import kernel

FULL_SET = 32  # the units of a full set of pieces


@kernel
def units(position, colour):
    """The weight of a side's pieces without pawns: N = B = 3, R = 5, Q = 10; a full set is 32."""
    minors = pieces_of(position, colour, KNIGHT) | pieces_of(position, colour, BISHOP)
    return (
        3 * popcount(minors)
        + 5 * popcount(pieces_of(position, colour, ROOK))
        + 10 * popcount(pieces_of(position, colour, QUEEN))
    )
