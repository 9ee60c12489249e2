"""The parameters of the search: what a user may call them, and which values they take."""

import pytest

from merino.engine.search import parameters
from merino.eval.families import default
from merino.lab.tune.parameters import TunedParameter, TuneError, check_tunable, own_parameters
from merino.match.players import read_player


def test_every_old_name_of_a_parameter_sets_the_one_of_today() -> None:
    assert parameters.OLD_NAMES
    for old, new in parameters.OLD_NAMES.items():
        low, high = next(row.bounds for row in parameters.PARAMETERS if row.name == new)
        value = low if parameters.by_name(parameters.parameter_values())[new] != low else high
        assert parameters.by_name(parameters.parameter_values({old: value}))[new] == value
        assert read_player(f"{old}={value}").identity() == read_player(f"{new}={value}").identity()
        assert own_parameters(default())[old] == own_parameters(default())[new]


def test_old_names_are_none_of_today() -> None:
    names = [row.name for row in parameters.PARAMETERS]
    assert len(set(names) | set(parameters.OLD_NAMES)) == len(names) + len(parameters.OLD_NAMES)
    assert parameters.current_name("razor_depth") == "razor_depth"


def test_a_parameter_under_both_its_names_is_refused() -> None:
    old, new = next(iter(parameters.OLD_NAMES.items()))
    with pytest.raises(parameters.ParameterError, match=f"{new} is given twice"):
        parameters.parameter_values({old: 50, new: 50})
    with pytest.raises(TuneError, match=f"{new} is listed twice"):
        check_tunable([TunedParameter(name, 70, 60, 100, 5) for name in (old, new)], own_parameters(default()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"razor_dpth": 1}, "there is no search parameter 'razor_dpth'"), ({"razor_depth": 7}, "outside 0..6")],
)
def test_an_unknown_name_or_a_value_out_of_bounds_is_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(parameters.ParameterError, match=message):
        parameters.parameter_values(changes)
