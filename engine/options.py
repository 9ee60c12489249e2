"""The UCI options: one table, from which the `option` lines, the reading of values and the help are made.

Each option is a function that puts a value into effect; its docstring is the sentence users read. Imports nothing
heavy: the table is printed before numba is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from engine import AUTHOR, NAME, __version__

if TYPE_CHECKING:
    from engine.runtime import Runtime

Value = int | bool | str | None
Apply = Callable[["Runtime", Any], None]

DEFAULT_HASH = 16  # MiB
EMPTY = "<empty>"  # how UCI writes an empty string
_TRUTHS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class OptionError(ValueError):
    """A `setoption` that cannot be followed; the message says why."""


class Option(NamedTuple):
    """One option. `apply` puts a value into effect; where `needs_idle`, only while no search runs."""

    name: str
    kind: str  # as UCI calls it: spin, check, string, button
    default: Value
    bounds: tuple[int, int] | None
    needs_idle: bool
    sentence: str
    apply: Apply

    def line(self) -> str:
        """The `option` line that announces it."""
        line = f"option name {self.name} type {self.kind}"
        if self.kind == "button":
            return line
        default = str(self.default).lower() if self.kind == "check" else self.default
        line += f" default {EMPTY if default == '' else default}"
        return line if self.bounds is None else f"{line} min {self.bounds[0]} max {self.bounds[1]}"

    def read(self, text: str) -> Value:
        """The value `text` means, not yet clamped; raises OptionError."""
        if self.kind == "button":
            return None
        if self.kind == "string":
            return "" if text == EMPTY else text
        if not text:
            raise OptionError(f"{self.name} needs a value; it stays as it is")
        if self.kind == "check":
            if text.lower() not in _TRUTHS:
                raise OptionError(f"{self.name} is true or false, not '{text[:40]}'")
            return _TRUTHS[text.lower()]
        try:
            return int(text)
        except ValueError as error:
            raise OptionError(f"{self.name} is a number, not '{text[:40]}'") from error

    def clamp(self, value: Value) -> Value:
        """The value within the bounds, where there are any."""
        if self.bounds is None or not isinstance(value, int):
            return value
        return min(max(value, self.bounds[0]), self.bounds[1])


OPTIONS: dict[str, Option] = {}  # by name in lower case


def find(name: str) -> Option:
    """The option of this name, in any case; raises OptionError."""
    try:
        return OPTIONS[" ".join(name.lower().split())]
    except KeyError as error:
        raise OptionError(f"no option '{name[:60]}'") from error


def _option(
    name: str, kind: str, default: Value = None, bounds: tuple[int, int] | None = None, needs_idle: bool = False
) -> Callable[[Apply], Apply]:
    def register(apply: Apply) -> Apply:
        sentence = " ".join((apply.__doc__ or "").split())
        OPTIONS[name.lower()] = Option(name, kind, default, bounds, needs_idle, sentence, apply)
        return apply

    return register


@_option("Hash", "spin", DEFAULT_HASH, (1, 65536), needs_idle=True)
def _hash(runtime: Runtime, megabytes: int) -> None:
    """Memory for the transposition table in MiB."""
    runtime.set_hash(megabytes)


@_option("Clear Hash", "button", needs_idle=True)
def _clear_hash(runtime: Runtime, _: None) -> None:
    """Forget everything learnt about earlier positions."""
    runtime.searcher.clear()


@_option("Threads", "spin", 1, (1, 256), needs_idle=True)
def _threads(runtime: Runtime, count: int) -> None:
    """How many processor cores the search uses."""
    runtime.searcher.set_threads(count)


@_option("MultiPV", "spin", 1, (1, 256))
def _multipv(runtime: Runtime, count: int) -> None:
    """How many of the best moves are shown, each with its line."""
    runtime.searcher.multipv = count


@_option("Ponder", "check", False)
def _ponder(runtime: Runtime, _: bool) -> None:
    """Tells the GUI that Merino can think on its opponent's time; the GUI then asks for it by `go ponder`."""


@_option("Move Overhead", "spin", 50, (0, 5000))
def _move_overhead(runtime: Runtime, milliseconds: int) -> None:
    """Milliseconds kept back at each move for the GUI and the network."""
    runtime.searcher.move_overhead = milliseconds


@_option("UCI_Chess960", "check", False)
def _chess960(runtime: Runtime, is_on: bool) -> None:
    """Castling moves are written as king takes own rook."""
    runtime.chess960 = is_on


@_option("WeightsFile", "string", "", needs_idle=True)
def _weights_file(runtime: Runtime, name: str) -> None:
    """The file with the 27 weights of the evaluation; empty for the one in use everywhere else."""
    runtime.use_weights(name)


@_option("UCI_EngineAbout", "string", f"{NAME} {__version__} by {AUTHOR}, free software under GPL-3.0-or-later")
def _about(runtime: Runtime, _: str) -> None:
    """Who made this; setting it changes nothing."""
