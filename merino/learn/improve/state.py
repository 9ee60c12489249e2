"""The settings and the state of a run of `improve`, and its folder.

`best.txt` has the best weights, `start.txt` those at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from merino.core.common.text import counted
from merino.core.common.user_files import is_there
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import IMPROVED, as_mapping, render
from merino.learn.errors import LearnError
from merino.learn.positions import Quiet, Selection
from merino.learn.request import Settings
from merino.learn.rounds.state import TABLE, LoopState, Round, RoundPlan, RunFolder, check_share, read_state
from merino.learn.sample import Target

FORMAT = "merino improve 1"
STATE_NAME = "improve.json"
DEFAULT_FOLDER = "improve"  # of the user's data, for a run that names no other
BEST, START = "best.txt", "start.txt"
_COLUMNS = {
    "round": "",
    "verdict": "",
    "games": "",
    "positions": "",
    "error_before": ".6f",
    "error_after": ".6f",
    "match_games": "",
    "elo": ".1f",
    "elo_error": ".1f",
    "from_start": ".1f",
    "from_start_error": ".1f",
}


@dataclass(frozen=True)
class Plan(RoundPlan):
    """The settings of a run.

    `share` is that of the result in the target, `phases` the number of values of a weight; terms `first` to `last` of
    the set named `set` may move, to its end if `last` is None. At most `per_game` positions of a game are used, None
    for all; `positions` is the treatment of those where a capture changes the score. `terms_version` is the version of
    the set when the run began.
    """

    share: float = 0.5
    phases: int = 2
    first: int = 1
    last: int | None = None
    positions: Quiet = Quiet.ANY
    per_game: int | None = None
    set: str = TERMS.name
    terms_version: str = TERMS.version

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """See RoundPlan."""
        plan = super().from_json(data)
        set_named(plan.set)
        return replace(plan, positions=Quiet(plan.positions))

    def check(self) -> Self:
        """See RoundPlan."""
        last, terms = self.last or len(self.terms), len(self.terms)
        if not 1 <= self.first <= last <= terms:
            raise LearnError(f"terms are numbered 1..{terms}, first before last; not {self.first} {last}")
        if self.phases not in (1, 2):
            raise LearnError(f"a weight has one value or two, not {self.phases}")
        check_share(self.share)
        return super().check()

    @property
    def terms(self) -> TermSet:
        """The set of terms that are learned."""
        return set_named(self.set)

    def settings(self, number: int) -> Settings:
        """The settings of learning in a round."""
        return Settings(
            first=self.first,
            last=self.last,
            phases=self.phases,
            target=Target(self.share),
            decay=None,
            seed=self.seed_of(number, 1),
        ).of_set(self.terms)

    @property
    def selection(self) -> Selection:
        """Which positions of the games are learned from."""
        return Selection(positions=self.positions, per_game=self.per_game)


@dataclass(frozen=True, kw_only=True)
class TermsRound(Round):
    """A finished round: the errors on validation games before and after learning, and the weights learned."""

    error_before: float
    error_after: float
    weights: tuple[float, ...]

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """See Round."""
        found = super().from_json(data)
        return replace(found, weights=tuple(found.weights))


@dataclass(frozen=True, kw_only=True)
class ImproveState(LoopState[Plan, TermsRound]):
    """The finished rounds of a run.

    `weights` are those at the start; `changes_use` says that they were those in use, so that proven weights replace
    them, and `in_use` is the last round for which this was done, 0 for none.
    """

    columns = _COLUMNS

    changes_use: bool
    weights: tuple[float, ...]
    in_use: int = 0

    @property
    def best(self) -> np.ndarray:
        """The best weights so far, of one phase or two."""
        proven = [found.weights for found in self.rounds if found.is_proven]
        return np.array(proven[-1] if proven else self.weights)

    def as_json(self) -> dict[str, Any]:
        """See LoopState."""
        own = {"changes_use": self.changes_use, "in_use": self.in_use, "weights": list(self.weights)}
        return {"format": FORMAT, **super().as_json(), **own}


class Folder(RunFolder[ImproveState]):
    """The folder of a run of `improve`."""

    command, state_name = "improve", STATE_NAME

    @property
    def best(self) -> Path:
        """The file of the best weights."""
        return self.path / BEST

    def read(self, path: Path) -> ImproveState:
        """See RunFolder."""
        return load_state(path)

    def contents(self, state: ImproveState) -> dict[str, bytes]:
        """See RunFolder."""
        best = weights_text(state.best, [f"the best of {counted(len(state.rounds), 'round')}"], state.plan.terms)
        contents = {TABLE: state.table().encode(), BEST: best.encode()}
        if not is_there(self.path / START):
            origin = f"the start, as in {state.start_name}"
            contents[START] = weights_text(np.array(state.weights), [origin], state.plan.terms).encode()
        return contents


def weights_text(weights: np.ndarray, header: list[str], terms: TermSet = TERMS) -> str:
    """The text of a weights file of the run."""
    return render(as_mapping(weights, terms), [f"{IMPROVED} {line}" for line in header], terms)


def load_state(path: Path) -> ImproveState:
    """Read `improve.json`; raises LearnError."""
    with read_state(path, FORMAT, "an improve") as data:
        state = ImproveState(
            plan=Plan.from_json(data["plan"]),
            start_name=str(data["start"]),
            changes_use=bool(data["changes_use"]),
            weights=tuple(data["weights"]),
            rounds=tuple(TermsRound.from_json(found) for found in data["rounds"]),
            in_use=int(data["in_use"]),
            seconds=float(data["seconds"]),
        )
    if len(state.weights) % len(state.plan.terms):
        raise LearnError(f"'{path}' is of an evaluation with other terms: give a new folder")
    return state
