"""Feature sets: each block against the same written plainly with python-chess, and the algebra of expressions."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import chess
import numpy as np
import pytest

from merino.core.board.fen import parse_fen
from merino.core.compiled.jit import entry
from merino.eval.net import blocks, view
from merino.eval.net.features import FeatureError, features
from merino.lab.nets import gradient
from merino.lab.nets.features_command import words_of
from tests.boards import records

SIZES = {
    "ALL": 768, "H": 96, "V": 96, "D1": 180, "D2": 180, "PH": 1152, "PV": 1152, "MB": 768, "MC": 206, "KING": 64,
}  # fmt: skip
CAPS = (8, 15, 16, 25, 25, 8)
THESIS_BOARD = "2k5/p6b/8/8/3P4/2K5/P1N5/8 w - - 0 1"  # the example of the thesis
TWO_GROUPS = "aaaaaaaa/aaaaaaaa/aaaaaaaa/aaaaaaaa/aaaaaaaa/aaaaaaaa/aaaaaaaa/0000aaaa"
STARTS = (chess.STARTING_FEN, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")


def kind(piece: chess.Piece) -> int:
    """Role and colour as one number; White is "own"."""
    return 2 * (piece.piece_type - 1) + (piece.color == chess.BLACK)


def pieces(board: chess.Board) -> Iterator[tuple[int, int, int]]:
    """File, rank and kind of each piece."""
    for square, piece in board.piece_map().items():
        yield chess.square_file(square), chess.square_rank(square), kind(piece)


def pairs(lines: list[list[int]], board: chess.Board) -> set[int]:
    """The pairs of neighbours on each line, a line being squares in order."""
    found = set()
    for number, squares in enumerate(lines):
        on_it = [kind(board.piece_at(square)) for square in squares if board.piece_at(square)]
        found |= {number * 144 + first * 12 + second for first, second in pairwise(on_it)}
    return found


def moves(board: chess.Board) -> set[tuple[int, int]]:
    """(kind, destination) of all that can move, for both sides."""
    found = set()
    for origin, piece in board.piece_map().items():
        for target in chess.SQUARES:
            there = board.piece_at(target)
            if there and there.color == piece.color:
                continue
            if piece.piece_type == chess.PAWN:
                forward = origin + (8 if piece.color == chess.WHITE else -8)
                reached = target == forward and not there or there and target in board.attacks(origin)
            else:
                reached = target in board.attacks(origin)
            if not reached:
                continue
            after = board.copy(stack=False)
            after.remove_piece_at(origin)
            after.set_piece_at(target, piece)
            if not after.is_attacked_by(not piece.color, after.king(piece.color)):
                found.add((kind(piece), target))
    return found


def counts(board: chess.Board) -> set[int]:
    """The one active count of each kind."""
    able, found, start = moves(board), set(), 0
    for number in range(12):
        cap = CAPS[number // 2]
        found.add(start + min(cap, sum(1 for moving, _ in able if moving == number)))
        start += cap + 1
    return found


NAIVE: dict[str, Callable[[chess.Board], set[int]]] = {
    "ALL": lambda board: {(file * 8 + rank) * 12 + what for file, rank, what in pieces(board)},
    "H": lambda board: {file * 12 + what for file, rank, what in pieces(board)},
    "V": lambda board: {rank * 12 + what for file, rank, what in pieces(board)},
    "D1": lambda board: {(file + rank) * 12 + what for file, rank, what in pieces(board)},
    "D2": lambda board: {(file + 7 - rank) * 12 + what for file, rank, what in pieces(board)},
    "PH": lambda board: pairs([[8 * rank + file for file in range(8)] for rank in range(8)], board),
    "PV": lambda board: pairs([[8 * rank + file for rank in range(8)] for file in range(8)], board),
    "MB": lambda board: {square * 12 + what for what, square in moves(board)},
    "MC": counts,
    "KING": lambda board: {board.king(chess.WHITE)},
    "KING8": lambda board: {int(("0123321044555544" + 16 * "6" + 32 * "7")[board.king(chess.WHITE)])},
}


def on_the_left(board: chess.Board) -> chess.Board:
    """The board, mirrored left to right where White's king is on the right."""
    is_on_the_right = chess.square_file(board.king(chess.WHITE)) > 3
    return board.transform(chess.flip_horizontal) if is_on_the_right else board


def boards(count: int) -> list[chess.Board]:
    """Random positions, the same on each run; treat them as read-only."""
    rng, found = drawn()
    while len(found) < count:
        board = chess.Board(rng.choice(STARTS))
        for _ in range(rng.randrange(90)):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
        found.append(board)
    return found[:count]


@cache
def drawn() -> tuple[random.Random, list[chess.Board]]:
    """What `boards` draws with, and has drawn so far: more of them begin with the same as fewer."""
    return random.Random(20), []


@entry
def _both_ways(positions, seen, turned):
    view.look(positions[0], 1, seen)
    view.look(positions[0], 0, turned[0])
    gradient.look_back(turned[0], turned[1])


@pytest.mark.parametrize("name", NAIVE)
def test_a_block_is_what_python_chess_says_it_is(name: str) -> None:
    chosen = boards(60 if name in ("MB", "MC") else 200)
    for board, (white, black) in zip(chosen, features(name).active(records(chosen)), strict=True):
        assert white.tolist() == sorted(NAIVE[name](board)), board.fen()
        assert black.tolist() == sorted(NAIVE[name](board.mirror())), board.fen()


def test_the_naive_blocks_are_those_there_are() -> None:
    assert list(NAIVE) == [*blocks.BLOCKS, *blocks.KINGS] and set(SIZES) < set(NAIVE)


@pytest.mark.parametrize("name", SIZES)
def test_blocks_have_the_sizes_of_the_thesis(name: str) -> None:
    assert features(name).size == SIZES[name]


def test_the_example_of_the_thesis() -> None:
    record = parse_fen(THESIS_BOARD)
    files = features("H")
    said = [words_of(files, int(index)) for index in files.active(record)[0][0]]
    assert said == [
        "own pawn on file a", "other pawn on file a", "own knight on file c", "own king on file c",
        "other king on file c", "own pawn on file d", "other bishop on file h",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAIVE)
def test_each_index_has_words_of_its_own(name: str) -> None:
    found = features(name)
    assert len({words_of(found, index) for index in range(found.size)}) == found.size


def test_words_say_what_is_on_the_board() -> None:
    found = features("KING*ALL+MC")
    white, _ = found.active(parse_fen("8/8/8/8/8/1k6/1p6/1K6 w - - 0 1"))[0]
    assert words_of(found, int(white[0])) == "own king on b1 and own king on b1"
    assert "squares that own king can move to: 0" in [words_of(found, int(index)) for index in white]
    with pytest.raises(IndexError):
        words_of(found, found.size)
    groups = features("MIRRORED(KING8)")
    assert words_of(groups, 3) == "own king on d1 or e1 (mirrored)"
    assert words_of(groups, 6) == "own king in group 6, between a3 and h4 (mirrored)"


def test_what_a_side_sees_turned_is_what_the_other_sees() -> None:
    for board in boards(50):
        seen = np.zeros(view.VIEW_SIZE, dtype=np.uint64)
        turned = np.zeros((2, view.VIEW_SIZE), dtype=np.uint64)
        _both_ways(parse_fen(board.fen()), seen, turned)
        assert (seen == turned[1]).all()


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("ALL+H+V", [("ALL", 768, 0), ("H", 96, 768), ("V", 96, 864)]),
        ("king * all", [("KING*ALL", 49152, 0)]),
        ("(H+V)+KING", [("H", 96, 0), ("V", 96, 96), ("KING", 64, 192)]),
        ("KING*(H+V)+ALL", [("KING*(H+V)", 12288, 0), ("ALL", 768, 12288)]),
        ("((H))", [("H", 96, 0)]),
        ("mirrored(king8*(h+v)+D1)+H", [("MIRRORED(KING8*(H+V)+D1)", 8 * 192 + 180, 0), ("H", 96, 1716)]),
        (f"king[{TWO_GROUPS}]*H", [(f"KING[{TWO_GROUPS}]*H", 192, 0)]),
    ],
)
def test_sums_follow_one_another_and_products_multiply(expression: str, parts: list[tuple[str, int, int]]) -> None:
    assert [tuple(part) for part in features(expression).parts] == parts
    assert features(expression).size == sum(size for _, size, _ in parts)
    assert features(features(expression).name) == features(expression)


@pytest.mark.parametrize(
    ("expression", "size", "index"),
    [
        ("KING*H", 64 * 96, lambda b: {k * 96 + h for k in NAIVE["KING"](b) for h in NAIVE["H"](b)}),
        ("H*KING", 64 * 96, lambda b: {h * 64 + k for k in NAIVE["KING"](b) for h in NAIVE["H"](b)}),
        (
            "KING*(V+D1)",
            64 * 276,
            lambda b: {k * 276 + x for k in NAIVE["KING"](b) for x in NAIVE["V"](b) | {96 + d for d in NAIVE["D1"](b)}},
        ),
        (
            "(V+KING)*H",
            160 * 96,
            lambda b: {x * 96 + h for h in NAIVE["H"](b) for x in NAIVE["V"](b) | {96 + k for k in NAIVE["KING"](b)}},
        ),
        ("PV+ALL", 1920, lambda b: NAIVE["PV"](b) | {1152 + x for x in NAIVE["ALL"](b)}),
        (
            f"KING[{TWO_GROUPS}]*ALL",
            1536,
            lambda b: {(b.king(chess.WHITE) > chess.D1) * 768 + x for x in NAIVE["ALL"](b)},
        ),
        (
            "MIRRORED(KING8*ALL)",
            6144,
            lambda b: {768 * k + x for k in NAIVE["KING8"](b) for x in NAIVE["ALL"](on_the_left(b))},
        ),
        (
            "PH+MIRRORED(D1+PH)+D2+MIRRORED(KING)",
            1152 + 180 + 1152 + 180 + 64,
            lambda b: (
                NAIVE["PH"](b)
                | {1152 + x for x in NAIVE["D1"](on_the_left(b))}
                | {1332 + x for x in NAIVE["PH"](on_the_left(b))}
                | {2484 + x for x in NAIVE["D2"](b)}
                | {2664 + x for x in NAIVE["KING"](on_the_left(b))}
            ),
        ),
    ],
)
def test_indices_of_sums_and_products_are_of_mixed_radix(expression, size, index) -> None:
    chosen = boards(40)
    found = features(expression)
    assert found.size == size
    for board, (white, black) in zip(chosen, found.active(records(chosen)), strict=True):
        assert white.tolist() == sorted(index(board))
        assert black.tolist() == sorted(index(board.mirror()))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        *(
            (text, "or an operator is missing")
            for text in ("", "ALL+", "(ALL+H", "ALL)", "ALL H", "ALL+&", "MB[*MC", "\0")
        ),
        *((text, "a block is expected") for text in ("ALL-H", "ALL+7", "(H, V)", "H(V)", "H.V", "-H", "MIRRORED()")),
        ("ALL+FOO", "no block 'FOO'"),
        ("H[0]", "no block 'H[0]'"),
        ("KING[0]*ALL", "no block 'KING[0]' (there are ALL, H"),
        ("KING*KING*ALL", "has 3145728, and"),
        ("MB*MC", "has 158208, and"),
        ("KING*KING*KING*H", "is the most"),
        ("(" * 250 + "ALL" + ")" * 250, "or a parenthesis"),
        ("MIRRORED(" * 3000 + "ALL" + ")" * 3000, "3000 operators and parentheses"),
        ("+".join(["H"] * 5000), "4999 operators"),
    ],
)
def test_nonsense_is_refused_with_the_reason(expression: str, said: str) -> None:
    with pytest.raises(FeatureError, match="feature") as refused:
        features(expression)
    assert said in str(refused.value)


def test_the_command_lists_blocks_and_what_is_active(shell) -> None:
    printed = shell("features", "ALL+H", THESIS_BOARD, "--json")
    assert printed["size"] == 864
    assert printed["blocks"] == [{"name": "ALL", "size": 768, "offset": 0}, {"name": "H", "size": 96, "offset": 768}]
    board = chess.Board(THESIS_BOARD)
    for side, seen in (("white", board), ("black", board.mirror())):
        assert printed[side] == sorted(NAIVE["ALL"](seen) | {768 + index for index in NAIVE["H"](seen)})
    lines = shell("features", "ALL+H", THESIS_BOARD)
    assert "own king on c3" in lines and "other pawn on file a" in lines


def test_the_command_takes_the_start_position_and_refuses_nonsense(shell) -> None:
    assert "own king on e1" in shell("features", "KING")
    assert "an operator is missing" in shell("features", "KING+", status=2)
    assert "Traceback" not in shell("features", "KING", "no position", status=1)
