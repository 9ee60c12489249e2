"""Centring of tables: what all cells of a table have in common is told by the term that counts the same pieces.

A knight stands on one square, so 10 centipawns more for each of them are a knight worth 10 more: the scores are the
same. Told by the value, a cell says how much better or worse than usual a piece stands there, and its interval is that
of this difference. Usual is the mean over the cells, each as often as it makes a difference in the training set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from merino.inner.eval.linear.registry import Term, TermSet
from merino.inner.learn.loss_and_gradient import Samples, carrier_counts


def centring_of(sample: Samples, terms: Sequence[Term], phases: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    if not isinstance(terms, TermSet) or not any(term.table is not None and term.table.counts for term in terms):
        return None
    found, counts = np.eye(phases * len(terms)), carrier_counts(sample, phases)[:, 0].astype(np.float64)
    places = {each.name: at for each, at in terms.to_read()}
    for at in places.values():
        table = terms[at.start].table
        if table is None or table.counts is None:
            continue
        at_of = places.get(table.counts)
        for phase in range(phases):
            cells = np.arange(at.start, at.stop) + phase * len(terms)
            whole = _places(at_of, phase * len(terms))
            total = counts[cells].sum()
            may_move = np.isin([*cells, *whole], free).all() and (at_of is not None or not table.counts)
            if total and may_move:
                mean = counts[cells] @ found[cells] / total
                found[cells] -= mean
                if at_of is not None:
                    found[whole] += mean * table.group.multiplier / terms[at_of.start].group.multiplier
    return found


def _places(at: slice | None, first: int) -> np.ndarray:
    """The indices of a term or table in one phase, whose weights begin at `first`."""
    return np.arange(0) if at is None else np.arange(at.start, at.stop) + first
