"""A request to the learner, the task that it becomes with the weights at hand, and the callbacks for its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from merino.eval.evaluation import Evaluation
from merino.eval.families import load_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import in_two_phases, phases_of, simplest
from merino.eval.linear.registry import TermSet
from merino.learn.errors import LearnError
from merino.learn.minimisers import Step
from merino.learn.positions import Quiet, Selection
from merino.learn.settings import Settings
from merino.learn.targets import Target

Say = Callable[[str], object]
DEFAULT_TEACHER = "gen12"  # a net that comes with Merino
NO_TEACHER = "off"


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
    """What the learner may choose by itself: other targets than that of the settings, the pull, the share of the step.

    Of the pulls toward the old weights, the usual one of `Settings.prior` and these multiples of its deviation, it
    takes that whose weights predict the games kept apart best, or, where there are no strays, rank moves best: scores
    have less noise than results, and can do with a weaker one. Targets and shares of the step from the old weights to
    the fitted ones are compared by matches. `ranked` is the number of positions to rank moves in; with fewer games, or
    with 0, none are ranked.
    """

    targets: tuple[Target, ...] = ()
    pulls: tuple[float, ...] = ()
    shares: tuple[float, ...] = (1.0,)
    ranked: int = 0


NO_CHOICE = Choice()
DEFAULT_CHOICE = Choice((Target(0.25), Target(1.0)), (3.0, 10.0), (1.0, 0.5, 0.25), 1000)
# What the plain command does: positions resolved to the end of quiescence, thirty of a game with as many strays, all
# terms in two phases.
DEFAULT_SETTINGS = Settings(first=1, phases=2, decay=None, target=Target(0.0))
DEFAULT_SELECTION = Selection(quiet=Quiet.RESOLVED, per_game=30, strays=True)
FEW_OF_A_GAME = 10  # where results teach, which are the same for all of them, or searches, which take their time


@dataclass(frozen=True)
class LearnRequest:
    """The input of the learner, its settings, and its outputs on the disk.

    `weights` is the file to start from and to rewrite, None for the one in use; `out` takes the new weights instead.
    Where the target needs scores, `teacher` names the net that gives them, None for those in the files. `rescore` is
    the number of nodes to search each position instead, with the teacher, or with the weights at the start. `csv` and
    `record` are files;
    None for no table, and for a record beside the weights.
    """

    files: tuple[str, ...]
    settings: Settings = DEFAULT_SETTINGS
    selection: Selection = DEFAULT_SELECTION
    choice: Choice = DEFAULT_CHOICE
    teacher: str | None = DEFAULT_TEACHER
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

    @property
    def has_strays(self) -> bool:
        """Whether strays are used, where they are wanted: only a static score can tell what one is worth."""
        is_taught = self.teacher is not None and self.rescore is None and self.settings.target.share == 0
        return self.selection.strays and is_taught

    @property
    def targets(self) -> tuple[Target, ...]:
        """That of the settings and the others to choose from, with the name of whose scores they need.

        Beside strays, of which results say nothing, only such others count as need scores too.
        """
        others = [target for target in self.choice.targets if target.needs_scores or not self.has_strays]
        scorer = Target().scorer
        if self.teacher is not None:
            scorer = self.teacher if self.rescore is None else f"a search by {self.teacher}"
        return tuple(replace(target, scorer=scorer) for target in (self.settings.target, *others))

    @property
    def needs_scores(self) -> bool:
        """Whether any of its targets needs the score of a search or of a teacher."""
        return any(target.needs_scores for target in self.targets)


@dataclass(frozen=True)
class Task:
    """A request with what it starts from: weights of a set of terms, with as many phases as it asks for, and teachers.

    `teacher` gives scores, `ranker` tells the best moves to rank; each is None where the request needs none. `settings`
    are those of each fit. `began` is when the work on it began, by `time.perf_counter`.
    """

    request: LearnRequest
    terms: TermSet
    start: np.ndarray
    settings: tuple[Settings, ...]
    teacher: Evaluation | None
    ranker: Evaluation | None
    began: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, request: LearnRequest, terms: TermSet, weights: np.ndarray, compares: bool = True) -> Task:
        """The task to start from these weights; without a match that `compares`, for the first of its targets only.

        Where it learns from strays, K is that of the teacher: results cannot tell it. A target beside them that results
        count for takes the players' strength into account. Raises LearnError if the request cannot start there, and
        EvaluationError if the teacher cannot be read.
        """
        settings = request.settings.of_set(terms)
        start = start_of(weights, settings.phases, len(terms))
        teacher = load_net(request.teacher) if request.teacher and request.needs_scores else None
        ranker = (teacher or load_net(request.teacher or DEFAULT_TEACHER)) if request.choice.ranked else None
        targets = request.targets if compares else request.targets[:1]
        if request.has_strays and teacher is not None:
            targets = tuple(replace(target, k=teacher.k) for target in targets)
        first = replace(settings, target=targets[0])
        knows = request.has_strays and settings.method != "descent"
        others = [replace(settings, target=target, ratings=settings.ratings or knows) for target in targets[1:]]
        return cls(replace(request, settings=first), terms, start, (first, *others), teacher, ranker)

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
