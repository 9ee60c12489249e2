"""`Searcher`: the search for Python code, with threads, clock and reports.

searcher = Searcher(hash_mb=64)
result = searcher.search(Position(), Limits(movetime=1000), on_line=print)
result.best.uci()
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random

import numpy as np

from merino.inner.core.board.game import Position, as_position
from merino.inner.core.board.move import Move
from merino.inner.core.common.alarms import Alarm, call_after
from merino.inner.core.common.checks import instance, whole_number
from merino.inner.core.common.one_thread import OneThread
from merino.inner.engine.search.arguments import check_evaluation, check_parameters, table_of
from merino.inner.engine.search.iterative_deepening import MIN_NODES
from merino.inner.engine.search.limits import MATE_SCORE, MAX_PLY, MAX_THREADS, Limits, Line, Score, SearchResult
from merino.inner.engine.search.parameters import by_name, parameters_for
from merino.inner.engine.search.see import exchange_gain
from merino.inner.engine.search.strength import CANDIDATES, Strength
from merino.inner.engine.search.time_management import Budget, budget
from merino.inner.engine.search.worker import RootLine, Worker
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.families import default

BOUNDS_AFTER_MS = 3000  # earlier, reports of bounds and of the current move would only flicker
CURRENT_MOVE_INTERVAL = 0.25  # seconds

LineReport = Callable[[Line], None]
DoneReport = Callable[[SearchResult], None]
MoveReport = Callable[[int, int, int], None]


class Searcher:
    """Searches one position at a time. `start`, `stop` and `ponder_hit` may be called from any thread.

    Read at each start: `multipv` (lines to report), `move_overhead` (ms per move reserved for what happens outside the
    search), `lag` (ms that it has cost lately) and `strength`, None for full strength. It weakens only play, not
    analysis: not `infinite` searches, searches for a mate, or any search while `is_analysing`. `random` draws the moves
    of weakened play.
    """

    def __init__(
        self,
        hash_mb: int = 16,
        threads: int = 1,
        evaluation: Evaluation | None = None,
        parameters: tuple[int, ...] | None = None,
    ) -> None:
        """Parameters are in the order of their registry; None for those of the evaluation in use.

        The evaluation that comes with Merino for None. Raises EvaluationError, MemoryError, and TypeError or ValueError
        for arguments that cannot be used.
        """
        check_evaluation(evaluation, is_optional=True)
        check_parameters(parameters)
        self.multipv = 1
        self.move_overhead = 50
        self.lag = 0.0
        self.strength: Strength | None = None
        self.is_analysing = False
        self.random = Random()
        self._evaluation = default() if evaluation is None else evaluation
        self._given = parameters
        self._parameters = parameters or parameters_for(self._evaluation)
        self._table = table_of(hash_mb)
        self._stop_flag = np.zeros(1, dtype=np.uint64)
        self._workers: list[Worker] = []
        self._released = threading.Event()
        self._pondering = False
        self._thread = OneThread("search")
        self.set_threads(threads)

    def set_hash(self, megabytes: int) -> None:
        """Use a new, empty table of this size; if memory is short, keeps the old one and raises MemoryError."""
        self._table = table_of(megabytes)
        for worker in self._workers:
            worker.set_table(self._table)

    def set_threads(self, count: int) -> None:
        """Search with this many threads; raises TypeError and ValueError."""
        whole_number("threads", count, 1, MAX_THREADS)
        while len(self._workers) < count:
            self._workers.append(Worker(self._table, self._stop_flag, self._evaluation, self._parameters))
        del self._workers[count:]

    def set_evaluation(self, evaluation: Evaluation) -> None:
        """Use this evaluation from now on, and its parameters unless others were given at first.

        Clears the results of earlier searches. Raises EvaluationError and keeps the old one.
        """
        check_evaluation(evaluation)
        self._parameters = self._given or parameters_for(evaluation)
        self._evaluation = evaluation
        for worker in self._workers:
            worker.set_evaluation(evaluation, self._parameters)
        self.clear()

    def clear(self) -> None:
        """Forget every earlier search."""
        self._table.clear()
        for worker in self._workers:
            worker.forget()

    @property
    def searching(self) -> bool:
        """Whether a search is running."""
        return self._thread.is_busy

    def search(self, position: Position | str, limits: Limits, on_line: LineReport | None = None) -> SearchResult:
        """Search a position, FEN or "startpos", and return the result.

        It blocks, so not for `infinite` unless another thread stops it. Raises FenError, and TypeError for other things
        than a position and limits.
        """
        results: list[SearchResult] = []
        self.start(position, limits, on_line or _ignore_line, results.append)
        self.wait()
        return results[0]

    def start(
        self,
        position: Position | str,
        limits: Limits,
        on_line: LineReport,
        on_done: DoneReport,
        on_current_move: MoveReport | None = None,
    ) -> None:
        """Start a search; returns at once. The reports come from the search thread, `on_done` once and last.

        `on_current_move` gets depth, move and its number from 1, a few times a second once 3 s have passed.
        """
        position = as_position(position)
        instance("limits", limits, Limits, "Limits, such as Limits(depth=8)")
        self.wait()
        self._stop_flag[0] = 0
        self._released.clear()
        self._pondering = limits.ponder
        run = _SearchRun(self, position.copy(), limits, on_line, on_current_move)
        self._run = run
        self._thread.run(lambda: on_done(run.go()))

    def stop(self) -> None:
        """End the search soon; harmless while idle."""
        self._stop_flag[0] = 1
        self._released.set()

    @property
    def planned(self) -> float:
        """The milliseconds of the last search up to now, as far as it was allowed them."""
        run = self._run
        elapsed = 1000 * (time.perf_counter() - run.clock_began)
        return elapsed if run.budget is None else min(elapsed, run.budget.hard)

    def exchange_gain(self, position: Position, move: int) -> int:
        """The gain of a legal move by static exchange evaluation in centipawns, as in the search; pins are ignored."""
        return int(exchange_gain(self._workers[0].record, position.record, move))

    def ponder_hit(self) -> None:
        """The move pondered on was played: continue on the clock."""
        if self._pondering:
            self._pondering = False
            if self.searching:
                self._run.start_clock()
            if not self._run.limits.infinite:
                self._released.set()

    def wait(self) -> None:
        """Wait until no search is running."""
        self._thread.wait()


class _SearchRun:
    """One search from start to result."""

    def __init__(
        self,
        searcher: Searcher,
        position: Position,
        limits: Limits,
        on_line: LineReport,
        on_current_move: MoveReport | None,
    ) -> None:
        self.searcher, self.position, self.limits = searcher, position, limits
        self.on_line, self.on_current_move = on_line, on_current_move
        is_play = not (searcher.is_analysing or limits.infinite or limits.mate is not None)
        self.strength = searcher.strength if is_play else None
        self.workers = searcher._workers if self.strength is None else searcher._workers[:1]
        self.main = self.workers[0]
        self.began = self.clock_began = time.perf_counter()
        self.multipv = max(1, searcher.multipv)
        self.budget: Budget | None = None
        self.alarms: list[Alarm] = []
        self.watcher: threading.Thread | None = None  # of the current move, in a search that is not short
        self.finished = threading.Event()
        self.depth = 0
        self.last: Line | None = None
        self.lock = threading.Lock()
        if not limits.ponder:
            self.start_clock()

    def go(self) -> SearchResult:
        """Search, report, wait for release if the limits require it, and return the result."""
        legal = self.position.legal_moves
        self._prepare()
        threads: list[threading.Thread] = []
        if legal:
            threads = self._start_lazy_smp()
            if self.on_current_move is not None:
                self.alarms.append(call_after(BOUNDS_AFTER_MS / 1000, self._start_watcher))
            self._weaken(self._deepen(legal))
        else:
            self._report_game_over()
        self._finish(threads)
        self._wait_for_release()
        pv = self.last.pv if self.last else ()
        return SearchResult(pv[0] if pv else None, pv[1] if len(pv) > 1 else None, self.last)

    def start_clock(self) -> None:
        """Start the time limits now."""
        with self.lock:
            self.clock_began = time.perf_counter()
            parameters = by_name(self.searcher._parameters)
            searcher = self.searcher
            self.budget = budget(self.limits, self.position.turn, searcher.move_overhead, parameters, searcher.lag)
            if self.budget is not None and not self.limits.infinite and not self.finished.is_set():
                self.alarms.append(call_after(self.budget.hard / 1000, self._time_is_up))

    def _time_is_up(self) -> None:
        if not self.finished.is_set():
            self.searcher._stop_flag[0] = 1

    def _prepare(self) -> None:
        self.searcher._table.begin_search()
        for worker in self.workers:
            worker.set_root(self.position, full_width=self.limits.mate is not None)
            worker.allow(None)

    def _start_lazy_smp(self) -> list[threading.Thread]:
        """Lazy SMP: helper threads search the same root independently and share the transposition table."""
        threads = []
        for number, worker in enumerate(self.workers[1:], start=1):
            worker.allow(list(self.limits.search_moves) or None)
            depth = 1 + number % 2  # half of them a ply ahead, so that threads see different trees
            threads.append(threading.Thread(target=worker.deepen_until_stopped, args=(depth,), daemon=True))
            threads[-1].start()
        return threads

    def _start_watcher(self) -> None:
        with self.lock:
            if not self.finished.is_set():
                self.watcher = threading.Thread(target=self._watch_current_move, daemon=True)
                self.watcher.start()

    def _watch_current_move(self) -> None:
        shown = (0, 0)
        while not self.finished.wait(CURRENT_MOVE_INTERVAL):
            now = self.main.current_move
            if now != shown and now[1] > 0 and self.on_current_move:
                shown = now
                self.on_current_move(self.depth, *now)

    def _deepen(self, legal: list[Move]) -> list[RootLine]:
        """Iterative deepening on the main thread; the lines of the last iteration that was finished."""
        allowed = [Move(move) for move in self.limits.search_moves if move in legal] or legal
        lines = min(max(self.multipv, CANDIDATES if self.strength else 1), len(allowed))
        self.last = Line(1, 0, 1, Score(0), "", 0, 0, 0, 0, (allowed[0],))  # for a search that is stopped at once
        previous: list[RootLine] = []
        stable, best = 0, 0
        if self.limits.nodes is not None:
            self.main.limit_nodes(max(MIN_NODES, self.limits.nodes))
        for depth in range(1, self._last_depth() + 1):
            self.depth = depth
            if depth == 2:
                self._limit_nodes()
            found = self._search_lines(allowed, lines, previous, restricted=len(allowed) < len(legal))
            if self.main.stopped:
                self.depth -= 1
                break
            stable = stable + 1 if found[0].pv[0] == best else 0
            drop = previous[0].score - found[0].score if previous else 0
            best, previous = found[0].pv[0], found
            if self._is_enough(found[0].score, stable, drop, only_move=len(allowed) == 1):
                break
        return previous

    def _limit_nodes(self) -> None:
        wanted = [] if self.limits.nodes is None else [self.limits.nodes]
        if self.strength is not None:
            wanted.append(self.strength.nodes)
        for worker in self.workers if wanted else ():
            worker.limit_nodes(max(1, min(wanted) // len(self.workers)))

    def _weaken(self, lines: list[RootLine]) -> None:
        """In weakened play, choose one of these lines instead of the best."""
        if self.strength is not None and lines:
            self._report(self.strength.choose(lines, self.searcher.random), 1, keep=True)

    def _search_lines(
        self, allowed: list[Move], count: int, previous: list[RootLine], restricted: bool
    ) -> list[RootLine]:
        """The best `count` lines at this depth, best first, each reported when all are known."""
        found: list[RootLine] = []
        for index in range(count):
            taken = {line.pv[0] for line in found}
            if taken or restricted:
                self.main.allow([move for move in allowed if move not in taken])
            else:
                self.main.allow(None)
            guess = int(previous[index].score) if index < len(previous) else None
            for line in self.main.search_window(self.depth, guess):
                if index == 0 and (line.bound == "" or self._is_late() or self.main.stopped):
                    self._report(line, 1, keep=line.bound != "upperbound" and count == 1, show=count == 1)
            if self.main.stopped:
                return found
            found.append(line)
        found.sort(key=lambda line: -line.score)
        if count > 1:
            for index, line in enumerate(found[: self.multipv], start=1):
                self._report(line, index, keep=index == 1)
        return found

    def _is_enough(self, score: Score, stable: int, drop: int, only_move: bool) -> bool:
        limits = self.limits
        if limits.mate is not None and score.mate is not None and 0 < score.mate <= limits.mate:
            return True
        if limits.infinite or self.searcher._pondering or self.budget is None:
            return False
        if only_move and not self.budget.is_exact:
            return True
        if self._nodes() < MIN_NODES:
            return False  # a thread that got no processor until its time was up takes two milliseconds more
        elapsed = 1000 * (time.perf_counter() - self.clock_began)
        return self.budget.should_stop(elapsed, stable, drop, self.main.share_of(self.last.pv[0]) if self.last else 1.0)

    def _last_depth(self) -> int:
        limits = self.limits
        wanted = [limits.depth] if limits.depth is not None else []
        if limits.mate is not None:
            wanted.append(2 * limits.mate)
        return max(1, min([MAX_PLY - 1, *wanted]))

    def _is_late(self) -> bool:
        return time.perf_counter() - self.began >= BOUNDS_AFTER_MS / 1000

    def _wait_for_release(self) -> None:
        if self.limits.infinite or self.searcher._pondering:
            self.searcher._released.wait()

    def _finish(self, threads: list[threading.Thread]) -> None:
        with self.lock:
            self.finished.set()
            for alarm in self.alarms:
                alarm.cancel()
        self.searcher._stop_flag[0] = 1
        for thread in threads if self.watcher is None else [*threads, self.watcher]:
            thread.join()
        if self.last is not None and (self.last.bound or self._nodes() != self.last.nodes):
            # After an interrupted search the score is that of the best move so far. GUIs ignore bounds.
            self.last = self._stamp(self.last)._replace(bound="")
            self.on_line(self.last)

    def _report(self, line: RootLine, number: int, keep: bool, show: bool = True) -> None:
        if not line.pv:
            return
        seldepth = max(self.depth, self.main.seldepth)
        shown = self._stamp(Line(self.depth, seldepth, number, line.score, line.bound, 0, 0, 0, 0, line.pv))
        if keep:
            self.last = shown
        if show and (line.bound == "" or self._is_late()):
            self.on_line(shown)

    def _stamp(self, line: Line) -> Line:
        """The line with the present nodes, time and table use."""
        elapsed = int(1000 * (time.perf_counter() - self.began))
        nodes = self._nodes()
        hashfull = self.searcher._table.hashfull()
        return line._replace(nodes=nodes, nps=nodes * 1000 // max(1, elapsed), hashfull=hashfull, time_ms=elapsed)

    def _nodes(self) -> int:
        return sum(worker.nodes for worker in self.workers)

    def _report_game_over(self) -> None:
        score = Score(-MATE_SCORE if self.position.is_check() else 0)
        self.last = Line(0, 0, 1, score, "", 0, 0, 0, 0, ())
        self.on_line(self.last)


def _ignore_line(line: Line) -> None:
    """For callers that only want the result."""
