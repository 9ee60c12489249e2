"""The table of the UCI commands, and the functions of those that do not need numba. Imports nothing heavy.

A command's function gets the session and the text after the command's name. Those of `engine.uci.board` are called
only once the engine is loaded.
"""

import time

from merino.core.common.about import AUTHOR, NAME, __version__
from merino.core.common.command import Command, by_name
from merino.engine.uci.cold_start import WaitingGo
from merino.engine.uci.go import parse_go
from merino.engine.uci.options import OPTIONS
from merino.engine.uci.session import GLANCE_SECONDS, UciSession

_HERE = "merino.engine.uci.commands"
_BOARD = "merino.engine.uci.board"

PROTOCOL = (
    Command("uci", f"{_HERE}:introduce", "Print name, author and options."),
    Command("isready", f"{_HERE}:isready", "Answer 'readyok' once everything sent so far is done."),
    Command("setoption name NAME [value VALUE]", f"{_HERE}:setoption", "Set an option; 'uci' lists them."),
    Command("ucinewgame", f"{_HERE}:new_game", "Clear the transposition table and histories before another game."),
    Command("position startpos | fen FEN [moves ...]", f"{_BOARD}:set_position", "Set up a position and play moves."),
    Command("go [LIMITS]", f"{_BOARD}:go", "Search until 'stop' or a limit; 'go perft N' counts leaf nodes."),
    Command("stop", f"{_HERE}:stop", "Stop the search and print its best move."),
    Command("ponderhit", f"{_HERE}:ponder_hit", "The opponent played the expected move: search on, under the clock."),
    Command("debug [on | off]", f"{_HERE}:debug", "Print more info strings."),
    Command("register ...", f"{_HERE}:ignore", "Ignored: Merino is free software.", ("copyprotection",)),
    Command("quit", f"{_HERE}:leave", "Exit."),
)
EXTRAS = (
    Command("d", f"{_BOARD}:show", "Show the board, FEN, key and checkers.", ("print", "board")),
    Command("eval", f"{_BOARD}:evaluate", "Show the static evaluation term by term."),
    Command("bench", f"{_BOARD}:bench", "Search fixed positions; print the node count and the speed."),
    Command("perft N", f"{_BOARD}:perft", "Count the leaf nodes N plies ahead, by root move."),
    Command("help [COMMAND]", f"{_HERE}:show_help", "Show this list."),
)

STANDARD = by_name(PROTOCOL)
COMMANDS = by_name((*PROTOCOL, *EXTRAS))


def run(session: UciSession, command: Command, text: str) -> None:
    """Run a command with the text after its name, once the engine is loaded if it needs that.

    Only `position` and `go` do not wait for that here: a clock may be running, and the GUI is heard meanwhile. The
    clock of a `go` runs from here on; where even a first start waits for the compiler, there is none before.
    """
    if command.target.startswith(_HERE):
        command.load()(session, text)
        return
    if session.waits_for_compiler:
        session.wait_until_prepared()
    is_go = command.name == "go"
    if is_go:
        session.go_received = time.perf_counter()
        session.end_search()
    is_loaded = session.is_loaded  # else loading begins now
    if command.name == "position" and not is_loaded:
        session.cold.position(text, session.chess960)
    elif is_go and not session.cold.is_ready() and parse_go(text.split(), lambda move: None).perft is None:
        session.cold.go(text, lambda go: _take_over(session, command, go))
    else:
        if session.cold.is_cold:
            session.cold.stop_waiting()  # a `go` is answered now, or handed over
        session.cold.wait()
        _run_loaded(session, command, text, GLANCE_SECONDS if command.name == "position" else None)


def _run_loaded(session: UciSession, command: Command, text: str, seconds: float | None = None) -> None:
    """Run a command that needs the engine, after the position received while it was loading.

    Options whose files take longer than `seconds`, see `UciSession.ready`, come later, except for commands that no GUI
    sends.
    """
    if command.name not in STANDARD:
        session.wait_until_prepared()
    session.ready(seconds)
    with session.turn:
        waiting = session.cold.take_position()  # which a new one replaces
        _run_after(session, None if command.name == "position" else waiting, command, text)


def _run_after(session: UciSession, position: str | None, command: Command, text: str) -> None:
    """Run a command in a position that the engine has not received yet, or in that which it has."""
    if position is not None:
        COMMANDS["position"].load()(session, position)
    command.load()(session, text)


def _take_over(session: UciSession, command: Command, go: WaitingGo) -> None:
    """Run the `go` that waited for the engine, and a `stop` or `ponderhit` that came meanwhile."""
    session.ready(GLANCE_SECONDS)
    if go.is_ponder_hit:
        session.go_received = go.began
    with session.turn:
        _run_after(session, go.position, command, go.text)
    if go.stopped.is_set():
        session.stop()
    elif go.is_ponder_hit:  # perhaps while the search began
        session.ponder_hit()


def introduce(session: UciSession, _: str) -> None:
    """Print name, author and options; only then load the engine."""
    options = (option.line() for option in OPTIONS.values())
    session.output.say(f"id name {NAME} {__version__}", f"id author {AUTHOR}", *options, "uciok")
    session.start_loading()


def isready(session: UciSession, _: str) -> None:
    """`readyok` when the engine is loaded and the options are in effect.

    On a cold start it comes somewhat before, and at once while a `go` waits for the engine, as in a search.
    """
    if not session.cold.is_waiting and session.wait_until_ready():
        waiting = session.cold.take_position()
        if waiting is not None:
            _run_loaded(session, COMMANDS["position"], waiting)
    session.output.say("readyok")


def setoption(session: UciSession, text: str) -> None:
    """Read `name NAME [value VALUE]`; names may contain blanks."""
    words = text.split()
    lowered = [word.lower() for word in words]
    first = 1 if lowered[:1] == ["name"] else 0
    if "value" not in lowered[first:]:
        session.set_option(" ".join(words[first:]), "")
        return
    value_at = lowered.index("value", first)
    # Splitting the raw text keeps what a file name may contain: several blanks in a row.
    value = text.split(None, value_at + 1)[value_at + 1 :]
    session.set_option(" ".join(words[first:value_at]), value[0].strip() if value else "")


def new_game(session: UciSession, _: str) -> None:
    """End the search and clear tables and histories."""
    session.new_game()


def stop(session: UciSession, _: str) -> None:
    """Print the bestmove now."""
    session.stop()


def ponder_hit(session: UciSession, _: str) -> None:
    """Continue the search on the clock."""
    session.ponder_hit()


def debug(session: UciSession, text: str) -> None:
    """Debug mode on, unless the text is `off`."""
    session.debug = text.split()[:1] != ["off"]


def ignore(_: UciSession, __: str) -> None:
    """Do nothing."""


def leave(session: UciSession, _: str) -> None:
    """End the session."""
    session.is_over = True


def show_help(session: UciSession, text: str) -> None:
    """The table of commands, or one row of it."""
    wanted = COMMANDS.get(text.strip().lower())
    shown = (*PROTOCOL, *EXTRAS) if wanted is None else (wanted,)
    session.output.say(*(f"{command.usage:<40} {command.sentence}" for command in shown))
