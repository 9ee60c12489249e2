"""`python -m tools.castling_study FILE.pgn ...`: what people and levels of strength do in the opening, as a table.

Of each side in the games that last for 20 moves: whether it has castled by then, how many other moves its king has
made, and how many of its knights and bishops have left their first squares by move 12. Levels play against
themselves, from the first position with the openings that they know.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import chess
import chess.pgn

from merino.core.board.game import Position
from merino.engine.notation.san import as_chess_move
from merino.engine.search.chooser import Chooser
from merino.engine.search.strength import Strength
from tools.levels import add_levels, error_of_mean, levels_of

FIRST = chess.Board()
MOVES = 20  # of each side
DEVELOPED_BY = 12
RANGES = {"under 2300": (1, 2299), "2300 to 2599": (2300, 2599), "2600 and more": (2600, 4000)}  # ratings of people


class Opening(NamedTuple):
    """What one side has done in its first moves."""

    castled: bool
    king_moves: int  # without castling
    developed: int  # knights and bishops that have left their first squares, 0 to 4


def openings_in(moves: Sequence[chess.Move]) -> tuple[Opening, Opening]:
    """What White and Black have done in a game from the first position, by its first 2 * MOVES plies."""
    board, castled, king_moves, developed = chess.Board(), [False, False], [0, 0], [0, 0]
    for ply, move in enumerate(moves[: 2 * MOVES]):
        side = ply % 2
        if board.is_castling(move):
            castled[side] = True
        elif board.piece_type_at(move.from_square) == chess.KING:
            king_moves[side] += 1
        board.push(move)
        if ply // 2 == DEVELOPED_BY - 1:
            colour = (chess.WHITE, chess.BLACK)[side]
            first = (FIRST.knights | FIRST.bishops) & FIRST.occupied_co[colour]
            at_home = first & board.occupied_co[colour] & (board.knights | board.bishops)
            developed[side] = 4 - at_home.bit_count()
    white, black = (Opening(*found) for found in zip(castled, king_moves, developed, strict=True))
    return white, black


def games_in(path: Path, most: int) -> Iterator[tuple[tuple[int, int], list[chess.Move]]]:
    """The ratings of both sides, 0 if they are not told, and the moves of the first games of a file."""
    with path.open(encoding="utf-8", errors="replace") as text:
        for game in islice(iter(lambda: chess.pgn.read_game(text), None), most):
            if "FEN" not in game.headers and not game.errors:
                told = (game.headers.get(f"{colour}Elo", "") for colour in ("White", "Black"))
                white, black = (int(rating) if rating.isdecimal() else 0 for rating in told)
                yield (white, black), list(game.mainline_moves())


def of_people(paths: Sequence[Path], most: int) -> dict[str, list[Opening]]:
    """The openings of people, by their ratings."""
    found: dict[str, list[Opening]] = {name: [] for name in RANGES}
    for path in paths:
        for ratings, moves in games_in(path, most):
            if len(moves) < 2 * MOVES:
                continue
            for rating, opening in zip(ratings, openings_in(moves), strict=True):
                for name, (low, high) in RANGES.items():
                    if low <= rating <= high:
                        found[name].append(opening)
    return found


def of_level(chooser: Chooser, strength: Strength, games: int) -> list[Opening]:
    """The openings of a level that plays itself."""
    found: list[Opening] = []
    for number in range(games):
        random, position = Random(f"{strength.elo} {number}"), Position()
        while len(position.moves) < 2 * MOVES and position.outcome() is None:
            position.push(chooser.choose(position, position.legal_moves, (strength, None), random).move)
        if len(position.moves) == 2 * MOVES:
            found += openings_in([as_chess_move(move, position.chess960) for move in position.moves])
    return found


def row(name: str, found: Sequence[Opening]) -> str:
    """A row of the table, with 95% intervals that take both sides of a game as two."""
    if len(found) < 2:
        return f"| {name} | {len(found)} | | | |"
    columns = [[float(value) for value in column] for column in zip(*found, strict=True)]
    castled, king, developed = (statistics.fmean(column) for column in columns)
    errors = [error_of_mean(column) for column in columns]
    return (
        f"| {name} | {len(found)} | {castled:.0%} +- {100 * errors[0]:.0f} | {king:.2f} +- {errors[1]:.2f} "
        f"| {developed:.1f} +- {errors[2]:.1f} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.castling_study", description="Judge openings of levels.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.pgn", help="games of people")
    parser.add_argument("--most", type=int, default=2000, help="games of each file (2000)")
    add_levels(parser)
    parser.add_argument("--games", type=int, default=100, help="of each level (100)")
    args = parser.parse_args(arguments)
    print("| Who | Sides | Castled by move 20 | Other king's moves by then | Knights and bishops out by move 12 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, found in of_people(args.files, args.most).items():
        if found:
            print(row(f"people, {name}", found), flush=True)
    chooser, elos = levels_of(args)
    for elo in elos:
        print(row(f"level {elo}", of_level(chooser, Strength(elo), args.games)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
