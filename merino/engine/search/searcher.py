"""`Searcher`: the search for Python code, with threads, clock and reports.

searcher = Searcher(hash_mb=64)
result = searcher.search(Position(), Limits(movetime=1000), on_line=print)
result.best.uci()
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import Empty, SimpleQueue
from random import Random
from types import FrameType, NoneType
from typing import TYPE_CHECKING, Protocol, Self, TypedDict, Unpack

import numpy as np

from merino.core.board.game import IllegalMoveError, Position, as_position
from merino.core.common.errors import function, instance, whole_number
from merino.core.common.threads import OneThread
from merino.engine.search import choice, search_run, see, state, strength, tablebase_probe, transposition
from merino.engine.search.limits import DEFAULT_HASH_MB, MAX_HASH_MB, MAX_THREADS, Limits, Line, SearchResult
from merino.engine.search.parameters import PARAMETERS, parameters_for
from merino.engine.search.worker import Worker
from merino.eval.evaluation import Evaluation
from merino.eval.families import default, load_evaluation

if TYPE_CHECKING:
    import chess

DoneReport = Callable[[SearchResult], None]


class NamedLimits(TypedDict, total=False):
    """The limits that a search takes by name, as those of Limits."""

    depth: int | None
    nodes: int | None
    movetime: int | None  # milliseconds


class Searcher:
    """Searches one position at a time. All may be called from any thread: searches then follow each other.

    A position is a Position, a board of python-chess, a FEN or "startpos"; a limit is named, `depth`, `nodes` or
    `movetime` in milliseconds, or `limits` has any. `with Searcher() as searcher` leaves no search running.

    What changes the search (`clear` and all that begins with `set`) waits until none is running, as `search` does. In a
    report of the search both would wait for themselves, and raise RuntimeError.

    Read at each start: `multipv` (lines to report), `move_overhead` (ms per move reserved for what happens outside the
    search), `lag` (ms that it has cost lately), `nodestime` (nodes that count as a millisecond, 0 for real time),
    `tablebases`, None without endgame tables, and `strength`, None for full strength. It weakens only play, not
    analysis: not `infinite` searches, searches for a mate, or any search while `is_analysing`. `random` draws the moves
    of weakened play.
    """

    def __init__(
        self,
        hash_mb: int = DEFAULT_HASH_MB,
        threads: int = 1,
        evaluation: Evaluation | str | None = None,
        parameters: tuple[int, ...] | None = None,
    ) -> None:
        """Parameters are in the order of their registry; None for those of the evaluation in use.

        The evaluation may be given by its name; None is the one that comes with Merino. Raises EvaluationError,
        MemoryError, and TypeError or ValueError for arguments that cannot be used.
        """
        evaluation = load_evaluation(evaluation) if isinstance(evaluation, str) else evaluation
        _check_evaluation(evaluation, is_optional=True)
        _check_parameters(parameters)
        self.multipv = 1
        self.move_overhead = 50
        self.lag = 0.0
        self.nodestime = 0
        self.strength: strength.Strength | None = None
        self.tablebases: tablebase_probe.TablebaseProbe | None = None
        self.is_analysing = False
        self.seed = 0
        self._evaluation = default() if evaluation is None else evaluation
        self._given = parameters
        self._parameters = parameters or parameters_for(self._evaluation)
        self._table = _table_of(hash_mb)
        self._stop_flag = np.zeros(1, dtype=np.uint64)
        self._workers: list[Worker] = []
        self._chooser: choice.Chooser | None = None  # made when it is first needed
        self._released = threading.Event()
        self._run: search_run.SearchRun | None = None  # the last one
        self._thread = OneThread("search")
        self._turn = threading.RLock()  # of who waits until no search is running, and then starts or changes one
        self.set_threads(threads)

    @property
    def seed(self) -> int:
        """The seed that `random` began with; 0 for another game each time."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._seed, self.random = seed, Random(seed or None)

    @property
    def hash_mb(self) -> int:
        """The size of the table in MiB."""
        return self._table.megabytes

    @property
    def threads(self) -> int:
        """The number of search threads."""
        return len(self._workers)

    def set_hash(self, megabytes: int) -> None:
        """Use a new, empty table of this size; if memory is short, keeps the old one and raises MemoryError."""
        table = _table_of(megabytes)
        with self._alone():
            self._table = table
            for worker in self._workers:
                worker.set_table(self._table)

    def set_threads(self, count: int) -> None:
        """Search with this many threads; raises TypeError and ValueError."""
        whole_number("threads", count, 1, MAX_THREADS)
        with self._alone():
            while len(self._workers) < count:
                self._workers.append(Worker(self._table, self._stop_flag, self._evaluation, self._parameters))
                self._workers[-1].share_corrections(self._workers[0])
            del self._workers[count:]

    def set_evaluation(self, evaluation: Evaluation) -> None:
        """Use this evaluation from now on, and its parameters unless others were given at first.

        Clears the results of earlier searches. Raises EvaluationError and keeps the old one.
        """
        _check_evaluation(evaluation)
        with self._alone():
            parameters = self._given or parameters_for(evaluation)
            evaluation.install(state.new_search_record())  # a fault of compiling comes here, where nothing has changed
            self._parameters = parameters
            self._evaluation, self._chooser = evaluation, None
            for worker in self._workers:
                worker.set_evaluation(evaluation, self._parameters)
            self.clear()

    def clear(self) -> None:
        """Forget every earlier search."""
        with self._alone():
            self._table.clear()
            for worker in self._workers:
                worker.forget()

    @property
    def searching(self) -> bool:
        """Whether a search is running."""
        return self._thread.is_busy

    def search(
        self,
        position: Position | chess.Board | str,
        limits: Limits | None = None,
        on_line: search_run.LineReport | None = None,
        **named: Unpack[NamedLimits],
    ) -> SearchResult:
        """Search a position and return the result.

        It blocks, so not for `infinite` unless another thread stops it. Raises FenError, IllegalMoveError for moves of
        the limits that are not legal here, ValueError without a limit, TypeError for what cannot be used, and what
        `on_line` raises; then, and after Ctrl-C, no search is left running.
        """
        limits = self._bounded(limits, named)
        function("on_line", on_line, "a function that takes a Line, or None")
        self._refuse_in_report()
        results: list[SearchResult] = []
        faults: list[BaseException] = []
        stop_flag, released = self._stop_flag, self._released  # not itself: the run keeps the report

        def report(line: Line) -> None:
            try:
                if on_line is not None and not faults:
                    on_line(line)
            except BaseException as fault:  # noqa: BLE001  (raised again below)
                faults.append(fault)
                stop_flag[0] = 1
                released.set()

        self.start(position, limits, report, results.append)
        try:
            self.wait()
        except BaseException:
            self.stop()
            self.wait()
            raise
        if faults:
            raise faults[0]
        return results[0]

    def lines(
        self, position: Position | chess.Board | str, limits: Limits | None = None, **named: Unpack[NamedLimits]
    ) -> Iterator[Line]:
        """The lines of a search as they come; leaving the loop stops it. Raises as `search` does."""
        reports: SimpleQueue[Line | SearchResult] = SimpleQueue()
        self.start(position, self._bounded(limits, named), reports.put, reports.put)
        try:
            while not isinstance(report := _report_in(reports, self), SearchResult):
                if report is not None:
                    yield report
        finally:
            self.stop()
            self.wait()

    async def search_async(
        self, position: Position | chess.Board | str, limits: Limits | None = None, **named: Unpack[NamedLimits]
    ) -> SearchResult:
        """Search as `search` does while other tasks run; cancelling it stops the search."""
        limits, loop = self._bounded(limits, named), asyncio.get_running_loop()
        found: asyncio.Future[SearchResult] = loop.create_future()

        def report(result: SearchResult) -> None:
            loop.call_soon_threadsafe(finish, result)

        def finish(result: SearchResult) -> None:
            if not found.done():
                found.set_result(result)

        await asyncio.to_thread(self.wait)
        self.start(position, limits, lambda line: None, report)
        try:
            return await found
        finally:
            self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.wait()

    def start(
        self,
        position: Position | chess.Board | str,
        limits: Limits,
        on_line: search_run.LineReport,
        on_done: DoneReport,
        on_current_move: search_run.MoveReport | None = None,
        advised: Sequence[int] = (),
    ) -> None:
        """Start a search; returns at once. The reports come from the search thread, `on_done` once and last.

        Where the limits allow some of the `advised` moves, no others are searched at the root. `on_current_move` gets
        depth, move and its number from 1, a few times a second once 3 s have passed. Raises as `search` does, but for
        the reports.
        """
        position = as_position(position)
        instance("limits", limits, Limits, "Limits, such as Limits(depth=8)")
        _check_legal(position, limits.search_moves)
        turn: AbstractContextManager[object] = nullcontext() if self._thread.is_current else self._turn
        with turn:
            self.wait()
            self._stop_flag[0] = 0
            self._released.clear()
            self._run = run = search_run.SearchRun(
                self._conditions(advised), position.copy(), limits, on_line, on_current_move
            )
            self._thread.run(lambda: on_done(run.go()))

    def _bounded(self, limits: Limits | None, named: NamedLimits) -> Limits:
        """The limits that were given, in one of two ways; raises TypeError, and ValueError if they never end a search.

        Weakened play ends by itself.
        """
        by_name = Limits(**named)
        instance("limits", limits, (Limits, NoneType), "Limits, such as Limits(depth=8), or None")
        if limits is not None and by_name != Limits():
            raise ValueError("limits are given as Limits or by name, not both")
        limits = by_name if limits is None else limits
        if self.is_analysing or not self.is_weakened:
            limits.refuse_endless()
        return limits

    def _conditions(self, advised: Sequence[int]) -> search_run.Conditions:
        if self.is_weakened and self._chooser is None:
            self._chooser = choice.Chooser(self._evaluation, self._parameters, self._stop_flag)
        return search_run.Conditions(
            workers=self._workers[:],
            table=self._table,
            stop_flag=self._stop_flag,
            released=self._released,
            chooser=self._chooser if self.is_weakened else None,
            parameters=self._parameters,
            random=self.random,
            multipv=max(1, self.multipv),
            move_overhead=self.move_overhead,
            lag=self.lag,
            nodestime=self.nodestime,
            strength=self.strength,
            is_analysing=self.is_analysing,
            tablebases=self.tablebases,
            advised=advised,
        )

    @property
    def is_weakened(self) -> bool:
        """Whether moves are chosen as by a person of limited strength."""
        return self.strength is not None

    def stop(self) -> None:
        """End the search soon; harmless while idle."""
        self._stop_flag[0] = 1
        self._released.set()

    @property
    def planned(self) -> float:
        """The milliseconds of the last search up to now, as far as it was allowed them; 0 before the first one."""
        return 0.0 if self._run is None else self._run.planned

    def exchange_gain(self, position: Position, move: int) -> int:
        """The gain of a legal move by static exchange evaluation in centipawns, as in the search; pins are ignored."""
        return int(see.exchange_gain(self._workers[0].record, position.record, move))

    def ponder_hit(self) -> None:
        """The move pondered on was played: continue on the clock."""
        if self._run is not None:
            self._run.ponder_hit()

    def wait(self) -> None:
        """Wait until no search is running; returns at once in a report of the search."""
        self._thread.wait()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No search is running in this block: one uses by its address what the workers were given."""
        self._refuse_in_report()
        with self._turn:
            self.wait()
            yield

    def _refuse_in_report(self) -> None:
        """Raise RuntimeError in a report of the search, which would wait for itself."""
        if self._thread.is_current:
            raise RuntimeError("a report of a search cannot wait for the end of that search")


def _table_of(megabytes: int) -> transposition.TranspositionTable:
    """A new table of this size; raises MemoryError, too."""
    return transposition.TranspositionTable(whole_number("hash_mb (in MiB)", megabytes, 1, MAX_HASH_MB))


def _check_evaluation(evaluation: Evaluation | None, is_optional: bool = False) -> None:
    """An evaluation, or if `is_optional` also None."""
    kinds = (Evaluation, NoneType) if is_optional else Evaluation
    instance("evaluation", evaluation, kinds, "an Evaluation, as load_evaluation returns it")


def _check_legal(position: Position, moves: Sequence[int | chess.Move]) -> None:
    """Raise IllegalMoveError for the first of the moves that is not legal."""
    for index, move in enumerate(moves):
        try:
            position.legal(move)
        except IllegalMoveError as error:
            raise IllegalMoveError(f"search_moves: {error}", index) from error


def _check_parameters(parameters: tuple[int, ...] | None) -> None:
    """As many whole numbers as there are parameters, or None."""
    if parameters is not None:
        instance("parameters", parameters, tuple, "a tuple of whole numbers in the order of their registry")
        if len(parameters) != len(PARAMETERS):
            raise ValueError(f"parameters must be {len(PARAMETERS)} numbers, not {len(parameters)}")


_POLL_SECONDS = 0.05  # how soon Ctrl-C is noticed


class Display(Protocol):
    """Shows a running search."""

    def show(self, line: Line) -> None:
        """Show a newer line."""

    def finish(self) -> None:
        """Note the end of the search."""


def think(
    searcher: Searcher, position: Position, limits: Limits, display: Display, is_stop_requested: Callable[[], bool]
) -> tuple[SearchResult, bool]:
    """Search and show the lines, until Ctrl-C or `is_stop_requested`. The result, and whether it was stopped."""
    reports: SimpleQueue[Line | SearchResult] = SimpleQueue()
    with _interrupts() as interrupted:
        searcher.start(position, limits, reports.put, reports.put)
        while True:
            if interrupted.is_set() or is_stop_requested():
                interrupted.set()
                searcher.stop()
            report = _report_in(reports, searcher)
            if isinstance(report, SearchResult):
                display.finish()
                return report, interrupted.is_set()
            if report is not None:
                display.show(report)


def _report_in(reports: SimpleQueue[Line | SearchResult], searcher: Searcher) -> Line | SearchResult | None:
    """The next report of a running search, None if there is none soon; raises RuntimeError if none can come."""
    try:
        return reports.get(timeout=_POLL_SECONDS)
    except Empty:
        if not searcher.searching and reports.empty():
            raise RuntimeError("the search ended without a result") from None
        return None


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, instead of raising KeyboardInterrupt, while the block runs.

    Python lets only the main thread handle signals; in another one Ctrl-C has no meaning and nothing changes.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
