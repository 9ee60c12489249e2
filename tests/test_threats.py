"""What the opponent attacks at a node, against python-chess, and what the search makes of it."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search.see import escapes, set_threats, threat_index
from tests.boards import playouts


@entry
def _threats(positions, threats):
    set_threats(positions[0], threats)


@entry
def _of_move(positions, move):
    threats = np.zeros(3, dtype=np.uint64)
    set_threats(positions[0], threats)
    return threat_index(threats, move), escapes(positions[0], threats, move)


def attacked_by(board: chess.Board, kinds: tuple[int, ...]) -> int:
    """The squares that the other side's pieces of these types attack."""
    squares = chess.SquareSet()
    for kind in kinds:
        for square in board.pieces(kind, not board.turn):
            squares |= board.attacks(square)
    return int(squares)


def test_threats_are_what_the_opponents_pieces_attack() -> None:
    minors = chess.PAWN, chess.KNIGHT, chess.BISHOP
    for board in playouts(4, 300):
        threats = np.zeros(3, dtype=np.uint64)
        _threats(Position(board.fen()).record, threats)
        wanted = [attacked_by(board, kinds) for kinds in ((chess.PAWN,), minors, tuple(chess.PIECE_TYPES))]
        assert threats.tolist() == wanted, board.fen()


@pytest.mark.parametrize(
    ("fen", "move", "index", "escape"),
    [
        ("4k3/8/8/3p4/4N3/8/8/4K3 w - - 0 1", "e4g3", 2, 1),  # a knight leaves the attack of a pawn
        ("4k3/8/8/3p4/8/5N2/8/4K3 w - - 0 1", "f3e5", 0, 0),
        ("4k3/8/3p4/8/8/5N2/8/4K3 w - - 0 1", "f3e5", 1, -1),  # and walks into one
        ("4k3/8/8/8/8/2b5/7K/R7 w - - 0 1", "a1b1", 2, 1),  # a rook leaves the attack of a bishop
        ("4k3/8/8/8/8/2b5/8/Q6K w - - 0 1", "a1b1", 2, 1),  # so does a queen
        ("4k3/8/8/8/8/2b5/8/N6K w - - 0 1", "a1b3", 2, 0),  # a knight is worth as much
        ("r3k3/8/8/8/8/8/8/R3K3 w - - 0 1", "a1b1", 2, 0),  # of its equal
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "e4e5", 2, 0),  # a pawn has no lesser piece
        ("4k3/8/2p5/3p4/2Q5/8/8/4K3 w - - 0 1", "c4b5", 3, 0),  # out of one attack into another
    ],
)
def test_a_move_is_told_by_the_threats_to_its_squares(fen: str, move: str, index: int, escape: int) -> None:
    position = Position(fen)
    assert _of_move(position.record, position.parse_uci(move)) == (index, escape)
