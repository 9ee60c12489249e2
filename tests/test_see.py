"""The exchange: against a recursion that plays it out on a board of python-chess, one piece after another."""

import random

import chess
import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search.parameters import EXCHANGE_VALUES, by_name, parameters_for
from merino.engine.search.searcher import Searcher
from merino.engine.search.see import escapes, set_threats, threat_index
from merino.eval.families import default
from tests.boards import playouts

VALUES = dict(
    zip(chess.PIECE_TYPES, [*(by_name(parameters_for(default()))[name] for name in EXCHANGE_VALUES), 0], strict=True)
)


def naive_recapture(board: chess.Board, target: chess.Square, side: chess.Color) -> int:
    """What `side` gains by taking on `target` with its least piece, or 0 if it had better not; pins do not count."""
    attackers = board.attackers(side, target)
    if not attackers:
        return 0
    origin = min(attackers, key=lambda square: (board.piece_type_at(square) or 0, square))
    piece, taken = board.piece_at(origin), board.piece_type_at(target)
    assert piece is not None and taken is not None
    if piece.piece_type == chess.KING and board.attackers(not side, target):
        return 0
    after = board.copy(stack=False)
    after.remove_piece_at(origin)
    after.set_piece_at(target, piece)
    return max(0, VALUES[taken] - naive_recapture(after, target, not side))


def naive_gain_alone(board: chess.Board, move: chess.Move) -> int:
    """What a move takes if nobody takes back."""
    captured = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
    promoted = VALUES[move.promotion] - VALUES[chess.PAWN] if move.promotion else 0
    return promoted + (VALUES[captured] if captured else 0)


def naive_gain(board: chess.Board, move: chess.Move) -> int:
    """What the exchange that a move starts gains its side, in centipawns."""
    after = board.copy(stack=False)
    after.push(move)
    return naive_gain_alone(board, move) - naive_recapture(after, move.to_square, not board.turn)


def captures_of_random_games(games: int) -> list[tuple[str, str]]:
    """(FEN, UCI) of every capture and promotion that could be played in random games, each once."""
    rng = random.Random(15)
    found = {}
    for _ in range(games):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 120:
            moves = list(board.legal_moves)
            for move in moves:
                if board.is_capture(move) or move.promotion:
                    found[board.board_fen(), move.uci()] = (board.fen(), move.uci())
            board.push(rng.choice(moves))
    return list(found.values())


def test_exchanges_gain_what_playing_them_out_gives() -> None:
    searcher = Searcher(hash_mb=1)
    captures = captures_of_random_games(6)
    assert len(captures) > 700
    recaptured = 0
    for fen, uci in captures:
        board, position = chess.Board(fen), Position(fen)
        move = chess.Move.from_uci(uci)
        wanted = naive_gain(board, move)
        recaptured += wanted < naive_gain_alone(board, move)
        assert searcher.exchange_gain(position, position.parse_uci(uci)) == wanted, (fen, uci)
    assert recaptured > 240  # enough of them go on after the first capture


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("6k1/8/8/3p4/4B3/5Q2/8/6K1 w - - 0 1", "e4d5"),  # the queen behind the bishop
        ("b5k1/1b6/8/3p4/4B3/5Q2/8/6K1 w - - 0 1", "e4d5"),  # bishop behind bishop against queen behind bishop
        ("q6k/1b6/8/3p4/4P3/5B2/6Q1/6K1 w - - 0 1", "e4d5"),  # pawn, bishop and queen on one diagonal
        ("3r2k1/3r4/8/3p4/8/3R4/3R4/3Q2K1 w - - 0 1", "d3d5"),  # rooks and queen on one file
        ("6bk/8/4p3/3p4/8/2N5/8/3R2K1 w - - 0 1", "c3d5"),  # a bishop behind the pawn that takes back
        ("2q3k1/2r5/8/2p5/8/2R5/2R5/6K1 w - - 0 1", "c3c5"),  # a queen behind a rook
        ("3rk3/8/8/3pP3/8/8/8/3RK3 w - d6 0 1", "e5d6"),  # a rook behind the pawn that goes en passant
        ("4k3/8/4p3/3p4/8/8/8/3RK3 w - - 0 1", "d1d5"),  # a pawn takes the rook
        ("6k1/6p1/8/8/8/6Q1/8/6K1 w - - 0 1", "g3g7"),  # the king takes the queen
        ("6k1/6p1/8/8/8/6Q1/8/B5K1 w - - 0 1", "g3g7"),  # and cannot where she is guarded
        ("4k3/8/8/3p4/3q4/3RK3/8/8 w - - 0 1", "d3d4"),  # the king guards the rook
    ],
)
def test_all_pieces_join_the_exchange_one_after_another(fen: str, move: str) -> None:
    position = Position(fen)
    wanted = naive_gain(chess.Board(fen), chess.Move.from_uci(move))
    assert Searcher(hash_mb=1).exchange_gain(position, position.parse_uci(move)) == wanted


# What the opponent attacks at a node, against python-chess, and what the search makes of it.


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
    for board in playouts(4, 150):
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
def test_a_move_is_indexed_by_the_threats_to_its_squares(fen: str, move: str, index: int, escape: int) -> None:
    position = Position(fen)
    assert _of_move(position.record, position.parse_uci(move)) == (index, escape)
