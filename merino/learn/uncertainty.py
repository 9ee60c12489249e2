"""How sure the weights of a fit are: their standard errors, and the terms that tell nothing.

Errors are clustered by game, because the positions of a game share one result. The variance of a weight has two parts:
the variance between games, and, for a weight that few games determine, how far from its start it may be although the
prior keeps it there.

A term tells nothing if a fit without it predicts as well, as far as its games can tell. It is judged by its weights
together, those of both phases and of all cells of a table: by how far they are from 0 in units of their noise, w C^-1 w
with their covariance C. Of weights that are 0 in truth this is chi-squared with as many degrees of freedom. Test: A.
Wald (1943). Quantile: E. B. Wilson and M. M. Hilferty (1931).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from merino.eval.linear.phases import phases_of
from merino.eval.linear.registry import Group, Term, to_read
from merino.learn.loss_and_gradient import Detail, Samples, Sums, gather, products_by_game
from merino.learn.minimisers import FitCallback, approach
from merino.learn.problem import FitProblem, centring_of, mean_weight_of
from merino.learn.sample import FitParameters

QUANTILE = 1.645  # of the normal distribution, at 95%


def sandwich_errors(sample: Samples, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[weights], by the sandwich formula clustered by game.

    `sums` must be those at `parameters`, with products. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    return _errors(problem, sandwich_covariance(sample, parameters, problem, sums))


def sandwich_covariance(sample: Samples, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """The covariance of the free weights with tables centred, float64[free, free]; as `sandwich_errors`."""
    inverse, pull = _inverse_and_pull(parameters, problem, sums)
    directions = problem.directions(parameters)[:, : len(inverse)]
    products = products_by_game(sample, parameters, problem.loss, directions)
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
    of_all = replace(problem, mean_weight=mean_weight_of(sums))  # a game drawn twice has no more of it in each row
    rng = np.random.default_rng(seed)
    found = []
    for number in range(times):
        drawn = np.bincount(rng.choice(games, len(games)), minlength=sample.number_of_games)
        again = sample.with_game_weight(drawn.astype(np.float32))
        found.append(problem.centred(approach(again, parameters, of_all, FitCallback()).weights)[problem.free])
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


@dataclass(frozen=True)
class IdleTerm:
    """A term or table whose weights could be 0, for all that the games say.

    `evidence` is its distance from 0 squared in units of noise, which chance alone exceeds at `needed` one time in
    twenty; `weights` is the number of weights that it has.
    """

    name: str
    evidence: float
    needed: float
    weights: int


def idle_terms(
    sample: Samples, parameters: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[IdleTerm, ...]:
    """The terms of a fit that tell nothing, in the order of the set; the values of the pieces are never among them."""
    sums = gather(sample, parameters, problem.loss, Detail.PRODUCTS)
    covariance = sandwich_covariance(sample, parameters, problem, sums)
    weights, place = problem.centred(parameters.weights), {int(index): at for at, index in enumerate(problem.free)}
    found = []
    for name, indices in _columns(terms, len(parameters.weights)).items():
        at = [place[index] for index in indices if index in place]
        if len(at) == len(indices):
            values, noise = weights[indices], covariance[np.ix_(at, at)]
            evidence = float(values @ np.linalg.pinv(noise, hermitian=True) @ values)
            needed = chi_squared(int(np.linalg.matrix_rank(noise, hermitian=True)))
            if evidence < needed:
                found.append(IdleTerm(name, evidence, needed, len(indices)))
    return tuple(found)


def without(
    idle: Sequence[IdleTerm], sample: Samples, best: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[FitProblem, FitParameters]:
    """The problem in which these terms no longer move, and the parameters with their weights at 0."""
    of_terms = _columns(terms, len(best.weights))
    columns = np.array([index for term in idle for index in of_terms[term.name]], dtype=np.int64)
    free, kept = np.setdiff1d(problem.free, columns), problem.centred(best.weights).copy()
    kept[columns] = 0.0
    centring = centring_of(sample, terms, phases_of(best.weights, len(terms)), free)
    return replace(problem, free=free, centring=centring), replace(best, weights=kept)


def chi_squared(degrees: int) -> float:
    """What chi-squared with so many degrees of freedom, at least one, exceeds one time in twenty; within 3%."""
    ninth = 2 / (9 * max(degrees, 1))
    return float(max(degrees, 1) * (1 - ninth + QUANTILE * np.sqrt(ninth)) ** 3)


def _columns(terms: Sequence[Term], weights: int) -> dict[str, list[int]]:
    """The indices of the weights of each term or table, in all phases; none of the values of the pieces."""
    return {
        each.name: [index + first for first in range(0, weights, len(terms)) for index in range(at.start, at.stop)]
        for each, at in to_read(terms)
        if each.group is not Group.MATERIAL or terms[at.start].bounds[0] < 0
    }
