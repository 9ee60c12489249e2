"""The trials of `make chaos`: that no command is forgotten, that they see a fault, and a few of them."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from merino.app.shell.cli import COMMANDS, main
from merino.core.common.files import held
from tests.chaos import __main__ as trials
from tests.chaos.cases import CASES, WRITES_NOTHING, Case
from tests.chaos.harms import HARMS, MAX_WRITES, kill_at_write, two_at_once
from tests.chaos.laboratory import FaultError, Laboratory
from tests.chaos.readers import fault_of

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
CARELESS = Case("", "table.csv=older.csv", "careless", program="tests.chaos.careless")


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What trials begin with, made once for all laboratories."""
    return tmp_path_factory.mktemp("materials")


@pytest.fixture
def laboratory(tmp_path: Path, materials: Path) -> Laboratory:
    return Laboratory(tmp_path / "place", tmp_path / "code", 1, materials)


def test_every_command_of_the_shell_has_a_row_or_a_reason_for_having_none():
    assert {case.command for case in CASES} | WRITES_NOTHING.keys() == {row.name for row in COMMANDS.values()}
    assert not {case.command for case in CASES} & WRITES_NOTHING.keys()


@pytest.mark.parametrize("name", sorted(WRITES_NOTHING.keys() - {"help", "version"}))
def test_a_command_that_writes_nothing_has_no_option_for_a_file_to_write(name: str, capsys):
    main([name, "-h"])
    assert not re.search(r"^  --(out|pgn|plot|state|record|matrix|csv) [A-Z]", capsys.readouterr().out, re.MULTILINE)


def killed_before(laboratory: Laboratory, change: int) -> None:
    """The trial of the careless program that is killed before this change to a file."""
    reference = laboratory.trial(CARELESS, "reference").refer()
    assert [site.split()[0] for site in reference.sites] == ["open", "create", "write", "write"]
    trial = laboratory.trial(CARELESS, "killed")
    trial.random = Mock(choice=lambda changes: changes[change - 1])
    kill_at_write(trial, reference)


@linux
def test_a_program_that_writes_in_place_is_found_out_by_a_kill(laboratory: Laboratory):
    with pytest.raises(FaultError, match=r"'table\.csv' is neither as before nor as after a whole run"):
        killed_before(laboratory, 2)


@linux
def test_a_kill_before_anything_is_written_is_no_fault(laboratory: Laboratory):
    killed_before(laboratory, 1)


@linux
def test_a_change_is_named_by_what_is_done_and_where_and_how_often(laboratory: Laboratory):
    reference = laboratory.trial(CARELESS, "reference").refer()
    assert reference.changes[1] == ("create < tests/chaos/careless.py:12 < tests/chaos/careless.py:18", 1)
    assert [change.site.split()[0] for change in reference.takes_room] == ["create", "write", "write"]
    again = replace(reference, sites=(*reference.sites, *reference.sites[2:]))
    assert [change.times for change in again.takes_room] == [1, 1, 2, 1, 2]
    assert again.changes[-1] == (reference.sites[-1], 2)
    assert again.with_sites_of(reference).sites == reference.sites
    assert reference.with_sites_of(replace(again, sites=again.sites[2:])).sites == reference.sites[2:]


@linux
def test_at_each_write_that_takes_room_the_disk_is_full_once(laboratory: Laboratory):
    reference = replace(laboratory.trial(CARELESS, "reference").refer(), sites=tuple(f"write {n}" for n in range(90)))
    assert HARMS["full"].trials(20, reference)[:5] == [0, 1, 3, 4, 6]
    assert len(HARMS["full"].trials(20, reference)) == MAX_WRITES + 2
    few = replace(reference, sites=reference.sites[:3])
    assert HARMS["full"].trials(20, few) == [0, 1, 2, 3, 4] and HARMS["kill"].trials(20, few) == list(range(20))


@linux
def test_a_case_whose_command_does_not_change_its_file_is_a_fault(laboratory: Laboratory):
    idle = Case("version", "table.csv=older.csv", "idle", changes="table.csv")
    with pytest.raises(FaultError, match=r"'table\.csv' is as it was before a whole run"):
        laboratory.trial(idle, "reference").refer()


@linux
def test_two_runs_that_add_to_one_file_are_found_out(laboratory: Laboratory):
    reference = laboratory.trial(CARELESS, "reference").refer()
    with pytest.raises(FaultError, match=r"'more\.csv' differs from that of an uninterrupted run"):
        two_at_once(laboratory.trial(CARELESS, "two"), reference)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.state", b'{"tally": '),
        ("t.net", b"MERINO"),
        ("t.tune.npz", b"PK\x03\x04"),
        ("w.txt", b"VAL_P x"),
        ("w.old", b"VAL_P x"),
        ("p.svg", b"<svg>"),
        ("p.png", b"\x89PNG"),
        ("t.csv", b"a,b\n1,2,3\n"),
        ("p.bin", b"\0" * 32),
        ("games.pgn", b'[Event "?"]\n\n1. e4 e4 *\n'),
        ("tmp1234", b""),
    ],
)
def test_a_damaged_file_is_seen(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    assert fault_of(tmp_path / name)


@pytest.mark.parametrize("case", [case for case in CASES if case.holds], ids=lambda case: case.name)
def test_a_second_run_of_a_command_refuses_and_changes_nothing(laboratory: Laboratory, case: Case, monkeypatch, capsys):
    trial = laboratory.trial(case)
    monkeypatch.chdir(trial.folder)
    Path(case.holds).parent.mkdir(exist_ok=True)
    before = trial.contents()
    with held(Path(case.holds)):
        assert main(shlex.split(case.line)) == 1
    assert "another run of Merino works on '" in capsys.readouterr().err
    now = trial.contents()
    assert {name: now[name] for name in before} == before


@linux
def test_a_few_trials_of_a_command_find_no_fault_and_are_kept_with_their_table(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(trials, "_enter_namespace", lambda: None)  # which starts the program again
    words, heard = ["--only", "epd", "--harms", "kill", "full", "--trials", "1"], []
    for more in ((), ("--resume",)):
        monkeypatch.setattr(sys, "argv", ["chaos", *words, "--results", str(tmp_path / "rows.json"), *more])
        assert trials.main() == 0
        heard.append(capsys.readouterr())
    assert heard[1] == (heard[0].out, "")
    assert "| Command | SIGKILL at a random moment | full disk |" in heard[0].out
    assert re.search(r"^\| `epd` \| 1 \| [1-] \|$", heard[0].out, re.MULTILINE)
