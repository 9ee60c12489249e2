"""The searchers of the server: used again, so that a thousand searches take no more memory than those at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from merino.inner.app.explorer.fields import RequestError
from merino.inner.engine.search.searcher import Searcher
from merino.inner.eval.evaluation import Evaluation

HASH_MB = 16


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
                searcher = Searcher(HASH_MB, evaluation=evaluation)
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
