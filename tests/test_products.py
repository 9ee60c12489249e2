"""Products of rows of features, against the plain product of a matrix."""

import numpy as np
import pytest

from merino.eval.linear.phases import STAGES, shares_of_phases
from merino.learn.sample import products_of_columns, products_of_pairs

ROWS, TERMS = 300, 40


@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("multiply", [products_of_columns, products_of_pairs])
def test_products_by_columns_and_by_pairs_are_those_of_the_matrix(multiply, phases: int):
    draw = np.random.default_rng(5)
    features = (draw.integers(-900, 900, (ROWS, TERMS)) * (draw.random((ROWS, TERMS)) < 0.3)).astype(np.int16)
    factors = (draw.random(ROWS) * (draw.random(ROWS) < 0.8)).astype(np.float32)
    shares = shares_of_phases(phases)[:, draw.integers(0, STAGES, ROWS)].astype(np.float32)
    matrix = np.hstack([(factors * share)[:, None] * features.astype(np.float64) for share in shares])
    wanted = matrix.T @ matrix
    np.testing.assert_allclose(multiply(features, factors, shares), wanted, rtol=0, atol=1e-5 * wanted.max())
