"""What a run begins with from nothing: the values of the pieces that every beginner is told, and all other terms 0."""

from __future__ import annotations

import numpy as np

from merino.inner.eval.linear.registry import Group, TermSet
from merino.inner.learn.errors import LearnError

PIECES = (100.0, 300.0, 300.0, 500.0, 900.0)  # centipawns: pawn, knight, bishop, rook, queen


def pieces_alone(terms: TermSet) -> np.ndarray:
    """Weights of one phase for a set of terms that know the values of the pieces and nothing else.

    Raises LearnError where the set does not begin with the five kinds of pieces, as those of Merino do.
    """
    weights = np.zeros(len(terms))
    if any(term.group is not Group.MATERIAL or term.bounds[1] < max(PIECES) for term in terms[: len(PIECES)]):
        raise LearnError(
            f"the set '{terms.name}' does not begin with the values of pawn, knight, bishop, rook and queen"
        )
    weights[: len(PIECES)] = PIECES
    return weights
