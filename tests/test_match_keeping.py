"""The games and the state of a match on the disk: each game once, whatever ends a run, and nobody else's is lost."""

import base64
import json
import os
import signal
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from merino.core.board.fen import START_FEN, parse_fen
from merino.core.common import files as core_files
from merino.core.common.sealed import as_json, from_json
from merino.eval.families import default
from merino.formats import openings, scored_games
from merino.formats.packed import pack
from merino.formats.pgn_text import MisreadError
from merino.match import keeping, players, report, runner
from merino.match.config import MatchConfig, TimeControl
from merino.match.games import Game, MatchError, Reason, Tally
from merino.match.keeping import MatchKeeper, PositionFile, holding
from merino.match.runner import MatchOutput, run_match
from tests.full_disk import FullDisk, no_room
from tests.pipes import named_pipes
from tests.test_viriformat import games_of

GAMES = 9
SAVES_EVERY = 2
FEW = '[Result "1-0"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n\n1. e4 { +0.10/9 } Kd7 1-0\n\n'  # pieces
START, MORE = (  # packed positions
    pack(parse_fen(START_FEN), np.array([score]), np.ones(1), np.zeros(1)).tobytes() for score in (5, 7)
)
OTHERS = '[Event "of somebody else"]\n\n1. e4 *\n\n'


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    return tmp_path / "games.pgn"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "match.state"


def text_of(number: int) -> str:
    return f'[Event "game {number}"]\n\n1. d4 {{ {"x" * number} }} *\n\n'


ALL = "".join(map(text_of, range(GAMES)))


def resumed(pgn: Path | None, state: Path | None) -> tuple[MatchKeeper, Tally]:
    """A keeper that has gone on from what there is, and the results so far."""
    keeper = MatchKeeper(pgn, state, {"seed": 1})
    tally, _ = keeper.load()
    keeper.catch_up(tally.games >= GAMES)
    return keeper, tally


def take(keeper: MatchKeeper, tally: Tally, games: int = 1) -> None:
    """Take the next games."""
    for number in range(tally.games, tally.games + games):
        keeper.add(text_of(number))
        tally.add(Game(number, number % 2 == 0, openings.Opening(""), (), Reason.FIFTY, None))


def play(pgn: Path, state: Path | None, games: int = GAMES) -> Tally:
    """Play on, and save after every few games."""
    keeper, tally = resumed(pgn, state)
    while tally.games < games:
        take(keeper, tally)
        if tally.games % SAVES_EVERY == 0:
            keeper.save(tally, 1.0)
    keeper.save(tally, 1.0)
    return tally


def call(happens: Callable[[], object], when: int, before: bool, done: Callable[..., Any]) -> Callable[..., Any]:
    """`done`, but at its call number `when` something happens before it or after it."""
    calls = iter(range(1000))

    def faulty(*arguments: Any) -> None:
        is_now = next(calls) == when
        if is_now and before:
            happens()
        done(*arguments)
        if is_now and not before:
            happens()

    return faulty


def killed() -> None:
    raise KilledError


def a_part(file: Any, content: bytes) -> None:
    """Write to the middle of a game, as a process does that is killed while it writes."""
    file.write(content[: len(content) * 2 // 3])


@pytest.mark.parametrize("with_others", [False, True])
@pytest.mark.parametrize(("name", "before"), list(product(["write_whole", "append_whole"], [True, False])))
def test_a_run_killed_anywhere_goes_on_with_each_game_once(name, before, with_others, pgn, state, monkeypatch):
    for when in range(5):
        pgn.write_text(OTHERS)
        state.unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            patch.setattr(core_files, name, call(killed, when, before, getattr(core_files, name)))
            with pytest.raises(KilledError):
                play(pgn, state)
        if with_others:
            with pgn.open("a") as file:
                file.write(OTHERS)
        assert play(pgn, state).games == GAMES
        text = pgn.read_text()
        assert text.count(OTHERS) == 1 + with_others
        assert text.replace(OTHERS, "") == ALL


@pytest.mark.parametrize(("end", "gap"), [("", "\n\n"), ("\n", "\n"), ("\r\n", "\n"), ("\n\n", ""), ("\r\n\r\n", "")])
def test_an_empty_line_parts_the_games_from_those_that_are_there(end, gap, pgn, state):
    others = f"1. e4 e5 1-0{end}".encode()
    pgn.write_bytes(others)
    play(pgn, state)
    assert pgn.read_bytes() == others + gap.encode() + ALL.encode()


@pytest.mark.parametrize("when", [0, 2, 4])
def test_a_run_killed_in_the_middle_of_a_game_goes_on_from_that_byte(when, pgn, state, monkeypatch):
    real, calls = core_files.append_whole, iter(range(100))

    def append(file: Any, content: bytes) -> None:
        if next(calls) == when:
            a_part(file, content)
            raise KilledError
        real(file, content)

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(core_files, "append_whole", append)
        play(pgn, state)
    assert not pgn.read_text().endswith("\n\n")
    play(pgn, state)
    assert pgn.read_text() == ALL


def test_nothing_is_added_where_it_would_be_read_as_a_part_of_the_last_game(pgn, state):
    pgn.write_text('[White "Anna"]\n\n')
    with pytest.raises(MisreadError, match=r"nothing can be added to '.*': behind its last game it would be read as 1"):
        play(pgn, state)
    assert pgn.read_text() == '[White "Anna"]\n\n' and not state.exists()


def test_a_game_that_would_be_misread_ends_no_match(pgn, monkeypatch):
    words, said = iter(["(", *[""] * 10**4]), list[str]()
    real = report.comment
    monkeypatch.setattr(report, "comment", lambda text: next(words) or real(text))
    player = players.OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(nodes=10), games=4)
    result = run_match(config, 1, output=MatchOutput(pgn=pgn, say=said.append))
    assert result.tally.games == 4 and pgn.read_text().count("[Event ") == 3 and "(" not in pgn.read_text()
    assert said == result.left_out.remarks and said[0].startswith(f"game 1 is not in '{pgn}': 'default - default'")


def test_games_of_others_behind_a_fragment_stay_and_no_game_is_lost(pgn, state, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(core_files, "append_whole", call(killed, 0, False, a_part))
        keeper, tally = resumed(pgn, state)
        take(keeper, tally, 4)
        with pytest.raises(KilledError):
            keeper.save(tally, 1.0)
    fragment = pgn.read_text()
    with pgn.open("a") as file:
        file.write(OTHERS)
    play(pgn, state)
    text = pgn.read_text()
    assert text.startswith(fragment + OTHERS)
    assert [text.count(text_of(number)) for number in range(GAMES)] == [1] * GAMES


def test_games_added_behind_those_of_others_are_there_once_after_another_kill(pgn, state, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(core_files, "append_whole", call(killed, 0, True, core_files.append_whole))
        play(pgn, state)
    pgn.write_text(OTHERS)
    resumed(pgn, state)  # killed before its first save
    play(pgn, state)
    assert pgn.read_text() == OTHERS + ALL


@pytest.mark.parametrize("room", [0, 30, 60])
def test_a_full_disk_names_the_file_and_leaves_no_part_of_a_game(room, pgn, state, monkeypatch):
    pgn.write_text(OTHERS)
    real = core_files.append_whole
    with monkeypatch.context() as patch:
        patch.setattr(core_files, "append_whole", lambda file, content: real(FullDisk(room, file), content))
        with pytest.raises(MatchError, match=f"cannot write '{pgn}': No space left on device"):
            play(pgn, state)
        assert pgn.read_text() == OTHERS
    play(pgn, state)
    assert pgn.read_text() == OTHERS + ALL


def test_without_room_for_the_state_no_game_is_added_before_it_can_be(pgn, state, monkeypatch):
    keeper, tally = resumed(pgn, state)
    take(keeper, tally)
    with monkeypatch.context() as patch:
        patch.setattr(core_files, "write_whole", call(no_room, 0, True, core_files.write_whole))
        with pytest.raises(MatchError, match=f"cannot write '{state}': No space left on device"):
            keeper.save(tally, 1.0)
    assert pgn.read_text() == ""
    keeper.save(tally, 1.0)
    assert pgn.read_text() == text_of(0)
    play(pgn, state)
    assert pgn.read_text() == ALL


def test_a_pgn_that_is_not_the_one_of_the_state_is_refused(pgn, state):
    play(pgn, state, 4)
    pgn.write_text(pgn.read_text()[:-1])
    with pytest.raises(MatchError, match="is shorter than"):
        resumed(pgn, state)
    pgn.unlink()
    with pytest.raises(MatchError, match="is shorter than"):
        resumed(pgn, state)
    assert not pgn.exists()


def test_games_that_may_not_be_in_their_pgn_are_not_forgotten(pgn, state, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(core_files, "append_whole", call(killed, 1, True, core_files.append_whole))
        with pytest.raises(KilledError):
            play(pgn, state)
    with pytest.raises(MatchError, match="holds games that a file may lack; name it with --pgn"):
        resumed(None, state)


def test_positions_that_may_not_be_in_their_file_are_not_forgotten(tmp_path, state, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(core_files, "append_whole", call(killed, 0, True, core_files.append_whole))
        MatchKeeper(None, state, {}, positions_of(tmp_path / "p.bin", START * 3)).save(Tally(), 1.0)
    keeper = MatchKeeper(None, state, {})
    keeper.load()
    with pytest.raises(MatchError, match="holds games that a file may lack; name it with --positions"):
        keeper.catch_up(is_over=False)


def test_nothing_is_added_behind_a_part_of_a_position(tmp_path, state):
    packed = tmp_path / "p.bin"
    keeper = MatchKeeper(None, state, {}, positions_of(packed, MORE))
    packed.write_bytes((START + MORE)[:40])  # another run has just been killed
    with pytest.raises(MatchError, match="its end is missing"):
        keeper.save(Tally(), 1.0)
    assert packed.read_bytes() == (START + MORE)[:40]
    packed.write_bytes(START * 2)  # and has gone on
    keeper.save(Tally(), 1.0)
    assert packed.read_bytes() == START * 2 + MORE


def test_nothing_is_added_behind_a_part_of_a_game_whatever_its_last_bytes(tmp_path, state):
    games, path = scored_games.as_viriformat(games_of(FEW)), tmp_path / "p.vf"
    record = bytes(8) + b"\7\0" + b"\5\0" + bytes(4) + b"abcde"  # of another program
    keeper = MatchKeeper(None, state, {}, positions_of(path, games))
    for content in (games + games[:24], games[8:], b"\1" * 64 + bytes(4)):
        assert content.endswith(bytes(4)), "as a game ends"
        path.write_bytes(content)
        with pytest.raises(MatchError, match="holds no games in viriformat, or its end is missing"):
            keeper.save(Tally(), 1.0)
        assert path.read_bytes() == content
    path.write_bytes(games + record)
    keeper.save(Tally(), 1.0)
    assert path.read_bytes() == games + record + games
    MatchKeeper(None, state, {}, PositionFile(path, 0)).load()
    assert path.read_bytes() == games + record + games


def test_a_file_of_games_is_not_read_again_from_its_beginning(tmp_path, state, monkeypatch):
    games, path, begun = scored_games.as_viriformat(games_of(FEW)), tmp_path / "p.vf", []
    real = scored_games.end_of_games
    monkeypatch.setattr(keeping, "end_of_games", lambda file, start: begun.append(start) or real(file, start))
    path.write_bytes(games * 3)
    positions = positions_of(path, games)
    keeper = MatchKeeper(None, state, {}, positions)
    keeper.save(Tally(), 1.0)
    path.write_bytes(path.read_bytes() + games)  # by another run
    positions.add_bytes(games)
    keeper.save(Tally(), 1.0)
    assert path.read_bytes() == games * 6
    path.write_bytes(games)
    positions.check()
    assert begun == [0, 3 * len(games), 0]


def test_a_state_begun_without_a_pgn_leaves_one_named_later_as_it_is(pgn, state):
    keeper, tally = resumed(None, state)
    take(keeper, tally)
    keeper.save(tally, 1.0)
    assert json.loads(state.read_text())["pgn"] is None
    pgn.write_text(OTHERS)
    play(pgn, state)
    assert pgn.read_text() == OTHERS + ALL.removeprefix(text_of(0))


@named_pipes
def test_a_state_that_is_no_file_is_refused_and_not_read(state):
    os.mkfifo(state)  # to read it would wait for ever
    with pytest.raises(MatchError, match="it is a pipe, not a regular file"):
        resumed(None, state)


@pytest.mark.parametrize(
    "changed",
    [
        {"tally": {"points": [0, 0, 0], "pairs": [0] * 5, "half": None, "faults": None}},
        {"tally": {"points": [10**30, 0, 0], "pairs": [0] * 5, "half": None, "faults": {}}},
        {"seconds": 10**400},
        {"pgn": {"at": float("inf"), "games": []}},
        {"pgn": {"at": -1, "games": []}},
        {"positions": {"at": float("inf"), "more": ""}},
        {"positions": {"at": 0, "more": "AAAA"}},  # no whole position
    ],
)
def test_a_state_whose_numbers_make_no_sense_is_refused(pgn, state, changed):
    play(pgn, state, 2)
    state.write_bytes(as_json(from_json(state.read_bytes(), "it") | changed))
    keeper = MatchKeeper(pgn, state, {"seed": 1}, PositionFile(pgn.with_name("p.bin"), 0))
    with pytest.raises(MatchError, match=r"match\.state' is not the state of a match"):
        keeper.load()
        keeper.catch_up(False)


def positions_of(path: Path, *waiting: bytes) -> PositionFile:
    """A file to which these positions are to be added."""
    file = PositionFile(path, 0)
    for content in waiting:
        file.add_bytes(content)
    return file


@pytest.mark.parametrize("written", [0, 64, 96])
def test_an_older_state_without_sizes_adds_its_positions(written, tmp_path, state):
    packed, mine = tmp_path / "p.bin", START + MORE + START
    MatchKeeper(None, state, {}, positions_of(packed)).save(Tally(), 1.0)
    content = {**json.loads(state.read_text()), "positions": {"at": 0, "more": base64.b64encode(mine).decode()}}
    del content["checksum"]
    state.write_bytes(as_json(content))
    packed.write_bytes(mine[:written])
    keeper = MatchKeeper(None, state, {}, positions_of(packed))
    keeper.load()
    keeper.catch_up(is_over=False)
    assert packed.read_bytes() == mine


@pytest.mark.parametrize("where", ["MatchKeeper.add", "PositionFile.add_bytes", "Tally.add", "append_whole"])
@pytest.mark.parametrize("before", [True, False])
def test_ctrl_c_at_the_worst_moment_leaves_each_game_once(where, before, tmp_path, monkeypatch):
    player = players.OwnPlayer("Merino", default())
    config = MatchConfig((player, player), TimeControl(nodes=40), games=6)

    def files(name: str) -> MatchOutput:
        pgn, state, packed = (tmp_path / f"{name}{ending}" for ending in (".pgn", ".state", ".bin"))
        return MatchOutput(pgn=pgn, state=state, positions=packed)

    whole, parts = files("whole"), files("parts")
    run_match(config, 1, output=whole)
    place, _, name = where.rpartition(".")
    owner = getattr(keeping, place) if place else core_files
    interrupt = partial(signal.raise_signal, signal.SIGINT)
    monkeypatch.setattr(runner, "SAVE_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, call(interrupt, 3, before, getattr(owner, name)))
        assert run_match(config, 1, output=parts).interrupted
    assert run_match(config, 1, output=parts).tally.games == 6
    for one, other in ((whole.pgn, parts.pgn), (whole.positions, parts.positions)):
        assert one is not None and other is not None and one.read_bytes() == other.read_bytes()


def test_two_runs_that_add_to_one_file_of_positions_lose_none(tmp_path, monkeypatch):
    packed = tmp_path / "p.bin"
    files = [positions_of(packed, mark) for mark in (START, MORE)]
    mine, theirs = (MatchKeeper(None, None, {}, file) for file in files)
    real = files[0].prepare

    def meanwhile() -> None:  # between my plan and my writing
        real()
        other = Thread(target=theirs.save, args=(Tally(), 1.0))
        other.start()
        other.join(0.2)
        others.append(other)

    others: list[Thread] = []
    monkeypatch.setattr(files[0], "prepare", meanwhile)
    mine.save(Tally(), 1.0)
    others[0].join()
    assert packed.read_bytes() == START + MORE


def test_a_second_match_with_the_same_state_refuses(state):
    with holding(state), pytest.raises(MatchError, match="another run of Merino works on"), holding(state):
        pass
    assert not state.with_name("match.state.lock").exists()
    nowhere = state.parent / "nowhere" / "m.state"
    with pytest.raises(MatchError, match=r"cannot write '.*m\.state': there is no such folder"), holding(nowhere):
        pass
