"""The state of one UCI session: the engine loading in the background, the position, the options, the search.

Commands run on the thread that reads the input, searches on threads of their own. Imports nothing heavy: numba is
loaded in the background once the first command has been answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from merino.core.common import errors, threads
from merino.core.common.command import loading
from merino.core.compiled.compiling import WATCH
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits, SearchResult
from merino.engine.uci import cold_start, go, options
from merino.engine.uci.output import Output, Report

if TYPE_CHECKING:
    from merino.core.board.game import Position
    from merino.engine.search.tablebase_probe import TablebaseProbe
    from merino.engine.tables.tablebase import Advice
    from merino.engine.uci.runtime import Runtime

IsStopped = Callable[[], bool]

GLANCE_SECONDS = 0.3  # how long `setoption` waits for its file; a local disk takes less
FILE_SECONDS = 3.0  # how long other commands wait for a file, from its `setoption` on
LAST_WORDS_SECONDS = 7.0  # how long `quit` waits at most for the bestmove of a `go`; longer than that of a stopped one


class FileWork:
    """A call that reads files, begun at once. What it returns or raises is kept until it is asked for.

    `prepare` makes something else of what it returns, and may compile for a long time.
    """

    def __init__(self, call: Callable[[], Any], prepare: Callable[[Any], object] | None = None) -> None:
        self._call, self._prepare = call, prepare
        self.is_read = False  # whether all files are read; what they hold may still be prepared
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._found: Any = None
        self._fault: Exception | None = None
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def is_done(self, seconds: float) -> bool:
        """Whether it has ended, now or before this time since its beginning is over."""
        return self._ended.wait(max(0.0, self._began + seconds - time.monotonic()))

    def is_settled(self, reading: float, seconds: float) -> bool:
        """Whether it has ended or has been reading for longer than `reading`, now or after waiting for `seconds`."""
        return self._ended.wait(seconds) or not self.is_read and time.monotonic() > self._began + reading

    def result(self) -> Any:
        """What the call has returned, once it is done; raises what it has raised."""
        if self._fault is not None:
            raise self._fault
        return self._found

    def _run(self) -> None:
        try:
            found = self._call()
            self.is_read = True
            self._found = found if self._prepare is None else self._prepare(found)
        except Exception as error:  # noqa: BLE001  (raised again by `result`)
            self._fault = error
        finally:
            self._ended.set()


class OptionSetting:
    """A value that an option is to get."""

    def __init__(self, option: options.UciOption, value: options.Value) -> None:
        self.option, self.value = option, value
        self.is_slow_said = False  # whether its file has been said to be slow

    @cached_property
    def work(self) -> FileWork:
        """What opens the file that it names, begun now if it is not under way."""
        return FileWork(partial(self.option.opened, self.value), self.option.prepares)


class UciSession:
    """One GUI, or one user at a pipe. Only the thread that runs the commands calls its methods, except `close`.

    Some options act on it.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.debug = False
        self.is_over = False  # set by `quit`
        self.show_wdl = False
        self.chess960 = False  # castling is written as king takes own rook
        self.waits_for_compiler = False  # whether even a first start waits for the compiler, as without a GUI
        self.position: Position | None = None  # None: not loaded yet, or the last one sent was wrong
        self._runtime: Runtime | None = None
        self._loaded = threading.Event()
        self.cold = cold_start.ColdStart(output, self._loaded, self.is_prepared)
        # Long work such as perft, which must not keep the GUI from `stop`.
        self._jobs = threads.OneThread("background job")
        self._jobs_stopped = threading.Event()
        self.turn = threading.RLock()  # held while a command runs: the end of a cold start runs one too
        self._loader: threading.Thread | None = None
        # By name; they wait for an idle engine, or for their file. The weights in use have no value: nobody names them.
        self._pending = {"WeightsFile": OptionSetting(options.find("WeightsFile"), None)}
        self._limits = Limits()  # of the last search
        self._is_searching = False  # until just before the bestmove: after it a GUI may set options
        self.go_received = float("inf")  # when the last `go` came, by time.perf_counter(): its clock runs since then
        self._bestmove_said = threading.Event()
        self._bestmove_said.set()
        self._weights_said = ""
        self._lag = go.Lag()
        self._node_clock = go.NodeClock()
        self._consulted: FileWork | None = None  # what the endgame tables were asked last

    def start_loading(self) -> None:
        """Load and warm up the engine in the background; does nothing the second time."""
        if self._loader is None:
            self._loader = threading.Thread(target=self._load, name="loader", daemon=True)
            self._loader.start()

    @property
    def is_loaded(self) -> bool:
        """Whether the engine is loaded; loading it begins at the first question."""
        self.start_loading()
        return self._loaded.is_set()

    def wait_until_ready(self) -> bool:
        """Wait until the engine is loaded with the options set, or as long as a GUI allows; whether it is loaded."""
        self.start_loading()
        self.cold.wait_until_ready()
        if self._loaded.is_set():
            self.ready()
        return self._loaded.is_set()

    def ready(self, seconds: float | None = None) -> Runtime:
        """The engine, once it is loaded with the options set so far.

        What is not read and compiled in this time since its `setoption`, FILE_SECONDS for None, comes later.
        """
        runtime = self._wait_until_loaded()
        self._apply_pending(runtime, FILE_SECONDS if seconds is None else seconds)
        return runtime

    def is_prepared(self, seconds: float) -> bool:
        """Whether the evaluations that options name can be put into use, now or before this time is over.

        One whose file is slow is not waited for, nor are those that come after the search.
        """
        if self._is_searching:
            return True
        for setting in list(self._pending.values()):
            if setting.option.prepares and not setting.work.is_settled(FILE_SECONDS, seconds):
                return False
        return True

    def wait_until_prepared(self) -> None:
        """Wait for that, however long it takes."""
        self._wait_until_loaded()
        while not self.is_prepared(FILE_SECONDS):
            pass

    def set_option(self, name: str, text: str) -> None:
        """Give an option a new value: at once where possible, else when engine and search allow it."""
        try:
            option = options.find(name)
            wished = option.read(text)
        except options.OptionError as error:
            self.output.error(error)
            return
        value = option.clamp(wished)
        if value != wished:
            self.output.info(f"{option.name} {wished} is out of range; {value} is used")
        setting = OptionSetting(option, value)
        self._pending.pop(option.name, None)  # so that the order is that of the last settings
        if option.is_about_dialogue and self._is_opened(setting, GLANCE_SECONDS):
            self._apply(setting, self)
            return
        self._pending[option.name] = setting
        if self._is_searching and option.needs_idle:
            self.output.info(f"{option.name} takes effect when the search ends")
        elif self._runtime is not None:
            self._apply_pending(self._runtime, GLANCE_SECONDS)

    def new_game(self) -> None:
        """End the search and clear tables and histories."""
        self.cold.stop()
        self.end_search()
        self._lag, self._node_clock = go.Lag(), go.NodeClock()
        self.set_option("Clear Hash", "")

    def search(self, limits: Limits) -> None:
        """Start a search of the position, after a running one has given its move."""
        self.end_search()
        self._stop_jobs()
        runtime = self.ready(GLANCE_SECONDS)
        if self.position is None:
            self.output.error("there is no valid position to search")
            self.output.say("bestmove (none)")
            return
        self._say_weights(runtime)
        self._limits, position, searcher = limits, self.position, runtime.searcher
        booked = runtime.book_move(position, limits)
        if booked is not None:  # a search gives it a score
            limits = replace(limits, depth=1, nodes=None, search_moves=(booked,))
        is_real_time = searcher.nodestime == 0
        if is_real_time:
            self._lag.go_came(position.keys, position.side, limits)
        else:
            limits = self._node_clock.limits(position.keys, position.side, limits)
        advice, tablebases = self._consult_tables(runtime, position, limits)
        searcher.tablebases = tablebases
        hits = advice.hits if advice else 0
        k = runtime.evaluation.k if self.show_wdl else None
        report = Report(self.output, position.uci, k, lambda: hits + (tablebases.hits if tablebases else 0))
        waited = max(0.0, 1000 * (time.perf_counter() - self.go_received))

        def done(result: SearchResult) -> None:
            self._lag.move_made(waited + searcher.planned)
            self._node_clock.move_made(searcher.planned)
            self._is_searching = False
            if tablebases is not None:
                self._name_broken(runtime.broken(tablebases.fault))
            if result.is_short:
                self.output.info("the search was too short for the strength that is set: its move is weaker")
            report.done(result)
            self._bestmove_said.set()

        self._is_searching = True
        self._bestmove_said.clear()
        searcher.lag = self._lag.milliseconds
        left, advised = limits.after(int(waited) if is_real_time else 0), advice.moves if advice else ()
        searcher.start(position, left, report.line, done, report.current_move, advised)

    def run_in_background(self, work: Callable[[IsStopped], object]) -> None:
        """Run `work` after the jobs before it; it must return once the function it gets is true.

        `stop` or the next search ends it.
        """
        self.end_search()
        stopped = self._jobs_stopped
        self._jobs.run(lambda: stopped.is_set() or work(stopped.is_set))

    def stop(self) -> None:
        """Let a running search give its move now, and background jobs end."""
        self.cold.stop_waiting()
        self._stop_search()
        self._stop_jobs()

    def ponder_hit(self) -> None:
        """The move pondered on was played: the running search continues within its limits."""
        self.cold.ponder_hit()
        self._limits = replace(self._limits, ponder=False)
        if self._runtime is not None and self._is_searching:
            self._runtime.searcher.ponder_hit()

    def wait(self) -> None:
        """Wait for a running search to give its move by itself, and for background jobs."""
        self.cold.wait()
        threads.until_set(self._bestmove_said)
        self._jobs.wait()

    def end_search(self) -> None:
        """Stop a running search and wait for its move."""
        self._stop_search()
        threads.until_set(self._bestmove_said)

    def close(self, seconds: float = LAST_WORDS_SECONDS) -> None:
        """End the session: stop the search and wait for its move and for files, at most this long.

        Background jobs are dropped. Any thread may call it.
        """
        deadline = time.monotonic() + seconds
        self.stop()
        self.cold.wait(seconds)
        self._bestmove_said.wait(max(0.0, deadline - time.monotonic()))
        self.output.log_to(None, max(0.0, deadline - time.monotonic()))

    def finish(self) -> None:
        """Wait without a limit for the move of a search that ends by itself, stop any other, and wait for jobs."""
        self.cold.wait()
        if self._limits.infinite or self._limits.ponder:
            self._stop_search()
        self.wait()

    def _stop_jobs(self) -> None:
        self._jobs_stopped.set()
        self._jobs_stopped = threading.Event()

    def _stop_search(self) -> None:
        if self._runtime is not None and self._is_searching:
            self._runtime.searcher.stop()

    def _load(self) -> None:
        with loading():
            from merino.core.common import sealed  # noqa: PLC0415 (not on the way to uciok)

            WATCH.on_begin = self.cold.begin
            from merino.engine.uci.runtime import InfoLog, Position, Runtime  # noqa: PLC0415 (the one import of numba)

            sealed.log.addHandler(InfoLog(self.output))  # what is said of files without a checksum
            runtime = Runtime(DEFAULT_HASH_MB)
            self.position = Position(chess960=self.chess960)
            self._runtime = runtime
            self._loaded.set()

    def _wait_until_loaded(self) -> Runtime:
        self.start_loading()
        threads.until_set(self._loaded)
        assert self._runtime is not None
        return self._runtime

    def _apply_pending(self, runtime: Runtime, seconds: float) -> None:
        """Apply the options set so far, except those that must wait for the end of a search or for a slow file."""
        if self.cold.is_waiting:
            return  # a `go` that waits for the compiler will apply them
        self.cold.wait()  # one that is being handed over uses these options too
        seconds = GLANCE_SECONDS if self._is_searching else seconds
        for name, setting in list(self._pending.items()):
            if setting.option.needs_idle:
                if self._is_searching:
                    continue
                threads.until_set(self._bestmove_said)
            if not self._is_opened(setting, seconds):
                continue
            del self._pending[name]
            target = self if setting.option.is_about_dialogue else runtime
            if self._apply(setting, target) and setting.option.is_evaluation and setting.value is not None:
                self._weights_said = ""
                self._say_weights(runtime)

    def _is_opened(self, setting: OptionSetting, seconds: float) -> bool:
        """Whether the file that it names is open; waits until this time after the beginning, and says if not."""
        if setting.option.opens is None or setting.work.is_done(seconds):
            return True
        if seconds == FILE_SECONDS and not setting.is_slow_said:
            setting.is_slow_said = True
            name, doing = setting.option.name, "made ready" if setting.work.is_read else "read"
            file = f"'{setting.value}'" if setting.value else "the file in use"
            self.output.info(f"{name}: {file} is still being {doing}; until then it stays unchanged")
        return False

    def _apply(self, setting: OptionSetting, target: object) -> bool:
        """Apply it to the engine or to this dialogue; returns whether that worked, and prints why not."""
        option, value = setting.option, setting.value
        try:
            found = value if option.opens is None else setting.work.result()
            option.apply_to(target, found)
        except OSError as error:
            fault = f"cannot open '{value}': {error.strerror}"
        except (errors.MerinoError, ValueError, MemoryError) as error:
            fault = str(error) or "not enough memory"
        except Exception as error:  # noqa: BLE001  (whatever is in a file, it must not end the game)
            fault = f"'{value}': {type(error).__name__}: {error}"
        else:
            for fault in getattr(found, "faults", ()):
                self.output.error(f"{option.name}: {fault}; the others are used")
            return True
        self.output.error(f"{option.name}: {fault}; it stays unchanged")
        return False

    def _consult_tables(
        self, runtime: Runtime, position: Position, limits: Limits
    ) -> tuple[Advice | None, TablebaseProbe | None]:
        """What the endgame tables say of the position, and the tables for the search, if they answer in time."""
        if runtime.tables is None or limits.mate or (self._consulted and not self._consulted.is_done(0)):
            return None, None  # there are none, a mate is looked for, or they still have not answered before
        work = self._consulted = FileWork(partial(runtime.advice, position.copy()))
        if not work.is_done(go.tables_seconds(limits, position.side)):
            self.output.info("SyzygyPath: the disk of the tablebases is slow; this move is searched without them")
            return None, None
        try:
            return work.result(), runtime.tablebases()
        except ValueError as error:
            self._name_broken(runtime.broken(str(error)))
            return None, runtime.tablebases()

    def _name_broken(self, line: str) -> None:
        if line:
            self.output.error(line)

    def _say_weights(self, runtime: Runtime) -> None:
        """Print which weights are in use, unless they were printed last."""
        in_use = f"net: {runtime.net_file}" if runtime.net_file else f"weights: {runtime.weights_file}"
        if self._weights_said != in_use:
            self._weights_said = in_use
            self.output.info(in_use)
