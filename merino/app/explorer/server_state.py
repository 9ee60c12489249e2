"""The state of the server while it runs, and its searchers. The page keeps its own state, above all the game."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from merino.app.explorer.evaluations import Evaluations
from merino.app.explorer.fields import RequestError
from merino.app.explorer.game_files import GamesFile
from merino.app.explorer.server_runs import ServerMatch, ServerNight
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import Evaluation
from merino.lab.people.drill import Practice


class Searchers:
    """Lends a searcher to each piece of work. May be used from any thread."""

    def __init__(self) -> None:
        self._idle: list[Searcher] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self, evaluation: Evaluation) -> Iterator[Searcher]:
        """A searcher that evaluates so and knows nothing of earlier searches; raises RequestError without memory."""
        with self._lock:
            searcher = self._idle.pop() if self._idle else None
        if searcher is None:
            try:
                searcher = Searcher(evaluation=evaluation)
            except MemoryError as error:
                raise RequestError("not enough memory for another search") from error
        else:
            searcher.set_evaluation(evaluation)
        searcher.move_overhead, searcher.multipv = 0, 1
        searcher.strength, searcher.is_analysing = None, False
        try:
            yield searcher
        finally:
            searcher.stop()
            searcher.wait()
            with self._lock:
                self._idle.append(searcher)


@dataclass
class ServerState:
    """The evaluations to choose from, what the command line asked for, and what was learned, played and practised last.

    `learned` is the id of the weights that `record` tells of. `practices` are by the file of their progress.
    """

    first_text: str | None = None
    first_is_free: bool = False
    games: GamesFile | None = None
    evaluations: Evaluations = field(default_factory=Evaluations)
    searchers: Searchers = field(default_factory=Searchers)
    record: dict[str, Any] | None = None
    learned: str | None = None
    match: ServerMatch | None = None
    night: ServerNight | None = None
    practices: dict[str, Practice] = field(default_factory=dict)

    def games_file(self) -> GamesFile:
        """The file of games on the command line; raises RequestError without one."""
        if self.games is None:
            raise RequestError("the explorer was started without a file of games")
        return self.games
