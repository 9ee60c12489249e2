"""Unfinished games of the console: kept after every move, offered at the next start, and continued as they were."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from merino.app.console.loop import run_lines
from merino.app.console.unfinished import MAX_GAMES, DamagedGameError, KeptGame, Offer, Place, Unfinished
from merino.core.board.fen import START_FEN
from merino.engine.search.strength import at_level
from tests.talk import Talk

DAY = 86400


class Watched(Unfinished):
    """The unfinished games of a folder, which remembers what files it gave to a console."""

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        super().__init__(folder, say)
        self.given: set[Place] = set()

    def take(self, offer: Offer) -> Place | None:
        return self._noted(super().take(offer))

    def keep(self, place: Place | None, text: str | None) -> Place | None:
        return self._noted(super().keep(place, text))

    def _noted(self, place: Place | None) -> Place | None:
        self.given |= {place} - {None}
        return place


class Console(Talk):
    """A console at which a person sits, with its unfinished games in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.session.unfinished = self.unfinished = Watched(folder / "unfinished", self.session.tell)
        self.session.offer_unfinished()
        self.greeting = self.out.getvalue()

    def leave(self) -> None:
        """End as a process does: its locks are gone, and nothing else happens."""
        for place in self.unfinished.given:
            place.leave()

    def run(self, *lines: str | None) -> str:
        """What the loop of the prompt prints for these lines; None is the end of the input."""
        self.out.truncate(0)
        rest = iter(lines)
        run_lines(self.session, lambda prompt: next(rest))
        return self.out.getvalue()


@pytest.fixture
def start(tmp_path: Path) -> Callable[[], Console]:
    return lambda: Console(tmp_path)


def files_in(folder: Path, pattern: str = "*.pgn") -> list[Path]:
    return sorted((folder / "unfinished").glob(pattern))


def test_a_game_is_offered_at_the_next_start_and_goes_on_as_it_was(start: Callable[[], Console]) -> None:
    first = start()
    first.run("level 40 5 2", "skill 3", "e4", "Nf3", "black", "undo 1", "undo 2", None)
    first.leave()
    second = start()
    assert second.greeting == "Unfinished: a game of today, 1 move, you are White; resume goes on with it.\n"
    second.say("resume")
    mine, theirs = first.session, second.session
    assert second.moves == first.moves and len(second.moves) == 2
    assert theirs.undone == mine.undone and len(theirs.undone) == 3
    assert (theirs.position.fen(), theirs.position.start_fen()) == (mine.position.fen(), START_FEN)
    assert theirs.position.keys == mine.position.keys  # so repetitions are seen
    assert str(theirs.pace) == str(mine.pace) and "White and Black have" in str(mine.pace)
    assert theirs.thought_ms == mine.thought_ms != [0, 0]
    assert (theirs.is_flipped, theirs.is_forced) == (True, False)
    assert theirs.runtime.searcher.strength == mine.runtime.searcher.strength is not None
    assert theirs.sheet.pgn(theirs.position, "*") == mine.sheet.pgn(mine.position, "*")
    assert "played again" in second.say("redo")


def test_a_game_is_kept_before_the_engine_thinks_and_its_answer_comes_on_return(
    start: Callable[[], Console], tmp_path: Path
) -> None:
    console, seen = start(), []
    console.searcher.on_start = lambda: seen.append(KeptGame.read(files_in(tmp_path)[0].read_text()))
    console.say("e4")
    assert [str(kept) for kept in seen] == ["1 move, you are White"]
    files_in(tmp_path)[0].write_text(seen[0].text())  # as if the window had been closed then
    console.leave()
    again = start()
    assert "move: a5" in again.say("resume")
    assert again.moves == ["e2e4", "a7a5"]


@pytest.mark.parametrize("more", [[], ["undo"], ["Nf3", "Nc6"]], ids=" ".join)
def test_a_game_that_goes_on_replaces_what_was_saved_of_it_before(
    start: Callable[[], Console], tmp_path: Path, more: list[str]
) -> None:
    first, file = start(), tmp_path / "my games" / "Größe %.pgn"
    file.parent.mkdir()
    file.write_text('[Event "another"]\n\n1. d4 *\n')
    first.run("force", "e4", "e5", f"save {file}", None)
    first.leave()
    second = start()
    second.run("resume", *more, None)
    second.leave()
    third = start()
    assert third.say("resume", f"save {file}").endswith(f"Saved as game {2 + (more == ['undo'])} of {file}\n")
    games = file.read_text().split("[Event ")[1:]
    assert games[0].startswith('"another"')
    assert ("2. Nf3 Nc6" in games[-1]) == (more == ["Nf3", "Nc6"])


def test_what_another_program_has_added_after_a_game_stays(start: Callable[[], Console], tmp_path: Path) -> None:
    first, file = start(), tmp_path / "games.pgn"
    first.run("force", "e4", f"save {file}", None)
    first.leave()
    with file.open("a") as written:
        written.write('\n[Event "another"]\n\n1. d4 *\n')
    second = start()
    assert second.say("resume", "e5", f"save {file}").endswith(f"Saved as game 3 of {file}\n")
    assert file.read_text().count("[Event ") == 3


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("Clocks", f"{10**12} 1 0 0"),
        ("Clocks", "-1 1 0 0"),
        ("Clocks", "1 1 0"),
        ("Thought", "0 -1"),
        ("Thought", f"{10**400} 0"),
    ],
)
def test_a_kept_game_with_numbers_that_cannot_be_is_damaged(
    start: Callable[[], Console], tmp_path: Path, tag: str, value: str
) -> None:
    console = start()
    console.run("level 40 5 0", "force", "e4", None)
    (file,) = files_in(tmp_path)
    text = file.read_text()
    KeptGame.read(text)
    with pytest.raises(DamagedGameError):
        KeptGame.read(re.sub(rf'\[{tag} ".*"\]', f'[{tag} "{value}"]', text))


@pytest.mark.parametrize("tag", ["1 2", "x 7 0 p", "1 0 0 p", "1 -7 0 p"])
def test_a_kept_game_with_a_false_place_of_saving_is_damaged(
    start: Callable[[], Console], tmp_path: Path, tag: str
) -> None:
    start().run("force", "e4", None)
    (file,) = files_in(tmp_path)
    text = file.read_text()
    KeptGame.read(text)
    with pytest.raises(DamagedGameError):
        KeptGame.read(f'[Saved "{tag}"]\n{text}')


def test_a_chess960_game_from_a_position_is_kept(start: Callable[[], Console]) -> None:
    first = start()
    first.say("new 960 0", "force", "d4", "d5")
    first.leave()
    second = start()
    assert "1 move, you play both sides" in second.greeting
    second.say("resume")
    assert second.session.position.chess960 and second.session.is_forced
    assert second.session.position.start_fen() == first.session.position.start_fen() != START_FEN


def test_a_loaded_game_that_was_played_on_and_taken_back_is_kept(start: Callable[[], Console], tmp_path: Path) -> None:
    path = tmp_path / "old.pgn"
    path.write_text('[Date "1992.??.??"]\n[White "Fischer"]\n[Result "1-0"]\n[PlyCount "9"]\n\n1. e4 e5 1-0\n')
    first = start()
    first.run("force", f"load {path}", "Nf3", "undo", None)
    first.leave()
    second = start()
    assert "damaged" not in second.greeting
    second.say("resume")
    assert second.moves == ["e2e4", "e7e5"]


@pytest.mark.parametrize("line", ["quit", None])
def test_leaving_says_that_the_game_is_kept(start: Callable[[], Console], line: str | None) -> None:
    assert start().run("e4", line).endswith("The game is kept: resume goes on with it when you are back.\n")


def test_nothing_is_kept_where_nothing_was_played(start: Callable[[], Console], tmp_path: Path) -> None:
    file = tmp_path / "game.pgn"
    file.write_text("1. d4 d5 2. c4 *\n")
    console = start()
    assert "is kept:" not in console.run(f"load {file}", "undo", "redo", "st 3", "quit")
    assert not files_in(tmp_path)


@pytest.mark.parametrize("lines", [("resign",), ("undo 2",), ("force", "draw")])
def test_a_game_that_is_over_or_taken_back_is_forgotten(
    start: Callable[[], Console], tmp_path: Path, lines: tuple[str, ...]
) -> None:
    console = start()
    console.run("d4", None)
    assert files_in(tmp_path)
    assert "is kept:" not in console.run(*lines, None)
    assert not files_in(tmp_path)


def test_a_resignation_taken_back_keeps_the_game_again(start: Callable[[], Console], tmp_path: Path) -> None:
    start().run("d4", "resign", "undo", None)
    assert len(files_in(tmp_path)) == 1


def test_new_replaces_the_game_with_its_first_move_and_undo_brings_it_back(
    start: Callable[[], Console], tmp_path: Path
) -> None:
    console = start()
    console.run("d4", "c3", "new", None)
    (file,) = files_in(tmp_path)
    assert KeptGame.read(file.read_text()).game.position.moves[0].uci() == "d2d4"
    console.run("e4", None)
    assert files_in(tmp_path) == [file]
    assert KeptGame.read(file.read_text()).game.position.moves[0].uci() == "e2e4"
    console.run("undo 2", "undo", None)
    assert console.moves[0] == "d2d4"
    (file,) = files_in(tmp_path)
    assert KeptGame.read(file.read_text()).game.position.moves[0].uci() == "d2d4"


def test_new_declines_an_offer_and_undo_takes_it_up_again(start: Callable[[], Console], tmp_path: Path) -> None:
    first = start()
    first.say("d4", "c3")
    first.leave()
    second = start()
    assert second.say("new") == "The unfinished game is forgotten when you move; undo returns to it.\n"
    assert len(files_in(tmp_path)) == 1
    second.say("undo")
    assert second.moves == first.moves
    second.say("redo", "e4")
    assert second.moves[0] == "e2e4"
    second.leave()
    assert [str(offer.kept) for offer in start().session.unfinished.offers()].count("1 move, you are White") == 1


def test_undo_after_new_brings_an_offered_game_back_with_its_level_and_its_limit(start: Callable[[], Console]) -> None:
    first = start()
    first.run("level 40 5 2", "skill 3", "e4", None)
    first.leave()
    second, limits = start(), []
    for line in ("new", "undo", "redo", "undo"):
        second.run(line, None)
        limits.append((str(second.session.pace), second.searcher.strength))
    theirs, mine = (str(first.session.pace), at_level(3)), ("2 s per move", None)
    assert limits == [mine, theirs, mine, theirs]
    second.leave()
    (offer,) = start().session.unfinished.offers()
    assert (str(offer.kept.game.pace), offer.kept.opponent.strength) == theirs


def test_the_game_left_for_an_unfinished_one_keeps_its_level_and_its_clocks(start: Callable[[], Console]) -> None:
    first = start()
    first.run("level 40 5 2", "skill 3", "e4", None)
    first.leave()
    second = start()
    second.run("level 0 3 0", "skill 9", "d4", None)
    clocks = str(second.session.pace)
    assert str(first.session.pace) in second.say("resume 1")
    assert f"{clocks}. Level 9" in second.say("resume")
    assert second.moves[0] == "d2d4" and second.searcher.strength == at_level(9)


def test_a_game_that_is_left_for_a_file_stays_kept(start: Callable[[], Console], tmp_path: Path) -> None:
    file = tmp_path / "game.pgn"
    file.write_text("1. d4 d5 2. c4 *\n")
    console = start()
    console.say("e4", f"load {file}", "e6")
    console.leave()
    assert len(start().greeting.splitlines()) == 2


def test_playing_without_resume_keeps_both_games_the_last_one_first(
    start: Callable[[], Console], tmp_path: Path
) -> None:
    first = start()
    first.say("d4", "c3")
    first.leave()
    yesterday = time.time() - DAY
    os.utime(files_in(tmp_path)[0], (yesterday, yesterday))
    second = start()
    assert "a game of yesterday" in second.greeting
    second.say("e4")
    second.leave()
    third = start()
    assert third.greeting.splitlines() == [
        "Unfinished: a game of today, 1 move, you are White; resume goes on with it.",
        "Unfinished: a game of yesterday, 2 moves, you are White; resume 2 goes on with it.",
    ]
    third.say("resume 2")
    assert third.moves[0] == "d2d4"
    assert third.say("resume 2") == "This game waits no more.\n"
    assert third.say("resume 3") == "There is no unfinished game 3.\n"
    third.say("resume 1")  # as it was offered, though it is the only one by now
    assert third.moves[0] == "e2e4"


def test_two_consoles_at_once_do_not_touch_each_other(start: Callable[[], Console], tmp_path: Path) -> None:
    first, second = start(), start()
    first.say("d4")
    second.say("e4")
    assert len(files_in(tmp_path)) == 2
    third = start()
    assert third.greeting == ""
    assert third.say("resume") == "There is no unfinished game.\n"
    first.leave()
    offers = start().session.unfinished.offers()
    assert [offer.kept.game.position.moves[0].uci() for offer in offers] == ["d2d4"]


def test_a_game_that_another_console_took_after_the_offer_is_left_to_it(start: Callable[[], Console]) -> None:
    first = start()
    first.say("d4")
    first.leave()
    second, third = start(), start()
    second.say("resume")
    assert third.say("resume") == "There is no unfinished game.\n"
    assert third.say("new") == ""


def test_resume_finds_a_game_that_another_console_has_left_meanwhile(start: Callable[[], Console]) -> None:
    first = start()
    first.say("d4")
    first.leave()
    second, third = start(), start()
    third.say("e4")
    second.run("resume", "resign", None)
    third.leave()
    second.say("resume")
    assert second.moves == third.moves and second.moves[0] == "e2e4"


@pytest.mark.parametrize("lines", [("d3",), ("resign",), ("resign", "new", "c4")])
def test_new_declines_a_game_as_another_console_has_left_it(
    start: Callable[[], Console], tmp_path: Path, lines: tuple[str, ...]
) -> None:
    first = start()
    first.say("e4")
    first.leave()
    second, third = start(), start()
    second.run("resume", *lines, None)
    second.leave()
    text = third.say("new", "undo")
    if lines == ("d3",):
        assert third.moves == second.moves and len(third.moves) == 4
    else:
        assert text == "No move has been played yet.\n"
        third.say("d4")
        assert len(files_in(tmp_path)) == len(lines) // 3 + 1, "what was not offered here stays"


def test_the_oldest_game_makes_room_when_all_places_are_taken(start: Callable[[], Console], tmp_path: Path) -> None:
    for number in range(MAX_GAMES + 1):
        console = start()
        console.say("d4" if number else "e4")
        console.leave()
        if number < MAX_GAMES:
            for file in files_in(tmp_path):
                age = time.time() - DAY * (1 + (MAX_GAMES - int(file.stem)))
                os.utime(file, (age, age))
    offers = start().session.unfinished.offers()
    assert len(offers) == MAX_GAMES
    assert {offer.kept.game.position.moves[0].uci() for offer in offers} == {"d2d4"}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: b"", "it holds no game"),
        (lambda content: bytes(255 - byte for byte in content), "it is not UTF-8 text"),
        (lambda content: content[: content.index(b"1. ") + 5], "it has 1 of 4 plies"),
        (lambda content: content.replace(b"Limit", b"Limbo"), "the tag 'Limit' is missing"),
        (lambda content: content.replace(b"st 2", b"st x"), "the time in seconds must be a number"),
        (lambda content: content.replace(b"1. d4", b"1. d6"), "illegal san"),
        (lambda content: content.replace(b'"White"', b'"Grey"'), "the tag 'Grey' is missing or has an unknown value"),
        (lambda content: content + b" " * (1 << 20), "it has more than 1 MiB"),
    ],
)
def test_a_damaged_file_is_named_and_set_aside(
    start: Callable[[], Console], tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    for taken in ("1.damaged", "1.damaged2"):
        first = start()
        first.say("d4", "c3")
        first.leave()
        (file,) = files_in(tmp_path)
        broken = damage(file.read_bytes())
        file.write_bytes(broken)
        greeting = start().greeting
        assert greeting.startswith(f"The unfinished game in '{file}' is damaged ({reason}")
        assert greeting.endswith(f"the file is now '{file.with_name(taken)}'.\n")
        assert file.with_name(taken).read_bytes() == broken
    assert start().greeting == ""


def test_a_folder_that_cannot_be_written_is_named_once_and_the_game_goes_on(tmp_path: Path) -> None:
    (tmp_path / "unfinished").write_text("in the way")
    console = Console(tmp_path)
    text = console.say("e4", "Nf3")
    assert text.count("The game will be lost when you leave: cannot write") == 1
    assert len(console.moves) == 4


def test_a_text_that_is_no_kept_game_is_refused() -> None:
    with pytest.raises(DamagedGameError, match="PlyCount"):
        KeptGame.read("1. e4 e5 *")
