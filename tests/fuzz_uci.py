"""`make fuzz`: random, mutated and truncated lines through the real process, batch by batch.

After each batch `isready` must be answered. A death or a hang ends the run, and the batch is kept in a file. The
process runs in a folder of files that it can use, and of things that are no files: options and commands name them.
What could take long by its meaning is made small (depths, nodes, hash, threads): robustness is measured, not speed.
"""

import argparse
import os
import random
import re
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import chess
from chess.polyglot import zobrist_hash

from merino.engine.uci import find_command, options
from merino.eval.linear.weights import DEFAULT_FILE, SHIPPED
from tests.boards import KIWIPETE, MATED, STALEMATED, WILD
from tests.pipes import put_no_files
from tests.uci_process import UciProcess

LINES, BATCH = 200_000, 100
PATIENCE_SECONDS = 30.0
LIVES = 200  # batches after which the process quits, and a new one is started
MEGABYTE = 1 << 20
HUGE_BYTES = 1 << 40

FENS = (chess.STARTING_FEN, KIWIPETE, MATED, STALEMATED, WILD, "8/8/8/8/8/8/8/8 w")
SHUFFLE = "g1f3 g8f6 f3g1 f6g8 "


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(" "))


MOVES = _words("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8 e1h1 a7a8q 0000")
LIMITS = _words("wtime btime winc binc movestogo depth nodes mate movetime perft infinite ponder searchmoves")
WORDS = _words(
    "uci isready ucinewgame stop ponderhit debug on off register later position startpos fen moves go setoption name "
    "value d eval bench perft help xboard joho none (none) <empty> true false # - . \x00 \u00e9 \u2003"
)
NUMBERS = ("0", "1", "-1", "7", "50", "100.5", "1e9", "9" * 30, "-" + "9" * 5000, "0x10", "\u0663", "1_0", "", "NaN")

# The greatest value that a number after these words is let through with.
_CAPS = {"depth": 7, "nodes": 20_000, "perft": 4, "mate": 2, "movetime": 50, "hash": 64, "threads": 3}
_LONG = re.compile(rf"(?i)\b({'|'.join(_CAPS)})((?:\s+value)?\s+)([+-]?\w[\w.]*)")
# What comes before our own `isready`, and its answer: a batch may contain `isready` too.
_MARKER, _ANSWER = ("debug on", "end-of-batch", "debug off"), "info string unknown command: 'end-of-batch'"
_WRITES_FILES = re.compile(r"(?i)log\s+file")
_OUTSIDE = re.compile(r"[/~]")  # in the name of a file that may lie outside the folder of the process
FILE_OPTIONS = tuple(option.name for option in options.OPTIONS.values() if option.opens is not None)
ODD_NAMES = (*_words("folder pipe socket circle gone huge text zeros cut.net short.bin ."), "", "a  b")
GOOD_NAMES = ("good.txt", "good.net", "good.bin", "log.txt", "gen1")
PATHS = (
    *_words("~nobody/x /dev/zero /dev/stdin /dev/full /proc/self/mem /proc/self/fd/0 circle/x text/x /"),
    *("~ ~", "\0", "x" * 300, "y/" * 5000),
)


@dataclass
class Totals:
    """What a run has come to."""

    lines: int = 0
    batches: int = 0
    deaths: int = 0
    hangs: int = 0
    processes: int = 0
    worst_seconds: float = 0.0
    peak_megabytes: float = 0.0
    longest_answer: int = 0

    def __str__(self) -> str:
        return (
            f"{self.lines} lines in {self.batches} batches to {self.processes} processes: {self.deaths} deaths, "
            f"{self.hangs} hangs; slowest answer {self.worst_seconds:.2f} s, longest line {self.longest_answer} "
            f"characters, peak memory {self.peak_megabytes:.0f} MB"
        )


class Lines:
    """Lines to send, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self._kinds: tuple[tuple[Callable[[], str], int], ...] = (
            (self.position, 30),
            (self.go, 25),
            (self.option, 15),
            (lambda: f"setoption name {self.draw.choice(FILE_OPTIONS)} value {self.path()}", 8),
            (self.words, 20),
            (self.junk, 8),
            (self.long_line, 1),
        )

    def batch(self, count: int) -> list[bytes]:
        """So many lines without their ends, of which none means to quit."""
        return [self._line() for _ in range(count)]

    def end(self) -> bytes:
        """The end of a line, of any system."""
        return self.draw.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))

    def position(self) -> str:
        """A position, most of the time a right one."""
        fen = self.draw.choice(FENS)
        start = self.draw.choice(("startpos", f"fen {fen}", f"fen {self.mutated(fen)}"))
        moves = " ".join(self.draw.choices(MOVES, k=self.draw.randrange(6)))
        known = " ".join(MOVES[: self.draw.randrange(len(MOVES))])
        return f"position {start} {self.draw.choice(('', f'moves {known}', f'moves {moves}'))}"

    def go(self) -> str:
        """A search with any limits."""
        words = [f"{self.draw.choice(LIMITS)} {self.number()}" for _ in range(self.draw.randrange(4))]
        return " ".join(["go", *words, *self.draw.choices(MOVES, k=self.draw.randrange(2))])

    def option(self) -> str:
        """An option with any value."""
        name = self.draw.choice([option.name for option in options.OPTIONS.values()])
        value = self.draw.choice((self.number(), self.draw.choice(WORDS), "", "/", "."))
        return f"setoption name {self.draw.choice((name, name.lower(), self.mutated(name)))} value {value}"

    def path(self) -> str:
        """The name of a file, mutated now and then, or of something else."""
        name = self.draw.choice((*ODD_NAMES, *GOOD_NAMES, *PATHS))
        name = self.mutated(name) if self.draw.random() < 0.2 else name
        return self.draw.choice((name, name, name, f" {name} ", f'"{name}"', f"folder/{name}", f"{name}:{name}"))

    def words(self) -> str:
        """Words of the protocol in any order."""
        return " ".join(self.draw.choices(WORDS + MOVES + LIMITS, k=1 + self.draw.randrange(8)))

    def junk(self) -> str:
        """Bytes of any value but line ends, as text."""
        return self.draw.randbytes(self.draw.randrange(200)).decode("latin-1")

    def long_line(self) -> str:
        """A line of up to a megabyte."""
        start = self.draw.choice(("position startpos moves ", ""))
        part = SHUFFLE if start else self.draw.choice((self.position, self.go, self.words, self.junk))() + " "
        length = self.draw.randrange(MEGABYTE if self.draw.random() < 0.1 else 20_000)
        return start + part * (length // len(part) + 1)

    def number(self) -> str:
        """A number, or what should be one."""
        return self.draw.choice((*NUMBERS, str(self.draw.randrange(300))))

    def mutated(self, text: str) -> str:
        """The text with some characters changed, added, doubled or cut off."""
        characters = list(text)
        for _ in range(1 + self.draw.randrange(3)):
            place = self.draw.randrange(len(characters) + 1)
            new = self.draw.choice("/ 0189kKpQw-\t\x00\xff") * self.draw.choice((0, 1, 1, 20))
            characters[place : place + self.draw.randrange(3)] = new
        if self.draw.random() < 0.2:
            del characters[self.draw.randrange(len(characters) + 1) :]
        return "".join(characters)

    def _line(self) -> bytes:
        kinds, weights = zip(*self._kinds, strict=True)
        text = self.draw.choices(kinds, weights)[0]()
        if self.draw.random() < 0.3:
            text = self.mutated(text)
        return tamed(text).encode("utf-8" if self.draw.random() < 0.5 else "latin-1", "replace")


def tamed(line: str) -> str:
    """The line without line ends, with numbers that cost little, and not `quit` nor one that writes files elsewhere."""
    line = _LONG.sub(_capped, line.replace("\n", " ").replace("\r", " "))
    command, _ = find_command(line.lower())
    writes = _WRITES_FILES.search(line) and _OUTSIDE.search(line.replace("folder/", "").replace("/dev/full", ""))
    return "stop" if writes or command is not None and command.name == "quit" else line


def _capped(match: re.Match[str]) -> str:
    word, between, number = match.groups()
    try:
        value = int(float(number))
    except (ValueError, OverflowError):
        return f"{word}{between}3"
    return match[0] if value <= _CAPS[word.lower()] else f"{word}{between}{_CAPS[word.lower()]}"


def furnish(folder: Path) -> Path:
    """Put what the lines name into the folder of the process; returns it."""
    (folder / "folder").mkdir()
    if sys.platform != "win32":  # where pipes and sockets are no files, and links need a right
        put_no_files(folder)
        (folder / "gone").symlink_to("nowhere")
    (folder / "huge").touch()
    os.truncate(folder / "huge", HUGE_BYTES)
    net, text = (SHIPPED / "pieces1.net").read_bytes(), DEFAULT_FILE.read_bytes()
    contents = {"text": b"no weights\n" * 100, "zeros": bytes(1 << 16), "cut.net": net[: len(net) // 2], "a  b": text}
    contents |= {"short.bin": bytes(40), "good.txt": text, "good.net": net}
    contents["good.bin"] = struct.pack(">QHHI", zobrist_hash(chess.Board()), 0o1434, 1, 0)  # e2e4
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


class Run:
    """Batches through one process after the other."""

    def __init__(self, seed: int, patience: float = PATIENCE_SECONDS) -> None:
        self.totals = Totals()
        self._seed, self._patience = seed, patience
        self._lines = Lines(seed)

    def run(self, lines: int, batch: int = BATCH, report: Callable[[str], None] = print) -> Path | None:
        """Send so many lines; the file with the batch at which the process died or hung, or None if it never did."""
        while self.totals.lines < lines:
            with tempfile.TemporaryDirectory() as folder, UciProcess(folder=furnish(Path(folder))) as engine:
                self.totals.processes += 1
                engine.ask("uci", "isready", until="readyok")
                for _ in range(LIVES):
                    failure = self._send(engine, min(batch, lines - self.totals.lines))
                    if failure is not None:
                        return failure
                    if self.totals.lines >= lines:
                        break
                failure = self._quit(engine)
                if failure is not None:
                    return failure
            report(str(self.totals))
        return None

    def _send(self, engine: UciProcess, count: int) -> Path | None:
        raw = b"".join(line + self._lines.end() for line in self._lines.batch(count))
        try:
            engine.send_bytes(raw)
            sent = engine.send("", *_MARKER, "isready")
            answers = engine.read_until(_ANSWER, self._patience) + engine.read_until("readyok", self._patience)
        except TimeoutError:
            self.totals.hangs += 1
            return self._keep(raw)
        except (EOFError, BrokenPipeError):
            self.totals.deaths += 1
            return self._keep(raw)
        self.totals.lines += count
        self.totals.batches += 1
        self.totals.worst_seconds = max(self.totals.worst_seconds, answers[-1].at - sent)
        self.totals.longest_answer = max(self.totals.longest_answer, *(len(line.text) for line in answers))
        self.totals.peak_megabytes = max(self.totals.peak_megabytes, engine.peak_megabytes())
        return None

    def _quit(self, engine: UciProcess) -> Path | None:
        engine.send("quit")
        if engine.exit_code() == 0:
            return None
        self.totals.deaths += 1
        return self._keep(b"quit\n")

    def _keep(self, raw: bytes) -> Path:
        file = Path(tempfile.gettempdir()) / f"fuzz_uci_{self._seed}_{self.totals.batches}.txt"
        file.write_bytes(raw)
        return file


def main() -> int:
    """Run, print the totals, and return 1 if the process died or hung."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_uci", description="Send faulty lines to Merino.")
    parser.add_argument("--lines", type=int, default=LINES, help=f"how many lines ({LINES})")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other lines (1)")
    arguments = parser.parse_args()
    run = Run(arguments.seed)
    began = time.perf_counter()
    failure = run.run(arguments.lines)
    print(f"{run.totals}; {time.perf_counter() - began:.0f} s with seed {arguments.seed}")
    if failure is not None:
        print(f"FAILED at the batch in {failure}")
    return failure is not None


if __name__ == "__main__":
    sys.exit(main())
