"""Measuring levels of strength by matches against another engine."""

import sys
from pathlib import Path

import pytest

from tools.calibrate_strength import Match, Player, play_match, read_pair, row

ENGINE = """#!{python}
import sys
import chess

board, level = chess.Board(), 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("option name Skill Level type spin default 20 min 0 max 20")
        print("option name Threads type spin default 1 min 1 max 8")
        print("option name Hash type spin default 16 min 1 max 64\\nuciok")
    elif words[0] == "isready":
        print("readyok")
    elif words[0] == "setoption" and "Skill" in words:
        level = int(words[-1])
    elif words[0] == "position":
        at = words.index("moves") if "moves" in words else len(words)
        board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
        for move in words[at + 1:]:
            board.push_uci(move)
    elif words[0] == "go":
        takes = [move for move in board.legal_moves if board.is_capture(move)]
        print("info depth 1 score cp 0")
        print("bestmove", min(takes if level and takes else board.legal_moves, key=str))
    elif words[0] == "quit":
        break
    sys.stdout.flush()
"""


@pytest.fixture
def stockfish(tmp_path: Path) -> str:
    """An engine with the options of Stockfish, and two levels: the first takes nothing on purpose."""
    program = tmp_path / "stockfish"
    program.write_text(ENGINE.format(python=sys.executable))
    program.chmod(0o755)
    return str(program)


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_the_number_of_pairs_at_a_time_changes_no_result(stockfish: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tools.calibrate_strength.MAX_PLIES", 60)
    one, two = (play_match(*read_pair("s1:s0"), 6, stockfish, 5, at_a_time) for at_a_time in (1, 2))
    assert one == two
    assert len(one.pairs) == 3 and all(0 <= points <= 2 for points in one.pairs)


def test_a_row_tells_what_the_first_player_is_worth():
    match = Match(Player(False, 1500), Player(True, 1), [2.0, 1.0, 1.5, 1.5], 2)
    assert row(match).startswith("| 1500 | Stockfish, Skill Level 1 (1468) | 8 | +5 =2 -1 | ")
