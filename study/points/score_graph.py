"""The score graph: the mean score of White against the balance of material on the scale 1-3-3-5-9, and its logistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from merino.inner.study.points.regression import cells_of, fit_all
from merino.inner.study.points.vectors import Vectors

SCALE = np.array([1, 3, 3, 5, 9])  # points of pawn, knight, bishop, rook, queen
MAX_BALANCE = 20  # points of balance shown on either side
BAR_CELLS = 40  # characters from score 0 to score 1
OTHER_ALPHAS = (0.1, 0.2)  # beside the fitted one: those of Medvedev's graph


@dataclass(frozen=True)
class ScoreGraph:
    """Mean scores by balance; drawn games count half.

    `balances` int64[41], points, White's view; `counts` int64[41], vectors; `scores` float64[41], White's mean score,
    nan where there is no vector. `alpha` is the steepness per point of the logistic fitted to all vectors by
    likelihood; `beyond` counts the vectors outside.
    """

    balances: np.ndarray
    counts: np.ndarray
    scores: np.ndarray
    alpha: float
    beyond: int

    def expected(self, balances: np.ndarray) -> np.ndarray:
        """The fitted score for balances in points."""
        return logistic(self.alpha, balances)


def logistic(alpha: float, balances: np.ndarray) -> np.ndarray:
    """The score of White expected for balances in points at this steepness."""
    return 1 / (1 + np.exp(-alpha * balances))


def score_graph(vectors: Vectors) -> ScoreGraph:
    """The graph of these vectors."""
    balance = vectors.differences.astype(np.int64) @ SCALE
    inside = np.abs(balance) <= MAX_BALANCE
    size = 2 * MAX_BALANCE + 1
    counts = np.bincount(balance[inside] + MAX_BALANCE, minlength=size)
    points = np.bincount(balance[inside] + MAX_BALANCE, weights=vectors.outcomes[inside] / 2, minlength=size)
    scores = np.divide(points, counts, out=np.full(size, np.nan), where=counts > 0)
    alpha = fit_all(cells_of(np.clip(balance, -MAX_BALANCE * 6, MAX_BALANCE * 6)[:, None], vectors.outcomes))[0]
    return ScoreGraph(np.arange(-MAX_BALANCE, MAX_BALANCE + 1), counts, scores, float(alpha), int((~inside).sum()))


def render_graph(graph: ScoreGraph, others: Sequence[float] = OTHER_ALPHAS) -> str:
    """The graph as text: a row for each balance that occurs, White's best first, '#' the mean score, '|' the curve.

    Curves of `others`, other steepnesses, stand beside it in figures.
    """
    beside = "".join(f"{f'at {alpha:g}':>8}" for alpha in others)
    head = f"{'balance':>7} {'vectors':>8} {'score':>6} {'curve':>6}{beside}  0{'0.5':^{BAR_CELLS - 1}}1"
    rows = [f"Mean score of White by balance (1-3-3-5-9), beside 1 / (1 + exp(-{graph.alpha:.3f} * balance))", "", head]
    expected = graph.expected(graph.balances)
    curves = [logistic(alpha, graph.balances) for alpha in others]
    for index in range(len(graph.balances) - 1, -1, -1):
        if graph.counts[index]:
            figures = f"{graph.balances[index]:+7d} {graph.counts[index]:8,} {graph.scores[index]:6.3f}"
            beside = "".join(f"{curve[index]:8.3f}" for curve in curves)
            marks = _marks(graph.scores[index], expected[index])
            rows.append(f"{figures} {expected[index]:6.3f}{beside}  {marks}")
    rows += ["", "'#' is the mean score, '|' the curve, '*' both; drawn games count half."]
    if others:
        rows[-1] += f" For comparison: the curve at alpha {' and '.join(f'{alpha:g}' for alpha in others)}."
    if graph.beyond:
        rows.append(f"{graph.beyond:,} vectors lie beyond {MAX_BALANCE} points.")
    return "\n".join(rows)


def _marks(score: float, expected: float) -> str:
    """The row of a score and its expectation between 0 and 1."""
    cells = [" "] * (BAR_CELLS + 1)
    cells[BAR_CELLS // 2] = "."
    cells[round(expected * BAR_CELLS)] = "|"
    place = round(score * BAR_CELLS)
    cells[place] = "*" if cells[place] == "|" else "#"
    return "".join(cells).rstrip()
