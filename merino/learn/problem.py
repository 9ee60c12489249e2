"""The problem of a fit: which weights may move, how far, and the objective that their best values minimise.

The objective is the summed loss of the training set plus a pull to the starting weights. The pull is a normal prior
about them: it is fixed while the loss grows with each game, so it fades as games are added.

What all cells of a table have in common is told by the term that counts the same pieces. A knight stands on one square,
so 10 centipawns more for each of them are a knight worth 10 more: the scores are the same. Told by the value, a cell
says how much better or worse than usual a piece stands there, and its interval is that of this difference. Usual is the
mean over the cells, each as often as it makes a difference in the training set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from merino.eval.linear.phases import halves, phases_of
from merino.eval.linear.registry import TERMS, Term, TermSet, TermTable, to_read
from merino.eval.linear.weights import defaults
from merino.learn.loss_and_gradient import TRAIN, Samples, Sums, carrier_counts
from merino.learn.rows import FEATURE_SCALE
from merino.learn.sample import FitParameters, Loss

POSITIONS_PER_OBSERVATION = 10  # the positions of a game are far from independent
MIN_SIZE = 10.0  # centipawns; a smaller weight counts as this large
NOISE = {Loss.SQUARED: 0.1, Loss.CROSS_ENTROPY: 1.0}  # the variance of a residual
DOUBLED = {Loss.SQUARED: 1.0, Loss.CROSS_ENTROPY: 2.0}  # so that half the derivative is slope times residual
SPREAD, SPREAD_AT = 0.25, 300  # `prior_spread` at this number of games; measured: it predicts other games best
PAWN_TERM = 0  # its weight is the unit of all others; if it moves, so does the scale


@dataclass(frozen=True)
class FitProblem:
    """The free weights, their bounds, the prior and the loss.

    `free` are the indices of the weights that may move, `bounds` is float64[weights, 2]. `spread`, float64[weights], is
    the prior's standard deviation of each weight about its `start`, in centipawns; None for no prior. `centring` is the
    matrix of `centring_of`, None where no table is to be centred: weights times it score the same. `mean_weight` is
    that of a row for the prior, None for the one in the sums.
    """

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    loss: Loss = Loss.SQUARED
    spread: np.ndarray | None = None
    centring: np.ndarray | None = None
    mean_weight: float | None = None

    def centred(self, weights: np.ndarray) -> np.ndarray:
        """The same weights with their tables centred, float64[weights]."""
        return weights if self.centring is None else np.asarray(self.centring @ weights)

    def rounded(self, parameters: FitParameters) -> FitParameters:
        """The parameters with tables centred and the free weights rounded to whole centipawns, within bounds."""
        weights, (low, high) = self.centred(parameters.weights).copy(), self.bounds[self.free].T
        weights[self.free] = np.clip(np.rint(weights[self.free]), np.ceil(low), np.floor(high))
        return replace(parameters, weights=weights + 0.0)  # no -0

    def ridge(self, sums: Sums) -> np.ndarray:
        """The factor of the squared distance from the start for each free weight, in units of the summed loss."""
        if self.spread is None:
            return np.zeros(len(self.free))
        mean_weight = mean_weight_of(sums) if self.mean_weight is None else self.mean_weight
        return NOISE[self.loss] * POSITIONS_PER_OBSERVATION * mean_weight / self.spread[self.free] ** 2

    def objective(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> float:
        """The objective at `parameters`, from their sums over every `stride`-th block."""
        distance = parameters.weights[self.free] - self.start[self.free]
        return DOUBLED[self.loss] * float(sums.loss[TRAIN]) + float(self.ridge(sums) @ distance**2) / stride

    def directions(self, parameters: FitParameters) -> np.ndarray:
        """The matrix that turns features into derivatives of score / K: float64[weights, free + 1].

        It has a column for each free weight and, at the end, one for 1 / K.
        """
        directions = np.zeros((len(parameters.weights), len(self.free) + 1))
        directions[self.free, np.arange(len(self.free))] = parameters.inverse_k / FEATURE_SCALE
        directions[:, -1] = parameters.weights / FEATURE_SCALE
        return directions

    def gradient(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """Half the gradient of the objective over the free weights and 1 / K: float64[free + 1]."""
        distance = parameters.weights[self.free] - self.start[self.free]
        pull = np.append(self.ridge(sums) / stride * distance, 0.0)
        return np.asarray(self.directions(parameters).T @ sums.gradient + pull)

    def matrix(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """The Gauss-Newton matrix over the free weights and 1 / K: float64[free + 1, free + 1]."""
        directions = self.directions(parameters)
        ridge = np.append(self.ridge(sums) / stride, 0.0)
        return np.asarray(directions.T @ sums.products @ directions + np.diag(ridge))


def problem_of(
    sample: Samples,
    weights: np.ndarray,
    terms: Sequence[Term],
    moving: np.ndarray,
    loss: Loss = Loss.SQUARED,
    prior: float | None = None,
    knows_k: bool = False,
) -> FitProblem:
    """The problem of a fit from `weights`, in which the terms at the places `moving`, int64[n], may move.

    `prior` is the deviation of a weight in units of its size, 0 for no pull, None for `prior_spread`. If the value of a
    pawn may move, and so the scale of all weights, K keeps the value that fits the weights at the start, as one that is
    known does: scores keep their meaning, on which the margins of the search depend.
    """
    phases = phases_of(weights, len(terms))
    free = np.concatenate([moving + phase * len(terms) for phase in range(phases)])
    bounds = np.tile(np.array([term.bounds for term in terms], dtype=np.float64), (phases, 1))
    prior = prior_spread(sample) if prior is None else prior
    spread = prior * sizes(weights, np.tile(_usual_sizes(terms), phases)) if prior else None
    fits_k, centring = not knows_k and PAWN_TERM not in moving, centring_of(sample, terms, phases, free)
    return FitProblem(free, bounds, fits_k, weights, loss, spread, centring)


def prior_spread(sample: Samples) -> float:
    """The default prior: the deviation of a weight in units of its size.

    It grows with the root of the number of training games, so the pull fades twice: against the loss, and by itself.
    """
    return SPREAD * float(np.sqrt(len(sample.games(is_validation=False)) / SPREAD_AT))


def _usual_sizes(terms: Sequence[Term]) -> np.ndarray:
    """The size of each term's weight in the weights that come with Merino; 0 for a term that they do not have."""
    of = terms if isinstance(terms, TermSet) else TERMS
    largest = np.max(np.abs(halves(defaults(of), len(of))), axis=0)
    usual = {term.name: float(size) for term, size in zip(of, largest, strict=True)}
    return np.array([usual.get(term.name, 0.0) for term in terms])


def mean_weight_of(sums: Sums) -> float:
    """The mean weight of a row: one that counts half has half the information."""
    return float(sums.squares / sums.sample_weight[TRAIN])


def sizes(*weights: np.ndarray) -> np.ndarray:
    """The size of each weight in centipawns: its largest absolute value in these sets, at least MIN_SIZE."""
    return np.maximum(np.max(np.abs(weights), axis=0), MIN_SIZE)


def centring_of(sample: Samples, terms: Sequence[Term], phases: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    places = {each.name: at for each, at in to_read(terms)}
    tables = [each for each, _ in to_read(terms) if isinstance(each, TermTable) and each.counts is not None]
    if not tables:
        return None
    found, counts = np.eye(phases * len(terms)), carrier_counts(sample, phases)[:, 0].astype(np.float64)
    for table in tables:
        takes_it = places.get(table.counts or "")
        if table.counts and takes_it is None:
            continue  # a derived set may lack the term
        for first in range(0, phases * len(terms), len(terms)):
            cells = _columns(places[table.name], first)
            whole = _columns(takes_it, first) if takes_it else []
            total = counts[cells].sum()
            if total and np.isin([*cells, *whole], free).all():
                mean = counts[cells] @ found[cells] / total
                found[cells] -= mean
                if takes_it:
                    found[whole] += mean * table.group.multiplier / terms[takes_it.start].group.multiplier
    return found


def _columns(at: slice, first: int) -> list[int]:
    """The columns of a term or table in the phase whose weights begin at `first`."""
    return list(range(first + at.start, first + at.stop))
