"""The report of a night in the morning: the ladder of older nets; the same over an executor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from merino.app.shell.cli import main
from merino.core.common.sealed import as_json, from_json
from merino.eval.families import find_net
from merino.eval.net.file import digest, load_net
from merino.lab.nets import night_command as night
from merino.lab.nets import shapes
from merino.lab.nets.night import ladder, learner
from merino.lab.nets.night.ladder import rungs_of
from merino.lab.nets.night.learner import begin
from merino.lab.nets.night.state import LadderMatch, NightFolder, NightState, load_state, summary
from merino.lab.nets.plots import _nets_ladder
from merino.learn.improve.rounds import Finished, Until
from merino.learn.request import Events
from tests.fake_remote import FakeRemote
from tests.killing import dies_at
from tests.nights import night_of
from tests.test_night import TINY, WORDS, proving, ran, settled

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "epochs_for", lambda *_: 4)


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    executor = FakeRemote(2)
    yield executor
    executor.shutdown()


@pytest.fixture
def winning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every net wins its deciding match; those that measure are played."""
    monkeypatch.setattr(learner, "play_match", proving(True))


def long_run(kept: int, start_hash: str = "") -> NightState:
    """A run in which so many nets have won, every second one."""
    state = night_of(2 * kept)
    rounds = tuple(replace(found, verdict="H1" if found.number % 2 else "H0") for found in state.rounds)
    return replace(state, rounds=rounds, start_hash=start_hash)


def test_a_night_over_an_executor_is_that_of_this_machine(tmp_path: Path, remote: FakeRemote, winning: None) -> None:
    here = ran(tmp_path / "here").state
    there = begin(tmp_path / "there", "nothing", TINY, Until(rounds=2), Events(), 2, remote).state
    assert settled(here) == settled(there) and remote.sent > 0
    for path in sorted((tmp_path / "here").rglob("*.vf")) + sorted((tmp_path / "here").rglob("*.net")):
        assert path.read_bytes() == (tmp_path / "there" / path.relative_to(tmp_path / "here")).read_bytes()


def test_each_net_that_wins_meets_a_ladder_of_older_nets_that_stays(tmp_path: Path, winning: None) -> None:
    first, second, third = ran(tmp_path / "run", generations=3).state.rounds
    shipped = [(name, digest(load_net(find_net(name)))) for name in ("gen1", "gen12")]
    own = [("generation 1", first.net), ("generation 2", second.net)]
    for found, rungs in ((first, shipped), (second, shipped + own[:1]), (third, shipped + own)):
        assert [(rung.name, rung.net) for rung in found.ladder] == rungs
        assert all(rung.games == 2 and rung.elo is not None for rung in found.ladder)
    assert load_state(tmp_path / "run" / "night.json").rounds[2].ladder == third.ladder
    lines = summary(load_state(tmp_path / "run" / "night.json"))
    (heads,) = (line for line in lines if "from gen12" in line)
    assert heads.split("  ")[-1] == "from generation 2" and "Ladder: 2 games" in "\n".join(lines)


def test_a_long_run_has_few_rungs_and_a_start_that_is_no_rung(tmp_path: Path) -> None:
    assert rungs_of(long_run(9)) == [1, 3, 7, 15]
    with NightFolder(tmp_path / "run") as folder:
        start = digest(load_net(find_net("gen12")))
        assert list(ladder._rungs(folder, long_run(0, start))) == []
        assert [name for name, _ in ladder._rungs(folder, long_run(0, "another"))] == ["gen12"]
        state = long_run(0, start)
        without_gauge = replace(state, plan=replace(state.plan, gauge=0))
        assert [name for name, _ in ladder._rungs(folder, without_gauge)] == ["gen12"]


@pytest.mark.parametrize("call", [1, 3])
def test_a_night_killed_on_the_ladder_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, winning: None, call: int
) -> None:
    whole = ran(tmp_path / "whole", generations=1).state
    with monkeypatch.context() as patch:
        patch.setattr(ladder, "play_match", dies_at(call, ladder.play_match))
        with pytest.raises(RuntimeError, match="killed"):
            ran(tmp_path / "killed", generations=1)
    assert settled(ran(tmp_path / "killed", generations=1).state) == settled(whole)


def test_a_run_that_is_older_than_the_ladder_goes_on_without(tmp_path: Path, winning: None) -> None:
    ran(tmp_path / "run", generations=1)
    path = tmp_path / "run" / "night.json"
    data = from_json(path.read_bytes(), "it")
    del data["plan"]["ladder"], data["rounds"][0]["ladder"]
    path.write_bytes(as_json(data))
    state = load_state(path)
    assert state.plan.ladder == 0 and state.rounds[0].ladder == ()
    known = {name: value for name, value in TINY.items() if name != "ladder"}
    found = begin(tmp_path / "run", None, known, Until(rounds=2), Events(), 2).state
    assert found.rounds[1].ladder == () and not any("Ladder" in line for line in summary(found))


def test_the_report_of_a_night_shows_the_ladder(
    tmp_path: Path, winning: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["night", *WORDS, "--from", "nothing", "--generations", "1", "--state", str(tmp_path / "run")]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "nodes a second" in text and "from gen12" in text
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (generation,) = found["generations"]
    assert generation["kept"] is True and [rung["name"] for rung in generation["ladder"]] == ["gen1", "gen12"]


def test_the_value_for_a_gui_is_a_path_that_holds_wherever_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = night._what_next(Finished(night_of(1), Path("run", "best.net"), interrupted=False, in_use=None))
    assert f"option EvalFile, value '{tmp_path / 'run' / 'best.net'}'." in "\n".join(lines)


def test_every_net_of_a_long_ladder_is_drawn() -> None:
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    rungs = tuple(LadderMatch(f"generation {number}", "net", 50, 10.0 * number, 20.0) for number in range(11))
    state = night_of(2)
    figure = figure_class()
    _nets_ladder(figure, replace(state, rounds=tuple(replace(each, ladder=rungs) for each in state.rounds)))
    lines, names = figure.axes[0].get_legend_handles_labels()
    assert names == [f"against {rung.name}" for rung in rungs]
    assert len({(line[0].get_color(), line[0].get_linestyle()) for line in lines}) == len(rungs)
