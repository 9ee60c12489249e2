"""The comparison of feature sets: trained, kept, and shown next to the thesis."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from merino.lab.nets.training import Trained, Trainer, TrainingState
from merino.match import runner
from merino.match.config import MatchConfig
from merino.match.games import Game
from tests.test_net_training import sample
from tools.feature_sets import SETS, main


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.NODES", 100)


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


def test_what_is_trained_and_played_is_shown_and_not_done_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.feature_sets.SETS", {name: SETS[name] for name in ("ALL", "H+V")})
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    words = [str(positions), "--epochs", "1", "--hidden", "4", "--seeds", "2", "--out", str(tmp_path)]
    words += ["--games", "5", "--nodes", "50"]
    main(words)
    table = (tmp_path / "table.md").read_text()
    assert "Elo at equal nodes" in table and "+- " in table and "| H+V | 192 |" in table and "| -384.3 |" in table
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")}
    begun: list[int] = []
    play = runner.play_match

    def play_on(config: MatchConfig, games: int, threads: int, first: int, *rest: Any) -> Generator[Game]:
        begun.append(first)
        return play(config, games, threads, first, *rest)

    monkeypatch.setattr(runner, "play_match", play_on)
    main(words)
    assert begun == [4] * 2  # two pairs for each seed, none of them played twice
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")} == written and len(written) == 4
