"""The console from the loaded engine to the last prompt: typed lines are carried out."""

import logging
import sys
from collections.abc import Iterable
from typing import IO

from merino.app.console import commands, games, terminal
from merino.app.console.session import Session
from merino.core.board.game import Position
from merino.core.common import command, errors, files
from merino.core.common.text import nearest
from merino.engine.notation import positions, san
from merino.engine.search.limits import DEFAULT_HASH_MB
from merino.engine.uci.options import open_weights
from merino.engine.uci.runtime import Runtime
from merino.eval.evaluation import EvaluationError

log = logging.getLogger(__name__)

HINT_AFTER_INTERRUPT = "Type quit or press Ctrl-D to leave."
MAX_SHOWN = 40  # characters of a word that is not understood


def dispatch(session: Session, line: str) -> int | None:
    """Carry out a line; returns an exit code to end the console. No input raises an exception.

    An exact command comes first, then a legal move, then the only command that begins with the word: a shortened
    command never hides a move.
    """
    text = san.without_move_number(line.strip())
    if not text or text.startswith("#"):
        return None
    word, *rest = text.split(maxsplit=1)
    try:
        entry = commands.by_name(word)
        if entry is None and _played(session, line.strip()):
            return None
        entry = entry or _abbreviated(session, word)
        try:
            return entry.run(session, rest[0] if rest else "")
        except command.UsageError as error:
            raise command.CommandError(f"{error}. Usage: {entry.usage}") from error
    except errors.MerinoError as error:
        session.say_wrapped(_sentence(str(error)))
    except SystemExit:  # the way of argparse after its help
        pass
    return None


def _played(session: Session, line: str) -> bool:
    """Play a line if it is a move, or the moves of both sides that it lists; raises MoveRejected or CommandError.

    It raises them if it looks like moves that are not legal, or that do not come next.
    """
    try:
        session.play_texts([san.without_move_number(line)])
        return True
    except san.MoveRejected as rejection:
        if rejection.refusal is not None:
            raise
    listed, due = san.move_list(line), session.position.fullmove_number
    if not listed.moves or not all(map(san.looks_like_move, listed.moves)):
        return False
    if listed.number not in (None, due):
        raise command.CommandError(f"move {due} comes next, not {listed.number}; 'new' begins another game")
    session.play_texts(listed.moves)
    return True


def _abbreviated(session: Session, word: str) -> commands.ConsoleCommand:
    """The only command that begins with `word`; raises CommandError with possible meanings.

    Commands that end the game are excluded: the word may be the beginning of a move, as N is of Nf3.
    """
    found = commands.by_prefix(word)
    if found is None:
        raise command.CommandError(_explain_unknown(session, word))
    if found.ends_game:
        name = next(name for name in found.names if name.startswith(word.lower()))
        raise command.CommandError(f"'{word}' is too short for {name}, which ends the game: type it in full")
    return found


def _legal(session: Session) -> list[str]:
    """The legal moves in short notation."""
    return san.san_moves(session.position, session.position.legal_moves)


def _explain_unknown(session: Session, word: str) -> str:
    shown = errors.abridged(word, MAX_SHOWN)
    if positions.looks_like_fen(word):
        return "this looks like a FEN; type setboard before it"
    if san.looks_like_move(word):
        return f"{word} is a move, but what follows is none; type moves alone, as in e4 or 1. e4 e5"
    names = [name for entry in commands.COMMANDS for name in entry.names]
    near = nearest(word, [*names, *_legal(session)], count=3, likeness=0.55)
    if near:
        return f"'{shown}' is neither a command nor a move; did you mean {' or '.join(near)}?"
    return f"'{shown}' is neither a command nor a move; help lists the commands, moves the legal moves"


def _sentence(text: str) -> str:
    """The message with a full stop and, unless it begins with a move or a quotation, a capital letter."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!")) else f"{capital}."


def completions(session: Session, line: str, word: str) -> list[str]:
    """Completions of `word`, the last of `line`: commands and moves, and after a command what its usage names."""
    names, before = [entry.name for entry in commands.COMMANDS], line[: len(line) - len(word)].split()
    if not before:
        return sorted(f"{name} " for name in [*names, *_legal(session)] if name.startswith(word))
    entry = commands.by_name(before[0])
    usage, offered = entry.arguments if entry else "", list[str]()
    if "MOVE " in f"{usage} ":
        offered += _legal(session)
    if "COMMAND" in usage:
        offered += names
    if "FILE" in usage or "VALUE" in usage:
        offered += _files(word)
    return sorted(name for name in offered if name.startswith(word))


def _files(word: str) -> Iterable[str]:
    head, slash, name = word.rpartition("/")
    try:
        folder = files.user_path(f"{head}{slash}")
    except OSError:
        return
    for other in files.names_in(folder):
        if other.startswith(name):
            yield f"{head}{slash}{other}{'/' if files.is_folder(folder / other) else ''}"


def run_lines(session: Session, read: terminal.Reader) -> int:
    """Run the lines that `read` returns at each prompt until it returns None or a line quits; returns the exit code.

    Lines that were typed while the engine was thinking come first, shown after their prompt.
    """
    while True:
        try:
            if session.typed_ahead:
                line: str | None = session.typed_ahead.popleft()
                session.say(f"{session.prompt}{line}")
            else:
                line = read(session.prompt)
            code = 0 if line is None else _obey(session, line)
        except KeyboardInterrupt:
            session.say(f"\n{HINT_AFTER_INTERRUPT}")
            continue
        if line is None and session.is_live:
            session.say("")
        if code is not None:
            if session.unfinished is not None and session.unfinished.written is not None:
                session.say("The game is kept: resume continues it when you are back.")
            return code


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
    """Run the lines of a pipe or file, shown after their prompts as if they had been typed; returns the exit code."""

    def read(prompt: str) -> str | None:
        session.out.write(prompt)
        raw = source.readline()
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        session.say(line)
        return line if raw else None

    return run_lines(session, read)


def open_session(hash_mb: int, threads: int, weights: str | None = None, ascii_only: bool = False) -> Session:
    """A session on standard output with the engine loaded; requests that failed are reported."""
    runtime = Runtime(DEFAULT_HASH_MB)
    session = Session(runtime, terminal.detect(sys.stdout, ascii_only=ascii_only), sys.stdout)
    try:
        runtime.use_weights(open_weights(weights or ""))
    except EvaluationError as error:
        session.say(f"{error}; not used.")
    try:
        runtime.set_hash(hash_mb)
    except MemoryError as error:
        session.say(f"{error}; the transposition table has {DEFAULT_HASH_MB} MB.")
    runtime.searcher.set_threads(threads)
    runtime.searcher.move_overhead = 0  # no network between the engine and the person
    runtime.evaluation.explain(Position().record)
    session.say(f"Weights: {runtime.weights_file}")
    return session


def converse(session: Session) -> int:
    """Run the commands on standard input until it ends or quits; returns the exit code.

    An unfinished game is kept, and offered, only where a person sits at a terminal: a pipe is no person.
    """
    session.say("Type a move such as e4, Nf3 or e2e4, or help.")
    is_typed = sys.stdin.isatty()
    session.is_live = is_typed and session.out.isatty()
    if session.is_live:
        path = files.user_folder("data") / "unfinished" / "1.pgn"
        session.unfinished = games.UnfinishedFile(path, session.say_wrapped)
        session.offer_unfinished()
        session.show_board()
    if is_typed:
        session.overhear = terminal.overheard
        with terminal.line_editing(lambda line, word: completions(session, line, word)) as read:
            return run_lines(session, read)
    # Without a buffer of ours, what follows the command `uci` is still there for the UCI loop.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as source:
        return run_piped(session, source)
