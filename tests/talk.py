"""A session at the console without a terminal, and with an engine that needs no time: for tests."""

import io
import threading
from collections.abc import Callable
from random import Random

from merino.app.console import loop, session
from merino.app.console.terminal import Terminal
from merino.core.board.game import Position
from merino.engine.search.limits import DEFAULT_PROBE_DEPTH, Limits, Line, Score, SearchResult
from merino.engine.search.strength import DEFAULT_ELO, Strength
from merino.engine.uci.runtime import Runtime
from merino.eval.families import DEFAULT_FILE, default


class FakeSearcher:
    """Plays the move that is first in the alphabet, at once or, if `endless`, when it is stopped."""

    def __init__(self) -> None:
        self.endless = False
        self.score = Score(25)
        self.multipv = 1
        self.move_overhead = 50
        self.hash_mb, self.threads, self.nodestime, self.seed = 64, 1, 0, 0
        self.planned = 0.0
        self.random = Random(1)
        self.is_analysing = False
        self.strength: Strength | None = None
        self.second_line = False
        self.limits = Limits()
        self.calls: list[tuple[str, object]] = []
        self.on_start: Callable[[], None] = lambda: None
        self._stop = threading.Event()
        self._thread = threading.Thread()

    @property
    def is_weakened(self) -> bool:
        return self.strength is not None

    @property
    def searching(self) -> bool:
        return self._thread.is_alive()

    def start(
        self,
        position: Position,
        limits: Limits,
        on_line: Callable[[Line], None],
        on_done: Callable[[SearchResult], None],
    ) -> None:
        self.limits = limits
        self._stop.clear()
        best = min(limits.search_moves or position.legal_moves, key=position.uci)
        line = Line(3, 5, 1, self.score, "", 1234, 1000, 0, 1500, (best,))

        def search() -> None:
            on_line(line)
            if self.second_line:
                on_line(line._replace(multipv=2, score=Score(-500)))
            self.on_start()
            if self.endless:
                assert self._stop.wait(20)
            on_done(SearchResult(best, None, line))

        self._thread = threading.Thread(target=search, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def clear(self) -> None:
        self.calls.append(("clear", None))

    def exchange_gain(self, position: Position, move: int) -> int:
        return {"e4d5": 100, "d1d5": -800}.get(position.uci(move), 0)

    def set_hash(self, megabytes: int) -> None:
        self.calls.append(("hash", megabytes))

    def set_threads(self, count: int) -> None:
        self.calls.append(("threads", count))

    def set_evaluation(self, evaluation: object) -> None:
        self.calls.append(("evaluation", evaluation))


class Talk:
    """A session with what it printed."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self.out = io.StringIO()
        self.searcher = FakeSearcher()
        runtime = Runtime.__new__(Runtime)  # all of it but the search
        runtime.searcher = self.searcher  # type: ignore[assignment]
        runtime.evaluation, runtime.weights_file = default(), DEFAULT_FILE
        runtime.terms, runtime.net_file = runtime.evaluation, None
        runtime.own_book, runtime.book, runtime.tables, runtime.probe_depth = False, None, None, DEFAULT_PROBE_DEPTH
        runtime.is_limited, runtime.elo = False, DEFAULT_ELO
        self.session = session.Session(runtime, terminal or Terminal(), self.out)

    def say(self, *lines: str) -> str:
        """What comes back when these lines are typed one after the other."""
        self.out.seek(0)
        self.out.truncate()
        for line in lines:
            assert loop.dispatch(self.session, line) is None
        return self.out.getvalue()

    @property
    def moves(self) -> list[str]:
        return [self.session.position.uci(move) for move in self.session.position.moves]
