"""The meaning of a score: the expected score, and the chances of win, draw and loss (WDL). Plain Python, no numba."""

import math

DEFAULT_K = 200.0  # centipawns: a score of K is expected to win 73% of the points; used until the learner fits its own


def expected_score(centipawns: float, k: float = DEFAULT_K) -> float:
    """The expected score, wins plus half the draws, 0..1, of a side with this score."""
    # In two forms, because exp() of a large number overflows.
    if centipawns >= 0:
        return 1.0 / (1.0 + math.exp(-centipawns / k))
    return 1.0 - expected_score(-centipawns, k)


def win_draw_loss(expected: float) -> tuple[int, int, int]:
    """Wins, draws and losses in a thousand games, for an expected score.

    The model: a game is two half-points, each won with the probability of the expected score. Both make a win, one
    makes a draw, so that equal players draw 50%.
    """
    wins, losses = round(1000 * expected**2), round(1000 * (1.0 - expected) ** 2)
    return wins, 1000 - wins - losses, losses
