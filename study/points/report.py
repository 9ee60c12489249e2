"""What `points` tells: tables for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

import numpy as np

from study.points.capablanca import CONDITIONS, Condition
from study.points.score_graph import render_graph
from study.points.values import HALF, SKIP, Interval, PointValues
from study.points.vectors import PIECE_NAMES, PIECES

FEW_GAMES = 300  # below this the intervals themselves are rough
_DRAWS = {SKIP: "drawn games left out", HALF: "drawn games as half a point"}
_CONDITION_HEAD = f"{'left':>6}{'right':>6}  {'difference, 95% interval':>25}  verdict"


def render(sets: Sequence[PointValues]) -> str:
    """Everything about one set, or a table of several side by side."""
    return _render_one(sets[0]) if len(sets) == 1 else _render_many(sets)


def _render_one(points: PointValues) -> str:
    other = _other_way(points)
    rows = [
        _counts(points),
        "",
        f"{'':8}{_DRAWS[points.draws]:>30}   {_DRAWS[other]:>28}",
        f"{'':8}{'value':>12}  {'95% interval':>16}   {'value':>28}",
    ]
    for index, name in enumerate(PIECE_NAMES):
        value, otherwise = _number(points.values[index]), _number(points.other_values[index])
        interval = _span(points.interval_of_piece(index)) if index else ""
        rows.append(f"{name.capitalize():8}{value:>12}  {interval:>16}   {otherwise:>28}")
    alpha, interval = _number(points.alpha, ".3f"), _span(points.alpha_interval, ".3f")
    rows.append(f"{'alpha':8}{alpha:>12}  {interval:>16}   {_number(points.other_alpha, '.3f'):>28}")
    rows += [
        "",
        "A pawn is 100. alpha is the steepness: expected score = 1 / (1 + exp(-alpha * pawns)).",
        *_remarks(points),
        "",
        *_conditions(points),
        "",
        render_graph(points.graph),
    ]
    return "\n".join(row.rstrip() for row in rows)


def _counts(points: PointValues) -> str:
    unit = "games" if points.by_game else "stretches of rows"
    text = f"{points.label}: {points.games:,} {unit}, {points.vectors:,} vectors"
    if points.draws == SKIP:
        text += f"; fitted are the {points.fitted_vectors:,} of the {points.fitted_games:,} decided ones"
    return text


def _remarks(points: PointValues) -> list[str]:
    rows = []
    if not points.by_game:
        rows.append("A matrix does not tell where games begin: the intervals are those of stretches that begin level.")
    if not points.alpha > 0:
        rows.append("A pawn more has not helped in these games, so nothing can be said in pawns.")
    elif math.isnan(points.interval_of_piece(1)[0]) and not math.isnan(points.values[1]):
        rows.append("These games do not prove that a pawn more helps, so the values have no intervals.")
    unseen = [PIECE_NAMES[index] for index in range(len(PIECES)) if math.isnan(points.weights[index])]
    if unseen:
        rows.append(f"The balance never held a {' or a '.join(unseen)}.")
    if points.by_game and points.fitted_games < FEW_GAMES:
        rows.append(f"{points.fitted_games} games are few: below {FEW_GAMES} even the intervals are rough.")
    return rows


def _conditions(points: PointValues) -> list[str]:
    rows = [f"{'Capablanca':18}{_CONDITION_HEAD}"]
    return rows + [f"{condition.name:18}{_condition_row(points, condition)}" for condition in CONDITIONS]


def _condition_row(points: PointValues, condition: Condition) -> str:
    """The figures of both sides, their difference with its interval, and the verdict."""
    difference = condition.left - condition.right
    figures = np.array([points.worth(pieces) for pieces in (condition.left, condition.right, difference)])
    left, right, change = _proved(points, figures)
    interval = points.interval(difference)
    cells = f"{_number(left):>6}{_number(right):>6}  {_number(change, '+.0f'):>7}"
    return f"{cells}  {_span(interval, '+.0f'):>16}  {condition.verdict(*interval)}"


def _render_many(sets: Sequence[PointValues]) -> str:
    width = max(len(name) for name in [*(points.label for points in sets), *(one.name for one in CONDITIONS)])
    names = "".join(f"{name:>8}" for name in PIECE_NAMES)
    rows = [
        f"Point values, a pawn being 100; {_DRAWS[sets[0].draws]}",
        "",
        f"{'set':{width}} {'games':>8} {'vectors':>9} {'alpha':>7}{names}",
    ]
    for points in sets:
        counts = f"{points.games:8,} {points.vectors:9,} {_number(points.alpha, '.3f'):>7}"
        rows.append(f"{points.label:{width}} {counts}{_cells(_proved(points, points.values))}")
    rows += [
        "",
        "95% intervals",
        "",
        f"{'set':{width}} {'alpha':>14}{''.join(f'{name:>14}' for name in PIECE_NAMES[1:])}",
    ]
    for points in sets:
        spans = "".join(f"{_span(points.interval_of_piece(index)):>14}" for index in range(1, len(PIECES)))
        rows.append(f"{points.label:{width}} {_span(points.alpha_interval, '.2f'):>14}{spans}")
    rows += ["", f"The values with {_DRAWS[_other_way(sets[0])]}", "", f"{'set':{width}} {'alpha':>7}{names}"]
    for points in sets:
        alpha, values = _number(points.other_alpha, ".3f"), _proved(points, points.other_values)
        rows.append(f"{points.label:{width}} {alpha:>7}{_cells(values)}")
    for condition in CONDITIONS:
        rows += ["", f"{condition.name:{width}}{_CONDITION_HEAD}"]
        rows += [f"{points.label:{width}}{_condition_row(points, condition)}" for points in sets]
    rows += ["", "'-': these games do not prove that a pawn more helps, or the balance never held the piece."]
    unsure = [points.label for points in sets if _remarks(points)]
    if unsure:
        rows += [f"Ask for these alone to see what limits them: {'; '.join(unsure)}."]
    return "\n".join(row.rstrip() for row in rows)


def _cells(values: np.ndarray) -> str:
    return "".join(f"{_number(value):>8}" for value in values)


def _proved(points: PointValues, values: np.ndarray) -> np.ndarray:
    """The values, or nan for all where the games do not prove that a pawn more helps, and so nothing in pawns."""
    return values if math.isfinite(points.interval_of_piece(0)[0]) else np.full_like(values, np.nan)


def _other_way(points: PointValues) -> str:
    return HALF if points.draws == SKIP else SKIP


def _number(value: float, form: str = ".0f") -> str:
    return "-" if math.isnan(value) else format(value, form)


def _span(interval: Interval, form: str = ".0f") -> str:
    return "" if math.isnan(interval[0]) else f"{interval[0]:{form}} .. {interval[1]:{form}}"


def as_object(points: PointValues) -> dict[str, object]:
    """Plain data for `json.dumps`; what is not known is None."""
    graph = points.graph
    curve = graph.expected(graph.balances).tolist()
    bins = zip(graph.balances.tolist(), graph.counts.tolist(), graph.scores.tolist(), curve, strict=True)
    return {
        "label": points.label,
        "draws": points.draws,
        "games": points.games,
        "vectors": points.vectors,
        "fitted_games": points.fitted_games,
        "fitted_vectors": points.fitted_vectors,
        "by_game": points.by_game,
        "alpha": _finite(points.alpha),
        "alpha_interval": _pair(points.alpha_interval),
        "values": _by_piece(points.values.tolist()),
        "intervals": {piece: _pair(points.interval_of_piece(index)) for index, piece in enumerate(PIECES)},
        "weights": _by_piece(points.weights.tolist()),
        "other": {
            "draws": _other_way(points),
            "alpha": _finite(points.other_alpha),
            "values": _by_piece(points.other_values.tolist()),
        },
        "capablanca": [_condition_object(points, condition) for condition in CONDITIONS],
        "score_graph": {
            "alpha": _finite(graph.alpha),
            "beyond": graph.beyond,
            "bins": [
                {"balance": balance, "vectors": count, "score": _finite(score), "expected": _finite(expected)}
                for balance, count, score, expected in bins
            ],
        },
    }


def _condition_object(points: PointValues, condition: Condition) -> dict[str, object]:
    difference = condition.left - condition.right
    interval = points.interval(difference)
    return {
        "condition": condition.name,
        "left": _finite(points.worth(condition.left)),
        "right": _finite(points.worth(condition.right)),
        "difference": _finite(points.worth(difference)),
        "interval": _pair(interval),
        "verdict": str(condition.verdict(*interval)),
    }


def _by_piece(numbers: Sequence[float]) -> dict[str, float | None]:
    return {piece: _finite(number) for piece, number in zip(PIECES, numbers, strict=True)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _pair(interval: Interval) -> list[float] | None:
    return list(interval) if math.isfinite(sum(interval)) else None


def as_csv(sets: Sequence[PointValues]) -> str:
    """A row for each set, with a line of names above; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    bounds = [f"{piece}_{end}" for piece in PIECES for end in ("low", "high")]
    writer.writerow(["label", "draws", "games", "vectors", "alpha", "alpha_low", "alpha_high", *PIECES, *bounds])
    for points in sets:
        intervals = [bound for index in range(len(PIECES)) for bound in points.interval_of_piece(index)]
        numbers = [points.alpha, *points.alpha_interval, *points.values.tolist(), *intervals]
        cells = [f"{number:.6g}" if math.isfinite(number) else "" for number in numbers]
        writer.writerow([points.label, points.draws, points.games, points.vectors, *cells])
    return text.getvalue()
