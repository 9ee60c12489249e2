"""Pruning that single positions show: null moves where they prove something, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search.parameters import parameter_values
from merino.engine.search.pruning import NO_CUTOFF, mate_distance_pruning, null_move_pruning, singular_extension
from merino.engine.search.transposition import LOWER_BOUND, UPPER_BOUND, TranspositionTable, probe, store
from merino.engine.search.tree import make_move, make_null_move
from merino.engine.search.worker import Worker
from tests.material_family import MaterialEvaluation

ROOK_AHEAD = "4k3/ppp5/8/8/8/8/PPP5/R3K3 b - - 0 1"


@entry
def _null_move(records, move, beta, depth, static_eval):
    """Null move pruning at ply 1, after `move`, or after a null move for 0."""
    s = records[0]
    if move == 0:
        make_null_move(s, 0)
    else:
        make_move(s, 0, move)
    s.root_depth = depth
    s.plies[1].static_eval = s.plies[1].raw_eval = static_eval
    return null_move_pruning(s, 1, beta, depth, static_eval)


@entry
def _mate_distance(ply, alpha, beta):
    return mate_distance_pruning(ply, alpha, beta)


def after_pass(fen: str, move: str | None, beta: int, depth: int = 4, full_width: bool = False) -> int:
    """What a pass at ply 1 shows if the static evaluation is well above beta."""
    values = parameter_values({"null_move_verify_depth": 99})
    worker = Worker(TranspositionTable(1), np.zeros(1, dtype=np.uint64), MaterialEvaluation(), values)
    position = Position(fen)
    worker.set_root(position, full_width)
    made = int(position.parse_uci(move)) if move else 0
    return int(_null_move(worker.record, made, beta, depth, beta + 100))


def test_a_pass_that_keeps_the_score_above_beta_cuts_off() -> None:
    assert after_pass(ROOK_AHEAD, "e8f8", 300) >= 300
    assert after_pass(ROOK_AHEAD, "e8f8", 700) == NO_CUTOFF


def test_nobody_passes_twice_in_a_row() -> None:
    assert after_pass(ROOK_AHEAD, None, 300) == NO_CUTOFF


def test_nobody_passes_with_pawns_alone_where_a_move_may_be_worse_than_none() -> None:
    pawns = "4k3/ppp5/8/8/8/8/PPPPP3/4K3 b - - 0 1"
    assert after_pass(pawns, "e8f8", 100) == NO_CUTOFF
    assert after_pass(pawns.replace("PPPPP3/4K3", "PPP5/R3K3"), "e8f8", 100) >= 100


def test_a_mate_after_a_pass_proves_no_more_than_beta() -> None:
    """The queen mates after any move of the king, but only because he has to move."""
    beta = 5000  # which only a mate exceeds
    assert after_pass("8/5K1k/8/8/8/8/8/6Q1 b - - 0 1", "h7h8", beta, depth=9, full_width=True) == beta


@pytest.mark.parametrize("ply", [0, 1, 30])
def test_no_mate_is_nearer_than_the_next_move_and_no_being_mated_nearer_than_now(ply: int) -> None:
    assert _mate_distance(ply, -32500, 32500) == (ply - 32000, 32000 - ply - 1)
    assert _mate_distance(ply, -10, 10) == (-10, 10)


# Extensions of hash moves that stand alone, and the cut where others do as well.

DEPTH = 4
MARGIN = 16 * 10 // DEPTH  # so that a move is alone if all others are more than ten centipawns below it
VALUES = parameter_values({"singular_depth": DEPTH, "singular_margin": MARGIN, "singular_double_margin": 50})


@entry
def _extend(records, first, move, score, bound, beta, is_cut_node):
    """Singular extension at ply 1, where the table knows `move` with this score: its result, and the extension."""
    s = records[0]
    make_move(s, 0, first)
    s.root_depth, s.plies[1].is_cut_node = 10, is_cut_node
    store(s, 1, move, score, 0, DEPTH, bound, False)
    found = singular_extension(s, 1, beta, DEPTH, probe(s, 1))
    return found, s.plies[1].extension


def extension(score: int, beta: int, bound: int = LOWER_BOUND, is_cut_node: bool = False) -> tuple[int, int]:
    """For White, a rook ahead, whose moves are all worth 500."""
    worker = Worker(TranspositionTable(1), np.zeros(1, dtype=np.uint64), MaterialEvaluation(), VALUES)
    position = Position("4k3/ppp5/8/8/8/8/PPP5/R3K3 b - - 0 1")
    worker.set_root(position, full_width=False)
    first = int(position.parse_uci("e8f8"))
    position.push(first)
    found = _extend(worker.record, first, int(position.parse_uci("a1b1")), score, bound, beta, is_cut_node)
    return int(found[0]), int(found[1])


@pytest.mark.parametrize(("score", "plies"), [(505, 0), (515, 1), (550, 1), (580, 2)])
def test_a_hash_move_that_stands_alone_is_searched_deeper(score: int, plies: int) -> None:
    assert extension(score, beta=2000) == (NO_CUTOFF, plies)


@pytest.mark.parametrize(("beta", "found"), [(394, 395), (395, 395), (396, NO_CUTOFF)])
def test_a_node_with_two_moves_up_to_beta_needs_no_search(beta: int, found: int) -> None:
    assert extension(405, beta)[0] == found


def test_a_hash_move_above_beta_that_does_not_stand_alone_is_searched_less_deeply() -> None:
    assert extension(405, beta=400) == (NO_CUTOFF, -1)
    assert extension(405, beta=406) == (NO_CUTOFF, 0)


def test_at_a_cut_node_a_hash_move_that_others_match_is_searched_less_deeply() -> None:
    assert extension(405, beta=406, is_cut_node=True) == (NO_CUTOFF, -2)
    assert extension(515, beta=2000, is_cut_node=True) == (NO_CUTOFF, 1)


def test_an_upper_bound_shows_nothing_of_a_move_that_stands_alone() -> None:
    assert extension(580, beta=2000, bound=UPPER_BOUND) == (NO_CUTOFF, 0)
