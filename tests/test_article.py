"""The table of the article on GreKo 2015 ML, by `merino article`."""

import json
from pathlib import Path

import pytest

from merino.eval.linear.weights import load
from merino.lab import article
from merino.learn.request import LearnError
from tests.rows import SELFPLAY

SMALL = ("--games", "10", "--match-games", "4")


@pytest.fixture(autouse=True)
def two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of grandmasters' games, and the weights that the article gives."""
    monkeypatch.setattr(article, "VERSIONS", [each for each in article.VERSIONS if each.name in ("G", "after")])


def rows(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert article.run_article(["--state", str(folder), "--json", *SMALL, *words]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_a_version_is_learned_once_and_meets_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = rows(tmp_path, capsys, "--masters", str(SELFPLAY))
    assert [row["name"] for row in first] == ["G", "after"]
    assert first[0]["games"] == 710 and first[0]["article"] == 2602
    assert [row["match_games"] for row in first] == [4, 4]
    assert load(tmp_path / "G.txt")[0] == load(article.SHIPPED / article.START)[0]  # material stays
    written = (tmp_path / "G.txt").stat().st_mtime_ns
    assert rows(tmp_path, capsys, "--masters", str(SELFPLAY)) == first
    assert (tmp_path / "G.txt").stat().st_mtime_ns == written


def test_versions_without_their_games_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["name"] for row in rows(tmp_path, capsys)] == ["after"]
    with pytest.raises(LearnError, match="other"):
        article.run_article(["--state", str(tmp_path), "--games", "50", "--match-games", "4", "--quiet"])
