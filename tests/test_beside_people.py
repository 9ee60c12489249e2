"""What moves of people and levels lose, as `tools/beside_people.py` judges it."""

from __future__ import annotations

from pathlib import Path

import chess

from tools.beside_people import Moment, losses, moments_in, row

SHUFFLE = "Nf3 Nf6 Ng1 Ng8 " * 6
GAME = f'[White "A"]\n[Black "B"]\n[WhiteElo "2000"]\n[BlackElo "2400"]\n\n{SHUFFLE}1/2-1/2\n\n'


class FakeJudge:
    """Black is always lost, and of White's moves e4 is the best."""

    def points(self, board: chess.Board, move: chess.Move | None = None) -> float:
        if board.turn == chess.BLACK:
            return 0.01
        return 0.6 if move is None or move.uci() == "e2e4" else 0.45


def test_positions_are_those_of_players_of_the_ratings_and_undecided(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(3 * GAME)
    found = list(moments_in([file], (1900, 2299), FakeJudge()))
    assert len(found) == 3 and all(board.turn == chess.WHITE and board.ply() >= 20 for board, _, _ in found)
    assert all(played in board.legal_moves for board, played, _ in found)
    assert list(moments_in([file], (2300, 2599), FakeJudge())) == []


def test_a_move_loses_what_the_best_one_would_keep() -> None:
    moments = 2 * [Moment(chess.Board(), chess.Move.from_uci("g1h3"), 0.6)]
    lost = losses(moments, [chess.Move.from_uci("e2e4"), moments[1].played], FakeJudge())
    assert [round(loss, 6) for loss in lost] == [0.0, 0.15]
    assert row("people", lost) == "| people | 2 | 7.5% +- 14.7 | 50.0% | 0.0% |"
