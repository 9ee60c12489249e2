"""Puzzles from games: one move mates or wins, and `merino epd` can read them."""

from pathlib import Path

import pytest

from merino.app.shell.cli import main as merino
from tools.make_puzzles import main

GAME = """[Event "?"]
[Result "1-0"]

1. e4 {[%eval 0.3]} e5 {[%eval 0.3]} 2. Bc4 {[%eval 0.2]} Nc6 {[%eval 0.2]} 3. Qh5 {[%eval 0.0]} Nf6 {[%eval 0.1]}
4. Qxf7# {[%eval 9.0]} 1-0

[Event "?"]
[Result "*"]
[FEN "4k3/8/8/8/3n4/8/PPP5/R3K3 w - - 0 1"]

1. a3 {[%eval 0.1]} Nxc2+ {[%eval -4.0]} *
"""


def test_a_mate_is_a_puzzle_and_a_fork_that_takes_the_most_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games, out = tmp_path / "g.pgn", tmp_path / "p.epd"
    games.write_text(GAME)
    main([str(games), "--out", str(out), "--nodes", "3000"])
    assert "1 puzzles, 1 of them mates" in capsys.readouterr().err
    assert out.read_text().endswith('bm Qxf7#; id "mate in 1";\n')
    assert merino(["epd", str(out), "--nodes", "500"]) == 0
    assert "1 of 1 solved" in capsys.readouterr().out
