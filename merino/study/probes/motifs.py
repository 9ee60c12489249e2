"""Motifs that a probe looks for: what a side has on a board, as players call it. The docstrings are what users read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import chess

from merino.study.reasons.motifs import PIECES, fork_targets, is_hanging, pins_by, worth_at

Motif = Callable[[chess.Board, chess.Color], float]
MOTIFS: dict[str, Motif] = {}  # by name, in order
_WINGS = chess.BB_FILE_A | chess.BB_FILE_B | chess.BB_FILE_C | chess.BB_FILE_G | chess.BB_FILE_H


def motif(count: Motif) -> Motif:
    """Register a motif under the name of its function."""
    MOTIFS[count.__name__.replace("_", " ")] = count
    return count


def _own(board: chess.Board, side: chess.Color, *kinds: chess.PieceType) -> chess.SquareSet:
    found = chess.SquareSet()
    for kind in kinds:
        found |= board.pieces(kind, side)
    return found


@cache
def _ahead(square: chess.Square, side: chess.Color) -> chess.Bitboard:
    """The squares ahead of a pawn on its file."""
    ranks = range(chess.square_rank(square) + 1, 8) if side else range(chess.square_rank(square))
    return sum(chess.BB_SQUARES[chess.square(chess.square_file(square), rank)] for rank in ranks)


@cache
def _span(square: chess.Square, side: chess.Color) -> chess.Bitboard:
    """The squares on which an enemy pawn keeps a pawn from being passed."""
    way = _ahead(square, side)
    return way | (way << 1) & ~chess.BB_FILE_A & chess.BB_ALL | (way >> 1) & ~chess.BB_FILE_H


def _passed(board: chess.Board, side: chess.Color) -> Iterator[chess.Square]:
    enemy = board.pawns & board.occupied_co[not side]
    return (square for square in board.pieces(chess.PAWN, side) if not _span(square, side) & enemy)


@motif
def hanging_piece(board: chess.Board, side: chess.Color) -> float:
    """Pieces and pawns of the side that can be taken with a profit."""
    return sum(is_hanging(board, square) for square in chess.SquareSet(board.occupied_co[side] & ~board.kings))


@motif
def loose_piece(board: chess.Board, side: chess.Color) -> float:
    """Pieces that nothing guards."""
    return sum(not board.attackers(side, square) for square in _own(board, side, *PIECES))


@motif
def fork(board: chess.Board, side: chess.Color) -> float:
    """Pieces and pawns that attack two others with profit."""
    return sum(bool(fork_targets(board, square)) for square in chess.SquareSet(board.occupied_co[side] & ~board.kings))


@motif
def pin(board: chess.Board, side: chess.Color) -> float:
    """Pieces of the other side that are pinned to something worth more."""
    return sum(1 for square in _own(board, side, chess.BISHOP, chess.ROOK, chess.QUEEN) for _ in pins_by(board, square))


@motif
def absolute_pin(board: chess.Board, side: chess.Color) -> float:
    """Pieces of the other side that are pinned to their king."""
    enemy = chess.SquareSet(board.occupied_co[not side] & ~board.kings)
    return sum(board.is_pinned(not side, square) for square in enemy)


@motif
def attacked_by_less(board: chess.Board, side: chess.Color) -> float:
    """Pieces that something of less worth attacks."""
    return sum(
        any(worth_at(board, attacker) < worth_at(board, square) for attacker in board.attackers(not side, square))
        for square in _own(board, side, *PIECES)
    )


@motif
def back_rank(board: chess.Board, side: chess.Color) -> float:
    """The king on his first rank, own pawns on all squares before him, an enemy rook or queen on the board."""
    king = board.king(side)
    if king is None or chess.square_rank(king) != (0 if side else 7):
        return 0.0
    before = chess.SquareSet(chess.BB_KING_ATTACKS[king]) & chess.BB_RANKS[1 if side else 6]
    return float(
        before.issubset(board.pieces(chess.PAWN, side)) and bool(_own(board, not side, chess.ROOK, chess.QUEEN))
    )


@motif
def bishop_pair(board: chess.Board, side: chess.Color) -> float:
    """Two bishops or more."""
    return float(len(board.pieces(chess.BISHOP, side)) > 1)


@motif
def bad_bishop(board: chess.Board, side: chess.Color) -> float:
    """Own pawns on the colour of a bishop, for each bishop."""
    pawns = board.pieces(chess.PAWN, side)
    return sum(
        len(pawns & (chess.BB_LIGHT_SQUARES if chess.BB_LIGHT_SQUARES >> square & 1 else chess.BB_DARK_SQUARES))
        for square in board.pieces(chess.BISHOP, side)
    )


@motif
def passed_pawn(board: chess.Board, side: chess.Color) -> float:
    """Passed pawns."""
    return sum(1 for _ in _passed(board, side))


@motif
def outside_passed_pawn(board: chess.Board, side: chess.Color) -> float:
    """Passed pawns with all enemy pawns at least three files away."""
    files = [chess.square_file(square) for square in board.pieces(chess.PAWN, not side)]
    return sum(
        bool(files) and all(abs(chess.square_file(square) - file) > 2 for file in files)
        for square in _passed(board, side)
    )


@motif
def connected_passed_pawns(board: chess.Board, side: chess.Color) -> float:
    """Passed pawns with another on a file beside them."""
    files = [chess.square_file(square) for square in _passed(board, side)]
    return sum(file + 1 in files or file - 1 in files for file in files)


@motif
def protected_passed_pawn(board: chess.Board, side: chess.Color) -> float:
    """Passed pawns that an own pawn guards."""
    pawns = board.pieces(chess.PAWN, side)
    return sum(bool(board.attackers(side, square) & pawns) for square in _passed(board, side))


@motif
def rook_behind_passed_pawn(board: chess.Board, side: chess.Color) -> float:
    """Own rooks behind own passed pawns."""
    rooks = board.pieces(chess.ROOK, side)
    return sum(len(rooks & _ahead(square, not side)) for square in _passed(board, side))


@motif
def isolated_queens_pawn(board: chess.Board, side: chess.Color) -> float:
    """A pawn on the queen's file without own pawns beside it."""
    pawns = board.pieces(chess.PAWN, side)
    beside = chess.BB_FILE_C | chess.BB_FILE_E
    return float(bool(pawns & chess.BB_FILE_D) and not pawns & beside)


@motif
def doubled_rooks(board: chess.Board, side: chess.Color) -> float:
    """Two rooks on one file."""
    files = [chess.square_file(square) for square in board.pieces(chess.ROOK, side)]
    return float(len(files) != len(set(files)))


@motif
def rook_on_open_file(board: chess.Board, side: chess.Color) -> float:
    """Rooks on a file without pawns."""
    return sum(
        not int(board.pawns) & chess.BB_FILES[chess.square_file(square)] for square in board.pieces(chess.ROOK, side)
    )


@motif
def battery(board: chess.Board, side: chess.Color) -> float:
    """A queen guarded by a rook or a bishop in her line."""
    helpers = _own(board, side, chess.BISHOP, chess.ROOK)
    return sum(bool(board.attackers(side, square) & helpers) for square in board.pieces(chess.QUEEN, side))


@motif
def castled_king(board: chess.Board, side: chess.Color) -> float:
    """The king on the wing of his first rank, away from the middle files."""
    home = chess.BB_RANK_1 if side else chess.BB_RANK_8
    return float(bool(board.pieces(chess.KING, side) & home & _WINGS))


@motif
def open_file_at_king(board: chess.Board, side: chess.Color) -> float:
    """Files of the king and beside him without own pawns."""
    king, pawns = board.king(side), board.pieces(chess.PAWN, side)
    if king is None:
        return 0.0
    at = chess.square_file(king)
    return sum(not pawns & chess.BB_FILES[file] for file in range(max(0, at - 1), min(7, at + 1) + 1))


@motif
def attackers_near_king(board: chess.Board, side: chess.Color) -> float:
    """Pieces that attack a square around the enemy king."""
    king = board.king(not side)
    zone = chess.SquareSet(chess.BB_KING_ATTACKS[king]) if king is not None else chess.SquareSet()
    return sum(bool(board.attacks(square) & zone) for square in _own(board, side, *PIECES))


@motif
def fianchetto(board: chess.Board, side: chess.Color) -> float:
    """Bishops on the second square of a knight's file."""
    places = {chess.B2, chess.G2} if side else {chess.B7, chess.G7}
    return sum(square in places for square in board.pieces(chess.BISHOP, side))


@motif
def knight_on_the_rim(board: chess.Board, side: chess.Color) -> float:
    """Knights on the first and last files."""
    return len(board.pieces(chess.KNIGHT, side) & (chess.BB_FILE_A | chess.BB_FILE_H))


@motif
def opposite_bishops(board: chess.Board, side: chess.Color) -> float:
    """One bishop each, on squares of different colour; it belongs to no side and counts as White's."""
    white, black = (board.pieces(chess.BISHOP, colour) for colour in chess.COLORS)
    are_opposite = len(white) == len(black) == 1 and bool(white & chess.BB_LIGHT_SQUARES) != bool(
        black & chess.BB_LIGHT_SQUARES
    )
    return float(are_opposite and side == chess.WHITE)
