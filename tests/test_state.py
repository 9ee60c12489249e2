"""The search record: nothing of an earlier game or root is left where it must not be."""

import numpy as np

from merino.core.board.game import Position
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.state import CONFIGURATION, SEARCH
from merino.engine.search.transposition import AGES, TranspositionTable
from merino.engine.search.worker import Worker
from merino.eval.families import default
from merino.formats.openings import Opening
from merino.match.config import Adjudication, TimeControl
from merino.match.engines import CompiledBoard
from merino.match.games import Game
from merino.match.players import OwnPlayer

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
ENDING = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"


def bytes_of(worker: Worker) -> bytes:
    """The record; its correction histories lie in it, known by where in it they begin, and its pawn table elsewhere."""
    record = worker.record.copy()
    record["accumulators"] = 0
    record["corrections"] -= np.uint64(worker.record.ctypes.data)
    return record.tobytes()


def workers(count: int) -> list[Worker]:
    """Workers with one table."""
    table, stop_flag, evaluation = TranspositionTable(1), np.zeros(1, dtype=np.uint64), default()
    return [Worker(table, stop_flag, evaluation) for _ in range(count)]


def search(worker: Worker, full_width: bool) -> None:
    worker.set_root(Position(KIWIPETE), full_width=full_width)
    worker.limit_nodes(20_000)
    worker.deepen_until_stopped(1)


def test_a_worker_that_has_searched_and_forgotten_equals_a_fresh_one() -> None:
    worker, fresh = workers(2)
    search(worker, full_width=True)
    assert bytes_of(worker) != bytes_of(fresh)
    worker.forget()
    assert bytes_of(worker) == bytes_of(fresh)


def test_every_field_of_the_record_is_configuration_or_forgotten() -> None:
    (worker,) = workers(1)
    worker.record.view(np.uint8)[:] = 255
    worker.forget()
    left = {name for name in SEARCH.names or () if worker.record[0][name].tobytes().strip(b"\0")}
    assert left == set(CONFIGURATION)


def test_of_an_earlier_root_no_ply_is_left() -> None:
    (worker,) = workers(1)
    search(worker, full_width=False)
    assert worker.record[0]["plies"].tobytes().strip(b"\0")
    worker.set_root(Position(ENDING), full_width=False)
    assert not worker.record[0]["plies"].tobytes().strip(b"\0")


def test_fail_highs_below_the_root_are_counted_again_in_each_search_of_it() -> None:
    (worker,) = workers(1)
    worker.set_root(Position(KIWIPETE), full_width=False)
    for depth in range(1, 7):
        list(worker.search_window(depth, None))
    worker.record[0]["plies"][1]["cutoffs"] = 10_000
    list(worker.search_window(1, None))
    assert worker.record[0]["plies"][1]["cutoffs"] < 100


def test_a_game_is_the_same_whatever_the_board_has_played_before() -> None:
    def board() -> CompiledBoard:
        players = (OwnPlayer("a"), OwnPlayer("b"))
        return CompiledBoard(players, TimeControl(nodes=600), Adjudication(), np.zeros(1, dtype=np.uint64))

    def game(played_on: CompiledBoard, number: int) -> Game | None:
        return played_on.play(number, Opening(KIWIPETE, ()), number % 2 == 0)

    used = board()
    for number in range(4):
        game(used, number)
    assert game(used, 4) == game(board(), 4)


def test_hashfull_counts_the_entries_of_every_search_of_a_long_game() -> None:
    searcher = Searcher(hash_mb=1)
    for number in range(2 * AGES + 2):
        line = searcher.search(Position(KIWIPETE if number % 2 else ENDING), Limits(nodes=3000)).line
        assert line is not None
        assert line.hashfull > 0, number
