"""`python -m tools.beside_people FILE.pgn ...`: what the moves of people and of levels of strength lose, as a table.

In one position of each game, after the opening and undecided, Stockfish judges the move that was played and those that
levels choose there: the share of the points that is lost against its best move, and how many moves lose much.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import chess
import chess.engine

from merino.core.board.game import Position
from merino.engine.search.chooser import Chooser
from merino.engine.search.strength import Strength
from merino.eval.outlook import DEFAULT_K, expected_score
from tools.calibration_games import STOCKFISH
from tools.castling_study import games_in
from tools.levels import add_levels, error_of_mean, levels_of

FIRST_PLY = 20  # of the positions; before lie openings that people know
UNDECIDED = (0.05, 0.95)  # of the points, for the side to move
DEPTH = 11
MATE_CP = 10_000
LIMITS = (0.1, 0.2)  # of the points, from which on a move counts as losing much


class Moment(NamedTuple):
    """A position of a game, the move played in it, and the share of the points after the best one."""

    board: chess.Board
    played: chess.Move
    best: float


class Judge(Protocol):
    """Says what share of the points a side may expect that has moved."""

    def points(self, board: chess.Board, move: chess.Move | None = None) -> float:
        """For the side to move, after this move or after the best one; 0..1."""


class StockfishJudge:
    """Stockfish at a fixed depth, which a move and the best one get alike."""

    def __init__(self, stockfish: str) -> None:
        self._engine = chess.engine.SimpleEngine.popen_uci(stockfish)
        self._engine.configure({"Threads": 1, "Hash": 64})

    def points(self, board: chess.Board, move: chess.Move | None = None) -> float:
        """See Judge."""
        limit, root = chess.engine.Limit(depth=DEPTH), None if move is None else [move]
        score = self._engine.analyse(board, limit, root_moves=root, game=object())["score"].relative
        return expected_score(score.score(mate_score=MATE_CP), DEFAULT_K)

    def close(self) -> None:
        """End it."""
        self._engine.quit()


def moments_in(paths: Sequence[Path], ratings: tuple[int, int], judge: Judge) -> Iterator[Moment]:
    """One undecided position of each game, drawn among those in which a player of such a rating is to move."""
    random = Random(1)
    for path in paths:
        for told, moves in games_in(path, sys.maxsize):
            sides = [side for side, rating in enumerate(told) if ratings[0] <= rating <= ratings[1]]
            plies = [ply for ply in range(FIRST_PLY, len(moves)) if ply % 2 in sides]
            if not plies:
                continue
            ply, board = random.choice(plies), chess.Board()
            for move in moves[:ply]:
                board.push(move)
            if board.legal_moves.count() > 1 and UNDECIDED[0] <= (best := judge.points(board)) <= UNDECIDED[1]:
                yield Moment(board, moves[ply], best)


def losses(moments: Sequence[Moment], moves: Sequence[chess.Move], judge: Judge) -> list[float]:
    """The share of the points that each move loses against the best one of its position."""
    return [
        max(0.0, moment.best - judge.points(moment.board, move)) for moment, move in zip(moments, moves, strict=True)
    ]


def choices(moments: Sequence[Moment], chooser: Chooser, elo: int) -> list[chess.Move]:
    """What a level plays in these positions."""
    chosen = []
    for number, moment in enumerate(moments):
        position = Position(moment.board.fen())
        move = chooser.choose(position, position.legal_moves, (Strength(elo), None), Random(f"{elo} {number}")).move
        chosen.append(chess.Move.from_uci(position.uci(move)))
    return chosen


def row(name: str, lost: Sequence[float]) -> str:
    """A row of the table, with the 95% interval of the mean."""
    shares = [statistics.fmean(loss >= limit for loss in lost) for limit in LIMITS]
    cells = " | ".join(f"{share:.1%}" for share in shares)
    return f"| {name} | {len(lost)} | {statistics.fmean(lost):.1%} +- {100 * error_of_mean(lost):.1f} | {cells} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.beside_people", description="Judge moves of levels.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.pgn", help="games of people")
    parser.add_argument("--ratings", nargs=2, type=int, default=(1900, 2299), metavar="ELO", help="from and to")
    parser.add_argument("--positions", type=int, default=200, help="at most (200)")
    add_levels(parser)
    parser.add_argument("--stockfish", default=STOCKFISH)
    args = parser.parse_args(arguments)
    judge = StockfishJudge(args.stockfish)
    try:
        moments = list(islice(moments_in(args.files, args.ratings, judge), args.positions))
        if len(moments) < 2:
            parser.error("fewer than two undecided positions in which a player of such a rating moves")
        print(
            "| Who | Positions | Lost a move | A tenth or more | A fifth or more |\n| --- | ---: | ---: | ---: | ---: |"
        )
        people = losses(moments, [moment.played for moment in moments], judge)
        print(row(f"people, {args.ratings[0]} to {args.ratings[1]}", people), flush=True)
        chooser, elos = levels_of(args)
        for elo in elos:
            print(row(f"level {elo}", losses(moments, choices(moments, chooser, elo), judge)), flush=True)
    finally:
        judge.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
