"""Standard errors of weights, clustered by game, because the positions of a game share one result.

The variance of a weight has two parts: the variance between games, and, for a weight that few games determine, how far
from its start it may be although the prior keeps it there.
"""

from __future__ import annotations

import numpy as np

from merino.inner.learn.fit import FitCallback, FitProblem, approach
from merino.inner.learn.loss_and_gradient import Samples, Sums, products_by_game
from merino.inner.learn.sample import FitParameters


def sandwich_errors(sample: Samples, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[weights], by the sandwich formula clustered by game.

    `sums` must be those at `parameters`, with products. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    return _errors(problem, sandwich_covariance(sample, parameters, problem, sums))


def sandwich_covariance(sample: Samples, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """The covariance of the free weights with tables centred, float64[free, free]; as `sandwich_errors`."""
    inverse, pull = _inverse_and_pull(parameters, problem, sums)
    products = products_by_game(sample, parameters, problem.loss, problem.directions(parameters)[:, : len(inverse)])
    return _of_free(problem, inverse @ products @ inverse + pull)


def bootstrap_errors(
    sample: Samples,
    parameters: FitParameters,
    problem: FitProblem,
    sums: Sums,
    times: int,
    seed: int,
    callback: FitCallback,
) -> np.ndarray:
    """The same, with the first part from `times` fits to games drawn with replacement (bootstrap)."""
    games = sample.games(is_validation=False)
    rng = np.random.default_rng(seed)
    found = []
    for number in range(times):
        drawn = np.bincount(rng.choice(games, len(games)), minlength=sample.number_of_games)
        again = sample.with_game_weight(drawn.astype(np.float32))
        found.append(problem.centred(approach(again, parameters, problem, FitCallback()).weights)[problem.free])
        callback.progressed("Resampling games", (number + 1) / times)
    _, pull = _inverse_and_pull(parameters, problem, sums)
    errors = _errors(problem, _of_free(problem, pull))
    errors[problem.free] = np.hypot(errors[problem.free], np.std(found, axis=0, ddof=1))
    return errors


def _inverse_and_pull(parameters: FitParameters, problem: FitProblem, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of the Gauss-Newton matrix, and the covariance due to the prior."""
    size = len(problem.free) + problem.fit_k
    inverse = np.linalg.pinv(problem.matrix(sums, parameters)[:size, :size])
    ridge = problem.ridge(sums)
    spread = np.zeros(len(problem.free)) if problem.spread is None else problem.spread[problem.free]
    held_back = np.append(ridge * spread, 0.0)[:size]
    return inverse, inverse @ np.diag(held_back**2) @ inverse


def _of_free(problem: FitProblem, covariance: np.ndarray) -> np.ndarray:
    """The covariance of the free weights with tables centred, from that of the free ones and of 1 / K."""
    free = problem.free
    covariance = covariance[: len(free), : len(free)]
    if problem.centring is None:
        return covariance
    centring = problem.centring[np.ix_(free, free)]
    return np.asarray(centring @ covariance @ centring.T)


def _errors(problem: FitProblem, covariance: np.ndarray) -> np.ndarray:
    """The standard errors of all weights, float64[weights], from the covariance of the free ones."""
    spread = np.zeros(len(problem.bounds))
    spread[problem.free] = np.sqrt(np.maximum(np.diag(covariance), 0))
    return spread
