"""What a position should be predicted to bring: the result of its game, what a search says of it, or some of both.

Search scores become points by 1 / (1 + e^(-score / K)), with the K at which they predict the results of the same games
best. A result is one of three for a whole game; a search says something of each position (J. Veness, D. Silver, A.
Blair and W. Uther, "Bootstrapping from Game Tree Search", 2009). Trainers of nets blend both, and so can the learner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formats.pgn_scores import MATE, NO_SCORE

RESULT, SEARCH, BLEND = "result", "search", "blend"
_FIRST_K, _STEPS = 200.0, 30
SCORES = 1 << 16  # of int16
ZERO_SCORE = SCORES // 2  # the place of the score 0 among them


@dataclass(frozen=True)
class Target:
    """What is learned: `share` of the result, the rest what a search says, as points of White.

    `k` is the scale of search scores in centipawns; None for the one that fits the results.
    """

    share: float = 1.0
    k: float | None = None

    @property
    def needs_scores(self) -> bool:
        """Whether positions need the score of a search."""
        return self.share < 1

    @property
    def name(self) -> str:
        """As the option has it: result, search or blend=X."""
        return {0.0: SEARCH, 1.0: RESULT}.get(self.share, f"{BLEND}={self.share:g}")

    def describe(self) -> str:
        """The target in words."""
        if not self.needs_scores:
            return "the result of the game"
        if self.share == 0:
            return "what a search says"
        return f"{self.share:g} of the result and {1 - self.share:g} of what a search says"


def scale_of_scores(scores: np.ndarray, labels: np.ndarray) -> float:
    """The K in centipawns at which int16[n] scores predict float32[n] results with the least squared error."""
    places = scores.astype(np.int64) + ZERO_SCORE
    return scale_of_counts(np.bincount(places, minlength=SCORES), np.bincount(places, labels, minlength=SCORES))


def scale_of_counts(count: np.ndarray, points: np.ndarray) -> float:
    """The same, from how many have each score, [65536] with the score 0 in the middle, and the sum of their results."""
    seen = np.flatnonzero(count)
    value, count, mean = (seen - ZERO_SCORE).astype(np.float64), count[seen], points[seen] / count[seen]
    value = np.clip(value, -MATE / 8, MATE / 8)  # what is won is won
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
    """What each int16 score adds to the target of its position, float32[65536], the score 0 in the middle."""
    scores = np.arange(SCORES) - ZERO_SCORE
    expected = 1 / (1 + np.exp(-np.clip(scores, -MATE, MATE) / k))
    expected[NO_SCORE + ZERO_SCORE] = np.nan  # no row without a score is fitted
    return ((1 - target.share) * expected).astype(np.float32)
