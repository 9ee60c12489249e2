"""The products of rows of features, X^T X: most of the time of a fit with many weights.

A set of few terms has hardly a zero in its rows: their columns are written out and multiplied as matrices. Where tables
make a set large, nearly all of a row is 0, and what is not is multiplied pair by pair.
"""

from __future__ import annotations

import numpy as np

from merino.core.compiled.jit import entry

MANY_TERMS = 200  # from which pairs are faster: measured, 74 terms and 509 lie on either side
PAIRS = 3  # of phases: the first with itself, the first with the last, the last with itself


def products_of(features: np.ndarray, stages: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """X^T X for some rows, float[columns, columns]; X has a column for each weight, as in `Sums`.

    `features` int16[n, terms]; `stages` uint8[n]; `factors` float32[n], what each row is multiplied by; `shares`
    float64[phases, STAGES], as `shares_of_phases` gives them.
    """
    multiply = products_of_pairs if features.shape[1] >= MANY_TERMS else products_of_columns
    return multiply(features, factors, shares[:, stages].astype(np.float32))


def products_of_columns(features: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The products by columns, summed in float32; `shares`, float32[phases, n], are those of each row."""
    columns = np.hstack([(factors * share)[:, None] * features for share in shares])
    return np.asarray(columns.T @ columns)


def products_of_pairs(features: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The same by pairs of what is not 0, summed in float64."""
    phases, terms = len(shares), features.shape[1]
    first, last = shares[0], shares[-1]
    sums = np.zeros((terms, terms, PAIRS))
    _add_pairs(features, factors, np.stack([first * first, first * last, last * last]), sums.ravel())
    whole = np.moveaxis(sums, 2, 0)
    whole = whole + np.tril(whole, -1).transpose(0, 2, 1)
    return np.block([[whole[row + column] for column in range(phases)] for row in range(phases)])


@entry
def _add_pairs(features, factors, pairs, sums):
    """Add each row's products of two features, the second not after the first, times its `pairs`, float32[PAIRS, n].

    `sums` is float64[terms * terms * PAIRS].
    """
    terms = features.shape[1]
    places, values = np.empty(terms, dtype=np.int64), np.empty(terms, dtype=np.float32)
    for row in range(len(features)):
        found = 0
        for index in range(terms if factors[row] != 0 else 0):
            if features[row, index] != 0:
                places[found], values[found] = index, factors[row] * np.float32(features[row, index])
                found += 1
        for first in range(found):
            line, value = terms * places[first], values[first]
            by_both, by_each, by_last = (value * pairs[0, row], value * pairs[1, row], value * pairs[2, row])
            for second in range(first + 1):
                at = PAIRS * (line + places[second])
                sums[at] += by_both * values[second]
                sums[at + 1] += by_each * values[second]
                sums[at + 2] += by_last * values[second]
