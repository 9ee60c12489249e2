"""The unfinished game of the console: kept after every move, offered at the next start, and continued as it was."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from merino.app.console import games, loop
from merino.core.board.fen import START_FEN
from merino.engine.search.strength import at_level
from tests.talk import Talk

DAY = 86400
TODAYS = """[PlyCount "3"]
[Person "White"]
[Seen "White"]
[Limit "level 40 5 2"]
[Thought "0 1500"]
[Clocks "300000 300500 0 1"]
[Elo "1500"]
[Style "Jo"]
[StyleCoefficients "{}"]
[Undone "b8c6"]
[Saved "2 100 0123456789abcdef /tmp/a%20b.pgn"]
[Event "Game at the console"]
[Site "?"]
[Date "2026.11.28"]
[Round "-"]
[White "Human"]
[Black "Merino 1.0.0"]
[Result "*"]

1. e4 e5 2. Nf3 *
"""  # as Merino 1.0 wrote them


class Console(Talk):
    """A console at which a person sits, with its unfinished game in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.session.unfinished = self.unfinished = games.UnfinishedFile(
            folder / "unfinished" / "1.pgn", self.session.say_wrapped
        )
        self.session.offer_unfinished()
        self.greeting = self.out.getvalue()

    def leave(self) -> None:
        """End as a process does: its lock is gone, and nothing else happens."""
        self.unfinished.close()

    def run(self, *lines: str | None) -> str:
        """What the loop of the prompt prints for these lines; None is the end of the input."""
        self.out.truncate(0)
        rest = iter(lines)
        loop.run_lines(self.session, lambda prompt: next(rest))
        return self.out.getvalue()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Console]]:
    started: list[Console] = []

    def begin() -> Console:
        started.append(Console(tmp_path))
        return started[-1]

    yield begin
    for console in started:
        console.leave()


def files_in(folder: Path) -> list[Path]:
    return sorted((folder / "unfinished").glob("*.pgn"))


def first_move(path: Path) -> str:
    return games.read_kept(path.read_text()).position.moves[0].uci()


def test_a_game_is_offered_at_the_next_start_and_goes_on_as_it_was(start):
    first = start()
    first.run("level 40 5 2", "skill 3", "e4", "Nf3", "black", "undo 1", "undo 2", None)
    first.leave()
    second = start()
    assert second.greeting == "Unfinished: a game of today, 1 move, you are White; resume continues it.\n"
    second.say("resume")
    mine, theirs = first.session.game, second.session.game
    assert second.moves == first.moves and len(second.moves) == 2
    assert (theirs.position.fen(), theirs.position.start_fen()) == (mine.position.fen(), START_FEN)
    assert theirs.position.keys == mine.position.keys  # so repetitions are seen
    assert str(theirs.pace) == str(mine.pace) and "White and Black have" in str(mine.pace)
    assert (theirs.is_flipped, theirs.is_forced) == (False, False)
    assert second.searcher.strength == first.searcher.strength == at_level(3)
    assert theirs.pgn() == mine.pgn()


def test_a_game_that_an_older_merino_kept_goes_on(start, tmp_path):
    file = tmp_path / "unfinished" / "1.pgn"
    file.parent.mkdir()
    file.write_text(TODAYS)
    os.utime(file, (time.time() - DAY,) * 2)
    console = start()
    assert console.greeting == "Unfinished: a game of yesterday, 2 moves, you are White; resume continues it.\n"
    assert "move: a5" in console.say("resume"), "the engine is to move"
    assert console.moves[2] == "g1f3" and console.searcher.strength is not None
    assert str(console.session.game.pace).startswith("5 min for 40 moves")
    console.run("resign", None)
    assert not files_in(tmp_path)
    file.write_text(TODAYS)
    os.utime(file, (time.time() - 5 * DAY,) * 2)
    console.leave()
    assert "a game of 20" in start().greeting


def test_a_game_is_kept_before_the_engine_thinks(start, tmp_path):
    console, seen = start(), []
    console.searcher.on_start = lambda: seen.append(files_in(tmp_path)[0].read_text())
    console.say("e4")
    assert [games.read_kept(text).kept_words for text in seen] == ["1 move, you are White"]
    files_in(tmp_path)[0].write_text(seen[0])  # as if the window had been closed then
    console.leave()
    again = start()
    assert "move: a5" in again.say("resume")
    assert again.moves == ["e2e4", "a7a5"]


def test_a_chess960_game_from_a_position_is_kept(start):
    first = start()
    first.say("new 960 0", "force", "d4", "d5")
    first.leave()
    second = start()
    assert "1 move, you play both sides" in second.greeting
    second.say("resume")
    assert second.session.position.chess960 and second.session.game.is_forced
    assert second.session.position.start_fen() == first.session.position.start_fen() != START_FEN


def test_a_loaded_game_that_was_played_on_and_taken_back_is_kept(start, tmp_path):
    path = tmp_path / "old.pgn"
    path.write_text('[Date "1992.??.??"]\n[White "Fischer"]\n[Result "1-0"]\n[PlyCount "9"]\n\n1. e4 e5 1-0\n')
    first = start()
    first.run("force", f"load {path}", "Nf3", "undo", None)
    first.leave()
    second = start()
    assert "damaged" not in second.greeting
    second.say("resume")
    assert second.moves == ["e2e4", "e7e5"]


def test_nothing_is_kept_where_nothing_was_played(start, tmp_path):
    file = tmp_path / "game.pgn"
    file.write_text("1. d4 d5 2. c4 *\n")
    console = start()
    assert "is kept:" not in console.run(f"load {file}", "undo", "redo", "st 3", "quit")
    assert not files_in(tmp_path)
    for line in ("quit", None):
        assert console.run("new", "e4", line).endswith("kept: resume continues it when you are back.\n")


@pytest.mark.parametrize("lines", [("resign",), ("undo 2",), ("force", "draw")])
def test_a_finished_game_is_forgotten(start, tmp_path, lines):
    console = start()
    console.run("d4", None)
    assert files_in(tmp_path)
    assert "is kept:" not in console.run(*lines, None)
    assert not files_in(tmp_path)
    if lines == ("resign",):
        console.run("undo", None)
        assert len(files_in(tmp_path)) == 1


def test_a_first_move_replaces_the_kept_game(start, tmp_path):
    console = start()
    console.run("d4", "c3", "new", None)
    assert list(map(first_move, files_in(tmp_path))) == ["d2d4"]
    console.run("e4", None)
    assert list(map(first_move, files_in(tmp_path))) == ["e2e4"]
    console.run("resume", None)
    assert list(map(first_move, files_in(tmp_path))) == ["d2d4"]


@pytest.mark.parametrize("lines", [("e4",), ("new", "e4")])
def test_an_offered_game_can_be_resumed(start, tmp_path, lines):
    first = start()
    first.say("skill 3", "d4", "c3")
    first.leave()
    second = start()
    second.say(*lines[:-1])
    said = second.say(lines[-1])
    assert said.startswith("This game takes the place of the unfinished one; resume returns to that.\n")
    assert list(map(first_move, files_in(tmp_path))) == ["e2e4"]
    second.run("resume", None)
    assert second.moves == first.moves and second.searcher.strength == at_level(3)
    assert list(map(first_move, files_in(tmp_path))) == ["d2d4"]


def test_of_two_consoles_at_once_the_first_keeps_its_game(start, tmp_path):
    first = start()
    first.say("d4")
    second = start()
    assert second.greeting == "" and second.say("resume") == "There is no other game.\n"
    assert "lost when you leave: cannot write: another console keeps its game in" in second.say("e4")
    assert list(map(first_move, files_in(tmp_path))) == ["d2d4"]
    first.leave()
    third = start()
    third.say("resume")
    assert third.moves[0] == "d2d4"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: b"", "it holds no game"),
        (lambda content: bytes(255 - byte for byte in content), "it is not UTF-8 text"),
        (lambda content: content[: content.index(b"1. ") + 5], "it has 1 of 4 plies"),
        (lambda content: content.replace(b"Limit", b"Limbo"), "the tag 'Limit' is missing"),
        (lambda content: content.replace(b"st 2", b"st x"), "the time in seconds must be a number from 0.01 to 86400"),
        (lambda content: content.replace(b"st 2", b"level 40 5 0"), "the tag 'Clocks' is missing"),
        (lambda content: content.replace(b"st 2", b'level 40 5 0"]\n[Clocks "-1 1 0 0'), "no clocks show -1 1 0 0"),
        (lambda content: content.replace(b'Person "White', b'Person "Grey'), "the tag 'Grey' is missing"),
        (lambda content: content.replace(b"1. d4", b"1. d6"), "line 1"),
        (lambda content: content + b" " * (1 << 20), "it has more than 1 MiB"),
    ],
)
def test_a_damaged_file_is_named_and_set_aside(start, tmp_path, damage, reason):
    first = start()
    first.say("d4", "c3")
    first.leave()
    (file,) = files_in(tmp_path)
    broken = damage(file.read_bytes())
    file.write_bytes(broken)
    second = start()
    assert second.greeting.startswith(f"The unfinished game in '{file}' is damaged ({reason}")
    assert second.greeting.endswith(f"the file is now '{file.with_name('1.damaged')}'.\n")
    assert file.with_name("1.damaged").read_bytes() == broken
    second.leave()
    assert start().greeting == ""


def test_a_folder_that_cannot_be_written_is_named_once_and_the_game_goes_on(tmp_path):
    (tmp_path / "unfinished").write_text("in the way")
    console = Console(tmp_path)
    assert console.say("e4", "Nf3").count("The game will be lost when you leave: cannot write") == 1
    assert len(console.moves) == 4
