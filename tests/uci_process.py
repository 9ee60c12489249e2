"""Merino as a GUI sees it: a process, lines in, lines out, each with the time it came."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 180.0  # seconds for an answer on a slow, busy machine with a cold cache


class Said(NamedTuple):
    """A line of output and when it came, in seconds of time.perf_counter()."""

    text: str
    at: float


class UciProcess:
    """A running engine. As a context manager it ends with the block."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None, folder: Path = ROOT) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "merino", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        )
        self._lines: queue.SimpleQueue[Said | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> UciProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def send(self, *lines: str) -> float:
        """Send lines; returns when, taken before, as the engine may run while we wait for the processor."""
        return self.send_bytes("".join(f"{line}\n" for line in lines).encode())

    def send_bytes(self, raw: bytes) -> float:
        """Send bytes as they are; returns when, as `send` does."""
        assert self.process.stdin is not None
        sent = time.perf_counter()
        self.process.stdin.write(raw)
        self.process.stdin.flush()
        return sent

    def read_until(self, start: str, seconds: float = PATIENCE) -> list[Said]:
        """Everything up to the first line that begins with `start`; raises TimeoutError or EOFError without one."""
        said: list[Said] = []
        deadline = time.perf_counter() + seconds
        while not said or not said[-1].text.startswith(start):
            try:
                line = self._next(deadline)
            except queue.Empty:
                raise TimeoutError(f"no '{start}' within {seconds} s, but {[s.text for s in said]}") from None
            if line is None:
                raise EOFError(f"the engine ended without '{start}', after {[s.text for s in said]}")
            said.append(line)
        return said

    def read_until_match(self, pattern: str) -> re.Match[str]:
        """The match of the first line that fits the pattern to its end."""
        while True:
            if match := re.fullmatch(pattern, self.read_until("")[-1].text):
                return match

    def seconds(self, *lines: str, until: str) -> float:
        """The seconds from sending lines to the first line that begins with `until`."""
        sent = self.send(*lines)
        return self.read_until(until)[-1].at - sent

    def ask(self, *lines: str, until: str) -> list[str]:
        """Send lines and return what is said up to the line that begins with `until`."""
        self.send(*lines)
        return [said.text for said in self.read_until(until)]

    def sync(self) -> list[str]:
        """Everything said so far, `readyok` left out."""
        return self.ask("isready", until="readyok")[:-1]

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing is said for so long."""
        try:
            self.read_until("\0", seconds)
        except TimeoutError as error:
            return str(error).endswith("but []")
        return False

    def end_input(self) -> list[str]:
        """Close the engine's input; everything it still says."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.rest()

    def rest(self) -> list[str]:
        """Everything said until the engine closes its output; raises TimeoutError if it does not."""
        said: list[str] = []
        deadline = time.perf_counter() + PATIENCE
        while True:
            try:
                line = self._next(deadline)
            except queue.Empty:
                raise TimeoutError(f"the engine goes on after {PATIENCE} s, and says {said[-3:]}") from None
            if line is None:
                return said
            said.append(line.text)

    def exit_code(self) -> int:
        """The exit code, once the engine has ended."""
        return self.process.wait(PATIENCE)

    def processor_seconds(self) -> float:
        """Processor time used so far (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_megabytes(self) -> float:
        """The most memory that was ever in use, 0 where the system is not Linux."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0.0
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024

    def _next(self, deadline: float) -> Said | None:
        """The next line, None at the end of the output; raises queue.Empty at the deadline."""
        return self._lines.get(timeout=max(0.0, deadline - time.perf_counter()))

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._lines.put(Said(raw.decode().rstrip("\r\n"), time.perf_counter()))
        self._lines.put(None)


def bestmove(engine: UciProcess, *lines: str) -> str:
    """The move that the engine answers to these lines."""
    return engine.ask(*lines, until="bestmove")[-1].split()[1]


def infos(said: list[str]) -> list[str]:
    """The reports of a search among these lines."""
    return [line for line in said if line.startswith("info depth")]


def field(info: str, name: str) -> str:
    """The word after `name` in a report."""
    words = info.split()
    return words[words.index(name) + 1]


def line_of(info: str) -> list[str]:
    """The moves of a report, [] if it has none."""
    return info.partition(" pv ")[2].split()


def run_merino(*arguments: str, given: bytes = b"", environment: dict[str, str] | None = None) -> Finished:
    """Run `merino` with these arguments and this input to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "merino", *arguments],
        input=given,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        timeout=PATIENCE,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode().splitlines(), done.stderr.decode())


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    output: Sequence[str]
    errors: str
