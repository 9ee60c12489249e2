"""FEN in and out: text to a `POSITION` record and back, with errors that name the field.

Accepts four to six fields, X-FEN and Shredder-FEN castling letters. Castling rights without king and rook in
place and en-passant squares without a legal capture are dropped, as they change nothing.

FEN is read and written by compiled code, for files with millions of positions.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from merino.core.board.bitboard import (
    BISHOP,
    BLACK,
    BLACK_PIECE,
    EDGE_RANKS,
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
from merino.core.board.makemove import mark_en_passant
from merino.core.board.position import (
    NO_SQUARE,
    POSITION,
    compute_key,
    compute_pawn_key,
    is_attacked,
    king_square,
    look_at_king,
    piece_on,
    pieces_of,
    side_to_move,
)
from merino.core.common.errors import MerinoError, abridged
from merino.core.compiled.jit import entry, kernel

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
MAX_FEN_BYTES = 128  # most bytes of a FEN written here
MAX_COUNTER = 100_000  # the largest half-move clock and move number that a FEN may have
NOT_PLAIN = -1
COLOUR_NAMES = ("White", "Black")
_NO_ROOK = -2
_PIECE_NAMES = ("pawns", "knights", "bishops", "rooks", "queens", "kings")
_STARTING_COUNTS = (8, 2, 2, 2, 1, 1)
_PIECE_CODES = np.array([PIECE_LETTERS.find(chr(code)) if code > ord(" ") else -1 for code in range(256)])
_LETTERS = np.frombuffer(PIECE_LETTERS.encode(), dtype=np.uint8)


class FenError(MerinoError, ValueError):
    """A FEN that cannot be read or describes no legal position; the message names the field and the fault."""


def parse_fen(fen: str) -> np.ndarray:
    """The position a FEN describes, POSITION[1]; raises FenError."""
    fields = fen.split()
    if not 4 <= len(fields) <= 6:
        raise FenError(f"a FEN has 4 to 6 fields, this has {len(fields)}: {abridged(fen)!r}")
    data = np.frombuffer(" ".join(fields).encode(errors="replace"), dtype=np.uint8)
    positions = np.zeros(1, dtype=POSITION)
    if _read(data, positions) != len(data):
        raise FenError(next(_faults_of(fields)))
    return positions


def to_fen(positions: np.ndarray) -> str:
    """The FEN of POSITION[1], six fields; castling as KQkq, or by file letter where KQkq would not be clear.

    Counters beyond the largest that is read are written as that, so that every FEN can be read again.
    """
    text = np.empty(MAX_FEN_BYTES, dtype=np.uint8)
    return text[: _write(positions, text)].tobytes().decode()


def _faults_of(fields: Sequence[str]) -> Iterator[str]:
    """What is wrong with the fields of a FEN that cannot be read; the first fault counts."""
    board, side, castling, en_passant, *counters = fields
    yield from _faults_of_board(board)
    if side not in ("w", "b"):
        yield f"side to move {abridged(side)!r} is neither 'w' nor 'b'"
    for name, letters in zip(COLOUR_NAMES, ("PNBRQK", "pnbrqk"), strict=True):
        counts = [board.count(letter) for letter in letters]
        promoted = [max(0, count - usual) for count, usual in zip(counts, _STARTING_COUNTS, strict=True)]
        if counts[KING] != 1:
            yield f"{name} has {counts[KING]} kings, not 1"
        if counts[PAWN] > 8:
            yield f"{name} has {counts[PAWN]} pawns, more than 8"
        if sum(promoted) > 8 - counts[PAWN]:
            yield f"{name} has more {_PIECE_NAMES[int(np.argmax(promoted))]} than its pawns could become"
    for letter in castling if castling != "-" else "":
        if letter.upper() not in "KQABCDEFGH":
            yield f"castling right {letter!r} in {abridged(castling)!r} is unknown"
    if en_passant != "-" and not re.fullmatch("[a-h][36]", en_passant):
        yield f"en-passant square {abridged(en_passant)!r} is neither '-' nor on rank 3 or 6"
    for name, text in zip(("half-move clock", "move number"), counters, strict=False):
        if not re.fullmatch("0*([0-9]{1,5}|100000)", text):
            yield f"{name} {abridged(text)!r} is no number from 0 to {MAX_COUNTER}"
    yield f"{COLOUR_NAMES[side == 'b']} is to move and could take the king: the other side stands in check"


def _faults_of_board(text: str) -> Iterator[str]:
    rows = text.split("/")
    if len(rows) != 8:
        yield f"the board has {len(rows)} ranks, not 8: {abridged(text)!r}"
    for rank, row in zip(range(8, 0, -1), rows, strict=False):
        for letter in row:
            if letter not in "12345678PNBRQKpnbrqk":
                yield f"{letter!r} on rank {rank} is no piece"
        squares = "".join("." * int(letter) if letter.isdigit() else letter for letter in row)
        if len(squares) != 8:
            yield f"rank {rank} has {len(squares)} squares, not 8: {abridged(row)!r}"
        if rank in (1, 8) and "p" in squares.lower():
            yield f"a pawn cannot stand on {'abcdefgh'[squares.lower().index('p')]}{rank}"


@entry
def _read(data, positions):
    """Fill POSITION[1] from a FEN as of `read_fen`."""
    return read_fen(data, 0, len(data), positions[0])


@entry
def _write(positions, text):
    """Write the FEN of POSITION[1]; returns its length."""
    return write_fen(positions[0], text, 0)


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
    if at >= 0 and after > 0 and is_blank(data[at]) and ends_word(data, after, stop):
        position.halfmove, at = number, after
        after, number = read_number(data, at + 1, stop)
        if after > 0 and is_blank(data[at]) and ends_word(data, after, stop):
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
    return at >= stop or is_blank(data[at]) or data[at] == ord(";")


@kernel
def is_blank(letter):
    """Whether this byte is a blank or a tab."""
    return letter == ord(" ") or letter == ord("\t")


@kernel
def read_number(data, at, stop):
    """The whole number up to MAX_COUNTER at `at`: (offset behind, number), or (NOT_PLAIN, 0)."""
    start, number = at, 0
    while at < stop and ord("0") <= data[at] <= ord("9"):
        number = min(10 * number + np.int64(data[at]) - ord("0"), MAX_COUNTER + 1)
        at += 1
    return (at, number) if at > start and number <= MAX_COUNTER else (NOT_PLAIN, 0)


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
    """One king a side, no pawn on the first or last rank, at most the pieces that promotions can make."""
    if position.pieces[PAWN] & EDGE_RANKS != ZERO:
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
    """Write the six fields of `to_fen` at text[at:], uint8, MAX_FEN_BYTES at most; returns the offset behind them."""
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
