"""`merino improve`: learn the weights from games of its own, round after round."""

from __future__ import annotations

from collections.abc import Sequence

from merino.inner.app.console.improving import improve
from merino.inner.core.common.interrupt import INTERRUPTED


def run_improve(words: Sequence[str]) -> int:
    """The command `improve`: 0, or 130 after Ctrl-C; raises CommandError."""
    found = improve(words, lambda line: print(line, flush=True))
    return INTERRUPTED if found.interrupted else 0
