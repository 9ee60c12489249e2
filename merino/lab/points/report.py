"""The point values for programs: as plain data for JSON, and as CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.core.common.sealed import finite
from merino.core.common.tables import csv_text
from merino.lab.points.board import QUANTILES, TEAM_44, TEAM_44_PREDICTED, BoardValues, Prediction, Spread
from merino.lab.points.claims import CONDITIONS, STUDIED, Condition
from merino.lab.points.regression import Descent
from merino.lab.points.values import (
    OTHER_ALPHAS,
    FeatureFit,
    Fit,
    Interval,
    PointValues,
    ScoreGraph,
    SearchFit,
    logistic,
    other_way,
)
from merino.lab.points.vectors import FEATURES, PHASES, PIECES


def as_object(points: PointValues, alphas: Sequence[float] = OTHER_ALPHAS) -> dict[str, object]:
    """Plain data for `json.dumps`, other curves of these steepnesses beside the fitted one; None for the unknown."""
    data: dict[str, object] = {
        "label": points.label,
        "draws": points.draws,
        "games": points.games,
        "vectors": points.vectors,
        "fitted_games": points.fitted_games,
        "fitted_vectors": points.fitted_vectors,
        "by_game": points.by_game,
        **_fit_object(points),
        "weights": _by_piece(points.weights.tolist()),
        "other": {
            "draws": other_way(points.draws),
            "alpha": finite(points.other_alpha),
            "values": _by_piece(points.other_values.tolist()),
        },
        "capablanca": [_condition_object(points, condition) for condition in CONDITIONS],
        "score_graph": _graph_object(points.graph, alphas),
    }
    if points.with_features is not None:
        data["with_features"] = _features_object(points.with_features)
    if points.searched is not None:
        data["search"] = _search_object(points.searched)
    if points.descent is not None:
        data["steps"] = _steps_object(points.descent)
    return data


def _graph_object(graph: ScoreGraph, alphas: Sequence[float]) -> dict[str, object]:
    """The scores by balance beside the fitted curve, and other curves of these steepnesses."""
    curve = graph.expected(graph.balances).tolist()
    bins = zip(graph.balances.tolist(), graph.counts.tolist(), graph.scores.tolist(), curve, strict=True)
    return {
        "alpha": finite(graph.alpha),
        "beyond": graph.beyond,
        "bins": [
            {"balance": balance, "vectors": count, "score": finite(score), "expected": finite(expected)}
            for balance, count, score, expected in bins
        ],
        "other_curves": [
            {"alpha": alpha, "expected": [finite(score) for score in logistic(alpha, graph.balances)]}
            for alpha in alphas
        ],
    }


def _fit_object(fit: Fit) -> dict[str, object]:
    """The steepness and the values of the pieces with their intervals."""
    return {
        "alpha": finite(fit.alpha),
        "alpha_interval": _pair(fit.alpha_interval),
        "values": _by_piece(fit.values[: len(PIECES)].tolist()),
        "intervals": {piece: _pair(fit.interval_of_piece(index)) for index, piece in enumerate(PIECES)},
    }


def _features_object(fit: FeatureFit) -> dict[str, object]:
    """The fit with features: the pieces beside them, and each with its claim."""
    return {
        "vectors": fit.vectors,
        **_fit_object(fit),
        "features": [
            {
                "feature": feature.name,
                "claim": feature.claim,
                "value": finite(fit.values[column]),
                "interval": _pair(fit.interval_of_piece(column)),
                "verdict": str(feature.verdict(*fit.interval_of_piece(column))),
            }
            for column, feature in enumerate(STUDIED, len(PIECES))
        ],
    }


def _search_object(fit: SearchFit) -> dict[str, object]:
    """The fit to the scores of searches."""
    return {
        "games": fit.games,
        "vectors": fit.vectors,
        "k": fit.k,
        **_fit_object(fit),
        "with_features": fit.with_features and _features_object(fit.with_features),
    }


def _steps_object(descent: Descent) -> list[dict[str, object]]:
    rows = zip(descent.steps.tolist(), descent.costs.tolist(), descent.weights, descent.values, strict=True)
    return [
        {"step": step, "cost": cost, "alpha": finite(weights[0]), "values": _by_piece(values.tolist())}
        for step, cost, weights, values in rows
    ]


def _condition_object(points: PointValues, condition: Condition) -> dict[str, object]:
    difference = condition.left - condition.right
    interval = points.interval(difference)
    return {
        "condition": condition.name,
        "left": finite(points.worth(condition.left)),
        "right": finite(points.worth(condition.right)),
        "difference": finite(points.worth(difference)),
        "interval": _pair(interval),
        "verdict": str(condition.verdict(*interval)),
    }


def _by_piece(numbers: Sequence[float]) -> dict[str, float | None]:
    return {piece: finite(number) for piece, number in zip(PIECES, numbers, strict=True)}


def _pair(interval: Interval) -> list[float] | None:
    return list(interval) if math.isfinite(sum(interval)) else None


def as_csv(sets: Sequence[PointValues]) -> str:
    """A row for each set, with a line of names above; what is not known is empty.

    With features, these and the pieces beside them follow in columns of their own.
    """
    bounds = [f"{piece}_{end}" for piece in PIECES for end in ("low", "high")]
    names = ["label", "draws", "games", "vectors", "alpha", "alpha_low", "alpha_high", *PIECES, *bounds]
    has_features = any(points.with_features is not None for points in sets)
    if has_features:
        columns = [f"with_features_{name.replace(' ', '_')}" for name in (*PIECES, *FEATURES)]
        names += [*columns, *(f"{name}_{end}" for name in columns for end in ("low", "high"))]
    has_scores = any(points.searched is not None for points in sets)
    if has_scores:
        names += [f"search_{name}" for name in ("k", *PIECES, *bounds)]
    rows = []
    for points in sets:
        cells = [points.label, points.draws, points.games, points.vectors]
        numbers = [points.alpha, *points.alpha_interval, *_values_and_bounds(points)]
        if points.with_features is not None:
            numbers += _values_and_bounds(points.with_features)
        if points.searched is not None:
            numbers += [points.searched.k, *_values_and_bounds(points.searched)]
        rows.append([*cells, *map(_cell, numbers)])
    return csv_text([names, *rows])


def steps_as_csv(sets: Sequence[PointValues]) -> str:
    """A row for each step of each set: its cost, its alpha and its values."""
    rows: list[list[Any]] = [["label", "step", "cost", "alpha", *PIECES]]
    for points in sets:
        assert points.descent is not None
        way = points.descent
        for step, cost, weights, values in zip(way.steps, way.costs, way.weights, way.values, strict=True):
            rows.append([points.label, step, *map(_cell, [cost, weights[0], *values])])
    return csv_text(rows)


def _values_and_bounds(fit: Fit) -> list[float]:
    intervals = [bound for column in range(len(fit.weights)) for bound in fit.interval_of_piece(column)]
    return [*fit.values.tolist(), *intervals]


def _cell(number: float) -> str:
    return f"{number:.6g}" if np.isfinite(number) else ""


def board_as_object(board: BoardValues, points: PointValues | None) -> dict[str, object]:
    """Plain data for `json.dumps`; values in pawns, what is not known is None."""
    return {
        "label": board.label,
        "evaluation": board.evaluation,
        "games": board.games,
        "positions": board.positions,
        "pawn_cp": board.pawns,
        "values": [
            {"way": way, "piece": piece, "phase": phase, **_spread_object(found)}
            for (way, piece, phase), found in board.spreads.items()
        ],
        "regression": None
        if points is None
        else {piece: finite(value / 100) for piece, value in zip(PIECES, points.values.tolist(), strict=True)},
        "team_44": dict(zip(PIECES, TEAM_44, strict=True)),
        "foretold": [{"phase": phase, **_prediction_object(board.predictions[phase])} for phase in (None, *PHASES)],
        "team_44_foretold": TEAM_44_PREDICTED,
    }


def _spread_object(found: Spread) -> dict[str, object]:
    quantiles = {f"{share:g}": finite(value) for share, value in zip(QUANTILES, found.quantiles, strict=True)}
    spread = {"mean": finite(found.mean), "deviation": finite(found.deviation)}
    return {"number": found.number, **spread, "quantiles": quantiles}


def _prediction_object(found: Prediction) -> dict[str, object]:
    return {"positions": found.positions, "share": finite(found.share), "error": finite(found.error)}


def board_as_csv(boards: Sequence[BoardValues]) -> str:
    """A row for each file, way, piece and phase, with a line of names above; what is not known is empty."""
    names = ["label", "way", "piece", "phase", "number", "mean", "deviation", *map("q{:g}".format, QUANTILES)]
    rows = [
        [board.label, way, piece, phase or "all", found.number]
        + [_cell(number) for number in (found.mean, found.deviation, *found.quantiles)]
        for board in boards
        for (way, piece, phase), found in board.spreads.items()
    ]
    return csv_text([names, *rows])
