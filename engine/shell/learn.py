"""`merino learn FILE [first last]`: learn the weights from games."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from engine.common.interrupt import INTERRUPTED
from engine.console.learning import carry_out, for_machines, read
from learn.installing import Verdict
from learn.options import HELP, help_text


def run_learn(arguments: Sequence[str]) -> int:
    """The command: 0 whatever became of the new weights, 130 after Ctrl-C; raises CommandError."""
    if HELP & set(arguments):
        print(help_text())
        return 0
    order = read(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr if order.quiet_output else sys.stdout, flush=True)

    result = carry_out(order, say)
    print(for_machines(order, result), end="")
    return INTERRUPTED if result.outcome.verdict in (Verdict.STOPPED, Verdict.INTERRUPTED) else 0
