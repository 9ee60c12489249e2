"""Weights that come with Merino, for tests."""

import numpy as np

from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import SHIPPED, load

ARTICLE = TERMS[:27]  # the article's; numbers drawn for each of them stay the same when the set gains a term
ONE_PHASE = SHIPPED / "tuned.txt"  # one value a term, where the default weights have two


def one_phase() -> np.ndarray:
    """Plausible weights of one phase, float64[terms]."""
    return load(ONE_PHASE)


def article_weights() -> np.ndarray:
    """Those of the article's terms, float64[27]."""
    return one_phase()[: len(ARTICLE)]
