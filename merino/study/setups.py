"""Positions as people set them up, also those that the rules do not allow, and their evaluation.

The evaluation needs a board with one king a side and no pawn on a first or last rank, and nothing else of the rules. So
a king that is missing is taken to stand at home, or on the empty square next to it; pawns on those ranks do not count;
and of several kings of a side, the first one counting from a1 is the king. Each such assumption is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import chess
import numpy as np

from merino.core.board.bitboard import BLACK, BLACK_PIECE, EMPTY, KING, PAWN, SQUARE_NAMES, U64, WHITE
from merino.core.board.fen import FenError
from merino.core.board.game import Position
from merino.core.board.position import NO_SQUARE, POSITION
from merino.core.compiled.memory import aligned_record

_SIDES = ("White", "Black")
_HOME = (chess.E1, chess.E8)


@dataclass(frozen=True)
class Setup:
    """A position that was set up. `position` is None where the rules do not allow it, and then `fault` says why.

    `record` is POSITION[1] for evaluations; of a position that cannot be it has no keys and no castling rights.
    """

    fen: str
    record: np.ndarray
    turn: int  # WHITE or BLACK
    position: Position | None
    fault: str | None


def set_up(fen: str) -> Setup:
    """The setup of a FEN, whose board must be one but may be against the rules; raises FenError."""
    try:
        position = Position(fen)
    except FenError as error:
        return _against_rules(fen, error)
    return Setup(position.fen(), position.record, position.turn, position, None)


def _against_rules(fen: str, error: FenError) -> Setup:
    fields = fen.split()
    try:
        pieces = chess.BaseBoard(fields[0] if fields else "").piece_map()
    except ValueError:
        raise error from None
    if len(fields) < 2 or fields[1] not in ("w", "b"):
        raise error from None
    turn = WHITE if fields[1] == "w" else BLACK
    board = np.full(64, EMPTY, dtype=np.int8)
    for square, piece in pieces.items():
        board[square] = piece.piece_type - 1 + (0 if piece.color else BLACK_PIECE)
    remarks = [str(error), *_uncounted_pawns(board), *_added_kings(board)]
    return Setup(fen, _record(board, turn), turn, None, "; ".join(dict.fromkeys(remarks)))


def _uncounted_pawns(board: np.ndarray) -> list[str]:
    """Take the pawns off the first and the last rank, and say so."""
    squares = [square for square in (*range(8), *range(56, 64)) if board[square] % BLACK_PIECE == PAWN]
    board[squares] = EMPTY
    if not squares:
        return []
    return [f"what stands as a pawn on {', '.join(SQUARE_NAMES[square] for square in squares)} is not counted"]


def _added_kings(board: np.ndarray) -> list[str]:
    """Place a king for each side without one; sentences that say so. Raises FenError where no square is free."""
    assumptions = []
    for colour, side in enumerate(_SIDES):
        king = KING + BLACK_PIECE * colour
        if king not in board:
            empty = [square for square in range(64) if board[square] == EMPTY]
            if not empty:
                raise FenError(f"{side} has no king, and no square is free for one")
            square = min(empty, key=lambda square: (chess.square_distance(square, _HOME[colour]), square))
            board[square] = king
            assumptions.append(f"valued as if {side}'s king stood on {SQUARE_NAMES[square]}")
    return assumptions


def _record(board: np.ndarray, turn: int) -> np.ndarray:
    record = aligned_record(POSITION)
    position = record[0]
    position["board"], position["side"], position["en_passant"], position["fullmove"] = board, turn, NO_SQUARE, 1
    for square in np.flatnonzero(board != EMPTY):
        place = U64(1) << U64(square)
        position["pieces"][board[square] % BLACK_PIECE] |= place
        position["colours"][BLACK if board[square] >= BLACK_PIECE else WHITE] |= place
    return record
