"""The target of learning for a position: the result of its game, the score of a search, or a blend of both.

A search score becomes an expected score by 1 / (1 + e^(-score / K)), with the K at which scores predict the results of
the same games best. A game has one result, but each of its positions has a score (J. Veness, D. Silver, A. Blair and
W. Uther, "Bootstrapping from Game Tree Search", 2009). Trainers of nets blend both, as this learner can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.engine.search.choice import expected_scores
from merino.formats.pgn_tokens import MATE, NO_SCORE

RESULT, SEARCH, BLEND = "result", "search", "blend"
_FIRST_K, _STEPS = 200.0, 30
SCORES = 1 << 16  # of int16
ZERO_SCORE = SCORES // 2  # the index of score 0 among them


@dataclass(frozen=True)
class Target:
    """The blend to learn: `share` of the result, and 1 - `share` of the search score as White's expected score.

    `k` is the scale of search scores in centipawns; None for the one that fits the results. `scorer` is whose scores
    they are, in words.
    """

    share: float = 1.0
    k: float | None = None
    scorer: str = "a search"

    @classmethod
    def read(cls, text: str) -> Target:
        """The target with this `name`; raises ValueError if there is none."""
        kind, equals, share = text.partition("=")
        if text in (RESULT, SEARCH):
            return cls(1.0 if text == RESULT else 0.0)
        if kind != BLEND or not equals:
            raise ValueError(f"'{text[:40]}' is not one of {RESULT}, {SEARCH} and {BLEND}=X")
        try:
            number = float(share)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            raise ValueError(f"{BLEND}=X needs an X from 0 to 1, not '{share[:40]}'")
        return cls(number)

    @property
    def needs_scores(self) -> bool:
        """Whether positions need the score of a search."""
        return self.share < 1

    @property
    def needs_results(self) -> bool:
        """Whether the results of games count: by themselves, or for the scale of the scores."""
        return self.share > 0 or self.k is None

    @property
    def name(self) -> str:
        """The value of the option --target: result, search or blend=X."""
        return {0.0: SEARCH, 1.0: RESULT}.get(self.share, f"{BLEND}={self.share:g}")

    def describe(self) -> str:
        """The target in words."""
        if not self.needs_scores:
            return "the result of the game"
        if self.share == 0:
            return f"the score of {self.scorer}"
        return f"{self.share:g} of the result and {1 - self.share:g} of the score of {self.scorer}"


def scale_of_counts(count: np.ndarray, points: np.ndarray) -> float:
    """The K in centipawns at which scores predict results with the least squared error.

    `count` is the number of positions with each score, `points` the sum of their results: both [65536] by score.
    """
    seen = np.flatnonzero(count)
    value, count, mean = (seen - ZERO_SCORE).astype(np.float64), count[seen], points[seen] / count[seen]
    value = np.clip(value, -MATE / 8, MATE / 8)  # beyond this all scores mean a won game
    inverse_k = 1 / _FIRST_K
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-inverse_k * value))
        slope = predicted * (1 - predicted) * value
        change = (count * slope * (predicted - mean)).sum() / max((count * slope**2).sum(), 1e-12)
        inverse_k = float(np.clip(inverse_k - change, inverse_k / 2, inverse_k * 2))
        if abs(change) < 1e-6 * inverse_k:
            break
    return 1 / float(np.clip(inverse_k, 1e-4, 1.0))


def points_by_score(target: Target, k: float) -> np.ndarray:
    """The part of the target that each int16 score gives its position, float32[65536], indexed from score -32768."""
    expected = expected_scores(np.arange(SCORES) - ZERO_SCORE, k)
    expected[NO_SCORE + ZERO_SCORE] = np.nan  # no row without a score is fitted
    return ((1 - target.share) * expected).astype(np.float32)
