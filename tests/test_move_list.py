"""Lists of moves as people type and paste them: one definition for the console and for the page."""

import pytest

from merino.app.explorer.games import read_text
from merino.app.explorer.state import RequestError
from merino.engine.notation.san import MoveList, move_list, without_move_number
from tests.talk import Talk

LISTS = [
    ("1. e4 e5 2. Nf3", MoveList(["e4", "e5", "Nf3"], 1, False)),
    ("1.e4 e5 2.Nf3 1/2-1/2", MoveList(["e4", "e5", "Nf3"], 1, False)),
    ("1... e5 2. Nf3", MoveList(["e5", "Nf3"], 1, True)),
    ("1\u2026e5", MoveList(["e5"], 1, True)),
    ("e4 e5\n2. Nf3\tNc6 *", MoveList(["e4", "e5", "Nf3", "Nc6"], None, False)),
    (" 12. O-O 0-0", MoveList(["O-O", "0-0"], 12, False)),
    ("e42. Nf3", MoveList(["e42.", "Nf3"], None, False)),  # a number begins a word
    ("* e4 1-0", MoveList(["*", "e4"], None, False)),  # only what ends the list is its result
    ("1234567. e4", MoveList(["1234567.", "e4"], None, False)),
    (f"{'9' * 5000}. e4", MoveList([f"{'9' * 5000}.", "e4"], None, False)),
    ("1.", MoveList([], 1, False)),
    ("", MoveList([], None, False)),
]


@pytest.mark.parametrize(("text", "found"), LISTS)
def test_a_list_of_moves_is_split_into_numbers_moves_and_result(text: str, found: MoveList) -> None:
    assert move_list(text) == found


@pytest.mark.parametrize(
    ("text", "move"),
    [("1. e4", "e4"), ("3...Nf6", "Nf6"), ("7\u2026 d5", "d5"), ("1.", "1."), ("e4 2. d4", "e4 2. d4")],
)
def test_a_number_before_a_single_move_is_left_out(text: str, move: str) -> None:
    assert without_move_number(text) == move


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 e5 2. Nf3 Nc6",
        "1.e4 e5 2.Nf3 Nc6 *",
        "e4\u2003e5 2. Nf3 2\u2026 Nc6",
        "1. e4 1... e5",
        "1. e4, e5, 2. Nf3, Nc6",
    ],
)
def test_the_console_and_the_page_read_the_same_moves_in_a_list(talk: Talk, text: str) -> None:
    talk.say(text)
    assert [move.uci for move in read_text(text, None).games[0].moves] == talk.moves != []


@pytest.mark.parametrize("text", ["e42. Nf3", "1234567. e4 e5", "* e4 e5"])
def test_the_console_and_the_page_refuse_what_is_no_list(talk: Talk, text: str) -> None:
    talk.say(text)
    assert not talk.moves
    with pytest.raises(RequestError, match="is none of what is read here"):
        read_text(text, None)
