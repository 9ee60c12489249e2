"""Runs the command `learn` and shows its lines and progress; the same at the console and in a shell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from merino.inner.app.cluster.address import Needs
from merino.inner.app.console.cluster_option import cluster_executor
from merino.inner.app.console.learn_options import LearnArguments, is_standard_input, learn_parser, read_arguments
from merino.inner.app.console.shared_options import progress_stream, unless_quiet
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.interrupt import INTERRUPTED
from merino.inner.core.common.live_line import LivePrinter
from merino.inner.core.common.progress import ProgressOfMany
from merino.inner.core.common.work import WorkError
from merino.inner.eval.evaluation import EvaluationError
from merino.inner.formats.sources import SourceError
from merino.inner.learn.errors import LearnStoppedError
from merino.inner.learn.procedure import LearnResult, learn_from_files, use_weights
from merino.inner.learn.request import Events, Say
from merino.inner.learn.tables import as_csv
from merino.inner.match.errors import MatchError
from merino.inner.match.prove import GAIN, StrengthTest


class StoppedError(CommandError):
    """Ctrl-C before there was anything to keep; the message says what has been done so far."""

    exit_code = INTERRUPTED


def learn_weights(arguments: Sequence[str], say: Say, trial: StrengthTest = GAIN) -> Path | None:
    """Carry out a `learn` command typed at the console; the file of new weights if they are in use now.

    Each line goes to `say`, output for programs to standard output. `trial` is the match that decides whether new
    weights are used, unless the command chooses another. Raises CommandError.
    """
    if {"-h", "--help"} & set(arguments):
        say(learn_parser("learn").format_help().rstrip())
        return None
    args = read_arguments(arguments, "learn")
    if is_standard_input(args):
        raise CommandError("learn: '-' is standard input, which the console reads; name a file")
    result = carry_out(args, say, trial, "learn")
    print(for_machines(args, result), end="")
    return result.outcome.written if result.outcome.in_use else None


def carry_out(args: LearnArguments, say: Say, trial: StrengthTest = GAIN, command: str = "merino learn") -> LearnResult:
    """Learn, or put earlier results in use; `command` is the name of the command for messages. Raises CommandError."""
    stream = progress_stream(args.is_quiet)
    try:
        with shown(unless_quiet(say, args.is_quiet), stream) as events:
            if args.use is not None:
                result = use_weights(args.use, args.request.weights, events.say)
            else:
                needs = Needs(("learn", "match"))
                with cluster_executor(args.cluster, "learn", events.say, needs) as executor:
                    result = learn_from_files(args.request, events, trial, command, executor)
    except LearnStoppedError as error:
        raise StoppedError(f"learn: {error}") from error
    except (SourceError, EvaluationError, MatchError, WorkError) as error:
        raise CommandError(f"learn: {error}") from error
    if args.is_quiet and not args.is_for_machines:
        say(_in_a_line(result))
    return result


def _in_a_line(result: LearnResult) -> str:
    """The result if nothing else is printed: the verdict, and the file of the new weights if there is one."""
    outcome = result.outcome
    if outcome.written is None:
        return f"{outcome.verdict}: the weights are unchanged"
    return f"{outcome.verdict}: the new weights are in '{outcome.written}'{'' if outcome.in_use else ', not in use'}"


def for_machines(args: LearnArguments, result: LearnResult) -> str:
    """The output for programs; empty if none was requested."""
    if result.summary is None:
        return ""
    if args.as_json:
        return json.dumps(result.summary.as_json()) + "\n"
    return as_csv(result.summary) if args.as_csv else ""


@contextmanager
def shown(say: Say, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Events]:
    """Lines go to `say`; progress and the state of a match to `stream` (standard error if None), until the next line.

    A context manager; when it ends, nothing of them is left on a terminal.
    """
    progress, match_state = ProgressOfMany(stream, clock), LivePrinter(stream)

    def wipe() -> None:
        progress.wipe()
        match_state.end()

    def say_line(line: str) -> None:
        wipe()
        say(line)

    try:
        yield Events(say_line, progress, match_state)
    finally:
        wipe()
