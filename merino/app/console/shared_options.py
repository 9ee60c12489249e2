"""Options that several commands share, each defined once. Imports nothing heavy."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from merino.app.console.command_line import OUTPUT as _OUTPUT
from merino.app.console.command_line import (
    KeyValues,
    Parser,
    any_number,
    as_read_by,
    file_path,
    hours,
    natural,
    number,
    positive,
    scale,
    share,
    whole,
)
from merino.core.common.command import CommandError, errors_named, from_lab
from merino.core.common.files import write_fault
from merino.core.common.work import ClusterAddress, Needs, RemoteExecutor, WorkError
from merino.engine.search.limits import MAX_HASH_MB, MAX_THREADS, Limits

if TYPE_CHECKING:
    from merino.learn.improve.rounds import RoundPlan

Say = Callable[[str], object]

DEFAULT_TABLE_MB = 64  # of the searches of shell and console, which may last
DEFAULT_POSITION_MS = 1000  # for a position, without another limit
cluster_address = as_read_by(ClusterAddress.read)

EVALUATION, SEARCH, TRAINING = "evaluation", "search", "training"  # titles of groups
OUTPUT = _OUTPUT


def add_weights(parser: Parser, sentence: str = "weights file (default: the weights in use)") -> None:
    """--weights."""
    parser.group(EVALUATION).add_argument("--weights", metavar="FILE", help=sentence)


def add_evaluation(parser: Parser) -> None:
    """--weights and --evalfile."""
    add_weights(parser)
    sentence = "evaluate by this net, a file or a name in weights/, instead of by the terms"
    parser.group(EVALUATION).add_argument("--evalfile", metavar="NET", help=sentence)


def add_k(parser: Parser) -> None:
    """--k."""
    sentence = "scale of the expected score in centipawns (default: that of the weights)"
    parser.group(EVALUATION).add_argument("--k", type=scale, metavar="CP", help=sentence)


def add_limits(
    parser: Parser, per: str, nodes: int | None = None, movetime: int | None = None, group: str = SEARCH
) -> None:
    """--nodes, --depth and --movetime; the help shows the limit that holds without another."""
    add_work_limits(parser, per, nodes, group)
    sentence = f"milliseconds {per}{_without_another(movetime)}"
    parser.group(group).add_argument("--movetime", metavar="MS", type=positive, help=sentence)


def add_work_limits(parser: Parser, per: str, nodes: int | None, group: str) -> None:
    """--nodes and --depth, which mean the same on every machine, as `add_limits`."""
    add = parser.group(group).add_argument
    add("--nodes", metavar="N", type=positive, help=f"nodes {per}{_without_another(nodes)}")
    add("--depth", metavar="N", type=positive, help=f"depth {per} in plies")


def add_search(parser: Parser, nodes: int | None = None, movetime: int | None = None) -> None:
    """The limits of the search of a position, its threads and its table, as `add_limits`."""
    add_limits(parser, "per position", nodes, movetime)
    add_threads(parser)
    add_hash(parser)


def asked_limits(args: argparse.Namespace) -> Limits:
    """The limits of a search that a command line names."""
    return Limits(depth=args.depth, nodes=args.nodes, movetime=args.movetime)


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


def _without_another(limit: int | None) -> str:
    return "" if limit is None else f" (default: {limit} without another limit)"


def add_hash(parser: Parser) -> None:
    """--hash."""
    sentence = "transposition table in MiB (default: %(default)s)"
    parser.group(SEARCH).add_argument(
        "--hash", metavar="MB", type=whole(1, MAX_HASH_MB), default=DEFAULT_TABLE_MB, help=sentence
    )


def add_threads(parser: Parser) -> None:
    """--threads."""
    sentence, kind = "search threads (default: %(default)s)", whole(1, MAX_THREADS)
    parser.group(SEARCH).add_argument("--threads", metavar="N", type=kind, default=1, help=sentence)


def add_concurrency(parser: Parser, unit: str, shown: str = "one per core", cluster: str = "") -> None:
    """--concurrency, or else --cluster, if something is done on it; `--threads` is accepted for --concurrency."""
    group = parser.add_mutually_exclusive_group()
    sentence = f"{unit} at the same time (default: {shown})"
    action = group.add_argument("--concurrency", metavar="N", type=positive, help=sentence)
    parser.also_accept("--threads", action)
    if cluster:
        sentence = f"{cluster} on a Dask cluster, tcp://HOST:PORT, or in N processes, local:N; see 'merino cluster'"
        group.add_argument("--cluster", metavar="ADDRESS", type=cluster_address, help=sentence)


@contextmanager
def cluster_executor(
    address: ClusterAddress | None, command: str, say: Say, needs: Needs
) -> Iterator[RemoteExecutor | None]:
    """The executor of the cluster at an address, None without an address; sentences for the user go to `say`.

    Raises CommandError.
    """
    if address is None:
        yield None
        return
    with errors_named(command, WorkError), from_lab("cluster.session")(address, needs, say) as found:
        yield found.executor


def add_seed(parser: Parser, what: str, group: str | None = None, default: int = 1) -> None:
    """--seed."""
    to = parser if group is None else parser.group(group)
    to.add_argument("--seed", metavar="N", type=natural, default=default, help=f"seed of {what} (default: %(default)s)")


def add_lambda(parser: Parser, group: str) -> None:
    """--lambda."""
    sentence = "share of each score that is made of the scores after it in the game, TD(lambda) (default: 0)"
    parser.group(group).add_argument("--lambda", dest="ahead", type=share, metavar="X", default=0.0, help=sentence)


def add_state(parser: Parser, kind: str = "FILE", default: str = "") -> None:
    """--state; `default` says where a command that always has a state keeps it without the option."""
    sentence = f"keep the state there; the same command continues from it{_by_default(default)}"
    parser.group(OUTPUT).add_argument("--state", type=file_path, metavar=kind, help=sentence)


def add_state_of_runs(parser: Parser, folder: str) -> None:
    """--state of a command that keeps its work in this folder of the user's data."""
    add_state(parser, "FOLDER", f"{folder} in your data folder, on Linux ~/.local/share/merino")


def add_pgn(parser: Parser, default: str = "") -> None:
    """--pgn, which cutechess-cli and fastchess call -pgnout; `default` names the file that is written without it."""
    sentence = f"append the games to this PGN file{_by_default(default)}"
    action = parser.group(OUTPUT).add_argument("--pgn", type=file_path, metavar="FILE", help=sentence)
    parser.also_accept("--pgnout", action)


def add_json(parser: Parser, sentence: str = "print one JSON object") -> None:
    """--json."""
    parser.group(OUTPUT).add_argument("--json", action="store_true", help=sentence)


def add_plot(parser: Parser, what: str) -> None:
    """--plot."""
    sentence = f"draw {what}: .png or .svg (needs the extra 'plots')"
    parser.group(OUTPUT).add_argument("--plot", type=file_path, metavar="FILE", help=sentence)


def add_ascii(parser: Parser) -> None:
    """--ascii."""
    parser.group(OUTPUT).add_argument("--ascii", action="store_true", help="use ASCII characters only")


def add_quiet(parser: Parser) -> None:
    """--quiet."""
    sentence = "print results and errors only, no progress and no remarks"
    parser.group(OUTPUT).add_argument("--quiet", action="store_true", help=sentence)


def unless_quiet(say: Say, is_quiet: bool) -> Say:
    """What prints remarks: `say`, or after --quiet what drops them."""
    return _drop if is_quiet else say


def _drop(_: str) -> None:
    """Say nothing."""


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


def add_deciding_test(parser: Parser, usual: RoundPlan) -> None:
    """--sprt of a run in rounds."""
    sentence = f"bounds in normalised Elo (default: {usual.elo0:g} {usual.elo1:g})"
    add_sprt(parser, "deciding match", sentence, _normalised_elo)


def _normalised_elo(text: str) -> float:
    """A bound of a test in normalised Elo; raises ArgumentTypeError."""
    from merino.match.statistics import MAX_ELO, Model  # noqa: PLC0415 (with NumPy)

    most = MAX_ELO[Model.NORMALIZED]
    return number(-most, most)(text)


def add_sprt(parser: Parser, group: str, sentence: str, kind: Callable[[str], float] = any_number) -> None:
    """--sprt."""
    keys, metavar = ("elo0", "elo1"), ("ELO0", "ELO1")
    to = parser.group(group)
    to.add_argument("--sprt", action=KeyValues, keys=keys, plain=keys, kind=kind, metavar=metavar, help=sentence)


def check_will_end(parser: Parser, args: argparse.Namespace, unit: str) -> None:
    """Raise UsageError if nothing says when to stop."""
    if args.hours is None and getattr(args, unit) is None:
        parser.error(f"give --hours H or --{unit} N; without them it would never end")


def work_kept(command: str, fault: OSError) -> CommandError:
    """The error of a run that could not write, as on a full disk."""
    kept = "the work so far is kept: make room on the disk and start the same command again"
    return CommandError(f"{command}: {write_fault(fault)}; {kept}")
