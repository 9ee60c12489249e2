"""Measure the levels of strength by matches: `python -m tools.calibrate_strength`.

Needs a `stockfish` (15.1 is what the anchors were measured for). Each rung of a ladder (`weights/levels.toml`) plays
the next one, and the level of Stockfish nearest to it. The ratings at which all results are likeliest become the names
of the rungs, and are written. Those of Stockfish's levels are what its authors found by matches in January 2023, on
the scale of CCRL Blitz. No clock runs: Stockfish chooses its move at a depth of level + 1, and a level of Merino by
searches of fixed sizes. One half of the openings are random and about even, the other named ones; each is played with
both colours.

    python -m tools.calibrate_strength --kind terms --games 200
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import chess
import chess.engine
import numpy as np

from merino.core.common import files, work
from merino.engine.search import choice, strength
from merino.eval.evaluation import Evaluation
from merino.match.statistics import Z_95, Estimate, estimate, score_of
from tools.calibration_games import (
    NET,
    STOCKFISH,
    STOCKFISH_LEVELS,
    PairResult,
    PairTask,
    Player,
    evaluation_of,
    opening,
    play_pair,
)
from tools.markdown import markdown_table, with_section

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lab" / "people.md"
GOAL = 75  # Elo, the farthest that a level may be from its name
NEAR = 250  # Elo, the farthest that Stockfish may be from a rung that it plays
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
    """What a player is in a file of results, whatever its name: a level, or an evaluation with coefficients."""
    if player.is_anchor:
        return player.number
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


def pairings(names: Sequence[int], net: str) -> list[tuple[Player, Player]]:
    """Each of these Elos against the next, and against the nearest level of Stockfish."""
    us = [Player(False, elo, net) for elo in names]
    levels = [Player(True, level) for level in STOCKFISH_LEVELS]
    nearest = [(one, min(levels, key=lambda level: abs(level.rating - one.rating))) for one in us]
    anchored = [(one, level) for one, level in nearest if abs(level.rating - one.rating) <= NEAR]
    return [*anchored, *zip(us[1:], us, strict=False)]


def possible(names: Sequence[int], net: str) -> list[tuple[Player, Player]]:
    """All matches that these may have played under other names: with any level of Stockfish, and with each other."""
    us = [Player(False, elo, net) for elo in names]
    levels = [Player(True, level) for level in STOCKFISH_LEVELS]
    return [*((one, level) for one in us for level in levels), *((high, low) for low, high in combinations(us, 2))]


def fitted(matches: Iterable[Match]) -> dict[Player, float]:
    """The Elo of each player of Merino at which the results are likeliest, with Stockfish at its own.

    A prior as weak as one drawn game against the name keeps a player without other evidence in place.
    """
    played = [match for match in matches if match.pairs]
    ours = sorted({one for match in played for one in match[:2] if not one.is_anchor})
    at = {one: float(one.rating) for match in played for one in match[:2]}
    for _ in range(2000):
        for one in ours:
            slope, curvature = _pull(at[one], float(one.rating), 0.5, 1)
            for match in played:
                if one in match[:2]:
                    share = match.share if one == match.player else 1 - match.share
                    other = match.opponent if one == match.player else match.player
                    more = _pull(at[one], at[other], share, 2 * len(match.pairs))
                    slope, curvature = slope + more[0], curvature + more[1]
            at[one] += slope / curvature
    return {one: at[one] for one in ours}


def uncertainties(matches: Iterable[Match], elos: dict[Player, float]) -> dict[Player, float]:
    """The half-widths of the 95% intervals of these Elos, with Stockfish's as given."""
    ours = {one: place for place, one in enumerate(elos)}
    known = np.diag([_pull(elo, elo, 0.5, 1)[1] for elo in elos.values()])  # from the prior of `fitted`
    for match in matches:
        us, them = (elos.get(one, float(one.rating)) for one in match[:2])
        more = _pull(us, them, 0.5, 2 * len(match.pairs))[1]
        signs = np.zeros(len(ours))
        for one, sign in zip(match[:2], (1, -1), strict=True):
            if one in ours:
                signs[ours[one]] = sign
        known += more * np.outer(signs, signs)
    return dict(zip(elos, (Z_95 * np.sqrt(np.diag(np.linalg.inv(known)))).tolist(), strict=True))


def _pull(elo: float, other: float, share: float, games: int) -> tuple[float, float]:
    """The slope and the negative curvature of the log-likelihood of a match, by the first player's Elo."""
    expected = score_of(elo - other)
    return _ELO * games * (share - expected), _ELO**2 * games * expected * (1 - expected)


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


def row(match: Match) -> tuple[str, ...]:
    """A match as a row of the table."""
    games = 2 * len(match.pairs)
    wins = round(games * match.share - match.draws / 2)
    rating, error = match.opponent.rating + match.estimate.elo, match.estimate.elo_error
    result = f"+{wins} ={match.draws} -{games - wins - match.draws}"
    cells = (str(match.player.rating), str(match.opponent), str(games), result, f"{rating:.0f}")
    return (*cells, f"{rating - error:.0f} to {rating + error:.0f}")


def tables(matches: Sequence[Match], elos: dict[Player, float], errors: dict[Player, float]) -> str:
    """What each match says, and what all of them say together of each name."""
    by_name = sorted(matches, key=lambda each: (each.player.rating, not each.opponent.is_anchor, each.opponent.rating))
    head = ("UCI_Elo", "Against", "Games", "Result", "Measured", "95%")
    together = []
    for one, elo in elos.items():
        low, high = elo - errors[one], elo + errors[one]
        is_near = one.rating - GOAL <= low and high <= one.rating + GOAL
        said = "yes" if is_near else "not shown"
        together.append((str(one.rating), f"{elo:.0f}", f"{low:.0f} to {high:.0f}", said))
    return "\n\n".join(
        (
            f"{sum(2 * len(match.pairs) for match in matches):,} games:",
            markdown_table(head, map(row, by_name), right_aligned=(0, 2, 4)),
            "All results together, with the ratings of Stockfish's levels as given:",
            markdown_table(
                ("UCI_Elo", "By all results", "95%", f"Within {GOAL} of the name"), together, right_aligned=(0, 1)
            ),
        )
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the matches, print the table as it grows, and write the ladder unless names are only checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--kind", choices=(strength.TERMS, strength.NETS), default=strength.TERMS, help="whose ladder (terms)"
    )
    parser.add_argument("--check", nargs="+", type=int, metavar="ELO", help="measure these names, and write nothing")
    parser.add_argument("--games", type=int, default=200, help="a match (200)")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the games' results here, and use those there")
    parser.add_argument("--concurrency", type=int, default=1, help="pairs of games at a time (1)")
    parser.add_argument("--stockfish", default=STOCKFISH)
    parser.add_argument("--page", action="store_true", help=f"put the tables into {PAGE.name} of docs/lab")
    args = parser.parse_args(arguments)
    net = NET if args.kind == strength.NETS else ""
    ladder = strength.LADDERS[args.kind]
    names = args.check or [rung.elo for rung in ladder.rungs]
    every = possible(names, net)
    results = Results(every, args.state)
    play_matches(pairings(names, net), args.games, args.stockfish, args.seed, results, args.concurrency)
    matches = [match for match in (results.match(*each) for each in every) if len(match.pairs) > 1]
    elos = fitted(matches)
    errors = uncertainties(matches, elos)
    print(text := tables(matches, elos, errors))
    if args.page:
        page = with_section(PAGE.read_text(encoding="utf-8"), f"levels-{args.kind}", text)
        files.write_whole(PAGE, page.encode())
    if not args.check:
        written = strength.ladders_in(tomllib.loads(strength.FILE.read_text(encoding="utf-8")))
        written[args.kind] = renamed(ladder, elos, errors, evaluation_of(net))
        files.write_whole(strength.FILE, as_toml(written).encode())


if __name__ == "__main__":
    main()
