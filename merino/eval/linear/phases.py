"""Weights of one phase and of two, and their values as pieces leave the board.

A set of weights is a vector: float64[terms], one value for each term, or float64[2 * terms], the values of the
middlegame and then those of the endgame. Between the two, a weight is interpolated by the pieces that both sides have
left (tapered evaluation): all of them is the middlegame, none the endgame; promoted queens do not go beyond the
middlegame. So the score stays linear in the weights.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from merino.eval.linear.registry import Term
from merino.eval.material import FULL_BOARD

STAGES = FULL_BOARD + 1  # from a bare board of pawns, 0, to the full board
SUFFIXES = ("_mg", "_eg")  # of the names of a weight's two values


def phases_of(weights: np.ndarray, terms: int) -> int:
    """The number of values of each term, 1 or 2, in a vector for this many terms."""
    return len(weights) // terms


def halves(weights: np.ndarray, terms: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of the middlegame and of the endgame, float64[terms] each; the same where there is one phase."""
    return weights[:terms], weights[-terms:]


def by_stage(weights: np.ndarray, terms: int) -> np.ndarray:
    """The weights at each stage, float64[STAGES, terms]."""
    middlegame, endgame = halves(weights, terms)
    return np.asarray(endgame + np.arange(STAGES)[:, None] / FULL_BOARD * (middlegame - endgame))


def shares_of_phases(phases: int) -> np.ndarray:
    """The share of a feature that belongs to each phase, by stage: float64[phases, STAGES]."""
    middlegame = np.arange(STAGES) / FULL_BOARD
    return np.ones((1, STAGES)) if phases == 1 else np.stack([middlegame, 1 - middlegame])


def in_two_phases(weights: np.ndarray, terms: int) -> np.ndarray:
    """The same weights with two values a term."""
    return np.concatenate(halves(weights, terms))


def simplest(weights: np.ndarray, terms: int) -> np.ndarray:
    """The same weights with one value a term, if that is enough."""
    middlegame, endgame = halves(weights, terms)
    return np.array(middlegame if np.array_equal(middlegame, endgame) else weights)


def column_names(terms: Sequence[Term], phases: int) -> list[str]:
    """The name of each number of a vector of weights: those of the terms, or with SUFFIXES."""
    if phases == 1:
        return [term.name for term in terms]
    return [term.name + suffix for suffix in SUFFIXES for term in terms]


def with_values(weights: np.ndarray, values: Mapping[str, float], terms: Sequence[Term]) -> np.ndarray:
    """The weights with other values for some: by the name of a term for both phases, or with one of SUFFIXES for one.

    Other names are ignored; the name of a phase takes precedence over that of its term.
    """
    pairs = in_two_phases(weights, len(terms))
    for index, term in enumerate(terms):
        for phase, suffix in enumerate(SUFFIXES):
            place = index + phase * len(terms)
            pairs[place] = values.get(term.name + suffix, values.get(term.name, pairs[place]))
    return simplest(pairs, len(terms))
