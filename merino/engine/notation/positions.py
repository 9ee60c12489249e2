"""Positions as FEN: what looks like one, and the rest of one that is a board alone."""

from __future__ import annotations

import chess

from merino.core.board.game import START_NAME

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
