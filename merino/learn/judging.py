"""The stage that judges: a fit is judged on games kept apart, and matches find how much of its step to take.

The gain is the fall of the error on those games, with a game as the unit. A lower error does not predict strength:
between the whole step from the old weights to the new ones and parts of it, heats of short matches decide. The gain of
a share of the step is a curve through what the shares that played have gained, and its top is taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, Term, TermSet
from merino.learn.fitting import (
    ACCEPTED_Z,
    FEW_GAMES,
    BestFit,
    FitCallback,
    FitProblem,
    Fitted,
    Gain,
    Learned,
    approach,
    fit,
    sandwich_errors,
)
from merino.learn.loss_and_gradient import Detail, errors_by_game, gather
from merino.learn.reading import TrainingData
from merino.learn.report import Ranks, Seconds, Summary, Tried, record_of, render, summarise
from merino.learn.request import Events, Say, Settings, Task, start_of
from merino.learn.rescoring import rank_figure
from merino.learn.sample import VALIDATION_SHARE, FitParameters, Sample
from merino.match.players import OwnPlayer
from merino.match.prove import Belief, Heats, expected_gains, play_heats
from merino.match.report import duration, signed
from merino.match.statistics import estimate, score_of

WHOLE = 1.0
# A share s of a step gains a * s - b * s**2. What a and b are before any game, and the deviations from that, are from
# heats of ten runs, from weak weights and from good ones (docs/lab/learning.md).
RISE, BEND = score_of(100.0) - 0.5, score_of(90.0) - 0.5
RISE_SPREAD, BEND_SPREAD = score_of(100.0) - 0.5, score_of(50.0) - 0.5
NAMES = {WHOLE: "the whole step", 0.5: "half of the step", 0.25: "a quarter of the step"}
CURVE = np.arange(2, 21) / 20  # the candidate shares


def learn(
    sample: Sample, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Learned:
    """Fit the free weights and judge the fit; Ctrl-C ends the fit and keeps the best so far.

    `weights` and `terms` are in the order of the columns of the sample. Raises LearnError if weights of two phases
    would have to become weights of one.
    """
    start = start_of(weights, settings.phases, len(terms))
    return judge(sample, fit(sample, start, settings, callback, terms), settings)


def judge(sample: Sample, fitted: Fitted, settings: Settings) -> Learned:
    """The gain of a fit on validation games, and the standard errors of its weights.

    If the gain is not significant, or the games are few, it is measured by cross-validation.
    """
    start, end, problem = fitted.start, fitted.end, fitted.problem
    after = gather(sample, end, Detail.PRODUCTS)
    gain = _gain(_error_decreases(sample, start, end))
    in_doubt = (
        gain.decrease <= ACCEPTED_Z * gain.error or len(sample.games(False)) + len(sample.games(True)) <= FEW_GAMES
    )
    if gain.decrease > 0 and in_doubt and not fitted.interrupted and not settings.split_by_position:
        gain = _cross_validated(sample, start, end, problem, settings.seed)
    spread = sandwich_errors(sample, end, problem, after)
    return Learned(**vars(fitted), after=after, gain=gain, spread=spread)


def part_of_step(sample: Sample, learned: Learned, share: float) -> Learned:
    """The same fit with only this share of its step from the start, rounded; its gain is on the validation set.

    Weights that were not fitted, such as the zeros of terms that were left out, are those of the whole step.
    """
    start, end, problem = learned.start, learned.end, learned.problem
    weights = end.weights.copy()
    weights[problem.free] = (start.weights + share * (end.weights - start.weights))[problem.free]
    between = problem.rounded(replace(end, weights=weights))
    gain = _gain(_error_decreases(sample, start, between))
    after, spread = gather(sample, between), share * learned.spread
    return replace(learned, end=between, after=after, gain=gain, spread=spread)


def _error_decreases(sample: Sample, start: FitParameters, end: FitParameters) -> np.ndarray:
    """The decrease of the summed validation error, and the weight, of each validation game: float64[games, 2]."""
    old, new = errors_by_game(sample, start), errors_by_game(sample, end)
    has_rows = old[:, 1] > 0
    return np.column_stack([(old - new)[has_rows, 0], old[has_rows, 1]])


def _gain(decreases: np.ndarray, folds: int = 1) -> Gain:
    sample_weight = decreases[:, 1].sum()
    decrease = decreases[:, 0].sum() / sample_weight
    residual = decreases[:, 0] - decrease * decreases[:, 1]
    count = len(decreases)
    error = np.sqrt((residual**2).sum() * count / max(1, count - 1)) / sample_weight
    return Gain(float(decrease), float(error), folds)


def _cross_validated(sample: Sample, start: FitParameters, end: FitParameters, problem: FitProblem, seed: int) -> Gain:
    """The gain by cross-validation: each part of the games is judged by a fit to the others.

    The validation set is one of the parts. All games together often show a gain that a fifth of them cannot. The fits
    are by Gauss-Newton, whatever the method: all methods have the same optimum.
    """
    decreases = [_error_decreases(sample, start, end)]
    games = np.random.default_rng(seed).permutation(sample.games(is_validation=False))
    parts = np.array_split(games, round(1 / VALIDATION_SHARE) - 1)
    for part in parts:
        if len(part):
            fold = sample.with_validation(part)
            fitted = problem.rounded(approach(fold, end, problem, FitCallback()))
            decreases.append(_error_decreases(fold, start, fitted))
    return _gain(np.concatenate(decreases), len(decreases))


@dataclass(frozen=True)
class Way:
    """A share of the step of a fit, judged."""

    share: float
    learned: Learned

    @property
    def name(self) -> str:
        """The share in words."""
        return NAMES.get(self.share, f"{self.share:g} of the step")


@dataclass(frozen=True)
class Judged:
    """A task with the settings of the fit that answers it, its summary, and its record, if one is wanted."""

    task: Task
    learned: Learned
    summary: Summary
    record: dict[str, Any] | None

    def tell(self, say: Say) -> None:
        """Report the result."""
        if self.learned.interrupted:
            say("Interrupted: the best so far is kept.")
        for line in render(self.summary, self.task.request.settings.root_of_sum):
            say(line)


def judge_fit(best: BestFit, heats: Heats | None, events: Events, wants_record: bool) -> Judged:
    """The fit, or the best part of its step by heats, if there are any, with all that there is to report of it."""
    data, settings = best.data, best.settings
    learned, tried, seconds = judge(data.sample, best.fitted, settings), tuple[Tried, ...](), 0.0
    if heats is not None and learned.accepted and not learned.interrupted:
        ways = _with_shares(data.sample, learned, data.task.request.choice.shares)
        if len(ways) > 1:
            began = time.perf_counter()
            learned, tried = _by_heats(ways, data, heats, events)
            seconds = time.perf_counter() - began
    task = replace(data.task, request=replace(data.task.request, settings=settings))
    spent = Seconds(data.seconds, time.perf_counter() - task.began - seconds)
    summary = replace(
        summarise(data.sample, learned, settings, data.games, spent, task.terms),
        tried=tried,
        ranks=_ranks(data, learned),
    )
    record = None
    if wants_record:
        record = record_of(
            data.sample, learned, settings, summary, task.request.files, task.terms, task.request.has_random_moves
        )
    return Judged(task, learned, summary, record)


def _ranks(data: TrainingData, learned: Learned) -> Ranks | None:
    """How old and new weights rank the moves of the data."""
    if data.moves is None:
        return None
    ends = (learned.start.weights, learned.end.weights)
    old, new = (rank_figure(data.moves, LinearEvaluation(each, terms=data.task.terms)) for each in ends)
    return Ranks(data.moves.positions, old, new)


def _with_shares(sample: Sample, learned: Learned, shares: Sequence[float]) -> list[Way]:
    """The whole step and those of the shares that are accepted, too."""
    ways = [Way(WHOLE, learned)] + [Way(each, part_of_step(sample, learned, each)) for each in shares if each != WHOLE]
    return [way for way in ways if way.learned.accepted]


def _by_heats(
    ways: Sequence[Way], data: TrainingData, heats: Heats, events: Events
) -> tuple[Learned, tuple[Tried, ...]]:
    """The share of the step that gains most by heats against the old weights, and what was tried."""
    games, control, say, terms = heats.games(len(ways)), heats.time_control, events.say, data.task.terms
    say(
        f"{len(ways)} shares of the step are compared in {games} games against the old weights, {control} a move; "
        "after each round the better half plays on."
    )
    began = time.perf_counter()
    players = [_player(way.name, way.learned.end.weights, terms) for way in ways]
    old = _player("the old weights", ways[0].learned.start.weights, terms)
    about, threads = belief([way.share for way in ways]), data.task.request.concurrency
    found = play_heats(players, old, heats, about, events.match_state, threads)
    tried = tuple(_tried(way, pairs) for way, pairs in zip(ways, found.pairs, strict=True))
    for each in tried:
        if each.games:
            say(f"  {each.way}: {each.games} games, Elo {signed(each.elo, each.elo_error)}")
    best = ways[found.best] if found.interrupted else _top_of_curve(data.sample, ways, found.pairs, ways[found.best])
    seconds = duration(time.perf_counter() - began)
    say(f"The best after {seconds}, by the games of all shares: {best.name}.")
    learned = replace(best.learned, interrupted=True) if found.interrupted else best.learned
    return learned, tried


def _top_of_curve(sample: Sample, ways: Sequence[Way], pairs: Sequence[np.ndarray], best: Way) -> Way:
    """The share that is expected to gain most after these games, or `best` if its error does not fall."""
    gains = expected_gains(pairs, belief([*(way.share for way in ways), *CURVE.tolist()]))
    share = float(CURVE[np.argmax(gains[len(ways) :])])
    whole = next(way for way in ways if way.share == WHOLE)
    if share == WHOLE:
        return whole
    found = Way(share, part_of_step(sample, whole.learned, share))
    return found if found.learned.accepted else best


def belief(shares: Sequence[float]) -> Belief:
    """The gains that shares of a step are believed to have before any game."""
    share = np.array(shares)
    spread = RISE_SPREAD**2 * np.outer(share, share) + BEND_SPREAD**2 * np.outer(share**2, share**2)
    return Belief(RISE * share - BEND * share**2, spread)


def _player(name: str, weights: np.ndarray, terms: TermSet) -> OwnPlayer:
    return OwnPlayer(name, LinearEvaluation(weights, terms=terms))


def _tried(way: Way, pairs: np.ndarray) -> Tried:
    found = estimate(pairs)
    return Tried(way.name, way.share, 2 * int(pairs.sum()), found.elo, found.elo_error)
