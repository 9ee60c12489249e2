"""The comparison of feature sets: trained, kept, and told beside the thesis."""

from pathlib import Path

import pytest

from tests.test_net_training import sample
from tools.feature_sets import SETS, main


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.NODES", 100)


def test_each_set_is_trained_once_and_told_beside_the_thesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_numbers_of_neurons_are_compared_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.feature_sets.SIZES", [(4, 0), (4, 2)])
    positions = tmp_path / "p.bin"
    positions.write_bytes(sample().tobytes())
    main([str(positions), "--sizes", "--epochs", "1", "--hidden", "4", "--seeds", "1", "--out", str(tmp_path / "nets")])
    table = (tmp_path / "nets" / "sizes.md").read_text()
    assert "| 4 | 3,085 |" in table and "| 4, 2 | 3,097 |" in table and "thesis" not in table
