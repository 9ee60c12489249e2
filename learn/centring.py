"""Centring of tables: what all cells of a table have in common is told by the term that counts the same pieces.

A knight stands on one square, so 10 centipawns more for each of them are a knight worth 10 more: the scores are the
same. Told by the value, a cell says how much better or worse than usual a piece stands there, and its interval is that
of this difference. Usual is the mean over the cells, each as often as it makes a difference in the training set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from merino.inner.eval.linear.registry import Term, TermTable, to_read
from merino.inner.learn.loss_and_gradient import Samples, carrier_counts


def centring_of(sample: Samples, terms: Sequence[Term], phases: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    places = {each.name: at for each, at in to_read(terms)}
    tables = [each for each, _ in to_read(terms) if isinstance(each, TermTable) and each.counts is not None]
    if not tables:
        return None
    found, counts = np.eye(phases * len(terms)), carrier_counts(sample, phases)[:, 0].astype(np.float64)
    for table in tables:
        takes_it = places.get(table.counts or "")
        if table.counts and takes_it is None:
            continue  # a derived set may lack the term
        for first in range(0, phases * len(terms), len(terms)):
            cells = _columns(places[table.name], first)
            whole = _columns(takes_it, first) if takes_it else []
            total = counts[cells].sum()
            if total and np.isin([*cells, *whole], free).all():
                mean = counts[cells] @ found[cells] / total
                found[cells] -= mean
                if takes_it:
                    found[whole] += mean * table.group.multiplier / terms[takes_it.start].group.multiplier
    return found


def _columns(at: slice, first: int) -> list[int]:
    """The columns of a term or table in the phase whose weights begin at `first`."""
    return list(range(first + at.start, first + at.stop))
