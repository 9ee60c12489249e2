"""The point values of a set of games: a logistic regression, its intervals by resampling, and common claims.

The regression has no intercept and is solved to convergence by Newton's method, many samples at once. The objective for
weights theta is the mean cross-entropy over the vectors, plus PENALTY * sum(theta ** 2):

    -s log p - (1 - s) log (1 - p),   p = 1 / (1 + exp(-x @ theta))

with s = 0, 1/2 or 1 the score of White. A vector and its opposite with the opposite score cost the same (so White and
Black are treated alike); they share a cell. Samples are the same cells with other counts: a bootstrap of a thousand
samples needs one table of cells, and its sums are products of matrices.

Capablanca's five conditions are from "Chess Fundamentals" (1921): a bishop is a shade better than a knight, each is
worth more than three pawns, bishop and knight balance rook and a pawn and a half, and queen and pawn balance two rooks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from merino.core.compiled.jit import entry
from merino.lab.points.games import DRAW, FEATURES, NEUTRAL_PAWNS, PIECES, Draws, PointsRequest, Vectors

SAMPLES = 1000
CONFIDENCE = 0.95
SCALE = np.array([1, 3, 3, 5, 9])  # points of pawn, knight, bishop, rook, queen
MAX_BALANCE = 20  # points of balance shown on either side
MARGIN = 50.0  # centipawns: an interval that stays this close to zero makes two sides equal for any player
PENALTY = 1e-6  # Medvedev's
MAX_STEPS = 60
ENOUGH = 1e-9  # a Newton step this small has converged
HALVINGS = 30
BATCH = 50  # samples solved together: their tables stay in the processor's cache

Interval = tuple[float, float]


@dataclass(frozen=True)
class Cells:
    """The different vectors of a sample, up to sign.

    `table` float64[cells, k] has them; `cell` int64[n] and `score` float64[n] say of each vector of the sample which
    cell it is and how the side scored whose view that is: 0, 0.5 or 1.
    """

    table: np.ndarray
    cell: np.ndarray
    score: np.ndarray


def cells_of(columns: np.ndarray, half_points: np.ndarray) -> Cells:
    """The cells of the rows of `columns`, small integers[n, k], whose games gave White `half_points`, 0..2."""
    spans = 2 * np.abs(columns.astype(np.int64)).max(axis=0, initial=0) + 1
    place = np.cumprod([1, *spans[:-1]])
    code = columns.astype(np.int64) @ place  # its sign is that of the last number that is not zero
    codes, first, cell = np.unique(np.abs(code), return_index=True, return_inverse=True)
    table = columns[first] * np.where(code[first] < 0, -1.0, 1.0)[:, None]
    score = np.where(code < 0, 2 - half_points, half_points) / 2
    assert len(table) == len(codes)
    return Cells(table, cell, score)


def fit(cells: np.ndarray, trials: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The best weights of each sample, float64[samples, k].

    `cells` is float64[cells, k]; `trials` and `scores` float64[samples, cells] say how often a cell occurs in a sample
    and how many points its side made.
    """
    weights = np.zeros((len(trials), cells.shape[1]))
    ridge = PENALTY * np.maximum(trials.sum(axis=1), 1)
    squares = (cells[:, :, None] * cells[:, None, :]).reshape(len(cells), -1)
    diagonal = 2 * ridge[:, None, None] * np.eye(cells.shape[1])
    cost, expected = _cost(cells, trials, scores, weights, ridge)
    for _ in range(MAX_STEPS):
        gradient = (trials * expected - scores) @ cells + 2 * ridge[:, None] * weights
        curvature = (trials * expected * (1 - expected)) @ squares
        step = np.linalg.solve(curvature.reshape(diagonal.shape) + diagonal, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max() < ENOUGH * (1 + np.abs(weights).max()):
            break
        share = np.ones((len(trials), 1))
        for _ in range(HALVINGS):
            new = weights - share * step
            new_cost, new_expected = _cost(cells, trials, scores, new, ridge)
            worse = new_cost > cost + 1e-12 * np.abs(cost)
            if not worse.any():
                break
            share[worse] /= 2
        weights, cost, expected = new, new_cost, new_expected
    return weights


def _cost(
    cells: np.ndarray, trials: np.ndarray, scores: np.ndarray, weights: np.ndarray, ridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The objective, summed over the vectors, float64[samples]; and p of each cell, float64[samples, cells]."""
    logit = weights @ cells.T
    small = np.exp(-np.abs(logit))
    loss = trials * (np.maximum(logit, 0) + np.log1p(small)) - scores * logit
    return loss.sum(axis=1) + ridge * (weights**2).sum(axis=1), np.where(logit >= 0, 1, small) / (1 + small)


def fit_all(cells: Cells) -> np.ndarray:
    """The best weights for the sample itself, float64[k]."""
    size = len(cells.table)
    trials = np.bincount(cells.cell, minlength=size).astype(np.float64)
    return fit(cells.table, trials[None], np.bincount(cells.cell, weights=cells.score, minlength=size)[None])[0]


def bootstrap(cells: Cells, vectors: Vectors, samples: int, seed: int) -> np.ndarray:
    """The best weights for `samples` samples of as many games, drawn with replacement; float64[samples, k].

    `cells` are those of `vectors`. Games and not vectors are drawn: the vectors of a game share its result.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, samples, BATCH):
        count = min(BATCH, samples - first)
        drawn = np.empty((count, vectors.games), dtype=np.float64)
        for row in drawn:
            row[:] = np.bincount(rng.integers(0, vectors.games, vectors.games), minlength=vectors.games)
        trials, scores = np.zeros((2, count, len(cells.table)))
        _tally(drawn, vectors.game, cells.cell, cells.score, trials, scores)
        parts.append(fit(cells.table, trials, scores))
    return np.concatenate(parts)


@entry
def _tally(drawn, game, cell, score, trials, scores):
    """Add up trials and scores, float64[samples, cells], where game g was drawn drawn[sample, g] times."""
    for sample in range(len(drawn)):
        for index in range(len(game)):
            times = drawn[sample, game[index]]
            trials[sample, cell[index]] += times
            scores[sample, cell[index]] += times * score[index]


class PointsVerdict(StrEnum):
    """The verdict of the games on a claim."""

    HOLDS = "holds"
    EQUAL = "holds to half a pawn"
    FAILS = "does not hold"
    OPEN = "not decided by these games"


@dataclass(frozen=True)
class Claim:
    """A claim that the worth of `counts`, float64[5] pieces or float64[10] with features, is above 0, or equal to 0."""

    name: str
    counts: np.ndarray
    sentence: str = ""
    is_equality: bool = False

    def verdict(self, interval: Interval) -> PointsVerdict:
        """The verdict of the interval of the worth in centipawns; an unknown one (nan) leaves it open."""
        low, high = interval
        if self.is_equality:
            if low > 0 or high < 0:
                return PointsVerdict.FAILS
            return PointsVerdict.EQUAL if low >= -MARGIN and high <= MARGIN else PointsVerdict.OPEN
        return PointsVerdict.HOLDS if low > 0 else PointsVerdict.FAILS if high < 0 else PointsVerdict.OPEN


def _condition(name: str) -> Claim:
    """The condition written like "B + N = R + 1.5P"."""
    sign = ">" if ">" in name else "="
    sides = np.zeros((2, len(PIECES)))
    for counts, text in zip(sides, name.split(f" {sign} "), strict=True):
        for word in text.split(" + "):
            counts[PIECES.index(word[-1])] += float(word[:-1] or 1)
    return Claim(name, sides[0] - sides[1], is_equality=sign == "=")


CONDITIONS = tuple(_condition(name) for name in ("B > N", "B > 3P", "N > 3P", "B + N = R + 1.5P", "Q + P = 2R"))
_SIGNED = (
    (1, "two are worth more than twice one"),
    (1, f"gains with each beyond {NEUTRAL_PAWNS} (Kaufman)"),
    (-1, f"loses with each beyond {NEUTRAL_PAWNS} (Kaufman)"),
    (1, "worth more than each alone (Capablanca)"),
    (1, "worth more than another one"),
)
_COUNTS = np.eye(len(PIECES) + len(FEATURES))[len(PIECES) :]
STUDIED = tuple(
    Claim(name, sign * counts, sentence)
    for name, (sign, sentence), counts in zip(FEATURES, _SIGNED, _COUNTS, strict=True)
)


@dataclass(frozen=True)
class Fit:
    """The result of a regression.

    `weights` float64[k] are the logits of White's score for one more of each column, the pieces in the order of PIECES
    first, nan for one that was never in the balance; `resampled` float64[samples, k] the same for each sample of the
    bootstrap. It is fitted to `vectors` vectors.
    """

    weights: np.ndarray
    resampled: np.ndarray
    vectors: int

    @property
    def alpha(self) -> float:
        """The steepness per pawn: expected score = 1 / (1 + exp(-alpha * pawns))."""
        return float(self.weights[0])

    @property
    def alpha_interval(self) -> Interval:
        """Its 95% interval."""
        return bootstrap_interval(self.alpha, self.resampled[:, 0])

    @property
    def values(self) -> np.ndarray:
        """The values in centipawns, the pawn being 100; all nan where the pawn's own worth is not positive."""
        weights = self.weights
        return 100 * (weights / weights[0]) if weights[0] > 0 else np.full(len(weights), np.nan)

    @property
    def is_proved(self) -> bool:
        """Whether the games prove that a pawn more helps, so that values in pawns mean something."""
        return bool(np.isfinite(self.interval_of_piece(0)[0]))

    def worth(self, pieces: np.ndarray) -> float:
        """What `pieces`, float64[k] of each column, are worth together in centipawns; nan where one of them is."""
        used = pieces != 0
        return float(pieces[used] @ self.values[used])

    def interval(self, pieces: np.ndarray) -> Interval:
        """The 95% interval of `worth`; nan where more samples than it may leave out have no positive pawn."""
        used = pieces != 0
        pawn = self.resampled[:, 0]
        usable = pawn > 0
        if np.mean(usable) < (1 + CONFIDENCE) / 2:
            return float("nan"), float("nan")
        worth = 100 * (self.resampled[usable][:, used] / pawn[usable, None]) @ pieces[used]
        return bootstrap_interval(self.worth(pieces), worth)

    def interval_of_piece(self, piece: int) -> Interval:
        """The 95% interval of the value of one piece, or of another column."""
        return self.interval(np.eye(len(self.weights))[piece])


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
    logit = alpha * balances
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0, 1, small) / (1 + small))


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


@dataclass(frozen=True)
class PointValues:
    """The values of the pieces in a set of games.

    `games` and `vectors` count all of the set, `fitted_games` those that the fit uses. `other` is what the other way to
    treat draws gives, weights of nan where that has nothing to fit, without samples. `with_features` is the fit with
    FEATURES, None if not asked for.
    """

    label: str
    draws: Draws
    games: int
    vectors: int
    fitted_games: int
    by_game: bool
    fit: Fit
    other: Fit
    graph: ScoreGraph
    with_features: Fit | None = None


def bootstrap_interval(estimate: float, resampled: np.ndarray) -> Interval:
    """The 95% interval of an estimate by those of the resamples; nan where they are not known.

    Percentiles, corrected for bias (B. Efron, 1981): a logistic fit to few games is too steep, and a fit to a sample of
    these games is too steep by about as much again. The share of samples below the estimate shows by how much.
    """
    if np.isnan(estimate) or np.isnan(resampled).any():
        return float("nan"), float("nan")
    normal, count = NormalDist(), len(resampled)
    share = (np.count_nonzero(resampled < estimate) + np.count_nonzero(resampled <= estimate) + 1) / (2 * count + 2)
    shift, width = normal.inv_cdf(share), normal.inv_cdf((1 + CONFIDENCE) / 2)
    low, high = np.quantile(resampled, [normal.cdf(2 * shift - width), normal.cdf(2 * shift + width)])
    return float(low), float(high)


def point_values(
    label: str, vectors: Vectors, draws: Draws = Draws.SKIP, seed: int = PointsRequest.seed
) -> PointValues:
    """The values of the pieces in these games, and of the features where the vectors have them.

    Needs games enough to fit, as `values_of` says.
    """
    plain = vectors if vectors.features is None else vectors.of_balance()
    used, other = _used(plain, draws), _used(plain, draws.other)
    return PointValues(
        label=label,
        draws=draws,
        games=plain.games,
        vectors=len(plain),
        fitted_games=used.games,
        by_game=plain.by_game,
        fit=_fit(used, seed),
        other=Fit(_weights(other), np.full((1, len(PIECES)), np.nan), len(other)),
        graph=score_graph(plain),
        with_features=None if vectors.features is None else _fit(_used(vectors, draws), seed),
    )


def values_of(
    sets: Sequence[tuple[str, Vectors]], request: PointsRequest
) -> tuple[list[PointValues], list[tuple[str, int]]]:
    """The values of each set with games enough to fit: two, with a pawn in the balance of one.

    Label and number of games of the others.
    """
    values, too_small = [], []
    for label, vectors in sets:
        used = _used(vectors, request.draws)
        if used.games > 1 and (used.differences[:, 0] != 0).any():
            values.append(point_values(label, vectors, request.draws, request.seed))
        else:
            too_small.append((label, vectors.games))
    return values, too_small


def _used(vectors: Vectors, draws: Draws) -> Vectors:
    """The vectors that are fitted to."""
    return vectors.of_games(vectors.results != DRAW) if draws is Draws.SKIP else vectors


def _fit(vectors: Vectors, seed: int) -> Fit:
    """The fit of all columns with its resamples."""
    weights = _weights(vectors)
    resampled = bootstrap(cells_of(vectors.columns, vectors.outcomes), vectors, SAMPLES, seed)
    return Fit(weights, np.where(np.isnan(weights), np.nan, resampled), len(vectors))


def _weights(vectors: Vectors) -> np.ndarray:
    """The best weights of all columns, nan for those that are never anything but 0."""
    columns = vectors.columns
    seen = (columns != 0).any(axis=0)
    return np.where(seen, fit_all(cells_of(columns, vectors.outcomes)) if seen.any() else 0.0, np.nan)
