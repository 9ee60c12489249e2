"""The board from one side's view, for features: Black's board is mirrored, and colours are `own` and `other`.

A view is uint64[14]: at role * 2 + colour the squares of those pieces, with colour 0 for own and 1 for other; then all
occupied squares.
"""

from merino.inner.core.board.bitboard import KING, WHITE, ZERO, lsb, mirror
from merino.inner.core.compiled.jit import kernel

OWN, OTHER = 0, 1
PIECES = 12  # of a view: roles times colours
OCCUPIED = 12  # index of all pieces
VIEW_SIZE = 14


@kernel
def look(position, side, view):
    """Fill `view` with the position from the view of `side`."""
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
    """Fill `other` with the opponent's view of the same position."""
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
