"""What a score promises: the points to expect, and how often to win, draw and lose. Plain numbers, no numba."""

import math

DEFAULT_K = 200.0  # centipawns: a score of K is expected to win 73% of the points; until the learner fits its own


def expected_score(centipawns: float, k: float = DEFAULT_K) -> float:
    """The share of the points, wins plus half the draws, 0..1, that a side with this score may expect."""
    # In two forms, because exp() of a large number overflows.
    if centipawns >= 0:
        return 1.0 / (1.0 + math.exp(-centipawns / k))
    return 1.0 - expected_score(-centipawns, k)


def win_draw_loss(expected: float) -> tuple[int, int, int]:
    """Wins, draws and losses in a thousand games, for an expected score.

    The model: a game is two half-points, each won with the chance of the expected score. Both make a win, one makes a
    draw, which comes to 50% between equals.
    """
    wins, losses = round(1000 * expected**2), round(1000 * (1.0 - expected) ** 2)
    return wins, 1000 - wins - losses, losses
