"""Counting and the bench over a pipe against the real process: they take long, and the GUI is heard all the same."""

from __future__ import annotations

import time

import pytest

from tests.uci_process import UciProcess, bestmove, run_merino

JOBS = ["go perft 9", "perft 9", "bench"]


def test_perft_divides_as_stockfish_does(engine: UciProcess) -> None:
    said = engine.ask("go perft 3", until="Nodes searched")
    assert said[:2] == ["a2a3: 380", "b2b3: 420"]
    assert said[-3:] == ["g1h3: 400", "", "Nodes searched: 8902"]


@pytest.mark.parametrize(("style", "castling"), [("true", "f1h1"), ("false", "f1g1")])
def test_perft_writes_castling_in_the_style_asked_for(engine: UciProcess, style: str, castling: str) -> None:
    """In the other style the king's step to g1 and castling are both f1g1."""
    position = "position fen 4k3/8/8/8/8/8/8/5K1R w H - 0 1"
    said = engine.ask(f"setoption name UCI_Chess960 value {style}", position, "go perft 1", until="Nodes searched")
    assert said[-3] == f"{castling}: 1"


def test_the_bench_is_the_same_each_time_and_ends_with_nodes_and_speed(engine: UciProcess) -> None:
    engine.send("bench", "bench")
    first, second = (engine.read_until_match(r"(\d+) nodes \d+ nps") for _ in range(2))
    assert first[1] == second[1]


@pytest.mark.parametrize("job", JOBS)
def test_isready_and_stop_are_heard_at_once_during_a_background_job(engine: UciProcess, job: str) -> None:
    sent = engine.send(job, "isready")
    assert engine.read_until("readyok")[-1].at - sent < 0.1
    time.sleep(0.1)
    sent = engine.send("stop")
    assert bestmove(engine, "go depth 1") != "(none)"
    assert time.perf_counter() - sent < 0.5
    assert engine.sync() == []


@pytest.mark.parametrize("job", JOBS)
def test_a_search_ends_the_background_job_before_it(engine: UciProcess, job: str) -> None:
    engine.send(job)
    assert bestmove(engine, "go depth 3") != "(none)"
    engine.sync()
    assert engine.is_silent(0.3)


def test_a_background_job_ends_the_search_before_it(engine: UciProcess) -> None:
    engine.send("go infinite", "go perft 1")
    assert engine.read_until("bestmove")
    engine.read_until("Nodes searched: 20")


def test_background_jobs_wait_for_each_other(engine: UciProcess) -> None:
    engine.send("go perft 4", "position startpos moves e2e4", "go perft 1")
    assert engine.read_until("Nodes searched")[-1].text == "Nodes searched: 197281"
    assert engine.read_until("Nodes searched")[-1].text == "Nodes searched: 20"


@pytest.mark.parametrize("job", JOBS)
def test_quit_does_not_wait_for_a_background_job(job: str) -> None:
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        fresh.send(job)
        time.sleep(0.05)
        fresh.send("quit")
        said = fresh.rest()
        assert fresh.exit_code() == 0
    assert not [line for line in said if line.startswith("Nodes searched") or line.endswith(" nps")]  # it has not ended


def test_background_jobs_of_a_script_are_finished_at_the_end_of_input() -> None:
    done = run_merino("uci", given=b"go perft 5\nposition startpos moves e2e4\ngo perft 2\n")
    assert done.code == 0
    assert [line for line in done.output if line.startswith("Nodes")] == [
        "Nodes searched: 4865609",
        "Nodes searched: 600",
    ]


def test_a_background_job_given_as_arguments_is_finished() -> None:
    assert "Nodes searched: 4865609" in run_merino("go", "perft", "5").output
