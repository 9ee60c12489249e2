"""What people and levels do in the opening, as `tools/castling_study.py` counts it."""

from __future__ import annotations

from pathlib import Path

import chess

from tools.castling_study import Opening, main, openings_in

GAME = (
    "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 d6 c3 Kf8 h3 Na5 Bc2 c5 d4 Qc7 Nbd2 Bd7 Nf1 Re8 Ng3 g6 "
    "Bg5 Kg7 Qd2 h6 Be3 Kh7 Rad1 Bc6 d5 Bd7 b3 Kg7 Kh1"
)


def moves_of(text: str) -> list[chess.Move]:
    board = chess.Board()
    for move in text.split():
        board.push_san(move)
    return list(board.move_stack)


def test_the_first_moves_of_both_sides_are_counted_and_later_ones_not() -> None:
    # After 12 moves White's bishop on c1 is at home; of Black's all have gone, the knight by c6 to a5.
    assert openings_in(moves_of(GAME)) == (Opening(True, 0, 3), Opening(False, 4, 4))


def test_the_table_takes_people_by_rating(tmp_path: Path, capsys) -> None:
    board, text = chess.Board(), ""
    for ply, move in enumerate(moves_of(GAME)):
        text += f"{ply // 2 + 1}. " * (ply % 2 == 0) + board.san(move) + " "
        board.push(move)
    file = tmp_path / "games.pgn"
    game = f'[White "A"]\n[Black "B"]\n[WhiteElo "2000"]\n[BlackElo "2400"]\n\n{text}*\n\n'
    file.write_text(2 * game + game.replace('"2400"', '"?"'))
    assert main([str(file), "--levels"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        "| people, under 2300 | 3 | 100% +- 0 | 0.00 +- 0.00 | 3.0 +- 0.0 |",
        "| people, 2300 to 2599 | 2 | 0% +- 0 | 4.00 +- 0.00 | 4.0 +- 0.0 |",
    ]
