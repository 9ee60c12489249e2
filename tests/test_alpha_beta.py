"""The tree of the search, by its size.

Most faults in pruning, reductions and move ordering lose strength and nothing else: no single position shows them, but
the number of nodes does. As in the bench, it changes only with the search; here it needs no net and no terms, and a
second in plain Python for each thousand nodes. Where the change is meant, `python -m tests.test_alpha_beta` prints the
numbers to put here.
"""

from __future__ import annotations

import pytest

from merino.core.board.game import Position
from merino.engine.search.limits import Limits
from merino.engine.search.parameters import parameter_values
from merino.engine.search.searcher import Searcher
from tests.material_family import MaterialEvaluation

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
