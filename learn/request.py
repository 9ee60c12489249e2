"""A request to the learner, and the callbacks for its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from merino.inner.learn.fit import Step
from merino.inner.learn.learning import Settings
from merino.inner.learn.positions import Selection

Say = Callable[[str], object]


def _nobody(*_: object) -> None:
    """A callback that does nothing."""


@dataclass(frozen=True)
class Events:
    """Callbacks during learning.

    `say` gets each line for people. `progressed` gets the present work and the share of it that is done, 0 to 1, or
    None if unknown. `match_state` gets the state of the match in words several times a second. `stepped` gets each step
    of the fit.
    """

    say: Say = _nobody
    progressed: Callable[[str, float | None], object] = _nobody
    match_state: Callable[[str], object] = _nobody
    stepped: Callable[[Step], object] = _nobody


@dataclass(frozen=True)
class LearnRequest:
    """The input of the learner, its settings, and its outputs on the disk.

    `weights` is the file to start from and to rewrite, None for the one in use; `out` takes the new weights instead.
    `rescore` is the number of nodes to search each position for its score if the target needs scores; None for the
    scores in the files. `csv` and `record` are files; None for no table, and for a record beside the weights.
    """

    files: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
    selection: Selection = field(default_factory=Selection)
    rescore: int | None = None
    weights: str | None = None
    out: str | None = None
    dry_run: bool = False
    csv: str | None = None
    record: str | None = None
    keep_fen: bool = True
    plays_match: bool = True  # of the new weights against the old before they are used
    prove: bool = False  # by a longer match, before they are used
    concurrency: int | None = None  # games of the match at the same time; None for one per core
