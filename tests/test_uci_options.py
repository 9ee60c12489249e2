"""`setoption` over a pipe against the real process."""

from __future__ import annotations

from pathlib import Path

import pytest

from merino.engine.uci.runtime import free_megabytes
from merino.eval.linear.weights import SHIPPED
from tests.uci_process import UciProcess, bestmove, field, infos


def test_an_option_is_found_in_any_case_and_its_value_clamped(engine: UciProcess) -> None:
    engine.send("setoption name mOVE   oVERHEAD value 99999")
    assert engine.sync() == ["info string Move Overhead 99999 is out of range; 5000 is used"]
    engine.send("setoption name Move Overhead value 50")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("setoption name Joho value 3", "info string error: there is no option 'Joho'"),
        ("setoption", "info string error: there is no option ''"),
        ("setoption name Hash", "info string error: Hash needs a value and stays unchanged"),
        ("setoption name Hash value", "info string error: Hash needs a value and stays unchanged"),
        ("setoption name Hash value big", "info string error: Hash must be a number, not 'big'"),
        ("setoption name Ponder value maybe", "info string error: Ponder must be true or false, not 'maybe'"),
        ("setoption name UCI_EngineAbout value x", None),
        ("setoption name Clear Hash", None),
        ("setoption name ponder value TRUE", None),
    ],
)
def test_a_faulty_setoption_is_explained(engine: UciProcess, line: str, answer: str | None) -> None:
    engine.send(line)
    assert engine.sync() == ([answer] if answer else [])
    assert bestmove(engine, "go depth 1") != "(none)"


def test_a_hash_beyond_memory_is_refused(engine: UciProcess) -> None:
    engine.send("setoption name Hash value 999999999")
    said = engine.sync()
    assert said[0] == "info string Hash 999999999 is out of range; 65536 is used"
    assert bestmove(engine, "setoption name Hash value 1", "go depth 3") != "(none)"


def test_hash_and_threads_set_during_a_search_wait_for_its_end(engine: UciProcess) -> None:
    engine.send("go infinite", "setoption name Threads value 2", "setoption name Hash value 4", "isready")
    notes = [line.text for line in engine.read_until("readyok") if "info string" in line.text]
    assert notes[-2:] == [f"info string {name} takes effect when the search ends" for name in ("Threads", "Hash")]
    engine.ask("stop", until="bestmove")
    assert bestmove(engine, "go depth 4") != "(none)"
    engine.send("setoption name Threads value 1")


def test_several_lines_set_during_a_search_are_for_the_next_one(engine: UciProcess) -> None:
    said = engine.ask("go infinite", "setoption name MultiPV value 3", "isready", "stop", until="bestmove")
    assert {field(line, "multipv") for line in infos(said)} == {"1"}
    said = engine.ask("go depth 3", until="bestmove")
    assert {field(line, "multipv") for line in infos(said)} == {"1", "2", "3"}


@pytest.mark.parametrize(("style", "castling"), [("true", "e1h1"), ("false", "e1g1")])
def test_castling_is_written_in_the_style_asked_for(engine: UciProcess, style: str, castling: str) -> None:
    fen = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    for given in ("e1h1", "e1g1"):
        lines = (f"setoption name UCI_Chess960 value {style}", fen, f"go depth 2 searchmoves {given}")
        assert bestmove(engine, *lines) == castling
    engine.send(f"{fen[:-1]}1 moves {castling}")
    assert engine.sync() == []


def test_the_weights_in_use_are_said_at_the_first_search_only() -> None:
    with UciProcess() as fresh:
        assert not any("weights" in line for line in fresh.ask("uci", "isready", until="readyok"))
        assert fresh.ask("go depth 1", until="bestmove")[0].startswith("info string weights: /")
        assert not any("weights" in line for line in fresh.ask("go depth 1", until="bestmove"))


def test_a_weights_file_is_taken_and_a_faulty_one_leaves_the_old(engine: UciProcess, tmp_path: Path) -> None:
    before = engine.ask("eval", until="Evaluation")
    good, bad = tmp_path / "two  blanks.txt", tmp_path / "bad.txt"
    engine.ask(f"export_weights {good}", until="info string weights written to")
    bad.write_text("VAL_P 100\nVAL_X 3\n")
    engine.send(f"setoption name WeightsFile value {bad}")
    (error,) = engine.sync()
    assert error.startswith(f"info string error: WeightsFile: {bad}:2:")
    assert engine.ask("eval", until="Evaluation") == before
    engine.send(f"setoption name weightsfile value {good}")
    assert engine.sync() == [f"info string weights: {good}"]
    assert engine.ask("eval", until="Evaluation") == before
    engine.send("setoption name WeightsFile value learnd")
    (error,) = engine.sync()
    assert "Merino comes with default" in error and "did you mean 'learned'" in error
    engine.send("setoption name WeightsFile value learned")
    assert engine.sync() == [f"info string weights: {SHIPPED / 'learned.txt'}"]


def test_memory_that_only_files_fill_is_free_for_the_hash_table(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       8388608 kB\nMemAvailable:    4194304 kB\n")
    assert free_megabytes(meminfo, tmp_path) == 4096
    for name, content in (("max", 1 << 30), ("current", (1 << 30) - (1 << 20))):
        (tmp_path / f"memory.{name}").write_text(f"{content}\n")
    assert free_megabytes(meminfo, tmp_path) == 1
    (tmp_path / "memory.stat").write_text(f"anon {50 << 20}\ninactive_file {900 << 20}\nactive_file {70 << 20}\n")
    assert free_megabytes(meminfo, tmp_path) == 901
    (tmp_path / "memory.max").write_text("max\n")
    assert free_megabytes(meminfo, tmp_path) == 4096
