"""The board from one side's view, for features: Black's board is turned over, and colours are `own` and `other`.

A view is uint64[VIEW_SIZE]: at role * 2 + colour, the kind of a piece, the squares of those pieces, with colour 0 for
own and 1 for other; then all occupied squares; then facts that follow from these and are filled in only where a block
reads them.

Mobility: of each kind the squares that are attacked, and those that it can move to by legal moves, no matter who is to
move. Pawns move one step to an empty square or capture; double steps, en passant and castling are left out.

Neighbours: the kinds of the pieces by square, a word for each rank with a byte for each file, of no meaning where the
square is empty; and the pairs of pieces on a rank or a file with only empty squares between. Pairs are a word for each
group of four first pieces and each line, at 8 * group + line: bit 12 * (first & 3) + second.
"""

from typing import NamedTuple

import numpy as np

from merino.core.board import attacks as attack_sets
from merino.core.board.bitboard import (
    BISHOP,
    KING,
    KNIGHT,
    ONE,
    PAWN,
    QUEEN,
    ROOK,
    U64,
    WHITE,
    ZERO,
    bit,
    lsb,
    mirror,
    popcount,
)
from merino.core.board.position import attacks_of_all
from merino.core.compiled.jit import kernel

OWN, OTHER = 0, 1
KINDS = 12  # of pieces in a view: roles times colours
OCCUPIED = 12  # index of all pieces
ATTACKS, DESTINATIONS, BOARD, RANK_PAIRS, FILE_PAIRS, VIEW_SIZE = 16, 28, 40, 48, 72, 96  # facts
WITHOUT_FACTS = ATTACKS
GROUPS, LINES_OF_PAIRS = 3, 8
_RANK, _FILE = U64(0xFF), U64(0x0101_0101_0101_0101)
_NOBODY = -1


class ViewDifference(NamedTuple):
    """What differs between two views: the kinds of the pieces, as bits, and the squares on which they stand."""

    kinds: np.uint64
    squares: np.uint64


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
    for kind in range(KINDS):
        changed = before[kind] ^ after[kind]
        kinds |= U64(changed != ZERO) << U64(kind)
        squares |= changed
    return ViewDifference(kinds, squares)


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


@kernel
def ranks_of(squares):
    """The ranks of these squares; rank 1 is bit 0."""
    squares |= squares >> U64(4)
    squares |= squares >> U64(2)
    squares = (squares | squares >> ONE) & _FILE
    return (squares * U64(0x0102_0408_1020_4080)) >> U64(56)


@kernel
def files_of(squares):
    """The files of these squares; file a is bit 0."""
    squares |= squares >> U64(32)
    squares |= squares >> U64(16)
    return (squares | squares >> U64(8)) & _RANK


@kernel
def fill_moves(view):
    """Fill in what all pieces attack, and where they can move."""
    for kind in range(KINDS):
        view[ATTACKS + kind] = attacks_of_all(kind >> 1, kind & 1, view[kind], view[OCCUPIED])
    for colour in range(2):
        _find_destinations(view, colour)


@kernel
def _reach(view, role, colour, pieces, attacks):
    """The squares that these pieces could move to, kings and friendly pieces aside, by what they attack."""
    if role != PAWN:
        return attacks
    steps = pieces << U64(8) if colour == OWN else pieces >> U64(8)
    return steps & ~view[OCCUPIED] | attacks & view[OCCUPIED]


@kernel
def _find_destinations(view, colour):
    """Fill in where the pieces of a colour can move: nowhere if they have no king."""
    own, danger = ZERO, ZERO
    for role in range(6):
        own |= view[2 * role + colour]
        danger |= view[ATTACKS + 2 * role + 1 - colour]
        view[DESTINATIONS + 2 * role + colour] = ZERO
    if pieces_in(view, KING, colour) == ZERO:
        return
    king, allowed = king_in(view, colour), ~own
    pinned = _pinned(view, colour, king, own)
    if danger & bit(king):
        checkers = _attackers(view, king, 1 - colour)
        danger |= _behind(view, king, 1 - colour, checkers)
        allowed &= _answers(king, checkers)
    view[DESTINATIONS + 2 * KING + colour] = attack_sets.KING_ATTACKS[king] & ~own & ~danger
    for role in range(KING):
        kind = 2 * role + colour
        reach = _reach(view, role, colour, view[kind], view[ATTACKS + kind])
        if view[kind] & pinned:
            reach = _reach_with_pins(view, role, colour, king, pinned)
        view[DESTINATIONS + kind] = reach & allowed


@kernel
def _reach_with_pins(view, role, colour, king, pinned):
    """The same as `_reach` if some of the pieces are pinned, and move only on the line to their king."""
    pieces = pieces_in(view, role, colour)
    free = pieces & ~pinned
    found = _reach(view, role, colour, free, attacks_of_all(role, colour, free, view[OCCUPIED]))
    pieces &= pinned
    while pieces:
        square = lsb(pieces)
        reach = _reach(view, role, colour, bit(square), attacks_of_all(role, colour, bit(square), view[OCCUPIED]))
        found |= reach & attack_sets.LINES[king, square]
        pieces &= pieces - ONE
    return found


@kernel
def _attackers(view, square, by):
    """The pieces of colour `by` that attack a square."""
    occupied, queens = view[OCCUPIED], pieces_in(view, QUEEN, by)
    return (
        (attack_sets.PAWN_ATTACKS[1 - by, square] & pieces_in(view, PAWN, by))
        | (attack_sets.KNIGHT_ATTACKS[square] & pieces_in(view, KNIGHT, by))
        | (attack_sets.KING_ATTACKS[square] & pieces_in(view, KING, by))
        | (attack_sets.bishop_attacks(square, occupied) & (pieces_in(view, BISHOP, by) | queens))
        | (attack_sets.rook_attacks(square, occupied) & (pieces_in(view, ROOK, by) | queens))
    )


@kernel
def _answers(king, checkers):
    """The squares to which pieces other than the king may move in check: those that end it."""
    if checkers & (checkers - ONE):
        return ZERO
    return attack_sets.BETWEEN[king, lsb(checkers)] | checkers


@kernel
def _behind(view, king, by, checkers):
    """The squares that the sliders among the checkers attack through the king."""
    found, occupied = ZERO, view[OCCUPIED] & ~bit(king)
    for role in range(BISHOP, KING):
        found |= attacks_of_all(role, by, checkers & pieces_in(view, role, by), occupied)
    return found


@kernel
def _pinned(view, colour, king, own):
    """The friendly pieces that alone shield their king from a slider."""
    by, pinned = 1 - colour, ZERO
    queens = pieces_in(view, QUEEN, by)
    sliders = attack_sets.BISHOP_RAYS[king] & (pieces_in(view, BISHOP, by) | queens)
    sliders |= attack_sets.ROOK_RAYS[king] & (pieces_in(view, ROOK, by) | queens)
    while sliders:
        between = attack_sets.BETWEEN[king, lsb(sliders)] & view[OCCUPIED]
        if popcount(between) == 1:
            pinned |= between
        sliders &= sliders - ONE
    return pinned & own


@kernel
def fill_board(view, squares):
    """Fill in the kinds of the pieces on these squares."""
    for kind in range(KINDS):
        left = view[kind] & squares
        while left:
            square = lsb(left)
            left &= left - ONE
            word, shift = BOARD + (square >> 3), U64(8 * (square & 7))
            view[word] = view[word] & ~(_RANK << shift) | U64(kind) << shift


@kernel
def _pair_up(view, line, squares):
    """Fill in the pairs on a line, from the place of its first group; `squares` are the line's."""
    for group in range(GROUPS):
        view[line + LINES_OF_PAIRS * group] = ZERO
    left, first = view[OCCUPIED] & squares, _NOBODY
    while left:
        square = lsb(left)
        left &= left - ONE
        second = np.int64(view[BOARD + (square >> 3)] >> U64(8 * (square & 7)) & U64(15))
        if first != _NOBODY:
            view[line + LINES_OF_PAIRS * (first >> 2)] |= bit(12 * (first & 3) + second)
        first = second


@kernel
def fill_rank_pairs(view, ranks):
    """Fill in the pairs on these ranks, from left to right."""
    while ranks:
        _pair_up(view, RANK_PAIRS + lsb(ranks), _RANK << U64(8 * lsb(ranks)))
        ranks &= ranks - ONE


@kernel
def fill_file_pairs(view, files):
    """Fill in the pairs on these files, from below."""
    while files:
        _pair_up(view, FILE_PAIRS + lsb(files), _FILE << U64(lsb(files)))
        files &= files - ONE
