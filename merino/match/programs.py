"""The programs of other engines: how they start and end, and how python-chess is told what they say."""

from __future__ import annotations

import logging
import re
import shlex
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import chess.engine
import numpy as np

# Engines print much; what matters becomes a fault with its reason, and the live line stays intact.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)
logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of a program that ends after its event loop

START_SECONDS = 60.0  # for another engine to answer when it starts
POLL_SECONDS = 0.1
STANDARD_OUTPUT = 1  # its file descriptor
END_SECONDS = 1.0  # for a program to end by itself after its output, so that its exit code is known
REFUSAL = re.compile(r"(?!id|info|option).*: *['\"]?uci\b")  # such as "Invalid move: uci"
PERHAPS = "perhaps it speaks UCI only with an option, such as --uci, or XBoard (as a player xboard:COMMAND)"
TYPES = ("check", "spin", "combo", "button", "string")  # of options
NEED_DEFAULT = ("multipv",)  # options that python-chess sets to their default for each move
# Commands of XBoard without which an engine plays all the same, and how it says that it does not know one.
NOT_NEEDED = ("accepted", "rejected", "random", "computer", "post", "nopost", "easy", "hard", "time", "otim")
_UNKNOWN = re.compile(r"\s*Error\s*\([^()]*\)\s*:\s*(\w+)")
GUESSED = ("memory", "cores")  # options of XBoard whose value is not announced; python-chess takes one for theirs
CHESS960_OPTION, CHESS960_VARIANT = "UCI_Chess960", "fischerandom"  # by which an engine says that it plays Chess960
_OPTION = re.compile(r"\s*option\s+name\s+(\S.*?)\s+type\s+(\w+)(.*)")
_FIELD = re.compile(r"\s+(default|min|max|var)(?=\s|$)")


class Program:
    """The program of an engine, which can be ended at any time, also while it starts."""

    def __init__(self, kind: type[chess.engine.Protocol]) -> None:
        self._kind = kind
        self._protocol: chess.engine.Protocol | None = None
        self._has_ended = False

    def start(self, command: Sequence[str]) -> chess.engine.SimpleEngine:
        """The engine, once it has answered; raises OSError, EngineError and TimeoutError.

        It has a process group of its own, so that a Ctrl-C meant for the match does not end the engine first.
        """
        kind = cast(type[chess.engine.Protocol], self)  # python-chess asks it for `popen` alone
        try:
            return chess.engine.SimpleEngine.popen(kind, list(command), timeout=START_SECONDS, setpgrp=True)
        except BaseException:
            self.end()
            raise

    async def popen(self, command: list[str], **settings: Any) -> tuple[Any, chess.engine.Protocol]:
        """What the class of the protocol does, with a note of it for `end`."""
        transport, self._protocol = await self._kind.popen(command, **settings)
        if self._has_ended:
            transport.close()
        return transport, self._protocol

    @property
    def fault(self) -> str:
        """Why it was ended, where that is known; empty otherwise."""
        return self._protocol.fault if isinstance(self._protocol, _Engine) else ""

    def end(self) -> None:
        """End it, now or as soon as it runs; from any thread, and more than once."""
        self._has_ended = True
        if self._protocol is not None and self._protocol.transport is not None:
            with suppress(RuntimeError):  # its event loop is closed, and so is the program
                self._protocol.loop.call_soon_threadsafe(self._protocol.transport.close)

    @contextmanager
    def ended_by(self, stop_flag: np.ndarray) -> Iterator[None]:
        """End it if this flag, uint64[1], is set within the block."""
        is_left = threading.Event()

        def watch() -> None:
            while not is_left.wait(POLL_SECONDS):
                if stop_flag[0]:
                    self.end()
                    return

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            is_left.set()


class _Engine(chess.engine.Protocol):
    """What both protocols have in common here.

    The time of each move is measured from the line `go` to the line with the move. That excludes what comes before,
    such as `ucinewgame` and clearing the hash, and the time until this process learns of an answer on another thread.

    A program that can no longer answer, since it has closed its standard output, is ended; `fault` says so.
    `ignored` is what it announces when it starts, and what is no option that could be set.
    """

    began = ended = 0.0
    answer = "bestmove"
    fault = ""
    is_asked_to_quit = False

    def __init__(self) -> None:
        super().__init__()
        self.ignored: list[str] = []

    def send_line(self, line: str) -> None:
        """Send a line; `go` starts the watch."""
        if line.partition(" ")[0] == "go":
            self.began = time.perf_counter()
        self.is_asked_to_quit |= line == "quit"
        super().send_line(line)

    def announces(self, what: str, line: str) -> bool:
        """Whether a line tells an option or a feature, while the protocol is agreed on."""
        return not self.initialized and line.split(None, 1)[:1] == [what]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Standard output or another pipe has been closed, most often because the program ends."""
        super().pipe_connection_lost(fd, exc)
        if fd == STANDARD_OUTPUT:
            self.loop.call_later(END_SECONDS, self._end_if_it_lives)

    def _end_if_it_lives(self) -> None:
        if self.transport is not None and self.transport.get_returncode() is None and not self.is_asked_to_quit:
            self.fault = "it closed its standard output"
            self.transport.close()

    def line_received(self, line: str) -> None:
        """Receive a line before anybody else; a move stops the watch."""
        if line.split(None, 1)[:1] == [self.answer]:
            self.ended = time.perf_counter()
        super().line_received(line)

    @property
    def seconds(self) -> float:
        """The time of the last move."""
        return self.ended - self.began


class TimedUci(_Engine, chess.engine.UciProtocol):
    """UCI; a program that takes the word `uci` for something else is not waited for."""

    refusal = ""

    @property
    def plays_chess960(self) -> bool:
        """Whether it says so."""
        return CHESS960_OPTION in self.options

    def _line_received(self, line: str) -> None:
        """Receive a line before python-chess, which would reject an engine for one faulty option."""
        if self.command is None or not self.announces("option", line):
            super()._line_received(line)
            return
        try:
            self.command.line_received(line)
        except chess.engine.EngineError:
            option = _option_without_default(line)
            if option is None:
                self.ignored.append(line)
            else:
                self.options[option.name] = option

    def line_received(self, line: str) -> None:
        """Receive a line; end the program if it does not know the protocol."""
        if not self.initialized and REFUSAL.match(line) and self.transport is not None:
            self.refusal = line
            self.transport.close()
        super().line_received(line)

    async def initialize(self) -> None:
        """Agree on the protocol; raises EngineError."""
        try:
            await super().initialize()
        except chess.engine.EngineTerminatedError as error:
            if self.refusal:
                raise chess.engine.EngineError(f"it answers '{self.refusal}'; {PERHAPS}") from error
            raise


class TimedXBoard(_Engine, chess.engine.XBoardProtocol):
    """The XBoard protocol, version 2; an engine without `setboard` can play from the first position."""

    answer = "move"
    sets_up = True

    @property
    def plays_chess960(self) -> bool:
        """Whether it says so."""
        return CHESS960_VARIANT in str(self.features.get("variants", "")).split(",")

    async def initialize(self) -> None:
        """Agree on the protocol; raises EngineError. Options whose value is not known are sent, whatever it is."""
        await super().initialize()
        for name in GUESSED:
            self.config.pop(name, None)

    def _line_received(self, line: str) -> None:
        """Receive a line before python-chess, which would end in an error for one faulty feature or unknown command."""
        unknown = _UNKNOWN.match(line)
        if unknown and unknown[1] in NOT_NEEDED:
            return
        if not self.announces("feature", line):
            super()._line_received(line)
            return
        try:
            features = shlex.split(line)[1:]
        except ValueError:  # quotation marks without an end
            self.ignored.append(line)
            return
        for feature in features:
            try:
                super()._line_received(f"feature {shlex.quote(feature)}")
            except (ValueError, LookupError):
                self.ignored.append(f"feature {feature}")

    def line_received(self, line: str) -> None:
        """Receive a line. python-chess would reject an engine without `setboard`, whatever it is to play."""
        if self.features.get("setboard") == 0:
            self.sets_up, self.features["setboard"] = False, 1
        super().line_received(line)


def _option_without_default(line: str) -> chess.engine.Option | None:
    """The option of a line with an odd default, which it then lacks; None if it is no option at all."""
    found = _OPTION.match(line)
    if found is None or found[2] not in TYPES or found[1].lower() in NEED_DEFAULT:
        return None
    name, kind, rest = found.groups()
    words = _FIELD.split(rest)[1:]
    parts = [(field, value.strip()) for field, value in zip(words[::2], words[1::2], strict=True)]
    values, choices = dict(parts), [value for field, value in parts if field == "var"]
    low, high = (_whole(values.get(field, "")) for field in ("min", "max"))
    default = values.get("default", "")
    if kind == "combo" and default and default not in choices:
        choices.append(default)
    return chess.engine.Option(name, kind, None, low, high, choices)


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
