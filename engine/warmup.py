"""Get every compiled entry that play needs, from the cache or by compiling it."""

import time

from engine.cache import remove_stale
from engine.game import Position
from engine.jit import CACHE
from engine.search.limits import Limits
from engine.search.searcher import Searcher


def warm_up() -> float:
    """Load or compile all that a game needs; returns the seconds it took.

    What is compiled here is in the cache for the next start of any Merino with the same sources.
    """
    began = time.perf_counter()
    position = Position("r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 0 1")
    position.push_uci("e1g1")
    position.pop()
    position.outcome()
    Searcher(hash_mb=1).search(position, Limits(depth=2))
    if CACHE is not None:
        remove_stale(CACHE)
    return time.perf_counter() - began
