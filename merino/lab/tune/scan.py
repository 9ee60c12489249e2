"""`merino spsa scan NAME`: Elo by the value of one parameter, each value played against the same one, and its optima.

Two optima are significant if a value between them is significantly worse than both. Any two of n values may be
compared, n (n - 1) / 2 times; each comparison is so strict that at most one scan in twenty finds a second optimum that
does not exist (Bonferroni).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, whole
from merino.app.console.shared_options import cluster_executor
from merino.app.shell import match as games
from merino.app.shell.shared import check_picture, ending_of, make_folder, write_picture
from merino.core.common.command import UsageError
from merino.core.common.sealed import finite
from merino.core.common.text import GREY, did_you_mean, load_matplotlib, rounded, saved
from merino.engine.search.parameters import current_name, parameters_for
from merino.eval.evaluation import Evaluation, Number
from merino.eval.families import load_chosen
from merino.lab.tune.parameters import TuneError, check_whole, own_parameters
from merino.match.games import MatchError, Tally
from merino.match.players import OwnPlayer, needs_of
from merino.match.report import counts_text
from merino.match.runner import MatchResult
from merino.match.statistics import COIN, Estimate, estimate, moments

DEFAULT_GAMES, DEFAULT_POINTS = 400, 9
ERROR_RATE = 0.05  # of a second optimum in a scan of a curve with one
PlayValue = Callable[[int], tuple[MatchResult, MatchError | None]]
_BAR = 41  # columns of the error bars, an odd number


@dataclass(frozen=True)
class ScanRequest:
    """The number of an evaluation or of the search to scan: its values, ascending, and the one they play against."""

    name: str
    values: tuple[int, ...]
    against: int
    evaluation: Evaluation

    def players(self, value: int) -> tuple[OwnPlayer, OwnPlayer]:
        """The player with this value, and the opponent of all values."""
        return self._player(value), self._player(self.against)

    def _player(self, value: int) -> OwnPlayer:
        label, change = f"{self.name}={value}", {self.name: value}
        if self.name in self.evaluation.numbers:
            return OwnPlayer(label, self.evaluation.with_numbers(change))
        return OwnPlayer(label, self.evaluation, parameters_for(self.evaluation, change))


@dataclass(frozen=True)
class ScanPoint:
    """The result of one value: `results` are losses, draws and wins, `pairs` the pentanomial counts.

    The value that the others play against is a point without games, at 0 Elo by definition.
    """

    value: int
    results: tuple[int, ...] = (0, 0, 0)
    pairs: tuple[int, ...] = (0, 0, 0, 0, 0)

    @classmethod
    def of(cls, value: int, tally: Tally) -> ScanPoint:
        """The point that these games make."""
        return cls(value, tuple(tally.points.tolist()), tuple(tally.pairs.tolist()))

    @property
    def games(self) -> int:
        """The number of games."""
        return sum(self.results)

    @property
    def estimate(self) -> Estimate:
        """Elo against the common value, half its 95% interval, and LOS; infinite Elo for a clean score."""
        return estimate(self._counts) if self.games else Estimate(0.0, 0.0, 0.0, 0.0, 0.5)

    @property
    def score(self) -> float:
        """The mean score of a game, 0 to 1."""
        return float(moments(self._counts)[1]) if self.games else 0.5

    @property
    def score_error(self) -> float:
        """The standard error of the score."""
        if not self.games:
            return 0.0
        number, _, variance = (float(moment) for moment in moments(self._counts))
        return math.sqrt((number * variance + COIN) / (number + 1) / number)

    @property
    def _counts(self) -> np.ndarray:
        return np.array(self.pairs if sum(self.pairs) else self.results)


@dataclass(frozen=True)
class Scan:
    """A scan as far as it was played: points by ascending value, and the error that ended it."""

    request: ScanRequest
    points: tuple[ScanPoint, ...]
    interrupted: bool = False
    fault: MatchError | None = None

    @property
    def best(self) -> ScanPoint:
        """The point with the best score."""
        return max(self.points, key=lambda point: point.score)

    @property
    def optima(self) -> tuple[ScanPoint, ...]:
        """The significant optima, by ascending value; none if no two values differ significantly."""
        limit = limit_for(len(self.points))
        if not any(_is_better(one, other, limit) for one in self.points for other in self.points):
            return ()
        found: list[ScanPoint] = []
        for point in sorted(self.points, key=lambda point: -point.score):
            if all(self._are_apart(point, better, limit) for better in found):
                found.append(point)
        return tuple(sorted(found, key=lambda point: point.value))

    @property
    def rivals(self) -> tuple[ScanPoint, ...]:
        """The points that are not significantly worse than the best."""
        limit, best = limit_for(len(self.points)), self.best
        return tuple(point for point in self.points if point is not best and not _is_better(best, point, limit))

    def between(self, one: ScanPoint, other: ScanPoint) -> tuple[ScanPoint, ...]:
        """The points between two values."""
        low, high = sorted((one.value, other.value))
        return tuple(point for point in self.points if low < point.value < high)

    def _are_apart(self, one: ScanPoint, other: ScanPoint, limit: float) -> bool:
        """Whether a value between them is significantly worse than both."""
        return any(_is_better(one, low, limit) and _is_better(other, low, limit) for low in self.between(one, other))


def limit_for(points: int) -> float:
    """The number of standard errors by which two of the points must differ."""
    comparisons = max(1, points * (points - 1) // 2)
    return NormalDist().inv_cdf(1 - ERROR_RATE / comparisons)


def _is_better(one: ScanPoint, other: ScanPoint, limit: float) -> bool:
    return one.score - other.score > limit * math.hypot(one.score_error, other.score_error)


def values_between(low: int, high: int, points: int) -> tuple[int, ...]:
    """`points` whole numbers from `low` to `high`, evenly spaced; fewer if the range has fewer."""
    steps = min(points - 1, high - low)
    return tuple(round(low + Fraction((high - low) * step, steps)) for step in range(steps + 1))


def make_request(name: str, values: Iterable[int], against: int | None, evaluation: Evaluation) -> ScanRequest:
    """The scan of a number of `evaluation` or of the search; raises TuneError for what cannot be scanned.

    If `against` is None, all values play against the one in use.
    """
    name, number = find_number(name, evaluation)
    reference = round(number.value) if against is None else against
    scanned = tuple(sorted(set(values)))
    for value in (*scanned, reference):
        if not number.low <= value <= number.high:
            raise TuneError(f"{name} = {value} is outside {number.low:g}..{number.high:g}")
    if set(scanned) <= {reference}:
        raise TuneError(f"{name}: no value is left to scan but {reference}, which the others would meet")
    return ScanRequest(name, scanned, reference, evaluation)


def find_number(name: str, evaluation: Evaluation) -> tuple[str, Number]:
    """A number that can be scanned, by its present name; raises TuneError with the nearest one."""
    known, name = own_parameters(evaluation), current_name(name)
    check_whole(name, known, "scan")
    if name not in known:
        raise TuneError(f"there is no search parameter or weight '{name}'{did_you_mean(name, known)}")
    return name, known[name]


def run_scan(request: ScanRequest, play: PlayValue) -> Scan:
    """Let `play` play each value in turn, until one is interrupted or fails.

    A scan that ends early has the points with games so far.
    """
    points = [ScanPoint(request.against)]
    for value in request.values:
        if value == request.against:
            continue
        result, fault = play(value)
        if result.tally.games:
            points.append(ScanPoint.of(value, result.tally))
        if result.interrupted or fault:
            return Scan(request, _ascending(points), result.interrupted, fault)
    return Scan(request, _ascending(points))


def _ascending(points: Iterable[ScanPoint]) -> tuple[ScanPoint, ...]:
    return tuple(sorted(points, key=lambda point: point.value))


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
        bar = f"  {_bar(point, reach)}{' <' if point in optima else ''}".rstrip()
        figures = (
            f"{f'+- {found.elo_error:.1f}':>9} {found.los:>7.1%} {point.games:>7} {wins:>6} {draws:>6} {losses:>6}"
        )
        shown = figures if point.games else " " * len(figures)
        lines.append(f"{point.value:>8} {rounded(found.elo, '+'):>8} {shown}{bar}")
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
    beyond = _end_of_range(scan, best) if best in (scan.points[0], scan.points[-1]) else ""
    others = ", ".join(str(point.value) for point in scan.rivals)
    rivals = f"; not significantly worse: {others}" if others else ""
    return f"One optimum; best: {_point_text(best)}{beyond}{rivals}. No second optimum is significant."


def _end_of_range(scan: Scan, point: ScanPoint) -> str:
    """The remark on a best value at one end of those played."""
    _, number = find_number(scan.request.name, scan.request.evaluation)
    if number.low < point.value < number.high:
        return ", the end of the range: better ones may lie beyond"
    return f", the {'lowest' if point.value <= number.low else 'highest'} value that there is"


def scan_json(scan: Scan, conditions: str) -> dict[str, Any]:
    """The scan as one object; `conditions` are those of the games. Infinity is null."""
    return {
        "name": scan.request.name,
        "against": scan.request.against,
        "conditions": conditions,
        "points": [_point_json(point) for point in scan.points],
        "optima": [point.value for point in scan.optima],
        "chance": ERROR_RATE,
        "verdict": verdict(scan),
        "complete": not (scan.interrupted or scan.fault),
    }


def _point_json(point: ScanPoint) -> dict[str, Any]:
    found, (losses, draws, wins) = point.estimate, point.results
    return {
        "value": point.value,
        "elo": finite(round(found.elo, 3) + 0.0),
        "elo_error": finite(round(found.elo_error, 3)),
        "los": round(found.los, 5),
        "games": point.games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "pentanomial": list(point.pairs),
        "is_reference": not point.games,
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


def _point_text(point: ScanPoint) -> str:
    found = point.estimate
    elo = f"{rounded(found.elo, '+')} +- {found.elo_error:.1f}" if point.games else "0"
    return f"{point.value} ({elo} Elo)"


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


def add_scan(parser: Parser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("name", metavar="NAME", help="a weight, or a parameter of the search")
    add("--from", dest="low", type=_whole, metavar="V", help="smallest value (default: its lower bound)")
    add("--to", dest="high", type=_whole, metavar="V", help="largest value (default: its upper bound)")
    add("--points", type=whole(2), metavar="N", help=f"number of values, evenly spaced (default: {DEFAULT_POINTS})")
    add("--values", type=_wholes, metavar="V,V", help="these values instead")
    add("--against", type=_whole, metavar="V", help="value that all others play against (default: the one in use)")
    games.add_game_options(parser, DEFAULT_GAMES)
    shared.add_evaluation(parser)
    shared.add_state(parser, "FOLDER")
    shared.add_json(parser)
    shared.add_plot(parser, "Elo against value")
    shared.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Scan, and show the result so far, however the games ended: 0, or 130 after Ctrl-C. Raises CommandError."""
    request = _request(args)
    players = request.players(request.against)
    with games.errors_of("spsa scan"):
        conditions = str(games.read_config(args, players))
    check_picture(args.plot, "spsa scan")
    if args.state is not None:
        make_folder(args.state, "spsa")
    with cluster_executor(args.cluster, "spsa scan", games.remarks(args), needs_of(players)) as executor:
        found = run_scan(request, lambda value: _play(args, request, value, executor))
    if found.fault and len(found.points) == 1:
        raise found.fault
    if args.json:
        print(json.dumps(scan_json(found, conditions)))
    else:
        print("\n".join([*scan_table(found), verdict(found)]))
    if args.plot:
        write_picture(args.plot, draw_scan(found, ending_of(args.plot)), "spsa scan")
    return games.ended(args, found.interrupted, found.fault)


def _request(args: argparse.Namespace) -> ScanRequest:
    evaluation = load_chosen(args.weights, args.evalfile)
    name, number = find_number(args.name, evaluation)
    ends = (args.low, args.high, args.points)
    if args.values is not None:
        if any(end is not None for end in ends):
            raise UsageError("spsa scan: --values does not go with --from, --to and --points")
        return make_request(name, args.values, args.against, evaluation)
    low = round(number.low) if args.low is None else args.low
    high = round(number.high) if args.high is None else args.high
    if not low < high:
        raise UsageError(f"spsa scan: --from {low} is not below --to {high}")
    request = make_request(name, (low, high), args.against, evaluation)  # before all that lies between is listed
    return replace(request, values=values_between(low, high, args.points or DEFAULT_POINTS))


def _play(
    args: argparse.Namespace, request: ScanRequest, value: int, executor: Executor | None
) -> tuple[MatchResult, MatchError | None]:
    """The match of one value, and the error that ended it."""
    config = games.read_config(args, request.players(value))
    title = config.players[0].label
    result, fault = games.play_titled(args, config, "Merino scan", title, str(value), executor)
    if result.tally.games:
        games.remarks(args)(f"{title}: {counts_text(result.tally)}")
    return result, fault


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number") from error


def _wholes(text: str) -> list[int]:
    return [_whole(part) for part in text.split(",")]
