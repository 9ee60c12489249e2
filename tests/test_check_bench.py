"""The bench that commit messages promise."""

import pytest

from tools import check_bench

LOG = "Prune less\n\nBench: 4400041\n\nSay more\n\nNo functional change\n\nPrune more\n\nBench: 123\n"


@pytest.mark.parametrize(
    ("log", "counted", "code", "said"),
    [
        (LOG, 4400041, 0, "Bench: 4400041, as the last commit that names one promises"),
        (LOG, 4400401, 1, "Bench: 4400401, but the last commit that names one promises 4400041."),
        ("Say that the Bench: 12\nBench: 12 nodes\nBench: 7\n", 7, 0, "Bench: 7, as"),
        ("Import\n\nNo functional change\n", 1, 2, "No commit message names a Bench."),
    ],
)
def test_the_newest_message_that_names_a_bench_promises_it(log, counted, code, said, monkeypatch, capsys):
    monkeypatch.setattr(check_bench.subprocess, "check_output", lambda *_, **__: log)
    monkeypatch.setattr(check_bench, "run_bench", lambda _: (counted, 1))
    assert check_bench.main() == code
    assert said in "".join(capsys.readouterr())
