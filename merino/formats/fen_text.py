"""FEN read and written by compiled code, for millions of positions; `core.board.fen` reads single ones.

The result is the same as that of `core.board.fen.parse_fen` (a test holds this). Whatever is not plainly correct is
left to that function, which decides and words the error.
"""

import numpy as np

from merino.core.board.bitboard import (
    BISHOP,
    BLACK,
    BLACK_PIECE,
    EMPTY,
    KING,
    KNIGHT,
    ONE,
    PAWN,
    PIECE_LETTERS,
    QUEEN,
    RANK_1,
    ROOK,
    U64,
    WHITE,
    ZERO,
    bit,
    colour_of,
    popcount,
    type_of,
)
from merino.core.board.fen import MAX_COUNTER
from merino.core.board.makemove import mark_en_passant
from merino.core.board.position import (
    NO_SQUARE,
    compute_key,
    compute_pawn_key,
    is_attacked,
    king_square,
    look_at_king,
    piece_on,
    pieces_of,
    side_to_move,
)
from merino.core.compiled.jit import kernel

MAX_FEN_BYTES = 128  # most bytes of a FEN written here
NOT_PLAIN = -1
_NO_ROOK = -2
_BACK_RANKS = U64(0xFF000000000000FF)
_PIECE_CODES = np.array([PIECE_LETTERS.find(chr(code)) if code > ord(" ") else -1 for code in range(256)])
_LETTERS = np.frombuffer(PIECE_LETTERS.encode(), dtype=np.uint8)


@kernel
def read_fen(data, at, stop, position):
    """Fill `position` from the FEN of four to six fields at offset `at`; returns the offset behind it, or NOT_PLAIN.

    The fields are one blank apart.
    """
    at = _read_board(data, at, stop, position)
    if at < 0 or at + 6 > stop or not _is_sound(position):
        return NOT_PLAIN
    letter = data[at + 1]
    if data[at] != ord(" ") or letter != ord("w") and letter != ord("b") or data[at + 2] != ord(" "):
        return NOT_PLAIN
    position.side = WHITE if letter == ord("w") else BLACK
    at = _read_castling(data, at + 3, stop, position)
    if at < 0 or at + 1 >= stop or data[at] != ord(" "):
        return NOT_PLAIN
    at, square = _read_en_passant(data, at + 1, stop, position)
    position.halfmove, position.fullmove = 0, 1
    after, number = read_number(data, at + 1, stop)
    if at >= 0 and after > 0 and ends_word(data, at, stop) and ends_word(data, after, stop):
        position.halfmove, at = number, after
        after, number = read_number(data, at + 1, stop)
        if after > 0 and ends_word(data, after, stop):
            position.fullmove, at = max(1, number), after
    if at < 0 or not ends_word(data, at, stop):
        return NOT_PLAIN
    side = side_to_move(position)
    if is_attacked(position, king_square(position, 1 - side), side):
        return NOT_PLAIN
    position.key, position.pawn_key = compute_key(position), compute_pawn_key(position)
    look_at_king(position)
    if square != NO_SQUARE:
        mark_en_passant(position, side, square)
    return at


@kernel
def ends_word(data, at, stop):
    """Whether a word ends at `at`, with a blank, a semicolon, or the end of the text."""
    return at >= stop or data[at] == ord(" ") or data[at] == ord("\t") or data[at] == ord(";")


@kernel
def read_number(data, at, stop):
    """The whole number below 100,000 at `at`: (offset behind, number), or (NOT_PLAIN, 0)."""
    start, number = at, 0
    while at < stop and ord("0") <= data[at] <= ord("9"):
        number = 10 * number + np.int64(data[at]) - ord("0")
        at += 1
    return (at, number) if 0 < at - start <= 5 else (NOT_PLAIN, 0)


@kernel
def _read_board(data, at, stop, position):
    position.pieces[:] = ZERO
    position.colours[:] = ZERO
    position.castling = ZERO
    position.board[:] = EMPTY
    position.en_passant = NO_SQUARE
    for row in range(8):
        square, end = 56 - 8 * row, 64 - 8 * row
        while square < end:
            if at >= stop:
                return NOT_PLAIN
            letter = data[at]
            at += 1
            if ord("1") <= letter <= ord("8"):
                square += np.int64(letter) - ord("0")
                continue
            piece = _PIECE_CODES[letter]
            if piece < 0:
                return NOT_PLAIN
            position.board[square] = piece
            position.pieces[type_of(piece)] |= bit(square)
            position.colours[colour_of(piece)] |= bit(square)
            square += 1
        if square != end or row < 7 and (at >= stop or data[at] != ord("/")):
            return NOT_PLAIN
        at += row < 7
    return at


@kernel
def _is_sound(position):
    """One king a side, no pawn on the first or last rank, no more pieces than promotions can make."""
    if position.pieces[PAWN] & _BACK_RANKS != ZERO:
        return False
    for colour in range(2):
        pawns = popcount(pieces_of(position, colour, PAWN))
        promoted = max(0, popcount(pieces_of(position, colour, QUEEN)) - 1)
        for kind in (KNIGHT, BISHOP, ROOK):
            promoted += max(0, popcount(pieces_of(position, colour, kind)) - 2)
        if popcount(pieces_of(position, colour, KING)) != 1 or pawns > 8 or promoted > 8 - pawns:
            return False
    return True


@kernel
def _read_castling(data, at, stop, position):
    if at < stop and data[at] == ord("-"):
        return at + 1
    start = at
    while at < stop and data[at] != ord(" "):
        rook = _castling_rook(position, data[at])
        if rook == NOT_PLAIN:
            return NOT_PLAIN
        if rook != _NO_ROOK:
            position.castling |= bit(rook)
        at += 1
    return at if at > start else NOT_PLAIN


@kernel
def _castling_rook(position, letter):
    """The rook that a castling letter means, _NO_ROOK if king or rook are not in place, or NOT_PLAIN."""
    colour = BLACK if letter >= ord("a") else WHITE
    first, wanted = 56 * colour, np.int64(letter) - ord("A") - 32 * colour
    king, found = king_square(position, colour), _NO_ROOK
    is_short, is_long = wanted == ord("K") - ord("A"), wanted == ord("Q") - ord("A")
    if not (is_short or is_long or 0 <= wanted < 8):
        return NOT_PLAIN
    if king >> 3 != first >> 3:
        return _NO_ROOK
    for file in range(8):
        if piece_on(position, first + file) != BLACK_PIECE * colour + ROOK:
            continue
        if is_short and first + file > king or file == wanted or is_long and first + file < king and found == _NO_ROOK:
            found = first + file  # the outermost on that side
    return found


@kernel
def _read_en_passant(data, at, stop, position):
    """(offset behind, square that a pawn has just passed or NO_SQUARE)."""
    if data[at] == ord("-"):
        return at + 1, NO_SQUARE
    if at + 1 >= stop or not ord("a") <= data[at] <= ord("h") or data[at + 1] != ord("3") and data[at + 1] != ord("6"):
        return NOT_PLAIN, NO_SQUARE
    square = (np.int64(data[at + 1]) - ord("1")) << 3 | (np.int64(data[at]) - ord("a"))
    side = side_to_move(position)
    forward = 8 if side == WHITE else -8
    passed = piece_on(position, square - forward) == PAWN + BLACK_PIECE * (1 - side)
    if piece_on(position, square) != EMPTY or piece_on(position, square + forward) != EMPTY:
        passed = False
    return at + 2, square if passed and square >> 3 == (5 if side == WHITE else 2) else NO_SQUARE


@kernel
def write_fen(position, text, at):
    """Write the six fields of `core.board.fen.to_fen` at text[at:], uint8; returns the offset behind them."""
    for row in range(8):
        gap = 0
        for square in range(56 - 8 * row, 64 - 8 * row):
            piece = piece_on(position, square)
            if piece == EMPTY:
                gap += 1
                continue
            if gap:
                text[at] = ord("0") + gap
                at += 1
            text[at] = _LETTERS[piece]
            at += 1
            gap = 0
        if gap:
            text[at] = ord("0") + gap
            at += 1
        text[at] = ord("/") if row < 7 else ord(" ")
        at += 1
    text[at] = ord("w") if position.side == WHITE else ord("b")
    text[at + 1] = ord(" ")
    at = _write_castling(position, text, at + 2)
    text[at] = ord(" ")
    at += 1
    if position.en_passant >= 0:
        text[at] = ord("a") + (position.en_passant & 7)
        text[at + 1] = ord("1") + (position.en_passant >> 3)
        at += 2
    else:
        text[at] = ord("-")
        at += 1
    text[at] = ord(" ")
    at = write_number(min(position.halfmove, MAX_COUNTER), text, at + 1)
    text[at] = ord(" ")
    return write_number(min(position.fullmove, MAX_COUNTER), text, at + 1)


@kernel
def _write_castling(position, text, at):
    """K and Q for the outermost rook on that side of the king, else the letter of the rook's file."""
    start = at
    for colour in range(2):
        king, small = king_square(position, colour) & 7, 32 * colour
        rooks = pieces_of(position, colour, ROOK) >> U64(56 * colour) & RANK_1
        rights = position.castling >> U64(56 * colour) & RANK_1
        for file in range(7, -1, -1):
            if rights & bit(file):
                letter = ord("A") + file
                if file > king and rooks >> U64(file) == ONE:
                    letter = ord("K")
                elif file < king and rooks & (bit(file) - ONE) == ZERO:
                    letter = ord("Q")
                text[at] = letter + small
                at += 1
    if at == start:
        text[at] = ord("-")
        at += 1
    return at


@kernel
def write_number(number, text, at):
    """Write a whole number, not negative, at text[at:]; returns the offset behind it."""
    digits, rest = 1, number // 10
    while rest:
        digits += 1
        rest //= 10
    for place in range(at + digits - 1, at - 1, -1):
        text[place] = ord("0") + number % 10
        number //= 10
    return at + digits
