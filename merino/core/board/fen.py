"""FEN in and out: text to a `POSITION` record and back, with errors that name the field.

Accepts four to six fields, X-FEN and Shredder-FEN castling letters. Castling rights without king and rook in
place and en-passant squares without a legal capture are dropped, as they change nothing.
"""

from functools import lru_cache

import numpy as np

from merino.core.board.bitboard import (
    BLACK,
    BLACK_PIECE,
    EMPTY,
    KING,
    PAWN,
    PIECE_LETTERS,
    ROOK,
    SQUARE_NAMES,
    U64,
    WHITE,
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
    side_to_move,
)
from merino.core.common.errors import MerinoError, abridged
from merino.core.compiled.jit import entry

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

MAX_COUNTER = 100_000  # the largest half-move clock and move number that a FEN may have
COLOUR_NAMES = ("White", "Black")
_PIECE_NAMES = ("pawns", "knights", "bishops", "rooks", "queens", "kings")
_STARTING_COUNTS = (8, 2, 2, 2, 1, 1)


class FenError(MerinoError, ValueError):
    """A FEN that cannot be read or describes no legal position; the message names the field and the fault."""


def parse_fen(fen: str) -> np.ndarray:
    """The position a FEN describes, POSITION[1]; raises FenError."""
    return _parsed(fen).view(np.uint8).copy().view(POSITION)  # numpy copies records without the bytes between fields


@lru_cache(maxsize=16)  # games of a match begin again and again with the same position
def _parsed(fen: str) -> np.ndarray:
    fields = fen.split()
    if not 4 <= len(fields) <= 6:
        raise FenError(f"a FEN has 4 to 6 fields, this has {len(fields)}: {abridged(fen)!r}")
    positions = np.zeros(1, dtype=POSITION)
    position = positions[0]
    _read_board(position, fields[0])
    if fields[1] not in ("w", "b"):
        raise FenError(f"side to move {abridged(fields[1])!r} is neither 'w' nor 'b'")
    position["side"] = WHITE if fields[1] == "w" else BLACK
    _check_material(position)
    _read_castling(position, fields[2])
    position["en_passant"], en_passant = NO_SQUARE, _read_en_passant(position, fields[3])
    position["halfmove"] = _read_counter("half-move clock", fields[4]) if len(fields) > 4 else 0
    position["fullmove"] = max(1, _read_counter("move number", fields[5])) if len(fields) > 5 else 1
    if not _complete(positions, en_passant):
        mover = COLOUR_NAMES[int(position["side"])]
        raise FenError(f"{mover} is to move and could take the king: the other side stands in check")
    return positions


def to_fen(positions: np.ndarray) -> str:
    """The FEN of POSITION[1], six fields; castling as KQkq, or by file letter where KQkq would not be clear.

    Counters beyond the largest that is read are written as that, so that every FEN can be read again.
    """
    position = positions[0]
    rows = []
    for rank in range(7, -1, -1):
        row, gap = "", 0
        for piece in position["board"][8 * rank : 8 * rank + 8]:
            if piece == EMPTY:
                gap += 1
                continue
            row += (str(gap) if gap else "") + PIECE_LETTERS[piece]
            gap = 0
        rows.append(row + (str(gap) if gap else ""))
    en_passant = SQUARE_NAMES[position["en_passant"]] if position["en_passant"] >= 0 else "-"
    side = "wb"[position["side"]]
    counters = (min(int(position[name]), MAX_COUNTER) for name in ("halfmove", "fullmove"))
    return f"{'/'.join(rows)} {side} {_write_castling(position)} {en_passant} {' '.join(map(str, counters))}"


@entry
def _complete(positions, en_passant):
    """Fill what follows from the rest; False if the side that is not to move stands in check."""
    position = positions[0]
    side = side_to_move(position)
    if is_attacked(position, king_square(position, 1 - side), side):
        return False
    position.key, position.pawn_key = compute_key(position), compute_pawn_key(position)
    look_at_king(position)
    if en_passant >= 0:
        mark_en_passant(position, side, en_passant)
    return True


def _read_board(position: np.void, text: str) -> None:
    rows = text.split("/")
    if len(rows) != 8:
        raise FenError(f"the board has {len(rows)} ranks, not 8: {abridged(text)!r}")
    board = [EMPTY] * 64
    for row, rank in zip(rows, range(7, -1, -1), strict=True):
        file = 0
        for letter in row:
            if letter in "12345678":
                file += int(letter)
                continue
            if letter == " " or letter not in PIECE_LETTERS:
                raise FenError(f"{letter!r} on rank {rank + 1} is no piece")
            if file < 8:
                board[8 * rank + file] = PIECE_LETTERS.index(letter)
            file += 1
        if file != 8:
            raise FenError(f"rank {rank + 1} has {file} squares, not 8: {abridged(row)!r}")
    pieces, colours = [0] * 6, [0] * 2
    for square, piece in enumerate(board):
        if piece != EMPTY:
            pieces[piece & 7] |= 1 << square
            colours[piece >> 3] |= 1 << square
    position["board"], position["pieces"], position["colours"] = board, pieces, colours
    _check_pawn_ranks(board)


def _check_pawn_ranks(board: list[int]) -> None:
    for square in (*range(8), *range(56, 64)):
        if board[square] & 7 == PAWN:
            raise FenError(f"a pawn cannot stand on {SQUARE_NAMES[square]}")


def _check_material(position: np.void) -> None:
    """One king a side, and no more pieces than promotions can make: move lists are sized for that."""
    pieces = position["pieces"].tolist()
    for colour in (WHITE, BLACK):
        own = int(position["colours"][colour])
        counts = [(own & kind).bit_count() for kind in pieces]
        if counts[KING] != 1:
            raise FenError(f"{COLOUR_NAMES[colour]} has {counts[KING]} kings, not 1")
        if counts[PAWN] > 8:
            raise FenError(f"{COLOUR_NAMES[colour]} has {counts[PAWN]} pawns, more than 8")
        promoted = [max(0, counts[kind] - _STARTING_COUNTS[kind]) for kind in range(6)]
        if sum(promoted) > 8 - counts[PAWN]:
            kind = int(np.argmax(promoted))
            raise FenError(f"{COLOUR_NAMES[colour]} has more {_PIECE_NAMES[kind]} than its pawns could become")


def _read_castling(position: np.void, text: str) -> None:
    if text == "-":
        return
    board = position["board"].tolist()
    for letter in text:
        colour = WHITE if letter.isupper() else BLACK
        if letter.upper() not in "KQABCDEFGH":
            raise FenError(f"castling right {letter!r} in {abridged(text)!r} is unknown")
        rook = _castling_rook(board, colour, letter.upper())
        if rook is not None:
            position["castling"] |= U64(1 << rook)


def _castling_rook(board: list[int], colour: int, letter: str) -> int | None:
    """The rook a castling letter means, or None where king or rook are not in place."""
    first = 56 * colour
    rank = board[first : first + 8]
    if BLACK_PIECE * colour + KING not in rank:
        return None
    king = rank.index(BLACK_PIECE * colour + KING)
    rooks = [file for file in range(8) if rank[file] == BLACK_PIECE * colour + ROOK]
    if letter == "K":
        rooks = [file for file in rooks if file > king][-1:]
    elif letter == "Q":
        rooks = [file for file in rooks if file < king][:1]
    else:
        rooks = [file for file in rooks if file == ord(letter) - ord("A")]
    return first + rooks[0] if rooks else None


def _write_castling(position: np.void) -> str:
    letters = ""
    board, rights = position["board"].tolist(), int(position["castling"])
    for colour in (WHITE, BLACK):
        for square in range(56 * colour + 7, 56 * colour - 1, -1):
            if rights >> square & 1:
                letter = "ABCDEFGH"[square & 7]
                for wing in "KQ":
                    if _castling_rook(board, colour, wing) == square:
                        letter = wing
                letters += letter if colour == WHITE else letter.lower()
    return letters or "-"


def _read_en_passant(position: np.void, text: str) -> int:
    """The en-passant square if a pawn has just passed it, else NO_SQUARE."""
    if text == "-":
        return NO_SQUARE
    if text not in SQUARE_NAMES or text[1] not in "36":
        raise FenError(f"en-passant square {abridged(text)!r} is neither '-' nor on rank 3 or 6")
    square, side = SQUARE_NAMES.index(text), int(position["side"])
    pawn, start = (square - 8, square + 8) if side == WHITE else (square + 8, square - 8)
    board = position["board"]
    right_rank = (square >> 3) == (5 if side == WHITE else 2)
    if right_rank and board[pawn] == BLACK_PIECE * (1 - side) + PAWN and board[square] == board[start] == EMPTY:
        return square
    return NO_SQUARE


def _read_counter(name: str, text: str) -> int:
    digits = text.lstrip("0") or text[-1:]  # int() refuses thousands of digits
    if not text.isascii() or not text.isdigit() or len(digits) > len(str(MAX_COUNTER)) or int(digits) > MAX_COUNTER:
        raise FenError(f"{name} {abridged(text)!r} is no number from 0 to {MAX_COUNTER}")
    return int(digits)
