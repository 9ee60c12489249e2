"""The command `learn` for somebody who looks on: read, carried out, its lines and its progress shown.

At the console and in a shell; those who type it see the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from engine.common.command import CommandError, UsageError
from engine.common.interrupt import INTERRUPTED
from engine.common.live_line import LivePrinter
from engine.common.progress import ProgressOfMany
from eval.evaluation import EvaluationError
from formats.sources import STANDARD_INPUT, SourceError
from learn.errors import CommandLineError, LearnStoppedError
from learn.options import HELP, Order, help_text, read_order
from learn.procedure import LearnResult, learn_from_files, use_weights
from learn.request import Events
from learn.tables import as_csv
from match.prove import NOT_WEAKER, Trial

Say = Callable[[str], object]


class StoppedError(CommandError):
    """Ctrl-C where there was nothing yet to keep; the message says how things stand."""

    exit_code = INTERRUPTED


def learn_weights(arguments: Sequence[str], say: Say, trial: Trial = NOT_WEAKER) -> Path | None:
    """Carry out a `learn` command typed at the console; the file of new weights if they are in use now.

    Each line goes to `say`, what is for machines to standard output. `trial` is the match that decides whether new
    weights are used, if no other is asked for. Raises CommandError.
    """
    if HELP & set(arguments):
        say(help_text())
        return None
    if str(STANDARD_INPUT) in arguments:
        raise CommandError("learn: '-' is standard input, which the console reads: name a file")
    order = read(arguments)
    result = carry_out(order, say, trial, "learn")
    print(for_machines(order, result), end="")
    return result.outcome.written if result.outcome.in_use else None


def read(arguments: Sequence[str]) -> Order:
    """The command as read; raises UsageError."""
    try:
        return read_order(arguments)
    except CommandLineError as error:
        raise UsageError(str(error)) from error


def carry_out(order: Order, say: Say, trial: Trial = NOT_WEAKER, command: str = "merino learn") -> LearnResult:
    """Learn, or put in use what was learned before; `command` is how one calls `learn`. Raises CommandError."""
    try:
        with shown(say) as events:
            if order.use is not None:
                return use_weights(order.use, order.request.weights, events.say)
            return learn_from_files(order.request, events, trial, command)
    except LearnStoppedError as error:
        raise StoppedError(f"learn: {error}") from error
    except (SourceError, EvaluationError) as error:
        raise CommandError(f"learn: {error}") from error


def for_machines(order: Order, result: LearnResult) -> str:
    """What is to be printed for programs: nothing, if nothing was asked for."""
    if result.summary is None:
        return ""
    if order.as_json:
        return json.dumps(result.summary.as_json()) + "\n"
    return as_csv(result.summary) if order.as_csv else ""


@contextmanager
def shown(say: Say, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Events]:
    """Lines go to `say`; progress and the state of a match to `stream` (standard error if None), until the next line.

    A context, at whose end nothing of those is left on a terminal.
    """
    progress, stands = ProgressOfMany(stream, clock), LivePrinter(stream)

    def wipe() -> None:
        progress.wipe()
        stands.end()

    def tell(line: str) -> None:
        wipe()
        say(line)

    try:
        yield Events(tell, progress, stands)
    finally:
        wipe()
