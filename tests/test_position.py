"""The board record after each move: keys, checkers, pins and attackers against a fresh start and python-chess."""

import random
from collections import Counter
from functools import cache
from typing import NamedTuple

import chess
import numpy as np
import pytest

from merino.core.board import position as board_record
from merino.core.board.bitboard import EMPTY, colour_of, type_of
from merino.core.board.fen import parse_fen
from merino.core.board.game import Position
from merino.core.board.makemove import make_null
from merino.core.board.move import DOUBLE_PUSH, NORMAL
from merino.core.compiled.jit import entry
from tests.boards import placed, playouts, random_game, records, sparse, start_board

ROOKS = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
PAWNS = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1"


@cache
def boards() -> list[chess.Board]:
    return [*playouts(301, 300), *playouts(302, 50, chess960=True), *sparse(303, 150)]


@entry
def _look(positions, attackers, attacks, attacked, nulls, with_pieces):
    for index in range(len(positions)):
        position = positions[index]
        for square in range(64):
            attackers[index, square] = board_record.attackers_to(
                position, square, board_record.occupied_squares(position)
            )
            piece = int(position.board[square])
            if piece != EMPTY:
                kind, colour = type_of(piece), colour_of(piece)
                attacks[index, square] = board_record.attacks_of(
                    kind, colour, square, board_record.occupied_squares(position)
                )
            for colour in range(2):
                attacked[index, colour, square] = board_record.is_attacked(position, square, colour)
        for colour in range(2):
            with_pieces[index, colour] = board_record.has_pieces(position, colour)
        make_null(nulls[index], position)


@entry
def _checks(positions, moves, checks):
    squares = np.zeros(8, dtype=np.uint64)
    for index in range(len(positions)):
        board_record.set_check_squares(positions[index], squares)
        checks[index] = board_record.gives_check(positions[index], int(moves[index]), squares)


class Looked(NamedTuple):
    """What compiled code sees in each of `boards`."""

    attackers: np.ndarray  # uint64[n, 64], of both colours
    attacks: np.ndarray  # uint64[n, 64], of the piece on the square
    attacked: np.ndarray  # bool[n, 2, 64], by colour
    nulls: np.ndarray  # POSITION[n], after a null move
    with_pieces: np.ndarray  # bool[n, 2], by colour


@pytest.fixture(scope="module")
def looked() -> Looked:
    count = len(boards())
    seen = Looked(
        attackers=np.zeros((count, 64), dtype=np.uint64),
        attacks=np.zeros((count, 64), dtype=np.uint64),
        attacked=np.zeros((count, 2, 64), dtype=bool),
        nulls=np.zeros(count, dtype=board_record.POSITION),
        with_pieces=np.zeros((count, 2), dtype=bool),
    )
    _look(records(boards()), *seen)
    return seen


def contents(positions: np.ndarray) -> dict[str, object]:
    """All fields of POSITION[1] but the padding."""
    return {name: positions[0][name].tolist() for name in board_record.POSITION.names if not name.startswith("_")}


def games(chess960: bool, count: int, plies: int, fen: str | None = None) -> list[chess.Board]:
    """Random games of python-chess with their moves, from a FEN or from the start."""
    played = []
    for seed in range(count):
        draw = random.Random(1000 * chess960 + seed)
        board = chess.Board(fen) if fen else start_board(draw, chess960)
        for _ in random_game(draw, board, plies):
            pass
        played.append(board)
    return played


@pytest.mark.parametrize("fen", [None, ROOKS, PAWNS], ids=["start", "rooks", "pawns"])
@pytest.mark.parametrize("chess960", [False, True], ids=["standard", "chess960"])
def test_a_record_made_move_by_move_is_the_record_of_its_fen(chess960, fen):
    """Keys, pawn keys, checkers and pins included."""
    for game in games(chess960, 30, 40, fen) if fen else games(chess960, 12, 160):
        position = Position(game.root().fen(), chess960)
        for move in game.move_stack:
            position.push_uci(move.uci())
            assert contents(position.record) == contents(parse_fen(position.fen())), position.fen()


def test_the_games_played_here_have_all_that_is_special_in_chess():
    seen = Counter[str]()
    for game in games(False, 12, 160) + games(False, 30, 40, ROOKS) + games(False, 30, 40, PAWNS):
        board = game.root()
        for move in game.move_stack:
            takes_rook = board.is_capture(move) and board.clean_castling_rights() & chess.BB_SQUARES[move.to_square]
            seen["castling"] += board.is_castling(move)
            seen["en passant"] += board.is_en_passant(move)
            seen["promotion"] += move.promotion is not None
            seen["rook taken that could castle"] += bool(takes_rook)
            board.push(move)
    assert min(seen.values()) > 5, seen


def test_two_positions_have_one_key_exactly_if_python_chess_calls_them_the_same():
    boards = {}
    for game in games(False, 6, 160) + games(True, 6, 160):
        board = game.root()
        for move in game.move_stack:
            board.push(move)
            boards[board._transposition_key()] = board.fen()
    keys = {int(parse_fen(fen)[0]["key"]) for fen in boards.values()}
    assert len(keys) == len(boards) > 1000


def test_the_pawn_key_distinguishes_pawn_structures_and_nothing_else():
    by_structure: dict[tuple[int, int], set[int]] = {}
    for board, record in zip(boards(), records(boards()), strict=True):
        pawns = (board.pieces_mask(chess.PAWN, chess.WHITE), board.pieces_mask(chess.PAWN, chess.BLACK))
        by_structure.setdefault(pawns, set()).add(int(record["pawn_key"]))
    assert all(len(keys) == 1 for keys in by_structure.values())
    assert len(set.union(*by_structure.values())) == len(by_structure) > 100


DIFFERENT = [
    ("4k3/8/8/8/8/8/8/4K3 w - -", "4k3/8/8/8/8/8/8/4K3 b - -"),
    ("4k3/8/8/8/8/8/8/4K2R w K -", "4k3/8/8/8/8/8/8/4K2R w - -"),
    ("r3k3/8/8/8/8/8/8/4K2R w Kq -", "r3k3/8/8/8/8/8/8/4K2R w K -"),
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6", "4k3/8/8/3pP3/8/8/8/4K3 w - -"),
    ("4k3/8/8/2pPp3/8/8/8/4K3 w - c6", "4k3/8/8/2pPp3/8/8/8/4K3 w - e6"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_side_castling_and_en_passant_are_part_of_the_key(one, other):
    assert Position(one).keys != Position(other).keys
    assert Position(f"{one} 0 1").keys == Position(f"{one} 30 70").keys, "the counters are no part of it"


def test_checkers_and_pins_are_those_of_python_chess():
    pins = checks = 0
    for board, record in zip(boards(), records(boards()), strict=True):
        own = board.occupied_co[board.turn] & ~board.kings
        pinned = sum(1 << square for square in chess.SquareSet(own) if board.is_pinned(board.turn, square))
        assert int(record["checkers"]) == board.checkers_mask(), board.fen()
        assert int(record["pinned"]) == pinned, board.fen()
        pins, checks = pins + bool(pinned), checks + board.is_check()
    assert pins > 20 and checks > 20


def test_attackers_of_every_square_are_those_of_python_chess(looked):
    for index, board in enumerate(boards()):
        masks = [[board.attackers_mask(colour, at) for at in chess.SQUARES] for colour in (chess.WHITE, chess.BLACK)]
        assert looked.attackers[index].tolist() == [one | other for one, other in zip(*masks, strict=True)]
        assert looked.attacked[index].tolist() == [[mask != 0 for mask in side] for side in masks]


def test_every_piece_attacks_what_python_chess_says(looked):
    for board, attacks in zip(boards(), looked.attacks.tolist(), strict=True):
        assert attacks == [board.attacks_mask(square) for square in chess.SQUARES], board.fen()


def test_an_ordinary_move_gives_check_if_the_moved_piece_attacks_the_king():
    cases, expected = [], []
    for board in boards()[::3]:
        for move in Position(board.fen()).legal_moves:
            if move.kind in (NORMAL, DOUBLE_PUSH):
                after = board.copy(stack=False)
                after.push(chess.Move(move.from_square, move.to_square))
                cases.append((board, move))
                expected.append(bool(after.checkers_mask() & chess.BB_SQUARES[move.to_square]))
    checks = np.zeros(len(cases), dtype=bool)
    _checks(records(board for board, _ in cases), np.array([move for _, move in cases]), checks)
    assert checks.tolist() == expected and sum(expected) > 50


def test_a_null_move_passes_the_turn_and_keeps_the_board(looked):
    for index, board in enumerate(boards()):
        if not board.is_check():
            passed = board.copy()
            passed.push(chess.Move.null())
            assert contents(looked.nulls[index : index + 1]) == contents(parse_fen(passed.fen())), board.fen()


def test_a_side_has_pieces_if_anything_but_king_and_pawns_is_left(looked):
    for board, sides in zip(boards(), looked.with_pieces.tolist(), strict=True):
        pieces = [board.occupied_co[colour] & ~(board.pawns | board.kings) for colour in (chess.WHITE, chess.BLACK)]
        assert sides == [mask != 0 for mask in pieces]
    assert not looked.with_pieces.all()


@pytest.mark.parametrize("men", [("K", "K"), ("KB", "K"), ("KB", "KB"), ("KN", "K"), ("KNN", "K"), ("KN", "KB")])
def test_insufficient_material_is_what_python_chess_calls_it(men):
    draw = random.Random(41)
    for _ in range(30):
        board = placed(draw, *men)
        assert Position(board.fen()).is_insufficient_material() == board.is_insufficient_material(), board.fen()
