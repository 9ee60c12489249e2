"""The options of all commands: help, examples, one meaning for one name, older spellings, suggestions."""

import argparse
import shlex
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from merino.app.console import shared
from merino.app.shell.cli import COMMANDS, main
from merino.engine.uci.options import OptionError, find
from merino.lab.cluster.command import PAGE

ONE_NAME_TWO_VALUES = {
    "--out": "a folder where several files are written",
    "--state": "a folder where there are several matches",
    "--target": "Elo of a plan, and what learn fits",
    "--features": "those of a net, and more of the material in points",
    "--positions": "learn chooses which of a game",
}


@cache
def parsers() -> dict[str, shared.Parser]:
    """The parser of each command, and of each command of a command, by its words."""
    found: dict[str, shared.Parser] = {}

    def note(parser: shared.Parser, file: object = None) -> None:
        found[parser.prog.removeprefix("merino ")] = parser

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared.Parser, "print_help", note)
        for name in dict.fromkeys(command.name for command in COMMANDS.values()):
            if name != "help":  # which stands for others
                assert main([name, "-h"]) == 0
    for parser in list(found.values()):
        if parser._subparsers is not None:
            for action in parser._subparsers._group_actions:
                for inner in action.choices.values():
                    note(inner)
    return found


def parsed(line: str) -> dict[str, object]:
    """What a command line without `merino` is read as."""
    words = shlex.split(line)
    name = next(" ".join(words[:count]) for count in (2, 1) if " ".join(words[:count]) in parsers())
    rest = words[len(name.split()) :]
    return {key: value for key, value in vars(parsers()[name].parse_args(rest)).items() if not callable(value)}


def options_of(parser: shared.Parser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings and action.help is not argparse.SUPPRESS]


def test_every_command_of_the_table_has_a_parser() -> None:
    inner = {name.split()[0] for name in parsers()}
    assert inner == {command.name for command in COMMANDS.values()} - {"help"}


def test_every_example_can_be_parsed() -> None:
    lines = [line for parser in parsers().values() for line in parser.examples]
    assert len(lines) >= len(parsers())
    for line in lines:
        assert line.startswith("merino ")
        parsed(line.removeprefix("merino "))


def test_every_option_says_what_it_is_and_stands_in_a_group() -> None:
    for name, parser in parsers().items():
        for action in options_of(parser):
            assert action.help, f"{name} {action.option_strings}"
        grouped = [group for group in parser._action_groups if group._group_actions]
        if len(options_of(parser)) > 5:
            assert len(grouped) > 2, f"{name} has many options and no groups"


def test_one_name_of_an_option_has_one_kind_of_value() -> None:
    kinds: dict[str, set[object]] = {}
    for parser in parsers().values():
        for action in options_of(parser):
            for option in action.option_strings:
                kinds.setdefault(option, set()).add((action.metavar, action.nargs))
    assert {option for option, values in kinds.items() if len(values) > 1} == set(ONE_NAME_TWO_VALUES)


@pytest.mark.parametrize(
    ("name", "option", "default"),
    [
        ("improve", "--state", "improve in your data folder"),
        ("night", "--state", "night in your data folder"),
        ("article", "--state", "./article"),
        ("spsa tune", "--state", "FILE.tune.npz"),
        ("selfplay", "--pgn", "selfplay.pgn"),
    ],
)
def test_the_help_says_where_a_file_goes_that_nobody_names(name: str, option: str, default: str) -> None:
    assert f"(default: {default}" in str(parsers()[name]._option_string_actions[option].help)


def test_what_is_said_of_clusters_names_every_command_that_can_use_one() -> None:
    manual = Path(__file__).resolve().parent.parent / "docs" / "matches.md"
    answer = [PAGE, manual.read_text(encoding="utf-8").partition("## Clusters")[2].partition("It needs")[0]]
    able = {name.split()[0] for name, parser in parsers().items() if "--cluster" in parser._option_string_actions}
    assert {"match", "spsa", "night"} < able
    for text in answer:
        assert not [name for name in able if name not in text]


def test_every_command_that_shows_progress_can_be_silenced() -> None:
    shows = ("LivePrinter", "Progress(", "progress_stream")
    checked = 0
    for name, command in COMMANDS.items():
        source = find_spec(command.target.partition(":")[0])
        assert source is not None and source.origin is not None
        text = Path(source.origin).read_text(encoding="utf-8")
        if any(word in text for word in shows) and name in parsers() and name != "plot":  # only its neighbours do
            parser = parsers()[name]
            inner = [found for words, found in parsers().items() if words.startswith(f"{name} ")]
            assert any("--quiet" in each._option_string_actions for each in (parser, *inner)), name
            checked += 1
    assert checked >= 6


@pytest.mark.parametrize("alias", ["piece-values"])
def test_an_older_command_means_the_same(alias: str) -> None:
    assert COMMANDS[alias] is COMMANDS["points"]


def test_a_mistyped_option_is_answered_with_the_nearest(shell) -> None:
    for name, parser in parsers().items():
        option = max((word for action in options_of(parser) for word in action.option_strings), key=len)
        mistyped = option[:4] + option[5:] + "x"
        said = shell(*name.split(), mistyped, status=2)
        assert said == f"merino: {name}: there is no option '{mistyped}'; did you mean '{option}'?\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["spsa", "tnue"], "'tnue' is not one of simulate, tune, replay, scan, plan; did you mean 'tune'?"),
        (["spsa", "replay", "x.npz", "--methods", "spas"], "argument --methods: there is no method 'spas' among"),
        (["points", "--by", "elos"], "did you mean 'elo'?"),
        (["learn", "a.pgn", "--terms", "RokOpen"], "there is no term 'RokOpen'; did you mean 'RookOpen'?"),
        (["match", "a", "b", "--resign", "movecont=3", "score=9"], "expected movecount=N score=CP, found 'movecont=3 "),
        (
            ["match", "default", "default", "--resign", "score=0", "movecount=3"],
            "merino: match: --resign: a game is won by a score",
        ),
        (["night", "--hours", "1", "--seed", "1732737600123"], "is more than 1000000000"),
        (
            ["match", "a", "b", "--draw", "score=1", "movecount=x", "movenumber=3"],
            "argument --draw: 'x' is not a whole number from 0 on",
        ),
        (["match", "a", "b", "--maxmoves", "1025"], "argument --maxmoves: '1025' is not a whole number from 1 to 1024"),
        (["match", "default", "default", "--sprt", "5", "0"], "merino: match: --sprt: elo0 must be below elo1, not 5"),
        (["match", "default", "default", "--sprt", "0", "300"], "merino: match: --sprt: elo1 must be a number"),
        (["match", "default", "default", "--sprt", "0", "5", "--alpha", "1"], "match: --sprt: alpha must be a number"),
    ],
)
def test_a_mistyped_word_ends_with_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    answer = capsys.readouterr()
    assert said in answer.err and answer.err.startswith("merino: ") and answer.err.count("\n") == 1 and not answer.out


@pytest.mark.parametrize(("typed", "meant"), [("Treads", "Threads"), ("move overhed", "Move Overhead")])
def test_a_mistyped_uci_option_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"there is no option '{typed}'; did you mean '{meant}'"):
        find(typed)


def test_a_missing_argument_ends_with_code_2_and_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    needy = [name for name, parser in parsers().items() if any(a.required for a in parser._get_positional_actions())]
    assert len(needy) > 10
    for name in [*needy, "learn"]:
        assert main(name.split()) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"merino: {name}: missing: ") and said.err.count("\n") == 1 and not said.out
