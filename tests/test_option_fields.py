"""Options that are fields of a dataclass: parser, help and checks come from the field."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import pytest

from merino.app.console import shared
from merino.core.common.command import UsageError
from merino.core.common.options import Option, add_options, check, given, options_of


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Drawing:
    """A class with options of each kind, and a field that is none."""

    inner: float = 0.0
    per_game: Annotated[int | None, "positions of each game", Option("N", 1, none="all", group="positions")] = 30
    share: Annotated[float, "100% or less", Option("X", 0, 1)] = 0.5
    colour: Annotated[Colour, "its colour", Option()] = Colour.RED
    cache: Annotated[bool, "keep no cache", Option()] = True
    drop: Annotated[bool, "drop terms", Option()] = False
    pair: Annotated[tuple[int, int], "two", Option("A-B", read=lambda text: tuple(map(int, text.split("-"))))] = (1, 2)

    def __post_init__(self) -> None:
        check(self)


def read(*words: str) -> dict[str, object]:
    parser = shared.Parser(prog="merino draw")
    add_options(parser, Drawing)
    return given(vars(parser.parse_args(words)), Drawing)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {}),
        (["--per-game", "7"], {"per_game": 7}),
        (["--per-game", "all", "--drop"], {"per_game": None, "drop": True}),
        (["--no-cache"], {"cache": False}),
        (["--colour", "blue", "--share", "1e-1"], {"colour": Colour.BLUE, "share": 0.1}),
        (["--pair", "3-4"], {"pair": (3, 4)}),
    ],
)
def test_a_command_line_gives_the_fields_that_it_names(words, found):
    assert read(*words) == found


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--per-game", "0"], "'0' is not a whole number above 0 or 'all'"),
        (["--per-game", "9" * 5000], "is more than 1000000000"),
        (["--share", "nan"], "'nan' is not a number from 0 to 1"),
        (["--colour", "green"], "'green' is not one of red, blue"),
        (["--pair", "3-x"], "invalid literal"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_what_is_wanted(words, fault):
    with pytest.raises(UsageError, match=fault):
        read(*words)


def test_the_help_has_each_sentence_with_its_default():
    parser = shared.Parser(prog="merino draw")
    add_options(parser, Drawing, ("per_game", "share", "cache"), share=0.25)
    text = " ".join(parser.format_help().split())
    assert "--per-game N|all positions of each game (default: 30)" in text
    assert "--share X 100% or less (default: 0.25)" in text
    assert "--no-cache keep no cache" in text
    assert "--drop" not in text
    assert next(each.name for each in options_of(Drawing)) == "per_game"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"per_game": 0}, ValueError),
        ({"share": 2}, ValueError),
        ({"per_game": 1.5}, TypeError),
        ({"drop": 1}, TypeError),
    ],
)
def test_a_dataclass_and_a_request_refuse_what_the_command_line_refuses(fields, error):
    with pytest.raises(error, match=next(iter(fields))):
        Drawing(**fields)
    with pytest.raises(error, match=next(iter(fields))):
        given(fields, Drawing, ("per_game", "share", "drop"))
    assert Drawing(colour="blue").colour is Colour.BLUE
