"""A word to the person who waits while the engine is loaded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.compiled.compiling import WATCH

SLOW_AFTER_SECONDS = 2.5
WHY_IT_IS_SLOW = "Loading the engine. The first start compiles it: a minute, once ..."


@contextmanager
def patience(out: TextIO) -> Iterator[None]:
    """Say that the engine is being loaded, if the block takes so long that a person wonders."""

    def tell() -> None:
        if WATCH.has_told:
            return  # the compiler's own progress says more
        out.write(f"{WHY_IT_IS_SLOW}\n")
        out.flush()

    timer = threading.Timer(SLOW_AFTER_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
