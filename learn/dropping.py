"""Terms that tell nothing: those without which a fit predicts as well, as far as its games can tell.

A term is judged by its weights together, those of both phases and of all cells of a table: by how far they are from 0
in units of their noise, w C^-1 w with their covariance C. Of weights that are 0 in truth this is chi-squared with as
many degrees of freedom. Test: A. Wald (1943). Quantile: E. B. Wilson and M. M. Hilferty (1931).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from merino.inner.eval.linear.registry import Group, Term, to_read
from merino.inner.learn.fit import FitProblem
from merino.inner.learn.loss_and_gradient import Detail, Samples, gather
from merino.inner.learn.sample import FitParameters
from merino.inner.learn.uncertainty import sandwich_covariance

QUANTILE = 1.645  # of the normal distribution, at 95%


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


def columns_of(idle: Sequence[IdleTerm], terms: Sequence[Term], weights: int) -> np.ndarray:
    """The indices of the weights of these terms among so many, int64."""
    columns = _columns(terms, weights)
    return np.array([index for term in idle for index in columns[term.name]], dtype=np.int64)


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
