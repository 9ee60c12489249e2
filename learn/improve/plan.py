"""The plan of a run of `improve`: the settings of its rounds, the same throughout the life of its folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.linear.sets import set_named
from merino.inner.learn.errors import LearnError
from merino.inner.learn.positions import Quiet, Selection
from merino.inner.learn.rounds.plan import RoundPlan
from merino.inner.learn.settings import Settings
from merino.inner.learn.targets import Target


@dataclass(frozen=True)
class Plan(RoundPlan):
    """The settings of a run.

    `phases` is the number of values of a weight; terms `first` to `last` of the set named `set` may move, to its end if
    `last` is None. At most `per_game` positions of a game are used, None for all; `positions` is the treatment of those
    where a capture changes the score.
    """

    phases: int = 2
    first: int = 1
    last: int | None = None
    positions: Quiet = Quiet.ANY
    per_game: int | None = None
    set: str = TERMS.name

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
        return Selection(quiet=self.positions, per_game=self.per_game)
