"""Console commands that play: moves, taking back, and how long the engine thinks."""

from __future__ import annotations

import textwrap

from engine.bitboard import SQUARE_NAMES
from engine.command import CommandError, UsageError
from engine.console.arguments import minutes, no_argument, number, whole_number
from engine.console.chess960 import start_position
from engine.console.pace import ClockPace, by_depth, by_nodes, by_time
from engine.console.registry import Section, command
from engine.console.session import Session, side_name
from engine.san import san, san_moves, san_paragraph
from engine.search.limits import MAX_PLY

MOST_MOVES = 10_000
TEXT_WIDTH = 78


@command("new", Section.PLAY, "[960 [NUMBER]]")
def new_game(session: Session, arguments: str) -> None:
    """Begin a new game; you open with White.

    `go` lets the engine open instead. `new 960` draws a Chess960 position, `new 960 518` takes the one of that
    number (0 to 959).
    """
    words = arguments.split()
    session.is_forced = False
    if not words:
        session.new_game()
        return
    if words[0] != "960" or len(words) > 2:
        raise UsageError("only 960 and its number can follow")
    place, fen = start_position(whole_number(words[1], "the position's number", 0, 959) if len(words) > 1 else None)
    session.new_game(fen, chess960=True)
    session.say(f"Chess960 position {place}: castle with O-O and O-O-O.")


@command("go", Section.PLAY)
def go(session: Session, arguments: str) -> None:
    """Let the engine move for the side to move.

    From then on it answers the moves of the other side; it ends `force`.
    """
    no_argument(arguments)
    session.is_forced = False
    session.engine_move()


@command("undo", Section.PLAY, "[N]", aliases=("u",))
def undo(session: Session, arguments: str) -> None:
    """Take back the last move, or the last N."""
    session.undo(whole_number(arguments, "the number of moves", 1, MOST_MOVES, default=1))


@command("takeback", Section.PLAY, aliases=("remove",))
def take_back(session: Session, arguments: str) -> None:
    """Take back your last move and the engine's answer."""
    no_argument(arguments)
    session.undo(2)


@command("redo", Section.PLAY, "[N]")
def redo(session: Session, arguments: str) -> None:
    """Play again what was taken back, or N moves of it."""
    session.redo(whole_number(arguments, "the number of moves", 1, MOST_MOVES, default=1))


@command("force", Section.PLAY, aliases=("manual",))
def force(session: Session, arguments: str) -> None:
    """Enter the moves of both sides yourself, until `go`."""
    no_argument(arguments)
    session.is_forced = True
    session.say("You move for both sides. Type go to let the engine play on.")


@command("auto", Section.PLAY, "[N]", aliases=("both",))
def auto(session: Session, arguments: str) -> None:
    """Let the engine play both sides, to the end.

    With a number it plays so many moves. Ctrl-C lets it make the move it is thinking about and stops.
    """
    count = whole_number(arguments, "the number of moves", 1, MOST_MOVES, default=MOST_MOVES)
    session.require_running()
    for _ in range(count):
        if session.position.outcome() or not session.engine_move():
            return


@command("hint", Section.PLAY)
def hint(session: Session, arguments: str) -> None:
    """Say what the engine would play in your place."""
    no_argument(arguments)
    session.require_running()
    result, _ = session.think(session.pace.limits(session.position.turn))
    if result.best is None:
        raise CommandError("the engine found no move in so short a search")
    session.say(f"hint: {session.terminal.bold(san(session.position, result.best))}")


@command("stop", Section.PLAY, aliases=("?",))
def stop(session: Session, arguments: str) -> None:
    """Move now: press Ctrl-C for that while it thinks."""
    no_argument(arguments)
    session.say("The engine is not thinking. While it does, Ctrl-C makes it move at once.")


@command("moves", Section.PLAY, "[SQUARE]")
def moves(session: Session, arguments: str) -> None:
    """List the legal moves, or those from a square."""
    legal = session.position.legal_moves
    where = ""
    if arguments:
        if arguments.lower() not in SQUARE_NAMES:
            raise UsageError(f"'{arguments[:40]}' is no square")
        square = SQUARE_NAMES.index(arguments.lower())
        legal = [move for move in legal if move.from_square == square]
        where = f" from {SQUARE_NAMES[square]}"
    if not legal:
        session.say(f"There is no legal move{where}.")
        return
    names = sorted(san_moves(session.position, legal))
    plural = "s" if len(names) > 1 else ""
    session.say(textwrap.fill(f"{len(names)} move{plural}{where}: {' '.join(names)}", TEXT_WIDTH))


@command("history", Section.PLAY)
def history(session: Session, arguments: str) -> None:
    """Show the moves played so far."""
    no_argument(arguments)
    position = session.position
    if not position.moves:
        session.say(f"No move has been played; {side_name(position.turn)} is to move.")
        return
    session.say(san_paragraph(position))
    session.report_if_over()


@command("st", Section.LIMITS, "SECONDS")
def set_time(session: Session, arguments: str) -> None:
    """Think so many seconds on each move."""
    session.pace = by_time(number(arguments, "the time in seconds", 0.01, 86400))
    session.say(f"The engine's limit: {session.pace}.")


@command("sd", Section.LIMITS, "DEPTH")
def set_depth(session: Session, arguments: str) -> None:
    """Search so many half-moves deep."""
    session.pace = by_depth(whole_number(arguments, "the depth", 1, MAX_PLY - 1))
    session.say(f"The engine's limit: {session.pace}.")


@command("sn", Section.LIMITS, "NODES")
def set_nodes(session: Session, arguments: str) -> None:
    """Search so many nodes on each move."""
    session.pace = by_nodes(whole_number(arguments, "the number of nodes", 1, 10**15))
    session.say(f"The engine's limit: {session.pace}.")


@command("level", Section.LIMITS, "[MOVES MINUTES SEC]")
def level(session: Session, arguments: str) -> None:
    """Give the engine a clock; alone, show the limit.

    `level 40 5 0` is 40 moves in 5 minutes, `level 0 3:30 2` is three and a half minutes for the game and 2 seconds
    a move. The clock runs while the engine thinks; you have all the time you want.
    """
    words = arguments.split()
    if words and len(words) != 3:
        raise UsageError("three numbers are expected")
    if words:
        count = whole_number(words[0], "the number of moves", 0, MOST_MOVES)
        base, increment = minutes(words[1]), number(words[2], "the increment in seconds", 0, 3600)
        if base == increment == 0:
            raise UsageError("base time and increment cannot both be zero")
        session.pace = ClockPace(count, round(60000 * base), round(1000 * increment))
    session.say(f"The engine's limit: {session.pace}.")
