"""Measure the strength at each UCI_Elo by matches with levels of Stockfish: `python tools/calibrate_strength.py`.

Needs a `stockfish` (15.1 is what the anchors were measured for). Each Elo plays against one or more levels; openings
are random, about even, and each is played with both colours. The levels of Stockfish choose their move at a depth of
level + 1, and so do not depend on the machine either; their ratings are those that its authors found by matches in
January 2023, on the scale of CCRL Blitz. Below the weakest level, Elos can play each other:

    python tools/calibrate_strength.py --pairs 1500:s1 1800:s3 900:1200 --games 200

Prints a table like that of docs/gui.md.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import chess
import chess.engine

from merino.inner.core.common.runs import Run, RunName, at_work, begun
from merino.inner.core.common.work import ordered, threads

ROOT = Path(__file__).resolve().parent.parent
STOCKFISH_LEVELS = {0: 1320, 1: 1468, 2: 1608, 3: 1742, 4: 1923, 5: 2204, 6: 2363, 7: 2500}
PAIRS = ("870:1030", "1030:1310", "1310:s0", "1710:s2", "1990:s4", "2240:s5", "2390:s6", "2450:s6", "2450:s7")
OPENING_PLIES = 8
OPENING_DEPTH = 8
EVEN_CP = 80  # by Stockfish, at OPENING_DEPTH
MAX_PLIES = 400  # plies; then it counts as drawn
Z_95 = 1.96


class Player(NamedTuple):
    """One side of a match: Stockfish at a level, or Merino at an Elo."""

    is_anchor: bool
    number: int

    def __str__(self) -> str:
        return f"Stockfish, Skill Level {self.number}" if self.is_anchor else f"Merino, UCI_Elo {self.number}"

    @property
    def rating(self) -> int:
        """Its nominal Elo."""
        return STOCKFISH_LEVELS[self.number] if self.is_anchor else self.number

    @property
    def limit(self) -> chess.engine.Limit:
        """How far it may look: no clock ever runs."""
        return chess.engine.Limit(depth=self.number + 1 if self.is_anchor else 60)

    @property
    def options(self) -> dict[str, chess.engine.ConfigValue]:
        """What makes it as strong as that."""
        if self.is_anchor:
            return {"Skill Level": self.number, "Threads": 1, "Hash": 16}
        return {"UCI_LimitStrength": True, "UCI_Elo": self.number, "Hash": 16}


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

    def difference(self) -> tuple[float, float, float]:
        """Elo by which the first is the stronger, and the ends of its 95% interval."""
        error = Z_95 * statistics.stdev(self.pairs) / 2 / math.sqrt(len(self.pairs))
        return elo_of(self.share), elo_of(self.share - error), elo_of(self.share + error)


def elo_of(share: float) -> float:
    """The Elo difference at which this share of the points is expected."""
    share = min(max(share, 0.005), 0.995)
    return -400 * math.log10(1 / share - 1)


def openings(judge: chess.engine.SimpleEngine, random: Random) -> Iterator[chess.Board]:
    """Positions about even, after random moves."""
    while True:
        board = chess.Board()
        for _ in range(OPENING_PLIES):
            if moves := list(board.legal_moves):
                board.push(random.choice(moves))
        if board.is_game_over():
            continue
        score = judge.analyse(board, chess.engine.Limit(depth=OPENING_DEPTH))["score"].relative
        if abs(score.score(mate_score=10000)) <= EVEN_CP:
            yield board


def play_game(start: chess.Board, sides: dict[chess.Color, tuple[Player, chess.engine.SimpleEngine]]) -> float:
    """White's points in a game from `start`."""
    board, game = start.copy(), object()
    while (outcome := board.outcome(claim_draw=True)) is None and board.ply() < MAX_PLIES:
        player, engine = sides[board.turn]
        move = engine.play(board, player.limit, game=game).move
        if move is None:
            raise RuntimeError(f"{player} gives no move in {board.fen()}")
        board.push(move)
    return 0.5 if outcome is None or outcome.winner is None else float(outcome.winner)


class PairTask(NamedTuple):
    """Two games from one opening, with colours reversed: plain data, for any process."""

    player: Player
    opponent: Player
    fen: str
    moves: tuple[str, ...]
    stockfish: str
    run: RunName


class Engines:
    """The engines of both players, kept from pair to pair."""

    def __init__(self, task: PairTask) -> None:
        self.of: dict[Player, chess.engine.SimpleEngine] = {}
        try:
            for one in (task.player, task.opponent):
                self.of[one] = start(one, task.stockfish)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End them, whatever they do."""
        for engine in self.of.values():
            engine.close()

    def close(self) -> None:
        """Ask them to quit, and end those that cannot hear it."""
        for engine in self.of.values():
            try:
                engine.quit()
            except (chess.engine.EngineError, TimeoutError):
                engine.close()


def play_pair(task: PairTask) -> tuple[float, float] | None:
    """White's points in both games of a pair, the first player having White in the first; None for an ended run."""
    with at_work(task.run) as run:
        if run is None:
            return None
        engines = run.kept(lambda: _engines_for(task, run))
        us, them = ((one, engines.of[one]) for one in (task.player, task.opponent))
        board = chess.Board(task.fen)
        for move in task.moves:
            board.push_uci(move)
        white = play_game(board, {chess.WHITE: us, chess.BLACK: them})
        return white, play_game(board, {chess.WHITE: them, chess.BLACK: us})


def _engines_for(task: PairTask, run: Run) -> Engines:
    engines = Engines(task)
    run.watch(engines)
    return engines


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


def start(player: Player, stockfish: str) -> chess.engine.SimpleEngine:
    """The engine of a player, with its options."""
    command = [stockfish] if player.is_anchor else [sys.executable, "-m", "merino", "uci"]
    engine = chess.engine.SimpleEngine.popen_uci(command, timeout=180, cwd=ROOT)
    engine.configure(player.options)
    engine.ping()
    return engine


def row(match: Match) -> str:
    """A match as a row of the table."""
    games = 2 * len(match.pairs)
    wins = round(games * match.share - match.draws / 2)
    rating, low, high = (match.opponent.rating + difference for difference in match.difference())
    return (
        f"| {match.player.number} | {match.opponent} ({match.opponent.rating}) | {games} "
        f"| +{wins} ={match.draws} -{games - wins - match.draws} | {rating:.0f} | {low:.0f} to {high:.0f} |"
    )


def read_player(text: str) -> Player:
    """`s3` is Stockfish at level 3, `1500` Merino at that Elo."""
    is_anchor = text.startswith("s")
    player = Player(is_anchor, int(text.removeprefix("s")))
    if is_anchor and player.number not in STOCKFISH_LEVELS:
        raise argparse.ArgumentTypeError(f"only the levels {', '.join(map(str, STOCKFISH_LEVELS))} are anchors")
    return player


def read_pair(text: str) -> tuple[Player, Player]:
    """`1500:s1` or `1200:1500`."""
    first, _, second = text.partition(":")
    return read_player(first), read_player(second)


def main() -> None:
    """Play the matches and print the table as it grows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", nargs="+", type=read_pair, default=[read_pair(pair) for pair in PAIRS])
    parser.add_argument("--games", type=int, default=100, help="a match (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--concurrency", type=int, default=1, help="pairs of games at a time (1)")
    parser.add_argument("--stockfish", default=shutil.which("stockfish") or "/usr/games/stockfish")
    args = parser.parse_args()
    print("| UCI_Elo | Against | Games | Result | Measured | 95% |")
    print("| ---: | --- | ---: | --- | ---: | --- |", flush=True)
    for player, opponent in args.pairs:
        match = play_match(player, opponent, args.games, args.stockfish, args.seed, args.concurrency)
        print(row(match), flush=True)


if __name__ == "__main__":
    main()
