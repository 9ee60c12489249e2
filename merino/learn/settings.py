"""How to learn: the settings of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from merino.core.common.errors import choice, instance, real_number, whole_number
from merino.eval.linear.registry import Term
from merino.learn.errors import LearnError
from merino.learn.loss_and_gradient import Sums
from merino.learn.minimisers import METHODS
from merino.learn.sample import BY_RESULT, Loss
from merino.learn.targets import Target

MAX_NUMBER = 1e9  # of the numbers of a fit
MIN_K, MIN_DECAY, MIN_SAMPLES = 1.0, 0.1, 2  # the last of a bootstrap
MAX_NAMES = 8  # of terms that are listed one by one


@dataclass(frozen=True)
class Settings:
    """How to learn. The terms `first` to `last`, counted from 1, may move; or those in `names`, if there are any.

    `last` is None for the last of the set.

    `decay` is the decay length in plies of the weight of a position, None for equal weight.

    `phases` is the number of values of each weight in the result, 1 or 2, None for as many as at the start.
    `target` is what to predict, a Target or its name, such as "search"; `loss` may be a text, too. With `even_stages`
    all stages of the game have the same weight, and with `ratings` the strength of the players counts where it is
    known. `prior` is the standard deviation of a weight about its start, in units of its size, 0 for no prior, None for
    the default of this number of games. `root_of_sum` shows errors as GreKo 2015 ML did: the root of the weighted sum
    over the number of positions. `resamplings` is the number of bootstrap samples for the intervals; 0 for the sandwich
    formula. With `drop`, terms that tell nothing weigh 0, and the others are fitted again.
    """

    first: int = 6
    last: int | None = None
    phases: int | None = None
    method: str = "gauss-newton"
    loss: Loss = Loss.SQUARED
    decay: float | None = 40.0
    k: float | None = None
    prior: float | None = None
    seed: int = 2015
    split_by_position: bool = False
    root_of_sum: bool = False
    resamplings: int = 0
    target: Target = BY_RESULT
    even_stages: bool = False
    ratings: bool = False
    names: tuple[str, ...] = ()
    drop: bool = False

    def __post_init__(self) -> None:
        whole_number("first", self.first, 1)
        if self.last is not None:
            whole_number("last", self.last, self.first)
        whole_number("seed", self.seed, 0)
        if self.resamplings:
            whole_number("resamplings", self.resamplings, MIN_SAMPLES)
        if self.phases is not None:
            whole_number("phases", self.phases, 1, 2)
        for name, low in (("decay", MIN_DECAY), ("k", MIN_K), ("prior", 0.0)):
            if getattr(self, name) is not None:
                real_number(name, getattr(self, name), low, MAX_NUMBER)
        object.__setattr__(self, "loss", choice("loss", self.loss, Loss))
        if isinstance(self.target, str):
            object.__setattr__(self, "target", Target.read(self.target))
        instance("target", self.target, Target, "a Target, or its name: result, search or blend=X")
        if isinstance(self.names, str):
            raise TypeError(f"names must be a sequence of names of terms, not the text {self.names[:40]!r}")
        instance("names", self.names, Sequence, "a sequence of names of terms")
        if self.ratings and self.method == "descent":
            raise ValueError("descent moves one weight at a time, and knows no ratings: choose another method")
        instance("method", self.method, str, f"one of {', '.join(METHODS)}")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")

    @property
    def moving(self) -> str:
        """The terms that may move: "6..27", or their names, the first ones if they are many."""
        others = len(self.names) - MAX_NAMES
        named = ", ".join(self.names[:MAX_NAMES]) + (f" and {others} more" if others > 0 else "")
        return named or f"{self.first}..{self.last or 'the last'}"

    def places(self, terms: Sequence[Term]) -> np.ndarray:
        """The places in the set of the terms that may move, int64[n]."""
        if self.names:
            return np.flatnonzero([term.name in self.names for term in terms])
        return np.arange(self.first - 1, min(self.last or len(terms), len(terms)))

    def of_set(self, terms: Sequence[Term]) -> Settings:
        """The same for a set, with the number of its last term; raises LearnError if it lacks a term that may move."""
        last = self.last or len(terms)
        if not 1 <= self.first <= last <= len(terms):
            raise LearnError(f"terms are numbered 1..{len(terms)}, first before last; not {self.first} {last}")
        if unknown := set(self.names) - {term.name for term in terms}:
            raise LearnError(f"the weights have no term named {', '.join(sorted(unknown))}")
        return replace(self, last=last)

    def errors(self, sums: Sums) -> tuple[float, float]:
        """Training and validation error, as displayed."""
        if self.root_of_sum:
            train, valid = np.sqrt(sums.loss / sums.rows)
            return float(train), float(valid)
        return sums.train, sums.valid

    def gain_scale(self, before: Sums, after: Sums) -> float:
        """The factor from a fall of the mean validation error to a fall of the displayed error.

        A difference of roots is that of the squares divided by the sum of the roots.
        """
        if not self.root_of_sum:
            return 1.0
        (_, old), (_, new) = self.errors(before), self.errors(after)
        return old**2 / before.valid / (old + new)


ARTICLE = Settings(method="descent", phases=1, decay=20.0, k=150.0, prior=0.0, split_by_position=True, root_of_sum=True)
