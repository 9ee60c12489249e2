"""Positions as FEN: what looks like one, and whether it needs the rules of Chess960."""

from __future__ import annotations

import chess

from merino.inner.core.board.game import START_NAME, Position

_FEN_SLASHES = 7


def looks_like_fen(text: str) -> bool:
    """Whether a text begins with the board of a FEN, and not with a path in as many folders."""
    board = (text.split(maxsplit=1) or [""])[0]
    return board.count("/") == _FEN_SLASHES and not board.startswith(("/", "~")) and "." not in board


def names_position(text: str) -> bool:
    """Whether a text begins with the board of a FEN, or is the name of the usual start."""
    return text == START_NAME or looks_like_fen(text)


def completed(board: str) -> str:
    """The FEN of a board that is given alone: White to move, castling as kings and rooks stand; raises ValueError."""
    placed = chess.Board(None)
    placed.set_board_fen(board)
    placed.castling_rights = chess.BB_CORNERS
    placed.castling_rights = placed.clean_castling_rights()
    return placed.fen()


def position_of(fen: str) -> Position:
    """The position of a FEN, as Chess960 if its castling rights require that; raises FenError."""
    return Position(fen)


def needs_chess960(fen: str) -> bool:
    """Whether a FEN has castling rights that only Chess960 allows."""
    return chess.Board(fen, chess960=True).has_chess960_castling_rights()
