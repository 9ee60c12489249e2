"""The state of one UCI session: the engine that loads behind it, the position, the options, the search.

Commands run on the thread that reads the input, searches on threads of their own. Imports nothing heavy: numba is
loaded in the background once the first command has been answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.options import DEFAULT_HASH, OptionError, Value, find
from engine.uci.cold_start import ColdStart
from engine.uci.errand import Errands, IsStopped
from engine.uci.output import Output, Report

if TYPE_CHECKING:
    from engine.game import Position
    from engine.runtime import Runtime
    from engine.search.limits import Limits, Result

LAST_WORDS_SECONDS = 3.0  # how long `quit` waits at most for the bestmove of a search under way


class Session:
    """One GUI, or one user at a pipe. Only the thread that runs the commands calls its methods."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.debug = False
        self.is_over = False  # set by `quit`
        self.is_patient = False  # whether even a first start waits for the compiler: where no GUI does
        self.position: Position | None = None  # None: not loaded yet, or the last one sent was wrong
        self._runtime: Runtime | None = None
        self._loaded = threading.Event()
        self.cold = ColdStart(output, self._loaded)
        self._errands = Errands()
        self.turn = threading.RLock()  # held while a command runs: the end of a cold start runs one too
        self._loader: threading.Thread | None = None
        self._pending: dict[str, Value] = {}  # options by name that wait for an idle engine
        self._is_searching = False  # until just before the bestmove: after it a GUI may set options
        self._bestmove_said = threading.Event()
        self._bestmove_said.set()
        self._weights_said = ""

    def start_loading(self) -> None:
        """Load and warm up the engine in the background; does nothing the second time."""
        if self._loader is None:
            self._loader = threading.Thread(target=self._load, name="loader", daemon=True)
            self._loader.start()

    def is_warm(self) -> bool:
        """Whether the engine is loaded; waits for it as long as a start with compiled code takes."""
        self.start_loading()
        if self.is_patient:
            self._wait_until_loaded()
        return self.cold.is_warm()

    def wait_until_ready(self) -> None:
        """Wait until the engine is loaded and has taken the options, or as long as a GUI allows."""
        self.start_loading()
        self.cold.wait_until_ready()
        if self._loaded.is_set():
            self.ready()

    def ready(self) -> Runtime:
        """The engine, once it is loaded and has taken the options set so far."""
        runtime = self._wait_until_loaded()
        self._apply_pending(runtime)
        return runtime

    def set_position(self, make: Callable[[], Position]) -> None:
        """Take the position that `make` returns; none, if it raises ValueError."""
        self._wait_until_loaded()
        self.position = None
        try:
            self.position = make()
        except ValueError as error:
            self.output.error(f"position: {error}")

    def set_option(self, name: str, text: str) -> None:
        """Give an option a new value: at once where possible, else when engine and search allow it."""
        try:
            option = find(name)
            wished = option.read(text)
        except OptionError as error:
            self.output.error(error)
            return
        value = option.clamp(wished)
        if value != wished:
            self.output.info(f"{option.name} {wished} is out of range; taken as {value}")
        self._pending[option.name] = value
        if option.name == "UCI_Chess960":
            self.cold.chess960 = bool(value)
        if self._is_searching and option.needs_idle:
            self.output.info(f"{option.name} takes effect when the search has ended")
        elif self._runtime is not None:
            self._apply_pending(self._runtime)

    def new_game(self) -> None:
        """End the search and forget what it has learnt."""
        self.end_search()
        self.set_option("Clear Hash", "")

    def search(self, limits: Limits) -> None:
        """Start a search of the position, after the one under way, if any, has given its move."""
        self.end_search()
        self._errands.stop()
        runtime = self.ready()
        if self.position is None:
            self.output.error("no valid position to search")
            self.output.say("bestmove (none)")
            return
        self._say_weights(runtime)
        position = self.position.copy()
        position.chess960 = runtime.chess960
        report = Report(self.output, position.uci)

        def done(result: Result) -> None:
            self._is_searching = False
            report.done(result)
            self._bestmove_said.set()

        self._is_searching = True
        self._bestmove_said.clear()
        runtime.searcher.start(position, limits, report.line, done, report.current_move)

    def run_errand(self, work: Callable[[IsStopped], object]) -> None:
        """Let `work` run after the errands before it until `stop` or the next search, which it is told of."""
        self.end_search()
        self._errands.start(work)

    def stop(self) -> None:
        """Let the search under way, if any, give its move now, and errands end."""
        self.cold.hurry()
        self._stop_search()
        self._errands.stop()

    def ponder_hit(self) -> None:
        """The move pondered on was played: the search under way goes on within its limits."""
        self.cold.hurry()
        if self._runtime is not None and self._is_searching:
            self._runtime.searcher.ponder_hit()

    def wait(self) -> None:
        """Wait for the search under way, if any, to give its move by itself, and for errands."""
        self._wait_for_bestmove()
        self._errands.wait()

    def end_search(self) -> None:
        """Stop the search under way, if any, and wait for its move."""
        self._stop_search()
        self._bestmove_said.wait()

    def close(self) -> None:
        """End the session: stop the search and let it give its move, but wait only so long. Errands are dropped."""
        self.stop()
        self.cold.wait(LAST_WORDS_SECONDS)
        self._bestmove_said.wait(LAST_WORDS_SECONDS)

    def finish_errands(self) -> None:
        """Wait for errands, however long they take."""
        self._errands.wait()

    def _wait_for_bestmove(self) -> None:
        self.cold.wait()
        self._bestmove_said.wait()

    def _stop_search(self) -> None:
        if self._runtime is not None and self._is_searching:
            self._runtime.searcher.stop()

    def _load(self) -> None:
        from engine.runtime import Position, Runtime  # noqa: PLC0415 (the one import that brings in numba)

        runtime = Runtime(DEFAULT_HASH)
        self.position = Position()
        self._runtime = runtime
        self._loaded.set()

    def _wait_until_loaded(self) -> Runtime:
        self.start_loading()
        self._loaded.wait()
        assert self._runtime is not None
        return self._runtime

    def _apply_pending(self, runtime: Runtime) -> None:
        """Put into effect what has been set, except what must wait for the end of a search."""
        for name in list(self._pending):
            option = find(name)
            if option.needs_idle:
                if self._is_searching:
                    continue
                self._wait_for_bestmove()
            value = self._pending.pop(name)
            try:
                option.apply(runtime, value)
            except (ValueError, MemoryError) as error:
                self.output.error(f"{name}: {error or 'not enough memory'}; it stays as it was")
            else:
                if name == "WeightsFile":
                    self._weights_said = ""
                    self._say_weights(runtime)

    def _say_weights(self, runtime: Runtime) -> None:
        """Say which weights are in use, unless that is what was said last."""
        if runtime.weights_error:
            self.output.error(runtime.weights_error)
            runtime.weights_error = ""
        if self._weights_said != str(runtime.weights_file):
            self._weights_said = str(runtime.weights_file)
            self.output.info(f"weights: {self._weights_said}")
