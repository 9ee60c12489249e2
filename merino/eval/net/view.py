"""The board from one side's view, for features: Black's board is mirrored, and colours are `own` and `other`.

A view is uint64[VIEW_SIZE]: at role * 2 + colour, the kind of a piece, the squares of those pieces, with colour 0 for
own and 1 for other; then all occupied squares; then facts that follow from these and are filled in only where a block
reads them (`eval.net.mobility`, `eval.net.neighbours`).
"""

from typing import NamedTuple

from numba import types

from merino.core.board.bitboard import KING, U64, WHITE, ZERO, bit, colour_of, lsb, mirror, type_of
from merino.core.board.makemove import NOTHING
from merino.core.compiled.jit import kernel

OWN, OTHER = 0, 1
PIECES = 12  # of a view: roles times colours
OCCUPIED = 12  # index of all pieces
# Facts: of each kind the squares that are attacked, and those that it can move to; the kinds on each rank; the pairs of
# neighbours on ranks and on files.
ATTACKS, DESTINATIONS, BOARD, RANK_PAIRS, FILE_PAIRS, VIEW_SIZE = 16, 28, 40, 48, 72, 96
WITHOUT_FACTS = ATTACKS


class ViewDifference(NamedTuple):
    """What differs between two views: the kinds of the pieces, as bits, and the squares on which they stand."""

    kinds: types.uint64
    squares: types.uint64


@kernel
def look(position, side, view):
    """Fill `view` with the position from the view of `side`, without facts."""
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
    """Fill `other` with the opponent's view of the same position, without facts."""
    for piece in range(PIECES):
        other[piece ^ 1] = mirror(view[piece])
    other[OCCUPIED] = mirror(view[OCCUPIED])


@kernel
def mirror_view(view):
    """Mirror a view left to right, without facts."""
    for word in range(OCCUPIED + 1):
        view[word] = _mirrored(view[word])


@kernel
def _mirrored(squares):
    """The squares mirrored left to right."""
    one, two, four = U64(0x5555555555555555), U64(0x3333333333333333), U64(0x0F0F0F0F0F0F0F0F)
    squares = (squares >> U64(1)) & one | (squares & one) << U64(1)
    squares = (squares >> U64(2)) & two | (squares & two) << U64(2)
    return (squares >> U64(4)) & four | (squares & four) << U64(4)


@kernel
def difference_of(before, after):
    """The `ViewDifference` of two views of one side."""
    kinds, squares = ZERO, ZERO
    for kind in range(PIECES):
        changed = before[kind] ^ after[kind]
        kinds |= U64(changed != ZERO) << U64(kind)
        squares |= changed
    return ViewDifference(kinds, squares)


@kernel
def move_on(changed, view):
    """Make a move with these `Changes` in White's view, apart from facts; the `ViewDifference` to the view before."""
    kinds, squares = ZERO, ZERO
    for piece_on_square in (changed.removed, changed.removed_too):
        if piece_on_square != NOTHING:
            kind, square = _kind_and_square(piece_on_square)
            view[kind] &= ~square
            view[OCCUPIED] &= ~square
            kinds, squares = kinds | bit(kind), squares | square
    for piece_on_square in (changed.added, changed.added_too):
        if piece_on_square != NOTHING:
            kind, square = _kind_and_square(piece_on_square)
            view[kind] |= square
            view[OCCUPIED] |= square
            kinds, squares = kinds | bit(kind), squares | square
    return ViewDifference(kinds, squares)


@kernel
def _kind_and_square(piece_on_square):
    """The kind of a piece for White, and its square as a set, from one of the numbers of `Changes`."""
    piece = piece_on_square >> 6
    return 2 * type_of(piece) + colour_of(piece), bit(piece_on_square & 63)


@kernel
def pieces_in(view, role, colour):
    """The squares of the pieces of this role and colour, uint64."""
    return view[2 * role + colour]


@kernel
def king_in(view, colour):
    """The square of a king, int64."""
    return lsb(view[2 * KING + colour])


@kernel
def king_places(view):
    """The squares of White's and of Black's king, each as its owner sees it, by White's view."""
    return king_in(view, OWN), king_in(view, OTHER) ^ 56
