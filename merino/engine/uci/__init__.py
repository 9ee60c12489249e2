"""UCI on standard input and output: reads lines, finds the command in each and runs it.

Everything here is ready before numba is loaded, so that `uciok` comes at once.
"""

import codecs
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import NoReturn

from merino.core.common import errors, interrupt, terminal
from merino.core.common.command import Command, CommandError
from merino.core.compiled.compiling import WATCH
from merino.engine.uci import commands, output
from merino.engine.uci.commands import COMMANDS, STANDARD
from merino.engine.uci.session import UciSession

TERMINATION_SECONDS = 0.35  # for the final output after SIGTERM; the sender may kill us soon after
_CHUNK_BYTES = 1 << 16


def serve(_: Sequence[str] = (), first_line: str = "") -> NoReturn:
    """Serve the GUI on standard input until `quit` or the end of input, then end the process.

    `first_line` is run before the input.
    Each `go` is answered: `quit` stops the search, which gives its move; at the end of input one with a limit is done
    first, and so is a count or a bench.
    SIGTERM ends everything at once in an orderly way: the search gives its move, the log is closed, and the code is 0.
    """
    session = _new_session()
    if sys.platform == "win32":
        import_module("numpy")  # while one thread reads a pipe there, its import in another waits for the next line
    try:
        for line in chain([first_line], read_lines(sys.stdin.fileno())):
            session.output.heard(line)
            execute(session, line)
            if session.is_over:
                break
        else:
            session.finish()
        session.close()
    except KeyboardInterrupt:
        _leave(interrupt.INTERRUPTED)
    except CommandError as error:
        terminal.complain(f"merino: {error}")
        _leave(error.exit_code)
    _leave(0)


def serve_one(words: Sequence[str]) -> NoReturn:
    """Run one command, wait for the search it starts and end the process; Ctrl-C ends the search early.

    The exit code is 1 if a fault was reported.
    """
    session = _new_session()
    session.waits_for_compiler = True
    try:
        execute(session, " ".join(words))
        session.wait()
    except KeyboardInterrupt:
        session.close()
        _leave(interrupt.INTERRUPTED)
    _leave(int(session.output.has_faults))


def read_lines(descriptor: int) -> Iterator[str]:
    """The input lines, of any length, each as soon as it ends in LF, CRLF or CR; names of files keep their bytes.

    Raises CommandError if the input cannot be read.
    """
    parts: list[bytes] = []
    while chunk := _read(descriptor):
        *ended, rest = chunk.replace(b"\r", b"\n").split(b"\n")
        for end in ended:
            yield _decode([*parts, end])
            parts = []
        parts.append(rest)
    yield _decode(parts)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError as error:
        raise CommandError(f"cannot read the input: {error.strerror}") from error


def execute(session: UciSession, line: str) -> None:
    """Run the command in a line, if there is one; anything unknown is ignored."""
    if line.lstrip().startswith("#"):
        return
    command, rest = find_command(line)
    if command is not None:
        commands.run(session, command, rest)
    elif session.debug and line.strip():
        session.output.info(f"unknown command: '{line.strip()[:60]}'")


def find_command(line: str) -> tuple[Command | None, str]:
    """The command of a line and the text after its name; None where there is none.

    As the protocol has it, unknown words before a command are skipped: `joho isready` means `isready`. This applies to
    the protocol's own commands; the others, some of them single letters, must come first.
    """
    for index, word in enumerate(line.split()):
        command = STANDARD.get(word) if index else COMMANDS.get(word.lower())
        if command is not None:
            return command, "".join(line.split(None, index + 1)[index + 1 :])
    return None, ""


def _new_session() -> UciSession:
    """A session on standard output that reports faults of all threads, so that no GUI waits for its move for ever."""
    WATCH.is_silent = True  # `engine.uci.cold_start` informs the GUI; other output might confuse it
    session = UciSession(output.Output(sys.stdout.buffer))

    def fail(fault: threading.ExceptHookArgs) -> None:
        said: object = fault.exc_value
        if not isinstance(said, errors.MerinoError):  # which is no fault of the program, but a sentence for the user
            sys.excepthook(fault.exc_type, fault.exc_value or fault.exc_type(), fault.exc_traceback)
            said = f"{fault.thread.name if fault.thread else 'thread'}: {fault.exc_type.__name__}: {said}"
        session.output.error(said)
        os._exit(1)

    threading.excepthook = fail
    if hasattr(signal, "sigwait"):  # Windows has no signals to wait for
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # for all threads: they are started after this
        threading.Thread(target=_end_on_sigterm, args=(session,), name="sigterm", daemon=True).start()
    return session


def _end_on_sigterm(session: UciSession) -> NoReturn:
    """End the process on SIGTERM, whatever the other threads do: one of them may be compiling."""
    signal.sigwait({signal.SIGTERM})
    session.close(TERMINATION_SECONDS)
    os._exit(0)  # nothing is flushed: a thread may be writing to a GUI that has stopped reading


def _leave(code: int) -> NoReturn:
    """End the process now. The interpreter's own end takes longer, and crashes while a thread still compiles."""
    sys.stdout.flush()
    os._exit(code)


def _decode(parts: Sequence[bytes]) -> str:
    """A line as text: UTF-8, or on Windows in the code page of an older GUI; elsewhere a name of a file may be any."""
    raw = b"".join(parts).removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("mbcs", "replace") if sys.platform == "win32" else os.fsdecode(raw)
