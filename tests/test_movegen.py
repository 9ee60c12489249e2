"""Move generation and move making against python-chess on random positions, Chess960 among them."""

import chess
import numpy as np
import pytest

from benchmarks.perft_suite import count_leaves
from merino.core.board import bitboard, movegen
from merino.core.board.fen import parse_fen
from merino.core.board.move import CASTLING, DOUBLE_PUSH, EN_PASSANT, PROMOTION, Move
from merino.core.board.perft import perft
from merino.core.compiled.jit import entry
from tests.boards import playouts, records, sparse

# Rarely seen in playouts: pins against en passant, double checks, castling through and out of attacks, castling that
# uncovers an attack along the rank, and the most moves a position can have.
SPECIAL = [
    "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1",
    "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
    "4k3/8/8/2KpP3/8/8/8/8 w - d6 0 1",
    "8/8/8/1k1Pp2R/8/8/8/4K3 w - e6 0 1",
    "3k4/8/8/2KpP3/8/8/8/3r4 w - d6 0 1",
    "3r3k/8/8/3PpP2/8/8/8/3K4 w - e6 0 1",
    "7k/8/8/3PpP2/8/7b/8/2K5 w - e6 0 1",
    "1k6/8/8/1pPp4/8/8/8/K7 w - b6 0 1",
    "4k3/8/8/8/pP6/8/8/4K3 b - b3 0 1",
    "4k3/8/8/8/5pPp/8/8/4K3 b - g3 0 1",
    "4k3/8/4r3/8/7b/8/8/4K2R w K - 0 1",
    "4k3/4r3/8/8/7b/8/8/R3K2R w KQ - 0 1",
    "1r2k2r/8/8/8/8/8/8/R3K2R w KQk - 0 1",
    "r3k1r1/8/8/8/8/8/8/R3K2R w KQq - 0 1",
    "7k/8/8/8/8/8/8/qRK5 w Q - 0 1",
    "7k/8/8/8/8/8/8/nRK5 w Q - 0 1",
    "k7/8/8/8/8/8/8/1K4Rr w K - 0 1",
    "k7/8/8/8/8/8/8/1R2K1R1 w KQ - 0 1",
    "5rkr/8/8/8/8/8/8/RK6 b kq - 0 1",
    "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
    "1n5k/P1P4P/8/8/8/8/8/K7 w - - 0 1",
]


@entry
def _lists(positions, moves, counts):
    for index in range(len(positions)):
        for wanted in range(3):
            counts[index, wanted] = movegen.generate(positions[index], moves[index, wanted], wanted, bitboard.FULL)
        counts[index, 3] = movegen.count_legal(positions[index])


@entry
def _accepted(positions, accepted):
    scratch = np.zeros(movegen.MAX_MOVES, dtype=np.int32)
    for index in range(len(positions)):
        for word in range(65536):
            accepted[index, word] = movegen.is_legal(positions[index], scratch, word)


@entry
def _noisy_ones(positions, moves, counts, noisy):
    for index in range(len(positions)):
        for place in range(counts[index]):
            noisy[index, place] = movegen.is_noisy(positions[index], int(moves[index, place]))


def generated(positions: np.ndarray) -> tuple[list[list[list[Move]]], np.ndarray]:
    """For each position the moves of ALL, NOISY and QUIET, and how many `count_legal` counts."""
    moves = np.zeros((len(positions), 3, movegen.MAX_MOVES), dtype=np.int32)
    counts = np.zeros((len(positions), 4), dtype=np.int64)
    _lists(positions, moves, counts)
    lists = [
        [[Move(move) for move in moves[i, wanted, : counts[i, wanted]]] for wanted in range(3)]
        for i in range(len(positions))
    ]
    return lists, counts[:, 3]


def standard_boards() -> tuple[chess.Board, ...]:
    return playouts(201, 200)


def chess960_boards() -> tuple[chess.Board, ...]:
    return playouts(202, 50, chess960=True, plies=60)


def all_boards() -> list[chess.Board]:
    special = [chess.Board(fen, chess960=True) for fen in SPECIAL]
    return [*standard_boards(), *chess960_boards(), *sparse(203, 100), *special]


@pytest.fixture(scope="module")
def lists() -> list[tuple[chess.Board, list[list[Move]], int]]:
    """Each board with its three move lists and its count."""
    boards = all_boards()
    moves, counts = generated(records(boards))
    return list(zip(boards, moves, counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("boards", "number"),
    [(standard_boards, n) for n in range(0, 200, 4)] + [(chess960_boards, n) for n in range(0, 50, 2)],
)
def test_perft_3_of_a_random_position_is_that_of_python_chess(boards, number):
    board = boards()[number]
    assert perft(parse_fen(board.fen()), 3) == count_leaves(board.copy(), 3)


def test_the_legal_moves_are_those_of_python_chess(lists):
    for board, (moves, _, _), _ in lists:
        expected = sorted(board.uci(move, chess960=True) for move in board.legal_moves)
        assert sorted(move.uci(chess960=True) for move in moves) == expected, board.fen()


def test_noisy_and_quiet_moves_together_are_all_moves_and_are_counted(lists):
    for board, moves, count in lists:
        every = moves[movegen.ALL]
        assert count == len(every) == len(set(every)) <= movegen.MAX_MOVES, board.fen()
        assert sorted(moves[movegen.NOISY] + moves[movegen.QUIET]) == sorted(every), board.fen()
        noisy = [move for move in board.legal_moves if board.is_capture(move) or move.promotion]
        expected = sorted(board.uci(move, chess960=True) for move in noisy)
        assert sorted(move.uci(chess960=True) for move in moves[movegen.NOISY]) == expected, board.fen()


def test_a_move_is_noisy_exactly_if_it_is_among_the_noisy_moves(lists):
    sample = [*lists[::5], *lists[-len(SPECIAL) :]]
    counts = np.array([len(moves[movegen.ALL]) for _, moves, _ in sample])
    moves = np.zeros((len(sample), movegen.MAX_MOVES), dtype=np.int32)
    for row, (_, found, _) in zip(moves, sample, strict=True):
        row[: len(found[movegen.ALL])] = found[movegen.ALL]
    noisy = np.zeros((len(sample), movegen.MAX_MOVES), dtype=bool)
    _noisy_ones(records(board for board, _, _ in sample), moves, counts, noisy)
    for row, (board, found, _) in zip(noisy, sample, strict=True):
        assert [move for move, is_one in zip(found[movegen.ALL], row, strict=False) if is_one] == [
            move for move in found[movegen.ALL] if move in found[movegen.NOISY]
        ], board.fen()


def test_the_kind_of_a_move_says_what_python_chess_says(lists):
    seen = set()
    for board, (moves, _, _), _ in lists:
        for move in moves:
            known = board.parse_uci(board.uci(chess.Move.from_uci(move.uci(chess960=True)), chess960=board.chess960))
            is_double = (
                board.piece_type_at(move.from_square) == chess.PAWN and abs(move.from_square - move.to_square) == 16
            )
            assert (move.kind == CASTLING) == board.is_castling(known) == move.is_castling
            assert (move.kind == EN_PASSANT) == board.is_en_passant(known)
            assert (move.kind == DOUBLE_PUSH) == is_double
            assert (move.kind >= PROMOTION) == (known.promotion is not None) == (move.promotion is not None)
            seen.add(move.kind)
    assert seen == set(range(8))


def test_a_16_bit_word_is_legal_exactly_if_it_is_in_the_list(lists):
    sample = lists[::5] + lists[-len(SPECIAL) :]
    accepted = np.zeros((len(sample), 65536), dtype=bool)
    _accepted(records(board for board, _, _ in sample), accepted)
    for (board, (moves, _, _), _), row in zip(sample, accepted, strict=True):
        assert np.flatnonzero(row).tolist() == sorted(moves), board.fen()


def test_the_position_with_the_most_moves_fits_the_list(lists):
    assert max(count for _, _, count in lists) == 218
