"""The comparison of feature sets: trained, kept, and told beside the thesis."""

from pathlib import Path

import pytest

from tests.test_net_training import sample
from tools.feature_sets import SETS, main


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.NODES", 100)


def test_all_sets_of_the_thesis_are_trained_once_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    words = [str(positions), "--epochs", "1", "--hidden", "4", "--seeds", "1", "--out", str(tmp_path / "nets")]
    main(words)
    table = (tmp_path / "nets" / "table.md").read_text()
    assert all(f"| {name} |" in table for name in SETS)
    assert table.count("rank correlation") == 2
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")}
    assert len(written) == len(SETS) == 12
    main(words)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.net")} == written
    assert "ALL+MC" in capsys.readouterr().out


def test_numbers_of_neurons_are_compared_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.SIZES", [(4, 0), (4, 2)])
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    main([str(positions), "--sizes", "--epochs", "1", "--hidden", "4", "--seeds", "1", "--out", str(tmp_path / "nets")])
    table = (tmp_path / "nets" / "sizes.md").read_text()
    assert "| 4 | 3,085 |" in table and "| 4, 2 | 3,097 |" in table and "thesis" not in table
