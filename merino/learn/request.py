"""A request to the learner, the task that it becomes with the weights at hand, and the callbacks for its progress.

The fields of `Settings`, `Selection` and `LearnRequest` that carry a sentence are the options of `learn`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from merino.core.common.errors import instance, real_number, whole_number
from merino.core.common.options import Option, check
from merino.eval.evaluation import Evaluation
from merino.eval.families import load_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import in_two_phases, phases_of, simplest
from merino.eval.linear.registry import Term, TermSet
from merino.learn.errors import LearnError
from merino.learn.loss_and_gradient import Step, Sums
from merino.learn.positions import Quiet, Selection
from merino.learn.sample import BY_RESULT, Target

Say = Callable[[str], object]
GAUSS_NEWTON, DESCENT = METHODS = ("gauss-newton", "descent")
DEFAULT_TEACHER = "gen12"  # a net that comes with Merino
NO_TEACHER = "off"
FIT, MATCH, EVALUATION, OUTPUT = "fit", "match of new against old weights", "evaluation", "output"  # groups of options
MAX_NUMBER = 1e9  # of the numbers of a fit
MIN_K, MIN_DECAY = 1.0, 0.1
MAX_NAMES = 8  # of terms that are listed one by one


def _prior(text: str) -> float:
    """The pull toward the old weights in a text, 0 for off; raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if text != "off" and not 0.001 <= value < MAX_NUMBER:
        raise ValueError(f"'{text[:40]}' is neither a number from 0.001 on nor 'off'")
    return value


@dataclass(frozen=True)
class Settings:
    """How to learn. The terms `first` to `last`, counted from 1, may move; or those in `names`, if there are any.

    `last` is None for the last of the set. `phases` is None for as many as at the start, `target` a Target or its name,
    such as "search". `prior` is None for the default of this number of games, 0 for no pull. `k` is the scale of
    scores, None to fit it. `root_of_sum` shows errors as GreKo 2015 ML did: the root of the weighted sum over the
    number of positions.
    """

    first: int = 6
    last: int | None = None
    names: tuple[str, ...] = ()
    phases: Annotated[
        int | None, "values of each weight, 1, or 2 with one for the endgame", Option("1|2", 1, 2, group=FIT)
    ] = None
    target: Annotated[
        Target,
        "what to predict: result, search (a score), or blend=X: X of the result and 1-X of the score",
        Option("TARGET", read=Target.read, group=FIT),
    ] = BY_RESULT
    decay: Annotated[
        float | None,
        "weigh positions n plies before the end by e^(-n/PLIES)",
        Option("PLIES", MIN_DECAY, none="off", group=FIT),
    ] = 40.0
    prior: Annotated[
        float | None,
        "pull to the old weights: standard deviation by their size",
        Option("N|off", read=_prior, group=FIT, default="what predicts best"),
    ] = None
    drop: Annotated[bool, "set idle terms to 0, and fit the others again", Option(group=FIT)] = False
    seed: Annotated[int, "seed of the choice of validation games", Option("N", group=FIT)] = 2015
    method: str = GAUSS_NEWTON
    k: float | None = None
    split_by_position: bool = False
    root_of_sum: bool = False

    def __post_init__(self) -> None:
        whole_number("first", self.first, 1)
        if self.last is not None:
            whole_number("last", self.last, self.first)
        if isinstance(self.target, str):
            object.__setattr__(self, "target", Target.read(self.target))
        instance("target", self.target, Target, "a Target, or its name: result, search or blend=X")
        check(self)
        if self.k is not None:
            real_number("k", self.k, MIN_K, MAX_NUMBER)
        if isinstance(self.names, str):
            raise TypeError(f"names must be a sequence of names of terms, not the text {self.names[:40]!r}")
        instance("names", self.names, Sequence, "a sequence of names of terms")
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


ARTICLE = Settings(method=DESCENT, phases=1, decay=20.0, k=150.0, prior=0.0, split_by_position=True, root_of_sum=True)


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
class Choice:
    """What the learner may choose by itself: the pull, and the share of the step.

    Of the pulls toward the old weights, the usual one of `Settings.prior` and these multiples of its deviation, it
    takes that whose weights predict the games kept apart best, or, where there are no random-move positions, rank moves
    best: scores have less noise than results, and can do with a weaker one. Shares of the step from the old weights to
    the fitted ones are compared by matches. `ranked` is the number of positions to rank moves in; with fewer games, or
    with 0, none are ranked.
    """

    pulls: tuple[float, ...] = ()
    shares: tuple[float, ...] = (1.0,)
    ranked: int = 0


NO_CHOICE = Choice()
DEFAULT_CHOICE = Choice((3.0, 10.0), (1.0, 0.5, 0.25), 1000)
# What the plain command does: positions resolved to the end of quiescence, thirty of a game and as many random-move
# positions, all terms in two phases.
DEFAULT_SETTINGS = Settings(first=1, phases=2, decay=None, target=Target(0.0))
DEFAULT_SELECTION = Selection(positions=Quiet.RESOLVED, per_game=30, random_moves=True)
FEW_OF_A_GAME = 10  # where results teach, which are the same for all of them


@dataclass(frozen=True)
class LearnRequest:
    """The input of the learner, its settings, and its outputs on the disk.

    `weights` is None for the file in use. Where the target needs scores, `teacher` names the net that gives them, None
    for those in the files. A run that is `dry_run` writes no weights. `record` is the file of the record, None for one
    next to the weights.
    """

    files: tuple[str, ...]
    settings: Settings = DEFAULT_SETTINGS
    selection: Selection = DEFAULT_SELECTION
    choice: Choice = DEFAULT_CHOICE
    teacher: Annotated[
        str | None,
        "net whose scores teach; off for results only",
        Option(
            "NET",
            none=NO_TEACHER,
            group=FIT,
            default=f"{DEFAULT_TEACHER}; with --target the scores in the files",
        ),
    ] = DEFAULT_TEACHER
    plays_match: Annotated[
        bool, "use the new weights at once, without a match", Option(group=MATCH, flag="--no-match")
    ] = True
    prove: Annotated[bool, "use the new weights only if a long match proves them", Option(group=MATCH)] = False
    concurrency: Annotated[
        int | None,
        "games at the same time",
        Option("N", 1, group=MATCH, default="one per core"),
    ] = None
    weights: Annotated[
        str | None,
        "start from this file and replace it",
        Option("FILE", group=EVALUATION, default="the weights in use"),
    ] = None
    out: Annotated[str | None, "write the new weights to this file instead", Option("FILE", group=EVALUATION)] = None
    keep_fen: Annotated[
        bool,
        "keep no .fen cache of positions next to the games",
        Option(group=OUTPUT, flag="--no-cache"),
    ] = True
    dry_run: bool = False
    record: str | None = None

    @property
    def has_random_moves(self) -> bool:
        """Whether random-move positions are used: only a static score says what one is worth."""
        return self.selection.random_moves and self.teacher is not None and self.settings.target.share == 0


@dataclass(frozen=True)
class Task:
    """A request with what it starts from: weights of a set of terms, with as many phases as it asks for, and teachers.

    `teacher` gives scores, `ranker` finds the best moves to rank; each is None where the request needs none. `began` is
    when the work on it began, by `time.perf_counter`.
    """

    request: LearnRequest
    terms: TermSet
    start: np.ndarray
    teacher: Evaluation | None
    ranker: Evaluation | None
    began: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, request: LearnRequest, terms: TermSet, weights: np.ndarray) -> Task:
        """The task to start from these weights.

        With random-move positions K is that of the teacher: results cannot give it. Raises LearnError if the request
        cannot start there, and EvaluationError if the teacher cannot be read.
        """
        settings = request.settings.of_set(terms)
        start, target = start_of(weights, settings.phases, len(terms)), settings.target
        teacher = load_net(request.teacher) if request.teacher and target.needs_scores else None
        ranker = (teacher or load_net(request.teacher or DEFAULT_TEACHER)) if request.choice.ranked else None
        if request.teacher is not None and teacher is not None:
            target = replace(target, scorer=request.teacher, k=teacher.k if request.has_random_moves else target.k)
        settings = replace(settings, target=target)
        return cls(replace(request, settings=settings), terms, start, teacher, ranker)

    @property
    def evaluation(self) -> LinearEvaluation:
        """The evaluation by the weights at the start, of one phase if they need no more."""
        return LinearEvaluation(simplest(self.start, len(self.terms)), terms=self.terms)


def start_of(weights: np.ndarray, phases: int | None, terms: int) -> np.ndarray:
    """The weights to start from, with this number of phases; raises LearnError if two would have to become one."""
    if phases == 1 and phases_of(weights, terms) == 2:
        raise LearnError(
            "the weights have two phases, and one cannot be learned from there: name others by --weights, such as a "
            "copy of greko2015-before-training.txt"
        )
    return in_two_phases(weights, terms) if phases == 2 else weights
