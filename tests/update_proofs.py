"""Proofs that nets of many feature sets are updated without a mistake; each set is compiled, which takes seconds.

`make test-nets` runs them; their name keeps them out of `make test`.
"""

import pytest

from tests.test_net_updates import FROM_SCRATCH, check_long_games
from tools.feature_sets import SETS

PRODUCTS = ("KING*ALL", "KING*(PV+MC)+H", "D1+KING", "MIRRORED(KING8*(ALL+D1+PH)+KING)")


@pytest.mark.parametrize("name", [*SETS, *PRODUCTS, *FROM_SCRATCH[1:]])
def test_sums_along_long_games_are_those_from_scratch(name: str) -> None:
    check_long_games(name)
