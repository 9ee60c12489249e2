"""The console from the loaded engine to the last prompt: typed lines are carried out; and the game of `merino demo`."""

from __future__ import annotations

import logging
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import IO

from merino.app.console import commands
from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, positive
from merino.app.console.games import UnfinishedFile, side_name
from merino.app.console.registry import COMMANDS, ConsoleCommand, Section, by_name, by_prefix, command
from merino.app.console.session import Session
from merino.app.console.terminal import Reader, detect, line_editing, overheard, read_piped
from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.about import NAME, __version__
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import MerinoError, abridged
from merino.core.common.files import is_folder, names_in, user_folder, user_path
from merino.core.common.text import did_you_mean, nearest
from merino.engine.notation.san import (
    MoveRejected,
    descriptive_hint,
    looks_like_fen,
    looks_like_move,
    move_list,
    san,
    san_moves,
    san_paragraph,
    score_text,
    without_move_number,
)
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits, Line
from merino.engine.uci.options import open_net, open_weights
from merino.engine.uci.runtime import Runtime
from merino.eval.evaluation import EvaluationError
from merino.eval.families import own_names
from merino.eval.linear.weights import ENDINGS

log = logging.getLogger(__name__)

HINT_AFTER_INTERRUPT = "Type quit or press Ctrl-D to leave."
MAX_SHOWN = 40  # characters of a word that is not understood
TEXT_COLUMN = 27
MIN_ROOM = 5  # lines of a window
MORE = "-- Enter shows more, q ends -- "
MOVES_HELP = """Type moves as e4, Nf3, exd5, Nbd2, O-O, e8=Q, or by squares: e2e4, e7e8q. A list such as 1. e4 e5 plays
the moves of both sides. The engine answers each move; press Enter or Ctrl-C while it thinks to make it move at once.
Scores are from White's point of view. You may shorten a command as long as it stays unambiguous, unless it ends the
game. 'help COMMAND' explains one command. Ctrl-D leaves Merino."""
DEFAULT_PLIES = 60  # of a demo
DEFAULT_MOVE_MS = 100
BOARD_EVERY = 10  # plies


def dispatch(session: Session, line: str) -> int | None:
    """Carry out a line; returns an exit code to end the console. No input raises an exception.

    An exact command comes first, then a legal move, then the only command that begins with the word: a shortened
    command never hides a move.
    """
    text = without_move_number(line.strip())
    if not text or text.startswith("#"):
        return None
    word, *rest = text.split(maxsplit=1)
    try:
        entry = by_name(word)
        if entry is None and _played(session, line.strip()):
            return None
        entry = entry or _abbreviated(session, word)
        try:
            return entry.run(session, rest[0] if rest else "")
        except UsageError as error:
            raise CommandError(f"{error}. Usage: {entry.usage}") from error
    except MerinoError as error:
        session.say_wrapped(_sentence(str(error)))
    except SystemExit:  # the way of argparse after its help
        pass
    return None


def _played(session: Session, line: str) -> bool:
    """Play a line if it is a move, or the moves of both sides that it lists; raises MoveRejected or CommandError.

    It raises them if it looks like moves that are not legal, or that do not come next.
    """
    try:
        session.play_texts([without_move_number(line)])
        return True
    except MoveRejected as rejection:
        if rejection.refusal is not None:
            raise
    listed, due = move_list(line), session.position.fullmove_number
    if not listed.moves or not all(map(looks_like_move, listed.moves)):
        return False
    if listed.number not in (None, due):
        raise CommandError(f"move {due} comes next, not {listed.number}; 'new' begins another game")
    session.play_texts(listed.moves)
    return True


def _abbreviated(session: Session, word: str) -> ConsoleCommand:
    """The only command that begins with `word`; raises CommandError with possible meanings.

    Commands that end the game are excluded: the word may be the beginning of a move, as N is of Nf3.
    """
    found = by_prefix(word)
    if not found:
        raise CommandError(_explain_unknown(session, word))
    if len(found) > 1:
        raise CommandError(f"'{word}' is ambiguous: {_names(found)}")
    if found[0].ends_game:
        name = next(name for name in found[0].names if name.startswith(word.lower()))
        beginnings = (word, word[:1].upper() + word[1:])  # the letter of a piece may be small
        moves = sorted(move for move in _legal(session) if move.startswith(beginnings))
        hint = f". Moves with this beginning: {', '.join(moves)}" if moves else ""
        raise CommandError(f"'{word}' is too short for {name}, which ends the game: type it in full{hint}")
    return found[0]


def _legal(session: Session) -> list[str]:
    """The legal moves in short notation."""
    return san_moves(session.position, session.position.legal_moves)


def _explain_unknown(session: Session, word: str) -> str:
    shown = abridged(word, MAX_SHOWN)
    descriptive = descriptive_hint(session.position, word)
    if descriptive:
        return f"{word}: {descriptive}"
    if looks_like_fen(word):
        return "this looks like a FEN; type setboard before it"
    if looks_like_move(word):
        return f"{word} is a move, but what follows is none; type moves alone, as in e4 or 1. e4 e5"
    names = [name for entry in COMMANDS for name in entry.names]
    near = nearest(word, [*names, *_legal(session)], count=3, likeness=0.55)
    if near:
        return f"'{shown}' is neither a command nor a move; did you mean {' or '.join(near)}?"
    return f"'{shown}' is neither a command nor a move; help lists the commands, moves the legal moves"


def _sentence(text: str) -> str:
    """The message with a full stop and, unless it begins with a move or a quotation, a capital letter."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!")) else f"{capital}."


@command("help", Section.LEAVE, "[COMMAND]", aliases=("h",))
def show_help(session: Session, arguments: str) -> None:
    """List the commands, or explain one."""
    if arguments:
        session.say(_describe(_named(arguments), session.text_width))
        return
    rows = list[str]()
    for section in Section:
        rows.append(f"{section.value}:")
        for entry in COMMANDS:
            if entry.section is section:
                rows += session.row(f"  {entry.usage}", entry.sentence, TEXT_COLUMN).splitlines()
    rows += ["", *textwrap.fill(" ".join(MOVES_HELP.split()), session.text_width).splitlines()]
    room = max(MIN_ROOM, session.terminal.height - 1)
    if session.ask is None or len(rows) <= room:
        session.say("\n".join(rows))
        return
    for at in range(0, len(rows), room):
        if at and session.ask(MORE) != "":
            return
        session.say("\n".join(rows[at : at + room]))


def _named(word: str) -> ConsoleCommand:
    exact, near = by_name(word), by_prefix(word)
    if exact is None and len(near) != 1:
        if near:
            raise CommandError(f"'{word}' is ambiguous: {_names(near)}")
        hint = did_you_mean(word, (name for entry in COMMANDS for name in entry.names))
        raise CommandError(f"there is no command '{word[:40]}'{hint}")
    return exact or near[0]


def _describe(entry: ConsoleCommand, width: int) -> str:
    text = f"{entry.sentence} {entry.details}".rstrip()
    lines = [entry.usage, textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")]
    if entry.ends_game:
        lines.append("  Type it in full; it has no short form.")
    if entry.aliases:
        lines.append(f"  Also: {', '.join(entry.aliases)}")
    return "\n".join(lines)


def _names(entries: list[ConsoleCommand]) -> str:
    return ", ".join(sorted(entry.name for entry in entries))


@command("uci", Section.LEAVE, ends_game=True)
def uci(session: Session) -> int:
    """Switch to the UCI protocol.

    The game ends here, as with `quit`, which then leaves Merino.
    """
    if session.is_live:
        session.say("Merino speaks UCI now; quit leaves.")
    session.goes_on_in_uci = True
    return 0


@command("quit", Section.LEAVE, "", aliases=("exit",), ends_game=True)
def leave(_: Session) -> int:
    """Leave Merino.

    An unfinished game is kept: `resume` goes on with it in the next session.
    """
    return 0


def completions(session: Session, line: str, word: str) -> list[str]:
    """Completions of `word`, the last of `line`: commands and moves, and after a command what its usage names."""
    first, *_ = [*line.split(), ""]
    if line[: len(line) - len(word)].strip() == "":
        offered: Iterable[str] = [*(entry.name for entry in COMMANDS), *_legal(session)]
        return sorted(f"{name} " for name in offered if name.startswith(word))
    entry = by_name(first)
    wanted = re.findall(r"[A-Z]+", entry.arguments) if entry else []
    before = line.lstrip()[len(first) : len(line.lstrip()) - len(word)].strip()
    return sorted({name for kind in wanted if kind in _OFFERS for name in _OFFERS[kind](session, before, word)})


# Each offers completions of a word; it gets the session, and the words between the command and that word.


def _options(_: Session, before: str, word: str) -> list[str]:
    typed = " ".join([*before.split(), word])
    names = (option.name for option in commands.engine_options())
    return [name[len(typed) - len(word) :] for name in names if name.lower().startswith(typed.lower())]


def _files(_: Session, __: str, word: str) -> list[str]:
    head, slash, name = word.rpartition("/")
    try:
        folder = user_path(f"{head}{slash}")
    except OSError:
        return []
    found = [folder / other for other in names_in(folder) if other.startswith(name)]
    return [f"{head}{slash}{entry.name}{'/' if is_folder(entry) else ''}" for entry in found]


def _values(session: Session, before: str, word: str) -> list[str]:
    """What the option named before can be: on or off, files, and the evaluations that come with Merino."""
    name = " ".join(before.split()).lower()
    option = next((option for option in commands.engine_options() if option.name.lower() == name), None)
    if option is None:
        return []
    offered = ["on", "off"] if option.kind == "check" else []
    if option.prepares is not None:  # an evaluation
        offered = own_names(".net") if option.opens is open_net else own_names(*ENDINGS)
    others = [] if option.opens is None else _files(session, before, word)
    return [value for value in offered if value.startswith(word)] + others


_OFFERS: dict[str, Callable[[Session, str, str], list[str]]] = {
    "MOVE": lambda session, _, word: [name for name in _legal(session) if name.startswith(word)],
    "COMMAND": lambda _, __, word: [entry.name for entry in COMMANDS if entry.name.startswith(word)],
    "FILE": _files,
    "OPTION": _options,
    "VALUE": _values,
}


def run_lines(session: Session, read: Reader) -> int:
    """Run the lines that `read` returns at each prompt until it returns None or a line quits; returns the exit code."""
    while True:
        try:
            line = _next_line(session, read)
            code = 0 if line is None else _obey(session, line)
        except KeyboardInterrupt:
            session.say(f"\n{HINT_AFTER_INTERRUPT}")
            continue
        if line is None and session.is_live:
            session.say("")
        if code is not None:
            if session.unfinished is not None and session.unfinished.holds_game:
                session.say("The game is kept: resume goes on with it when you are back.")
            return code


def _next_line(session: Session, read: Reader) -> str | None:
    """The next line typed while the engine was thinking, shown after its prompt; else a line read at the prompt."""
    if not session.typed_ahead:
        return read(session.prompt)
    line = session.typed_ahead.popleft()
    session.say(f"{session.prompt}{line}")
    return line


def _obey(session: Session, line: str) -> int | None:
    """Run a line. An internal error is reported and logged, and the game is kept."""
    try:
        code = dispatch(session, line)
        session.keep()
        return code
    except OSError:
        raise  # the output is gone
    except Exception as error:
        log.exception("the console failed at %r", line[:200])
        session.say(f"Internal error ({type(error).__name__}: {error}); please report it. The game continues.")
        return None


def run_piped(session: Session, source: IO[bytes]) -> int:
    """Run the lines of a pipe or file; returns the exit code."""
    return run_lines(session, lambda prompt: read_piped(source, session.out, prompt))


def open_session(hash_mb: int, threads: int, weights: str | None = None, ascii_only: bool = False) -> Session:
    """A session on standard output with the engine loaded; requests that failed are reported."""
    runtime = Runtime(DEFAULT_HASH_MB)
    session = Session(runtime, detect(sys.stdout, ascii_only=ascii_only), sys.stdout)
    try:
        if weights:
            runtime.use_weights(open_weights(weights))
    except EvaluationError as error:
        session.say(f"{error}; not used.")
    if runtime.weights_error:
        session.say(f"{runtime.weights_error}; not used.")
    try:
        runtime.set_hash(hash_mb)
    except MemoryError as error:
        session.say(f"{error}; the transposition table has {DEFAULT_HASH_MB} MB.")
    runtime.searcher.set_threads(threads)
    runtime.searcher.move_overhead = 0  # no network between the engine and the person
    runtime.evaluation.explain(Position().record)
    return session


def converse(session: Session) -> int:
    """Greet, and run the commands on standard input until it ends or quits; returns the exit code.

    An unfinished game is kept, and offered, only where a person sits at a terminal: a pipe is no person.
    """
    session.say(f"Weights: {session.runtime.weights_file}")
    session.say("Type a move such as e4, Nf3 or e2e4, or help.")
    is_typed = sys.stdin.isatty()
    session.is_live = is_typed and session.out.isatty()
    if session.is_live:
        session.unfinished = UnfinishedFile(user_folder("data") / "unfinished", session.say_wrapped)
        session.offer_unfinished()
        session.show_board()
    if is_typed:
        session.overhear = overheard
        with line_editing(lambda line, word: completions(session, line, word)) as read:
            session.ask = read
            return run_lines(session, read)
    # Without a buffer of ours, what follows the command `uci` is still there for the UCI loop.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as source:
        return run_piped(session, source)


def play_demo(argv: list[str]) -> int:
    """`merino demo`: play a game against ourselves and print it; the exit code."""
    parser = Parser(
        prog="merino demo",
        description="Show a short game of Merino against itself, with a board every ten plies.",
        examples=("merino demo", "merino demo --maxmoves 20 --movetime 500"),
    )
    add = parser.group(shared.SEARCH).add_argument
    sentence = "stop after N full moves (default: %(default)s)"
    add("--maxmoves", type=positive, default=DEFAULT_PLIES // 2, metavar="N", help=sentence)
    sentence = "milliseconds per move (default: %(default)s)"
    add("--movetime", metavar="MS", type=positive, default=DEFAULT_MOVE_MS, help=sentence)
    options = parser.parse_args(argv)
    print(f"{NAME} {__version__} plays a short game against itself, {options.movetime} ms per move.", flush=True)
    session = open_session(DEFAULT_HASH_MB, threads=1)
    session.say(f"Weights: {session.runtime.weights_file}")
    play_alone(session, 2 * options.maxmoves, Limits(movetime=options.movetime))
    return 0


def play_alone(session: Session, plies: int, limits: Limits) -> None:
    """Play both sides until the game ends, but at most this number of plies, and print it."""
    session.show_board()
    line: Line | None = None
    while session.position.outcome() is None and len(session.position.moves) < plies:
        line = _play_move(session, limits)
        if len(session.position.moves) % BOARD_EVERY == 0:
            session.show_board()
    if len(session.position.moves) % BOARD_EVERY:
        session.show_board()
    session.say(f"\n{san_paragraph(session.position)}")
    if session.game.ending is not None:
        session.say(f"\nThe game is over: {session.game.ending}.")
        return
    score = f" White's score is {score_text(line.score, 1 - session.position.turn)}." if line else ""
    session.say(f"\nStopped after {len(session.position.moves)} plies.{score}")


def _play_move(session: Session, limits: Limits) -> Line | None:
    """Let the engine play one move and print it with its score, depth and nodes; the last line of its search."""
    position = session.position
    result = session.runtime.searcher.search(position, limits)
    move = Move(position.legal_moves[0] if result.best is None else result.best)
    dots = "." if position.turn == WHITE else "..."
    text = f"{position.fullmove_number:3}{dots:<3} {san(position, move):<8}"
    if result.line is not None:
        score = score_text(result.line.score, position.turn)
        text += f" {score:>7}  depth {result.line.depth:2}  {result.line.nodes:>9,} nodes"
    session.say(f"{text}  {side_name(position.turn)}")
    position.push(move)
    return result.line
