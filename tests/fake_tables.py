"""Endgame tables made up for tests."""

from collections.abc import Callable

import chess

from merino.engine.syzygy.table_files import ResultTables


class FakeTables:
    """Tables in which a side wins that has the only queen, the sooner the closer its king is to the other.

    The search gets none of them.
    """

    path = "tables"
    men = 3

    def __init__(self, fault: Callable[[], Exception] | None = None, distance: Callable[[int], int] = int) -> None:
        self.fault, self.distance = fault, distance
        self.results = ResultTables({})

    def probe_wdl(self, board: chess.Board) -> int:
        if self.fault:
            raise self.fault()
        if chess.popcount(board.occupied) > self.men:
            raise KeyError(board.epd())
        queens = [len(board.pieces(chess.QUEEN, colour)) for colour in (board.turn, not board.turn)]
        return 2 * (queens[0] - queens[1])

    def probe_dtz(self, board: chess.Board) -> int:
        steps = chess.square_manhattan_distance(board.king(chess.WHITE) or 0, board.king(chess.BLACK) or 0)
        return self.probe_wdl(board) // 2 * self.distance(steps)
