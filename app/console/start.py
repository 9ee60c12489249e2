"""Starts the console once the engine is loaded, and runs it to the end."""

from __future__ import annotations

import sys

from merino.inner.app.console.loop import run_piped, run_typed
from merino.inner.app.console.session import Session
from merino.inner.app.console.terminal import detect
from merino.inner.app.console.unfinished import Unfinished
from merino.inner.core.board.game import Position
from merino.inner.core.common.folders import user_folder
from merino.inner.engine.uci import files
from merino.inner.engine.uci.runtime import Runtime
from merino.inner.eval.evaluation import EvaluationError

FALLBACK_HASH_MB = 16


def open_session(hash_mb: int, threads: int, weights: str | None = None, ascii_only: bool = False) -> Session:
    """A session on standard output with the engine loaded; requests that failed are reported."""
    runtime = Runtime(FALLBACK_HASH_MB)
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
        session.say(f"{error}; the transposition table has {FALLBACK_HASH_MB} MB.")
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
