"""The report of a scan: a table with error bars, a sentence about its optima, CSV, JSON and a picture."""

from __future__ import annotations

import csv
import io
import math
from itertools import pairwise
from typing import Any

from merino.inner.core.common.pictures import GREY, load_matplotlib, saved
from merino.inner.tune.scan import ERROR_RATE, Scan, ScanPoint

_BAR = 41  # columns of the error bars, an odd number
_NAMES = ("value", "elo", "elo_error", "los", "games", "wins", "draws", "losses")


def scan_table(scan: Scan) -> list[str]:
    """A row for each value: Elo, its 95% interval, LOS and the games, and the interval drawn about 0 Elo."""
    reach = _reach(scan)
    lines = [
        f"{scan.request.name}, each value against {scan.request.against}; intervals of 95%",
        f"{'value':>8} {'Elo':>8} {'95%':>9} {'LOS':>7} {'games':>7} {'+':>6} {'=':>6} {'-':>6}  "
        f"{f'{-reach:.0f}':<{_BAR // 2}}0{f'{reach:.0f}':>{_BAR // 2}}",
    ]
    optima = scan.optima
    for point in scan.points:
        found, (losses, draws, wins) = point.estimate, point.results
        mark = " <" if point in optima else ""
        bar = f"  {_bar(point, reach)}{mark}".rstrip()
        if not point.games:
            lines.append(f"{point.value:>8} {0:>+8.1f} {'':>9} {'':>7} {'':>7} {'':>6} {'':>6} {'':>6}{bar}")
            continue
        lines.append(
            f"{point.value:>8} {found.elo:>+8.1f} {f'+- {found.elo_error:.1f}':>9} {found.los:>7.1%} {point.games:>7} "
            f"{wins:>6} {draws:>6} {losses:>6}{bar}"
        )
    return lines


def verdict(scan: Scan) -> str:
    """The significant optima, in a sentence."""
    optima, best = scan.optima, scan.best
    if not optima:
        return f"No optimum is significant: no two values differ by more than chance (best: {_point_text(best)})."
    if len(optima) > 1:
        worst = [min(scan.between(one, other), key=lambda point: point.score) for one, other in pairwise(optima)]
        count = {2: "Two", 3: "Three"}.get(len(optima), str(len(optima)))
        between = " and ".join(map(_point_text, worst))
        return f"{count} optima: {' and '.join(map(_point_text, optima))}, with {between} between them."
    ends = (scan.points[0], scan.points[-1])
    beyond = ", the end of the range: better ones may lie beyond" if best in ends else ""
    others = ", ".join(str(point.value) for point in scan.rivals)
    rivals = f"; not significantly worse: {others}" if others else ""
    return f"One optimum; best: {_point_text(best)}{beyond}{rivals}. No second optimum is significant."


def scan_csv(scan: Scan) -> str:
    """A row for each value, with a heading; infinity is `inf`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_NAMES)
    writer.writerows([row[name] for name in _NAMES] for row in map(_row, scan.points))
    return text.getvalue()


def scan_json(scan: Scan, conditions: str) -> dict[str, Any]:
    """The scan as one object; `conditions` are those of the games. Infinity is null."""
    rows = [
        {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in _row(point).items()}
        | {"pentanomial": list(point.pairs), "is_reference": not point.games}
        for point in scan.points
    ]
    return {
        "name": scan.request.name,
        "against": scan.request.against,
        "conditions": conditions,
        "points": rows,
        "optima": [point.value for point in scan.optima],
        "chance": ERROR_RATE,
        "verdict": verdict(scan),
        "complete": not (scan.interrupted or scan.fault),
    }


def draw_scan(scan: Scan, ending: str) -> bytes:
    """Elo against value with error bars, in the format of an ending; raises PictureError without matplotlib.

    Values with a clean score have no Elo and are left out.
    """
    figure_class, _ = load_matplotlib()
    figure = figure_class(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    shown = [point for point in scan.points if math.isfinite(point.estimate.elo)]
    values, found = [point.value for point in shown], [point.estimate for point in shown]
    axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    bars = [each.elo_error for each in found]
    axes.errorbar(values, [each.elo for each in found], bars, color="#0072b2", marker="o", markersize=4, capsize=3)
    optima = [point for point in scan.optima if point in shown]
    axes.plot(
        [point.value for point in optima], [point.estimate.elo for point in optima], "v", color="#d55e00", markersize=10
    )
    axes.set_xlabel(scan.request.name)
    axes.set_ylabel(f"Elo against {scan.request.against}, 95%")
    axes.set_title(verdict(scan), fontsize=8, loc="left", wrap=True)
    return saved(figure, ending)


def _row(point: ScanPoint) -> dict[str, float]:
    found, (losses, draws, wins) = point.estimate, point.results
    numbers = (point.value, round(found.elo, 3), round(found.elo_error, 3), round(found.los, 5))
    return dict(zip(_NAMES, (*numbers, point.games, wins, draws, losses), strict=True))


def _point_text(point: ScanPoint) -> str:
    found = point.estimate
    return f"{point.value} ({found.elo:+.1f} +- {found.elo_error:.1f} Elo)" if point.games else f"{point.value} (0 Elo)"


def _reach(scan: Scan) -> float:
    """The Elo at both ends of the bars: the farthest end of an interval, 1 at least."""
    ends = [abs(found.elo) + found.elo_error for found in (point.estimate for point in scan.points)]
    return max([1.0, *filter(math.isfinite, ends)])


def _bar(point: ScanPoint, reach: float) -> str:
    """An interval as `|---o---|` on a line with 0 Elo, a dot, in its middle."""
    found = point.estimate
    if not math.isfinite(found.elo):
        return (">" if found.elo > 0 else "<").rjust(_BAR if found.elo > 0 else 1)
    low, at, high = (
        round(min(max((1 + elo / reach) * (_BAR // 2), 0), _BAR - 1))
        for elo in (found.elo - found.elo_error, found.elo, found.elo + found.elo_error)
    )
    cells = [" "] * _BAR
    cells[_BAR // 2] = "."
    cells[low : high + 1] = "-" * (high + 1 - low)
    cells[low] = cells[high] = "|"
    cells[at] = "o"
    return "".join(cells)
