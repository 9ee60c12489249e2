"""Console commands that play: sides, moves, undo, draw and resignation, and the limits of the engine's thinking."""

from __future__ import annotations

import random
import textwrap

import chess

from merino.app.console.arguments import no_argument, square, whole_number
from merino.app.console.opponent import Opponent
from merino.app.console.pace import pace_of
from merino.app.console.registry import Section, command
from merino.app.console.scoresheet import DRAW_AGREED, resignation, side_name
from merino.app.console.session import Session
from merino.app.console.unfinished import MAX_GAMES
from merino.core.board.bitboard import BLACK, SQUARE_NAMES, WHITE
from merino.core.common.command import CommandError, UsageError
from merino.core.common.text import counted
from merino.engine.notation.san import san, san_moves, san_paragraph
from merino.engine.search.strength import FULL_LEVEL, at_level

MAX_MOVES = 10_000


@command("new", Section.PLAY, "[960 [NUMBER]]", ends_game=True)
def new_game(session: Session, arguments: str) -> None:
    """Start a new game; you play White.

    Type `black` to let the engine begin instead. The first move replaces the unfinished game that is kept. `new 960`
    starts from a random Chess960 position, `new 960 518` from the position of that number (0 to 959).
    """
    words, remark = arguments.split(), Opponent.of(session.runtime.searcher).remark
    if not words:
        session.new_game()
        if remark:
            session.say(remark.strip())
        return
    if words[0] not in ("960", "chess960") or len(words) > 2:
        raise UsageError("expected nothing, or 960 and the number of the position")
    start = whole_number(words[1], "the position's number", 0, 959) if len(words) > 1 else random.randrange(960)
    session.new_game(chess.Board.from_chess960_pos(start).fen(), chess960=True)
    session.say(f"Chess960 position {start}: castle with O-O and O-O-O.{remark}")


@command("go", Section.PLAY)
def go(session: Session, arguments: str) -> None:
    """Let the engine move for the side to move.

    From then on it answers the moves of the other side. This ends `force`.
    """
    no_argument(arguments)
    session.is_forced = False
    session.engine_move()


@command("undo", Section.PLAY, "[N]", aliases=("u",))
def undo(session: Session, arguments: str) -> None:
    """Take back the last ply, or the last N.

    At the start of a game, as right after `new`, `setboard` or `edit`, `undo` without a number returns to the earlier
    game; `resume` does at any time.
    """
    if not arguments and session.can_return:
        session.return_to_game()
    else:
        session.undo(whole_number(arguments, "the number of moves", 1, MAX_MOVES, default=1))


@command("takeback", Section.PLAY, aliases=("remove",))
def take_back(session: Session, arguments: str) -> None:
    """Take back your last move and the engine's answer, if there is one."""
    no_argument(arguments)
    position, is_forced = session.position, session.is_forced
    is_answered = is_forced or session.sheet.is_engine(1 - position.turn)
    if is_answered and not is_forced and len(position.moves) == 1:
        raise CommandError("you have not moved yet: undo takes back the engine's move")
    session.undo(2 if is_answered else 1)


@command("redo", Section.PLAY, "[N]")
def redo(session: Session, arguments: str) -> None:
    """Replay the plies that were taken back, or N of them."""
    if not arguments and session.can_go_forward:
        session.go_forward()
    else:
        session.redo(whole_number(arguments, "the number of moves", 1, MAX_MOVES, default=1))


@command("resume", Section.PLAY, "[N]", ends_game=True)
def resume(session: Session, arguments: str) -> None:
    """Go on with the game you left, or with an unfinished one of an earlier session.

    A game you play is kept until it is over, even if the window is closed, and offered at the next start. The present
    game is kept, too, and `resume` returns to it. With a number it takes another of the games that were offered.
    """
    session.go_on(whole_number(arguments, "the number of the game", 1, MAX_GAMES) if arguments else None)


@command("white", Section.PLAY)
def white(session: Session, arguments: str) -> None:
    """Play White; the engine plays Black."""
    no_argument(arguments)
    _take_side(session, WHITE)


@command("black", Section.PLAY)
def black(session: Session, arguments: str) -> None:
    """Play Black; the engine plays White."""
    no_argument(arguments)
    _take_side(session, BLACK)


@command("switch", Section.PLAY)
def switch(session: Session, arguments: str) -> None:
    """Swap sides with the engine."""
    no_argument(arguments)
    session.require_running()
    _take_side(session, 1 - session.position.turn)


def _take_side(session: Session, colour: int) -> None:
    """Let the person play a side, with the board seen from there; the engine moves if it is its turn."""
    session.is_forced = False
    session.is_flipped = colour == BLACK
    session.say(f"You play {side_name(colour)}.")
    if session.position.turn != colour and session.ending is None:
        session.engine_move()
    else:
        session.show_if_live()


@command("force", Section.PLAY, aliases=("manual",))
def force(session: Session, arguments: str) -> None:
    """Enter the moves of both sides yourself until `go`."""
    no_argument(arguments)
    session.is_forced = True
    session.say("You move for both sides. Type go to let the engine play on.")


@command("auto", Section.PLAY, "[N]", aliases=("both",))
def auto(session: Session, arguments: str) -> None:
    """Let the engine play both sides to the end of the game, or for N plies.

    Ctrl-C or Enter makes it play the move it is thinking about, and stops.
    """
    count = whole_number(arguments, "the number of moves", 1, MAX_MOVES, default=MAX_MOVES)
    session.require_running()
    for _ in range(count):
        if session.ending or not session.engine_move() or session.typed_ahead:
            return


@command("hint", Section.PLAY)
def hint(session: Session, arguments: str) -> None:
    """Show the move the engine would play for you."""
    no_argument(arguments)
    session.require_running()
    result, _ = session.think(session.pace.limits(session.position.turn))
    best = san(session.position, session.require_best(result))
    session.say(f"hint: {session.terminal.bold(best)}")


@command("stop", Section.PLAY, aliases=("?",))
def stop(session: Session, arguments: str) -> None:
    """Make the engine move at once while it thinks.

    Ctrl-C and Enter do the same.
    """
    no_argument(arguments)
    session.say("The engine is not thinking. While it thinks, Enter or Ctrl-C makes it move at once.")


@command("resign", Section.PLAY, ends_game=True)
def resign(session: Session, arguments: str) -> None:
    """Resign for the side to move."""
    no_argument(arguments)
    session.require_running()
    session.declare(resignation(session.position.turn))


@command("draw", Section.PLAY, ends_game=True)
def draw(session: Session, arguments: str) -> None:
    """Offer a draw; the engine accepts unless it is ahead.

    It searches the position first. Under `force`, where you play both sides, the draw is agreed at once.
    """
    no_argument(arguments)
    session.require_running()
    if not session.is_forced:
        result, _ = session.judge(session.pace.limits(session.position.turn))
        if result.line is None or result.line.score < 0:  # the mover's score: the person's
            session.say("The engine declines, because it thinks it is ahead.")
            return
    session.declare(DRAW_AGREED)


@command("moves", Section.PLAY, "[SQUARE|eval|search] [HOW ...]")
def moves(session: Session, arguments: str) -> None:
    """List the legal moves, or those from a square.

    `moves eval` ranks them by the static evaluation after each move and shows what each changes; `moves search` ranks
    them by a search and shows the principal variations. `moves eval --shapley` shows what pieces gain instead;
    `moves -h` lists all options.
    """
    if arguments.startswith(("eval", "search", "-")):
        from merino.app.console import studying  # noqa: PLC0415 (when it is first needed)

        studying.rank(session, arguments)
        return
    legal = session.position.legal_moves
    where = ""
    if arguments:
        origin = square(arguments)
        legal = [move for move in legal if move.from_square == origin]
        where = f" from {SQUARE_NAMES[origin]}"
    if not legal:
        session.say(f"There is no legal move{where}.")
        return
    names = sorted(san_moves(session.position, legal))
    told = f"{counted(len(names), 'move')}{where}: {' '.join(names)}"
    session.say(textwrap.fill(told, session.text_width))


@command("history", Section.PLAY)
def history(session: Session, arguments: str) -> None:
    """Show the moves of the game."""
    no_argument(arguments)
    position = session.position
    if not position.moves:
        session.say(f"No move has been played; {side_name(position.turn)} is to move.")
        return
    session.say(san_paragraph(position, session.text_width))
    session.report_if_over()


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
    """Set the level: 0 is the weakest, 20 full strength. Without a level it shows the present one."""
    searcher = session.runtime.searcher
    if arguments:
        wanted = whole_number(arguments, "the level", 0, FULL_LEVEL)
        searcher.strength = at_level(wanted)
        session.runtime.is_limited &= wanted < FULL_LEVEL
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
