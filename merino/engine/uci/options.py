"""The UCI options: the one table behind the `option` lines, the parser of values, the console and the docs.

Most options act on the engine, once it is loaded; some act at once, on the dialogue with the GUI. Those that a player
of a match may be given have a word for it. Imports nothing heavy: the table is printed before numba is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from merino.core.common.about import AUTHOR, NAME, __version__
from merino.core.common.errors import whole_in
from merino.core.common.text import did_you_mean
from merino.engine.search.limits import DEFAULT_HASH_MB, DEFAULT_PROBE_DEPTH, MAX_HASH_MB, MAX_THREADS
from merino.engine.search.strength import DEFAULT_ELO, FULL_LEVEL, MAX_ELO, MIN_ELO, at_elo, at_level

if TYPE_CHECKING:
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

MAX_SEED = 2**31 - 1
EMPTY = "<empty>"  # how UCI writes an empty string
_TRUTHS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class OptionError(ValueError):
    """A `setoption` that cannot be carried out; the message says why."""


# What an option acts on: the engine and its files, the search alone, or the dialogue with the GUI.
RUNTIME, SEARCHER, DIALOGUE = "runtime", "searcher", "dialogue"


class UciOption(NamedTuple):
    """One option. If `needs_idle`, it is applied only while no search runs.

    `sets` is what its value does to the target: "multipv" is the attribute that gets it, "clear()" a method that is
    called with it, "" for nothing, or a function is called with target and value. Where there is an `opens`, the value
    names a file or folder: what counts is what `opens` makes of it, which may take its time, and what `prepares` makes
    of that, which may compile. `setting` is how a player of a match sets it, WORD=UNIT, empty where none can. `shows`
    is where its target has the present value, such as "level", where that is not the attribute itself.
    """

    name: str
    kind: str  # as UCI calls it: spin, check, string, button
    default: Value
    bounds: tuple[int, int] | None
    target: str  # RUNTIME, SEARCHER or DIALOGUE
    sets: str | Apply
    sentence: str
    needs_idle: bool = False
    setting: str = ""
    opens: Callable[[str], object] | None = None
    prepares: Callable[[Any], object] | None = None
    shows: str = ""

    @property
    def is_about_dialogue(self) -> bool:
        """Whether it needs no engine."""
        return self.target == DIALOGUE

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
            return whole_in(text)
        except ValueError as error:
            raise OptionError(f"{self.name} must be a number, not '{text[:40]}'") from error

    def clamp(self, value: Value) -> Value:
        """The value clamped to the bounds, if there are any."""
        if self.bounds is None or not isinstance(value, int):
            return value
        return min(max(value, self.bounds[0]), self.bounds[1])

    def apply_to(self, owner: Any, value: object) -> None:
        """Apply a value, opened where it names a file, to the engine, or to the dialogue where it is about that."""
        target = self._target_of(owner)
        if callable(self.sets):
            self.sets(target, value)
        elif self.sets.endswith("()"):
            getattr(target, self.sets[:-2])(value)
        elif self.sets:
            setattr(target, self.sets, value)

    def present(self, runtime: Any) -> str:
        """The present value in words, empty where the engine does not show it; for options not about the dialogue."""
        shows = self.shows or self.sets
        if not isinstance(shows, str) or not shows or shows.endswith("()"):
            return ""
        found: object = self._target_of(runtime)
        for name in shows.split("."):
            found = None if found is None else getattr(found, name)
        if isinstance(found, bool):
            return "on" if found else "off"
        return "none" if found is None else str(found)

    def _target_of(self, owner: Any) -> Any:
        return owner.searcher if self.target == SEARCHER else owner

    def opened(self, value: Value) -> object:
        """What `apply` gets for a value; raises OSError and ValueError where a file cannot be used."""
        return value if self.opens is None else self.opens(str(value or ""))


def find(name: str) -> UciOption:
    """The option of this name, in any case; raises OptionError."""
    try:
        return OPTIONS[" ".join(name.lower().split())]
    except KeyError as error:
        hint = did_you_mean(name, (option.name for option in OPTIONS.values()))
        raise OptionError(f"there is no option '{name[:60]}'{hint}") from error


# Three options, one strength: the last one set counts. GUIs like to send all options at once, as they were announced,
# most of them at their defaults; so a UCI_Elo without UCI_LimitStrength and a Skill Level of 20 weaken nothing and
# undo nothing.


def _limit_strength(runtime: Runtime, is_on: bool) -> None:
    runtime.is_limited = is_on
    runtime.searcher.strength = at_elo(runtime.elo) if is_on else None


def _set_elo(runtime: Runtime, elo: int) -> None:
    runtime.elo = elo
    if runtime.is_limited:
        runtime.searcher.strength = at_elo(elo)


def _set_level(runtime: Runtime, level: int) -> None:
    strength = at_level(level)
    runtime.searcher.strength = at_elo(runtime.elo) if strength is None and runtime.is_limited else strength


_ABOUT = f"{NAME} {__version__} by {AUTHOR}, free software under GPL-3.0-or-later"
# fmt: off
_ALL = (
    UciOption("Hash", "spin", DEFAULT_HASH_MB, (1, MAX_HASH_MB), RUNTIME, "set_hash()",
              "Memory for the transposition table in MiB.",
              needs_idle=True, setting="hash=MB", shows="searcher.hash_mb"),
    UciOption("Clear Hash", "button", None, None, SEARCHER, lambda searcher, _: searcher.clear(),
              "Clear the transposition table and the histories.", needs_idle=True),
    UciOption("Threads", "spin", 1, (1, MAX_THREADS), SEARCHER, "set_threads()", "Search threads.",
              needs_idle=True, setting="threads=N", shows="threads"),
    UciOption("MultiPV", "spin", 1, (1, 256), SEARCHER, "multipv",
              "Number of best moves to report, each with its principal variation."),
    UciOption("Ponder", "check", False, None, RUNTIME, "",
              "Shows the GUI that Merino can ponder; the GUI then sends `go ponder`."),
    UciOption("Move Overhead", "spin", 50, (0, 5000), SEARCHER, "move_overhead",
              "Milliseconds reserved at each move for the GUI and the network.", setting="overhead=MS"),
    UciOption("nodestime", "spin", 0, (0, 10_000), SEARCHER, "nodestime",
              "Nodes that count as a millisecond of the clock, so that games can be repeated on any machine; "
              "0 for real time.", setting="nodestime=N"),
    UciOption("UCI_LimitStrength", "check", False, None, RUNTIME, _limit_strength,
              "Limit the playing strength to UCI_Elo. Analysis always has full strength.", shows="is_limited"),
    UciOption("UCI_Elo", "spin", DEFAULT_ELO, (MIN_ELO, MAX_ELO), RUNTIME, _set_elo,
              "The limited strength in Elo.", setting="elo=N", shows="elo"),
    UciOption("Skill Level", "spin", FULL_LEVEL, (0, FULL_LEVEL), RUNTIME, _set_level,
              "Limit the strength by level: 0 is the lowest UCI_Elo, 19 the highest; "
              "20 leaves it to UCI_LimitStrength.", shows="level"),
    UciOption("Seed", "spin", 0, (0, MAX_SEED), SEARCHER, "seed",
              "Seed of what is drawn by chance, from the book and in weakened play; 0 for another game each time.",
              setting="seed=N"),
    UciOption("UCI_ShowWDL", "check", False, None, DIALOGUE, "show_wdl",
              "Add expected wins, draws and losses per thousand games to each score."),
    UciOption("UCI_AnalyseMode", "check", False, None, SEARCHER, "is_analysing",
              "Analysis mode: full strength and no book."),
    UciOption("UCI_Chess960", "check", False, None, DIALOGUE, "chess960",
              "Chess960: castling moves are written as king takes own rook, as they are wherever a FEN needs it."),
    UciOption("OwnBook", "check", False, None, RUNTIME, "own_book",
              "Play from the book in BookFile, except in analysis and when pondering."),
    UciOption("BookFile", "string", "", None, RUNTIME, "book", "Polyglot opening book (.bin).",
              opens=open_book, shows="book.file"),
    UciOption("SyzygyPath", "string", "", None, RUNTIME, "tables",
              "Folders of Syzygy tablebases. The search asks them, and a known win or draw is never thrown away.",
              opens=open_tablebases, prepares=asked, shows="tables.path"),
    UciOption("SyzygyProbeDepth", "spin", DEFAULT_PROBE_DEPTH, (1, 100), RUNTIME, "probe_depth",
              "Depth of the nodes from which the search asks the tablebases, right after a capture or pawn move."),
    UciOption("WeightsFile", "string", "", None, RUNTIME, "use_weights()",
              "Weights file of the evaluation, or the name of one in weights/; empty for the weights in use elsewhere.",
              needs_idle=True, opens=open_weights, prepares=compiled, shows="weights_file"),
    UciOption("EvalFile", "string", "", None, RUNTIME, "use_net()",
              "Net that evaluates instead of the terms: a file, or the name of one in weights/; empty for the terms.",
              needs_idle=True, opens=open_net, prepares=compiled, shows="net_file"),
    UciOption("Debug Log File", "string", "", None, DIALOGUE, lambda session, file: session.output.log_to(file),
              "Log file: all input (>>) and output (<<) is appended to it, each line with the time.", opens=open_log),
    UciOption("UCI_EngineAbout", "string", _ABOUT, None, RUNTIME, "",
              "Name, version, author and licence; setting it changes nothing."),
)
# fmt: on
OPTIONS = {option.name.lower(): option for option in _ALL}
