"""The bench that commit messages promise."""

import pytest

from tools import check_bench

LOG = """Prune less

Bench: 4400041

Say more

No functional change

Prune more

Bench: 123
"""


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch):
    """Stands in for the messages of the commits, and for what the program counts."""

    def stand_in(log: str, nodes: int) -> None:
        finished = type("Finished", (), {"stdout": log})
        monkeypatch.setattr(check_bench.subprocess, "run", lambda *_, **__: finished)
        monkeypatch.setattr(check_bench, "run_bench", lambda _: (nodes, 1))

    return stand_in


@pytest.mark.parametrize(
    ("messages", "nodes"),
    [
        (LOG, 4400041),
        ("No functional change\n", None),
        ("Bench: 12 nodes\n", None),  # no number of its own
        ("The Bench: 12\nBench: 7\n", 7),
    ],
)
def test_the_newest_message_that_names_a_bench_promises_it(messages: str, nodes: int | None) -> None:
    assert check_bench.promised(messages) == nodes


def test_the_promised_bench_passes(history) -> None:
    history(LOG, 4400041)
    assert check_bench.main() == 0


def test_another_bench_fails_and_shows_both(history, capsys: pytest.CaptureFixture[str]) -> None:
    history(LOG, 4400401)
    assert check_bench.main() == 1
    assert "4400401" in (said := capsys.readouterr().err) and "4400041" in said


def test_a_history_without_a_bench_fails(history, capsys: pytest.CaptureFixture[str]) -> None:
    history("Import\n", 1)
    assert check_bench.main() == 2
    assert "Bench" in capsys.readouterr().err
