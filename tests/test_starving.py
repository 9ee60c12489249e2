"""The harness that starves: it sees the faults that it counts."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import starving
from benchmarks.starving import BETWEEN, HEAD, Condition, Findings, duty_cycle
from merino.match.config import Clock
from tests.uci_process import Said

SEARCHED = "info depth 9 seldepth 12 multipv 1 score cp 3 nodes 5000 nps 1 hashfull 0 time 1 pv e2e4"
FALLBACK = "info depth 2 score cp 3 time 300 pv e2e4"


@pytest.mark.parametrize(
    ("lines", "without_nodes", "compiling"),
    [
        ([SEARCHED], 0, 0),
        ([FALLBACK], 1, 0),
        ([], 1, 0),
        ([SEARCHED.replace("nodes 5000", "nodes 0")], 1, 0),
        (["info string compiling for this machine", SEARCHED], 0, 1),
    ],
)
def test_an_answer_without_nodes_or_about_compiling_is_a_fault(
    lines: list[str], without_nodes: int, compiling: int
) -> None:
    found = Findings()
    found.count([Said(line, 0.0) for line in (*lines, "bestmove e2e4")])
    assert (found.moves, found.without_nodes, found.compiling) == (1, without_nodes, compiling)
    assert found.faults == without_nodes + compiling


def test_a_row_has_the_longest_wait_of_each_kind() -> None:
    found = Findings()
    for seconds in (0.1, 1.5, 0.2):
        found.note_wait(BETWEEN, seconds)
    row = starving.row(Condition("busy", 1.0, 8), Clock.read("10+0.2"), found)
    assert len(row) == len(HEAD) and row[HEAD.index(BETWEEN)] == "1,500 ms"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="whether a process is stopped is read from /proc")
def test_a_duty_cycle_stops_and_continues_a_process_and_leaves_it_running() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        state = Path(f"/proc/{process.pid}/stat")

        def is_stopped() -> bool:
            return state.read_text().rpartition(")")[2].split()[0] == "T"

        def wait_until(wanted: bool) -> None:
            deadline = time.monotonic() + 60
            while is_stopped() is not wanted:
                assert time.monotonic() < deadline

        with duty_cycle(process.pid, 0.5):
            for wanted in (True, False, True):
                wait_until(wanted)
        assert not is_stopped()
        process.kill()
