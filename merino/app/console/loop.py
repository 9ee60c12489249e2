"""The console from the loaded engine and the first prompt to the last."""

from __future__ import annotations

import logging
import sys
from typing import IO

from merino.app.console.dispatch import dispatch
from merino.app.console.keyboard import Reader, line_editing, overheard, read_piped
from merino.app.console.registry import completions
from merino.app.console.session import Session
from merino.app.console.terminal import detect
from merino.app.console.unfinished import Unfinished
from merino.core.board.game import Position
from merino.core.common.user_files import user_folder
from merino.engine.search.limits import DEFAULT_HASH_MB
from merino.engine.uci import files
from merino.engine.uci.runtime import Runtime
from merino.eval.evaluation import EvaluationError

log = logging.getLogger(__name__)

HINT_AFTER_INTERRUPT = "Type quit or press Ctrl-D to leave."


def run_typed(session: Session) -> int:
    """Talk to a person at a terminal until they leave; the exit code."""

    def complete(line: str, word: str) -> list[str]:
        return completions(session, line, word)

    session.overhear = overheard
    with line_editing(complete) as read:
        session.ask = read
        return run_lines(session, read)


def run_piped(session: Session, source: IO[bytes]) -> int:
    """Run the lines of a pipe or file; returns the exit code."""
    return run_lines(session, lambda prompt: read_piped(source, session.out, prompt))


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
            if session.is_kept:
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


def open_session(hash_mb: int, threads: int, weights: str | None = None, ascii_only: bool = False) -> Session:
    """A session on standard output with the engine loaded; requests that failed are reported."""
    runtime = Runtime(DEFAULT_HASH_MB)
    session = Session(runtime, detect(sys.stdout, ascii_only=ascii_only), sys.stdout)
    try:
        if weights:
            runtime.use_weights(files.weights(weights))
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

    Unfinished games are kept, and offered, only where a person sits at a terminal: a pipe is no person.
    """
    session.say(f"Weights: {session.runtime.weights_file}")
    session.say("Type a move such as e4, Nf3 or e2e4, or help.")
    is_typed = sys.stdin.isatty()
    session.is_live = is_typed and session.out.isatty()
    if session.is_live:
        session.unfinished = Unfinished(user_folder("data") / "unfinished", session.tell)
        session.offer_unfinished()
        session.show_board()
    if is_typed:
        return run_typed(session)
    # Without a buffer of ours, what follows the command `uci` is still there for the UCI loop.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as source:
        return run_piped(session, source)
