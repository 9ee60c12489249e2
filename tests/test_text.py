"""Words of a command line: as in a shell, with the paths of Windows whole."""

import shlex
import sys

import pytest

from merino.core.common.text import as_word, in_one_line, words_of


@pytest.mark.parametrize("text", ["a  b", "'a b' c", r"a\ b", '"say \\"x\\"" y', "a#b '' \"\"", "", "~/x*y", "a;b|c"])
def test_words_are_those_of_a_shell(text: str) -> None:
    assert words_of(text) == shlex.split(text)


def test_on_windows_a_path_keeps_its_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert words_of(r'"C:\my engines\new.exe" D:\x.exe --uci') == [r"C:\my engines\new.exe", r"D:\x.exe", "--uci"]


@pytest.mark.parametrize("path", ["new.txt", "Anna's games/new.txt", "a b", '"x" $HOME `y`', "'", ""])
def test_a_path_in_a_command_to_copy_is_one_word_for_every_shell(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shlex.split(f"merino plot {as_word(path)} --x") == ["merino", "plot", path, "--x"]
    monkeypatch.setattr(sys, "platform", "win32")
    assert as_word(r"C:\my games\new.txt") == r'"C:\my games\new.txt"'


def test_a_quote_that_does_not_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        words_of("'a b")


def test_what_does_not_print_is_stated_by_its_escape_in_one_line() -> None:
    assert in_one_line("a\nb\x1b\u2028\udcf6 ö\\") == r"a\nb\x1b\u2028\udcf6 ö" + "\\"
