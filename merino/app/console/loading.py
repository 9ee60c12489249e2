"""A message for the user while the engine loads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from merino.core.compiled.compiling import WATCH

SLOW_AFTER_SECONDS = 2.5
WHY_IT_IS_SLOW = "Loading the engine. The first start compiles it, which takes half a minute ..."


@contextmanager
def wait_message(out: TextIO) -> Iterator[None]:
    """Say that the engine is loading if the block takes longer than SLOW_AFTER_SECONDS."""

    def show() -> None:
        if WATCH.has_shown:
            return  # the progress of the compiler says more
        out.write(f"{WHY_IT_IS_SLOW}\n")
        out.flush()

    timer = threading.Timer(SLOW_AFTER_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
