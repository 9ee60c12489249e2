"""`merino gui-config`: what it prints can be read by the program it is for, and names a command that is there."""

import configparser
import json
import sys
from pathlib import Path

import pytest

from merino.app.shell.cli import main
from merino.app.shell.gui_config import WRITERS
from merino.engine.uci.options import OPTIONS


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `merino` that is installed in a folder with a blank in its name, and running."""
    folder = tmp_path / "my tools"
    folder.mkdir()
    script = folder / "merino"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    return script


def printed(gui: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on both streams, but for the remark on stronger play, which is a comment where there are any."""
    assert main(["gui-config", gui]) == 0
    heard = capsys.readouterr()
    remark, _, rest = heard.out.partition("\n") if not heard.err else (heard.err, "", heard.out)
    assert remark.startswith("# ") is not heard.out.startswith("[{") and "gen13" in remark and "full" in remark
    return rest


OPTION_NAMES = [option.name for option in OPTIONS.values()]


@pytest.mark.parametrize("gui", sorted(WRITERS.keys() - {"pychess"}))  # which asks for the options itself
def test_every_block_names_path_and_options_that_exist(gui: str, command: Path, capsys: pytest.CaptureFixture[str]):
    text = printed(gui, capsys)
    assert str(command) in text or str(command.parent) in text
    assert {"Hash", "Threads", "Move Overhead"} <= {name for name in OPTION_NAMES if name in text}


def test_cute_chess_gets_a_list_of_engines(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (engine,) = json.loads(printed("cutechess", capsys))
    assert (engine["command"], engine["protocol"]) == (str(command), "uci")
    assert {option["name"]: option["value"] for option in engine["options"]}["Hash"] == OPTIONS["hash"].default


def test_pychess_gets_an_engine_to_look_at(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (engine,) = json.loads(printed("pychess", capsys))
    assert (engine["command"], engine["protocol"], engine["recheck"]) == (str(command), "uci", True)


def test_scid_gets_words_of_tcl(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed("scid", capsys).splitlines()
    assert lines[:3] == ["engine {", "  Name Merino", f"  Cmd {{{command}}}"] and lines[-1] == "}"
    overhead = OPTIONS["move overhead"].default
    assert lines[-2] == f"  UCIoptions {{{{{{Hash}} 16}} {{{{Threads}} 1}} {{{{Move Overhead}} {overhead}}}}}"


def test_lichess_bot_gets_only_options_it_may_set(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed("lichess-bot", capsys).splitlines()
    assert lines[:3] == ["engine:", f'  dir: "{command.parent}"', '  name: "merino"']
    options = [line.split(":")[0].strip() for line in lines[lines.index("  uci_options:") + 1 :]]
    assert set(options) <= set(OPTION_NAMES) - {"Ponder", "MultiPV", "UCI_Chess960"}, "python-chess sets these itself"


def test_gnome_chess_gets_a_level_for_each_difficulty(command: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = configparser.ConfigParser()
    groups.read_string(printed("gnome-chess", capsys))
    (group,) = (groups[name] for name in groups.sections())
    assert (group["protocol"], group["binary"]) == ("uci", str(command))
    options = {key: text.rsplit(" ", 1) for key, text in group.items() if key.startswith("option-")}
    assert {name for name, _ in options.values()} <= set(OPTION_NAMES)
    levels = {key.split("-")[1]: int(value) for key, (name, value) in options.items() if name == "Skill Level"}
    assert levels["easy"] < levels["normal"] < levels["hard"] == OPTIONS["skill level"].default


def test_a_missing_command_and_a_gui_it_does_not_know_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("merino.app.shell.gui_config.shutil.which", lambda name, path=None: None)
    assert main(["gui-config", "cutechess"]) == 1
    assert "pip install ." in capsys.readouterr().err
    assert main(["gui-config", "winboard"]) == 2
    assert "'winboard' is not one of cutechess, pychess, scid, lichess-bot, gnome-chess" in capsys.readouterr().err
