"""What spoils a result that tablebases know, as `tools/try_tables.py` counts it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import chess
import pytest

from tests.fake_tables import FakeTables
from tools.try_tables import NAMES, spoils, spoilt

WON = "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"


@pytest.mark.parametrize(("move", "is_spoilt"), [("g5g7", False), ("g5h6", False), ("g5g6", True), ("f6f7", False)])
def test_stalemate_spoils_a_won_ending_and_mate_does_not(move: str, is_spoilt: bool) -> None:
    assert spoils(FakeTables(), chess.Board(WON), chess.Move.from_uci(move)) == is_spoilt


def test_a_game_counts_once_for_whoever_spoils_its_result(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    tags = f'[White "{NAMES[1]}"]\n[Black "{NAMES[0]}"]\n[SetUp "1"]\n[FEN "{WON}"]\n\n'
    file.write_text(f"{tags}1. Kf7 Kh7 2. Qg8+ Kh6 3. Qg6# 1-0\n\n{tags}1. Qg6 1/2-1/2\n")
    assert spoilt(FakeTables(), file) == (2, Counter({NAMES[1]: 1}))
