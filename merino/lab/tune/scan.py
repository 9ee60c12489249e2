"""`merino spsa scan NAME`: Elo by the value of one parameter, each value played against the same one, and its optima.

Two optima are significant if a value between them is significantly worse than both. Any two of n values may be
compared, n (n - 1) / 2 times; each comparison is so strict that at most one scan in twenty finds a second optimum that
does not exist (Bonferroni).
"""

import argparse
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from merino.app.console import shared
from merino.app.shell import match as games
from merino.core.common.errors import whole_in
from merino.core.common.sealed import finite
from merino.core.common.text import did_you_mean, rounded
from merino.engine.search.parameters import current_name, parameters_for
from merino.eval.evaluation import Evaluation, Number
from merino.eval.families import load_chosen
from merino.lab.tune.parameters import TuneError, check_whole, own_parameters
from merino.match import players, report, runner, statistics
from merino.match.games import MatchError, Tally

DEFAULT_GAMES, DEFAULT_POINTS = 400, 9
ERROR_RATE = 0.05  # of a second optimum in a scan of a curve with one
PlayValue = Callable[[int], tuple[runner.MatchResult, MatchError | None]]


@dataclass(frozen=True)
class ScanPoint:
    """The games of one value; the value that the others play against has none and is at 0 Elo by definition."""

    value: int
    tally: Tally = field(default_factory=Tally)

    @cached_property
    def estimate(self) -> statistics.Estimate:
        """Elo against the common value, half its 95% interval, and LOS; infinite Elo for a clean score."""
        return statistics.estimate(self.tally.counts) if self.tally.games else statistics.Estimate(0, 0, 0, 0, 0.5)

    @cached_property
    def score(self) -> tuple[float, float]:
        """The mean score of a game, 0 to 1, and its standard error."""
        if not self.tally.games:
            return 0.5, 0.0
        number, mean, variance = (float(moment) for moment in statistics.moments(self.tally.counts))
        return mean, math.sqrt((number * variance + statistics.COIN) / (number + 1) / number)

    def exceeds(self, other: "ScanPoint", limit: float) -> bool:
        """Whether this one is better by more than `limit` standard errors."""
        return self.score[0] - other.score[0] > limit * math.hypot(self.score[1], other.score[1])

    def __str__(self) -> str:
        found = self.estimate
        elo = f"{rounded(found.elo, '+')} +- {found.elo_error:.1f}" if self.tally.games else "0"
        return f"{self.value} ({elo} Elo)"


@dataclass(frozen=True)
class Scan:
    """A scan as far as it was played: points by ascending value, one of them the value `against` which all play."""

    name: str
    against: int
    points: tuple[ScanPoint, ...]
    interrupted: bool = False
    fault: MatchError | None = None

    @cached_property
    def optima(self) -> tuple[ScanPoint, ...]:
        """The significant optima, by ascending value; none if no two values differ significantly."""
        limit = limit_for(len(self.points))
        if not any(one.exceeds(other, limit) for one in self.points for other in self.points):
            return ()
        found: list[ScanPoint] = []
        for point in sorted(self.points, key=lambda point: -point.score[0]):
            if all(self._has_valley(point, better, limit) for better in found):
                found.append(point)
        return tuple(sorted(found, key=lambda point: point.value))

    def _has_valley(self, one: ScanPoint, other: ScanPoint, limit: float) -> bool:
        """Whether a value between them is significantly worse than both."""
        return any(one.exceeds(low, limit) and other.exceeds(low, limit) for low in self.between(one, other))

    def between(self, one: ScanPoint, other: ScanPoint) -> tuple[ScanPoint, ...]:
        """The points between two values."""
        low, high = sorted((one.value, other.value))
        return tuple(point for point in self.points if low < point.value < high)

    @property
    def verdict(self) -> str:
        """The significant optima, in a sentence."""
        best = max(self.points, key=lambda point: point.score[0])
        if not self.optima:
            return f"No optimum is significant: no two values differ by more than chance (best: {best})."
        if len(self.optima) == 1:
            return f"One optimum; best: {best}. No second optimum is significant."
        lowest = (min(self.between(*two), key=lambda point: point.score[0]) for two in pairwise(self.optima))
        count, optima = len(self.optima), " and ".join(map(str, self.optima))
        return f"{count} optima: {optima}, with {' and '.join(map(str, lowest))} between them."


def limit_for(points: int) -> float:
    """The number of standard errors by which two of the points must differ."""
    return NormalDist().inv_cdf(1 - ERROR_RATE / max(1, points * (points - 1) // 2))


def values_to_scan(name: str, number: Number, wanted: Iterable[int] | None, against: int) -> list[int]:
    """The values that play, ascending: those wanted, or DEFAULT_POINTS between the bounds. Raises TuneError."""
    even = np.linspace(number.low, number.high, DEFAULT_POINTS).round().astype(int).tolist()
    values = sorted({*(even if wanted is None else wanted)} - {against})
    for value in (*values, against):
        if not number.low <= value <= number.high:
            raise TuneError(f"{name} = {value} is outside {number.low:g}..{number.high:g}")
    if not values:
        raise TuneError(f"{name}: no value is left to scan but {against}, which the others would meet")
    return values


def find_number(name: str, evaluation: Evaluation) -> tuple[str, Number]:
    """A number that can be scanned, by its present name; raises TuneError with the nearest one."""
    known, name = own_parameters(evaluation), current_name(name)
    check_whole(name, known, "scan")
    if name not in known:
        raise TuneError(f"there is no search parameter or weight '{name}'{did_you_mean(name, known)}")
    return name, known[name]


def player_with(name: str, value: int, evaluation: Evaluation) -> players.OwnPlayer:
    """Merino with this value of a number of the evaluation or of the search."""
    label, change = f"{name}={value}", {name: value}
    if name in evaluation.numbers:
        return players.OwnPlayer(label, evaluation.with_numbers(change))
    return players.OwnPlayer(label, evaluation, parameters_for(evaluation, change))


def run_scan(name: str, values: Sequence[int], against: int, play: PlayValue) -> Scan:
    """Let `play` play each value in turn, until one is interrupted or fails; the points with games so far."""
    points, interrupted, fault = [ScanPoint(against)], False, None
    for value in values:
        result, fault = play(value)
        interrupted = result.interrupted
        if result.tally.games:
            points.append(ScanPoint(value, result.tally))
        if interrupted or fault:
            break
    return Scan(name, against, tuple(sorted(points, key=lambda point: point.value)), interrupted, fault)


def scan_table(scan: Scan) -> list[str]:
    """A row for each value: Elo, its 95% interval, LOS and the games; optima are marked."""
    lines = [
        f"{scan.name}, each value against {scan.against}; intervals of 95%",
        f"{'value':>8} {'Elo':>8} {'95%':>9} {'LOS':>7} {'games':>7} {'+':>6} {'=':>6} {'-':>6}",
    ]
    for point in scan.points:
        found, (losses, draws, wins) = point.estimate, point.tally.points
        shown = f"{f'+- {found.elo_error:.1f}':>9} {found.los:>7.1%} {point.tally.games:>7}"
        row = f"{point.value:>8} {rounded(found.elo, '+'):>8} {shown} {wins:>6} {draws:>6} {losses:>6}"
        lines.append(row + ("  < optimum" if point in scan.optima else ""))
    return lines


def scan_json(scan: Scan, conditions: str) -> dict[str, Any]:
    """The scan as one object; `conditions` are those of the games. Infinity is null."""
    rows = []
    for point in scan.points:
        found, (losses, draws, wins) = point.estimate, point.tally.points.tolist()
        elo, error = finite(round(found.elo, 3) + 0.0), finite(round(found.elo_error, 3))
        row = {"value": point.value, "elo": elo, "elo_error": error, "los": round(found.los, 5)}
        row |= {"games": point.tally.games, "wins": wins, "draws": draws, "losses": losses}
        rows.append(row | {"pentanomial": point.tally.pairs.tolist(), "is_reference": not point.tally.games})
    return {
        "name": scan.name,
        "against": scan.against,
        "conditions": conditions,
        "points": rows,
        "optima": [point.value for point in scan.optima],
        "chance": ERROR_RATE,
        "verdict": scan.verdict,
        "complete": not (scan.interrupted or scan.fault),
    }


def add_scan(parser: shared.Parser) -> None:
    """The options of the command."""
    parser.add_argument("name", metavar="NAME", help="a weight, or a parameter of the search")
    sentence = f"values to play (default: {DEFAULT_POINTS} between the bounds)"
    parser.add_argument(
        "--values", type=shared.of(lambda text: [*map(whole_in, text.split(","))]), metavar="V,V", help=sentence
    )
    sentence = "value that all others play against (default: the one in use)"
    parser.add_argument("--against", type=shared.of(whole_in), metavar="V", help=sentence)
    games.add_game_options(parser, DEFAULT_GAMES)
    shared.add_evaluation(parser)
    shared.add_state(parser, "FOLDER")
    shared.add_report(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Scan, and show the result so far, however the games ended: 0, or 130 after Ctrl-C. Raises CommandError."""
    evaluation = load_chosen(args.weights, args.evalfile)
    name, number = find_number(args.name, evaluation)
    against = round(number.value) if args.against is None else args.against
    values, opponent = values_to_scan(name, number, args.values, against), player_with(name, against, evaluation)
    conditions = str(games.read_config(args, (opponent, opponent)))
    if args.state is not None:
        shared.make_folder(args.state)
    say = games.remarks(args)
    with shared.cluster_executor(args.cluster, say, players.needs_of([opponent])) as executor:

        def play(value: int) -> tuple[runner.MatchResult, MatchError | None]:
            player = player_with(name, value, evaluation)
            config = games.read_config(args, (player, opponent))
            state = args.state and args.state / f"{value}.json"
            result, fault = games.play(args, config, "Merino scan", executor, state, title=player.label)
            if result.tally.games:
                say(f"{player.label}: {report.counts_text(result.tally)}")
            return result, fault

        found = run_scan(name, values, against, play)
    if found.fault and len(found.points) == 1:
        raise found.fault
    print(json.dumps(scan_json(found, conditions)) if args.json else "\n".join([*scan_table(found), found.verdict]))
    return games.ended(args, found.interrupted, found.fault)
