"""Attack tables against the rays they stand for, and against python-chess."""

import random

import chess
import numpy as np
import pytest

import merino.core.board.attacks
from merino.core.board import attacks as attack_sets
from merino.core.compiled.jit import entry

SLIDER_TABLES = ("_DIAGONALS", "_FIRST_FILE", "_EVERY_RANK", "_FIRST_RANK")


@entry
def _slider_attacks(square, occupied, attacks):
    for index in range(len(occupied)):
        attacks[index, 0] = attack_sets.rook_attacks(square, occupied[index])
        attacks[index, 1] = attack_sets.bishop_attacks(square, occupied[index])
        attacks[index, 2] = attack_sets.queen_attacks(square, occupied[index])


def slider_attacks(square: int, occupied: np.ndarray) -> np.ndarray:
    """Rook's, bishop's and queen's attacks by the tables of lines, uint64[3, n]."""
    attacks = np.zeros((len(occupied), 3), dtype=np.uint64)
    _slider_attacks(square, occupied, attacks)
    return attacks.T


def relevant_squares(square: int, steps: attack_sets.Steps) -> int:
    """The squares whose occupation changes the attacks of a slider here: its rays without their last squares."""
    return sum(1 << target for step in steps for target in attack_sets.ray(square, step)[:-1])


def occupancies(mask: int) -> np.ndarray:
    """Every subset of `mask`, uint64[2 ** bits]."""
    subsets = np.zeros(1, dtype=np.uint64)
    for square in range(64):
        if mask >> square & 1:
            subsets = np.concatenate([subsets, subsets | np.uint64(1 << square)])
    return subsets


@pytest.mark.parametrize("square", chess.SQUARES, ids=chess.SQUARE_NAMES)
def test_the_tables_of_lines_give_the_rays_for_every_occupancy_that_matters(square):
    for steps in (attack_sets.ROOK_STEPS, attack_sets.BISHOP_STEPS):
        relevant = relevant_squares(square, steps)
        occupied = occupancies(relevant)
        noise = np.random.default_rng(square).integers(0, 1 << 64, len(occupied), dtype=np.uint64, endpoint=False)
        occupied |= noise & np.uint64(~relevant & (1 << 64) - 1)
        rook, bishop, queen = slider_attacks(square, occupied)
        assert np.array_equal(rook, attack_sets.ray_attacks(square, attack_sets.ROOK_STEPS, occupied))
        assert np.array_equal(bishop, attack_sets.ray_attacks(square, attack_sets.BISHOP_STEPS, occupied))
        assert np.array_equal(queen, rook | bishop)


def test_the_tables_of_lines_agree_with_python_chess_on_random_boards():
    draw = random.Random(12)
    for square in chess.SQUARES:
        occupied = np.array([draw.getrandbits(64) & draw.getrandbits(64) for _ in range(20)], dtype=np.uint64)
        attacks = slider_attacks(square, occupied)
        for column, kind in enumerate((chess.ROOK, chess.BISHOP, chess.QUEEN)):
            for word, found in zip(occupied.tolist(), attacks[column].tolist(), strict=True):
                board = chess.Board(None)
                board.occupied = word & ~(1 << square)
                board.set_piece_at(square, chess.Piece(kind, chess.WHITE))
                assert found == board.attacks_mask(square)


def test_leapers_attack_what_python_chess_says():
    assert attack_sets.KNIGHT_ATTACKS.tolist() == chess.BB_KNIGHT_ATTACKS
    assert attack_sets.KING_ATTACKS.tolist() == chess.BB_KING_ATTACKS
    assert attack_sets.PAWN_ATTACKS[0].tolist() == chess.BB_PAWN_ATTACKS[chess.WHITE]
    assert attack_sets.PAWN_ATTACKS[1].tolist() == chess.BB_PAWN_ATTACKS[chess.BLACK]


def test_rays_are_the_attacks_on_an_empty_board():
    empty = np.zeros(1, dtype=np.uint64)
    for square in chess.SQUARES:
        assert attack_sets.ROOK_RAYS[square] == attack_sets.ray_attacks(square, attack_sets.ROOK_STEPS, empty)[0]
        assert attack_sets.BISHOP_RAYS[square] == attack_sets.ray_attacks(square, attack_sets.BISHOP_STEPS, empty)[0]


def test_the_squares_between_two_and_the_line_through_them_are_those_of_python_chess():
    for one in chess.SQUARES:
        for other in chess.SQUARES:
            assert attack_sets.BETWEEN[one, other] == chess.between(one, other)
            assert attack_sets.LINES[one, other] == (chess.ray(one, other) if one != other else 0)


def test_the_tables_of_the_sliders_stay_in_the_first_cache():
    tables = [value for value in vars(merino.core.board.attacks).values() if isinstance(value, np.ndarray)]
    assert len(tables) > 5 and max(table.nbytes for table in tables) < 10**6  # more than that numba would not cache
    assert sum(getattr(merino.core.board.attacks, name).nbytes for name in SLIDER_TABLES) < 10 * 1024
