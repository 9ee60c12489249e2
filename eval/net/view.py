"""The board as one side sees it, for features: Black's board turned upside down, with `own` and `other` for colours.

A view is uint64[14]: at role * 2 + colour the squares of those pieces, colour 0 for own and 1 for other; then all
occupied squares.
"""

from engine.board.bitboard import KING, WHITE, ZERO, lsb, mirror
from engine.compiled.jit import kernel

OWN, OTHER = 0, 1
PIECES = 12  # of a view: roles times colours
OCCUPIED = 12  # index of all pieces
VIEW_SIZE = 14


@kernel
def look(position, side, view):
    """Fill `view` with the position as `side` sees it."""
    occupied = ZERO
    for role in range(6):
        for colour in range(2):
            squares = position.pieces[role] & position.colours[colour ^ side]
            seen = squares if side == WHITE else mirror(squares)
            view[2 * role + colour] = seen
            occupied |= seen
    view[OCCUPIED] = occupied


@kernel
def look_back(view, other):
    """Fill `other` with what the opponent sees of what `view` shows."""
    for piece in range(PIECES):
        other[piece ^ 1] = mirror(view[piece])
    other[OCCUPIED] = mirror(view[OCCUPIED])


@kernel
def pieces_in(view, role, colour):
    """The squares of the pieces of this role and colour, uint64."""
    return view[2 * role + colour]


@kernel
def king_in(view, colour):
    """The square of a king, int64."""
    return lsb(view[2 * KING + colour])
