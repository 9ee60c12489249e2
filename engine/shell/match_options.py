"""The options that the commands of matches share, read once, and what they print alike."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.common.command import CommandError, UsageError
from engine.common.files import check_writable
from engine.common.work import cores
from engine.console.command_line import Parser
from match.contest import BrokenOffError, Outlets, Result, hold
from match.effort import Adjudication, Clock, Effort
from match.errors import MatchError, PlayerError
from match.games import Tally
from match.openings import PLIES
from match.play import LONGEST_GAME
from match.players import Player
from match.report import live_line
from match.statistics import Model, Sprt
from match.terms import Terms

GAMES = 1000
NODES = 1000
MARGIN_MS = 20


def positive(text: str) -> int:
    """A whole number above 0."""
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"it takes a whole number above 0, not {text!r}")
    return number


def natural(text: str) -> int:
    """A whole number, 0 or more."""
    return 0 if text == "0" else positive(text)


def clock(text: str) -> Clock:
    """`10+0.1`: seconds for the game, and for each move."""
    base, _, increment = text.partition("+")
    try:
        found = Clock(round(1000 * float(base)), round(1000 * float(increment or "0")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a clock is written 10+0.1, not {text!r}") from error
    if found.base < 1 or found.increment < 0:
        raise argparse.ArgumentTypeError(f"a clock is written 10+0.1, not {text!r}")
    return found


def add_terms(parser: Parser, games: int = GAMES) -> None:
    """How games are played."""
    parser.add_argument("--games", type=positive, default=games, help=f"how many to play ({games})")
    how = parser.add_argument_group("what a move may cost")
    how.add_argument("--nodes", type=positive, help=f"nodes ({NODES}, if nothing else is said)")
    how.add_argument("--depth", type=positive, help="half-moves")
    how.add_argument("--movetime", type=positive, metavar="MS", help="milliseconds")
    how.add_argument("--tc", type=clock, metavar="S+S", help="a clock: seconds for the game + for each move")
    how.add_argument(
        "--margin", type=natural, default=MARGIN_MS, metavar="MS", help=f"how late a move may be ({MARGIN_MS})"
    )
    how.add_argument("--hash", type=positive, metavar="MB", help="for every player that names none (what suits)")
    start = parser.add_argument_group("openings; each is played with both colours")
    start.add_argument("--openings", metavar="FILE", help="EPD, FEN, PGN or Polyglot (.bin); else random and even")
    start.add_argument("--plies", type=positive, help=f"half-moves of an opening ({PLIES} if random)")
    start.add_argument("--seed", type=natural, default=1, help="of openings and of their order (1)")
    end = parser.add_argument_group("ends before the rules end a game; both sides must agree")
    end.add_argument("--resign", type=positive, nargs=2, metavar=("CP", "MOVES"), help="won at this score, so long")
    end.add_argument(
        "--draw", type=natural, nargs=3, metavar=("CP", "MOVES", "FROM"), help="drawn within this score, from move FROM"
    )
    end.add_argument("--longest", type=positive, default=LONGEST_GAME, help="half-moves, then it is a draw")
    add_concurrency(parser, positive, "games at a time (one a core, but one at a clock)")
    parser.add_argument("--pgn", type=Path, metavar="FILE", help="add every game to this file")


def add_concurrency(
    parser: argparse.ArgumentParser, kind: Callable[[str], int], sentence: str, default: int | None = None
) -> None:
    """How much is done at a time; `--threads`, which elsewhere are those of one search, is understood too."""
    parser.add_argument("--concurrency", metavar="N", type=kind, default=default, help=sentence)
    parser.add_argument("--threads", dest="concurrency", type=kind, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def add_test(parser: Parser) -> None:
    """The sequential test."""
    test = parser.add_argument_group("sequential test: stops as soon as one of two strengths is proved")
    test.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help="the two strengths, A less B")
    test.add_argument("--alpha", type=float, default=0.05, help="chance to accept ELO1 wrongly (0.05)")
    test.add_argument("--beta", type=float, default=0.05, help="chance to accept ELO0 wrongly (0.05)")
    test.add_argument("--model", choices=list(map(str, Model)), default=str(Model.NORMALIZED), help="the kind of Elo")


def read_terms(wish: argparse.Namespace, players: tuple[Player, Player]) -> Terms:
    """The terms of a match; raises UsageError."""
    if wish.longest > LONGEST_GAME:
        raise UsageError(f"--longest is at most {LONGEST_GAME}")
    win, draw = wish.resign or (0, 0), wish.draw or (0, 0, 0)
    return Terms(
        players,
        effort(wish.nodes, wish.depth, wish.movetime, wish.tc, wish.hash),
        wish.games,
        wish.seed,
        wish.openings,
        wish.plies,
        Adjudication(win[0], win[1], draw[0], draw[1], draw[2], wish.longest),
        margin=wish.margin,
    )


def effort(
    nodes: int | None,
    depth: int | None,
    movetime: int | None = None,
    tc: Clock | None = None,
    hash_mb: int | None = None,
) -> Effort:
    """What a move may cost: NODES if nothing else limits it."""
    limited = any(value is not None for value in (nodes, depth, movetime, tc))
    return Effort(nodes if limited else NODES, depth, movetime, tc, hash_mb)


def read_test(wish: argparse.Namespace) -> Sprt | None:
    """The test, if one is wished; raises UsageError."""
    if wish.sprt is None:
        return None
    elo0, elo1 = wish.sprt
    if not elo0 < elo1:
        raise UsageError(f"--sprt takes the lower Elo first, not {elo0:g} {elo1:g}")
    if not (0 < wish.alpha < 0.5 and 0 < wish.beta < 0.5):
        raise UsageError("--alpha and --beta are between 0 and 0.5")
    return Sprt(elo0, elo1, wish.alpha, wish.beta, Model(wish.model))


def concurrency(wish: argparse.Namespace, terms: Terms) -> int:
    """Games at a time."""
    if wish.concurrency is not None:
        return int(wish.concurrency)
    if terms.effort.is_timed:
        return 1  # a clock is fair only where each game has its core
    return cores()


def outlets(
    wish: argparse.Namespace,
    event: str,
    state: Path | None,
    show: Callable[[str], object],
    line: Callable[[Tally, int, float | None, Sprt | None], str] = live_line,
) -> Outlets:
    """Where the games go; raises MatchError where they cannot be written, before any is played."""
    if wish.pgn is not None and state is not None and wish.pgn.resolve() == state.resolve():
        raise MatchError(f"--pgn and --state are both '{state}'; take two files")
    for path, whole in ((wish.pgn, False), (state, True)):
        try:
            if path is not None:
                check_writable(path, whole)
        except OSError as error:
            raise MatchError(f"cannot write '{path}': {error.strerror}") from error
    return Outlets(show, wish.pgn, state, event, line, say)


def held(
    terms: Terms, wish: argparse.Namespace, goes_to: Outlets, sprt: Sprt | None = None
) -> tuple[Result, MatchError | None]:
    """The match as far as it was played, and what broke it off: to be raised when all that there is has been shown."""
    try:
        return hold(terms, concurrency(wish, terms), sprt, goes_to), None
    except BrokenOffError as error:
        return error.result, error
    except MatchError as error:
        return Result(Tally()), error


@contextmanager
def speaking_as(command: str) -> Iterator[None]:
    """Put the name of the command before what a match complains of; a player that can be none is a wrong usage."""
    try:
        yield
    except PlayerError as error:
        raise UsageError(str(error)) from error
    except MatchError as error:
        raise CommandError(f"{command}: {error}") from error


def interrupted(state: Path | None) -> str:
    """What to say after Ctrl-C."""
    return f"Interrupted; the same command goes on from '{state}'." if state else "Interrupted."


def say(sentence: str) -> None:
    """Tell what is no result."""
    print(sentence, file=sys.stderr, flush=True)


def names(players: Sequence[Player]) -> list[str]:
    """Their names."""
    return [player.label for player in players]
