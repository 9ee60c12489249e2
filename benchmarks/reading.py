"""Reading PGN: games a second of Merino's reader and of python-chess, on one text of random games."""

import io
import random
import textwrap

import chess.pgn

from benchmarks.clock import line
from merino.core.board.game import Position
from merino.core.common.timing import cpu_seconds, medians_in_turns
from merino.engine.notation.san import san
from merino.formats.pgn_games import read_games

GAMES = 300
PLIES = 86  # as long as the games of masters are on average
REPEATS = 20
ROUNDS = 7


def report() -> None:
    """Print games a second for both, and their ratio."""
    text = random_pgn(GAMES)
    data = text.encode()
    print(f"reading {GAMES} random games of up to {PLIES} plies; CPU time, medians of {ROUNDS} rounds in turns")
    moves = len(read_games(data).moves)  # compiled before the clock runs
    seconds, theirs = medians_in_turns(
        [
            lambda: cpu_seconds(lambda: [read_games(data, threads=1) for _ in range(REPEATS)]) / REPEATS,
            lambda: cpu_seconds(lambda: _read_with_python_chess(text)),
        ],
        ROUNDS,
    )
    line("Merino", GAMES / seconds, "games/s", f"{moves / seconds / 1e6:.2f} million moves/s, one core")
    line("python-chess", GAMES / theirs, "games/s")
    line("times as fast", theirs / seconds, "")


def random_pgn(count: int, seed: int = 2015) -> str:
    """PGN of `count` games of random moves, with tags, numbers and lines of 80 characters; the same each time."""
    draw, games = random.Random(seed), []
    for number in range(1, count + 1):
        game, words = Position(), []
        while len(game.moves) < PLIES and game.outcome() is None:
            move = draw.choice(game.legal_moves)
            words += [f"{game.fullmove_number}."] * (len(game.moves) % 2 == 0) + [san(game, move)]
            game.push(move)
        outcome = game.outcome()
        result = outcome.result if outcome else "1/2-1/2"
        tags = f'[Event "Random"]\n[Round "{number}"]\n[White "Merino"]\n[Black "Merino"]\n[Result "{result}"]\n'
        games.append(f"{tags}\n{textwrap.fill(' '.join([*words, result]), 80, break_on_hyphens=False)}\n")
    return "\n".join(games)


def _read_with_python_chess(text: str) -> int:
    """How many plies it reads."""
    file, plies = io.StringIO(text), 0
    while (game := chess.pgn.read_game(file)) is not None:
        plies += game.end().ply()
    return plies
