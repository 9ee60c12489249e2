"""The comparison of feature sets: trained, kept, and shown next to the thesis."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from merino.lab.nets.training import Trained, Trainer, TrainingState
from merino.match import runner
from merino.match.config import MatchConfig
from merino.match.games import Game
from merino.match.statistics import Estimate
from tests.test_net_training import sample
from tools.feature_sets import SETS, main, verdict


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.NODES", 100)


def test_each_set_is_trained_once_and_shown_next_to_the_thesis(tmp_path, monkeypatch, capsys) -> None:
    few = {name: SETS[name] for name in ("ALL", "H+V", "D1+D2")}  # `make test-nets` compiles them all
    monkeypatch.setattr("tools.feature_sets.SETS", few)
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    words = [str(positions), "--epochs", "1", "--hidden", "4", "--seeds", "1", "--out", str(tmp_path / "nets")]
    main(words)
    table = (tmp_path / "nets" / "table.md").read_text()
    assert all(f"| {name} |" in table for name in few)
    assert table.count("rank correlation") == 2
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")}
    assert len(written) == len(few)
    main(words)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")} == written
    assert "H+V" in capsys.readouterr().out


def test_a_net_whose_training_was_interrupted_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Trainer.run

    def interrupted(trainer: Trainer, _: object) -> Trained:
        def stop(state: TrainingState) -> None:
            if state.is_epoch and state.epoch == 3:
                raise KeyboardInterrupt

        return run(trainer, stop)

    monkeypatch.setattr(Trainer, "run", interrupted)
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    with pytest.raises(KeyboardInterrupt):
        main([str(positions), "--epochs", "4", "--hidden", "4", "--seeds", "2", "--out", str(tmp_path / "nets")])
    assert [path.name for path in (tmp_path / "nets").iterdir()] == ["ALL-4-4-400-1.state"]


def test_matches_of_a_run_that_goes_on_are_not_played_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.SETS", {name: SETS[name] for name in ("ALL", "H+V")})
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    words = [str(positions), "--epochs", "1", "--hidden", "4", "--seeds", "2", "--out", str(tmp_path)]
    words += ["--games", "5", "--nodes", "50"]
    main(words)
    table = (tmp_path / "table.md").read_text()
    assert "Elo at equal nodes" in table and "+- " in table
    begun: list[int] = []
    play = runner.play_match

    def play_on(config: MatchConfig, games: int, threads: int, first: int, *rest: Any) -> Generator[Game]:
        begun.append(first)
        return play(config, games, threads, first, *rest)

    monkeypatch.setattr(runner, "play_match", play_on)
    main(words)
    assert begun == [4] * 2  # two pairs for each seed, none of them played twice


def test_the_claim_of_the_thesis_is_judged_by_the_interval_of_the_match() -> None:
    found = {elo: verdict(Estimate(elo, 20.0, elo, 20.0, 0.5)) for elo in (-300.0, -21.0, -20.0, 0.0, 20.0, 21.0)}
    assert list(found.values()) == ["agrees", "agrees", "undecided", "undecided", "undecided", "does not"]
    assert not verdict(Estimate(0.0, 0.0, 0.0, 0.0, 0.5))
