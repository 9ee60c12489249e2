"""Measure what UCI_Elo is worth, by matches against the levels of Stockfish: `python tools/calibrate_strength.py`.

Needs a `stockfish` (15.1 is what the anchors were measured for). Each Elo plays against one or more levels; openings
are random, about even, and each is played with both colours. The levels of Stockfish choose their move at a depth of
level + 1, and so do not depend on the machine either; their ratings are those that its authors found by matches in
January 2023, on the scale of CCRL Blitz. Below the weakest level, Elos can play each other:

    python tools/calibrate_strength.py --pairs 1500:s1 1800:s3 900:1200 --games 200

Prints a table like that of the README.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import chess
import chess.engine

ROOT = Path(__file__).resolve().parent.parent
STOCKFISH_LEVELS = {0: 1320, 1: 1468, 2: 1608, 3: 1742, 4: 1923, 5: 2204, 6: 2363, 7: 2500}
PAIRS = ("870:1030", "1030:1310", "1310:s0", "1710:s2", "1990:s4", "2240:s5", "2390:s6", "2450:s6", "2450:s7")
OPENING_PLIES = 8
OPENING_DEPTH = 8
EVEN_CP = 80  # by Stockfish, at OPENING_DEPTH
LONGEST_GAME = 400  # plies; then it counts as drawn
Z_95 = 1.96


class Player(NamedTuple):
    """One side of a match: Stockfish at a level, or Merino at an Elo."""

    is_anchor: bool
    number: int

    def __str__(self) -> str:
        return f"Stockfish, Skill Level {self.number}" if self.is_anchor else f"Merino, UCI_Elo {self.number}"

    @property
    def rating(self) -> int:
        """What it is supposed to be worth."""
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
    while (outcome := board.outcome(claim_draw=True)) is None and board.ply() < LONGEST_GAME:
        player, engine = sides[board.turn]
        move = engine.play(board, player.limit, game=game).move
        if move is None:
            raise RuntimeError(f"{player} gives no move in {board.fen()}")
        board.push(move)
    return 0.5 if outcome is None or outcome.winner is None else float(outcome.winner)


def play_match(player: Player, opponent: Player, games: int, stockfish: str, seed: int) -> Match:
    """So many games between the two, two from each opening."""
    engines = {one: start(one, stockfish) for one in (player, opponent)}
    judge = chess.engine.SimpleEngine.popen_uci(stockfish)
    pairs, draws = [], 0
    us, them = ((one, engines[one]) for one in (player, opponent))
    try:
        for board in islice(openings(judge, Random(seed)), games // 2):
            white = play_game(board, {chess.WHITE: us, chess.BLACK: them})
            black = play_game(board, {chess.WHITE: them, chess.BLACK: us})
            pairs.append(white + 1 - black)
            draws += (white == 0.5) + (black == 0.5)
    finally:
        for engine in (judge, *engines.values()):
            engine.quit()
    return Match(player, opponent, pairs, draws)


def start(player: Player, stockfish: str) -> chess.engine.SimpleEngine:
    """The engine of a player, with its options."""
    command = [stockfish] if player.is_anchor else [sys.executable, "-m", "engine", "uci"]
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
    parser.add_argument("--stockfish", default=shutil.which("stockfish") or "/usr/games/stockfish")
    wish = parser.parse_args()
    print("| UCI_Elo | Against | Games | Result | Measured | 95% |")
    print("| ---: | --- | ---: | --- | ---: | --- |", flush=True)
    for player, opponent in wish.pairs:
        print(row(play_match(player, opponent, wish.games, wish.stockfish, wish.seed)), flush=True)


if __name__ == "__main__":
    main()
