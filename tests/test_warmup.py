"""Warming up: compiled code that was damaged is compiled anew, other faults are not hidden."""

from pathlib import Path

import pytest

from engine import warmup


def test_damaged_compiled_code_is_thrown_away_and_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "0123456789abcdef"
    folder.mkdir()
    (folder / "search.nbi").write_bytes(b"cut short")
    calls = []

    def exercise() -> None:
        calls.append(sorted(path.name for path in folder.iterdir()))
        if (folder / "search.nbi").exists():
            raise EOFError("Ran out of input")

    monkeypatch.setattr(warmup, "CACHE", folder)
    monkeypatch.setattr(warmup, "_exercise", exercise)
    warmup.warm_up()
    assert calls == [["search.nbi"], []]


def test_a_fault_that_compiling_anew_does_not_cure_is_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exercise() -> None:
        raise ValueError("a fault of ours")

    folder = tmp_path / "0123456789abcdef"
    folder.mkdir()
    monkeypatch.setattr(warmup, "CACHE", folder)
    monkeypatch.setattr(warmup, "_exercise", exercise)
    with pytest.raises(ValueError, match="a fault of ours"):
        warmup.warm_up()
