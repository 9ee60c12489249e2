"""Console commands that limit the engine's thinking."""

from __future__ import annotations

from merino.inner.app.console.arguments import no_argument, whole_number
from merino.inner.app.console.opponent import Opponent
from merino.inner.app.console.pace import pace_of
from merino.inner.app.console.registry import Section, command
from merino.inner.app.console.session import Session
from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.engine.search.strength import FULL_LEVEL, at_level


@command("st", Section.LIMITS, "SECONDS")
def set_time(session: Session, arguments: str) -> None:
    """Think SECONDS on each move."""
    _set_pace(session, f"st {arguments}")


@command("sd", Section.LIMITS, "DEPTH")
def set_depth(session: Session, arguments: str) -> None:
    """Search each move to DEPTH plies."""
    _set_pace(session, f"sd {arguments}")


@command("sn", Section.LIMITS, "NODES")
def set_nodes(session: Session, arguments: str) -> None:
    """Search NODES nodes on each move."""
    _set_pace(session, f"sn {arguments}")


@command("level", Section.LIMITS, "MOVES MINUTES SEC")
def level(session: Session, arguments: str) -> None:
    """Give the engine a clock, as in a tournament.

    `level 40 5 0` is 40 moves in 5 minutes; `level 0 3:30 2` is three and a half minutes per game plus 2 seconds per
    move. The clock runs while the engine thinks; your own time is not limited.
    """
    _set_pace(session, f"level {arguments}")


@command("skill", Section.LIMITS, "[LEVEL]")
def skill(session: Session, arguments: str) -> None:
    """Set the level: 0 is the weakest, 20 full strength.

    Without a level it shows the present one. `option StyleFile FILE` lets the engine play like somebody whose profile
    `merino profile --json` has written.
    """
    searcher = session.runtime.searcher
    if arguments:
        searcher.strength = at_level(whole_number(arguments, "the level", 0, FULL_LEVEL))
    session.say(str(Opponent.of(searcher)))


@command("time", Section.LIMITS)
def show_time(session: Session, arguments: str) -> None:
    """Show the limit and how long the engine has thought."""
    no_argument(arguments)
    session.say(f"The engine's limit: {session.pace}.")
    white, black = (session.thought_ms[colour] / 1000 for colour in (WHITE, BLACK))
    session.say(f"In this game it has thought {white:.1f} s for White and {black:.1f} s for Black.")


def _set_pace(session: Session, command: str) -> None:
    session.pace = pace_of(command)
    session.say(f"The engine's limit: {session.pace}.")
