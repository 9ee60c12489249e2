"""Communication with other engines: python-chess's two protocols with a stopwatch; hash and threads of an engine.

The time of a move runs from the line `go` to the line with the move. It excludes what comes before, such as
`ucinewgame` and clearing the hash, and the time until this process learns of an answer on another thread.
"""

from __future__ import annotations

import logging
import time

import chess.engine

from match.time_control import HASH_MB

# Engines print much; what matters becomes a fault with its reason, and the live line stays intact.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)

HASH_OPTIONS = ("Hash", "memory")  # the second in the XBoard protocol
THREAD_OPTIONS = ("Threads", "Number of Threads", "cores")
BOOK_OPTION = "OwnBook"


class _Stopwatch(chess.engine.Protocol):
    """Measures the time of each move."""

    began = ended = 0.0
    answer = "bestmove"

    def send_line(self, line: str) -> None:
        """Send a line; `go` starts the watch."""
        if line.partition(" ")[0] == "go":
            self.began = time.perf_counter()
        super().send_line(line)

    def line_received(self, line: str) -> None:
        """Receive a line before anybody else; a move stops the watch."""
        if line.partition(" ")[0] == self.answer:
            self.ended = time.perf_counter()
        super().line_received(line)

    @property
    def seconds(self) -> float:
        """The time of the last move."""
        return self.ended - self.began


class TimedUci(_Stopwatch, chess.engine.UciProtocol):
    """UCI."""


class TimedXBoard(_Stopwatch, chess.engine.XBoardProtocol):
    """The XBoard protocol, version 2; an engine without `setboard` can play from the first position."""

    answer = "move"
    sets_up = True

    def line_received(self, line: str) -> None:
        """Receive a line. python-chess would reject an engine without `setboard`, whatever it is to play."""
        if self.features.get("setboard") == 0:
            self.sets_up, self.features["setboard"] = False, 1
        super().line_received(line)


def engine_options(
    engine: chess.engine.SimpleEngine, hash_mb: int | None, threads: int | None, usual_hash: int | None
) -> dict[str, chess.engine.ConfigValue]:
    """The options that give an engine its hash and threads, and no book of its own.

    If `hash_mb` or `threads` is None, the engine gets `usual_hash` (HASH_MB if that is None too) or one thread,
    provided it has an option for it. Raises EngineError if it lacks an option that was asked for.
    """
    found: dict[str, chess.engine.ConfigValue] = {}
    for what, names, wish, usual in (
        ("hash", HASH_OPTIONS, hash_mb, usual_hash or HASH_MB),
        ("threads", THREAD_OPTIONS, threads, 1),
    ):
        known = [name for name in names if name in engine.options]
        if wish is not None and not known:
            raise chess.engine.EngineError(f"it has no option for {what}")
        found |= dict.fromkeys(known, usual if wish is None else wish)
    return found | ({BOOK_OPTION: False} if BOOK_OPTION in engine.options else {})
