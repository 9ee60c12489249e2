"""The UCI options: the one table behind the `option` lines, the parser of values, the console and the docs.

Each option is a function that applies a value; its docstring is the sentence that users read. Most act on the engine,
once it is loaded; some act at once, on the dialogue with the GUI. Those that a player of a match may be given have a
word for it. Imports nothing heavy: the table is printed before numba is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

from merino.core.common.about import AUTHOR, NAME, __version__
from merino.core.common.text import did_you_mean
from merino.engine.search.limits import DEFAULT_HASH_MB, DEFAULT_PROBE_DEPTH, MAX_HASH_MB, MAX_THREADS
from merino.engine.search.strength import DEFAULT_ELO, FULL_LEVEL, MAX_ELO, MIN_ELO, at_elo, at_level

if TYPE_CHECKING:
    from merino.engine.search.searcher import Searcher
    from merino.engine.tables.book import Book
    from merino.engine.tables.tablebase import Tables
    from merino.engine.uci.runtime import Runtime
    from merino.eval.evaluation import Evaluation


# What the options that name files open. A disk may be slow: these functions run on threads of their own, and what they
# return is put into use when the engine is idle. What they need of compiled code is loaded or compiled there, too.


def open_weights(name: str) -> Evaluation:
    """What `load_evaluation` makes of `name`, of the one in use if empty; its name is the path."""
    from merino.eval.families import find_weights, load_evaluation  # noqa: PLC0415 (with numba)

    return load_evaluation(find_weights(name or None).absolute())


def open_net(name: str) -> Evaluation | None:
    """The net `name`, none if empty; its name is the path. Raises EvaluationError."""
    from merino.eval.families import load_net  # noqa: PLC0415 (with numba)

    return load_net(name) if name else None


def compiled(evaluation: Evaluation | None) -> Evaluation | None:
    """The same evaluation with its code loaded or compiled, so that it can be put into use at once."""
    from merino.engine.search.state import new_search_record  # noqa: PLC0415 (with numba)

    if evaluation is not None:
        evaluation.install(new_search_record())
    return evaluation


def open_book(name: str) -> Book | None:
    """The book `name`, none if empty; raises BookError and OSError."""
    from merino.core.common.files import user_path  # noqa: PLC0415 (few play with a book of the engine)
    from merino.engine.tables.book import Book  # noqa: PLC0415

    return Book(user_path(name)) if name else None


def open_tablebases(path: str) -> Tables | None:
    """The endgame tables in `path`, none if empty; raises TablebaseError."""
    from merino.engine.tables.tablebase import open_tables  # noqa: PLC0415 (few have the tables)

    return open_tables(path) if path else None


def asked(tables: Tables | None) -> Tables | None:
    """The same tables with the code that a search asks loaded or compiled."""
    from merino.engine.search.state import new_search_record  # noqa: PLC0415 (with numba)

    if tables is not None:
        tables.results.attach(new_search_record())
    return tables


def open_log(name: str) -> BinaryIO | None:
    """The log `name`, open for appending, none if empty; raises OSError."""
    from merino.core.common.files import open_to_append, user_path  # noqa: PLC0415 (few have a log)

    return open_to_append(user_path(name)) if name else None


Value = int | bool | str | None
Apply = Callable[[Any, Any], None]
Open = Callable[[str], object]
Prepare = Callable[[Any], object]

MAX_SEED = 2**31 - 1
EMPTY = "<empty>"  # how UCI writes an empty string
_TRUTHS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class OptionError(ValueError):
    """A `setoption` that cannot be carried out; the message says why."""


class Dialogue(Protocol):
    """The object of options that do not concern the engine: the dialogue with the GUI."""

    chess960: bool  # castling is written as king takes own rook
    show_wdl: bool

    def log_to(self, file: BinaryIO | None) -> None:
        """Append all input and output to an open file; None ends that."""

    def note_opponent(self, opponent: str) -> None:
        """Note the opponent."""


class Limited(Protocol):
    """The object of options of the engine, as far as players of matches have them."""

    is_limited: bool
    elo: int

    @property
    def searcher(self) -> Searcher: ...  # noqa: D102 (a field)


class OptionTarget(Enum):
    """What an option acts on: the engine and its files, the search alone, or the dialogue with the GUI."""

    RUNTIME = "Runtime"
    SEARCHER = "Searcher"
    DIALOGUE = "Dialogue"


class UciOption(NamedTuple):
    """One option. `apply` applies a value to its `target`; if `needs_idle`, only while no search runs.

    Where there is an `opens`, the value names a file or folder. `apply` gets what `opens` makes of it, which may take
    its time, and what `prepares` makes of that, which may compile. `setting` is how a player of a match sets it,
    WORD=UNIT, empty where none can. `shows` is where its target has the present value, such as "level", empty
    where it does not show it.
    """

    name: str
    kind: str  # as UCI calls it: spin, check, string, button
    default: Value
    bounds: tuple[int, int] | None
    needs_idle: bool
    target: OptionTarget
    setting: str
    sentence: str
    apply: Apply
    opens: Open | None = None
    prepares: Prepare | None = None
    shows: str = ""

    @property
    def is_about_dialogue(self) -> bool:
        """Whether it needs no engine."""
        return self.target is OptionTarget.DIALOGUE

    @property
    def is_evaluation(self) -> bool:
        """Whether it names the file of an evaluation."""
        return self.prepares is compiled

    def line(self) -> str:
        """The `option` line that announces it."""
        line = f"option name {self.name} type {self.kind}"
        if self.kind == "button":
            return line
        default = str(self.default).lower() if self.kind == "check" else self.default
        line += f" default {EMPTY if default == '' else default}"
        return line if self.bounds is None else f"{line} min {self.bounds[0]} max {self.bounds[1]}"

    def read(self, text: str) -> Value:
        """The value of `text`, not yet clamped; raises OptionError."""
        if self.kind == "button":
            return None
        if self.kind == "string":
            return "" if text == EMPTY else text
        if not text:
            raise OptionError(f"{self.name} needs a value and stays unchanged")
        if self.kind == "check":
            if text.lower() not in _TRUTHS:
                raise OptionError(f"{self.name} must be true or false, not '{text[:40]}'")
            return _TRUTHS[text.lower()]
        try:
            return int(text)
        except ValueError as error:
            raise OptionError(f"{self.name} must be a number, not '{text[:40]}'") from error

    def clamp(self, value: Value) -> Value:
        """The value clamped to the bounds, if there are any."""
        if self.bounds is None or not isinstance(value, int):
            return value
        return min(max(value, self.bounds[0]), self.bounds[1])

    def apply_to(self, runtime: Limited, value: object) -> None:
        """Apply a value, opened where it names a file, to the engine; for options that are not about the dialogue."""
        self.apply(self._target_of(runtime), value)

    def present(self, runtime: Limited) -> str:
        """The present value in words, empty where the engine does not show it; for options not about the dialogue."""
        if not self.shows:
            return ""
        found: object = self._target_of(runtime)
        for name in self.shows.split("."):
            found = None if found is None else getattr(found, name)
        if isinstance(found, bool):
            return "on" if found else "off"
        return "none" if found is None else str(found)

    def _target_of(self, runtime: Limited) -> object:
        return runtime.searcher if self.target is OptionTarget.SEARCHER else runtime

    def opened(self, value: Value) -> object:
        """What `apply` gets for a value; raises OSError and ValueError where a file cannot be used."""
        return value if self.opens is None else self.opens(str(value))


OPTIONS: dict[str, UciOption] = {}  # by name in lower case


def find(name: str) -> UciOption:
    """The option of this name, in any case; raises OptionError."""
    try:
        return OPTIONS[" ".join(name.lower().split())]
    except KeyError as error:
        hint = did_you_mean(name, (option.name for option in OPTIONS.values()))
        raise OptionError(f"there is no option '{name[:60]}'{hint}") from error


def _option(
    name: str,
    kind: str,
    default: Value = None,
    bounds: tuple[int, int] | None = None,
    needs_idle: bool = False,
    target: OptionTarget = OptionTarget.RUNTIME,
    setting: str = "",
    opens: Open | None = None,
    prepares: Prepare | None = None,
    shows: str = "",
) -> Callable[[Apply], Apply]:
    def register(apply: Apply) -> Apply:
        OPTIONS[name.lower()] = UciOption(
            name,
            kind,
            default,
            bounds,
            needs_idle=needs_idle,
            target=target,
            setting=setting,
            sentence=" ".join((apply.__doc__ or "").split()),
            apply=apply,
            opens=opens,
            prepares=prepares,
            shows=shows,
        )
        return apply

    return register


@_option(
    "Hash", "spin", DEFAULT_HASH_MB, (1, MAX_HASH_MB), needs_idle=True, setting="hash=MB", shows="searcher.hash_mb"
)
def _hash(runtime: Runtime, megabytes: int) -> None:
    """Memory for the transposition table in MiB."""
    runtime.set_hash(megabytes)


@_option("Clear Hash", "button", needs_idle=True, target=OptionTarget.SEARCHER)
def _clear_hash(searcher: Searcher, _: None) -> None:
    """Clear the transposition table and the histories."""
    searcher.clear()


@_option(
    "Threads",
    "spin",
    1,
    (1, MAX_THREADS),
    needs_idle=True,
    target=OptionTarget.SEARCHER,
    setting="threads=N",
    shows="threads",
)
def _threads(searcher: Searcher, count: int) -> None:
    """Search threads."""
    searcher.set_threads(count)


@_option("MultiPV", "spin", 1, (1, 256), target=OptionTarget.SEARCHER, shows="multipv")
def _multipv(searcher: Searcher, count: int) -> None:
    """Number of best moves to report, each with its principal variation."""
    searcher.multipv = count


@_option("Ponder", "check", False)
def _ponder(runtime: Runtime, _: bool) -> None:
    """Shows the GUI that Merino can ponder; the GUI then sends `go ponder`."""


@_option(
    "Move Overhead", "spin", 50, (0, 5000), target=OptionTarget.SEARCHER, setting="overhead=MS", shows="move_overhead"
)
def _move_overhead(searcher: Searcher, milliseconds: int) -> None:
    """Milliseconds reserved at each move for the GUI and the network."""
    searcher.move_overhead = milliseconds


@_option("nodestime", "spin", 0, (0, 10_000), target=OptionTarget.SEARCHER, setting="nodestime=N", shows="nodestime")
def _nodestime(searcher: Searcher, nodes: int) -> None:
    """Nodes that count as a millisecond of the clock, so that games can be repeated on any machine; 0 for real time."""
    searcher.nodestime = nodes


# Three options, one strength: the last one set counts. GUIs like to send all options at once, as they were announced,
# most of them at their defaults; so a UCI_Elo without UCI_LimitStrength and a Skill Level of 20 weaken nothing and
# undo nothing.


@_option("UCI_LimitStrength", "check", False, shows="is_limited")
def _limit_strength(runtime: Limited, is_on: bool) -> None:
    """Limit the playing strength to UCI_Elo. Analysis always has full strength."""
    runtime.is_limited = is_on
    runtime.searcher.strength = at_elo(runtime.elo) if is_on else None


@_option("UCI_Elo", "spin", DEFAULT_ELO, (MIN_ELO, MAX_ELO), setting="elo=N", shows="elo")
def _elo(runtime: Limited, elo: int) -> None:
    """The limited strength in Elo."""
    runtime.elo = elo
    if runtime.is_limited:
        runtime.searcher.strength = at_elo(elo)


@_option("Skill Level", "spin", FULL_LEVEL, (0, FULL_LEVEL), shows="level")
def _skill_level(runtime: Runtime, level: int) -> None:
    """Limit the strength by level: 0 is the lowest UCI_Elo, 19 the highest; 20 leaves it to UCI_LimitStrength."""
    strength = at_level(level)
    runtime.searcher.strength = at_elo(runtime.elo) if strength is None and runtime.is_limited else strength


@_option("Seed", "spin", 0, (0, MAX_SEED), target=OptionTarget.SEARCHER, setting="seed=N", shows="seed")
def _seed(searcher: Searcher, seed: int) -> None:
    """Seed of what is drawn by chance, from the book and in weakened play; 0 for another game each time."""
    searcher.seed = seed


@_option("UCI_ShowWDL", "check", False, target=OptionTarget.DIALOGUE)
def _show_wdl(dialogue: Dialogue, is_on: bool) -> None:
    """Add expected wins, draws and losses per thousand games to each score."""
    dialogue.show_wdl = is_on


@_option("UCI_AnalyseMode", "check", False, target=OptionTarget.SEARCHER, shows="is_analysing")
def _analyse_mode(searcher: Searcher, is_on: bool) -> None:
    """Analysis mode: full strength and no book."""
    searcher.is_analysing = is_on


@_option("UCI_Chess960", "check", False, target=OptionTarget.DIALOGUE)
def _chess960(dialogue: Dialogue, is_on: bool) -> None:
    """Chess960: castling moves are written as king takes own rook."""
    dialogue.chess960 = is_on


@_option("OwnBook", "check", False, shows="own_book")
def _own_book(runtime: Runtime, is_on: bool) -> None:
    """Play from the book in BookFile, except in analysis and when pondering."""
    runtime.own_book = is_on


@_option("BookFile", "string", "", opens=open_book, shows="book.file")
def _book_file(runtime: Runtime, book: Book | None) -> None:
    """Polyglot opening book (.bin)."""
    runtime.book = book


@_option("SyzygyPath", "string", "", opens=open_tablebases, prepares=asked, shows="tables.path")
def _syzygy_path(runtime: Runtime, tables: Tables | None) -> None:
    """Folders of Syzygy tablebases. The search asks them, and a known win or draw is never thrown away."""
    runtime.tables = tables


@_option("SyzygyProbeDepth", "spin", DEFAULT_PROBE_DEPTH, (1, 100), shows="probe_depth")
def _syzygy_probe_depth(runtime: Runtime, depth: int) -> None:
    """Depth of the nodes from which the search asks the tablebases, right after a capture or pawn move."""
    runtime.probe_depth = depth


@_option("WeightsFile", "string", "", needs_idle=True, opens=open_weights, prepares=compiled, shows="weights_file")
def _weights_file(runtime: Runtime, terms: Evaluation) -> None:
    """Weights file of the evaluation, or the name of one in weights/; empty for the weights in use elsewhere."""
    runtime.use_weights(terms)


@_option("EvalFile", "string", "", needs_idle=True, opens=open_net, prepares=compiled, shows="net_file")
def _eval_file(runtime: Runtime, net: Evaluation | None) -> None:
    """Net that evaluates instead of the terms: a file, or the name of one in weights/; empty for the terms."""
    runtime.use_net(net)


@_option("Debug Log File", "string", "", target=OptionTarget.DIALOGUE, opens=open_log)
def _debug_log_file(dialogue: Dialogue, file: BinaryIO | None) -> None:
    """Log file: all input (>>) and output (<<) is appended to it, each line with the time."""
    dialogue.log_to(file)


@_option("UCI_Opponent", "string", "", target=OptionTarget.DIALOGUE)
def _opponent(dialogue: Dialogue, name: str) -> None:
    """Name of the opponent; it changes nothing."""
    dialogue.note_opponent(name)


@_option("UCI_EngineAbout", "string", f"{NAME} {__version__} by {AUTHOR}, free software under GPL-3.0-or-later")
def _about(runtime: Runtime, _: str) -> None:
    """Name, version, author and licence; setting it changes nothing."""
