"""Statistics of results: Elo with its error, likelihood of superiority, and the sequential test.

Counts are numbers of results from the first player's view, lowest score first: three classes (losses, draws, wins) of
single games, or five (0, 1/2, 1, 3/2, 2 points) of pairs from one opening with colours reversed. Two games from one
opening depend on each other, so only pairs give the true error. The last axis holds the classes; all functions also
take arrays with more axes before it and then work on each row.

The test is the generalised sequential probability ratio test of M. Van den Bergh's notes, which fishtest uses too:
"Comments on normalized Elo", "The generalized maximum likelihood ratio for the expectation value of a distribution".
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from merino.core.common.errors import choice, real_number

Z_95 = 1.959963984540054
NELO_PER_T = 800 / math.log(10)  # normalised Elo of a mean advantage of one standard deviation
UNSEEN = 1e-3  # count of a class that has not occurred, so that every likelihood exists
COIN = 0.125  # variance of a pair of tossed coins; counts as one more result, so that a few results do not look certain
STEPS = 100
ROUNDS = 200
WITHIN = 1 - 1e-12  # kept from the ends of the interval of the root, to avoid divisions by 0
CONVERGED = 1e-10
MIN_ERROR = 1e-12


class Model(StrEnum):
    """The unit of the bounds of a test."""

    NORMALIZED = "normalized"  # normalised Elo, by the standard deviation of a game: independent of the share of draws
    LOGISTIC = "logistic"


# Bounds of a test. The likeliest distribution of a normalised Elo is not found where the mean of a pair is about one
# standard deviation or more from 1/2: from 245.7 on.
MAX_ELO = {Model.NORMALIZED: 200.0, Model.LOGISTIC: 2000.0}


@dataclass(frozen=True)
class Estimate:
    """The strength estimated from results. `elo` is infinite for a clean score."""

    elo: float
    elo_error: float  # half of the 95% interval
    normalized: float
    normalized_error: float
    los: float  # likelihood of superiority, 0..1


def elo_of(score: float) -> float:
    """The Elo difference with this expected score, 0..1; infinite for 0 and 1."""
    if not 0 < score < 1:
        return math.copysign(math.inf, score - 0.5)
    return -400 * math.log10(1 / score - 1)


def score_of(elo: float) -> float:
    """The expected score, 0..1, at an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def estimate(counts: np.ndarray) -> Estimate:
    """The estimate from counts of three or five classes; that of no games if there is no result."""
    number, mean, variance = (float(value) for value in moments(counts))
    if not number:
        return Estimate(0.0, math.inf, 0.0, math.inf, 0.5)
    widened = (number * variance + COIN) / (number + 1)
    error = Z_95 * math.sqrt(widened / number)
    elo_error = (elo_of(mean + error) - elo_of(mean - error)) / 2
    deviation = math.sqrt(widened * _games(counts))
    normalized = [(mean + side - 0.5) / deviation * NELO_PER_T for side in (-error, 0, error)]
    spread = variance + (mean - 0.5) ** 2  # variance around 1/2, as for equal players: Phi((W - L) / sqrt(W + L))
    los = 0.5 * (1 + math.erf((mean - 0.5) / math.sqrt(2 * spread / number)))
    seen = float(np.dot(counts, np.linspace(0, 1, len(counts))) / number)
    elo = elo_of(seen) + 0.0  # no -0
    if math.isinf(elo):
        elo_error = math.inf
    return Estimate(elo, elo_error, normalized[1], (normalized[2] - normalized[0]) / 2, los)


def wilson_interval(shares: Any, of: Any) -> tuple[Any, Any]:
    """The ends of the 95% interval of a share of so many, or of arrays of such; rounding may put them beyond 0 and 1.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).
    """
    middle, whole = shares + Z_95**2 / (2 * of), 1 + Z_95**2 / of
    error = Z_95 * np.sqrt(shares * (1 - shares) / of + Z_95**2 / (4 * of**2))
    return (middle - error) / whole, (middle + error) / whole


def t_95(freedom: int) -> float:
    """The two-sided 95% quantile of Student's t, to 0.3% from four degrees of freedom on.

    By Cornish and Fisher's expansion about that of the normal distribution (Abramowitz and Stegun, 26.7.5).
    """
    z, n = Z_95, freedom
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def moments(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many results, their mean score in 0..1, and its variance for one result."""
    shares, number = _shares(counts)
    values = np.linspace(0, 1, shares.shape[-1])
    mean = shares @ values
    return number, mean, np.sum(shares * (values - mean[..., None]) ** 2, axis=-1)


def llr(counts: np.ndarray, elo0: float, elo1: float, model: Model) -> np.ndarray:
    """The log-likelihood ratio of elo1 to elo0, each with its maximum likelihood."""
    shares, number = _shares(counts)
    if model is Model.LOGISTIC:
        null, alternative = (likeliest_with_mean(shares, score_of(elo)) for elo in (elo0, elo1))
    else:
        factor = math.sqrt(_games(counts)) / NELO_PER_T
        null, alternative = (_likeliest_with_t_value(shares, elo * factor) for elo in (elo0, elo1))
    return number * np.sum(shares * np.log(alternative / null), axis=-1)


@dataclass(frozen=True)
class Sprt:
    """A sequential test of elo0 against elo1, with its error probabilities; `model` may be a text, "logistic"."""

    elo0: float
    elo1: float
    alpha: float = 0.05  # of accepting elo1 where elo0 is true
    beta: float = 0.05  # of accepting elo0 where elo1 is true
    model: Model = Model.NORMALIZED

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", choice("model", self.model, Model))
        most = MAX_ELO[self.model]
        real_number("elo0", self.elo0, -most, most)
        real_number("elo1", self.elo1, -most, most)
        real_number("alpha", self.alpha, MIN_ERROR, 0.5)
        real_number("beta", self.beta, MIN_ERROR, 0.5)
        if self.alpha + self.beta >= 1:
            raise ValueError(f"one of alpha and beta must be below 0.5, or nothing is tested, not both {self.alpha:g}")
        if self.elo0 >= self.elo1:
            raise ValueError(f"elo0 must be below elo1, not {self.elo0:g} and {self.elo1:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the LLR: accept elo0 at or below the first, elo1 at or above the second (Wald 1945)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: np.ndarray) -> float:
        """The log-likelihood ratio of these counts, 0 if there is no result."""
        return float(llr(counts, self.elo0, self.elo1, self.model)) if np.sum(counts) else 0.0

    def verdict(self, counts: np.ndarray) -> str:
        """Either "H0" or "H1", or "" while undecided."""
        low, high = self.bounds
        ratio = self.llr(counts)
        return "H0" if ratio <= low else "H1" if ratio >= high else ""

    def __str__(self) -> str:
        return f"SPRT {self.model} [{self.elo0:g}, {self.elo1:g}]"


def _games(counts: np.ndarray) -> int:
    """Games in one result."""
    return {3: 1, 5: 2}[np.shape(counts)[-1]]


def _shares(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of each class and the number of results; a class that has not occurred gets a tiny share."""
    counts = np.asarray(counts, dtype=np.float64)
    seen = np.where(counts == 0, UNSEEN, counts)
    return seen / seen.sum(axis=-1, keepdims=True), counts.sum(axis=-1)


def likeliest_with_mean(shares: np.ndarray, score: float) -> np.ndarray:
    """The most likely distribution with mean `score`, given the shares."""
    return _likeliest(shares, np.linspace(0, 1, shares.shape[-1]) - score)


def _likeliest(shares: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The most likely distribution p with sum(p * values) = 0, given the shares: Newton steps within bounds."""
    low, high = -WITHIN / values.max(axis=-1, keepdims=True), -WITHIN / values.min(axis=-1, keepdims=True)
    root = np.zeros((*shares.shape[:-1], 1))
    for _ in range(STEPS):
        ratios = values / (1 + root * values)
        height = np.sum(shares * ratios, axis=-1, keepdims=True)
        low, high = np.where(height > 0, root, low), np.where(height > 0, high, root)
        step = root + height / np.sum(shares * ratios * ratios, axis=-1, keepdims=True)
        root = np.where((low <= step) & (step <= high), step, (low + high) / 2)
        if np.max(np.abs(height)) < CONVERGED:
            break
    return shares / (1 + root * values)


def _likeliest_with_t_value(shares: np.ndarray, t_value: float) -> np.ndarray:
    """The most likely distribution with (mean - 1/2) / deviation = t_value, given the shares.

    The constraint is linearised around the last distribution until it converges.
    """
    values = np.linspace(0, 1, shares.shape[-1])
    found = np.full_like(shares, 1 / shares.shape[-1])
    for _ in range(ROUNDS):
        mean = (found @ values)[..., None]
        deviation = np.sqrt(np.sum(found * (values - mean) ** 2, axis=-1, keepdims=True))
        slope = values - 0.5 - 0.5 * t_value * deviation * (1 + ((values - mean) / deviation) ** 2)
        before, found = found, _likeliest(shares, slope)
        if np.max(np.abs(found - before)) < CONVERGED:
            break
    return found
