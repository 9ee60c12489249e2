"""The procedure of `learn`: what is asked for and found is data, and what breaks it off says how things stand."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from merino.app.console.learning import learn_weights
from merino.app.shell.cli import main
from merino.core.common.command import CommandError
from merino.eval.linear.weights import defaults, load, own_file, save
from merino.learn import reading
from merino.learn.errors import LearnError, LearnStoppedError, standing
from merino.learn.positions import Selection
from merino.learn.procedure import Verdict, learn_from_files
from merino.learn.request import Events, LearnRequest, Settings
from tests.rows import SELFPLAY, few_games


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file in which a queen is worth a pawn: whatever is learned is better."""
    path, values = tmp_path / "w" / "weights.txt", defaults()
    values[:5] = 100.0
    path.parent.mkdir()
    save(path, values)
    return path


def words_for(weights: Path, *more: str) -> list[str]:
    return [
        str(few_games(weights.parent.parent)),
        "1",
        "5",
        "--no-cache",
        "--no-match",
        "--weights",
        str(weights),
        *more,
    ]


def refuse_to_read(*_: object) -> None:
    raise AssertionError("games are read")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_request_gets_a_result_and_prints_nothing(weights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = LearnRequest(
        (str(SELFPLAY),),
        Settings(first=1, last=5),
        Selection(),
        weights=str(weights),
        keep_fen=False,
        plays_match=False,
    )
    lines: list[str] = []
    shares: list[float | None] = []
    result = learn_from_files(request, Events(lines.append, lambda _, done: shares.append(done)))
    assert (result.outcome.verdict, result.outcome.written, result.outcome.in_use) == (Verdict.NO_MATCH, weights, True)
    assert result.record == weights.parent / "learning.json" and result.record.exists()
    assert result.summary is not None and result.summary.written == str(weights)
    assert [line.new for line in result.summary.weights] == load(weights).tolist()
    assert "Games: 710" in lines and shares[-1] == 1
    said = capsys.readouterr()
    assert said.out == "" and all(line.startswith("Compiling ") for line in said.err.splitlines())


def test_a_folder_in_place_of_the_record_is_found_first(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "read_rows", refuse_to_read)
    (weights.parent / "learning.json").mkdir()
    with pytest.raises(CommandError, match=r"cannot write '.*learning\.json'.*; the weights are as they were$"):
        learn_weights(words_for(weights), lambda line: None)


def test_only_the_users_folder_is_made(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "read_rows", refuse_to_read)
    none = tmp_path / "none"
    said = f"nothing can be written into '{none}': there is no such folder"
    with pytest.raises(CommandError, match=re.escape(said)):
        learn_weights(words_for(weights, "--out", str(none / "w.txt")), lambda line: None)
    assert not none.exists()
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MERINO_WEIGHTS", raising=False)
    with pytest.raises(AssertionError, match="games are read"):
        learn_weights([str(few_games(tmp_path)), "1", "5", "--no-cache", "--no-match"], lambda line: None)
    assert own_file().parent.is_dir()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the name of an open file is read from /proc")
def test_a_full_disk_leaves_the_weights_as_they_were(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def full(descriptor: int) -> None:
        if "learning.json" in Path(f"/proc/self/fd/{descriptor}").readlink().name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    before = weights.read_bytes()
    with pytest.raises(CommandError, match=r"learning\.json': No space left on device; the weights are as they were$"):
        learn_weights(words_for(weights), lambda line: None)
    assert weights.read_bytes() == before
    assert {path.name for path in weights.parent.iterdir()} == {"weights.txt", "learning.log"}


def test_the_weights_are_replaced_last(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced: list[str] = []
    real = Path.replace

    def note(path: Path, target: Path) -> Path:
        replaced.append(target.name)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", note)
    learn_weights(words_for(weights), lambda line: None)
    assert replaced[: replaced.index("weights.txt") + 1] == ["weights.old", "learning.json", "weights.txt"]


def test_of_blocks_that_break_off_the_innermost_says_how_things_stand() -> None:
    with (
        pytest.raises(LearnStoppedError, match=r"^stopped by Ctrl-C; inside$"),
        standing("outside"),
        standing("inside"),
    ):
        raise KeyboardInterrupt
    with pytest.raises(LearnError, match=r"^cannot write: Input/output error; outside$"), standing("outside"):
        with standing("inside"):
            pass
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(BrokenPipeError), standing("nobody listens"):
        raise BrokenPipeError


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (
            ["a.pgn", "--positions", "no"],
            2,
            "merino: learn: argument --positions: 'no' is not one of all, quiet, qsearch",
        ),
        ([], 2, "merino: learn: missing: FILE; see 'merino learn -h'\n"),
        (["nowhere.pgn"], 1, "merino: learn: there is no file 'nowhere.pgn'\n"),
        (["--use", "nowhere.txt"], 1, "merino: learn: cannot read weights file 'nowhere.txt': "),
    ],
)
def test_a_shell_learns_from_the_exit_code_what_was_wrong(
    words: list[str], code: int, complaint: str, tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*words, "--weights", str(weights)] if words else []
    assert main(["learn", *given]) == code
    assert capsys.readouterr().err.replace(f"{Path.cwd()}/", "").startswith(complaint)
