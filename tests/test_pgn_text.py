"""Writing PGN: what is written is read back as it was, by python-chess."""

import io
import re
from collections.abc import Sequence
from itertools import pairwise

import chess
import chess.pgn
import pytest

from merino.core.board.fen import START_FEN
from merino.core.board.game import RESULTS
from merino.formats import pgn_text
from merino.formats.pgn_games import plain_value
from merino.match.report import _TERMINATIONS

KINGS = "4k3/8/8/8/8/8/4P3/4K3 b - - 3 40"


def written(tags: dict[str, str], words: list[str], moves: Sequence[str] = ()) -> chess.pgn.Game:
    game = chess.pgn.read_game(io.StringIO(pgn_text.game_text(tags, words, moves)))
    assert game is not None and not game.errors
    return game


@pytest.mark.parametrize("value", ['a "b" \\ c', "back\\", '"', "ü, [x] {y} ; %", ""])
def test_the_value_of_a_tag_is_read_back_as_it_was(value: str):
    found = written({"Event": value}, ["*"]).headers["Event"]  # python-chess leaves the escapes to its callers
    assert re.sub(r"\\(.)", r"\1", found) == value


def test_a_tag_stays_on_its_line():
    assert pgn_text.tag_pair("White", 'a\nb\t"c"') == '[White "a b \\"c\\""]'


def test_a_comment_holds_no_brace_and_no_line_end():
    assert pgn_text.comment("is {not} closed }\n[%eval 1]") == "{ is (not) closed ) [%eval 1] }"
    assert written({}, ["1.", "e4", pgn_text.comment("a } b"), "*"], ["e2e4"]).next().comment.strip() == "a ) b"


def test_moves_have_a_number_where_a_reader_wants_one():
    board, words, moves = chess.Board(KINGS), list[str](), ["e8d8", "e1d1", "d8e8", "e2e4", "e8e7"]
    for text, follows in zip(moves, (False, True, True, True, False), strict=True):
        words += pgn_text.push_move(board, chess.Move.from_uci(text), follows)
    assert words == ["40...", "Kd8", "41.", "Kd1", "Ke8", "42.", "e4", "42...", "Ke7"]
    assert written(pgn_text.start_tags(KINGS), [*words, "*"], moves).end().board().fen() == board.fen()


def test_only_a_game_from_elsewhere_names_its_start():
    assert pgn_text.start_tags(START_FEN) == {}
    assert list(pgn_text.start_tags(KINGS)) == ["SetUp", "FEN"]


@pytest.mark.parametrize("width", [5, 20, 80])
def test_lines_are_as_full_as_they_may_be_and_no_word_is_broken(width: int):
    words = [*(f"{number:02}" + "word" * (number % 4) for number in range(40)), "{ a comment of several words }"]
    lines = pgn_text.wrapped(words, width)
    assert " ".join(lines) == " ".join(words)
    for line, following in pairwise(lines):
        assert len(line) <= width or line in words
        assert len(line) + 1 + len(next(word for word in words if following.startswith(word))) > width
    assert pgn_text.wrapped([]) == []


def test_games_follow_each_other_after_an_empty_line():
    text = pgn_text.game_text({"Event": "a"}, ["1.", "e4", "1-0"], ["e2e4"])
    assert text == '[Event "a"]\n\n1. e4 1-0\n\n'
    file = io.StringIO(text * 2)
    assert [chess.pgn.read_game(file) is None for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize(
    ("tags", "words", "how"),
    [
        ({"White": "Anna"}, ["1.", "e4", "e5", "1-0"], "its moves"),
        ({"White": "Anna"}, ["1.", "e4", "{ a", "1-0"], "its result"),
        ({"White": "Anna", 'a"b': "c"}, ["1.", "e4", "1-0"], "its tags"),
        ({"White": "Anna", "Result": "0-1"}, ["1.", "e4", "1-0"], "its fault"),
        ({"White": "Anna"}, ["1.", "e4", "*", "1.", "d4", "1-0"], "as 2 games, not 1"),
        ({"White": "Anna"}, ["1.", "e4", "+-"], "its result"),
    ],
)
def test_a_game_that_would_be_read_otherwise_is_not_written(tags: dict[str, str], words: list[str], how: str):
    with pytest.raises(pgn_text.MisreadError, match=f"'Anna - None' cannot be written as PGN: .*{how}"):
        pgn_text.game_text(tags, words, ["e2e4"])
    assert pgn_text.game_text({"White": "Anna", "Annotator": 'a\tb "c"'}, ["1.", "e4", "1-0"], ["e2e4"])


def test_results_are_those_of_pgn():
    assert set(RESULTS.values()) == {"1-0", "0-1", "1/2-1/2"}
    assert {*_TERMINATIONS.values()} == {"time forfeit", "rules infraction", "adjudication", "abandoned"}


def test_a_game_with_comments_signs_and_variations_reads_back_as_it_was() -> None:
    text = (
        '[Event "a \\"great\\" one"]\n[Site "?"]\n[Date "????.??.??"]\n[Round "?"]\n[White "?"]\n[Black "?"]\n'
        '[Result "*"]\n\n{ first } 1. e4 $1 { [%eval 0.3,9] a {good start } 1... e5 ( { why not } 1... c5 2. Nf3 '
        "( 2. c3 $6 ) 2... d6 ) 2. Nf3 { 100 % of all } *"
    )
    game = chess.pgn.read_game(io.StringIO(text))
    game.headers["Event"] = plain_value(game.headers["Event"])
    found = pgn_text.tree_text(game, width=30)
    assert " ".join(found.split()) == " ".join(text.split())
    assert all(len(line) <= 30 for line in found.partition("\n\n")[2].splitlines())
    assert not [line for line in found.splitlines() if line.startswith(("%", "$", ")", "}"))]
    again = chess.pgn.read_game(io.StringIO(found))
    again.headers["Event"] = game.headers["Event"]
    assert pgn_text.tree_text(again, width=30) == found


def test_only_what_stands_between_two_moves_makes_the_second_take_a_number() -> None:
    text = "1. e4 $1 e5 $6 2. Nf3 { knight } 2... Nc6 3. Bb5 ( 3. Bc4 Nf6 ) 3... a6 *"
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert pgn_text.tree_text(game).split("\n\n")[1].replace("\n", " ") == text
