"""The point values for people and programs: tables and the score graph as text, plain data for JSON, and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from merino.core.common.sealed import finite
from merino.core.common.text import GREY, SETTINGS, aligned, load_matplotlib, rounded, saved
from merino.lab.points.board import QUANTILES, TEAM_44, TEAM_44_PREDICTED, WAYS, BoardValues
from merino.lab.points.games import PHASES, PIECE_NAMES, PIECES, Draws
from merino.lab.points.values import (
    CONDITIONS,
    MAX_BALANCE,
    STUDIED,
    Claim,
    Fit,
    Interval,
    PointValues,
    ScoreGraph,
    logistic,
)
from merino.match.statistics import wilson_interval

FEW_GAMES = 300  # below this the intervals themselves are rough
BAR_CELLS = 40  # characters from score 0 to score 1
MAX_SETS = 6  # curves of a picture that can still be distinguished
MIN_VECTORS = 30  # behind a point where several sets share the picture
OTHER_ALPHAS = (0.1, 0.2)  # of the picture, for comparison: those of Medvedev's graph
_DRAWS = {Draws.SKIP: "drawn games left out", Draws.HALF: "drawn games as half a point"}
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # also for the colour-blind
_MIN_COUNT = 0.8  # where the axis of vectors begins: one is to be seen
_TITLES = {
    "removal": "Removal: the loss of its owner when the piece is taken off the board",
    "attributed": "Attributed: the terms that the piece brings its owner",
}
_PHASES = (None, *PHASES)


def render(sets: Sequence[PointValues]) -> str:
    """The values of the sets side by side, the verdicts on common claims, and of a single set the score graph."""
    draws = sets[0].draws
    counts = [["set", "games", "vectors", "fitted"]]
    counts += [[each.label, f"{each.games:,}", f"{each.vectors:,}", f"{each.fit.vectors:,}"] for each in sets]
    rows = [f"Point values, a pawn being 100; {_DRAWS[draws]}", "", *aligned(counts), ""]
    rows += _values([(each.label, each.fit, each.fit.is_proved) for each in sets])
    rows += ["", f"The values with {_DRAWS[draws.other]}", ""]
    rows += _values([(each.label, each.other, each.fit.is_proved) for each in sets])
    rows += ["", "alpha is the steepness: expected score = 1 / (1 + exp(-alpha * pawns)).", *_remarks(sets)]
    rows += ["", *_verdicts("Capablanca", CONDITIONS, [(each.label, each.fit) for each in sets])]
    features = [(each.label, each.with_features) for each in sets if each.with_features is not None]
    if features:
        rows += ["", "With features of the pieces that are left, all fitted together", ""]
        rows += _values([(label, fit, fit.is_proved) for label, fit in features])
        rows += ["", *_verdicts("feature", STUDIED, features)]
    if len(sets) == 1:
        rows += ["", render_graph(sets[0].graph)]
    return "\n".join(row.rstrip() for row in rows)


def _values(fits: Sequence[tuple[str, Fit, bool]]) -> list[str]:
    """A column for one set, or a row for each of several: alpha and the proved values, with their intervals."""
    rows = [["", "alpha", *(name.capitalize() for name in PIECE_NAMES)]]
    for label, fit, is_proved in fits:
        values = [_with_interval(fit.values[index], fit.interval_of_piece(index)) for index in range(1, len(PIECES))]
        rows.append([label, _with_interval(fit.alpha, fit.alpha_interval, 3)])
        rows[-1] += [_number(fit.values[0]), *values] if is_proved else ["-"] * len(PIECES)
    return aligned(rows if len(fits) > 1 else [list(row) for row in zip(*rows, strict=True)])


def _verdicts(head: str, claims: Sequence[Claim], fits: Sequence[tuple[str, Fit]]) -> list[str]:
    """The worth that each claim is about, its interval, and the verdict, for each set."""
    rows = [[head, "set", "difference, 95%", "verdict"]]
    for claim in claims:
        for label, fit in fits:
            interval = fit.interval(claim.counts)
            worth = fit.worth(claim.counts) if math.isfinite(interval[0]) else math.nan
            sentence = f": {claim.sentence}" if claim.sentence else ""
            rows.append(
                [claim.name, label, _with_interval(worth, interval, 0, "+"), claim.verdict(interval) + sentence]
            )
    return aligned(rows if len(fits) > 1 else [[row[0], *row[2:]] for row in rows], left=4)


def _remarks(sets: Sequence[PointValues]) -> Iterator[str]:
    """What limits the values of each set."""
    for each in sets:
        name = f"{each.label}: " if len(sets) > 1 else ""
        if not each.by_game:
            yield f"{name}Rows of a matrix do not show where games begin: intervals are by stretches that begin level."
        if not each.fit.alpha > 0:
            yield f"{name}A pawn more has not helped in these games, so nothing can be said in pawns."
        elif not each.fit.is_proved:
            yield f"{name}These games do not prove that a pawn more helps, so there are no values."
        unseen = [PIECE_NAMES[index] for index in range(len(PIECES)) if math.isnan(each.fit.weights[index])]
        if unseen:
            yield f"{name}The balance never held a {' or a '.join(unseen)}."
        if each.by_game and each.fitted_games < FEW_GAMES:
            yield f"{name}{each.fitted_games} games are few: below {FEW_GAMES} even the intervals are rough."


def _with_interval(value: float, interval: Interval, digits: int = 0, sign: str = "-") -> str:
    low, high = (_number(end, digits, sign) for end in interval)
    return _number(value, digits, sign) + ("" if low == "-" else f" ({low} .. {high})")


def _number(value: float, digits: int = 0, sign: str = "-") -> str:
    return "-" if math.isnan(value) else rounded(float(value), sign, digits)


def render_graph(graph: ScoreGraph) -> str:
    """The graph as text: a row for each balance that occurs, White's best first, '#' the mean score, '|' the curve."""
    head = f"{'balance':>7} {'vectors':>8} {'score':>6} {'curve':>6}  0{'0.5':^{BAR_CELLS - 1}}1"
    curve = f"1 / (1 + exp(-{_number(graph.alpha, 3)} * balance))"
    rows = [f"Mean score of White by balance (1-3-3-5-9), and {curve}", "", head]
    expected = graph.expected(graph.balances)
    for index in range(len(graph.balances) - 1, -1, -1):
        if graph.counts[index]:
            figures = f"{graph.balances[index]:+7d} {graph.counts[index]:8,} {graph.scores[index]:6.3f}"
            rows.append(f"{figures} {expected[index]:6.3f}  {_marks(graph.scores[index], expected[index])}")
    rows += ["", "'#' is the mean score, '|' the curve, '*' both; drawn games count half."]
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


def as_object(points: PointValues) -> dict[str, Any]:
    """Plain data for `json.dumps`; None for the unknown."""
    data: dict[str, Any] = {
        "label": points.label,
        "draws": points.draws,
        "games": points.games,
        "vectors": points.vectors,
        "fitted_games": points.fitted_games,
        "fitted_vectors": points.fit.vectors,
        "by_game": points.by_game,
        **_fit_object(points.fit),
        "weights": _by_piece(points.fit.weights),
        "other": {
            "draws": points.draws.other,
            "alpha": finite(points.other.alpha),
            "values": _by_piece(points.other.values),
        },
        "capablanca": [
            {
                "condition": claim.name,
                "left": finite(points.fit.worth(np.maximum(claim.counts, 0))),
                "right": finite(points.fit.worth(np.maximum(-claim.counts, 0))),
                "difference": finite(points.fit.worth(claim.counts)),
                **_verdict_object(claim, points.fit),
            }
            for claim in CONDITIONS
        ],
        "score_graph": _graph_object(points.graph),
    }
    fit = points.with_features
    if fit is not None:
        features = [
            {
                "feature": claim.name,
                "claim": claim.sentence,
                "value": finite(fit.values[column]),
                **_verdict_object(claim, fit),
                "interval": _pair(fit.interval_of_piece(column)),
            }
            for column, claim in enumerate(STUDIED, len(PIECES))
        ]
        data["with_features"] = {"vectors": fit.vectors, **_fit_object(fit), "features": features}
    return data


def _verdict_object(claim: Claim, fit: Fit) -> dict[str, Any]:
    interval = fit.interval(claim.counts)
    return {"interval": _pair(interval), "verdict": claim.verdict(interval)}


def _graph_object(graph: ScoreGraph) -> dict[str, Any]:
    """The scores by balance, and the fitted curve."""
    curve = graph.expected(graph.balances).tolist()
    bins = zip(graph.balances.tolist(), graph.counts.tolist(), graph.scores.tolist(), curve, strict=True)
    return {
        "alpha": finite(graph.alpha),
        "beyond": graph.beyond,
        "bins": [
            {"balance": balance, "vectors": count, "score": finite(score), "expected": finite(expected)}
            for balance, count, score, expected in bins
        ],
    }


def _fit_object(fit: Fit) -> dict[str, Any]:
    """The steepness and the values of the pieces with their intervals."""
    return {
        "alpha": finite(fit.alpha),
        "alpha_interval": _pair(fit.alpha_interval),
        "values": _by_piece(fit.values[: len(PIECES)]),
        "intervals": {piece: _pair(fit.interval_of_piece(index)) for index, piece in enumerate(PIECES)},
    }


def _by_piece(numbers: np.ndarray) -> dict[str, float | None]:
    return {piece: finite(number) for piece, number in zip(PIECES, numbers.tolist(), strict=True)}


def _pair(interval: Interval) -> list[float] | None:
    return list(interval) if math.isfinite(sum(interval)) else None


def render_board(board: BoardValues, points: PointValues | None) -> str:
    """The values on the board as text; `points` are those of the same games by regression, None without a fit."""
    pawns = ", ".join(f"{board.pawns[way]:.0f} centipawns by {way}" for way in WAYS)
    means = {f"by {way}": [board.spreads[way, piece, None].mean for piece in PIECES] for way in WAYS}
    if points is not None:
        means["by regression"] = (points.fit.values / 100).tolist()
    means["Team 44, by a network"] = list(TEAM_44)
    table = [["mean value", *PIECE_NAMES], *([name, *map(_pawns, values)] for name, values in means.items())]
    rows = [
        f"{board.label}: {board.games:,} games, {board.positions:,} positions, valued by {board.evaluation}",
        f"A pawn is 1: the mean pawn of these positions, {pawns}.",
        "",
        *aligned(table),
    ]
    for way in WAYS:
        table = [["piece", "phase", "number", "mean", "spread", *(f"{share:.0%}" for share in QUANTILES)]]
        for piece, name in zip(PIECES, PIECE_NAMES, strict=True):
            for phase in _PHASES:
                found = board.spreads[way, piece, phase]
                figures = map(_pawns, (found.mean, found.deviation, *found.quantiles))
                table.append(["" if phase else name, phase or "all", f"{found.number:,}", *figures])
        rows += ["", _TITLES[way], *aligned(table, left=2)]
    rows += ["", "How often the side with an expected score above one half has won in the end"]
    for phase in _PHASES:
        found_share = board.predictions[phase]
        share = "-" if math.isnan(found_share.share) else f"{found_share.share:.1%} +- {found_share.error:.1%}"
        rows.append(f"{phase or 'all':<12}{share:>16} of {found_share.positions:,} positions of decided games")
    rows.append(f"{'Team 44':<12}{TEAM_44_PREDICTED:>16.0%}")
    return "\n".join(row.rstrip() for row in rows)


def _pawns(value: float) -> str:
    return _number(value, 2)


def board_as_object(board: BoardValues, points: PointValues | None) -> dict[str, Any]:
    """Plain data for `json.dumps`; values in pawns, None for the unknown."""
    return {
        "label": board.label,
        "evaluation": board.evaluation,
        "games": board.games,
        "positions": board.positions,
        "pawn_cp": board.pawns,
        "values": [
            {
                "way": way,
                "piece": piece,
                "phase": phase,
                "number": found.number,
                "mean": finite(found.mean),
                "deviation": finite(found.deviation),
                "quantiles": {f"{at:g}": finite(value) for at, value in zip(QUANTILES, found.quantiles, strict=True)},
            }
            for (way, piece, phase), found in board.spreads.items()
        ],
        "regression": None if points is None else _by_piece(points.fit.values / 100),
        "team_44": dict(zip(PIECES, TEAM_44, strict=True)),
        "foretold": [
            {"phase": phase, "positions": each.positions, "share": finite(each.share), "error": finite(each.error)}
            for phase, each in board.predictions.items()
        ],
        "team_44_foretold": TEAM_44_PREDICTED,
    }


def draw(sets: Sequence[PointValues], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    One set shows each mean score with its 95% interval, and the curves of OTHER_ALPHAS. Of several, points with few
    vectors are left out.
    """
    figure_class, style = load_matplotlib()
    with style.rc_context(SETTINGS):
        figure = figure_class(figsize=(9, 7), layout="constrained")
        scores, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        alone = len(sets) == 1
        for alpha, dashes in zip(OTHER_ALPHAS if alone else (), ("--", "-."), strict=False):
            line = np.linspace(-MAX_BALANCE, MAX_BALANCE, 401)
            look = {"color": GREY, "linewidth": 1.1, "linestyle": dashes, "zorder": 1}
            scores.plot(line, logistic(alpha, line), label=f"for comparison: alpha {alpha:g}", **look)
        for points, colour in zip(sets, _COLOURS, strict=False):
            _draw_scores(scores, points, colour, alone)
            floor = _MIN_COUNT if alone else None  # the outline of several, down to it, would cross itself
            counts.stairs(points.graph.counts, _edges(), color=colour, fill=alone, linewidth=1.3, baseline=floor)
        _dress_scores(scores, alone)
        _dress_counts(counts)
        return saved(figure, ending)


def score_intervals(graph: ScoreGraph) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval of each mean score, float64[41] each, as though no two vectors shared a game.

    They are not empty where every game was won.
    """
    return wilson_interval(np.nan_to_num(graph.scores), np.maximum(graph.counts, 1))


def _draw_scores(axes: Any, points: PointValues, colour: str, alone: bool) -> None:
    graph = points.graph
    line = np.linspace(-MAX_BALANCE, MAX_BALANCE, 401)
    label = f"{points.label}: alpha {graph.alpha:.3f}"
    axes.plot(line, graph.expected(line), color=colour, linewidth=1.8, alpha=0.85, label=label, zorder=2)
    shown = graph.counts >= (1 if alone else MIN_VECTORS)
    at, scores = graph.balances[shown], graph.scores[shown]
    if alone:
        low, high = (end[shown] for end in score_intervals(graph))
        axes.vlines(at, low, high, color=colour, linewidth=1.1, alpha=0.6, zorder=1)
    share = np.log1p(graph.counts[shown]) / np.log1p(max(graph.counts.max(), 2))
    area = 10 + 120 * share**3  # square points
    axes.scatter(at, scores, area, color=colour, edgecolor="white", linewidth=0.7, zorder=3)


def _dress_scores(axes: Any, alone: bool) -> None:
    """Words, and lines to read values from."""
    axes.set_title("Mean score of White by balance of material", loc="left", fontsize=13, fontweight="bold")
    axes.set_ylabel("score of White")
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks(np.arange(0, 1.01, 0.1))
    axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", frameon=False, title="score = 1 / (1 + exp(-alpha * balance))", alignment="left")
    what = "bars: 95%, as if no two vectors shared a game" if alone else f"only those of {MIN_VECTORS} vectors or more"
    note = f"points: mean scores, a drawn game as half,\nlarger for more vectors;\n{what}"
    place = {"xy": (0.99, 0.04), "xycoords": "axes fraction", "ha": "right", "va": "bottom"}
    axes.annotate(note, color=GREY, fontsize=9, **place)


def _dress_counts(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=_MIN_COUNT)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("vectors")
    axes.set_xlabel("balance for White: pawn 1, knight and bishop 3, rook 5, queen 9")
    axes.set_xlim(-MAX_BALANCE - 0.8, MAX_BALANCE + 0.8)
    axes.set_xticks(range(-MAX_BALANCE, MAX_BALANCE + 1, 2))
    axes.grid(axis="y", alpha=0.25)


def _edges() -> np.ndarray:
    """Between the balances, so that each has its step."""
    return np.arange(-MAX_BALANCE, MAX_BALANCE + 2) - 0.5
