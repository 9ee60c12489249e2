"""`make fuzz-pgn`: games in drawn layouts, read by Merino as they are meant, and by python-chess.

A game is drawn as tags, moves and a result, and then written with comments, variations, signs and line ends of any
kind. Merino must read exactly what was drawn. python-chess must, too, where no rule of RULES bends the layout; where
one does and python-chess reads something else, the difference is counted under its name.
"""

import argparse
import io
import logging
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache

import chess
import chess.pgn

from merino.core.board.move import Move
from merino.formats import pgn_games

GAMES = 20_000
LINES = 400  # drawn lines of moves, of which games take the first ones
_COMMENTS = ("{}", '{ a ) 1-0 [Event "x"] }', "{[%eval 0.3] ; (}", "{ two\nlines }", "; 1. d4 {\n", "{ \u221e }")
_SIGNS = ("$1", "$139", "!", "??", "+=", "\u00b1", "\u221e", "N", "-+", "$")
_ENDS = ("\n", "\r\n", "\r")
Game = tuple[dict[str, str], list[str], str]  # tags, moves in short notation, result
# Layouts that python-chess reads otherwise, by name: how a text of one game is bent; the text begins with its tags.
RULES: dict[str, Callable[[str], str]] = {
    "a comment and an empty line before the moves": lambda text: text.replace("\n\n", "\n\n{ c }\n\n", 1),
    "two empty lines behind the tags": lambda text: text.replace("\n\n", "\n\n\n", 1),
    "an empty line among the moves": lambda text: text.replace(" 2. ", "\n\n2. ", 1),
    "indented tags": lambda text: text.replace("[White", "  [White", 1),
    "tags on one line": lambda text: text.replace("]\n[", "] [", 1),
    "no empty line behind a game": str.rstrip,
    "text before a game": lambda text: f"The best game, they say\n\n{text}",
    "a result without a blank": lambda text: text[::-1].replace(" ", "", 1)[::-1],
    "a variation that is never closed": lambda text: re.sub(r"\S+\s*$", "(1. a3\n\n", text),
}


@cache
def line(number: int) -> list[str]:
    """Moves in short notation, the same ones for each number."""
    draw, board, moves = random.Random(number), chess.Board(), list[str]()
    while len(moves) < 14 and (legal := list(board.legal_moves)):
        moves.append(board.san(draw.choice(legal)))
        board.push_san(moves[-1])
    return moves


def drawn(draw: random.Random, number: int) -> Game:
    """A game; its moves begin a line of LINES."""
    result = draw.choice(("1-0", "0-1", "1/2-1/2"))
    tags = {"Event": f"{number}", "White": draw.choice(("A", "J\u00f6rg [x]", 'a \\"b\\" \\\\')), "Result": result}
    return tags, line(draw.randrange(LINES))[: draw.randrange(3, 15)], result


def written(draw: random.Random, game: Game) -> str:
    """A game in a layout that every reader knows."""
    tags, moves, result = game
    words = []
    for ply, move in enumerate(moves):
        if ply % 2 == 0 or draw.random() < 0.2:
            words.append(f"{ply // 2 + 1}{'...' if ply % 2 else '.'}")
        words.append(move)
        if draw.random() < 0.3:
            words.append(draw.choice(_SIGNS))
        if draw.random() < 0.2:
            words.append(draw.choice(_COMMENTS))
        if draw.random() < 0.1:
            words.append(f"( {draw.choice(_COMMENTS)} {move} ( {move} $2 ) )")
    text = " ".join([*words, result]).replace("\n ", "\n")
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n{text}\n\n"


def by_merino(data: bytes) -> list[tuple[str, str, str]]:
    """The event, the moves and the result of each game as Merino reads it; a fault for the moves."""
    games, found = pgn_games.read_games(data, threads=1), []
    faults = games.useless()
    for number, row in enumerate(games.table):
        moves = games.moves[row["first"] : row["first"] + row["plies"]]
        text = str(faults[number]) if number in faults else " ".join(Move(move).uci() for move in moves)
        found.append((games.tag(number, "Event"), text, pgn_games.RESULTS[row["result"]]))
    return found


def by_python_chess(text: str) -> list[tuple[str, str, str]]:
    """The same as python-chess reads it."""
    file, found = io.StringIO(text, newline=None), []
    while game := chess.pgn.read_game(file):
        moves = "a fault" if game.errors else " ".join(move.uci() for move in game.mainline_moves())
        found.append((game.headers["Event"], moves, game.headers["Result"]))
    return found


def meant(game: Game) -> tuple[str, str, str]:
    """What a reader should make of a drawn game."""
    board = chess.Board()
    return game[0]["Event"], " ".join(board.push_san(move).uci() for move in game[1]), game[2]


def check(seed: int) -> tuple[int, list[str]]:
    """Draw and read a text: its number of games, and the rules by which python-chess reads it otherwise."""
    draw = random.Random(seed)
    games = [drawn(draw, number) for number in range(draw.randrange(1, 4))]
    texts, rules = [], []
    for game in games:
        texts.append(written(draw, game))
        if draw.random() < 0.3:
            rules.append(draw.choice(list(RULES)))
            texts[-1] = RULES[rules[-1]](texts[-1])
    text = "\n".join(texts).replace("\n", draw.choice(_ENDS))
    expected, ours, theirs = list(map(meant, games)), by_merino(text.encode()), by_python_chess(text)
    assert ours == expected, f"seed {seed}: Merino reads {ours}, not {expected}, in\n{text}"
    assert rules or theirs == expected, f"seed {seed}: python-chess reads {theirs}, not {expected}, in\n{text}"
    return len(games), rules if theirs != expected else []


def main() -> int:
    """Draw and read games, and print which rules explain what python-chess reads otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_pgn", description="Let Merino read games as meant.")
    parser.add_argument("--games", type=int, default=GAMES, help=f"so many games ({GAMES})")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other games (1)")
    arguments = parser.parse_args()
    logging.disable()
    found, seed, count, began = Counter[str](), arguments.seed * 10**9, 0, time.monotonic()
    while count < arguments.games:
        games, rules = check(seed)
        count, seed = count + games, seed + 1
        found.update([" and ".join(sorted(set(rules)))] if rules else [])
    print(f"{count:,} games in {time.monotonic() - began:.0f} s, each read as meant; python-chess reads otherwise:")
    for rule, times in found.most_common():
        print(f"{times:8,}  {rule}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
