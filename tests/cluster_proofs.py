"""What a cluster of real processes does when things go wrong: `make test-cluster`, which takes minutes.

Each test starts a Dask scheduler and workers of its own, breaks something in the middle of a match or a tune, and
compares what comes out with the same command without a cluster.
"""

import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from merino.eval.linear.weights import DEFAULT_FILE
from tests.dask_processes import PATIENCE, ROOT, DaskCluster, games_in, kill, results_of, wait_for

MATCH = ("match", "default", "razor_depth=1", "--games", "120", "--nodes", "300", "--seed", "5")
TUNE = "[RookOpen_mg]\nc_end = 5\ndist = 8\nelo = 2\n\n[razor_margin]\nc_end = 40\ndist = 80\nelo = 3\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path) as found:
        yield found


def ended(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """What it printed, once it has ended with this exit code."""
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    return out, errors


def warm(cluster: DaskCluster) -> None:
    """Let all workers load what they need, so that they are ready as soon as they are asked."""
    ended(cluster.merino("cluster", cluster.address, "--games", "1"))


def match_here(cluster: DaskCluster, *words: str) -> tuple[str, str]:
    """What the match prints without a cluster, and its games."""
    pgn = cluster.folder / "here.pgn"
    out, _ = ended(cluster.merino(*MATCH, *words, "--pgn", str(pgn), "--quiet"))
    return results_of(out), pgn.read_text()


def begin_match(cluster: DaskCluster, *words: str, games: int = 8) -> tuple[subprocess.Popen[str], Path]:
    """The same on the cluster, once it has written some games; and the file of those."""
    pgn = cluster.folder / "there.pgn"
    process = cluster.merino(*MATCH, *words, "--pgn", str(pgn), "--cluster", cluster.address)
    wait_for(lambda: games_in(pgn) >= games or process.poll() is not None, "games are played")
    assert process.poll() is None, process.communicate()
    return process, pgn


@pytest.mark.parametrize(
    ("workers", "games", "heard"),
    [
        (2, "400", "is gone; others repeat its unfinished work"),  # so many that the late one has something to do
        (1, "120", "no worker is left, waiting for a new one"),
    ],
)
def test_a_match_outlives_a_killed_worker_and_welcomes_a_late_one(cluster, workers, games, heard) -> None:
    wanted = match_here(cluster, "--games", games)
    first, *others = [cluster.add() for _ in range(workers)]
    process, pgn = begin_match(cluster, "--games", games)
    kill(first)
    if not others:
        time.sleep(1)
    cluster.add()
    out, errors = ended(process)
    assert (results_of(out), pgn.read_text()) == wanted
    assert heard in errors
    assert not others or "has joined: 2 threads now" in errors


def test_without_its_scheduler_a_match_ends_and_its_state_goes_on_without(cluster: DaskCluster) -> None:
    wanted = match_here(cluster)
    cluster.add()
    state = cluster.folder / "state.json"
    process, pgn = begin_match(cluster, "--state", str(state))
    kill(cluster.scheduler)
    _, errors = ended(process, 1)
    assert errors.rstrip().endswith(f"merino: match: the scheduler of the cluster {cluster.address} is gone")
    assert 0 < games_in(pgn) < 120
    out, _ = ended(cluster.merino(*MATCH, "--state", str(state), "--pgn", str(pgn), "--quiet"))
    assert (results_of(out), pgn.read_text()) == wanted


def test_ctrl_c_stops_all_workers_at_once_and_the_same_command_goes_on(cluster: DaskCluster) -> None:
    wanted = match_here(cluster)
    cluster.add(2)
    state = cluster.folder / "state.json"
    process, pgn = begin_match(cluster, "--state", str(state))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = ended(process, 130)
    assert f"Interrupted; the same command continues from '{state}'." in errors
    assert time.monotonic() - began < 10
    words = ("--state", str(state), "--pgn", str(pgn), "--quiet", "--cluster", cluster.address)
    out, _ = ended(cluster.merino(*MATCH, *words))
    assert (results_of(out), pgn.read_text()) == wanted


def test_a_worker_of_another_version_gets_no_work(cluster: DaskCluster) -> None:
    other = cluster.folder / "other"
    shutil.copytree(ROOT, other, ignore=shutil.ignore_patterns(".*", "tests", "docs", "__pycache__"))
    version = other / "merino" / "core" / "common" / "about.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9.'))
    cluster.add(code=other)
    words = (*MATCH[:3], "--games", "4", "--nodes", "50", "--cluster", cluster.address)
    _, errors = ended(cluster.merino(*words), 1)
    assert f"the only worker of the cluster {cluster.address} cannot be used" in errors
    assert "is of another version: Merino 9." in errors
    ours = cluster.add()
    wait_for(lambda: cluster.has_registered(ours), "our worker is there")
    out, errors = ended(cluster.merino(*words))
    assert "4 (" in out and "is of another version: Merino 9." in errors and "it gets no work." in errors
    _, errors = ended(cluster.merino("cluster", cluster.address, "--games", "1"), 1)


def test_weights_and_openings_that_only_the_client_has_are_sent(cluster: DaskCluster) -> None:
    home = cluster.folder / "home"
    home.mkdir()
    (home / "mine.txt").write_text(DEFAULT_FILE.read_text().replace("VAL_N", "# once\nVAL_N"))
    (home / "book.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n")
    cluster.add()
    words = ("match", "mine.txt", "default", "--games", "6", "--nodes", "50", "--openings", "book.epd", "--quiet")
    out, _ = ended(cluster.merino(*words, "--cluster", cluster.address, cwd=home))
    wanted, _ = ended(cluster.merino(*words, cwd=home))
    assert results_of(out) == results_of(wanted)


def no_room() -> None:
    """No file of this process can grow: what a full disk does to it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_worker_whose_disk_is_full_plays_the_same_and_says_so(cluster: DaskCluster) -> None:
    wanted = match_here(cluster)
    cluster.add(prepare=no_room)
    process, pgn = begin_match(cluster)
    out, errors = ended(process)
    assert (results_of(out), pgn.read_text()) == wanted
    assert "cannot keep compiled code in" in errors


def test_a_tune_outlives_a_killed_worker(cluster: DaskCluster) -> None:
    (cluster.folder / "p.toml").write_text(TUNE)
    words = ("spsa", "tune", "p.toml", "--pairs", "60", "--nodes", "300", "--quiet", "--state")
    ended(cluster.merino(*words, "here.npz"))
    first = cluster.add()
    cluster.add()
    warm(cluster)
    process = cluster.merino(*words, "there.npz", "--cluster", cluster.address)
    wait_for(lambda: (cluster.folder / "there.npz").exists(), "the tune begins")
    time.sleep(1)
    kill(first)
    ended(process)
    here, there = (np.load(cluster.folder / name) for name in ("here.npz", "there.npz"))
    assert all(np.array_equal(here[name], there[name]) for name in here.files)
