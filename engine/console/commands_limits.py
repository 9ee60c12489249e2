"""Console commands that limit the engine's thinking."""

from __future__ import annotations

from engine.board.bitboard import BLACK, WHITE
from engine.common.command import UsageError
from engine.console.arguments import minutes, no_argument, number, whole_number
from engine.console.pace import ClockPace, Pace, by_depth, by_nodes, by_time
from engine.console.registry import Section, command
from engine.console.session import Session
from engine.search.limits import MAX_PLY
from engine.search.strength import FULL_LEVEL, at_level

MOST_MOVES = 10_000


@command("st", Section.LIMITS, "SECONDS")
def set_time(session: Session, arguments: str) -> None:
    """Think SECONDS on each move."""
    _set_pace(session, by_time(number(arguments, "the time in seconds", 0.01, 86400)))


@command("sd", Section.LIMITS, "DEPTH")
def set_depth(session: Session, arguments: str) -> None:
    """Search each move to DEPTH plies."""
    _set_pace(session, by_depth(whole_number(arguments, "the depth", 1, MAX_PLY - 1)))


@command("sn", Section.LIMITS, "NODES")
def set_nodes(session: Session, arguments: str) -> None:
    """Search NODES nodes on each move."""
    _set_pace(session, by_nodes(whole_number(arguments, "the number of nodes", 1, 10**15)))


@command("level", Section.LIMITS, "MOVES MINUTES SEC")
def level(session: Session, arguments: str) -> None:
    """Give the engine a clock, as in a tournament.

    `level 40 5 0` is 40 moves in 5 minutes; `level 0 3:30 2` is three and a half minutes per game plus 2 seconds per
    move. The clock runs while the engine thinks; your own time is not limited.
    """
    words = arguments.split()
    if len(words) != 3:
        raise UsageError("expected three numbers")
    count = whole_number(words[0], "the number of moves", 0, MOST_MOVES)
    base, increment = minutes(words[1]), number(words[2], "the increment in seconds", 0, 3600)
    if base == increment == 0:
        raise UsageError("base time and increment cannot both be zero")
    _set_pace(session, ClockPace(count, round(60000 * base), round(1000 * increment)))


@command("skill", Section.LIMITS, "LEVEL")
def skill(session: Session, arguments: str) -> None:
    """Set the level: 0 is the weakest, 20 full strength."""
    level = whole_number(arguments, "the level", 0, FULL_LEVEL)
    strength = at_level(level)
    session.runtime.searcher.strength = strength
    session.say("Full strength." if strength is None else f"Level {level}, about {strength.elo} Elo.")


@command("time", Section.LIMITS)
def show_time(session: Session, arguments: str) -> None:
    """Show the limit and how long the engine has thought."""
    no_argument(arguments)
    session.say(f"The engine's limit: {session.pace}.")
    white, black = (session.thought_ms[colour] / 1000 for colour in (WHITE, BLACK))
    session.say(f"In this game it has thought {white:.1f} s for White and {black:.1f} s for Black.")


def _set_pace(session: Session, pace: Pace) -> None:
    session.pace = pace
    session.say(f"The engine's limit: {pace}.")
