"""Get every compiled entry that play needs, from the cache or by compiling it."""

import logging
import pickle
import shutil
import time

from engine.cache import remove_stale
from engine.game import Position
from engine.jit import CACHE
from engine.search.limits import Limits
from engine.search.searcher import Searcher

log = logging.getLogger(__name__)

# What reading a cache file that was cut short or overwritten can raise.
_DAMAGE = (EOFError, pickle.UnpicklingError, AttributeError, IndexError, KeyError, RuntimeError, ValueError, OSError)


def warm_up() -> float:
    """Load or compile all that a game needs; returns the seconds it took.

    What is compiled here is in the cache for the next start of any Merino with the same sources.
    """
    began = time.perf_counter()
    try:
        _exercise()
    except _DAMAGE as error:
        if CACHE is None:
            raise
        log.warning(
            "the compiled code in %s cannot be read (%s: %s): compiling anew", CACHE, type(error).__name__, error
        )
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        _exercise()
    if CACHE is not None:
        remove_stale(CACHE)
    return time.perf_counter() - began


def _exercise() -> None:
    """Call every entry that play needs."""
    position = Position("r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 0 1")
    position.push_uci("e1g1")
    position.pop()
    position.outcome()
    Searcher(hash_mb=1).search(position, Limits(depth=2))
