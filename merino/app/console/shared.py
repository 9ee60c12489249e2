"""What the command lines of Merino share: the parser, options that several commands have, and the files they write.

Imports nothing heavy. Help and errors look alike in all commands. Files are checked before the work that leads to
them, so that none of it is lost.
"""

import argparse
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from merino.core.common import command, files, options
from merino.core.common.errors import number_in
from merino.core.common.files import user_path
from merino.core.common.text import did_you_mean
from merino.engine.search.limits import MAX_HASH_MB, MAX_THREADS, Limits

if TYPE_CHECKING:
    from merino.core.common import work
    from merino.formats.sources import LeftOut
    from merino.learn.improve.rounds import RoundPlan

Say = Callable[[str], object]

HELP_COLUMN = 26
DEFAULT_TABLE_MB = 64  # of the searches of shell and console, which may last
DEFAULT_POSITION_MS = 1000  # for a position, without another limit
EVALUATION, SEARCH, TRAINING, OUTPUT = "evaluation", "search", "training", "output"  # titles of groups


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError for a bad command line, and suggests the nearest option.

    `examples` are complete command lines, printed at the end of the help after `notes`.
    """

    def __init__(self, *, examples: Sequence[str] = (), notes: str = "", **settings: Any) -> None:
        settings.setdefault("formatter_class", lambda prog: argparse.HelpFormatter(prog, max_help_position=HELP_COLUMN))
        super().__init__(**settings)
        self.examples, self.notes = tuple(examples), notes
        self._positionals.title = "arguments"
        # argparse takes -5 for a number, but -5,10 for an option.
        self._negative_number_matcher = re.compile(r"-\d[\d.,-]*$|-\.\d+$")
        self._named_groups: dict[str, argparse._ArgumentGroup] = {}

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options with this title; the same object at each call."""
        if title not in self._named_groups:
            self._named_groups[title] = self.add_argument_group(title)
        return self._named_groups[title]

    @property
    def groups(self) -> list[argparse._ArgumentGroup]:
        """The groups of options in the order of the help: output comes last."""
        return sorted(self._action_groups, key=lambda group: group.title == OUTPUT)

    def format_usage(self) -> str:
        """The arguments by name, the options as one word."""
        formatter = self._get_formatter()
        formatter.add_usage(None, self._get_positional_actions(), [], prefix="usage: ")
        return f"usage: {self.usage}\n" if self.usage else f"{formatter.format_help().strip()} [options]\n"

    def format_help(self) -> str:
        """Usage, description, arguments and options, then notes and examples."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        for group in self.groups:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.notes)
        title = "examples" if len(self.examples) > 1 else "example"
        examples = "".join(f"\n  {line}" for line in self.examples)
        return f"{self.format_usage()}\n{formatter.format_help()}" + (f"\n{title}:{examples}\n" if examples else "")

    # Newer Pythons read the whole command line by the second, older ones by the first.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse, but an unknown option is reported before a missing argument."""
        return super().parse_known_args(self._with_known_options(args), namespace)

    def parse_known_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The same where arguments may stand between options."""
        return super().parse_known_intermixed_args(self._with_known_options(args), namespace)

    def _with_known_options(self, args: Sequence[str] | None) -> list[str]:
        words = sys.argv[1:] if args is None else list(args)
        for word in takewhile(lambda word: word != "--" and (self._subparsers is None or word[:1] == "-"), words):
            name, known = word.partition("=")[0], self._option_string_actions
            if re.match("--?[a-zA-Z]", word) and not any(option.startswith(name) for option in known):
                self.error(f"there is no option '{name[:40]}'{did_you_mean(name, known)}")
        return words

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is not among the choices, with the nearest one."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), names)
            raise argparse.ArgumentError(action, f"'{str(value)[:40]}' is not one of {', '.join(names)}{hint}")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, with a pointer to the help."""
        message = message.replace("the following arguments are required:", "missing:")
        message = re.sub(r"^unrecognized arguments: (.*)$", r"unexpected: \1", message)
        hint = "" if "did you mean" in message else f"; see '{self.prog} -h'"
        raise command.UsageError(f"{self.prog.removeprefix('merino ')}: {message}{hint}")


class KeyValues(argparse.Action):
    """An option such as `--resign movecount=3 score=600`: the keys of its metavar in any order, kept as a dict."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the dict; raises ArgumentError."""
        found, wanted = dict(word.split("=", 1) for word in values if "=" in word), self.metavar or ()
        try:
            if found.keys() != {word.partition("=")[0] for word in wanted}:
                raise argparse.ArgumentTypeError(f"expected {' '.join(wanted)}, found '{' '.join(values)[:60]}'")
            setattr(namespace, self.dest, {key: natural(value) for key, value in found.items()})
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error


# Types of options: each reads a text, or raises ArgumentTypeError or UsageError.


def file_path(text: str) -> Path:
    """A file or folder; `~` is the home folder."""
    try:
        return user_path(text)
    except OSError as error:
        raise command.UsageError(f"'{text[:60]}': {error.strerror}") from error


def whole(low: int, high: int = options.MOST) -> Callable[[str], int]:
    """A type of option: a whole number from `low` to `high`."""
    return options.OptionField("", int, False, "", options.Option(None, low, high), None).of_text


def number(low: float, high: float, unit: str = "") -> Callable[[str], float]:
    """A type of option: a number from `low` to `high`, of these units."""
    words = f"{f'of {unit} ' if unit else ''}from {low:.15g} to {high:.15g}"
    return _numbers(words, lambda value: low <= value <= high)


def of(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A type of option: what `read` makes of a text; its ValueError says what is wrong."""

    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def _numbers(words: str, is_allowed: Callable[[float], bool]) -> Callable[[str], float]:
    """A type of option: one of the finite numbers that are allowed, described by `words`."""

    def read(text: str) -> float:
        try:
            value = number_in(text)
        except ValueError:
            value = float("nan")
        if not is_allowed(value):
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number {words}".rstrip())
        return value

    return read


positive, natural = whole(1), whole(0)
cluster_address = of(lambda text: command.loaded(command.LAB_ADDRESS).read(text))
any_number = _numbers("", lambda value: value > float("-inf"))
number_above_zero = _numbers("above 0", lambda value: value > 0)
hours = _numbers("of hours above 0", lambda value: 0 < value < 1e6)
share = _numbers("from 0 to below 1", lambda value: 0 <= value < 1)
share_above_zero = _numbers("above 0 and below 1", lambda value: 0 < value < 1)


# Options.


def add_weights(parser: Parser, sentence: str = "weights file (default: the weights in use)") -> None:
    """--weights."""
    parser.group(EVALUATION).add_argument("--weights", metavar="FILE", help=sentence)


def add_evaluation(parser: Parser, with_k: bool = False) -> None:
    """--weights and --evalfile, perhaps --k."""
    add_weights(parser)
    add = parser.group(EVALUATION).add_argument
    add("--evalfile", metavar="NET", help="evaluate by this net, a file or a name in weights/, instead of by the terms")
    if with_k:
        add_k(parser, "the weights")


def add_k(parser: Parser, whose: str) -> None:
    """--k."""
    sentence = f"scale of the expected score in centipawns (default: that of {whose})"
    parser.group(EVALUATION).add_argument("--k", type=number(1, 1e6), metavar="CP", help=sentence)


def add_judge(parser: Parser, are_several: bool = False) -> None:
    """--judge, of which there may be several."""
    sentence = (
        "who judges: a net or weights, by file or name, 'terms', or the program of a UCI engine "
        "(default: the strongest net that comes with Merino)"
    )
    more: dict[str, Any] = {"action": "append", "default": []} if are_several else {}
    sentence += "; again for each to choose from" if are_several else ""
    parser.group(EVALUATION).add_argument("--judge", metavar="JUDGE", help=sentence, **more)


def add_search(parser: Parser, nodes: int | None = None, movetime: int | None = None, engine: bool = True) -> None:
    """The limits of the search of a position, of which one holds without another, and with `engine` what it runs on."""
    add = parser.group(SEARCH).add_argument
    nodes_usual, ms_usual = (
        f" (default: {limit} without another limit)" if limit else "" for limit in (nodes, movetime)
    )
    add("--nodes", metavar="N", type=positive, help=f"nodes per position{nodes_usual}")
    add("--depth", metavar="N", type=positive, help="depth per position in plies")
    add("--movetime", metavar="MS", type=positive, help=f"milliseconds per position{ms_usual}")
    if engine:
        add_engine(parser)


def add_engine(parser: Parser) -> None:
    """--threads and --hash."""
    add = parser.group(SEARCH).add_argument
    sentence = "search threads (default: %(default)s)"
    add("--threads", metavar="N", type=whole(1, MAX_THREADS), default=1, help=sentence)
    sentence = "transposition table in MiB (default: %(default)s)"
    add("--hash", metavar="MB", type=whole(1, MAX_HASH_MB), default=DEFAULT_TABLE_MB, help=sentence)


def asked_limits(args: argparse.Namespace, otherwise: Limits | None = None) -> Limits:
    """The limits of a search that a command line names; `otherwise`, or none, if it names none."""
    found = Limits(depth=args.depth, nodes=args.nodes, movetime=args.movetime)
    return otherwise if otherwise is not None and found == Limits() else found


def add_shapley(parser: Parser, error: float, sentence: str) -> None:
    """--shapley and --error."""
    from merino.study.shapley import MAX_ERROR, MIN_ERROR  # noqa: PLC0415 (heavy)

    add = parser.group(OUTPUT).add_argument
    add("--shapley", action="store_true", help=sentence)
    kind, sentence = number(MIN_ERROR, MAX_ERROR, "centipawns"), "their standard error (default: %(default)g)"
    add("--error", type=kind, default=error, metavar="CP", help=sentence)


def asked_error(args: argparse.Namespace) -> float | None:
    """The standard error of the Shapley values that are asked for, None if none are."""
    return float(args.error) if args.shapley else None


def _by_default(words: str) -> str:
    return f" (default: {words})" if words else ""


def add_concurrency(parser: Parser, unit: str, shown: str = "one per core", cluster: str = "") -> None:
    """--concurrency, or else --cluster, if something is done on it."""
    group = parser.add_mutually_exclusive_group()
    sentence = f"{unit} at the same time (default: {shown})"
    group.add_argument("--concurrency", metavar="N", type=positive, help=sentence)
    if cluster:
        sentence = f"{cluster} on a Dask cluster, tcp://HOST:PORT, or in N processes, local:N; see 'merino cluster'"
        group.add_argument("--cluster", metavar="ADDRESS", type=cluster_address, help=sentence)


@contextmanager
def cluster_executor(address: Any, say: Say, needs: "work.Needs") -> "Iterator[work.RemoteExecutor | None]":
    """The executor of the cluster at an address, None without an address; sentences for the user go to `say`.

    Raises WorkError.
    """
    if address is None:
        yield None
        return
    with command.loaded(command.LAB_EXECUTOR)(address, needs, say) as found:
        yield found.executor


def add_state(parser: Parser, kind: str = "FILE", default: str = "") -> None:
    """--state; `default` says where a command that always has a state keeps it without the option."""
    sentence = f"keep the state there; the same command continues from it{_by_default(default)}"
    parser.group(OUTPUT).add_argument("--state", type=file_path, metavar=kind, help=sentence)


def add_state_of_runs(parser: Parser, folder: str) -> None:
    """--state of a command that keeps its work in this folder of the user's data."""
    add_state(parser, "FOLDER", f"{folder} in your data folder, on Linux ~/.local/share/merino")


def add_pgn(parser: Parser, default: str = "") -> None:
    """--pgn; `default` names the file that is written without it."""
    sentence = f"append the games to this PGN file{_by_default(default)}"
    parser.group(OUTPUT).add_argument("--pgn", type=file_path, metavar="FILE", help=sentence)


def add_json(parser: Parser, sentence: str = "print one JSON object") -> None:
    """--json."""
    parser.group(OUTPUT).add_argument("--json", action="store_true", help=sentence)


def add_ascii(parser: Parser) -> None:
    """--ascii."""
    parser.group(OUTPUT).add_argument("--ascii", action="store_true", help="use ASCII characters only")


def add_report(parser: Parser, sentence: str = "print one JSON object") -> None:
    """--json and --quiet."""
    add_json(parser, sentence)
    add_quiet(parser)


def add_quiet(parser: Parser) -> None:
    """--quiet."""
    sentence = "print results and errors only, no progress and no remarks"
    parser.group(OUTPUT).add_argument("--quiet", action="store_true", help=sentence)


def for_people(is_json: bool) -> Say:
    """What prints a line for people: on standard error where standard output is for JSON."""
    return lambda line: print(line, file=sys.stderr if is_json else sys.stdout, flush=True)


def unless_quiet(say: Say, is_quiet: bool) -> Say:
    """What prints remarks: `say`, or after --quiet what drops them."""
    return (lambda _: None) if is_quiet else say


def say_left_out(left_out: "LeftOut", is_quiet: bool = False) -> None:
    """Print what readers left out of files on standard error, nothing after --quiet."""
    for line in () if is_quiet else left_out.lines():
        print(line, file=sys.stderr)


class _Nowhere(io.StringIO):
    """A stream that drops what is written to it."""

    def write(self, text: str) -> int:
        return len(text)


def progress_stream(is_quiet: bool) -> TextIO | None:
    """Where progress goes: None for standard error, a stream that drops it after --quiet."""
    return _Nowhere() if is_quiet else None


def add_when_to_stop(parser: Parser, unit: str) -> None:
    """--hours and --rounds, or what else a round is called."""
    add = parser.group("when to stop").add_argument
    add("--hours", type=hours, metavar="H", help="stop after H hours")
    add(f"--{unit}", type=positive, metavar="N", help=f"stop after N {unit}, those of earlier runs included")


def check_will_end(parser: Parser, args: argparse.Namespace, unit: str) -> None:
    """Raise UsageError if nothing says when to stop."""
    if args.hours is None and getattr(args, unit) is None:
        parser.error(f"give --hours H or --{unit} N; without them it would never end")


def add_sprt(parser: Parser, group: str, sentence: str, kind: Callable[[str], float] = any_number) -> None:
    """--sprt, a list of the two bounds."""
    settings: dict[str, Any] = {"type": kind, "nargs": 2, "metavar": ("ELO0", "ELO1")}
    parser.group(group).add_argument("--sprt", **settings, help=sentence)


def add_deciding_test(parser: Parser, usual: "RoundPlan") -> None:
    """--sprt of a run in rounds."""
    from merino.match.statistics import MAX_ELO, Model  # noqa: PLC0415 (with NumPy)

    sentence, most = f"bounds in normalised Elo (default: {usual.elo0:g} {usual.elo1:g})", MAX_ELO[Model.NORMALIZED]
    add_sprt(parser, "deciding match", sentence, number(-most, most))


# Files.


def check_output(path: Path) -> None:
    """Raise CommandError or SourceError if a file cannot be written; what is there stays as it is."""
    from merino.formats import sources  # noqa: PLC0415 (with NumPy)

    with files.writing(command.CommandError, path):
        sources.as_named(path, b"")
        files.check_writable(path)


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise UsageError if an output is an input or another output, CommandError if that cannot be found out."""
    with files.writing(command.CommandError):
        fault = files.overwritten(filter(None, outputs), filter(None, inputs))
    if fault is not None:
        raise command.UsageError(fault)


@contextmanager
def holding_output(path: Path) -> Iterator[None]:
    """Keep other runs from a file for this block; raises CommandError if one has it, or if it cannot be written."""
    check_output(path)
    with files.held_or(command.CommandError, path):
        yield


def write_output(path: Path, content: bytes) -> None:
    """Write a file as a whole, compressed if its name ends so; raises CommandError and SourceError."""
    from merino.formats import sources  # noqa: PLC0415 (with NumPy)

    with files.writing(command.CommandError, path):
        files.write_whole(path, sources.as_named(path, content))


def make_folder(folder: Path) -> None:
    """Make a folder where there is none yet; raises CommandError."""
    with files.writing(command.CommandError, folder):
        files.check_named(folder)
        folder.mkdir(parents=True, exist_ok=True)


def keeping_work() -> AbstractContextManager[None]:
    """Make it a CommandError that a run cannot write, as on a full disk; it says that the work is kept."""
    kept = "the work so far is kept: make room on the disk and start the same command again"
    return files.writing(command.CommandError, after=f"; {kept}")
