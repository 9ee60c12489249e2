"""The point values for people and programs: tables and the score graph as text, plain data for JSON, and pictures."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from merino.core.common import sealed, text
from merino.core.common.text import COLOURS, GREY, aligned, rounded
from merino.lab.points import games, values
from merino.match.statistics import wilson_interval

FEW_GAMES = 300  # below this the intervals themselves are rough
BAR_CELLS = 40  # characters from score 0 to score 1
MAX_SETS = 6  # curves of a picture that can still be distinguished
MIN_VECTORS = 30  # behind a point where several sets share the picture
OTHER_ALPHAS = (0.1, 0.2)  # of the picture, for comparison: those of Medvedev's graph
_DRAWS = {games.Draws.SKIP: "drawn games left out", games.Draws.HALF: "drawn games as half a point"}
_MIN_COUNT = 0.8  # where the axis of vectors begins: one is to be seen


def render(sets: Sequence[values.PointValues]) -> str:
    """The values of the sets side by side, the verdicts on common claims, and of a single set the score graph."""
    draws = sets[0].draws
    counts = [["set", "games", "vectors", "fitted"]]
    counts += [[each.label, f"{each.games:,}", f"{each.vectors:,}", f"{each.fit.vectors:,}"] for each in sets]
    rows = [f"Point values, a pawn being 100; {_DRAWS[draws]}", "", *aligned(counts), ""]
    rows += _values([(each.label, each.fit, each.fit.is_proved) for each in sets])
    rows += ["", f"The values with {_DRAWS[draws.other]}", ""]
    rows += _values([(each.label, each.other, each.fit.is_proved) for each in sets])
    rows += ["", "alpha is the steepness: expected score = 1 / (1 + exp(-alpha * pawns)).", *_remarks(sets)]
    rows += ["", *_verdicts("Capablanca", values.CONDITIONS, [(each.label, each.fit) for each in sets])]
    features = [(each.label, each.with_features) for each in sets if each.with_features is not None]
    if features:
        rows += ["", "With features of the pieces that are left, all fitted together", ""]
        rows += _values([(label, fit, fit.is_proved) for label, fit in features])
        rows += ["", *_verdicts("feature", values.STUDIED, features)]
    if len(sets) == 1:
        rows += ["", render_graph(sets[0].graph)]
    return "\n".join(row.rstrip() for row in rows)


def _values(fits: Sequence[tuple[str, values.Fit, bool]]) -> list[str]:
    """A column for one set, or a row for each of several: alpha and the proved values, with their intervals."""
    rows = [["", "alpha", *(name.capitalize() for name in games.PIECE_NAMES)]]
    for label, fit, is_proved in fits:
        values = [
            _with_interval(fit.values[index], fit.interval_of_piece(index)) for index in range(1, len(games.PIECES))
        ]
        rows.append([label, _with_interval(fit.alpha, fit.alpha_interval, 3)])
        rows[-1] += [_number(fit.values[0]), *values] if is_proved else ["-"] * len(games.PIECES)
    return aligned(rows if len(fits) > 1 else [list(row) for row in zip(*rows, strict=True)])


def _verdicts(head: str, claims: Sequence[values.Claim], fits: Sequence[tuple[str, values.Fit]]) -> list[str]:
    """The worth that each claim is about, its interval, and the verdict, for each set."""
    rows = [[head, "set", "difference, 95%", "verdict"]]
    for claim in claims:
        for label, fit in fits:
            interval = fit.interval(claim.counts)
            worth = fit.worth(claim.counts) if math.isfinite(interval[0]) else math.nan
            verdict = claim.verdict(interval) + (f": {claim.sentence}" if claim.sentence else "")
            rows.append([claim.name, label, _with_interval(worth, interval, 0, "+"), verdict])
    return aligned(rows if len(fits) > 1 else [[row[0], *row[2:]] for row in rows], left=4)


def _remarks(sets: Sequence[values.PointValues]) -> Iterator[str]:
    """What limits the values of each set."""
    for each in sets:
        name = f"{each.label}: " if len(sets) > 1 else ""
        if not each.by_game:
            yield f"{name}Rows of a matrix do not show where games begin: intervals are by stretches that begin level."
        if not each.fit.alpha > 0:
            yield f"{name}A pawn more has not helped in these games, so nothing can be said in pawns."
        elif not each.fit.is_proved:
            yield f"{name}These games do not prove that a pawn more helps, so there are no values."
        unseen = [games.PIECE_NAMES[index] for index in range(len(games.PIECES)) if math.isnan(each.fit.weights[index])]
        if unseen:
            yield f"{name}The balance never held a {' or a '.join(unseen)}."
        if each.by_game and each.fitted_games < FEW_GAMES:
            yield f"{name}{each.fitted_games} games are few: below {FEW_GAMES} even the intervals are rough."


def _with_interval(value: float, interval: values.Interval, digits: int = 0, sign: str = "-") -> str:
    low, high = (_number(end, digits, sign) for end in interval)
    return _number(value, digits, sign) + ("" if low == "-" else f" ({low} .. {high})")


def _number(value: float, digits: int = 0, sign: str = "-") -> str:
    return "-" if math.isnan(value) else rounded(float(value), sign, digits)


def render_graph(graph: values.ScoreGraph) -> str:
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
        rows.append(f"{graph.beyond:,} vectors lie beyond {values.MAX_BALANCE} points.")
    return "\n".join(rows)


def _marks(score: float, expected: float) -> str:
    """The row of a score and its expectation between 0 and 1."""
    cells = [" "] * (BAR_CELLS + 1)
    cells[BAR_CELLS // 2] = "."
    cells[round(expected * BAR_CELLS)] = "|"
    place = round(score * BAR_CELLS)
    cells[place] = "*" if cells[place] == "|" else "#"
    return "".join(cells).rstrip()


def as_object(points: values.PointValues) -> dict[str, Any]:
    """Plain data for `json.dumps`; None for the unknown."""
    fit, other, rich, graph = points.fit, points.other, points.with_features, points.graph
    curve = graph.expected(graph.balances).tolist()
    bins = zip(graph.balances.tolist(), graph.counts.tolist(), graph.scores.tolist(), curve, strict=True)
    capablanca = [
        {
            "condition": claim.name,
            "left": sealed.finite(fit.worth(np.maximum(claim.counts, 0))),
            "right": sealed.finite(fit.worth(np.maximum(-claim.counts, 0))),
            "difference": sealed.finite(fit.worth(claim.counts)),
            **_verdict_object(claim, fit),
        }
        for claim in values.CONDITIONS
    ]
    data: dict[str, Any] = {
        **{name: getattr(points, name) for name in ("label", "draws", "games", "vectors", "fitted_games")},
        "fitted_vectors": fit.vectors,
        "by_game": points.by_game,
        **_fit_object(fit),
        "weights": _by_piece(fit.weights),
        "other": {"draws": points.draws.other, "alpha": sealed.finite(other.alpha), "values": _by_piece(other.values)},
        "capablanca": capablanca,
        "score_graph": {
            "alpha": sealed.finite(graph.alpha),
            "beyond": graph.beyond,
            "bins": [
                {
                    "balance": balance,
                    "vectors": count,
                    "score": sealed.finite(score),
                    "expected": sealed.finite(expected),
                }
                for balance, count, score, expected in bins
            ],
        },
    }
    if rich is not None:
        features = [
            {
                "feature": claim.name,
                "claim": claim.sentence,
                "value": sealed.finite(rich.values[column]),
                **_verdict_object(claim, rich),
                "interval": _pair(rich.interval_of_piece(column)),
            }
            for column, claim in enumerate(values.STUDIED, len(games.PIECES))
        ]
        data["with_features"] = {"vectors": rich.vectors, **_fit_object(rich), "features": features}
    return data


def _verdict_object(claim: values.Claim, fit: values.Fit) -> dict[str, Any]:
    interval = fit.interval(claim.counts)
    return {"interval": _pair(interval), "verdict": claim.verdict(interval)}


def _fit_object(fit: values.Fit) -> dict[str, Any]:
    """The steepness and the values of the pieces with their intervals."""
    return {
        "alpha": sealed.finite(fit.alpha),
        "alpha_interval": _pair(fit.alpha_interval),
        "values": _by_piece(fit.values[: len(games.PIECES)]),
        "intervals": {piece: _pair(fit.interval_of_piece(index)) for index, piece in enumerate(games.PIECES)},
    }


def _by_piece(numbers: np.ndarray) -> dict[str, float | None]:
    return {piece: sealed.finite(number) for piece, number in zip(games.PIECES, numbers.tolist(), strict=True)}


def _pair(interval: values.Interval) -> list[float] | None:
    return list(interval) if math.isfinite(sum(interval)) else None


def draw(sets: Sequence[values.PointValues], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    One set shows each mean score with its 95% interval, and the curves of OTHER_ALPHAS. Of several, points with few
    vectors are left out.
    """
    figure_class, style = text.load_matplotlib()
    line, alone = np.linspace(-values.MAX_BALANCE, values.MAX_BALANCE, 401), len(sets) == 1
    with style.rc_context(text.SETTINGS):
        figure = figure_class(figsize=(9, 7), layout="constrained")
        scores, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        for alpha, dashes in zip(OTHER_ALPHAS if alone else (), ("--", "-."), strict=False):
            label = f"for comparison: alpha {alpha:g}"
            scores.plot(line, values.logistic(alpha, line), label=label, color=GREY, linewidth=1.1, linestyle=dashes)
        for points, colour in zip(sets, COLOURS, strict=False):
            graph, label = points.graph, f"{points.label}: alpha {points.graph.alpha:.3f}"
            scores.plot(line, graph.expected(line), color=colour, linewidth=1.8, alpha=0.85, label=label, zorder=2)
            shown = graph.counts >= (1 if alone else MIN_VECTORS)
            if alone:
                low, high = (end[shown] for end in score_intervals(graph))
                scores.vlines(graph.balances[shown], low, high, color=colour, linewidth=1.1, alpha=0.6, zorder=1)
            share = np.log1p(graph.counts[shown]) / np.log1p(max(graph.counts.max(), 2))
            look = {"color": colour, "edgecolor": "white", "linewidth": 0.7, "zorder": 3}
            scores.scatter(graph.balances[shown], graph.scores[shown], 10 + 120 * share**3, **look)  # square points
            edges = np.arange(-values.MAX_BALANCE, values.MAX_BALANCE + 2) - 0.5
            floor = _MIN_COUNT if alone else None  # the outline of several, down to it, would cross itself
            counts.stairs(graph.counts, edges, color=colour, fill=alone, linewidth=1.3, baseline=floor)
        scores.set_title("Mean score of White by balance of material", loc="left", fontsize=13, fontweight="bold")
        scores.set_ylabel("score of White")
        scores.set_ylim(-0.03, 1.03)
        scores.grid(alpha=0.25)
        what = "bars: 95%, as if no two vectors shared a game" if alone else f"points of {MIN_VECTORS} vectors or more"
        title = f"score = 1 / (1 + exp(-alpha * balance)); {what}"
        scores.legend(loc="upper left", frameon=False, title=title, alignment="left")
        counts.set_yscale("log")
        counts.set_ylim(bottom=_MIN_COUNT)
        counts.yaxis.set_major_formatter("{x:,.0f}")
        counts.set_ylabel("vectors")
        counts.set_xlabel("balance for White: pawn 1, knight and bishop 3, rook 5, queen 9")
        counts.set_xlim(-values.MAX_BALANCE - 0.8, values.MAX_BALANCE + 0.8)
        counts.grid(axis="y", alpha=0.25)
        return text.saved(figure, ending)


def score_intervals(graph: values.ScoreGraph) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval of each mean score, float64[41] each, as though no two vectors shared a game.

    They are not empty where every game was won.
    """
    return wilson_interval(np.nan_to_num(graph.scores), np.maximum(graph.counts, 1))
