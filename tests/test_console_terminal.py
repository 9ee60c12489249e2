"""The console on a real terminal: colours, Ctrl-C, Ctrl-D, completion."""

import os
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from merino.eval.linear.weights import DEFAULT_FILE, ENVIRONMENT_VARIABLE

pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parent.parent
STARTING_SECONDS = 300  # the first start on a machine compiles
ANSWERING_SECONDS = 30


class Keyboard:
    """Types at a console that runs in a terminal of its own, and reads its screen."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(sys.executable, [sys.executable, "-m", "merino"], environ)
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def expect(self, pattern: str, seconds: float = ANSWERING_SECONDS) -> str:
        """Read until `pattern` turns up; the text before and with it, which is then forgotten."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(pattern, self.seen)
            if found:
                text, self.seen = self.seen[: found.end()], self.seen[found.end() :]
                return text
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        raise AssertionError(f"{pattern!r} did not come; the screen shows {self.seen!r}")

    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def environment(folder: Path) -> dict[str, str]:
    """Of a console whose files are in a folder."""
    return os.environ | {
        "TERM": "xterm-256color",
        "PYTHONUTF8": "1",
        "XDG_DATA_HOME": str(folder),  # the history of typed lines and unfinished games go there
        ENVIRONMENT_VARIABLE: str(DEFAULT_FILE),
    }


@pytest.fixture
def keyboard(tmp_path: Path) -> Iterator[Keyboard]:
    pytest.importorskip("readline")
    console = Keyboard(environment(tmp_path))
    yield console
    os.close(console.terminal)
    try:
        os.kill(console.pid, signal.SIGKILL)
        os.waitpid(console.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return  # it has ended as it should


def test_a_game_outlives_the_console_however_it_ends(tmp_path):
    console = Keyboard(environment(tmp_path))
    console.expect(r"White\(1\):", STARTING_SECONDS)
    console.type("sd 1\re4\r")
    console.expect(r"White\(2\):")
    for end in ("the window is closed", "SIGTERM", "SIGKILL"):
        if end != "the window is closed":
            os.kill(console.pid, getattr(signal, end))
            console.exit_code()
        os.close(console.terminal)
        if end == "the window is closed":
            console.exit_code()
        console = Keyboard(environment(tmp_path))
        console.expect("Unfinished: a game of today, 1 move, you are White; resume continues it", STARTING_SECONDS)
        console.type("resume\r")
        console.expect(r"The game goes on after 2 plies\. The engine's limit: depth 1\.")
    console.type("quit\r")
    console.expect("The game is kept")
    assert console.exit_code() == 0
    os.close(console.terminal)


def test_a_person_plays_interrupts_and_leaves(keyboard):
    greeting = keyboard.expect(r"White\(1\):", STARTING_SECONDS)
    assert "\x1b[38;5;231;48;5;" in greeting and "♞" in greeting
    keyboard.type("sd 3\r")
    keyboard.expect(r"White\(1\):")
    keyboard.type("e4\r")
    keyboard.expect(r"move: .*\w")
    keyboard.expect(r"White\(2\):")

    keyboard.type("st 600\r")
    keyboard.expect(r"White\(2\):")
    keyboard.type("Nf3\r")
    keyboard.expect(r"depth")
    keyboard.type("\x03")  # Ctrl-C: move now
    keyboard.expect(r"move: .*\w")
    keyboard.expect(r"White\(3\):")

    keyboard.type("\x03")  # at the prompt it is only a hint
    keyboard.expect(r"Type quit or press Ctrl-D to leave")
    keyboard.expect(r"White\(3\):")
    keyboard.type("his\t\r")  # completed
    keyboard.expect(r"1\. e4 ")
    keyboard.expect(r"White\(3\):")
    keyboard.type("analyze\r")
    keyboard.expect(r"depth")
    keyboard.type("fen\r")  # ends the analysis and is obeyed
    keyboard.expect(r" w \S+ \S+ \d+ 3")
    keyboard.expect(r"White\(3\):")
    keyboard.type("setb 4k3/8/8/8/8/8/4P3/4K3 w - -\x01" + 4 * "\x06" + "\t")  # in the middle of the line
    keyboard.expect("oard ")
    keyboard.type("\r")
    keyboard.expect(r"White\(1\):")
    keyboard.type("\x04")  # Ctrl-D
    assert keyboard.exit_code() == 0
