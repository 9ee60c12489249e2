"""Measure the levels of strength by matches: `python -m tools.calibrate_strength --state FILE [--games N]`.

Needs `stockfish` (15.1 is what the anchors were measured for). Each rung of a ladder (`weights/levels.toml`) plays the
next one, and the nearest level of Stockfish; the ratings at which all results of both ladders are likeliest become the
names of the rungs, and are written. Those of Stockfish's levels are what its authors found by matches on a clock in
January 2023, on the scale of CCRL Blitz. Its clock counts nodes here, so that load changes nothing; a level of Merino
has no clock, but searches of fixed sizes. Half of the openings are random and about even, half named ones; each is
played with both colours.

The pairs are kept in the file, and the same command goes on after Ctrl-C, also with more games or other names; all
pairs of the rungs in it count. `--check 900 1500` measures other names and writes nothing.
"""

import argparse
import hashlib
import json
import math
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, count
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from merino.core.board.fen import START_FEN
from merino.core.common import files, work
from merino.engine.search import choice, known_openings, strength
from merino.engine.search.limits import MAX_PLY
from merino.eval.evaluation import Evaluation
from merino.eval.families import default, load_net
from merino.formats.openings import Opening
from merino.match import engines
from merino.match.config import Adjudication, TimeControl
from merino.match.games import RandomOpenings
from merino.match.players import OtherPlayer, OwnPlayer
from merino.match.statistics import Z_95, estimate, score_of
from tools.markdown import markdown_table

STOCKFISH = shutil.which("stockfish") or "/usr/games/stockfish"  # where Debian puts it, which not every path has
RATINGS = (1320, 1468, 1608, 1742, 1923, 2204, 2363, 2500)  # by Skill Level (official-stockfish/Stockfish#4341)
NODES = 86_000  # what Stockfish 15.1 at a level searches in 0.1 s on an idle core
NET = "gen12"  # whose levels are measured for all nets
KINDS = {strength.TERMS: "", strength.NETS: NET}  # the net of each kind
NEAR = 330  # Elo, the farthest that Stockfish may be from a rung that it plays
GOAL = 75  # Elo, the farthest that a level may be from its name
RULES = Adjudication(longest=400)
STEPS, FARTHEST = 50, 100.0  # of Newton's method, and Elo in one of them
_ELO = math.log(10) / 400


class Player(NamedTuple):
    """A level of Merino by its Elo, with the terms or a net, or of Stockfish by its Skill Level (`net` is None)."""

    net: str | None
    number: int

    def __str__(self) -> str:
        if self.net is None:
            return f"Stockfish, Skill Level {self.number} ({self.rating})"
        return f"Merino{self.net and f' with {self.net}'}, UCI_Elo {self.number}"

    @property
    def rating(self) -> int:
        """Its nominal Elo."""
        return RATINGS[self.number] if self.net is None else self.number

    @property
    def key(self) -> str:
        """What it is in a file of results, whatever its name."""
        if self.net is None:
            return str(self)
        sights = strength.Strength(self.number).sights(strength.NETS if self.net else strength.TERMS)
        return " ".join([digest(evaluation_of(self.net)), *(f"{sight:g}" for sight in sights)])

    def engine(self) -> engines.OwnEngine | engines.OtherEngine:
        """What plays for it."""
        if self.net is None:
            player = OtherPlayer(str(self), (STOCKFISH,), {"Skill Level": str(self.number)})
            return engines.OtherEngine(player, TimeControl(nodes=NODES))
        own = engines.OwnEngine(OwnPlayer(str(self), evaluation_of(self.net)), TimeControl(depth=MAX_PLY - 1))
        own.searcher.strength = strength.Strength(self.number)  # also where only one ladder goes, as no option does
        return own


Match = tuple[Player, Player]
Results = dict[Match, list[list[int]]]
LEVELS = [Player(None, level) for level in range(len(RATINGS))]


class Board(engines.PythonBoard):
    """The two players of a match, each under its own limits."""

    def __init__(self, match: Match, stop_flag: np.ndarray) -> None:
        super().__init__((), TimeControl(), RULES, stop_flag)
        self._sides = [player.engine() for player in match]


class PairTask(NamedTuple):
    """Two games from one opening, with colours reversed."""

    match: Match
    number: int  # of the pair between these two
    opening: Opening
    run: work.RunName


@cache
def evaluation_of(net: str) -> Evaluation:
    """The net of this name, or for none the terms that come with Merino."""
    return load_net(net) if net else default()


def play_pair(task: PairTask) -> tuple[Match, list[int]] | None:
    """The half points of the first player in each game of a pair; None for an ended run."""
    with work.at_work(task.run) as run:
        if run is None:
            return None
        boards: dict[Match, Board] = run.kept(dict)
        if task.match not in boards:
            boards[task.match] = Board(task.match, run.stop_flag)
            run.watch(boards[task.match])
        numbers = (2 * task.number, 2 * task.number + 1)
        games = [boards[task.match].play(number, task.opening, number % 2 == 0) for number in numbers]
        return task.match, [game.points for game in games if game]


def openings(seed: int) -> Iterator[Opening]:
    """By turns, a position about even after random moves, and one from a named opening."""
    even, draw, named = RandomOpenings(seed), Random(seed), [board for _, board in known_openings.opening_lines()]
    for number in count():
        yield even.opening(number)
        yield Opening(START_FEN, tuple(map(str, draw.choice(named).move_stack)))


def pairings(names: Sequence[int], net: str) -> list[Match]:
    """Each of these Elos against the nearest level of Stockfish, and against the next."""
    us = [Player(net, elo) for elo in names]
    anchored = [(one, min(LEVELS, key=lambda level: abs(level.rating - one.rating))) for one in us]
    near = [(one, level) for one, level in anchored if abs(level.rating - one.rating) <= NEAR]
    return [*near, *zip(us[1:], us, strict=False)]


def results_in(file: Path, matches: Iterable[Match]) -> Results:
    """The half points in each pair of these matches, and of all others between their players, that the file has."""
    found: Results = {match: [] for match in matches}
    players = {player.key: player for player in (*chain(*found), *LEVELS)}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        kept = json.loads(line)
        one, other = map(players.get, kept["players"].split(" - "))
        if one and other:
            found.setdefault((one, other), []).append(kept["points"])
    return found


def play(results: Results, matches: Sequence[Match], pairs: int, seed: int, file: Path, at_a_time: int) -> None:
    """Play until each match has so many pairs, one of each in turn, and add them to the results and the file."""
    starts = [opening for opening, _ in zip(openings(seed), range(pairs), strict=False)]
    with work.threads(at_a_time) as workers, work.begun() as run, file.open("a", encoding="utf-8") as lines:
        todo = [(number, match) for number in range(pairs) for match in matches if number >= len(results[match])]
        tasks = (PairTask(match, number, starts[number], run) for number, match in todo)
        with closing(work.ordered(workers, play_pair, tasks, 2 * at_a_time)) as played:
            for (one, other), points in filter(None, played):
                results[one, other].append(points)
                line = {"players": f"{one.key} - {other.key}", "points": points}
                print(json.dumps(line), file=lines, flush=True)


def fitted(results: Results) -> tuple[dict[Player, float], dict[Player, float]]:
    """The Elo of each level of Merino at which all results are likeliest, and half of its 95% interval.

    A prior as weak as one drawn game against the name keeps a player without other evidence in place.
    """
    ours = sorted({player for match in results for player in match if player.net is not None})
    names = np.array([float(one.rating) for one in ours])
    signs = np.array([[float(one == each) - float(other == each) for each in ours] for one, other in results])
    known = np.array([-other.rating if other.net is None else 0 for _, other in results])
    games = np.array([2 * len(pairs) for pairs in results.values()])
    points = np.array([sum(map(sum, pairs)) / 2 for pairs in results.values()])
    elos = names.copy()
    for _ in range(STEPS):
        expected, drawn = score_of(signs @ elos + known), score_of(elos - names)
        slope = _ELO * (signs.T @ (points - games * expected) + 0.5 - drawn)
        curvature = _ELO**2 * (signs.T * (games * expected * (1 - expected)) @ signs + np.diag(drawn * (1 - drawn)))
        elos = elos + np.clip(np.linalg.solve(curvature, slope), -FARTHEST, FARTHEST)
    errors = Z_95 * np.sqrt(np.diag(np.linalg.inv(curvature)))
    return dict(zip(ours, elos.tolist(), strict=True)), dict(zip(ours, errors.tolist(), strict=True))


def renamed(
    ladder: strength.Ladder, elos: Mapping[Player, float], errors: Mapping[Player, float], evaluation: Evaluation
) -> strength.Ladder:
    """The ladder with the measured Elos, in steps of 10, which must rise.

    Neighbours that the games do not separate, the stronger measured as the weaker, share a place 10 Elo apart. Raises
    SystemExit if a name would then lie beyond its interval.
    """
    blocks: list[list[Player]] = []

    def mean(players: Sequence[Player]) -> float:
        return float(np.average([elos[one] for one in players], weights=[errors[one] ** -2 for one in players]))

    for one in sorted(elos):
        blocks.append([one])
        while len(blocks) > 1 and mean(blocks[-2]) > mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    names: list[int] = []
    for one, elo in ((one, mean(block)) for block in blocks for one in block):
        names.append(max(round(elo / 10) * 10, names[-1] + 10 if names else 0))
        if abs(names[-1] - elos[one]) > errors[one] + 10:
            raise SystemExit(f"the rungs do not rise at {one}: {elos[one]:.0f}; more games, or rungs farther apart")
    rungs = [strength.Rung(name, rung.sights) for name, rung in zip(names, ladder.rungs, strict=True)]
    return strength.Ladder(tuple(rungs), digest(evaluation))


def digest(evaluation: Evaluation) -> str:
    """A hash, 16 hex digits, of what levels choose by except rungs: the evaluation, and habits of players."""
    others, first = choice.people(), choice.FIRST_HABIT
    tastes = [choice.COLUMNS[first:], others.means[first:].tolist(), others.slopes[first:].tolist()]
    text = json.dumps([evaluation.identity, *tastes, others.rating, others.low, others.high])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def as_toml(ladders: Mapping[str, strength.Ladder]) -> str:
    """The contents of the file with these ladders."""
    *first, last = (*choice.SIGHTS, *choice.DEEP_SIGHTS)
    lines = [
        f"# Levels of strength: the Elo of each rung, and how much searches of {', '.join(map(str, first))} and {last}"
    ]
    lines.append("# nodes count in the model of choice. Written by tools/calibrate_strength.py (docs/gui.md).")
    for kind, ladder in ladders.items():
        lines += ["", f"[{kind}]", f'measured_with = "{ladder.measured_with}"', "rungs = ["]
        rungs = (f"  [{rung.elo}, {', '.join(f'{sight:g}' for sight in rung.sights)}]," for rung in ladder.rungs)
        lines += [*rungs, "]"]
    return "\n".join([*lines, ""])


def tables(results: Results, elos: Mapping[Player, float], errors: Mapping[Player, float]) -> str:
    """What each match says, and what all of them say together of each name."""
    rows = []
    for (one, other), pairs in results.items():
        losses, draws, wins = (sum(pair.count(points) for pair in pairs) for points in range(3))
        found = estimate(np.bincount([sum(pair) for pair in pairs], minlength=5))
        said = f"{other.rating + found.elo:.0f} +- {found.elo_error:.0f}" if math.isfinite(found.elo_error) else ""
        rows.append((str(one), str(other), str(2 * len(pairs)), f"+{wins} ={draws} -{losses}", said))
    together = []
    for one, elo in elos.items():
        is_near = abs(elo - one.rating) + errors[one] <= GOAL
        together.append((str(one), f"{elo:.0f} +- {errors[one]:.0f}", "yes" if is_near else "not shown"))
    matches = markdown_table(("Level", "Against", "Games", "Result", "Measured (95%)"), rows, right_aligned=(2,))
    heads = ("Level", "By all results (95%)", f"Within {GOAL} of the name")
    return f"{matches}\n\n{markdown_table(heads, together)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the matches, print the tables, and write the ladders unless names are only checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, metavar="FILE", help="keep the results of the games here")
    parser.add_argument("--kind", choices=KINDS, action="append", help="whose rungs play (both)")
    parser.add_argument("--check", nargs="+", type=int, metavar="ELO", help="measure these names, and write nothing")
    parser.add_argument("--games", type=int, default=200, help="a match (200); 0 shows what is known")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--concurrency", type=int, default=1, help="pairs of games at a time (1)")
    args = parser.parse_args(arguments)
    kinds = args.kind or list(KINDS)
    names = {kind: args.check or [rung.elo for rung in strength.LADDERS[kind].rungs] for kind in kinds}
    matches = [match for kind in kinds for match in pairings(names[kind], KINDS[kind])]
    results = results_in(args.state, matches)
    play(results, matches, args.games // 2, args.seed, args.state, args.concurrency)
    results = {match: pairs for match, pairs in results.items() if pairs}
    elos, errors = fitted(results)
    print(tables(results, elos, errors))
    ladders = strength.ladders_in(tomllib.loads(strength.FILE.read_text(encoding="utf-8")))
    for kind in kinds if not args.check else ():
        ours = {one: elo for one, elo in elos.items() if one.net == KINDS[kind]}
        ladders[kind] = renamed(strength.LADDERS[kind], ours, errors, evaluation_of(KINDS[kind]))
        files.write_whole(strength.FILE, as_toml(ladders).encode())


if __name__ == "__main__":
    main()
