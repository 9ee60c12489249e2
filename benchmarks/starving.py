"""`python -m benchmarks.starving`: games of Merino against itself on a machine that has no time for it.

It plays under a tenth of a core for each side, and next to eight busy programs. A move that the search has not found
(without nodes), a loss on time and a word about compiling are faults; the longest waits are measured. Each game has new
processes, so that starts on a slow machine count too. Prints a table in Markdown; exits with 1 if there are faults.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import chess

from merino.engine.search.warmup import warm_up
from merino.match.config import Clock
from tests.uci_process import Said, UciProcess
from tools.markdown import markdown_table

OPENING_PLIES = 6  # drawn at random
MAX_PLIES = 160  # plies; enough to be short of time
IMPATIENT_MS = 3000  # for the first move of a process, asked for before it is ready
BUSY = "while True: pass"
PERIOD = 0.05  # seconds of one turn of running and standing still


@contextmanager
def duty_cycle(pid: int, share: float) -> Iterator[None]:
    """Stop and continue a process in turns, so that it runs for `share` of the time, 0..1; 1 leaves it alone.

    It works wherever signals can stop processes: no control groups are needed.
    """
    ended = threading.Event()

    def run() -> None:
        with suppress(ProcessLookupError):  # it has ended, as processes may at any time
            while share < 1 and not ended.is_set():
                os.kill(pid, signal.SIGSTOP)
                ended.wait(PERIOD * (1 - share))
                os.kill(pid, signal.SIGCONT)
                ended.wait(PERIOD * share)

    thread = threading.Thread(target=run, name=f"duty cycle of {pid}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Condition(NamedTuple):
    """How Merino is starved: the share of a core that each process gets, and how many busy programs run next to it."""

    name: str
    share: float
    busy: int


CONDITIONS = (Condition("a tenth of a core for each side", 0.1, 0), Condition("next to eight busy programs", 1.0, 8))


WAITS = (
    UCIOK := "start to `uciok`",
    FIRST := "first `isready`",
    IMPATIENT := f"`movetime {IMPATIENT_MS}` before it",
    BETWEEN := "`isready` between moves",
    SEARCHING := "`isready` in a search",
    STOP := "`stop` to `bestmove`",
)
HEAD = ("condition", "clock", "games", "moves", "lost on time", "without nodes", "compiling", *WAITS)


@dataclass
class Findings:
    """What was seen under one condition. Times in seconds."""

    games: int = 0
    moves: int = 0
    time_losses: int = 0
    without_nodes: int = 0
    compiling: int = 0
    waits: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAITS, 0.0))

    def note_wait(self, kind: str, seconds: float) -> None:
        """Keep the longest wait of each kind."""
        self.waits[kind] = max(self.waits[kind], seconds)

    def count(self, said: list[Said]) -> None:
        """Count a move, and what is wrong with the lines of its answer."""
        self.moves += 1
        reports = [line.text.split() for line in said if " nodes " in line.text]
        has_nodes = bool(reports) and int(reports[-1][reports[-1].index("nodes") + 1]) > 0
        self.without_nodes += not has_nodes
        self.compiling += any("compiling" in line.text for line in said)

    @property
    def faults(self) -> int:
        """All that must not be."""
        return self.time_losses + self.without_nodes + self.compiling


class StarvedEngine:
    """A process of Merino under a condition."""

    def __init__(self, stack: ExitStack, condition: Condition, findings: Findings, options: tuple[str, ...]) -> None:
        self._findings = findings
        self._process = stack.enter_context(UciProcess("uci"))
        stack.enter_context(duty_cycle(self._process.process.pid, condition.share))
        self._process.send("uci")
        self._note(self._process.read_until("uciok"), UCIOK, self._process.started)
        self._process.send(*options)

    def answer_before_ready(self) -> None:
        """Ask for a move at once, as an impatient GUI does."""
        _, seconds = self._move("position startpos", f"go movetime {IMPATIENT_MS}")
        self._findings.note_wait(IMPATIENT, seconds)

    def wait_until_ready(self, kind: str) -> None:
        """Wait for `readyok`."""
        asked = self._process.send("isready")
        self._note(self._process.read_until("readyok"), kind, asked)

    def move(self, board: chess.Board, clocks: dict[bool, float], clock: Clock) -> tuple[chess.Move, float]:
        """Its move, and the seconds from `go` to it."""
        played = " ".join(move.uci() for move in board.move_stack)
        self._process.send(f"position startpos moves {played}")
        self.wait_until_ready(BETWEEN)
        white, black = (max(1, round(1000 * clocks[colour])) for colour in chess.COLORS)
        return self._move(f"go wtime {white} btime {black} winc {clock.increment} binc {clock.increment}")

    def interrupt(self) -> None:
        """Ask and stop it in a search without a limit."""
        self._process.send("go infinite")
        self.wait_until_ready(SEARCHING)
        stopped = self._process.send("stop")
        said = self._process.read_until("bestmove")
        self._note(said, STOP, stopped)
        self._findings.count(said)

    def _move(self, *lines: str) -> tuple[chess.Move, float]:
        asked = self._process.send(*lines)
        said = self._process.read_until("bestmove")
        self._findings.count(said)
        return chess.Move.from_uci(said[-1].text.split()[1]), said[-1].at - asked

    def _note(self, said: list[Said], kind: str, since: float) -> None:
        self._findings.note_wait(kind, said[-1].at - since)
        self._findings.compiling += any("compiling" in line.text for line in said)


def play_games(condition: Condition, clock: Clock, games: int, seed: int) -> Findings:
    """Play under a condition, with a line about each game on standard error; Black evaluates by a net."""
    findings, draw = Findings(), random.Random(seed)
    with busy_programs(condition.busy):
        for number in range(1, games + 1):
            with ExitStack() as stack:
                nets = {chess.WHITE: (), chess.BLACK: ("setoption name EvalFile value gen13",)}
                players = {side: StarvedEngine(stack, condition, findings, words) for side, words in nets.items()}
                ending = _play(players, clock, findings, draw, impatient=number % 2 == 0)
            findings.games += 1
            waits = ", ".join(f"{seconds:.2f}" for seconds in findings.waits.values())
            report = f"{condition.name}, game {number}: {ending}; {findings.faults} faults, waits {waits} s"
            print(report, file=sys.stderr)
    return findings


def _play(
    players: dict[bool, StarvedEngine], clock: Clock, findings: Findings, draw: random.Random, impatient: bool
) -> str:
    """Play a game between players by their colours; how it ended."""
    for player in players.values():
        if impatient:
            player.answer_before_ready()
        player.wait_until_ready(BETWEEN if impatient else FIRST)
    board = chess.Board()
    for _ in range(OPENING_PLIES):
        board.push(draw.choice(list(board.legal_moves)))
    clocks = dict.fromkeys(chess.COLORS, clock.base / 1000)
    while not board.is_game_over(claim_draw=True) and board.ply() < MAX_PLIES:
        move, seconds = players[board.turn].move(board, clocks, clock)
        clocks[board.turn] -= seconds
        if clocks[board.turn] < 0:
            findings.time_losses += 1
            loser = chess.COLOR_NAMES[board.turn]
            return f"{loser} loses on time after {board.ply()} plies, {seconds:.3f} s for the last"
        clocks[board.turn] += clock.increment / 1000
        board.push(move)
    for player in players.values():
        player.interrupt()
    return f"{board.result(claim_draw=True)} after {board.ply()} plies, {min(clocks.values()):.2f} s left"


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """So many programs that take all the time they can get."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.callback(stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY])).kill)
        yield


def row(condition: Condition, clock: Clock, findings: Findings) -> tuple[str, ...]:
    """The row of the table."""
    numbers = (findings.games, findings.moves, findings.time_losses, findings.without_nodes, findings.compiling)
    waits = (f"{1000 * seconds:,.0f} ms" for seconds in findings.waits.values())
    return (condition.name, str(clock), *map(str, numbers), *waits)


def main() -> int:
    """Play under each condition and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starving", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--games", type=int, default=10, help="games under each condition (default: %(default)s)")
    parser.add_argument("--tc", type=Clock.read, default=Clock.read("10+0.2"), help="clock (default: 10+0.2)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the openings (default: %(default)s)")
    arguments = parser.parse_args()
    warm_up()  # this is about code that is compiled
    found = [(each, play_games(each, arguments.tc, arguments.games, arguments.seed)) for each in CONDITIONS]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the end; a share is given in periods of 50 ms\n")
    print(markdown_table(HEAD, [row(condition, arguments.tc, each) for condition, each in found], range(2, len(HEAD))))
    return 1 if any(each.faults for _, each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
