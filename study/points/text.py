"""The output of `points` as text: tables and the score graph."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from merino.inner.study.points.capablanca import CONDITIONS, Condition
from merino.inner.study.points.features import STUDIED
from merino.inner.study.points.score_graph import OTHER_ALPHAS, render_graph
from merino.inner.study.points.values import HALF, SKIP, Fit, Interval, PointValues, other_way
from merino.inner.study.points.vectors import PIECE_NAMES, PIECES

FEW_GAMES = 300  # below this the intervals themselves are rough
_DRAWS = {SKIP: "drawn games left out", HALF: "drawn games as half a point"}
_CONDITION_HEAD = f"{'left':>6}{'right':>6}  {'difference, 95% interval':>25}  verdict"


def render(sets: Sequence[PointValues], alphas: Sequence[float] = OTHER_ALPHAS) -> str:
    """Everything about one set, `alphas` being other curves of its graph, or a table of several sets side by side."""
    return _render_one(sets[0], alphas) if len(sets) == 1 else _render_many(sets)


def render_steps(sets: Sequence[PointValues]) -> str:
    """The values of each set step by step, the last row being those that Newton's method finds."""
    return "\n\n".join(_render_way(points) for points in sets)


def _render_way(points: PointValues) -> str:
    way = points.descent
    assert way is not None
    names = "".join(f"{name:>8}" for name in PIECE_NAMES)
    rows = [
        f"{points.label}: the values by step of gradient descent, {_DRAWS[points.draws]}",
        "",
        f"{'step':>6} {'cost':>10} {'alpha':>7}{names}",
    ]
    values = way.values
    for row in way.headlines:
        figures = f"{way.steps[row]:6,} {way.costs[row]:10.6f} {way.weights[row, 0]:7.3f}"
        rows.append(f"{figures}{_cells(values[row])}")
    rows.append(f"{'best':>6} {'':>10} {_number(points.alpha, '.3f'):>7}{_cells(points.values)}")
    return "\n".join(rows)


def _render_one(points: PointValues, alphas: Sequence[float]) -> str:
    other = other_way(points.draws)
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
        *_searched(points),
        *_features(points),
        render_graph(points.graph, alphas),
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
        rows.append("A matrix does not show where games begin: the intervals are those of stretches that begin level.")
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


def _searched(points: PointValues) -> list[str]:
    """The table from the scores of searches, beside that from results."""
    fit = points.searched
    if fit is None:
        return []
    rows = [
        f"By the scores of searches, {fit.vectors:,} vectors of {fit.games:,} games, drawn ones too: what is fitted is",
        f"1 / (1 + exp(-score / {fit.k:.0f})), the scale at which these scores foretell the results best",
        "",
        f"{'':8}{'by search':>12}  {'95% interval':>16}   {'by result':>12}",
    ]
    for index, name in enumerate(PIECE_NAMES):
        interval = _span(fit.interval_of_piece(index)) if index else ""
        cells = f"{_number(fit.values[index]):>12}  {interval:>16}   {_number(points.values[index]):>12}"
        rows.append(f"{name.capitalize():8}{cells}")
    alpha, interval = _number(fit.alpha, ".3f"), _span(fit.alpha_interval, ".3f")
    return [*rows, f"{'alpha':8}{alpha:>12}  {interval:>16}   {_number(points.alpha, '.3f'):>12}", ""]


def _features(points: PointValues) -> list[str]:
    """The features and the pieces, each with its interval and the common claim about it."""
    fit = points.with_features
    if fit is None:
        return []
    names = [*PIECE_NAMES[1:], *(feature.name for feature in STUDIED)]
    rows = [
        f"With features of the pieces that are left, all fitted together to {fit.vectors:,} vectors",
        f"(each change of a feature makes one, too); alpha {_number(fit.alpha, '.3f')}",
        "",
        f"{'':20}{'value':>7}  {'95% interval':>16}  verdict",
    ]
    for column, name in enumerate(names, 1):
        interval = fit.interval_of_piece(column)
        form = "+.0f" if column >= len(PIECES) else ".0f"
        figures = f"{name:20}{_number(fit.values[column], form):>7}  {_span(interval, form):>16}"
        if column < len(PIECES):
            rows.append(f"{figures}  {_number(points.values[column])} without features")
        else:
            feature = STUDIED[column - len(PIECES)]
            rows.append(f"{figures}  {feature.verdict(*interval)}: {feature.claim}")
    return [*rows, "", *_features_searched(points)]


def _features_searched(points: PointValues) -> list[str]:
    """The values of the features by the scores of searches."""
    fit = points.searched and points.searched.with_features
    if fit is None:
        return []
    rows = ["The features by the scores of searches", f"{'':20}{'value':>7}  {'95% interval':>16}  verdict"]
    for column, feature in enumerate(STUDIED, len(PIECES)):
        interval = fit.interval_of_piece(column)
        figures = f"{feature.name:20}{_number(fit.values[column], '+.0f'):>7}  {_span(interval, '+.0f'):>16}"
        rows.append(f"{figures}  {feature.verdict(*interval)}")
    return [*rows, ""]


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
    rows += ["", f"The values with {_DRAWS[other_way(sets[0].draws)]}", "", f"{'set':{width}} {'alpha':>7}{names}"]
    for points in sets:
        alpha, values = _number(points.other_alpha, ".3f"), _proved(points, points.other_values)
        rows.append(f"{points.label:{width}} {alpha:>7}{_cells(values)}")
    rows += _searched_of_many(sets, width)
    for condition in CONDITIONS:
        rows += ["", f"{condition.name:{width}}{_CONDITION_HEAD}"]
        rows += [f"{points.label:{width}}{_condition_row(points, condition)}" for points in sets]
    rows += _features_of_many(sets, width)
    rows += ["", "'-': these games do not prove that a pawn more helps, or the balance never held the piece."]
    unsure = [points.label for points in sets if _remarks(points)]
    if unsure:
        rows += [f"Ask for these alone to see what limits them: {'; '.join(unsure)}."]
    return "\n".join(row.rstrip() for row in rows)


def _searched_of_many(sets: Sequence[PointValues], width: int) -> list[str]:
    """The table from the scores of searches, and its intervals."""
    fits = [(points.label, points.searched) for points in sets if points.searched is not None]
    if not fits:
        return []
    names = "".join(f"{name:>8}" for name in PIECE_NAMES)
    rows = [
        "",
        "The values by the scores of searches, drawn games too",
        "",
        f"{'set':{width}} {'K':>5} {'alpha':>7}{names}",
    ]
    for label, fit in fits:
        rows.append(f"{label:{width}} {fit.k:5.0f} {_number(fit.alpha, '.3f'):>7}{_cells(_proved(fit, fit.values))}")
    rows.append("")
    for label, fit in fits:
        spans = "".join(f"{_span(fit.interval_of_piece(index)):>14}" for index in range(1, len(PIECES)))
        rows.append(f"{label:{width}} {_span(fit.alpha_interval, '.2f'):>14}{spans}")
    return rows


def _features_of_many(sets: Sequence[PointValues], width: int) -> list[str]:
    """The verdict of each set on each feature."""
    rows: list[str] = []
    for column, feature in enumerate(STUDIED, len(PIECES)):
        table = [(points.label, points.with_features) for points in sets if points.with_features is not None]
        if table:
            rows += ["", f"{feature.name}: {feature.claim}", f"{'':{width}}{'value':>7}  {'95% interval':>16}  verdict"]
        for label, fit in table:
            interval = fit.interval_of_piece(column)
            value = fit.values[column] if math.isfinite(interval[0]) else math.nan
            figures = f"{_number(value, '+.0f'):>7}  {_span(interval, '+.0f'):>16}"
            rows.append(f"{label:{width}}{figures}  {feature.verdict(*interval)}")
    return rows


def _cells(values: np.ndarray) -> str:
    return "".join(f"{_number(value):>8}" for value in values)


def _proved(points: Fit, values: np.ndarray) -> np.ndarray:
    """The values, or nan for all if the games do not show that a pawn is worth anything."""
    return values if math.isfinite(points.interval_of_piece(0)[0]) else np.full_like(values, np.nan)


def _number(value: float, form: str = ".0f") -> str:
    return "-" if math.isnan(value) else format(value, form)


def _span(interval: Interval, form: str = ".0f") -> str:
    return "" if math.isnan(interval[0]) else f"{interval[0]:{form}} .. {interval[1]:{form}}"
