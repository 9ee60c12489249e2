"""Syzygy endgame tables: which moves keep the result at the root, by python-chess, and results for the search."""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import chess
import chess.syzygy

from merino.core.board.fen import COLOUR_NAMES
from merino.core.board.game import FIFTY_MOVES, Position
from merino.core.board.move import Move
from merino.core.common.files import check_folder, user_path
from merino.engine.notation import san
from merino.engine.syzygy import probing, table_files


class TablebaseError(ValueError):
    """Tables that cannot be used; the message says why."""


class Advice(NamedTuple):
    """The moves that keep the result, and how many positions were looked up."""

    moves: list[Move]
    hits: int


class Tables(chess.syzygy.Tablebase):
    """The tables of some folders; `path` names them as the user has written them, `faults` says what is wrong there."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.faults: list[str] = []

    def probe_wdl_table(self, board: chess.Board) -> int:
        """What python-chess finds; raises TablebaseError for a broken table, which is not asked again."""
        with self._named(self.wdl, board):
            return super().probe_wdl_table(board)

    def probe_dtz_table(self, board: chess.Board, wdl: int) -> tuple[int, int]:
        """The same for distances."""
        with self._named(self.dtz, board):
            return super().probe_dtz_table(board, wdl)

    @contextmanager
    def _named(self, tables: MutableMapping[str, chess.syzygy.Table], board: chess.Board) -> Iterator[None]:
        try:
            yield
        except (OSError, IndexError, ValueError) as error:
            table = tables[chess.syzygy.calc_key(board)]
            for key in {table.key, table.mirrored_key}:
                del tables[key]
            raise TablebaseError(f"a broken table: '{table.path}': {error}") from error

    @cached_property
    def results(self) -> table_files.ResultTables:
        """Those of results, for the search."""
        return table_files.ResultTables({Path(table.path).stem: Path(table.path) for table in self.wdl.values()})


def open_tables(path: str) -> Tables:
    """The tables in the folders of `path`, separated by the system's separator.

    Folders without tables are among its `faults`. Raises TablebaseError where no folder has any.
    """
    tables = Tables(path)
    for folder in filter(None, path.split(os.pathsep)):
        try:
            if not tables.add_directory(str(check_folder(user_path(folder)))):
                tables.faults.append(f"no tables in '{folder}'")
        except OSError as error:
            tables.faults.append(f"cannot read '{folder}': {error.strerror}")
    if not tables.wdl and not tables.dtz:
        raise TablebaseError("; ".join(tables.faults) or f"no folder in '{path}'")
    return tables


def in_words(tables: Tables, position: Position) -> str | None:
    """What the tables say of a position, and the moves that keep it; None where they say nothing."""
    try:
        advice, result = advise(tables, position), tables.probe_wdl(position.to_chess(stack=False))
    except (KeyError, TablebaseError):
        return None
    if advice is None:
        return None
    winner = COLOUR_NAMES[position.side ^ (result < 0)]
    won = f"{winner} wins" + ("" if abs(result) == probing.WIN else ", but for the rule of fifty moves")
    moves = ", ".join(sorted(san.san(position, move) for move in advice.moves))
    return f"Endgame tables: {won if result else 'a draw'}; best: {moves}"


def advise(tables: Tables, position: Position) -> Advice | None:
    """The moves that keep the result; None if a table that is needed is missing. Raises TablebaseError.

    Of winning moves these are the ones nearest to the next capture or pawn move, so that each makes progress.
    """
    board = position.to_chess(stack=False)
    if chess.popcount(board.occupied) > chess.syzygy.TBPIECES or board.castling_rights:
        return None
    try:
        ranked = {move: _rank(tables, board, move.to_chess(board.chess960)) for move in position.legal_moves}
    except KeyError:
        return None
    best = max(ranked.values(), default=None)
    return Advice([move for move, rank in ranked.items() if rank == best], len(ranked))


def _rank(tables: Tables, board: chess.Board, move: chess.Move) -> tuple[int, int]:
    """The value of a move: its result for the mover; among wins, the shorter one."""
    board.push(move)
    try:
        if board.is_checkmate():
            return probing.WIN, 1
        result, distance = -tables.probe_wdl(board), abs(tables.probe_dtz(board))
        if abs(result) == probing.WIN and distance + board.halfmove_clock >= FIFTY_MOVES:
            result //= 2  # too late for the fifty-move rule
        # A capture or pawn move is itself what the distance counts to.
        return result, -distance if result > probing.DRAW and board.halfmove_clock else 0
    finally:
        board.pop()
