"""The model of choice: how likely a player is to play each legal move, fitted to the moves of one player.

The chance of a move is proportional to exp(its columns times the coefficients), a conditional logit (D. McFadden,
Conditional logit analysis of qualitative choice behavior, 1974). The coefficients are fitted by Newton's method, with
a normal prior from other players, and their uncertainty is that of the normal distribution at the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.inner.engine.search.people import Prior
from merino.inner.study.profile.choices import Choices

MAX_STEPS = 40
_SMALL = 1e-8  # relative gain of a step that ends the fit


@dataclass(frozen=True)
class FittedChoice:
    """Coefficients by column, and their covariance."""

    coefficients: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Foretold:
    """How well moves are foretold. Moves with the same chance are taken as ordered by lot."""

    top1: float  # share of the moves that were thought the likeliest
    top3: float  # or one of the three likeliest
    log_loss: float  # mean of -log of the chance given to the move played, in nats

    def as_json(self) -> dict[str, float]:
        """The same, rounded, by name."""
        return {"top1": round(self.top1, 4), "top3": round(self.top3, 4), "log_loss": round(self.log_loss, 4)}


def fit(choices: Choices, prior: Prior) -> FittedChoice:
    """The likeliest coefficients of a player with these choices."""
    precision = np.diag(prior.deviations**-2.0)
    at = prior.means.astype(np.float64).copy()
    value, gradient, curvature = _at(choices, prior, precision, at)
    for _ in range(MAX_STEPS):
        step, share = np.linalg.solve(curvature, gradient), 1.0
        while True:
            trial = _at(choices, prior, precision, at + share * step)
            if trial[0] >= value or share < 1e-3:
                break
            share /= 2
        gain = trial[0] - value
        if gain <= 0:
            break
        at = at + share * step
        value, gradient, curvature = trial
        if gain < _SMALL * (1 + abs(value)):
            break
    return FittedChoice(at, np.linalg.inv(curvature))


def _at(choices: Choices, prior: Prior, precision: np.ndarray, at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The logarithm of the posterior, its gradient and its negative curvature."""
    away = at - prior.means
    value, gradient = -0.5 * float(away @ precision @ away), -precision @ away
    curvature = precision.copy()
    if len(choices):
        chances = likelihoods(choices, at)
        weighted = chances[:, None] * choices.columns
        means = np.add.reduceat(weighted, choices.firsts[:-1])
        value += float(np.log(chances[choices.played]).sum())
        gradient += (choices.columns[choices.played] - means).sum(axis=0)
        curvature += choices.columns.T @ weighted - means.T @ means
    return value, gradient, curvature


def likelihoods(choices: Choices, coefficients: np.ndarray) -> np.ndarray:
    """The chance of each move, float64[m]; those of a position add up to 1."""
    if not len(choices):
        return np.zeros(0)
    firsts, lengths = choices.firsts[:-1], np.diff(choices.firsts)
    strengths = choices.columns @ coefficients
    strengths -= np.repeat(np.maximum.reduceat(strengths, firsts), lengths)
    shares = np.exp(strengths)
    return np.maximum(shares / np.repeat(np.add.reduceat(shares, firsts), lengths), 1e-300)


def foretold(choices: Choices, coefficients: np.ndarray) -> Foretold:
    """How well coefficients foretell choices that they were not fitted to."""
    chances = likelihoods(choices, coefficients)
    return judged(choices, chances)


def judged(choices: Choices, chances: np.ndarray) -> Foretold:
    """How well chances of moves, float64[m], foretell the choices."""
    own = chances[choices.played]
    lengths = np.diff(choices.firsts)
    likelier = np.add.reduceat(chances > np.repeat(own, lengths), choices.firsts[:-1])
    equal = np.add.reduceat(chances == np.repeat(own, lengths), choices.firsts[:-1]) - 1
    first, in_three = (np.clip((places - likelier) / (equal + 1), 0, 1) for places in (1, 3))
    return Foretold(float(first.mean()), float(in_three.mean()), float(-np.log(own).mean()))
