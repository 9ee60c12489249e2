"""The harnesses that starve and that play for nights: they see the faults they count, and go on where they stopped."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import endurance, starving
from benchmarks.endurance import CLOCKS, FAULTS, PAIRINGS, plan, table
from benchmarks.starving import BETWEEN, HEAD, Condition, DutyCycle, Findings
from merino.match.config import Clock
from tests.uci_process import Said

SEARCHED = "info depth 9 seldepth 12 multipv 1 score cp 3 nodes 5000 nps 1 hashfull 0 time 1 pv e2e4"
FALLBACK = "info depth 2 score cp 3 time 300 pv e2e4"
COMPILING = "info string compiling for this machine"


def engine_that_said(*lines: str) -> Findings:
    """What is found in one answer."""
    findings = Findings()
    findings.count([Said(line, 0.0) for line in lines])
    return findings


def test_a_move_of_the_search_is_no_fault() -> None:
    found = engine_that_said(SEARCHED, "bestmove e2e4")
    assert (found.moves, found.faults) == (1, 0)


@pytest.mark.parametrize("lines", [[FALLBACK], [], [SEARCHED.replace("nodes 5000", "nodes 0")]])
def test_a_move_without_nodes_is_a_fault(lines: list[str]) -> None:
    assert engine_that_said(*lines, "bestmove e2e4").without_nodes == 1


def test_a_word_about_compiling_is_a_fault() -> None:
    assert engine_that_said(COMPILING, SEARCHED, "bestmove e2e4").compiling == 1


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

        with DutyCycle(process.pid, 0.5):
            for wanted in (True, False, True):
                wait_until(wanted)
        assert not is_stopped()
        process.kill()


def test_the_blocks_take_turns_in_all_clocks_and_players() -> None:
    count = len(CLOCKS) * len(PAIRINGS)
    assert {plan(number) for number in range(count)} == {(clock, names) for clock in CLOCKS for names in PAIRINGS}


def test_a_stopped_run_goes_on_and_adds_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_block(folder: Path, number: int, games: int) -> dict[str, object]:
        if number == 2 and not (folder / "stopped").exists():
            (folder / "stopped").touch()
            raise KeyboardInterrupt
        clock, names = plan(number)
        block = {"clock": clock, "players": names, "games": games, "plies": 100} | dict.fromkeys(FAULTS, 0)
        (folder / f"{number:05}.json").write_text(json.dumps(block))
        return block

    monkeypatch.setattr(endurance, "play_block", play_block)
    monkeypatch.setattr(sys, "argv", ["endurance", str(tmp_path), "--games", "250"])
    assert endurance.main() == 0
    assert capsys.readouterr().out.splitlines()[-1].split(" | ")[2:4] == ["100", "200"]
    assert endurance.main() == 0
    assert capsys.readouterr().out.splitlines()[-1].split(" | ")[2:4] == ["250", "500"]


def test_a_fault_in_any_block_shows_in_the_sums() -> None:
    block = {"clock": "1+0.01", "players": ["terms", "net"], "games": 50, "plies": 9} | dict.fromkeys(FAULTS, 0)
    assert table([block, block | {"time_losses": 3}]).splitlines()[-1] == "| all |  | 100 | 18 | 3 | 0 | 0 |"
