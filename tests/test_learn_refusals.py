"""What `learn` refuses leaves every file as it was: bad input, folders and disks that take nothing, sudden ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learning import learn_weights
from merino.core.common.command import CommandError
from merino.eval.linear.weights import defaults, load, save
from merino.learn.errors import LearnError
from merino.learn.request import Settings
from merino.learn.sample import Target
from tests.rows import SELFPLAY, few_games, made_up_rows, split

FEN = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -"
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file in which a queen is worth a pawn: whatever is learned is better."""
    path, values = tmp_path / "w" / "weights.txt", defaults()
    values[:5] = 100.0
    path.parent.mkdir()
    save(path, values)
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.pgn", None, "there is no file"),
        ("empty.pgn", b"", "no finished game with a usable position"),
        ("rubbish.pgn", b"\x00\xff" * 1000, "no finished game with a usable position"),
        ("broken.pgn.gz", b"\x1f\x8b\x08\x00", "cannot read"),
        ("check.epd", b"4k3/8/8/8/8/8/4r3/4K3 w - - [1.0]\n", "no finished game with a usable position"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    tmp_path: Path, weights: Path, name: str, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = files_of(tmp_path), files_of(weights.parent)
    with pytest.raises(CommandError, match=reason):
        learn_weights([str(tmp_path / name), "--weights", str(weights)], lambda line: None)
    assert (files_of(tmp_path), files_of(weights.parent)) == before


@pytest.mark.parametrize("words", [["9" * 5000, "1"], ["--terms", "1-" + "9" * 5000]], ids=["words", "--terms"])
def test_terms_of_thousands_of_digits_are_refused(weights: Path, words: list[str]) -> None:
    with pytest.raises(CommandError, match="terms are numbered 1 to 27"):
        learn_weights([str(SELFPLAY), *words, "--weights", str(weights)], lambda line: None)


def test_games_whose_positions_weigh_nothing_are_refused(tmp_path: Path, weights: Path) -> None:
    words = ["--weights", str(weights), "--decay", "0.1", "--target", "result"]
    few = tmp_path / "late.epd"
    few.write_text("".join(f'{FEN} c9 "{r}"; c8 "20"; c7 "{g}";\n' for g, r in enumerate(("1-0", "0-1") * 20)))
    with pytest.raises(CommandError, match=r"with --decay 0\.1 the positions learned from weigh nothing"):
        learn_weights([str(few), *words], lambda line: None)


@pytest.mark.parametrize("target", [Target(1.0), Target(0.25, k=200.0), Target(0.0)])
def test_games_of_one_result_are_refused_only_where_results_count(target: Target) -> None:
    rows = made_up_rows(np.full(5, 50.0), 200.0, 100, seed=1)
    rows = replace(rows, results=np.full_like(rows.results, 0.5))
    with pytest.raises(LearnError, match="all 20 games are drawn: there is nothing to tell good from bad"):
        split(rows, Settings(target=target))
    assert split(rows, Settings(target=Target(0.0, k=200.0))).size == 100


def test_a_folder_of_games_is_refused(tmp_path: Path, weights: Path) -> None:
    with pytest.raises(CommandError, match="is a folder"):
        learn_weights([str(tmp_path), "--weights", str(weights)], lambda line: None)


def test_a_folder_that_cannot_be_written_into_is_reported_before_the_work(tmp_path: Path, weights: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"nothing can be written into '.*file': it is no folder"):
        learn_weights([str(SELFPLAY), "--weights", str(weights), "--out", f"{tmp_path}/file/w.txt"], lambda line: None)


def test_weights_of_other_terms_are_refused(weights: Path) -> None:
    weights.write_text(weights.read_text().replace("Rook7th", "Rook8th"))
    with pytest.raises(CommandError, match="no term is called 'Rook8th'"):
        learn_weights([str(SELFPLAY), "--weights", str(weights)], lambda line: None)


def learning(*arguments: str, limit: int | None = None) -> subprocess.Popen[str]:
    """A `learn` process; it may write files of `limit` bytes at most."""
    code = "import sys; from merino.app.shell.cli import main; sys.exit(main())"
    if limit is not None:
        code = (
            "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {code}"
        )
    return subprocess.Popen(
        [sys.executable, "-c", code, "learn", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="limits of file size are those of Unix")
def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path, weights: Path) -> None:
    pgn = few_games(tmp_path)
    before = weights.read_bytes()
    (tmp_path / "x").mkdir()
    words = [str(pgn), "1", "5", "--weights", str(weights), "--out", f"{tmp_path}/x/w.txt", "--no-match"]
    learn_weights(words, lambda line: None)
    assert (tmp_path / "x" / "w.txt").exists()  # and all is compiled, as the compiler wants to write files, too
    pgn.with_suffix(".fen").unlink()
    process = learning(str(pgn), "1", "5", "--weights", str(weights), limit=500)
    heard = process.communicate()[0]
    assert process.returncode == 1 and "Traceback" not in heard
    assert "few.fen': File too large; --no-cache learns without it" in heard
    process = learning(str(pgn), "1", "5", "--weights", str(weights), "--no-cache", "--no-match", limit=500)
    heard = process.communicate()[0]
    assert process.returncode == 1 and "Traceback" not in heard
    assert "The log ends here" in heard and f"cannot write '{weights}'" in heard.splitlines()[-1]
    assert weights.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [pgn.name]
    assert not list(weights.parent.glob("*.new"))


def test_a_killed_run_leaves_a_whole_weights_file(tmp_path: Path, weights: Path) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_bytes(SELFPLAY.read_bytes())
    for delay in (0.7, 1.0, 1.3):
        process = learning(str(pgn), "1", "27", "--weights", str(weights), "--no-match")
        time.sleep(delay)
        process.kill()
        process.communicate()
        assert len(load(weights)) == len(defaults())
    process = learning(str(pgn), "--weights", str(weights), "--no-match")
    process.communicate()
    assert process.returncode == 0
    assert (tmp_path / "games.fen").exists()
