"""The stage that judges: fits are judged on games kept apart, and those that are better meet in heats.

A lower error does not foretell strength: what is compared by it is only how strongly a fit is pulled to the old
weights. Between targets short matches decide. They also tell how far to go from the old weights to the new: the gain of
a share of the step is a curve through what the shares that played have gained, and its top is taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TermSet
from merino.learn.fitting import Fits
from merino.learn.gain import Learned, judge, part_of_step
from merino.learn.loss_and_gradient import Samples
from merino.learn.minimisers import FitCallback
from merino.learn.ranking import rank_figure
from merino.learn.reading import TrainingData
from merino.learn.report import Ranks, Seconds, Summary, Tried, record_of, summarise
from merino.learn.request import Say, Task
from merino.learn.run import LearnRun
from merino.learn.settings import Settings
from merino.learn.tables import render
from merino.match.players import OwnPlayer
from merino.match.prove import Belief, Heats, expected_gains, play_heats
from merino.match.report import duration, signed
from merino.match.statistics import estimate, score_of

WHOLE = 1.0
# A share s of a step gains a * s - b * s**2. What a and b are before any game, and the deviations from that, are from
# heats of ten runs, from weak weights and from good ones (docs/lab/learning.md). ALIKE: the correlation of two targets.
RISE, BEND = score_of(100.0) - 0.5, score_of(90.0) - 0.5
RISE_SPREAD, BEND_SPREAD, ALIKE = score_of(100.0) - 0.5, score_of(50.0) - 0.5, 0.5
SHARES = {1.0: "", 0.5: ", half of the step", 0.25: ", a quarter of the step"}
CURVE = np.arange(2, 21) / 20  # the shares of which one is taken in the end


@dataclass(frozen=True)
class Way:
    """A fit that has been judged, or a share of its step, with the settings and the sample that it is of."""

    settings: Settings
    sample: Samples
    learned: Learned
    share: float = WHOLE

    @property
    def name(self) -> str:
        """What it was learned from, in words."""
        return self.settings.target.describe() + SHARES.get(self.share, f", {self.share:g} of the step")


@dataclass(frozen=True)
class Chosen:
    """The way that was chosen, and what was tried in heats of so many seconds; `interrupted`: by Ctrl-C in between."""

    way: Way
    tried: tuple[Tried, ...] = ()
    interrupted: bool = False
    seconds: float = 0.0


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


def judge_fits(fits: Fits, run: LearnRun, callback: FitCallback) -> Judged:
    """The best fit, or the best part of its step, with all that there is to report of it."""
    data, chosen = fits.data, _choose(fits, run, callback)
    way, task = chosen.way, data.task
    learned = replace(way.learned, interrupted=True) if chosen.interrupted else way.learned
    seconds = Seconds(data.seconds, time.perf_counter() - task.began - chosen.seconds)
    summary = summarise(way.sample, learned, way.settings, data.games, seconds, task.terms)
    record = None
    if run.files.record is not None:
        has_strays = task.request.has_strays and way.settings.target.share == 0  # results are tried without them
        record = record_of(way.sample, learned, way.settings, summary, task.request.files, task.terms, has_strays)
    task = replace(task, request=replace(task.request, settings=way.settings))
    return Judged(task, learned, replace(summary, tried=chosen.tried, ranks=_ranks(data, learned)), record)


def _ranks(data: TrainingData, learned: Learned) -> Ranks | None:
    """How old and new weights rank the moves of the data."""
    if data.moves is None:
        return None
    ends = (learned.start.weights, learned.end.weights)
    old, new = (rank_figure(data.moves, LinearEvaluation(each, terms=data.task.terms)) for each in ends)
    return Ranks(data.moves.positions, old, new)


def _choose(fits: Fits, run: LearnRun, callback: FitCallback) -> Chosen:
    """The best way of several by the heats of the run; without heats the first that is accepted."""
    judged = [
        Way(each.settings, each.sample, judge(each.sample, each.fitted, each.settings, callback)) for each in fits.every
    ]
    first, interrupted = judged[0], any(way.learned.interrupted for way in judged)
    if run.heats is None or interrupted:
        return Chosen(next((way for way in judged if way.learned.accepted), first), interrupted=interrupted)
    task = fits.data.task
    ways = _with_shares(judged, task.request.choice.shares)
    if len(ways) < 2:
        return Chosen(ways[0] if ways else first)
    return _by_heats(ways, task, run.heats, run)


def _with_shares(judged: Sequence[Way], shares: Sequence[float]) -> list[Way]:
    """Those that are accepted, each with the shares of its step that are accepted too."""
    ways = []
    for way in judged:
        if way.learned.accepted:
            ways.append(way)
            ways += [_part_of(way, share) for share in shares if share != WHOLE]
    return [way for way in ways if way.learned.accepted]


def _part_of(way: Way, share: float) -> Way:
    """The way with this share of its step."""
    return replace(way, learned=part_of_step(way.sample, way.learned, share), share=share)


def _by_heats(ways: Sequence[Way], task: Task, heats: Heats, run: LearnRun) -> Chosen:
    games, control, say = heats.games(len(ways)), heats.time_control, run.events.say
    say(
        f"{len(ways)} ways to learn are compared in {games} games against the old weights, {control} a move; after "
        "each round the better half plays on."
    )
    began = time.perf_counter()
    players = [_player(way.name, way.learned.end.weights, task.terms) for way in ways]
    old = _player("the old weights", ways[0].learned.start.weights, task.terms)
    about = belief([(way.settings, way.share) for way in ways])
    found = play_heats(players, old, heats, about, run.events.match_state, task.request.concurrency)
    tried = tuple(_tried(way, pairs) for way, pairs in zip(ways, found.pairs, strict=True))
    for each in tried:
        if each.games:
            say(f"  {each.way}: {each.games} games, Elo {signed(each.elo, each.elo_error)}")
    best, seconds = ways[found.best], time.perf_counter() - began
    if not found.interrupted:
        best = _top_of_curve(ways, found.pairs, best)
    say(f"The best after {duration(seconds)}, by the games of all shares: {best.name}.")
    return Chosen(best, tried, found.interrupted, seconds)


def _top_of_curve(ways: Sequence[Way], pairs: Sequence[np.ndarray], best: Way) -> Way:
    """The share of this step that is expected to gain most after these games, or `best` if its error does not fall."""
    steps = [(way.settings, way.share) for way in ways]
    gains = expected_gains(pairs, belief(steps + [(best.settings, share) for share in CURVE.tolist()]))
    share = float(CURVE[np.argmax(gains[len(ways) :])])
    whole = next(way for way in ways if way.settings == best.settings)
    if share == WHOLE:
        return whole
    found = _part_of(whole, share)
    return found if found.learned.accepted else best


def belief(steps: Sequence[tuple[Settings, float]]) -> Belief:
    """What is believed of the gains of these shares of fits before any game."""
    share = np.array([share for _, share in steps])
    same = np.array([[1.0 if one == other else ALIKE for other, _ in steps] for one, _ in steps])
    spread = RISE_SPREAD**2 * np.outer(share, share) + BEND_SPREAD**2 * np.outer(share**2, share**2)
    return Belief(RISE * share - BEND * share**2, same * spread)


def _player(name: str, weights: np.ndarray, terms: TermSet) -> OwnPlayer:
    return OwnPlayer(name, LinearEvaluation(weights, terms=terms))


def _tried(way: Way, pairs: np.ndarray) -> Tried:
    found = estimate(pairs)
    return Tried(way.name, way.settings.target.name, way.share, 2 * int(pairs.sum()), found.elo, found.elo_error)
