"""The tree of the search, by its size.

Most faults in pruning, reductions and move ordering lose strength and nothing else: no single position shows them, but
the number of nodes does. As in the bench, it changes only with the search; here it needs no net and no terms, and a
second in plain Python for each thousand nodes. Where the change is meant, `python -m tests.test_alpha_beta` prints the
numbers to put here.
"""

import random

import chess
import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search.limits import Limits
from merino.engine.search.parameters import parameter_values
from merino.engine.search.searcher import Searcher
from merino.engine.search.tree import is_draw, make_move
from tests.material_family import MaterialEvaluation
from tests.workers import worker_at

DEPTH = 7
# So that shallow trees have it all, and have it on both sides of the depth where it begins or ends.
EARLY = {"singular_depth": 4, "probcut_depth": 3, "probcut_margin": 50, "null_move_verify_depth": 6}
EARLY |= dict.fromkeys(["reverse_futility_depth", "late_move_pruning_depth", "futility_depth", "see_depth"], 4)
EARLY |= {"noisy_futility_depth": 4, "history_pruning_depth": 3, "razor_depth": 2, "history_pruning_margin": 500}
NODES = {
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": 1177,
    "8/8/1p1k1p2/p1p2P1p/P1P1K2P/1P6/8/8 b - - 0 1": 1101,
    "r2q1rk1/1b1nbppp/p2ppn2/1p6/3NP3/1BN1BP2/PPPQ2PP/2KR3R b - - 3 12": 3033,
    "3r2k1/5ppp/2N5/1P6/4n3/8/5PPP/2R3K1 b - - 90 50": 2950,
    "3r1rk1/pp3ppp/2p1bn2/4p3/1q2P3/1BN2P2/PPQ3PP/3R1R1K b - - 4 18": 2198,
}


def nodes_of(fen: str) -> int:
    """The nodes of a search by a new searcher."""
    searcher = Searcher(hash_mb=1, evaluation=MaterialEvaluation(), parameters=parameter_values(EARLY))
    line = searcher.search(Position(fen), Limits(depth=DEPTH)).line
    assert line is not None
    return line.nodes


@pytest.mark.parametrize(("fen", "nodes"), NODES.items())
def test_the_tree_changes_only_where_that_is_meant(fen: str, nodes: int) -> None:
    assert nodes_of(fen) == nodes, "if that is meant, see the docstring of this module"


if __name__ == "__main__":
    for position in NODES:
        print(f'    "{position}": {nodes_of(position)},')


# Draws in the tree: repetitions since the root and over the game, fifty moves; against a list of python-chess.

WITH_RIGHTS = "r3k3/p7/8/8/8/8/P7/R3K3 w Qq - 0 1"  # so the first positions differ from the same boards later
PLAIN = WITH_RIGHTS.replace("Qq", "-")
KING_SQUARES = (chess.D1, chess.E1, chess.D8, chess.E8, chess.D2)
FOUR = ["e1d1", "e8d8", "d1e1", "d8e8"]  # after which the same board stands again


@entry
def _draws_on_the_way(records, moves, draws):
    for ply in range(len(moves)):
        make_move(records[0], ply, moves[ply])
        draws[ply] = is_draw(records[0], ply + 1)


def draws_in_tree(fen: str, before: list[str], line: list[str]) -> list[bool]:
    """Whether each position of `line` is a draw for a search that begins after the moves `before`."""
    position = Position(fen)
    position.push_all(before)
    worker = worker_at(position, MaterialEvaluation())
    moves = np.array([int(move) for move in position.copy().push_all(line)])
    draws = np.zeros(len(line), dtype=np.bool_)
    _draws_on_the_way(worker.record, moves, draws)
    return draws.tolist()


def naive_draws(fen: str, before: list[str], line: list[str]) -> list[bool]:
    """The same, by looking at all positions of the game one by one."""
    board = chess.Board(fen)
    seen = [board._transposition_key()]
    for move in before:
        board.push_uci(move)
        seen.append(board._transposition_key())
    root, draws = len(seen) - 1, []
    for move in line:
        board.push_uci(move)
        now = board._transposition_key()
        twice = now in seen[root + 1 :] or seen.count(now) >= 2
        seen.append(now)
        draws.append(twice or board.halfmove_clock >= 100 and not board.is_checkmate())
    return draws


def random_shuffle(rng: random.Random) -> list[str]:
    """King moves between few squares."""
    board, moves = chess.Board(WITH_RIGHTS), []
    for _ in range(24):
        king = chess.BB_SQUARES[board.king(board.turn) or 0]
        legal = [move for move in board.generate_legal_moves(king) if move.to_square in KING_SQUARES]
        moves.append(rng.choice(legal).uci())
        board.push_uci(moves[-1])
    return moves


def test_random_shuffles_are_draws_where_looking_at_every_position_says_so() -> None:
    rng, found, in_all = random.Random(3), 0, 0
    for _ in range(20):
        moves = random_shuffle(rng)
        cut = rng.randrange(len(moves))
        wanted = naive_draws(WITH_RIGHTS, moves[:cut], moves[cut:])
        assert draws_in_tree(WITH_RIGHTS, moves[:cut], moves[cut:]) == wanted, (moves, cut)
        found, in_all = found + sum(wanted), in_all + len(wanted)
    assert 25 < found < in_all - 25


DRAWN_OR_NOT = [
    (PLAIN, [], [*FOUR, FOUR[0]]),  # it stood once since the root
    (PLAIN, FOUR[:2], FOUR[2:] + FOUR[:2]),  # and once before it, which is no draw
    (PLAIN, FOUR + FOUR[:2], FOUR[2:]),  # but twice is
    (PLAIN, FOUR + FOUR, FOUR[:1]),
    *((PLAIN.replace("0 1", f"{clock} 80"), [], ["e1d1", "e8d8"]) for clock in (97, 98, 99)),
    ("k7/8/1K6/8/8/8/8/7R w - - 99 80", [], ["h1h8"]),  # a mate on the hundredth ply
    (PLAIN.replace("0 1", "40 80"), [], ["a2a4", "e8d8", "e1d1", "d8e8", "d1e1", "e8d8"]),
]


@pytest.mark.parametrize(("fen", "before", "line"), DRAWN_OR_NOT)
def test_repetitions_and_fifty_moves_are_draws_in_the_tree_but_no_mate(fen: str, before: list[str], line: list[str]):
    assert draws_in_tree(fen, before, line) == naive_draws(fen, before, line)


def test_a_mate_is_no_draw_by_material_in_the_tree() -> None:
    fen, there = "6bk/8/5K2/8/8/8/8/2B5 w - - 0 1", ["c1d2", "g8f7", "f6f7"]
    assert draws_in_tree(fen, [], there) == [False, False, True], "a lone bishop cannot mate"
    quiet = ["f6g6", "g8b3", "c1a3", "b3g8"]
    assert draws_in_tree(fen, [], [*quiet, "a3b2"]) == [False, False, True, True, False], "the last one mates"
    assert draws_in_tree(fen, [], [*quiet, "a3c5"]) == [False, False, True, True, True]
