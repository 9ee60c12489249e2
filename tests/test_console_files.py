"""Games and positions in files: what the console saves is valid PGN, and what it loads is what the file says."""

import datetime
import gzip
import re
import threading
from pathlib import Path

import chess
import chess.pgn
import pytest

from merino.app.console import games
from merino.core.board.fen import START_FEN
from merino.core.common import about, files
from tests.boards import games_in

ENDGAME = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"

TWO_GAMES = """\
[Event "First"]
[White "Anderssen"]
[Black "Kieseritzky"]
[Result "1-0"]

1. e4 {the best} e5 2. f4 (2. Nf3 Nc6) exf4 $1 3. Bc4 1-0

[Event "Second"]
[Site "London"]
[White "Ünal"]
[Black "B"]
[Result "1/2-1/2"]
[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]
[SetUp "1"]

1. e4 Ke7 1/2-1/2
"""


def moves_of(game: chess.pgn.Game) -> list[str]:
    return [move.uci() for move in game.mainline_moves()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "games.pgn"


def test_a_saved_game_is_read_back_by_python_chess_and_equal(talk, path):
    assert talk.say("e4", "Nf3", f"save {path}").endswith(f"Saved in {path}\n")
    assert talk.say("pgn") == path.read_text()
    (game,) = games_in(path)
    assert moves_of(game) == talk.moves
    assert dict(game.headers) == {
        "Event": "Game at the console",
        "Site": "?",
        "Date": datetime.date.today().strftime("%Y.%m.%d"),
        "Round": "-",
        "White": "Human",
        "Black": f"{about.NAME} {about.__version__}",
        "Result": "*",
    }


@pytest.mark.parametrize(
    ("begin", "headers", "moves"),
    [
        (f"setboard {ENDGAME}", {"FEN": ENDGAME, "SetUp": "1"}, ("e4", "Kd7")),
        ("new 960 0", {"Variant": "Chess960"}, ("d4", "d5")),
    ],
)
def test_a_game_from_a_position_is_saved_with_it(talk, path, begin, headers, moves):
    talk.say(begin, "force", *moves, f"save {path}")
    (game,) = games_in(path)
    assert headers.items() <= dict(game.headers).items() and moves_of(game) == talk.moves
    assert game.end().board().board_fen() == talk.session.position.fen().split()[0]
    is_960, played = talk.session.position.chess960, talk.moves
    assert game.board().chess960 == is_960
    talk.say("new", f"load {path}")
    assert talk.session.position.chess960 == is_960 and talk.moves == played


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        (("force", "f3", "e5", "g4", "Qh4#"), "0-1"),
        (("e4", "resign"), "0-1"),
        (("force", "e4", "resign"), "1-0"),
        (("force", "e4", "draw"), "1/2-1/2"),
        (("force", "e4", "draw", "undo"), "*"),
        (("force", "e4", "resign", "new"), "*"),
    ],
)
def test_the_result_is_saved(talk, path, lines, result):
    talk.say(*lines, f"save {path}")
    (game,) = games_in(path)
    assert game.headers["Result"] == result
    assert path.read_text().rstrip().endswith(result)


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_a_second_game_is_added_to_the_file(talk, path, mark):
    path.write_text(mark + TWO_GAMES, encoding="utf-8")
    assert "Saved as game 3 of" in talk.say("force", "e4", f"save {path}")
    assert "Saved as game 4 of" in talk.say("new", "force", "d4", f"save {path}")
    assert [moves_of(game)[0] for game in games_in(path)] == ["e2e4", "e2e4", "e2e4", "d2d4"]
    assert path.read_text(encoding="utf-8").startswith(mark + TWO_GAMES)


def test_a_save_waits_for_that_of_another_console(talk, path, monkeypatch):
    def save_another() -> None:
        with files.held(path):
            is_held.set()
            is_waited_for.wait()
            path.write_text(TWO_GAMES, encoding="utf-8")

    is_held, is_waited_for = threading.Event(), threading.Event()
    other = threading.Thread(target=save_another)
    other.start()
    is_held.wait()
    monkeypatch.setattr(games, "WAITING_SECONDS", 0.0)
    assert "nother run of Merino works on" in talk.say("force", "e4", f"save {path}")
    monkeypatch.setattr(games, "WAITING_SECONDS", 60.0)
    monkeypatch.setattr(files.time, "sleep", lambda _: is_waited_for.set())
    assert "Saved as game 3 of" in talk.say(f"save {path}")
    other.join()
    assert len(games_in(path)) == 3 and list(path.parent.iterdir()) == [path]


def test_saving_again_after_more_moves_replaces_the_shorter_game(talk, path):
    path.write_text(TWO_GAMES, encoding="utf-8")
    talk.say("force", "e4", f"save {path}", "e5", f"save {path}")
    assert [len(moves_of(game)) for game in games_in(path)] == [5, 2, 2]
    talk.say("undo", "c5", f"save {path}")  # another course of the game: both stay
    assert [moves_of(game)[-1] for game in games_in(path)[2:]] == ["e7e5", "c7c5"]


def test_a_file_whose_name_ends_in_gz_is_compressed(talk, tmp_path):
    path = tmp_path / "games.pgn.gz"
    path.write_bytes(gzip.compress(TWO_GAMES.encode()))
    assert "Saved as game 3 of" in talk.say("force", "e4", f"save {path}")
    assert "Saved as game 3 of" in talk.say("e5", f"save {path}")
    text = gzip.decompress(path.read_bytes()).decode()
    assert text.startswith(TWO_GAMES) and text.count("[Event ") == 3 and "1. e4 e5 *" in text
    path.write_text(TWO_GAMES)
    assert "Cannot read" in talk.say("d4", f"save {path}")
    assert path.read_text() == TWO_GAMES


def test_a_file_that_is_no_pgn_or_cannot_be_written_stays(talk, path, monkeypatch):
    path.write_text("my diary\n")
    assert "is not a PGN file: choose another name" in talk.say("force", "e4", f"save {path}")
    assert path.read_text() == "my diary\n"
    path.write_text(head := '[White "Anna"]\n\n')
    assert "behind its last game it would be read as 1 game, not 2" in talk.say(f"save {path}")
    assert path.read_text() == head
    assert "Cannot write" in talk.say(f"save {path}/deeper/game.pgn")
    assert "Cannot write" in talk.say(f"save {path.parent}")
    path.write_text(TWO_GAMES, encoding="utf-8")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    assert "No space left on device" in talk.say(f"save {path}")
    assert path.read_text(encoding="utf-8") == TWO_GAMES
    assert list(path.parent.iterdir()) == [path]


def test_a_game_is_loaded_by_its_number(talk, path):
    path.write_text("\ufeff" + TWO_GAMES, encoding="utf-8")
    assert talk.say(f"load {path}") == "Game 1: Anderssen - Kieseritzky, 1-0, 5 plies.\n"
    assert talk.moves == ["e2e4", "e7e5", "f2f4", "e5f4", "f1c4"]
    assert "Game 2: Ünal - B" in talk.say(f'load "{path}" 2')
    assert talk.session.position.start_fen() == ENDGAME
    assert talk.moves == ["e2e4", "e8e7"]


def test_a_loaded_game_keeps_its_tags_until_it_takes_another_course(talk, path):
    path.write_text(TWO_GAMES, encoding="utf-8")
    talk.say(f"load {path} 2")
    (kept,) = games_in(talk.say("pgn"))
    assert (kept.headers["Site"], kept.headers["White"], kept.headers["Result"]) == ("London", "Ünal", "1/2-1/2")
    text = talk.say("undo", "force", "Kd7", "pgn")
    assert "London" not in text and "Ünal" not in text
    assert '[White "Human"]' in text and "1. e4 Kd7 *" in text


@pytest.mark.parametrize(
    ("answer", "line", "result"),
    [("*", "resign", "0-1"), ("*", "draw", "1/2-1/2"), ("*", "fen", "*"), ("1-0", "fen", "1-0")],
)
def test_a_loaded_game_gets_its_result(talk, path, answer, line, result):
    path.write_text(f'[Event "?"]\n[White "A"]\n[Result "{answer}"]\n\n1. e4 e5 {answer}\n')
    talk.say("force", f"load {path}", line)
    (kept,) = games_in(talk.say("pgn"))
    assert (kept.headers["White"], kept.headers["Result"]) == ("A", result)


def test_a_position_is_loaded_by_its_line(talk, path):
    path.write_text(f'# positions\n{START_FEN}\n\n4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id "pawn";\n')
    talk.say(f"load {path}")
    assert talk.session.position.fen() == START_FEN
    assert 'Position 2: bm e4; id "pawn";' in talk.say(f"load {path} 2")
    assert talk.session.position.fen() == ENDGAME


@pytest.mark.parametrize(
    ("content", "number", "fault"),
    [
        (TWO_GAMES, 3, "ends with game 2"),
        (f"{START_FEN}\n", 2, "ends with position 1"),
        ("", 1, "holds neither games nor positions"),
        ("hello world\n", 1, "holds neither games nor positions"),
        ("hello world, 1-0\n", 1, "holds neither games nor positions"),
        (f"two games\n\n{TWO_GAMES}", 3, "ends with game 2"),
        ("8/8/8/8/8/8/8/8 w - - 0 1\n", 1, "position 1 of"),
        ('[FEN "nonsense"]\n\n1. e4 *\n', 1, "game 1 of"),
        ('[Variant "Atomic"]\n\n1. e4 *\n', 1, "game 1 of"),
    ],
)
def test_what_cannot_be_loaded_is_reported(talk, path, content, number, fault):
    path.write_text(content, encoding="utf-8")
    talk.say("force", "e4")
    said = talk.say(f"load {path} {number}").lower()
    assert fault in said and f"'{path}'".lower() in said
    assert talk.moves == ["e2e4"]


@pytest.mark.parametrize("variant", ["From Position", "Chess 960", "wild/2"])
def test_a_game_of_chess_under_another_name_is_loaded(talk, path, variant):
    path.write_text(f'[Variant "{variant}"]\n[SetUp "1"]\n[FEN "{ENDGAME}"]\n\n1. e4 *\n')
    talk.say(f"load {path}")
    assert talk.moves == ["e2e4"]
    assert "No such file" in talk.say(f"load {path}x")
    assert "Usage: load" in talk.say("load") and "Usage: save" in talk.say("save")


@pytest.mark.parametrize(
    ("text", "fault", "moves"),
    [
        ("1. e4 e5 (1... Z0 2. d4) 2. Ke3 Nc6 *", "'Ke3' is not a legal move here", "e2e4 e7e5"),
        ("1. e4 e5 (1... Z0 2. d4) 2. -- Nc6 *", "'--' is a null move", "e2e4 e7e5"),
        ("1. e4 e5 (1... Z0 2. d4) 2. Z0 Nc6 *", "'Z0' is a null move", "e2e4 e7e5"),
        ("1. d4 d5) d4 *", "'d4' is not a legal move here", "d2d4 d7d5"),
    ],
)
def test_a_game_with_a_faulty_move_is_loaded_up_to_it(talk, path, text, fault, moves):
    path.write_text(f"{text}\n")
    assert f"The rest of it cannot be read: {fault}" in talk.say(f"load {path}")
    assert talk.moves == moves.split()
    assert re.search(r"played again: [de]5\n$", talk.say("undo", "redo"))
