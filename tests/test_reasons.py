"""Tactics on the board as players name them, and the ends of lines: where pieces get to."""

import chess
import pytest

from merino.core.board.game import Position
from merino.engine.search.limits import Score
from merino.eval.families import default
from merino.study.lines import Course, end_of
from merino.study.tactics import discovered_by, exchange, is_hanging, pins_by, skewers_by, worth_attacking

EXCHANGES = [
    ("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "d5", 3),  # nothing guards it
    ("4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1", "d5", 0),  # a rook for a knight
    ("4k3/8/4p3/3r4/8/2N5/8/4K3 w - - 0 1", "d5", 2),  # a rook for a knight, the other way round
    ("4k3/5n2/8/3np3/3K4/8/8/8 w - - 0 1", "e5", 0),  # the king may not be taken in turn
    ("4k3/8/2n5/1B2p3/8/5N2/8/4K3 w - - 0 1", "e5", 1),  # the knight that guards it is pinned
]


@pytest.mark.parametrize(("fen", "square", "pawns"), EXCHANGES)
def test_an_exchange_wins_what_a_player_counts(fen: str, square: str, pawns: int) -> None:
    board = chess.Board(fen)
    assert exchange(board, chess.parse_square(square), chess.WHITE) == pawns
    assert is_hanging(board, chess.parse_square(square)) == bool(pawns)


def test_a_knight_forks_king_and_rook_but_not_if_it_is_taken() -> None:
    board = chess.Board("r3k3/2N5/8/8/8/8/8/4K3 b - - 0 1")
    assert {chess.square_name(each) for each in worth_attacking(board, chess.C7)} == {"a8", "e8"}
    board.set_piece_at(chess.D7, chess.Piece(chess.QUEEN, chess.BLACK))
    assert worth_attacking(board, chess.C7) == []
    for fen in ("4k3/2p2p2/1n3n2/3N4/8/8/8/4K3 b - - 0 1", "3rk3/8/8/3R4/2P5/3n4/8/7K b - - 0 1"):
        assert worth_attacking(chess.Board(fen), chess.D5) == []  # guarded pieces, one from behind, not worth more


def test_a_bishop_pins_a_knight_to_the_king_and_a_rook_skewers_king_and_queen() -> None:
    board = chess.Board("4k3/3n4/8/1B6/8/8/8/4K3 b - - 0 1")
    assert list(pins_by(board, chess.B5)) == [(chess.D7, chess.E8)]
    board = chess.Board("q7/8/k7/8/8/8/8/R3K3 b - - 0 1")
    assert list(skewers_by(board, chess.A1)) == [(chess.A6, chess.A8)] and list(pins_by(board, chess.A1)) == []


def test_a_move_out_of_the_way_uncovers_an_attack() -> None:
    board = chess.Board("4q1k1/8/8/8/4N3/8/8/4R1K1 w - - 0 1")
    assert discovered_by(board, chess.Move.from_uci("e4c5")) == [(chess.E1, chess.E8)]
    assert discovered_by(board, chess.Move.from_uci("g1h1")) == []
    board = chess.Board("6k1/8/8/5n2/8/8/8/4K2R w K - 0 1")
    assert discovered_by(board, board.parse_san("O-O")) == []


def test_pieces_are_followed_through_castling_captures_and_promotion() -> None:
    for move, changed in (("e1g1", {"e1": "g1", "h1": "f1"}), ("a7a8q", {"a7": "a8"})):
        position = Position("4k3/P6p/8/8/8/8/8/4K2R w K - 0 1")
        end = end_of(Course(position, position.copy().push_all([move]), Score(0)), 1, default())
        kept = {chess.square_name(origin): chess.square_name(at) for origin, at in end.squares.items()}
        assert kept == {square: square for square in ("e1", "h1", "a7", "h7", "e8")} | changed
