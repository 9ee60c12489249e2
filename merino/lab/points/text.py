"""The output of `points` as text: tables and the score graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from merino.core.common.text import rounded
from merino.lab.points.board import QUANTILES, TEAM_44, TEAM_44_PREDICTED, WAYS, BoardValues
from merino.lab.points.claims import CONDITIONS, STUDIED, Condition
from merino.lab.points.values import (
    HALF,
    MAX_BALANCE,
    OTHER_ALPHAS,
    SKIP,
    Fit,
    Interval,
    PointValues,
    ScoreGraph,
    logistic,
    other_way,
)
from merino.lab.points.vectors import PHASES, PIECE_NAMES, PIECES

FEW_GAMES = 300  # below this the intervals themselves are rough
_DRAWS = {SKIP: "drawn games left out", HALF: "drawn games as half a point"}
_CONDITION_HEAD = f"{'left':>6}{'right':>6}  {'difference, 95% interval':>25}  verdict"
BAR_CELLS = 40  # characters from score 0 to score 1
_TITLES = {
    "removal": "Removal: what its owner loses when the piece is taken off the board",
    "attributed": "Attributed: the terms that the piece brings its owner",
}
_PHASES = (None, *PHASES)
_NAMES = "".join(f"{name:>8}" for name in PIECE_NAMES)  # above the values of the pieces


def render(sets: Sequence[PointValues], alphas: Sequence[float] = OTHER_ALPHAS) -> str:
    """Everything about one set, `alphas` being other curves of its graph, or a table of several sets side by side."""
    return _render_one(sets[0], alphas) if len(sets) == 1 else _render_many(sets)


def render_steps(sets: Sequence[PointValues]) -> str:
    """The values of each set step by step, the last row being those that Newton's method finds."""
    return "\n\n".join(_render_way(points) for points in sets)


def _render_way(points: PointValues) -> str:
    way = points.descent
    assert way is not None
    rows = [
        f"{points.label}: the values by step of gradient descent, {_DRAWS[points.draws]}",
        "",
        f"{'step':>6} {'cost':>10} {'alpha':>7}{_NAMES}",
    ]
    values = way.values
    for row in way.headlines:
        figures = f"{way.steps[row]:6,} {way.costs[row]:10.6f} {_number(way.weights[row, 0], 3):>7}"
        rows.append(f"{figures}{_cells(values[row])}")
    rows.append(f"{'best':>6} {'':>10} {_number(points.alpha, 3):>7}{_cells(points.values)}")
    return "\n".join(rows)


def _render_one(points: PointValues, alphas: Sequence[float]) -> str:
    other = other_way(points.draws)
    rows = [
        _counts(points),
        "",
        f"{'':8}{_DRAWS[points.draws]:>30}   {_DRAWS[other]:>28}",
        f"{'':8}{'value':>12}  {'95% interval':>16}   {'value':>28}",
    ]
    rows += [
        *_rows_beside(points, points.other_values, points.other_alpha, 28),
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
    return [*rows, *_rows_beside(fit, points.values, points.alpha, 12), ""]


def _rows_beside(fit: Fit, values: np.ndarray, alpha: float, width: int) -> Iterator[str]:
    """A row for each piece, and one for alpha: those of a fit with their intervals, and others beside them."""
    for index, name in enumerate(PIECE_NAMES):
        value, interval = _number(fit.values[index]), _span(fit.interval_of_piece(index)) if index else ""
        yield f"{name.capitalize():8}{value:>12}  {interval:>16}   {_number(values[index]):>{width}}"
    interval = _span(fit.alpha_interval, 3)
    yield f"{'alpha':8}{_number(fit.alpha, 3):>12}  {interval:>16}   {_number(alpha, 3):>{width}}"


def _features(points: PointValues) -> list[str]:
    """The features and the pieces, each with its interval and the common claim about it."""
    fit = points.with_features
    if fit is None:
        return []
    names = [*PIECE_NAMES[1:], *(feature.name for feature in STUDIED)]
    rows = [
        f"With features of the pieces that are left, all fitted together to {fit.vectors:,} vectors",
        f"(each change of a feature makes one, too); alpha {_number(fit.alpha, 3)}",
        "",
        f"{'':20}{'value':>7}  {'95% interval':>16}  verdict",
    ]
    for column, name in enumerate(names, 1):
        interval = fit.interval_of_piece(column)
        sign = "+" if column >= len(PIECES) else "-"
        figures = f"{name:20}{_with_interval(fit.values[column], interval, sign)}"
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
        figures = _with_interval(fit.values[column], interval)
        rows.append(f"{feature.name:20}{figures}  {feature.verdict(*interval)}")
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
    sides = f"{_number(left):>6}{_number(right):>6}"
    return f"{sides}  {_with_interval(change, interval)}  {condition.verdict(*interval)}"


def _render_many(sets: Sequence[PointValues]) -> str:
    width = max(len(name) for name in [*(points.label for points in sets), *(one.name for one in CONDITIONS)])
    rows = [
        f"Point values, a pawn being 100; {_DRAWS[sets[0].draws]}",
        "",
        f"{'set':{width}} {'games':>8} {'vectors':>9} {'alpha':>7}{_NAMES}",
    ]
    for points in sets:
        counts = f"{points.games:8,} {points.vectors:9,} {_number(points.alpha, 3):>7}"
        rows.append(f"{points.label:{width}} {counts}{_cells(_proved(points, points.values))}")
    rows += [
        "",
        "95% intervals",
        "",
        f"{'set':{width}} {'alpha':>14}{''.join(f'{name:>14}' for name in PIECE_NAMES[1:])}",
    ]
    rows += [f"{points.label:{width}} {_spans(points)}" for points in sets]
    rows += ["", f"The values with {_DRAWS[other_way(sets[0].draws)]}", "", f"{'set':{width}} {'alpha':>7}{_NAMES}"]
    for points in sets:
        alpha, values = _number(points.other_alpha, 3), _proved(points, points.other_values)
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
    rows = [
        "",
        "The values by the scores of searches, drawn games too",
        "",
        f"{'set':{width}} {'K':>5} {'alpha':>7}{_NAMES}",
    ]
    for label, fit in fits:
        rows.append(f"{label:{width}} {fit.k:5.0f} {_number(fit.alpha, 3):>7}{_cells(_proved(fit, fit.values))}")
    return [*rows, "", *(f"{label:{width}} {_spans(fit)}" for label, fit in fits)]


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
            rows.append(f"{label:{width}}{_with_interval(value, interval)}  {feature.verdict(*interval)}")
    return rows


def _spans(fit: Fit) -> str:
    """The intervals of alpha, and of all pieces but the pawn."""
    spans = "".join(f"{_span(fit.interval_of_piece(index)):>14}" for index in range(1, len(PIECES)))
    return f"{_span(fit.alpha_interval, 2):>14}{spans}"


def _with_interval(value: float, interval: Interval, sign: str = "+") -> str:
    return f"{_number(value, sign=sign):>7}  {_span(interval, sign=sign):>16}"


def _cells(values: np.ndarray) -> str:
    return "".join(f"{_number(value):>8}" for value in values)


def _proved(points: Fit, values: np.ndarray) -> np.ndarray:
    """The values, or nan for all if the games do not show that a pawn is worth anything."""
    return values if math.isfinite(points.interval_of_piece(0)[0]) else np.full_like(values, np.nan)


def _number(value: float, digits: int = 0, sign: str = "-") -> str:
    return "-" if math.isnan(value) else rounded(float(value), sign, digits)


def _span(interval: Interval, digits: int = 0, sign: str = "-") -> str:
    return "" if math.isnan(interval[0]) else " .. ".join(rounded(float(end), sign, digits) for end in interval)


def render_graph(graph: ScoreGraph, others: Sequence[float] = OTHER_ALPHAS) -> str:
    """The graph as text: a row for each balance that occurs, White's best first, '#' the mean score, '|' the curve.

    Curves of `others`, other steepnesses, stand beside it in figures.
    """
    beside = "".join(f"{f'at {alpha:g}':>8}" for alpha in others)
    head = f"{'balance':>7} {'vectors':>8} {'score':>6} {'curve':>6}{beside}  0{'0.5':^{BAR_CELLS - 1}}1"
    curve = f"1 / (1 + exp(-{_number(graph.alpha, 3)} * balance))"
    rows = [f"Mean score of White by balance (1-3-3-5-9), beside {curve}", "", head]
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


def render_board(board: BoardValues, points: PointValues | None) -> str:
    """Everything as text; `points` are the values of the same games by regression, None where they cannot be fitted."""
    pawns = ", ".join(f"{board.pawns[way]:.0f} centipawns by {way}" for way in WAYS)
    rows = [
        f"{board.label}: {board.games:,} games, {board.positions:,} positions, valued by {board.evaluation}",
        f"A pawn is 1: the mean pawn of these positions, {pawns}.",
        "",
        f"{'mean value':<24}{_NAMES}",
    ]
    for way in WAYS:
        means = [board.spreads[way, piece, None].mean for piece in PIECES]
        rows.append(f"{f'by {way}':<24}" + "".join(_pawns(mean, 8) for mean in means))
    if points is not None:
        rows.append(f"{'by regression':<24}" + "".join(_pawns(value / 100, 8) for value in points.values))
    rows.append(f"{'Team 44, by a network':<24}" + "".join(_pawns(value, 8) for value in TEAM_44))
    for way in WAYS:
        rows += ["", *_spreads(board, way)]
    rows += ["", *_predictions(board)]
    return "\n".join(row.rstrip() for row in rows)


def _spreads(board: BoardValues, way: str) -> list[str]:
    shares = "".join(f"{f'{share:.0%}':>7}" for share in QUANTILES)
    rows = [_TITLES[way], f"{'piece':<8}{'phase':<12}{'number':>12}{'mean':>8}{'spread':>8}  {shares}"]
    for piece, name in zip(PIECES, PIECE_NAMES, strict=True):
        for phase in _PHASES:
            found = board.spreads[way, piece, phase]
            figures = f"{_pawns(found.mean, 8)}{_pawns(found.deviation, 8)}  "
            figures += "".join(_pawns(value, 7) for value in found.quantiles)
            rows.append(f"{'' if phase else name:<8}{phase or 'all':<12}{found.number:12,}{figures}")
    return rows


def _predictions(board: BoardValues) -> list[str]:
    rows = ["How often the side with an expected score above one half has won in the end"]
    for phase in _PHASES:
        found = board.predictions[phase]
        share = "-" if math.isnan(found.share) else f"{found.share:.1%} +- {found.error:.1%}"
        rows.append(f"{phase or 'all':<12}{share:>16} of {found.positions:,} positions of decided games")
    return [*rows, f"{'Team 44':<12}{TEAM_44_PREDICTED:>16.0%}"]


def _pawns(value: float, width: int) -> str:
    return f"{_number(value, 2):>{width}}"
