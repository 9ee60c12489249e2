"""One search from start to result: time management, threads, reports, and the wait for release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

import numpy as np

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.threads import call_after
from merino.engine.search import choice, iterative_deepening, tablebase_probe, transposition
from merino.engine.search.limits import MATE_SCORE, MAX_PLY, Limits, Line, Score, SearchResult
from merino.engine.search.parameters import by_name
from merino.engine.search.strength import Strength
from merino.engine.search.worker import RootLine, Worker

# Time management: the budget of a move, a soft and a hard limit, and the clock of a search. Times in milliseconds.

MAX_OF_CLOCK = 0.5  # never spend more on one move
RESERVED_LAGS = 3  # lag varies: so many times the usual one is kept for the worst
STABLE_ITERATIONS = 6  # of one best move until the budget is smallest
DEFAULT_SHARE = 2 / 3  # of the nodes that the best move takes
MAX_DROP = 60  # centipawns lost since the last iteration that count


@dataclass(frozen=True)
class Budget:
    """`soft`: no new iteration starts after this time, adjusted by stability; `hard`: the search stops in any case.

    Both count what was `pondered` before the clock started.
    """

    soft: float
    hard: float
    parameters: Mapping[str, int]  # of the search, by name
    is_exact: bool = False  # movetime: use it all
    pondered: float = 0.0

    def after(self, pondered: float) -> Budget:
        """The same with so much time that was pondered, which an exact one does not count."""
        return self if self.is_exact else replace(self, pondered=pondered)

    @property
    def left(self) -> float:
        """The time from the start of the clock to the hard limit."""
        return max(0.0, self.hard - self.pondered)

    def should_stop(self, elapsed: float, stable_iterations: int, score_drop: int, share: float) -> bool:
        """Whether to stop after an iteration: sooner with a stable best move, later when the score falls.

        `elapsed` is the time since the start of the clock. `share` is the part of the nodes that the best move took,
        0..1: if it took most, the others are refuted.
        """
        if self.is_exact:
            return elapsed >= self.hard
        p = self.parameters
        settled = min(stable_iterations, STABLE_ITERATIONS) / STABLE_ITERATIONS
        stability = 1 + p["clock_stability"] / 100 * (0.5 - settled)
        falling = 1 + p["clock_falling_score"] / 100 * max(0, min(score_drop, MAX_DROP)) / MAX_DROP
        unsure = 1 + p["clock_node_share"] / 100 * (DEFAULT_SHARE - share)
        return self.pondered + elapsed >= self.soft * stability * falling * unsure


def budget(limits: Limits, side: int, overhead: int, parameters: Mapping[str, int], lag: float = 0.0) -> Budget | None:
    """The budget for the side to move, or None where no time limit is set.

    `overhead` is the time reserved for what happens outside the search, `lag` what each move has cost there lately;
    a clock that has run out counts as 1 ms. `parameters` are those of the search, by name.
    """
    if limits.movetime is not None:
        exact = max(1.0, limits.movetime - min(overhead, limits.movetime // 10))
        return Budget(exact, exact, parameters, is_exact=True)
    clock = limits.time[side]
    if clock is None:
        return None
    gain = max(0, limits.increment[side]) - lag  # each move adds the one and loses the other
    left = max(1.0, max(clock, 1) - max(overhead, RESERVED_LAGS * lag))
    moves = parameters["clock_moves"]
    if limits.moves_to_go:
        moves = min(max(limits.moves_to_go, 1), moves) + 1
    soft = max(0.0, left / moves + (parameters["clock_increment"] / 100 * gain if gain > 0 else gain))
    most = max(1.0, MAX_OF_CLOCK * left)
    return Budget(min(soft, most), min(parameters["clock_hard_limit"] / 100 * soft, most), parameters)


class MoveClock:
    """The milliseconds since `start`: `nodestime` nodes count as one, or real time passes where that is 0."""

    def __init__(self, nodestime: int) -> None:
        self.nodestime = nodestime
        self.start()

    def start(self, first: int = 0) -> None:
        """Start it, or start it again, where the search has visited its first nodes."""
        self._began, self._first = time.perf_counter(), first

    def milliseconds(self, nodes: int) -> float:
        """The time since the start, once the search has visited so many nodes."""
        return (nodes - self._first) / self.nodestime if self.nodestime else 1000 * (time.perf_counter() - self._began)

    def nodes_until(self, milliseconds: float) -> int:
        """The number of nodes of the search when this time is up; only where time is counted in nodes."""
        return self._first + round(self.nodestime * milliseconds)


BOUNDS_AFTER_MS = 3000  # earlier, reports of bounds and of the current move would only flicker
CURRENT_MOVE_INTERVAL = 0.25  # seconds
SHOWN_NODES = 1000  # of the search that gives a move of weakened play its score and line
KEPT_NODES = 250  # for that search, where nodes are limited
TECHNIQUE_NODES = 20_000  # against a bare king, where even a weak player knows how to mate

LineReport = Callable[[Line], None]
MoveReport = Callable[[int, int, int], None]


class Conditions(NamedTuple):
    """What a searcher gives to a search: what it works with, and its settings at the start. See `Searcher`.

    `advised` are legal moves, or none: where the limits allow some of them, only these are searched at the root, and
    no tablebases are asked. A search for a mate takes neither advice nor tablebases.
    """

    workers: list[Worker]
    table: transposition.TranspositionTable
    stop_flag: np.ndarray  # uint64[1], 1 to end the search
    chooser: choice.Chooser | None  # of the moves of weakened play
    released: threading.Event  # set when an infinite search or one that ponders may end
    parameters: tuple[int, ...]
    random: Random
    multipv: int
    move_overhead: int
    lag: float
    nodestime: int
    strength: Strength | None
    is_analysing: bool
    tablebases: tablebase_probe.TablebaseProbe | None = None
    advised: Sequence[int] = ()


class SearchRun:
    """One search from start to result. It knows its searcher only by the conditions that it has been given."""

    def __init__(
        self,
        conditions: Conditions,
        position: Position,
        limits: Limits,
        on_line: LineReport,
        on_move: MoveReport | None,
    ) -> None:
        if limits.mate is not None:
            conditions = conditions._replace(tablebases=None, advised=())  # a win that they know may hide the mate
        self.conditions, self.position, self.limits = conditions, position, limits
        self.on_line, self.on_move = on_line, on_move
        is_play = not (conditions.is_analysing or limits.infinite or limits.mate is not None)
        self.chooser = conditions.chooser if is_play else None
        self.workers = conditions.workers if self.chooser is None else conditions.workers[:1]
        self.main = self.workers[0]
        self.began = time.perf_counter()
        self.clock = MoveClock(conditions.nodestime)
        self.budget: Budget | None = None
        self.alarms: list[threading.Timer] = []
        self.watcher: threading.Thread | None = None  # of the current move, in a search that is not short
        self.finished = threading.Event()
        self.is_pondering = limits.ponder
        self.depth = 0
        self.judged: tuple[Score, int, int, bool] | None = None  # what `_is_enough` takes of the last whole iteration
        self.is_chosen = False  # whether weakened play has chosen the move
        self.is_short = False  # whether limits left out what its strength sees
        self.choice_nodes = 0  # that it took
        self.last: Line | None = None
        self.lock = threading.Lock()
        if not limits.ponder:
            self.start_clock()

    @property
    def planned(self) -> float:
        """The milliseconds of the search up to now, as far as it is allowed them."""
        elapsed = self.clock.milliseconds(self._nodes())
        return elapsed if self.budget is None else min(elapsed, self.budget.left)

    def go(self) -> SearchResult:
        """Search, report, wait for release if the limits require it, and return the result."""
        legal = self.position.legal_moves
        self._prepare()
        threads: list[threading.Thread] = []
        if legal:
            allowed = self._weakened(self._root_moves(legal))
            threads = self._start_lazy_smp(allowed if len(allowed) < len(legal) else None)
            if self.on_move is not None:
                self.alarms.append(call_after(BOUNDS_AFTER_MS / 1000, self._start_watcher))
            self._deepen(allowed, is_restricted=len(allowed) < len(legal))
        else:
            self._report_game_over()
        self._finish(threads)
        self._wait_for_release()
        pv = self.last.pv if self.last else ()
        return SearchResult(pv[0] if pv else None, pv[1] if pv[1:] else None, self.last, self.position, self.is_short)

    def start_clock(self, first: int = 0) -> None:
        """Start the time limits now, where the search has visited its first nodes."""
        with self.lock:
            pondered = self.clock.milliseconds(first)
            self.clock.start(first)
            c = self.conditions
            overhead, lag = (0, 0.0) if c.nodestime else (c.move_overhead, c.lag)
            plan = budget(self.limits, self.position.side, overhead, by_name(c.parameters), lag)
            self.budget = plan.after(pondered) if plan and self.limits.ponder else plan
            if self.budget is None or self.limits.infinite or self.finished.is_set():
                return
            if c.nodestime:
                self._limit_nodes(self.workers if self.depth > 1 else self.workers[1:])
            else:
                self.alarms.append(call_after(self.budget.left / 1000, self._time_is_up))

    def ponder_hit(self) -> None:
        """The move pondered on was played: continue on the clock, or end if the search has had its time."""
        if self.is_pondering:
            self.is_pondering = False
            self.start_clock(self._nodes())
            if self.judged is not None and self._is_enough(*self.judged):
                self._time_is_up()
            if not self.limits.infinite:
                self.conditions.released.set()

    def _time_is_up(self) -> None:
        """End the search, unless it has ended: searches share the flag, and the next one may have begun."""
        with self.lock:
            if not self.finished.is_set():
                self.conditions.stop_flag[0] = 1

    def _prepare(self) -> None:
        if self.limits.mate is not None:
            self.conditions.table.clear()  # of results that pruning may have got wrong
        self.conditions.table.begin_search()
        for worker in self.workers:
            self.static = worker.set_root(self.position, full_width=self.limits.mate is not None)
            worker.set_tablebases(None if self.conditions.advised or self.chooser else self.conditions.tablebases)
            worker.allow(None)

    def _root_moves(self, legal: list[Move]) -> list[Move]:
        """The moves to search: those of the limits, and of these the advised ones, as far as there are any."""
        wanted = [self.position.legal(move) for move in dict.fromkeys(self.limits.search_moves)] or legal
        return [move for move in wanted if move in self.conditions.advised] or wanted

    def _start_lazy_smp(self, allowed: list[Move] | None) -> list[threading.Thread]:
        """Lazy SMP: helper threads search the same root independently and share the transposition table."""
        threads = []
        self._limit_nodes(self.workers[1:])
        for number, worker in enumerate(self.workers[1:], start=1):
            worker.allow(allowed)
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
            if now != shown and now[1] > 0 and self.on_move:
                shown = now
                self.on_move(self.depth, *now)

    def _weakened(self, allowed: list[Move]) -> list[Move]:
        """The moves to search: in weakened play only the one that is chosen, unless technique decides."""
        if self.chooser is None or choice.has_bare_king(self.position, 1 - self.position.side):
            return allowed
        c, last = self.conditions, self._last_depth()
        limits = [max(iterative_deepening.MIN_NODES, limit) - KEPT_NODES for limit in self._node_limits()]
        assert c.strength is not None  # where there is a chooser
        chosen = self.chooser.choose(self.position, allowed, c.strength, c.random, last, min(limits, default=None))
        self.is_chosen, self.choice_nodes, self.is_short = True, chosen.nodes, not chosen.is_whole
        return [chosen.move]

    def _deepen(self, allowed: list[Move], is_restricted: bool) -> None:
        """Iterative deepening on the main thread."""
        lines = min(self.conditions.multipv, len(allowed))
        self.last = Line(0, 0, 1, self.static, "", 0, 0, 0, 0, (allowed[0],))  # for a search that is stopped at once
        previous: list[RootLine] = []
        stable, best = 0, 0
        if self.limits.nodes is not None:
            self.main.limit_nodes(max(1, max(iterative_deepening.MIN_NODES, self.limits.nodes) - self.choice_nodes))
        for depth in range(1, self._last_depth() + 1):
            self.depth = depth
            if depth == 2:  # a first iteration ends in any case
                self._limit_nodes(self.workers)
            found = self._search_lines(allowed, lines, previous, is_restricted)
            if self.main.stopped:
                self.depth -= 1
                break
            stable = stable + 1 if found[0].pv[0] == best else 0
            drop = previous[0].score - found[0].score if previous else 0
            best, previous = found[0].pv[0], found
            self.judged = found[0].score, stable, drop, len(allowed) == 1 and not self.is_chosen
            if self._is_enough(*self.judged):
                break

    def _limit_nodes(self, workers: Sequence[Worker]) -> None:
        """Give each of these its share of the nodes, where something limits them."""
        wanted = [limit - self.choice_nodes for limit in self._node_limits()]
        if self.chooser is not None:
            wanted.append(SHOWN_NODES if self.is_chosen else TECHNIQUE_NODES)
        for worker in workers if wanted else ():
            worker.limit_nodes(max(1, min(wanted) // len(self.workers)))

    def _node_limits(self) -> list[int]:
        """What limits the nodes of the whole search."""
        limits = [] if self.limits.nodes is None else [self.limits.nodes]
        if self.clock.nodestime and self.budget is not None and not self.limits.infinite:
            limits.append(self.clock.nodes_until(self.budget.left))
        return limits

    def _search_lines(
        self, allowed: list[Move], count: int, previous: list[RootLine], is_restricted: bool
    ) -> list[RootLine]:
        """The best `count` lines at this depth, best first, each reported when all are known."""
        found: list[RootLine] = []
        for index in range(count):
            taken = {line.pv[0] for line in found}
            if taken or is_restricted:
                self.main.allow([move for move in allowed if move not in taken])
            else:
                self.main.allow(None)
            guess = int(previous[index].score) if index < len(previous) else None
            for line in self.main.search_window(self.depth, guess):
                if index == 0:
                    self._report(line, 1, keep=self._is_move_to_play(line, count), show=count == 1)
            if self.main.stopped:
                return found
            found.append(line)
        found.sort(key=lambda line: -line.score)
        if count > 1:
            for index, line in enumerate(found[: self.conditions.multipv], start=1):
                self._report(line, index, keep=index == 1)
        return found

    def _is_move_to_play(self, line: RootLine, count: int) -> bool:
        """Whether this line, the first of `count`, gives the move from now on.

        A fail high does not until a second search confirms it, whatever is shown of it.
        """
        if count > 1 and self.depth > 1:
            return False  # all lines of the depth before are known
        return line.bound == "" or self.main.stopped

    def _is_enough(self, score: Score, stable: int, drop: int, only_move: bool) -> bool:
        limits = self.limits
        if limits.mate is not None and score.mate is not None and 0 < score.mate <= limits.mate:
            return True
        if limits.infinite or self.is_pondering or self.budget is None:
            return False
        if only_move and not self.budget.is_exact:
            return True
        if self._nodes() < iterative_deepening.MIN_NODES:
            return False  # a thread that got no processor until its time was up takes two milliseconds more
        share = self.main.share_of(self.last.pv[0]) if self.last else 1.0
        return self.budget.should_stop(self.clock.milliseconds(self._fair_nodes()), stable, drop, share)

    def _last_depth(self) -> int:
        limits = self.limits
        wanted = [limits.depth] if limits.depth is not None else []
        if limits.mate is not None:
            wanted.append(2 * limits.mate)
        return max(1, min([MAX_PLY - 1, *wanted]))

    def _wait_for_release(self) -> None:
        if self.limits.infinite or self.is_pondering:
            self.conditions.released.wait()

    def _finish(self, threads: list[threading.Thread]) -> None:
        with self.lock:
            self.finished.set()
            for alarm in self.alarms:
                alarm.cancel()
            self.alarms.clear()  # which hold this run, as it holds them
        self.conditions.stop_flag[0] = 1
        for thread in threads if self.watcher is None else [*threads, self.watcher]:
            thread.join()
        if self.last is not None and (self.last.bound or self._nodes() != self.last.nodes):
            # After an interrupted search the score is that of the best move so far. GUIs ignore bounds.
            self.last = self._stamp(self.last)._replace(bound="")
            self.on_line(self.last)

    def _report(self, line: RootLine, number: int, keep: bool, show: bool = True) -> None:
        show = show and (line.bound == "" or time.perf_counter() - self.began >= BOUNDS_AFTER_MS / 1000)
        if not line.pv or not (keep or show):
            return
        seldepth = max(self.depth, line.seldepth)
        shown = self._stamp(Line(self.depth, seldepth, number, line.score, line.bound, 0, 0, 0, 0, line.pv))
        if keep:
            self.last = shown
        if show:
            self.on_line(shown)

    def _stamp(self, line: Line) -> Line:
        """The line with the present nodes, time and table use."""
        elapsed = int(1000 * (time.perf_counter() - self.began))
        nodes = self._nodes()
        hashfull = self.conditions.table.hashfull()
        return line._replace(nodes=nodes, nps=nodes * 1000 // max(1, elapsed), hashfull=hashfull, time_ms=elapsed)

    def _nodes(self) -> int:
        return self.choice_nodes + sum(worker.nodes for worker in self.workers)

    def _fair_nodes(self) -> int:
        """The nodes if no thread had more than the main one, which may still wait for a processor that others have."""
        return self.choice_nodes + sum(min(worker.nodes, self.main.nodes) for worker in self.workers)

    def _report_game_over(self) -> None:
        self.last = Line(0, 0, 1, Score(-MATE_SCORE if self.position.is_check() else 0), "", 0, 0, 0, 0, ())
        self.on_line(self.last)
