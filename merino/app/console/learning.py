"""Runs `learn` and `improve` and shows their lines and progress; the same at the console and in a shell."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TextIO

from merino.app.console import shared
from merino.app.console.learn_options import (
    LearnArguments,
    chosen_terms,
    improve_parser,
    is_standard_input,
    learn_parser,
    read_arguments,
    set_in_use,
)
from merino.core.common.command import CommandError
from merino.core.common.files import user_folder
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.terminal import LivePrinter, Progress
from merino.core.common.text import as_word
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.sets import set_named
from merino.formats.sources import SourceError
from merino.learn.errors import LearnStoppedError
from merino.learn.improve.learner import DEFAULT_FOLDER, ImproveState, Plan, begin
from merino.learn.improve.rounds import Finished, Until, described
from merino.learn.positions import Quiet
from merino.learn.procedure import LearnResult, learn_from_files, use_weights
from merino.learn.request import Events, Say
from merino.match.games import MatchError
from merino.match.prove import GAIN, StrengthTest


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
    return result.outcome.written if result.outcome.in_use else None


def carry_out(args: LearnArguments, say: Say, trial: StrengthTest = GAIN, command: str = "merino learn") -> LearnResult:
    """Learn, or put earlier results in use; lines go to `say`, output for programs to standard output.

    `command` is the name of the command for messages. Raises CommandError.
    """
    stream = shared.progress_stream(args.is_quiet)
    try:
        with shown(shared.unless_quiet(say, args.is_quiet), stream) as events:
            if args.use is not None:
                result = use_weights(args.use, args.request.weights, events.say)
            else:
                result = learn_from_files(args.request, events, trial, command)
    except LearnStoppedError as error:
        raise StoppedError(f"learn: {error}") from error
    except (SourceError, EvaluationError, MatchError) as error:
        raise CommandError(f"learn: {error}") from error
    if args.as_json:
        print(for_machines(result), end="")
    elif args.is_quiet:
        say(_in_a_line(result))
    return result


def _in_a_line(result: LearnResult) -> str:
    """The result if nothing else is printed: the verdict, and the file of the new weights if there is one."""
    outcome = result.outcome
    if outcome.written is None:
        return f"{outcome.verdict}: the weights are unchanged"
    return f"{outcome.verdict}: the new weights are in '{outcome.written}'{'' if outcome.in_use else ', not in use'}"


def for_machines(result: LearnResult) -> str:
    """The output for programs; empty if nothing was learned."""
    return "" if result.summary is None else json.dumps(result.summary.as_json()) + "\n"


@contextmanager
def shown(say: Say, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Events]:
    """Lines go to `say`; progress and the state of a match to `stream` (standard error if None), until the next line.

    A context manager; when it ends, nothing of them is left on a terminal.
    """
    progress, match_state = Progress(stream, clock), LivePrinter(stream)

    def wipe() -> None:
        progress.wipe()
        match_state.wipe()

    def say_line(line: str) -> None:
        wipe()
        say(line)

    try:
        yield Events(say_line, progress, match_state)
    finally:
        wipe()


def improve(words: Sequence[str], say: Say, command: str = "merino improve") -> Finished[ImproveState]:
    """Carry out what follows `command`; raises CommandError, and SystemExit after printing the help.

    Lines go to `say`, progress to standard error.
    """
    parser = improve_parser(command)
    args = parser.parse_args(list(words))
    shared.check_will_end(parser, args, "rounds")
    if args.of_set is not None and args.weights is not None:
        parser.error("--set starts from the pieces alone; leave out --weights")
    folder = args.state or user_folder("data") / DEFAULT_FOLDER
    try:
        with shown(shared.unless_quiet(say, args.quiet), shared.progress_stream(args.quiet)) as events:
            until = Until(args.hours, args.rounds)
            found = begin(folder, args.weights, _asked(args, parser), until, events, args.concurrency, args.of_set)
    except (SourceError, EvaluationError, MatchError) as error:
        raise CommandError(f"improve: {error}") from error
    except OSError as error:
        raise shared.work_kept("improve", error) from error
    _report(found, say, command)
    return found


def _asked(args: argparse.Namespace, parser: shared.Parser) -> dict[str, Any]:
    """The settings of the Plan that were given."""
    asked = {each.name: getattr(args, each.name, None) for each in fields(Plan)}
    if "target" in args:
        asked["share"] = args.target.share
    if asked["positions"] is not None:
        asked["positions"] = Quiet(args.positions)
    if args.sprt is not None:
        asked |= dict(zip(("elo0", "elo1"), args.sprt, strict=True))
    if args.terms is not None:
        terms = set_in_use(args.weights, "improve") if args.of_set is None else set_named(args.of_set)
        chosen = chosen_terms(args.terms, terms, parser)
        if "names" in chosen:
            parser.error("--terms takes one range here, such as 6-27")
        asked |= chosen
    return {name: value for name, value in asked.items() if value is not None}


def _report(found: Finished[ImproveState], say: Say, command: str) -> None:
    """The summary at the end of a run."""
    say(f"{described(found.state)}; the best weights are in '{found.best}'.")
    if found.interrupted:
        say(f"Stopped; '{command}' with the same options continues.")
    elif found.state.rounds and command.startswith("merino"):
        say(f"To draw it: merino plot {as_word(found.best.parent)}")
