"""The parameters of the search: what a user may call them, and which values they take."""

import pytest

from merino.engine.search.parameters import (
    OLD_NAMES,
    PARAMETERS,
    ParameterError,
    by_name,
    current_name,
    parameter_values,
)
from merino.eval.families import default
from merino.lab.tune.parameters import TunedParameter, TuneError, check_tunable, own_parameters
from merino.match.players import read_player


def test_every_old_name_of_a_parameter_sets_the_one_of_today() -> None:
    assert OLD_NAMES
    for old, new in OLD_NAMES.items():
        low, high = next(row.bounds for row in PARAMETERS if row.name == new)
        value = low if by_name(parameter_values())[new] != low else high
        assert by_name(parameter_values({old: value}))[new] == value
        assert read_player(f"{old}={value}").identity() == read_player(f"{new}={value}").identity()
        assert own_parameters(default())[old] == own_parameters(default())[new]


def test_old_names_are_none_of_today() -> None:
    names = [row.name for row in PARAMETERS]
    assert len(set(names) | set(OLD_NAMES)) == len(names) + len(OLD_NAMES)
    assert current_name("razor_depth") == "razor_depth"


def test_a_parameter_under_both_its_names_is_refused() -> None:
    old, new = next(iter(OLD_NAMES.items()))
    with pytest.raises(ParameterError, match=f"{new} is given twice"):
        parameter_values({old: 50, new: 50})
    with pytest.raises(TuneError, match=f"{new} is listed twice"):
        rows = [TunedParameter(name, 70, 60, 100, 5) for name in (old, new)]
        check_tunable(rows, own_parameters(default()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"razor_dpth": 1}, "there is no search parameter 'razor_dpth'"), ({"razor_depth": 7}, "outside 0..6")],
)
def test_an_unknown_name_or_a_value_out_of_bounds_is_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parameter_values(changes)
