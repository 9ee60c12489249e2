"""Words of a command line: as in a shell, with the paths of Windows whole."""

from __future__ import annotations

import shlex
import sys

import pytest

from merino.inner.core.common.quoting import in_one_line, words_of


@pytest.mark.parametrize("text", ["a  b", "'a b' c", r"a\ b", '"say \\"x\\"" y', "a#b '' \"\"", "", "~/x*y", "a;b|c"])
def test_words_are_those_of_a_shell(text: str) -> None:
    assert words_of(text) == shlex.split(text)


def test_on_windows_a_path_keeps_its_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert words_of(r'"C:\my engines\new.exe" D:\x.exe --uci') == [r"C:\my engines\new.exe", r"D:\x.exe", "--uci"]


def test_a_quote_that_does_not_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        words_of("'a b")


def test_what_does_not_print_is_told_by_its_escape_in_one_line() -> None:
    assert in_one_line("a\nb\x1b\u2028\udcf6 ö\\") == r"a\nb\x1b\u2028\udcf6 ö" + "\\"
