"""`merino learn FILE [first last]` and `merino improve`: learn the weights from games, of anybody or of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from merino.inner.app.console.learn_options import read_arguments
from merino.inner.app.console.learning import carry_out, for_machines, improve
from merino.inner.app.shell.plot import run_plot
from merino.inner.core.common.interrupt import INTERRUPTED
from merino.inner.core.common.user_files import is_there
from merino.inner.learn.installing import Verdict


def run_learn(arguments: Sequence[str]) -> int:
    """The command `learn`: 0 whatever the verdict on the new weights, 130 after Ctrl-C; raises CommandError."""
    if arguments[:1] == ["plot"] and not is_there(Path("plot")):
        return run_plot(arguments[1:])
    args = read_arguments(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr if args.is_for_machines else sys.stdout, flush=True)

    result = carry_out(args, say)
    print(for_machines(args, result), end="")
    return INTERRUPTED if result.outcome.verdict in (Verdict.STOPPED, Verdict.INTERRUPTED) else 0


def run_improve(words: Sequence[str]) -> int:
    """The command `improve`: 0, or 130 after Ctrl-C; raises CommandError."""
    found = improve(words, lambda line: print(line, flush=True))
    return INTERRUPTED if found.interrupted else 0
