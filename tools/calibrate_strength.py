"""Measure the levels of strength by matches: `python -m tools.calibrate_strength`.

Needs `stockfish` (15.1 is what the anchors were measured for) and `fairymax`. Each rung of a ladder
(`weights/levels.toml`) plays the next one, and the nearest level of each other engine. The ratings at which all results
of both ladders are likeliest become the names of the rungs, and are written. Those of Stockfish's levels are what its
authors found by matches on a clock in January 2023, on the scale of CCRL Blitz. A level chooses at a depth of level +
1, from a table that its deeper searches of the moves before have filled: on a clock it is stronger than at that depth.
Its clock counts nodes here, so that load changes nothing; a level of Merino has no clock, but searches of fixed sizes.
One half of the openings are random and about even, the other named ones; each is played with both colours.

    python -m tools.calibrate_strength --kind terms --games 200 --against Stockfish
    python -m tools.calibrate_strength --check 900 1500 2100 --games 200
    python -m tools.calibrate_strength --state calibration.jsonl

With `--state` the pairs are kept in a file, and the same command goes on after Ctrl-C, also with more games, other
names or other rungs; all pairs of the rungs in it count, whoever is nearest by now. What is least known is played
first, so that it may end at any time; `--games 0` only prints what is known. `--check` measures names and writes
nothing. `--page` puts the tables into docs/lab/people.md.
"""

import argparse
import hashlib
import json
import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain, combinations, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import chess
import chess.engine
import numpy as np

from merino.core.common import files, work
from merino.engine.search import choice, strength
from merino.eval.evaluation import Evaluation
from merino.match.statistics import Z_95, Estimate, estimate, score_of
from tools.calibration_games import (
    LEAST_SECONDS,
    NET,
    RATINGS,
    SECONDS,
    STOCKFISH,
    PairResult,
    PairTask,
    Player,
    evaluation_of,
    opening,
    play_pair,
)
from tools.markdown import markdown_table, with_section

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lab" / "people.md"
NETS_OF = {strength.TERMS: "", strength.NETS: NET}  # the net of each kind
MERINO = "Merino"
OPPONENTS = (*RATINGS, MERINO)
GOAL = 75  # Elo, the farthest that a level may be from its name
NEAR = 330  # Elo, the farthest that another engine may be from a rung that it plays
TIMES = (0.0, SECONDS, 1.0)  # seconds a move of other engines; 0 for Stockfish at a fixed depth
STEPS, FARTHEST = 50, 100.0  # of Newton's method, and Elo in one of them
_ELO = math.log(10) / 400


class Match(NamedTuple):
    """The score of the first player in each pair of games, 0 to 2."""

    player: Player
    opponent: Player
    pairs: list[float]
    draws: int

    @property
    def share(self) -> float:
        """The share of the points, 0 to 1."""
        return statistics.fmean(self.pairs) / 2

    def width(self, games: int) -> float:
        """About how wide the interval of the difference is after so many games, in Elo."""
        share = (sum(self.pairs) + 1) / (2 * len(self.pairs) + 2)
        return 2 * Z_95 / _ELO / math.sqrt((games + 2) * share * (1 - share))

    @property
    def estimate(self) -> Estimate:
        """The Elo by which the first is the stronger."""
        return estimate(np.bincount([round(2 * points) for points in self.pairs], minlength=5))


def key_of(player: Player) -> Any:
    """What a player is in a file of results, whatever its name: an engine, or an evaluation with coefficients."""
    if player.engine:
        return [player.engine, player.number, player.seconds]
    return [
        digest(evaluation_of(player.net)),
        *strength.Strength(player.number).sights(strength.NETS if player.net else strength.TERMS),
    ]


class Results:
    """The pairs that were played, kept in a file of lines of JSON if there is one."""

    def __init__(self, matches: Sequence[tuple[Player, Player]], file: Path | None) -> None:
        self._file = file
        keys = {player: key_of(player) for player in {player for match in matches for player in match}}
        self._keys = {match: json.dumps([keys[match[0]], keys[match[1]]]) for match in matches}
        self._points: dict[str, list[list[float]]] = {}
        for line in file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []:
            found = json.loads(line)
            self._points.setdefault(json.dumps(found["players"]), []).append(found["points"])

    def add(self, result: PairResult) -> None:
        """Note a pair, in the file too."""
        key = self._keys[result.player, result.opponent]
        self._points.setdefault(key, []).append(list(result.points))
        if self._file:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"players": json.loads(key), "points": result.points}) + "\n")

    def match(self, player: Player, opponent: Player) -> Match:
        """What is known of these two."""
        points = self._points.get(self._keys[player, opponent], [])
        draws = sum((white == 0.5) + (black == 0.5) for white, black in points)
        return Match(player, opponent, [white + 1 - black for white, black in points], draws)


def play_matches(
    matches: Sequence[tuple[Player, Player]],
    games: int,
    stockfish: str,
    seed: int,
    results: Results,
    at_a_time: int = 1,
) -> list[Match]:
    """`games` games between each two, two from each opening; what is least known is played first."""
    judge = chess.engine.SimpleEngine.popen_uci(stockfish)
    with ExitStack() as stack:
        stack.callback(judge.quit)
        workers, run = stack.enter_context(work.threads(at_a_time)), stack.enter_context(work.begun())
        tasks = _tasks(matches, games // 2, results, lambda number: opening(judge, seed, number), (stockfish, run))
        for done in stack.enter_context(closing(work.ordered(workers, play_pair, tasks, 2 * at_a_time))):
            if done is not None:
                results.add(done)
    return [results.match(*match) for match in matches]


def _tasks(
    matches: Sequence[tuple[Player, Player]],
    pairs: int,
    results: Results,
    opening_of: Callable[[int], chess.Board],
    rest: tuple[str, work.RunName],
) -> Iterator[PairTask]:
    """The pairs to be played, each of the match whose result has the widest interval by then."""
    under_way = {match: len(results.match(*match).pairs) for match in matches}
    while todo := [match for match in matches if under_way[match] < pairs]:
        match = max(todo, key=lambda each: results.match(*each).width(2 * under_way[each]))
        board = opening_of(under_way[match])
        moves = tuple(map(str, board.move_stack))
        yield PairTask(*match, under_way[match], board.root().fen(), moves, *rest)
        under_way[match] += 1


def pairings(
    names: Sequence[int], net: str, seconds: float = SECONDS, opponents: Sequence[str] = OPPONENTS
) -> list[tuple[Player, Player]]:
    """Each of these Elos against the nearest of each other engine, at `seconds` a move, and against the next."""
    us = [Player("", elo, net) for elo in names]
    anchored = []
    for one, engine in product(us, (each for each in RATINGS if each in opponents)):
        levels = [Player(engine, level, "", max(seconds, LEAST_SECONDS[engine])) for level in RATINGS[engine]]
        nearest = min(levels, key=lambda level: abs(level.rating - one.rating))
        anchored += [(one, nearest)] if abs(nearest.rating - one.rating) <= NEAR else []
    return [*anchored, *(zip(us[1:], us, strict=False) if MERINO in opponents else ())]


def possible(names: Sequence[int], net: str) -> list[tuple[Player, Player]]:
    """All matches that these may have played under other names: with any other engine, and with each other."""
    us = [Player("", elo, net) for elo in names]
    others = [Player(name, level, "", time) for name in RATINGS for level in RATINGS[name] for time in TIMES]
    return [*((one, other) for one in us for other in others), *((high, low) for low, high in combinations(us, 2))]


def fitted(matches: Iterable[Match]) -> tuple[dict[Player, float], dict[Player, float]]:
    """The Elo of each player that is no anchor at which all results are likeliest, and half of its 95% interval.

    A prior as weak as one drawn game against the name keeps a player without other evidence in place.
    """
    played = [match for match in matches if match.pairs]
    ours = sorted({one for match in played for one in match[:2] if not one.is_anchor})
    place = {one: number for number, one in enumerate(ours)}
    names = np.array([float(one.rating) for one in ours])
    signs = np.zeros((len(played), len(ours)))
    for number, match in enumerate(played):
        for one, sign in zip(match[:2], (1, -1), strict=True):
            if one in place:
                signs[number, place[one]] = sign
    known = np.array([sum(s * p.rating for p, s in zip(m[:2], (1, -1), strict=True) if p.is_anchor) for m in played])
    games, shares = (np.array([f(each) for each in played]) for f in (lambda m: 2 * len(m.pairs), lambda m: m.share))
    elos = names.copy()
    for _ in range(STEPS):
        expected, drawn = score_of(signs @ elos + known), score_of(elos - names)
        slope = _ELO * (signs.T @ (games * (shares - expected)) + 0.5 - drawn)
        curvature = _ELO**2 * (signs.T * (games * expected * (1 - expected)) @ signs + np.diag(drawn * (1 - drawn)))
        elos = elos + np.clip(np.linalg.solve(curvature, slope), -FARTHEST, FARTHEST)
    errors = Z_95 * np.sqrt(np.diag(np.linalg.inv(curvature)))
    return dict(zip(ours, elos.tolist(), strict=True)), dict(zip(ours, errors.tolist(), strict=True))


def renamed(
    ladder: strength.Ladder, elos: dict[Player, float], errors: dict[Player, float], evaluation: Evaluation
) -> strength.Ladder:
    """The ladder with the measured Elos, in steps of 10, which must rise.

    Neighbours that the games do not separate, the stronger measured as the weaker, share a place 10 Elo apart. Raises
    SystemExit if a name would then lie beyond its interval.
    """
    players = sorted(elos)
    pooled = _rising([elos[one] for one in players], [errors[one] ** -2 for one in players])
    names: list[int] = []
    for one, elo in zip(players, pooled, strict=True):
        names.append(max(round(elo / 10) * 10, names[-1] + 10 if names else 0))
        if abs(names[-1] - elos[one]) > errors[one] + 10:
            raise SystemExit(f"the rungs do not rise at {one}: {elos[one]:.0f}; more games, or rungs farther apart")
    rungs = [strength.Rung(name, rung.sights) for name, rung in zip(names, ladder.rungs, strict=True)]
    return strength.Ladder(tuple(rungs), digest(evaluation))


def _rising(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nearest values that do not fall: neighbours that do have their weighted mean."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (low, less, few), (high, more, others) = blocks.pop(), blocks.pop()
            blocks.append(((low * less + high * more) / (less + more), less + more, few + others))
    return [mean for mean, _, count in blocks for _ in range(count)]


def digest(evaluation: Evaluation) -> str:
    """A hash, 16 hex digits, of what levels choose by except rungs: the evaluation, and habits of players."""
    others = choice.people()
    tastes = [
        choice.COLUMNS[choice.FIRST_HABIT :],
        *(each[choice.FIRST_HABIT :].tolist() for each in (others.means, others.slopes)),
    ]
    text = json.dumps([evaluation.identity, *tastes, others.rating, others.low, others.high])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def as_toml(ladders: dict[str, strength.Ladder]) -> str:
    """The contents of the file with these ladders."""
    lines = [
        f"# Levels of strength: the Elo of each rung, and the coefficients of searches of {_listed()} nodes",
        "# in the model of choice. Written by tools/calibrate_strength.py; docs/gui.md has the conditions.",
    ]
    for kind, ladder in ladders.items():
        lines += ["", f"[{kind}]", f'measured_with = "{ladder.measured_with}"', "rungs = ["]
        lines += [f"  [{rung.elo}, {', '.join(f'{sight:g}' for sight in rung.sights)}]," for rung in ladder.rungs]
        lines.append("]")
    return "\n".join([*lines, ""])


def _listed() -> str:
    """The nodes of all searches: "16, 128 and 1024"."""
    *first, last = (*choice.SIGHTS, *choice.DEEP_SIGHTS)
    return f"{', '.join(map(str, first))} and {last}"


def row(match: Match, elos: Mapping[Player, float] = MappingProxyType({})) -> tuple[str, ...]:
    """A match as a row of the table; `elos` has the ratings of other engines that are no anchors."""
    games = 2 * len(match.pairs)
    wins = round(games * match.share - match.draws / 2)
    known = elos.get(match.opponent, match.opponent.rating) if match.opponent.engine else match.opponent.rating
    rating, error = known + match.estimate.elo, match.estimate.elo_error
    result = f"+{wins} ={match.draws} -{games - wins - match.draws}"
    cells = (str(match.player.rating), str(match.opponent), str(games), result)
    if not math.isfinite(error):
        return (*cells, "", "")
    return (*cells, f"{rating:.0f}", f"{rating - error:.0f} to {rating + error:.0f}")


def tables(matches: Sequence[Match], elos: dict[Player, float], errors: dict[Player, float]) -> str:
    """What each match says, and what all of them say together of each name."""
    by_name = sorted(matches, key=lambda each: (each.player.rating, each.opponent.engine == "", each.opponent))
    head = ("UCI_Elo", "Against", "Games", "Result", "Measured", "95%")
    together, nets = [], {match.player.net for match in matches}
    for one, elo in elos.items():
        if one.engine or one.net not in nets:
            continue
        low, high = elo - errors[one], elo + errors[one]
        is_near = one.rating - GOAL <= low and high <= one.rating + GOAL
        said = "yes" if is_near else "not shown"
        together.append((str(one.rating), f"{elo:.0f}", f"{low:.0f} to {high:.0f}", said))
    return "\n\n".join(
        (
            f"{sum(2 * len(match.pairs) for match in matches):,} games:",
            markdown_table(head, (row(match, elos) for match in by_name), right_aligned=(0, 2, 4)),
            "All results together, with the ratings of Stockfish's levels on a clock as given:",
            markdown_table(
                ("UCI_Elo", "By all results", "95%", f"Within {GOAL} of the name"), together, right_aligned=(0, 1)
            ),
        )
    )


def depths(elos: dict[Player, float], errors: dict[Player, float]) -> str:
    """What other engines are worth where their rating does not hold."""
    rows = [(str(one), f"{elo:.0f}", f"+- {errors[one]:.0f}") for one, elo in elos.items() if one.engine]
    return markdown_table(("Player, and its rating on a longer clock", "Here", "95%"), rows, right_aligned=(1, 2))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the matches, print the table as it grows, and write the ladder unless names are only checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    kinds = (strength.TERMS, strength.NETS)
    parser.add_argument("--kind", choices=kinds, action="append", help="whose rungs play (both)")
    parser.add_argument("--check", nargs="+", type=int, metavar="ELO", help="measure these names, and write nothing")
    parser.add_argument("--games", type=int, default=200, help="a match (200)")
    parser.add_argument("--seconds", type=float, choices=TIMES[1:], default=SECONDS, help="a move of others (0.1)")
    parser.add_argument("--against", choices=OPPONENTS, action="append", help="who plays the rungs (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the games' results here, and use those there")
    parser.add_argument("--concurrency", type=int, default=1, help="pairs of games at a time (1)")
    parser.add_argument("--stockfish", default=STOCKFISH)
    parser.add_argument("--page", action="store_true", help=f"put the tables into {PAGE.name} of docs/lab")
    args = parser.parse_args(arguments)
    names = {kind: args.check or [rung.elo for rung in strength.LADDERS[kind].rungs] for kind in kinds}
    every = {kind: possible(names[kind], NETS_OF[kind]) for kind in kinds}
    results = Results(list(chain(*every.values())), args.state)
    against = args.against or OPPONENTS
    wanted = [
        match for kind in args.kind or kinds for match in pairings(names[kind], NETS_OF[kind], args.seconds, against)
    ]
    play_matches(wanted, args.games, args.stockfish, args.seed, results, args.concurrency)
    found = {kind: [each for each in (results.match(*match) for match in every[kind]) if each.pairs] for kind in kinds}
    elos, errors = fitted(chain(*found.values()))
    ladders = strength.ladders_in(tomllib.loads(strength.FILE.read_text(encoding="utf-8")))
    texts = {"levels-depths": depths(elos, errors)}
    for kind in kinds:
        ours = {one: elo for one, elo in elos.items() if not one.engine and one.net == NETS_OF[kind]}
        texts[f"levels-{kind}"] = tables(found[kind], elos, errors)
        if not args.check:
            ladders[kind] = renamed(strength.LADDERS[kind], ours, errors, evaluation_of(NETS_OF[kind]))
    print("\n\n".join(texts.values()))
    for name, text in texts.items() if args.page else ():
        files.write_whole(PAGE, with_section(PAGE.read_text(encoding="utf-8"), name, text).encode())
    if not args.check:
        files.write_whole(strength.FILE, as_toml(ladders).encode())


if __name__ == "__main__":
    main()
