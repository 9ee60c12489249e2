"""`merino match A B`: two players, many games, and what they prove."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from engine.command import CommandError, UsageError
from match.board import Adjudication, Effort, OwnBoard
from match.games import Tally
from match.openings import PLIES, OpeningError, RandomOpenings
from match.players import OwnPlayer, read_player
from match.runner import Setup, play_match
from match.statistics import estimate

GAMES = 1000
NODES = 1000
LINE_EVERY = 5.0  # seconds


class Parser(argparse.ArgumentParser):
    """Reads a command line; what is wrong with it is a UsageError."""

    def error(self, message: str) -> NoReturn:
        """Raise it, with the usage."""
        raise UsageError(f"{self.prog.partition(' ')[2]}: {message}; 'merino {self.prog.partition(' ')[2]} -h' helps")


def run_match(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 when the match has been played; raises CommandError."""
    wish = _parser().parse_args(arguments)
    players = read_player(wish.a), read_player(wish.b)
    nodes = NODES if wish.nodes is None and wish.depth is None else wish.nodes
    setup = Setup(
        board=partial(OwnBoard, players, Effort(nodes, wish.depth), Adjudication()),
        openings=partial(RandomOpenings, wish.seed, wish.plies),
    )
    tally, began, last = Tally(), time.monotonic(), time.monotonic()
    games = play_match(setup, wish.games, wish.concurrency)
    try:
        for game in games:
            tally.add(game)
            if time.monotonic() - last >= LINE_EVERY and game.number % 2:
                last = time.monotonic()
                print(_line(tally, wish.games, last - began), flush=True)
    except KeyboardInterrupt:
        print("Interrupted.")
    except OpeningError as error:
        raise CommandError(f"match: {error}") from error
    finally:
        games.close()
    print(_summary(players, tally, time.monotonic() - began))
    return 0


def _parser() -> Parser:
    parser = Parser(prog="merino match", description="Let two players play and tell which is the stronger.")
    player = "'default', a weights file, search parameters (name=value,name=value), or weights.txt,name=value"
    parser.add_argument("a", metavar="A", help=player)
    parser.add_argument("b", metavar="B", help="the same")
    parser.add_argument("--games", type=_positive, default=GAMES, help=f"how many to play ({GAMES})")
    parser.add_argument("--nodes", type=_positive, help=f"a move ({NODES})")
    parser.add_argument("--depth", type=_positive, help="a move, in half-moves")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    parser.add_argument("--plies", type=_positive, default=PLIES, help=f"random half-moves of an opening ({PLIES})")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--concurrency", type=_positive, default=cores, help="games at a time (one a core)")
    return parser


def _positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"it takes a whole number above 0, not {text!r}")
    return number


def _line(tally: Tally, games: int, seconds: float) -> str:
    losses, draws, wins = tally.points
    found = estimate(tally.counts)
    speed = tally.games / seconds
    return (
        f"{tally.games}/{games}  +{wins} ={draws} -{losses}  {list(map(int, tally.pairs))}  "
        f"Elo {found.elo:+.1f} +- {found.elo_error:.1f}  LOS {found.los:.1%}  {speed:.1f} games/s"
    )


def _summary(players: tuple[OwnPlayer, OwnPlayer], tally: Tally, seconds: float) -> str:
    return f"{players[0].label} - {players[1].label}\n{_line(tally, tally.games, seconds)}"
