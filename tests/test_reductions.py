"""Extensions of hash moves that stand alone, and the cut where others do as well."""

from __future__ import annotations

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search.parameters import parameter_values
from merino.engine.search.pruning import NO_CUTOFF, singular_extension
from merino.engine.search.transposition import LOWER_BOUND, UPPER_BOUND, TranspositionTable, probe, store
from merino.engine.search.tree import make_move
from merino.engine.search.worker import Worker
from tests.material_family import MaterialEvaluation

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


def test_an_upper_bound_tells_nothing_of_a_move_that_stands_alone() -> None:
    assert extension(580, beta=2000, bound=UPPER_BOUND) == (NO_CUTOFF, 0)
