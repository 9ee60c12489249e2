"""What is asked of the learner, and who is told how it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from learn.fit import Step
from learn.learning import Settings
from learn.positions import Selection

Say = Callable[[str], object]


def _nobody(*_: object) -> None:
    """Is told, and does not listen."""


@dataclass(frozen=True)
class Events:
    """Who is told what while learning goes on.

    `say` gets each line for people. `progressed` gets what is being done and which share is done, 0 to 1, or None where
    that is not known. `stands` gets the state of the match, several times a second. `stepped` gets each step of
    the fit.
    """

    say: Say = _nobody
    progressed: Callable[[str, float | None], object] = _nobody
    stands: Callable[[str], object] = _nobody
    stepped: Callable[[Step], object] = _nobody


@dataclass(frozen=True)
class LearnRequest:
    """What to learn from, how, and what to leave on the disk.

    `weights` is the file to start from and to rewrite, None for the one in use; `out` takes the new weights instead.
    `rescore` is how many nodes each position is searched for its score, where the settings' target needs one, None for
    the scores that come with the files. `csv` and `record` are files; None for no table, and for the record beside the
    weights.
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
    plays_match: bool = True  # of the new weights against the old, before they are used
    prove: bool = False  # by a longer match that the new weights are stronger
    concurrency: int | None = None  # games of the match at a time; None for one a core
