"""Sets of squares: each primitive's Python meaning, its compiled form, and what python-chess makes of the same."""

import random

import chess
import numpy as np
import pytest

from merino.core.board import bitboard
from merino.core.compiled.jit import entry

draw = random.Random(64)
WORDS = [1, 1 << 63, (1 << 64) - 1, 0x8000_0000_0000_0001, *(1 << square for square in range(64))]
WORDS += [draw.getrandbits(64) & draw.getrandbits(64) or 1 for _ in range(500)] + [
    draw.getrandbits(64) | 1 << 63 for _ in range(500)
]
NAMES = ("popcount", "lsb", "mirror", "north_fill", "south_fill", "beside", "white pawns", "black pawns", "bit")


@entry
def _primitives(words, results):
    for index in range(len(words)):
        word, row = words[index], results[index]
        row[0], row[1], row[2] = (
            bitboard.U64(bitboard.popcount(word)),
            bitboard.U64(bitboard.lsb(word)),
            bitboard.mirror(word),
        )
        row[3], row[4], row[5] = bitboard.north_fill(word), bitboard.south_fill(word), bitboard.adjacent(word)
        row[6], row[7] = bitboard.pawn_attacks(word, 0), bitboard.pawn_attacks(word, 1)
        row[8] = bitboard.bit(bitboard.lsb(word))


@pytest.fixture(scope="module")
def compiled() -> dict[str, list[int]]:
    results = np.zeros((len(WORDS), len(NAMES)), dtype=np.uint64)
    _primitives(np.array(WORDS, dtype=np.uint64), results)
    return dict(zip(NAMES, results.T.tolist(), strict=True))


def shifted(word: int, steps: list[tuple[int, int]]) -> int:
    """The squares that lie one of these (file, rank) steps from a square of the set, the board's edge in mind."""
    targets = 0
    for square in chess.SquareSet(word):
        for files, ranks in steps:
            file, rank = chess.square_file(square) + files, chess.square_rank(square) + ranks
            if 0 <= file < 8 and 0 <= rank < 8:
                targets |= 1 << chess.square(file, rank)
    return targets


@pytest.mark.parametrize("name", ["popcount", "lsb", "mirror"])
def test_a_primitive_means_the_same_in_python_and_compiled(compiled, name):
    meaning = getattr(bitboard, name)
    assert compiled[name] == [int(meaning(bitboard.U64(word))) for word in WORDS]


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("popcount", lambda word: len(chess.SquareSet(word))),
        ("lsb", lambda word: min(chess.SquareSet(word))),
        ("bit", lambda word: 1 << min(chess.SquareSet(word))),
        ("mirror", chess.flip_vertical),
    ],
)
def test_a_primitive_is_what_python_chess_makes_of_the_set(compiled, name, meaning):
    assert compiled[name] == [meaning(word) for word in WORDS]


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("north_fill", [(0, ranks) for ranks in range(8)]),
        ("south_fill", [(0, -ranks) for ranks in range(8)]),
        ("beside", [(-1, 0), (1, 0)]),
        ("white pawns", [(-1, 1), (1, 1)]),
        ("black pawns", [(-1, -1), (1, -1)]),
    ],
)
def test_a_shift_goes_where_its_steps_go_and_never_round_the_edge(compiled, name, steps):
    assert compiled[name] == [shifted(word, steps) for word in WORDS]


def test_squares_files_and_ranks_are_numbered_as_in_python_chess():
    assert list(bitboard.SQUARE_NAMES) == chess.SQUARE_NAMES
    assert [int(file) for file in bitboard.FILES] == chess.BB_FILES
    assert [int(rank) for rank in bitboard.RANKS] == chess.BB_RANKS
    assert int(bitboard.DARK_SQUARES) == chess.BB_DARK_SQUARES
