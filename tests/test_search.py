"""The search: mates exactly, draws as draws, limits kept, the same tree every time."""

import _thread
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn
from unittest.mock import Mock

import chess
import pytest

from merino.core.board.game import IllegalMoveError, Position
from merino.core.board.position import compute_key
from merino.core.compiled.jit import entry
from merino.engine.search import bench, parameters, search_run, tree
from merino.engine.search.limits import MAX_MS, Limits, Line, Score, SearchResult
from merino.engine.search.searcher import Searcher, think
from merino.engine.search.worker import RootLine, Worker
from merino.eval.families import default
from tests.boards import KIWIPETE
from tests.talk import FakeSearcher
from tests.workers import worker_at

# Mates found by construction or well known: (position, moves to mate).
MATES = [
    ("6k1/5ppp/8/8/3Q4/8/5PPP/6K1 w - - 0 1", 1),
    ("r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 3", 1),
    ("6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1", 1),
    ("k7/8/1K6/8/8/8/8/7R w - - 0 1", 1),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2),
    ("r1b1kb1r/pppp1ppp/5q2/4n3/3KP3/2N3PN/PPP4P/R1BQ1B1R b kq - 0 1", 3),
    ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3),
    ("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", 1),
    ("7k/8/4K3/6Q1/8/8/8/8 w - - 0 1", 2),
    ("8/8/8/8/8/2K5/6R1/k7 w - - 0 1", 2),
    ("3k4/8/3K4/8/8/8/8/R7 w - - 0 1", 1),
    ("k7/3Q4/8/1K6/8/8/8/8 w - - 0 1", 2),
    ("1k6/8/2K5/8/8/8/8/R7 w - - 0 1", 2),
    ("7k/4KR2/8/8/8/8/8/8 w - - 0 1", 3),
    ("r6k/6pp/8/6N1/2Q5/8/6PP/6K1 w - - 0 1", 4),
    ("2k5/8/1K6/8/8/8/8/6R1 w - - 0 1", 2),
    ("6bk/8/6K1/8/8/8/8/2B5 w - - 0 1", 1),  # with material that counts as drawn where there is no mate
    ("6bk/8/7K/4N3/8/8/8/8 w - - 0 1", 1),
]


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    """One searcher for all: making one costs a few megabytes."""
    return Searcher(hash_mb=16)


@pytest.fixture(autouse=True)
def _fresh(searcher: Searcher) -> None:
    searcher.wait()
    searcher.clear()
    searcher.multipv = 1
    searcher.move_overhead = 50


def line_of(searcher: Searcher, fen: str, limits: Limits) -> Line:
    """The last line of a search."""
    return searcher.search(fen, limits).line


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


def brute_force_mate(board: chess.Board, moves: int) -> bool:
    """Whether the side to move can force mate in at most `moves`, by trying everything."""
    positions = [after(board, move) for move in board.legal_moves]
    return (
        any(position.is_checkmate() for position in positions)
        or moves > 1
        and any(
            any(each.legal_moves)
            and all(brute_force_mate(after(each, answer), moves - 1) for answer in each.legal_moves)
            for each in positions
        )
    )


@pytest.mark.parametrize(("fen", "mate"), MATES)
def test_a_forced_mate_is_found_with_its_exact_length_and_line(searcher: Searcher, fen: str, mate: int) -> None:
    line = line_of(searcher, fen, Limits(nodes=400_000))
    assert line.score.mate == mate and len(line.pv) == 2 * mate - 1
    position = Position(fen)
    for move in line.pv:
        position.push_uci(move.uci())
    assert position.is_checkmate()
    if mate <= 2:
        assert brute_force_mate(chess.Board(fen), mate)
        assert mate == 1 or not brute_force_mate(chess.Board(fen), mate - 1)
    full_width = line_of(searcher, fen, Limits(mate=mate))
    assert full_width.score.mate == mate and full_width.depth <= max(1, 2 * mate - 1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
def test_what_a_report_raises_ends_the_search_and_comes_out(kind: type[BaseException], threads: int) -> None:
    searcher = Searcher(hash_mb=1, threads=threads)

    def fail(line: Line) -> NoReturn:
        raise kind(f"depth {line.depth}")

    with pytest.raises(kind, match=r"^depth 1$"):
        searcher.search("startpos", Limits(depth=60), fail)
    assert not searcher.searching and searcher.search("startpos", Limits(depth=1)).best is not None


@pytest.mark.parametrize("change", [("set_hash", 2), ("set_threads", 2), ("set_evaluation", default()), ("clear",)])
def test_what_changes_the_search_waits_for_one_that_runs(change: tuple[str, ...]) -> None:
    searcher, results = Searcher(hash_mb=1), list[SearchResult]()
    searcher.start("startpos", Limits(infinite=True), lambda _: None, results.append)
    changing = threading.Thread(target=getattr(searcher, change[0]), args=change[1:], daemon=True)
    changing.start()
    changing.join(0.1)
    assert changing.is_alive() and searcher.searching
    searcher.stop()
    changing.join(60)
    assert not changing.is_alive() and len(results) == 1


def test_searches_of_several_threads_follow_each_other_and_none_ends_the_next() -> None:
    searcher = Searcher(hash_mb=1)

    def nodes(number: int) -> int:
        if number % 3 == 0:
            searcher.set_hash(1 + number % 2)
        return line_of(searcher, "startpos", Limits(nodes=5000)).nodes

    with ThreadPoolExecutor(4) as threads:
        assert min(threads.map(nodes, range(12))) > 4000


@pytest.mark.parametrize(
    "call", [lambda searcher: searcher.search("startpos", Limits(depth=1)), lambda searcher: searcher.clear()]
)
def test_a_report_cannot_wait_for_its_own_search(call: Callable[[Searcher], object]) -> None:
    searcher = Searcher(hash_mb=1)
    with pytest.raises(RuntimeError, match="cannot wait for the end of that search"):
        searcher.search("startpos", Limits(depth=3), lambda _: call(searcher))
    assert searcher.search("startpos", Limits(depth=1)).best is not None


def test_an_interrupted_search_is_not_left_running(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher, waits = Searcher(hash_mb=1), []

    def interrupted() -> None:
        waits.append(1)
        if len(waits) == 2:  # the first is that before a search begins
            raise KeyboardInterrupt
        Searcher.wait(searcher)

    monkeypatch.setattr(searcher, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        searcher.search("startpos", Limits(depth=60))
    assert not searcher.searching


def test_the_stronger_side_avoids_a_repetition(searcher: Searcher) -> None:
    position = Position("6k1/5ppp/8/8/8/8/5PPP/Q5K1 w - - 0 1")
    position.push_all(["a1b1", "g8h8", "b1a1", "h8g8", "a1b1", "g8h8", "b1a1", "h8g8"])
    result = searcher.search(position, Limits(depth=6))
    assert result.line.score > 500
    position.push(result.best)
    assert not position.is_repetition()


DRAWS_AND_A_MATE = [
    ("6k1/6p1/8/7Q/8/8/rq4PP/7K w - - 0 1", Limits(depth=9), "cp 0"),  # far behind, with checks on e8 and h5
    ("8/8/8/8/3k4/8/1R6/4K3 w - - 99 80", Limits(depth=5), "cp 0"),
    ("k7/8/1K6/8/8/8/8/7R w - - 99 80", Limits(depth=3), "mate 1"),
]


@pytest.mark.parametrize(("fen", "limits", "score"), DRAWS_AND_A_MATE)
def test_fifty_moves_and_perpetual_check_draw_and_a_mate_on_the_hundredth_ply_counts(
    searcher: Searcher, fen: str, limits: Limits, score: str
) -> None:
    assert line_of(searcher, fen, limits).score.uci() == score


def test_a_move_that_leaves_a_bare_king_without_one_is_no_mate(searcher: Searcher) -> None:
    """Qb6 is a stalemate, and there is no mate with this move."""
    result = searcher.search(position := Position("k7/8/8/1Q6/8/8/8/7K w - - 0 1"), Limits(depth=2))
    assert result.line.score.mate is None and position.uci(result.best) != "b5b6"


LONE_PIECES = [
    "8/8/3b4/8/6N1/8/8/5K1k b - - 0 1",
    "8/8/8/8/8/7K/4N2b/7k b - - 0 1",
    "8/8/8/2b5/8/7K/4N3/7k b - - 0 1",
    "5K1k/8/8/6N1/8/3b4/8/8 b - - 0 1",
]


@pytest.mark.parametrize("fen", LONE_PIECES)
def test_a_lone_piece_walks_into_no_mate_in_one_by_another(searcher: Searcher, fen: str) -> None:
    position = Position(fen)
    position.push(searcher.search(position, Limits(depth=6)).best)
    board = chess.Board(position.fen())
    assert not [move for move in board.legal_moves if after(board, move).is_checkmate()]


def test_the_first_line_is_the_best(searcher: Searcher) -> None:
    searcher.multipv = 3
    lines: list[Line] = []
    result = searcher.search(Position("7k/8/8/8/8/8/r5R1/7K w - - 0 1"), Limits(depth=2), lines.append)
    scores = [line.score for line in lines if line.depth == 2]
    assert scores[0] > scores[-1] and scores == sorted(scores, reverse=True)
    assert result.best == lines[-len(scores)].pv[0]


def test_lines_that_end_in_the_first_iteration_give_the_move_of_the_first(searcher: Searcher) -> None:
    alone = searcher.search(KIWIPETE, Limits(depth=1))
    searcher.clear()
    searcher.multipv = 48
    result = searcher.search(KIWIPETE, Limits(nodes=1))  # too few for all lines
    assert result.line[:4] == alone.line[:4] and result.line.pv == alone.line.pv
    assert result.line.nodes > alone.line.nodes


def test_each_line_shows_the_deepest_ply_of_its_own_search(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: dict[tuple[int, int], int] = {}
    search_window = Worker.search_window

    def noted(worker: Worker, depth: int, guess: int | None) -> Iterator[RootLine]:
        for line in search_window(worker, depth, guess):
            if line.bound == "":
                reached[depth, line.pv[0]] = int(worker.record[0]["seldepth"])
            yield line

    monkeypatch.setattr(Worker, "search_window", noted)
    searcher.multipv = 20
    lines: list[Line] = []
    searcher.search(KIWIPETE, Limits(depth=6), lines.append)
    assert len(lines) >= 6 * 20
    for line in lines:
        assert line.seldepth == max(line.depth, reached[line.depth, line.pv[0]]) >= len(line.pv)


@pytest.mark.parametrize(("is_confirmed", "best"), [(False, "e2e4"), (True, "a2a3")])
@pytest.mark.parametrize("shown_after_ms", [0, 600_000])
def test_a_fail_high_gives_the_move_once_it_is_confirmed_whatever_is_shown(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch, shown_after_ms: int, is_confirmed: bool, best: str
) -> None:
    """As in the compiled loop `deepen`: a game at fixed nodes depends on no clock."""
    position = Position()
    first, second = ((position.parse_uci(text),) for text in ("e2e4", "a2a3"))

    def search_window(worker: Worker, depth: int, guess: int | None) -> Iterator[RootLine]:
        if depth == 1:
            yield RootLine(Score(20), "", first, 1)
            return
        yield RootLine(Score(50), "lowerbound", second, 2)
        worker.record[0]["stopped"] = 1  # in the second search
        if is_confirmed:
            yield RootLine(Score(60), "lowerbound", second, 2)

    monkeypatch.setattr(Worker, "search_window", search_window)
    monkeypatch.setattr("merino.engine.search.search_run.BOUNDS_AFTER_MS", shown_after_ms)
    lines: list[Line] = []
    result = searcher.search(position, Limits(nodes=10_000), lines.append)
    assert position.uci(result.best or 0) == best
    assert any(line.bound and line.score == 50 for line in lines) == (shown_after_ms == 0)


def test_a_line_that_failed_high_has_no_answer_to_its_move() -> None:
    worker, seen = worker_at(Position(), default(), table_mb=16), 0
    for fen in bench.POSITIONS[:8]:
        worker.set_root(Position(fen), full_width=False)
        guess = None
        for depth in range(1, 13):
            for line in worker.search_window(depth, guess):
                guess = int(line.score)
                if line.bound == "lowerbound":
                    seen += 1
                    assert len(line.pv) == 1, "an answer that a singular search has left"
    assert seen > 5


@pytest.mark.parametrize("times", [2, 20])
def test_a_search_move_that_is_given_often_is_one_move(searcher: Searcher, times: int) -> None:
    position, lines, searcher.multipv = Position(), list[Line](), 2
    move = position.parse_uci("a2a3")
    assert len(position.legal_moves) == 20
    assert searcher.search(position, Limits(depth=3, search_moves=[move] * times), lines.append).best == move
    assert {line.pv[0] for line in lines} == {move}


def test_a_search_that_has_had_its_time_moves_at_once_after_the_hit(searcher: Searcher) -> None:
    begun, done = threading.Event(), threading.Event()
    limits = Limits(time=(MAX_MS, MAX_MS), ponder=True)
    searcher.start(Position(), limits, lambda line: begun.set(), lambda result: done.set())
    assert begun.wait(20)
    searcher._run.clock._began -= MAX_MS / 1000  # as if all this had been pondered
    searcher.ponder_hit()
    assert done.wait(20), "a move may take half a day"


def test_the_clock_does_not_run_while_pondering(searcher: Searcher) -> None:
    begun = threading.Event()
    searcher.start(Position(), Limits(time=(100, 100), ponder=True), lambda line: begun.set(), lambda result: None)
    assert begun.wait(20)
    threading.Event().wait(0.5)  # five times the clock
    assert not searcher._workers[0].stopped
    searcher.stop()


def test_a_searcher_is_freed_with_its_last_user_without_a_collection() -> None:
    searcher = Searcher(hash_mb=1)
    searcher.search(Position(), Limits(depth=2, time=(60_000, 60_000)))
    table = weakref.ref(searcher._table)
    was_on = gc.isenabled()
    gc.disable()
    try:
        del searcher
        deadline = time.monotonic() + 10
        while table() is not None and time.monotonic() < deadline:
            time.sleep(0.01)  # its thread ends
        assert table() is None
    finally:
        (gc.enable if was_on else gc.disable)()


def test_moves_to_search_that_are_not_legal_are_refused(searcher: Searcher) -> None:
    position = Position()
    e4, e5 = position.parse_uci("e2e4"), Position("4k3/8/8/4p3/8/8/8/4K3 b - -").parse_uci("e5e4")
    with pytest.raises(IllegalMoveError, match=r"search_moves: e5e4 is not legal in rnbq.* w KQkq") as refused:
        searcher.search(position, Limits(depth=2, search_moves=[e4, e5]))
    assert refused.value.index == 1
    with pytest.raises(IllegalMoveError, match="is not legal"):
        searcher.search("7k/5Q2/6K1/8/8/8/8/8 b - -", Limits(depth=2, search_moves=[e4]))  # stalemate
    assert searcher.search(position, Limits(depth=2, search_moves=[e4])).best == e4


def test_the_search_keeps_to_the_advised_ones_of_the_moves_allowed(searcher: Searcher) -> None:
    position = Position()
    e4, d4, a3 = (int(position.parse_uci(text)) for text in ("e2e4", "d2d4", "a2a3"))

    def best(allowed: tuple[int, ...], advised: tuple[int, ...]) -> int | None:
        found: list[SearchResult] = []
        limits = Limits(depth=2, search_moves=allowed)
        searcher.start(position, limits, lambda line: None, found.append, advised=advised)
        searcher.wait()
        return found[0].best

    assert best((), (a3,)) == a3 and best((e4, a3), (a3,)) == a3 and best((e4,), (a3, d4)) == e4


def test_the_budget_gets_of_each_iteration_what_its_line_says(searcher: Searcher, monkeypatch) -> None:
    judged: list[tuple[int, int, float]] = []
    monkeypatch.setattr("merino.engine.search.iterative_deepening.MIN_NODES", 0)
    monkeypatch.setattr(search_run.Budget, "should_stop", lambda _, elapsed, *what: judged.append(what))
    lines: list[Line] = []
    fen = "8/8/8/3k4/8/p7/3K4/8 w - - 0 1"  # White slowly sees what the pawn is worth
    searcher.search(Position(fen), Limits(depth=9, time=(600_000, None)), lines.append)
    found = [line for line in lines if not line.bound][: len(judged)]
    assert len(found) == len(judged) == 9
    stable, drops = 0, []
    for before, line, (stable_seen, drop, share) in zip([None, *found], found, judged, strict=False):
        stable = stable + 1 if before and before.pv[0] == line.pv[0] else 0
        drops.append(before.score - line.score if before else 0)
        assert (stable_seen, drop) == (stable, drops[-1]) and 0 < share <= 1
    assert min(drops) < 0 < max(drops)


def test_scores_near_the_fifty_move_rule_say_nothing_of_the_position_far_from_it() -> None:
    searcher = Searcher(hash_mb=16)
    scores = {}
    for halfmove in (92, 80, 0):  # White mates in eight moves
        scores[halfmove] = int(line_of(searcher, f"8/8/8/4k3/8/8/8/K2Q4 w - - {halfmove} 100", Limits(depth=12)).score)
    assert scores[92] == 0 and min(scores[80], scores[0]) > 900


def test_threads_share_the_work(searcher: Searcher) -> None:
    pair = Searcher(hash_mb=16, threads=2)
    line_of(pair, "startpos", Limits(depth=9))
    assert all(worker.nodes > 100 for worker in pair._workers)


ROUND_VALUES = (100, 400, 400, 600, 1200)


EXCHANGES = [
    ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "e4d5", 100),
    ("3rk3/8/8/3p4/4P3/8/8/3QK3 w - - 0 1", "e4d5", 100),  # the queen guards what took
    ("3rk3/8/4p3/3p4/8/8/8/3QK3 w - - 0 1", "d1d5", 100 - 1200),
    ("3rk3/8/8/8/8/8/8/3QK3 w - - 0 1", "d1d3", -1200),  # a quiet move into the rook's line
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 100),
    ("4k3/1P6/8/8/8/8/8/4K3 w - - 0 1", "b7b8q", 1200 - 100),
    ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1", 0),
]


@pytest.mark.parametrize(("fen", "move", "gain"), EXCHANGES)
def test_an_exchange_gains_what_counting_it_out_by_hand_gives(fen: str, move: str, gain: int) -> None:
    values = parameters.parameter_values(dict(zip(parameters.EXCHANGE_VALUES, ROUND_VALUES, strict=True)))
    searcher = Searcher(hash_mb=1, parameters=values)
    position = Position(fen)
    assert searcher.exchange_gain(position, position.parse_uci(move)) == gain


@entry
def _draw_after_a_pass(records):
    s, passed = records[0], records[0].positions[1]
    tree.make_null_move(s, 0)
    is_known = s.keys[s.past + 1] == passed.key == compute_key(passed) != s.positions[0].key
    return tree.is_draw(s, 1), passed.halfmove, is_known


@pytest.mark.parametrize("rest", ["w - - 0", "w - - 40", "w - - 98", "b - - 99", "w Q - 3", "b - d3 0"])
def test_a_null_move_is_no_step_toward_the_fifty_move_rule_and_keeps_the_key(rest: str) -> None:
    worker = worker_at(Position(f"4k3/pp3p2/8/8/2pP4/8/PPP2PPP/R3K3 {rest} 80"), default())
    assert _draw_after_a_pass(worker.record) == (False, 0, True)


# A search watched without a terminal: what the display is shown, and how the search is cut short.


def watched(searcher: FakeSearcher, display: Mock, is_hurried=lambda: False) -> tuple[SearchResult, bool]:
    return think(searcher, Position(), Limits(), display, is_hurried)


def test_the_display_is_shown_each_line_and_the_end() -> None:
    searcher, display = FakeSearcher(), Mock()
    searcher.second_line = True
    result, was_cut_short = watched(searcher, display)
    lines = [call.args[0] for call in display.show.call_args_list]
    assert [line.multipv for line in lines] == [1, 2] and display.finish.call_count == 1
    assert not was_cut_short and result.best == lines[0].pv[0]


@pytest.mark.parametrize("by_ctrl_c", [False, True])
def test_somebody_in_a_hurry_and_ctrl_c_end_the_search_and_raise_nothing(by_ctrl_c: bool) -> None:
    searcher, display = FakeSearcher(), Mock()
    searcher.endless = True
    if by_ctrl_c:
        searcher.on_start = _thread.interrupt_main
    result, was_cut_short = watched(searcher, display, lambda: not by_ctrl_c and display.show.called)
    assert was_cut_short and isinstance(result, SearchResult) and display.finish.call_count == 1


def test_after_the_search_ctrl_c_interrupts_again() -> None:
    watched(FakeSearcher(), Mock())
    with pytest.raises(KeyboardInterrupt):
        _thread.interrupt_main()
        threading.Event().wait(5)


def test_a_search_can_be_watched_from_another_thread() -> None:
    heard: list[bool] = []
    watcher = threading.Thread(target=lambda: heard.append(watched(FakeSearcher(), Mock())[1]))
    watcher.start()
    watcher.join(20)
    assert heard == [False]
