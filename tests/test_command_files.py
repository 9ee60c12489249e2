"""Every command that takes the name of a file ends with one line about a name that is none, and waits for nothing."""

import errno
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest

from merino.app.console import shared
from merino.app.shell.cli import COMMANDS, main
from merino.core.common import files as core_files
from merino.core.common.command import CommandError
from tests.pipes import named_pipes, put_no_files

pytestmark = named_pipes

GOOD = '[Result "{}"]\n\n1. e4 {{[%eval 0.3]}} e5 {{[%eval 0.2]}} 2. {} {{[%eval 0.1]}} Nc6 {{[%eval 0.2]}} {}\n\n'
GAMES = "".join(GOOD.format(result, move, result) for move in ("Nf3", "f4", "d4", "Ke3") for result in ("1-0", "0-1"))
# Commands that read such games, two of them faulty, and have --json.
READ = (
    "positions ?",
    "net gen1 --positions ?",
    "learn ? --no-match",
    "match default default --games 2 --nodes 9 --openings ?",
    "gauntlet default default,name=B --games 2 --nodes 9 --openings ?",
    "round-robin default default,name=B --games 2 --nodes 9 --openings ?",
)


@pytest.mark.parametrize("line", READ)
def test_what_is_left_out_of_a_file_is_said_in_text_and_json(line, tmp_path, capsys):
    (path := tmp_path / "games.pgn").write_text(GAMES)
    assert main([*line.replace("?", str(path)).split(), "--json"]) == 0
    shown, first = capsys.readouterr(), ["line 27: 'Ke3' is not a legal move here", "line 31: 'Ke3' is not"]
    (row,) = (row for row in json.loads(shown.out)["left_out"] if row["why"] == "unreadable")
    assert row["count"] == 2 and [there[: len(here)] for there, here in zip(row["first"], first, strict=True)] == first
    said = " ".join(shown.err.split())
    assert f"games.pgn: 2 {row['what']}s left out, unreadable: {first[0]}; {first[1]}" in said


# A word of each, and the value of each option, that names a file to be read: `?` here.
LINES = (
    *(f"{command} ?" for command in ("account", "annotate", "epd", "evaluate", "explain", "learn", "net")),
    *(f"{command} ?" for command in ("plot", "points", "positions", "train", "weights")),
    *(f"spsa {step} ?" for step in ("tune", "replay", "plan")),
    *(f"{command} ? --player A" for command in ("profile", "drill")),
    *(f"selfplay 2 --nodes 10 {option} ?" for option in ("--weights", "--evalfile")),
    *(f"explain startpos {option} ?" for option in ("--weights", "--evalfile")),
    "evaluate - --weights ?",
    "learn games.pgn --weights ?",
    "learn --use ?",
    "improve --hours 0.001 --weights ?",
    "night --generations 1 --from ?",
    "article --games 10 --masters ?",
    "compare ? default.txt",
    "moves 7k/8/8/8/8/8/8/K6Q w - - 0 1 --static --weights ?",
    "explorer ? --no-browser",
    "annotate games.pgn --weights ?",
    "match ? default",
    "match default,EvalFile=? default",
    "match default default --games 2 --nodes 10 --openings ?",
    "match default default --games 2 --nodes 10 --state ?",
    "gauntlet ? default",
    "round-robin ? default",
    "drill games.pgn --player A --progress ?",
    "account gen1 --positions ?",
    "net gen1 --positions ?",
    "net gen1 --stats ?",
    "train games.pgn --start ?",
)
WRITING = (
    *(f"selfplay 2 --nodes 10 {option} ?" for option in ("--pgn", "--state", "--positions")),
    *(f"match default default --games 2 --nodes 10 {option} ?" for option in ("--pgn", "--state")),
    *(f"points games.pgn {option} ?" for option in ("--matrix", "--plot")),
    "learn games.pgn --out ? --no-match",
    "improve --hours 0.0001 --state ?",
    "night --from nothing --generations 1 --games 2 --nodes 10 --state ?",
    "article --games 10 --state ?",
    "annotate games.pgn --nodes 10 --out ?",
    "gauntlet default default.txt --games 2 --nodes 10 --pgn ?",
    "round-robin default default.txt --games 2 --nodes 10 --state ?",
    "positions games.pgn --out ?",
    "train games.pgn --epochs 1 --out ?",
    "spsa tune tuned.txt --pairs 2 --nodes 10 --state ?",
    "plot games.pgn --out ?",
)
WITHOUT_FILES = {"console", "uci", "perft", "cluster", "bench", "gui-config", "warmup", "clean-cache"}
IMPOSSIBLE = ("a\0b", "x" * 10_000)
WITHOUT_FILES |= {"version", "help", "features"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a file of games, a pipe and a link to itself."""
    monkeypatch.chdir(tmp_path)
    put_no_files(tmp_path)
    Path("games.pgn").write_text('[Event "?"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n')
    Path("default.txt").write_text("Pawn 100\n")
    Path("tuned.txt").write_text("razor_depth, int, 3, 1, 5, 1, 0.002\n")
    return tmp_path


def test_every_command_that_takes_a_file_has_a_line_here():
    assert {line.split()[0] for line in LINES} | WITHOUT_FILES == {command.name for command in COMMANDS.values()}


@pytest.mark.parametrize("name", ["pipe", "circle", ".", "/dev/zero", "~ ~", *IMPOSSIBLE])
def test_what_is_no_file_is_refused_in_a_line(folder, capsys, name):
    for line in LINES:
        check(line, name, capsys)


@pytest.mark.parametrize("name", ["pipe", "socket", "circle", "games.pgn/x", "~ ~", *IMPOSSIBLE])
def test_outputs_are_checked_before_the_work(folder, capsys, name):
    for line in WRITING:
        check(line, name, capsys)
    assert not list(folder.glob("*.new*"))


@pytest.mark.parametrize(
    "line", ["annotate ?", "learn ?", "explain ?", "epd ?", "positions ?", "explorer ?", "points ?"]
)
def test_a_web_page_is_no_file_of_games(line, folder, shell):
    for content in (b"<!DOCTYPE html>\n<p>1. e4 e5 1-0", b'\xef\xbb\xbf\n<html lang="en">\n\n[Event "x"]\n\n1. e4 *\n'):
        Path("page.pgn").write_bytes(content)
        assert shell(*line.replace("?", "page.pgn").split(), status=1).endswith(
            "page.pgn' is a web page: save the games or positions that it offers instead\n"
        )


# Lines that would lose a file: what they write is read by them, or written twice.
LOSING = (
    "positions games.pgn --out ./games.pgn",
    "train games.pgn --out games.pgn",
    "train games.pgn.state --out games.pgn",
    "train games.pgn --out link",
    "learn games.pgn --out games.pgn --no-match",
    "points games.pgn --matrix games.pgn",
    "drill games.pgn --player A --pgn games.pgn",
    "account gen1 --positions games.pgn --out games.pgn",
    "account my.net --positions games.pgn --out my.net",
    "points my.svg --plot my.svg",
    "match default default --games 2 --nodes 10 --pgn new --state ./new",
    "selfplay 2 --nodes 10 --positions new --pgn ./new",
    "selfplay 2 --nodes 10 --positions new --state ./new",
)


@pytest.mark.parametrize("line", LOSING)
def test_an_output_replaces_no_input_or_output(line, folder, capsys):
    Path("link").symlink_to("games.pgn")
    for name in ("games.pgn.state", "my.net", "my.svg"):
        Path(name).write_bytes(Path("games.pgn").read_bytes())
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert main(line.split()) in (1, 2)
    assert capsys.readouterr().err.rstrip().endswith(("name another output file", "an output twice; name two files"))
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def check(line: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """That a command with this name of a file ends with a line on standard error, and the code of a fault."""
    code = main([word.replace("?", name) for word in line.split()])
    said = capsys.readouterr().err.splitlines()
    assert code in (1, 2), (line, code, said)
    assert said and said[-1].startswith("merino: "), (line, said)
    assert "Traceback" not in "".join(said), (line, said)


def test_an_output_without_room_for_its_lock_is_reported(tmp_path, monkeypatch):
    def full(path: Path) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(core_files, "open_to_append", full)
    with (
        pytest.raises(CommandError, match=r"^cannot write '.*out.pgn': No space left on device"),
        shared.holding_output(tmp_path / "out.pgn"),
    ):
        pytest.fail("it began to work")
