"""Measure the levels of strength by matches: `python -m tools.calibrate_strength`.

Needs a `stockfish` (15.1 is what the anchors were measured for). Each rung of a ladder (`weights/levels.toml`) plays
the next one, and the level of Stockfish nearest to it. The ratings at which all results are likeliest become the names
of the rungs, and are written. Those of Stockfish's levels are what its authors found by matches in January 2023, on
the scale of CCRL Blitz. No clock runs: Stockfish chooses its move at a depth of level + 1, and a level of Merino by
searches of fixed sizes. One half of the openings are random and about even, the other named ones; each is played with
both colours.

    python -m tools.calibrate_strength --kind terms --games 200
    python -m tools.calibrate_strength --check 900 1500 2100 --games 200

`--check` measures names and writes nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import statistics
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice, pairwise
from random import Random
from typing import NamedTuple, Protocol

import chess
import chess.engine
import numpy as np

from merino.inner.core.board.game import Position
from merino.inner.core.common.files import write_whole
from merino.inner.core.common.runs import Run, RunName, at_work, begun
from merino.inner.core.common.work import ordered, threads
from merino.inner.engine.search.chooser import Chooser, has_bare_king
from merino.inner.engine.search.known_openings import opening_lines
from merino.inner.engine.search.limits import MAX_PLY, Limits
from merino.inner.engine.search.parameters import parameters_for
from merino.inner.engine.search.searcher import Searcher
from merino.inner.engine.search.strength import FILE, LADDERS, NETS, TERMS, Ladder, Rung, at_elo, ladders_in
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.families import default, load_net

NET = "gen12"  # whose levels are measured for all nets
STOCKFISH_LEVELS = {0: 1320, 1: 1468, 2: 1608, 3: 1742, 4: 1923, 5: 2204, 6: 2363, 7: 2500}
OPENING_PLIES = 8
OPENING_DEPTH = 8
EVEN_CP = 80  # by Stockfish, at OPENING_DEPTH
MAX_PLIES = 400  # plies; then it counts as drawn
NEAR = 250  # Elo, the farthest that Stockfish may be from a rung that it plays
Z_95 = 1.96
_ELO = math.log(10) / 400


class Player(NamedTuple):
    """One side of a match: Stockfish at a level, or Merino at an Elo, with the net of this name or with the terms."""

    is_anchor: bool
    number: int
    net: str = ""

    def __str__(self) -> str:
        if self.is_anchor:
            return f"Stockfish, Skill Level {self.number} ({self.rating})"
        return f"Merino{self.net and f' with {self.net}'}, UCI_Elo {self.number}"

    @property
    def rating(self) -> int:
        """Its nominal Elo."""
        return STOCKFISH_LEVELS[self.number] if self.is_anchor else self.number


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

    @property
    def error(self) -> float:
        """The half-width of the share's 95% interval."""
        return Z_95 * statistics.stdev(self.pairs) / 2 / math.sqrt(len(self.pairs))

    def difference(self) -> tuple[float, float, float]:
        """Elo by which the first is the stronger, and the ends of its 95% interval."""
        return elo_of(self.share), elo_of(self.share - self.error), elo_of(self.share + self.error)


def elo_of(share: float) -> float:
    """The Elo difference at which this share of the points is expected."""
    share = min(max(share, 0.005), 0.995)
    return -400 * math.log10(1 / share - 1)


def openings(judge: chess.engine.SimpleEngine, random: Random) -> Iterator[chess.Board]:
    """By turns, a position about even after random moves, and one from a named opening."""
    named = [board for _, board in opening_lines()]
    random.shuffle(named)
    for number in range(1 << 30):
        yield _random_opening(judge, random)
        yield named[number % len(named)].copy()


def _random_opening(judge: chess.engine.SimpleEngine, random: Random) -> chess.Board:
    while True:
        board = chess.Board()
        for _ in range(OPENING_PLIES):
            if moves := list(board.legal_moves):
                board.push(random.choice(moves))
        if board.is_game_over():
            continue
        score = judge.analyse(board, chess.engine.Limit(depth=OPENING_DEPTH))["score"].relative
        if abs(score.score(mate_score=10000)) <= EVEN_CP:
            return board


class Side(Protocol):
    """A player at a board."""

    def move(self, position: Position, board: chess.Board) -> chess.Move:
        """A move in this position, which the board shows too."""

    def stop(self) -> None:
        """End whatever it does; called from another thread."""

    def close(self) -> None:
        """Leave the board."""


class OwnSide:
    """Merino at a level, in this process: its choices without the search that shows a line for each."""

    def __init__(self, player: Player) -> None:
        evaluation = load_net(player.net) if player.net else default()
        self._who, self._random = (at_elo(player.number), None), Random(player.number)
        self._stop_flag = np.zeros(1, dtype=np.uint64)
        self._chooser = Chooser(evaluation, parameters_for(evaluation), self._stop_flag)
        self._technique = Searcher(1, evaluation=evaluation)
        self._technique.strength = self._who[0]

    def move(self, position: Position, board: chess.Board) -> chess.Move:
        """See Side."""
        if has_bare_king(position, 1 - position.turn):
            best = self._technique.search(position, Limits(depth=MAX_PLY)).best
        else:
            best = self._chooser.choose(position, position.legal_moves, self._who, self._random).move
        if best is None:
            raise RuntimeError(f"no move in {board.fen()}")
        return chess.Move.from_uci(position.uci(best))

    def stop(self) -> None:
        """See Side."""
        self._stop_flag[0] = 1
        self._technique.stop()

    def close(self) -> None:
        """See Side."""
        self._technique.stop()


class StockfishSide:
    """Stockfish at a level."""

    def __init__(self, player: Player, stockfish: str) -> None:
        self._engine = chess.engine.SimpleEngine.popen_uci(stockfish, timeout=180)
        self._engine.configure({"Skill Level": player.number, "Threads": 1, "Hash": 16})
        self._limit = chess.engine.Limit(depth=player.number + 1)

    def move(self, position: Position, board: chess.Board) -> chess.Move:
        """See Side."""
        move = self._engine.play(board, self._limit).move
        if move is None:
            raise RuntimeError(f"no move in {board.fen()}")
        return move

    def stop(self) -> None:
        """See Side."""
        self._engine.close()

    def close(self) -> None:
        """See Side; it is ended if it cannot hear."""
        try:
            self._engine.quit()
        except (chess.engine.EngineError, TimeoutError):
            self._engine.close()


def play_game(start: chess.Board, white: Side, black: Side) -> float:
    """White's points in a game from `start`."""
    board, position = start.copy(), Position(start.root().fen())
    position.push_all([move.uci() for move in board.move_stack])
    while (outcome := board.outcome(claim_draw=True)) is None and board.ply() < MAX_PLIES:
        move = (white if board.turn else black).move(position, board)
        board.push(move)
        position.push_uci(move.uci())
    return 0.5 if outcome is None or outcome.winner is None else float(outcome.winner)


class PairTask(NamedTuple):
    """Two games from one opening, with colours reversed: plain data, for any process."""

    player: Player
    opponent: Player
    fen: str
    moves: tuple[str, ...]
    stockfish: str
    run: RunName


class Sides:
    """Both players, kept from pair to pair."""

    def __init__(self, task: PairTask) -> None:
        self.of: list[Side] = []
        try:
            for one in (task.player, task.opponent):
                self.of.append(StockfishSide(one, task.stockfish) if one.is_anchor else OwnSide(one))
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End them, whatever they do."""
        for side in self.of:
            side.stop()

    def close(self) -> None:
        """Let them leave the board."""
        for side in self.of:
            side.close()


def play_pair(task: PairTask) -> tuple[float, float] | None:
    """White's points in both games of a pair, the first player having White in the first; None for an ended run."""
    with at_work(task.run) as run:
        if run is None:
            return None
        us, them = run.kept(lambda: _sides_for(task, run)).of
        board = chess.Board(task.fen)
        for move in task.moves:
            board.push_uci(move)
        return play_game(board, us, them), play_game(board, them, us)


def _sides_for(task: PairTask, run: Run) -> Sides:
    sides = Sides(task)
    run.watch(sides)
    return sides


def play_match(player: Player, opponent: Player, games: int, stockfish: str, seed: int, at_a_time: int = 1) -> Match:
    """`games` games between the two, two from each opening."""
    pairs, draws = [], 0
    judge = chess.engine.SimpleEngine.popen_uci(stockfish)
    with ExitStack() as stack:
        stack.callback(judge.quit)
        workers, run = stack.enter_context(threads(at_a_time)), stack.enter_context(begun())
        starts = islice(openings(judge, Random(seed)), games // 2)
        tasks = (
            PairTask(player, opponent, board.root().fen(), tuple(map(str, board.move_stack)), stockfish, run)
            for board in starts
        )
        for played in stack.enter_context(closing(ordered(workers, play_pair, tasks, 2 * at_a_time))):
            if played is not None:
                white, black = played
                pairs.append(white + 1 - black)
                draws += (white == 0.5) + (black == 0.5)
    return Match(player, opponent, pairs, draws)


def pairings(names: Sequence[int], net: str) -> list[tuple[Player, Player]]:
    """Each of these Elos against the next, and against the nearest level of Stockfish."""
    us = [Player(False, elo, net) for elo in names]
    levels = [Player(True, level) for level in STOCKFISH_LEVELS]
    nearest = [(one, min(levels, key=lambda level: abs(level.rating - one.rating))) for one in us]
    anchored = [(one, level) for one, level in nearest if abs(level.rating - one.rating) <= NEAR]
    return [*anchored, *zip(us[1:], us, strict=False)]


def fitted(matches: Iterable[Match]) -> dict[Player, float]:
    """The Elo of each player of Merino at which the results are likeliest, with Stockfish at its own.

    A prior as weak as one drawn game against the name keeps a player of whom nothing else is known in place.
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


def _pull(elo: float, other: float, share: float, games: int) -> tuple[float, float]:
    """The slope and the negative curvature of the log-likelihood of a match, by the first player's Elo."""
    expected = 1 / (1 + math.exp(-_ELO * (elo - other)))
    return _ELO * games * (share - expected), _ELO**2 * games * expected * (1 - expected)


def renamed(ladder: Ladder, elos: dict[Player, float], evaluation: Evaluation) -> Ladder:
    """The ladder with the measured Elos, in steps of 10, which must rise."""
    named = [
        Rung(round(elos[one] / 10) * 10, rung.sights) for one, rung in zip(sorted(elos), ladder.rungs, strict=True)
    ]
    if any(high.elo <= low.elo for low, high in pairwise(named)):
        raise SystemExit(f"the rungs do not rise: {[rung.elo for rung in named]}; more games, or rungs farther apart")
    return Ladder(tuple(named), digest(evaluation))


def digest(evaluation: Evaluation) -> str:
    """A hash of all that the scores of an evaluation depend on, 16 hex digits."""
    return hashlib.blake2b(json.dumps(evaluation.identity).encode(), digest_size=8).hexdigest()


def as_toml(ladders: dict[str, Ladder]) -> str:
    """The contents of the file with these ladders."""
    lines = [
        "# Levels of strength: the Elo of each rung, and the coefficients of searches of 16, 128, 1024 and 8192 nodes",
        "# in the model of choice. Written by tools/calibrate_strength.py; docs/gui.md has the conditions.",
    ]
    for kind, ladder in ladders.items():
        lines += ["", f"[{kind}]", f'evaluation = "{ladder.evaluation}"', "rungs = ["]
        lines += [f"  [{rung.elo}, {', '.join(f'{sight:g}' for sight in rung.sights)}]," for rung in ladder.rungs]
        lines.append("]")
    return "\n".join([*lines, ""])


def row(match: Match) -> str:
    """A match as a row of the table."""
    games = 2 * len(match.pairs)
    wins = round(games * match.share - match.draws / 2)
    rating, low, high = (match.opponent.rating + difference for difference in match.difference())
    return (
        f"| {match.player} | {match.opponent} | {games} "
        f"| +{wins} ={match.draws} -{games - wins - match.draws} | {rating:.0f} | {low:.0f} to {high:.0f} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the matches, print the table as it grows, and write the ladder unless names are only checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=(TERMS, NETS), default=TERMS, help="whose ladder (terms)")
    parser.add_argument("--check", nargs="+", type=int, metavar="ELO", help="measure these names, and write nothing")
    parser.add_argument("--games", type=int, default=200, help="a match (200)")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--concurrency", type=int, default=1, help="pairs of games at a time (1)")
    parser.add_argument("--stockfish", default=shutil.which("stockfish") or "/usr/games/stockfish")
    args = parser.parse_args(arguments)
    net = NET if args.kind == NETS else ""
    ladder = LADDERS[args.kind]
    print("| Level | Against | Games | Result | Measured | 95% |\n| --- | --- | ---: | --- | ---: | --- |", flush=True)
    matches = []
    for pair in pairings(args.check or [rung.elo for rung in ladder.rungs], net):
        matches.append(play_match(*pair, args.games, args.stockfish, args.seed, args.concurrency))
        print(row(matches[-1]), flush=True)
    elos = fitted(matches)
    print("\n" + "\n".join(f"{one}: {elo:.0f}" for one, elo in elos.items()))
    if not args.check:
        written = ladders_in(tomllib.loads(FILE.read_text(encoding="utf-8")))
        written[args.kind] = renamed(ladder, elos, load_net(net) if net else default())
        write_whole(FILE, as_toml(written).encode())


if __name__ == "__main__":
    main()
