"""Syzygy endgame tables, read by python-chess: which moves keep the result at the root, and results for the search."""

from __future__ import annotations

import os
from typing import NamedTuple, Protocol

import chess
import chess.syzygy
import numpy as np

from merino.inner.core.board.bitboard import WHITE
from merino.inner.core.board.game import FIFTY_MOVES, Position
from merino.inner.core.board.move import Move
from merino.inner.core.common.user_files import check_folder, user_path
from merino.inner.engine.notation.san import as_chess_move, board_of
from merino.inner.engine.search.tablebase_probe import UNKNOWN, TablebaseProbe

WIN, CURSED_WIN, DRAW, BLESSED_LOSS, LOSS = 2, 1, 0, -1, -2  # for the side to move; cursed: drawn by fifty moves


class TablebaseError(ValueError):
    """Tables that cannot be used; the message says why."""


class Tables(Protocol):
    """The part of `chess.syzygy.Tablebase` used here, and the folders. Both methods raise KeyError without a table."""

    path: str

    @property
    def men(self) -> int:
        """The largest number of pieces of a position in them, kings included."""

    def probe_wdl(self, board: chess.Board) -> int:
        """The result for the side to move: WIN to LOSS."""

    def probe_dtz(self, board: chess.Board) -> int:
        """Plies to the next capture or pawn move, negative for a side that loses."""


class Advice(NamedTuple):
    """The moves that keep the result, and how many positions were looked up."""

    moves: list[Move]
    hits: int


class _FolderTables(chess.syzygy.Tablebase):
    """Those of some folders, as the user has written them."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    @property
    def men(self) -> int:
        """See Tables."""
        return max((len(name) - 1 for name in self.wdl), default=0)  # such as KQvK


def open_tables(path: str) -> Tables:
    """The tables in the folders of `path`, separated by the system's separator; raises TablebaseError."""
    tables = _FolderTables(path)
    for folder in filter(None, path.split(os.pathsep)):
        try:
            found = tables.add_directory(str(check_folder(user_path(folder))))
        except OSError as error:
            raise TablebaseError(f"cannot read '{folder}': {error.strerror}") from error
        if not found:
            raise TablebaseError(f"no tables in '{folder}'")
    return tables


def advise(tables: Tables, position: Position) -> Advice | None:
    """The moves that keep the result; None if a table that is needed is missing. Raises TablebaseError.

    Of winning moves these are the ones nearest to the next capture or pawn move, so that each makes progress.
    """
    board = board_of(position)
    if chess.popcount(board.occupied) > chess.syzygy.TBPIECES or board.castling_rights:
        return None
    try:
        ranked = {move: _rank(tables, board, as_chess_move(move, board.chess960)) for move in position.legal_moves}
    except KeyError:
        return None
    except (OSError, IndexError, ValueError) as error:
        raise TablebaseError(f"a broken table: {error}") from error
    best = max(ranked.values(), default=None)
    return Advice([move for move, rank in ranked.items() if rank == best], len(ranked))


def probe_of(tables: Tables, depth: int) -> TablebaseProbe:
    """The tables for the search, which asks them at nodes of this depth and more.

    A broken table is its `fault`, a TablebaseError.
    """

    def result_of(position: np.ndarray) -> int:
        try:
            result = tables.probe_wdl(_board_at(position[0]))
        except KeyError:
            return UNKNOWN
        except (OSError, IndexError, ValueError) as error:
            raise TablebaseError(f"a broken table: {error}") from error
        return (result > CURSED_WIN) - (result < BLESSED_LOSS)

    return TablebaseProbe(tables.men, result_of, depth)


def _board_at(position: np.void) -> chess.Board:
    """A position without rights to castle for python-chess, without its counters."""
    board = chess.Board(None)
    board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings = position["pieces"].tolist()
    board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK] = white, black = position["colours"].tolist()
    board.occupied = white | black
    board.turn = bool(position["side"] == WHITE)
    board.ep_square = int(position["en_passant"]) if position["en_passant"] >= 0 else None
    return board


def _rank(tables: Tables, board: chess.Board, move: chess.Move) -> tuple[int, int]:
    """The value of a move: its result for the mover; among wins, the shorter one."""
    board.push(move)
    try:
        if board.is_checkmate():
            return WIN, 1
        result, distance = -tables.probe_wdl(board), abs(tables.probe_dtz(board))
        if abs(result) == WIN and distance + board.halfmove_clock >= FIFTY_MOVES:
            result //= 2  # too late for the fifty-move rule
        # A capture or pawn move is itself what the distance counts to.
        return result, -distance if result > DRAW and board.halfmove_clock else 0
    finally:
        board.pop()
