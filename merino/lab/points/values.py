"""The point values of a set of games: the fit, its intervals, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from merino.eval.outlook import DEFAULT_K
from merino.lab.points.regression import Descent, bootstrap, cells_of, descend, fit_all
from merino.lab.points.vectors import PIECES, Vectors
from merino.study.errors import StudyError

SAMPLES = 1000
SEED = 2015
CONFIDENCE = 0.95
DECIDED = 2000  # centipawns: larger scores count as this one
SKIP, HALF = "skip", "half"  # drawn games: leave them out of the fit, or count half a point
SCALE = np.array([1, 3, 3, 5, 9])  # points of pawn, knight, bishop, rook, queen
MAX_BALANCE = 20  # points of balance shown on either side
OTHER_ALPHAS = (0.1, 0.2)  # beside the fitted one: those of Medvedev's graph

Interval = tuple[float, float]


@dataclass(frozen=True)
class Fit:
    """The result of a regression.

    `weights` float64[k] are the logits of White's score for one more of each column, the pieces in the order of PIECES
    first, nan for one that was never in the balance; `resampled` float64[samples, k] the same for each sample of the
    bootstrap.
    """

    weights: np.ndarray
    resampled: np.ndarray

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
        return _centipawns(self.weights)

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
class FeatureFit(Fit):
    """A fit of PIECES and FEATURES together, to `vectors` vectors."""

    vectors: int


@dataclass(frozen=True)
class SearchFit(Fit):
    """A fit to the scores of searches: the target is 1 / (1 + exp(-score / k)).

    `k`, in centipawns, is the scale at which these scores predict the results of the same games best. `with_features`
    is the same with FEATURES beside the pieces, None if not asked for.
    """

    vectors: int
    games: int
    k: float
    with_features: FeatureFit | None


@dataclass(frozen=True)
class PointValues(Fit):
    """The values of the pieces in a set of games.

    `games` and `vectors` count all of the set, `fitted_games` and `fitted_vectors` those that the fit uses.
    `other_weights` come from the other way to treat draws, nan where that has nothing to fit. `with_features` is the
    fit with FEATURES beside the pieces, `descent` the values step by step, `searched` the fit to the scores of searches
    instead of results, with the features if there are any; each is None if not asked for.
    """

    label: str
    draws: str
    games: int
    vectors: int
    fitted_games: int
    fitted_vectors: int
    by_game: bool
    other_weights: np.ndarray
    graph: ScoreGraph
    with_features: FeatureFit | None = None
    descent: Descent | None = None
    searched: SearchFit | None = None

    @property
    def other_values(self) -> np.ndarray:
        """The values with drawn games treated the other way."""
        return _centipawns(self.other_weights)

    @property
    def other_alpha(self) -> float:
        """The steepness per pawn, with drawn games treated the other way."""
        return float(self.other_weights[0])


def other_way(draws: str) -> str:
    """The other treatment of drawn games."""
    return HALF if draws == SKIP else SKIP


def bootstrap_interval(estimate: float, resampled: np.ndarray) -> Interval:
    """The 95% interval of an estimate from those of the samples drawn anew; nan where they are not known.

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


def _centipawns(weights: np.ndarray) -> np.ndarray:
    return 100 * (weights / weights[0]) if weights[0] > 0 else np.full(len(weights), np.nan)


def point_values(
    label: str, vectors: Vectors, draws: str = SKIP, seed: int = SEED, with_descent: bool = False
) -> PointValues:
    """The values of the pieces in these games, and of the features where the vectors have them.

    Needs `enough_to_fit(vectors, draws)`. Raises StudyError if the vectors need scores and too few games have some.
    """
    plain = vectors.of_balance()
    used = _used(plain, draws)
    other = _used(plain, other_way(draws))
    found = _fit(used, seed)
    return PointValues(
        weights=found.weights,
        resampled=found.resampled,
        label=label,
        draws=draws,
        games=plain.games,
        vectors=len(plain),
        fitted_games=used.games,
        fitted_vectors=len(used),
        by_game=plain.by_game,
        other_weights=_weights(other),
        graph=score_graph(plain),
        with_features=None if vectors.features is None else _feature_fit(_used(vectors, draws), seed),
        descent=descend(cells_of(used.differences, used.outcomes)) if with_descent else None,
        searched=None if vectors.scores is None else _search_fit(label, vectors, seed),
    )


def _used(vectors: Vectors, draws: str) -> Vectors:
    """The vectors that are fitted to."""
    return vectors.decided() if draws == SKIP else vectors


def _fit(vectors: Vectors, seed: int, k: float | None = None) -> Fit:
    """The fit of all columns, those that are never anything but 0 being nan; with `k` to the scores of searches."""
    columns = vectors.columns()
    cells = cells_of(columns, vectors.outcomes if k is None else 2 * expected_by_search(vectors, k))
    seen = (columns != 0).any(axis=0)
    return Fit(
        np.where(seen, fit_all(cells), np.nan),
        np.where(seen, bootstrap(cells, vectors, SAMPLES, seed), np.nan),
    )


def _feature_fit(vectors: Vectors, seed: int, k: float | None = None) -> FeatureFit:
    found = _fit(vectors, seed, k)
    return FeatureFit(found.weights, found.resampled, len(vectors))


def expected_by_search(vectors: Vectors, k: float) -> np.ndarray:
    """The score of White, 0..1, that searches predict for each vector; all vectors must have a score."""
    assert vectors.scores is not None
    return logistic(1, vectors.scores.astype(np.float64) / k)


def _search_fit(label: str, vectors: Vectors, seed: int) -> SearchFit:
    """The fit to the scores of searches of all games, drawn ones too; raises StudyError without enough of them."""
    scored = vectors.searched()
    plain = scored.of_balance()
    if not enough_to_fit(plain, HALF):
        raise StudyError(
            f"{label}: its comments tell too few scores of searches; 'merino annotate' writes them, and 'merino match' "
            "and 'merino selfplay' do so where they write games"
        )
    k = _scale(plain)
    found = _fit(plain, seed, k)
    features = None if scored.features is None else _feature_fit(scored, seed, k)
    return SearchFit(found.weights, found.resampled, len(plain), plain.games, k, features)


def _scale(vectors: Vectors) -> float:
    """The K in centipawns at which scores predict results best, the default if they do not predict them."""
    assert vectors.scores is not None
    scores = np.clip(np.rint(vectors.scores), -DECIDED, DECIDED).astype(np.int64)
    steepness = float(fit_all(cells_of(scores[:, None], vectors.outcomes))[0])
    return 1 / steepness if 1 / DECIDED < steepness < 1 else DEFAULT_K


def enough_to_fit(vectors: Vectors, draws: str) -> bool:
    """Whether there are two games or more to fit, with a pawn in the balance of one."""
    used = _used(vectors, draws)
    return used.games > 1 and bool((used.differences[:, 0] != 0).any())


def _weights(vectors: Vectors) -> np.ndarray:
    seen = (vectors.differences != 0).any(axis=0)
    if not seen.any():
        return np.full(len(PIECES), np.nan)
    return np.where(seen, fit_all(cells_of(vectors.differences, vectors.outcomes)), np.nan)


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
