"""`merino match` as people use it: other engines and their faults, openings, files, going on after an interruption."""

import bz2
import gzip
import io
import json
import math
import shlex
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import chess.polyglot
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.core.common.command import CommandError
from merino.core.common.terminal import LivePrinter, shortened
from merino.engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import MAX_ELO, at_elo
from merino.engine.uci.options import OPTIONS
from merino.eval.linear.weights import DEFAULT_FILE
from merino.formats.openings import FileOpenings, Opening, OpeningError
from merino.match import engines, players, report, runner, statistics
from merino.match.config import Adjudication, Clock, MatchConfig, TimeControl
from merino.match.games import Game, MatchError, Played, PlayerError, Reason, Tally
from tests.boards import games_in

FAKE = f"engine:{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).parent / 'fake_engine.py'))}"
QUICK = TimeControl(nodes=100)
SHORT = Adjudication(longest=12)  # too short for the engine that plays by the alphabet to be mated


def terms(first: str, second: str, games: int = 4, time_control: TimeControl = QUICK, **other: object) -> MatchConfig:
    both = players.read_player(first), players.read_player(second)
    return MatchConfig(both, time_control, games=games, adjudication=SHORT, **other)


def started(player: object, time_control: TimeControl = QUICK, margin: int = 0) -> engines.OtherEngine:
    """Another engine, running; `player` may be its text."""
    read = players.read_player(player) if isinstance(player, str) else player
    assert isinstance(read, players.OtherPlayer)
    engine = engines.OtherEngine(read, time_control, margin)
    engine.new_game(0)
    assert engine._engine is not None
    return engine


def test_an_engine_plays_against_ours_and_every_game_is_written(tmp_path):
    output = runner.MatchOutput(pgn=tmp_path / "g.pgn")
    result = runner.run_match(terms("default", FAKE + ",name=Fake,option.Contempt=3"), 2, output=output)
    games = games_in(tmp_path / "g.pgn")
    assert result.tally.games == len(games) == 4
    assert [game.headers["White"] for game in games] == ["default", "Fake"] * 2
    assert [game.headers["Round"] for game in games] == ["1.1", "1.2", "2.1", "2.2"]
    node = games[0].end()
    assert node.ply() == 8 + SHORT.longest == int(games[0].headers["PlyCount"])
    assert "too many moves" in node.comment and games[0].headers["Termination"] == "adjudication"
    fakes = [move for move in games[0].mainline() if move.ply() > 8 and move.turn() == chess.WHITE]  # Black has moved
    assert {move.eval().relative.score() for move in fakes} == {-12}


@pytest.mark.parametrize(
    ("fault", "reason", "time_control"),
    [
        ("illegal", Reason.ILLEGAL, QUICK),
        ("crash", Reason.CRASH, QUICK),
        ("slow", Reason.TIME, TimeControl(clock=Clock(250))),
        ("slow", Reason.TIME, TimeControl(movetime=100)),
    ],
)
def test_an_engine_at_fault_loses_and_the_match_goes_on(fault, reason, time_control):
    result = runner.run_match(terms("default", f"{FAKE} {fault}", 2, time_control, margin=300), 1)
    assert result.tally.faults[reason] == [0, 2]
    assert result.tally.points.tolist() == [0, 0, 2]


def test_ctrl_c_does_not_wait_for_an_engine_that_starts_or_is_restarted():
    silent = players.read_player(f"{FAKE} silent")
    assert isinstance(silent, players.OtherPlayer)
    restarted = started(FAKE)
    restarted.close()
    restarted._engine, restarted._player = None, silent
    for engine in (restarted, engines.OtherEngine(silent, QUICK)):
        began = time.monotonic()
        threading.Timer(0.3, engine.stop).start()
        with pytest.raises(engines.EngineFault):
            engine.new_game(0)
        assert time.monotonic() - began < 30
    for thread in threading.enumerate():
        if thread.name.startswith("SimpleEngine"):
            thread.join(30)
            assert not thread.is_alive()


def test_an_engine_that_no_longer_answers_is_ended_without_a_word(monkeypatch, caplog):
    monkeypatch.setattr("merino.match.engines.GRACE_SECONDS", 0.1)
    result = runner.run_match(terms("default", f"{FAKE} stuck", 2, TimeControl(movetime=50), margin=200), 1)
    assert result.tally.faults[Reason.CRASH] == [0, 2]
    assert not caplog.records


def test_an_engine_is_waited_for_as_long_as_its_move_may_be_late(monkeypatch):
    monkeypatch.setattr("merino.match.engines.GRACE_SECONDS", 0.05)
    for time_control in (TimeControl(movetime=50), TimeControl(clock=Clock(50))):
        config = replace(terms("default,nodestime=1", f"{FAKE} slow", 1, time_control), margin=60_000)
        config = replace(config, adjudication=Adjudication(longest=2))
        assert runner.run_match(config, 1).tally.faults[Reason.CRASH] == [0, 0]


def test_an_engine_that_does_not_quit_is_ended(monkeypatch):
    monkeypatch.setattr("merino.match.engines.QUIT_SECONDS", 0.2)
    engine = started(f"{FAKE} deaf")
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 30 and engine._engine._shutdown


def test_an_engine_that_comes_after_the_end_of_the_match_is_closed():
    engine = engines.OtherEngine(players.read_player(FAKE), QUICK)
    engine.stop()
    with pytest.raises(engines.EngineFault):
        engine.new_game(0)
    engine = started(FAKE)
    engine.stop()
    engine.close()
    assert engine._engine is not None and engine._engine._shutdown


def test_a_score_and_a_time_out_of_the_ordinary_are_kept_within_bounds(tmp_path):
    clock = TimeControl(clock=Clock(60_000))
    for fault in ("huge", "blank"):
        output = runner.MatchOutput(pgn=tmp_path / fault)
        result = runner.run_match(terms("default,nodestime=1", f"{FAKE} {fault}", 2, clock), 1, output=output)
        assert result.tally.games == 2 and "%emt -" not in (tmp_path / fault).read_text()
    moves = [move for move in games_in(tmp_path / "huge")[0].mainline() if move.ply() > 8]
    assert {move.eval().relative.score() for move in moves if move.turn() == chess.WHITE} == {1 - MATE_IN_MAX_PLY}


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (chess.engine.Cp(32_500), MATE_IN_MAX_PLY - 1),
        (chess.engine.Cp(-(10**11)), 1 - MATE_IN_MAX_PLY),
        (chess.engine.Cp(-35), -35),
        (chess.engine.Mate(1), MATE_SCORE - 1),
        (chess.engine.Mate(-1), 2 - MATE_SCORE),
        (chess.engine.Mate(0), -MATE_SCORE),
        (chess.engine.MateGiven, MATE_SCORE - 1),  # 100000 in the XBoard protocol
        (chess.engine.Mate(500), MATE_IN_MAX_PLY),
        (chess.engine.Mate(-500), -MATE_IN_MAX_PLY),
    ],
)
def test_only_a_mate_counts_as_one_however_large_a_score(score, shown):
    assert engines.centipawns(score) == shown


@pytest.mark.parametrize(
    "line",
    [
        "option name X type combo default Normal var Solid var Risky",
        "option name X type spin default -1 min 0 max 9",
        "option name X type wheel default 3",
        "option name X type Spin default 1 min 0 max 2",
        "option name X",
        "option type spin",
        "option name MultiPV type spin min 1 max 9",
        "option",
    ],
)
def test_what_is_no_option_is_ignored_unless_it_is_to_be_set(line):
    player = players.read_player(f"{FAKE} {shlex.quote(line + chr(10) + line)},name={line}")
    assert isinstance(player, players.OtherPlayer)
    engine = started(player)
    assert list(engine._engine.options) == ["Contempt"]
    assert engine.choose(engines.Situation(Position(), chess.Board(), None)).move
    engine.close()
    with pytest.raises(MatchError, match="does not support option X"):
        started(replace(player, options={"X": "1"}))


def test_the_clock_runs_from_go_to_the_move_and_our_threads_keep_to_it():
    result = runner.run_match(terms("default", f"{FAKE} sluggish", 2, TimeControl(clock=Clock(200, 50))), 1)
    assert result.tally.games == 2 and result.tally.faults[Reason.TIME][1] == 0
    two_threads = terms("threads=2,name=two", "default", 2, TimeControl(clock=Clock(500, 20)), margin=1000)
    result = runner.run_match(two_threads, 1)
    assert result.tally.games == 2 and not any(map(any, result.tally.faults.values()))


@pytest.mark.parametrize(
    ("text", "clock", "shown"),
    [
        ("10+0.1", Clock(10_000, 100), "10+0.1 s"),
        ("60", Clock(60_000), "60+0 s"),
        ("40/300", Clock(300_000, 0, 40), "40/300+0 s"),
        ("40/5:00+2", Clock(300_000, 2000, 40), "40/300+2 s"),
        ("0/60", Clock(60_000), "60+0 s"),
        ("1:30.5+.5", Clock(90_500, 500), "90.5+0.5 s"),
        ("1234:56.789+0.001", Clock(74_096_789, 1), "74096.789+0.001 s"),
    ],
)
def test_a_clock_is_written_as_cutechess_has_it(text, clock, shown):
    assert Clock.read(text) == clock
    assert str(clock) == shown


@pytest.mark.parametrize(
    "text", ["", "0", "40/", "/60", "40/0", "-5", "1:2:3", "10+", "10+-1", "inf", "nan", "40/60+1+1"]
)
def test_a_faulty_time_control_is_refused(text):
    with pytest.raises(ValueError, match="clock"):
        Clock.read(text)


class _Scripted:
    """A player who takes 100 ms a move and notes what the clocks show."""

    def __init__(self) -> None:
        self.seen: list[tuple[tuple[int, int] | None, int | None]] = []

    def new_game(self, number: int) -> None: ...

    def choose(self, situation: engines.Situation) -> Played:
        self.seen.append((situation.clocks, situation.moves_to_go))
        return Played(situation.position.legal_moves[0], 0, 1, 0.1)

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[_Scripted]:
    """The players 0 and 1."""
    scripted = [_Scripted(), _Scripted()]
    monkeypatch.setattr("merino.match.engines.engine_of", lambda player, *_: scripted[player])
    return scripted


def scripted_game(time_control: TimeControl, longest: int, margin: int = 0) -> Game:
    flag = np.zeros(1, dtype=np.uint64)
    board = engines.PythonBoard((0, 1), time_control, Adjudication(longest=longest), flag, margin)
    game = board.play(0, Opening(START_FEN), True)
    assert game is not None
    return game


def test_at_a_classical_clock_both_sides_see_time_and_moves_to_go(sides):
    assert len(scripted_game(TimeControl(clock=Clock(1000, 20, 2)), 8).moves) == 8
    assert sides[0].seen == [((1020, 1000), 2), ((940, 920), 1), ((1860, 1840), 2), ((1780, 1760), 1)]
    assert [moves_to_go for _, moves_to_go in sides[1].seen] == [2, 1, 2, 1]


@pytest.mark.usefixtures("sides")
@pytest.mark.parametrize(("margin", "late"), [(69, "70 ms late"), (70, ""), (0, "70 ms late")])
def test_a_move_beyond_the_margin_is_as_late_as_it_is(margin, late):
    game = scripted_game(TimeControl(movetime=30), 1, margin)
    assert (game.reason, game.detail) == (Reason.TIME if late else Reason.TOO_LONG, late)


def test_a_clock_shows_at_most_the_time_that_a_search_accepts(sides):
    scripted_game(TimeControl(clock=Clock.read("1/600000+999999")), 6)
    for clocks, _ in (*sides[0].seen, *sides[1].seen):
        assert clocks is not None and Limits(time=clocks).time == clocks


def test_engines_and_our_own_search_get_the_moves_to_go(tmp_path, monkeypatch):
    searched: list[int] = []

    def noting(searcher: Searcher, position: Position, limits: Limits) -> object:
        if limits.moves_to_go is not None:  # it also judges openings, without a clock
            searched.append(limits.moves_to_go)
        return search(searcher, position, Limits(nodes=50))

    search = Searcher.search
    monkeypatch.setattr(Searcher, "search", noting)
    match_terms = terms("default", f"{FAKE} counting", 2, TimeControl(clock=Clock(60_000, 0, 4)))
    runner.run_match(match_terms, 1, output=runner.MatchOutput(pgn=tmp_path / "g.pgn"))
    game = games_in(tmp_path / "g.pgn")[0]
    reported = [
        move.eval().relative.score() for move in game.mainline() if move.ply() > 8 and move.turn() == chess.WHITE
    ]
    assert [-score for score in reported] == [4, 3, 2, 1, 4, 3]
    assert searched[:6] == [4, 3, 2, 1, 4, 3]


def test_a_match_saved_before_clocks_had_moves_goes_on():
    clocks = [Clock(1000), Clock(1000, 0, 40)]
    controls = [terms("default", "default", time_control=TimeControl(clock=clock)) for clock in clocks]
    assert [each.identity()["effort"]["clock"].get("moves") for each in controls] == [None, 40]


def test_an_xboard_engine_plays_with_the_hash_asked_for_even_if_it_cannot_set_up(tmp_path, capsys, shell):
    program = Path(__file__).parent / "fake_xboard.py"
    player = f"xboard:{shlex.quote(sys.executable)} {shlex.quote(str(program))} {shlex.quote(str(tmp_path / 'log'))}"
    words = ["match", "default", player + ",name=x,hash=32", "--games", "2", "--maxmoves", "10"]
    assert main([*words, "--depth", "2", "--pgn", str(tmp_path / "g.pgn")]) == 0
    captured = capsys.readouterr()
    assert "chatter" not in captured.err and "Faults  none" in captured.out
    assert [game.end().ply() for game in games_in(tmp_path / "g.pgn")] == [28, 28]
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert "memory 32" in lines and "post" in lines and lines.count("new") == 2
    assert "cannot limit its search so; use --tc" in shell(*words, "--nodes", "10", status=1)
    (tmp_path / "one.epd").write_text("4k3/8/8/8/8/8/PPPPPPPP/4K3 w - -\n")
    assert "cannot set up a position" in shell(*words, "--depth", "2", "--openings", tmp_path / "one.epd", status=1)


def test_an_xboard_engine_gets_its_hash_and_cores_and_no_nodes_together_with_time(tmp_path):
    words = (
        sys.executable,
        str(Path(__file__).parent / "fake_xboard.py"),
        str(tmp_path / "log"),
        "feature smp=1 nps=1",
    )
    player = players.OtherPlayer("x", words, speaks_xboard=True)
    started(player, TimeControl(nodes=1)).close()
    assert {"memory 16", "cores 1"} <= set((tmp_path / "log").read_text(encoding="utf-8").splitlines())
    with pytest.raises(MatchError, match="'x' cannot limit its search so"):
        started(player, TimeControl(nodes=10, movetime=10))


@pytest.mark.parametrize("protocol", ["engine", "xboard"])
def test_an_engine_without_chess960_ends_the_match_with_a_reason(protocol, tmp_path, shell):
    (tmp_path / "o.epd").write_text("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1\n")
    program = [str(Path(__file__).parent / "fake_xboard.py"), str(tmp_path / "log"), "feature setboard=1"]
    command = FAKE if protocol == "engine" else f"xboard:{shlex.join([sys.executable, *program])}"
    words = ["match", command + ",name=x", "default", "--games", "2", "--depth", "1"]
    assert "'x' does not play Chess960" in shell(*words, "--openings", tmp_path / "o.epd", status=1)


def test_what_is_no_feature_of_xboard_is_ignored(tmp_path):
    odd = (
        "feature " + words for words in ('option="Skill"', 'option="Skill -spin 1" sigint=0', "nothing", 'myname="F')
    )
    words = (sys.executable, str(Path(__file__).parent / "fake_xboard.py"), str(tmp_path / "log"), *odd)
    engine = started(players.read_player(f"xboard:{shlex.join(words)},name=odd"), TimeControl(depth=2))
    assert engine._engine.protocol.features["sigint"] == 0  # in addition to what is none
    assert engine.choose(engines.Situation(Position(), chess.Board(), None)).move
    engine.close()


def test_faults_are_reported_by_player(capsys):
    assert main(["match", FAKE + " illegal,name=bad", "default", "--games", "2", "--json", "--nodes", "50"]) == 0
    captured = capsys.readouterr()
    assert "Faults  bad 2 illegal moves" in captured.err
    found = json.loads(captured.out)
    wanted = "games wins draws losses pentanomial elo elo_error los llr verdict illegal crashes time_losses"
    assert not set(wanted.split()) - found.keys()
    assert (found["players"], found["games"], found["illegal"]) == (["bad", "default"], 2, 2)
    assert found["faults"] == [{"illegal": number, "crashes": 0, "time_losses": 0} for number in (2, 0)]


@pytest.mark.parametrize(
    ("bounds", "words", "value"),
    [
        ("min 1 max 8", "", 8),
        ("min 32 max 99", "", 32),
        ("min 1 max 64", "", 16),
        ("min 1 max 7", ",option.hash=4", 4),
        ("min 1 max 6", ",hash=2", 2),
    ],
)
def test_the_usual_hash_is_brought_within_the_bounds_of_an_engine(bounds, words, value):
    option = f"option name Hash type spin default {bounds.split()[1]} {bounds}"
    player = players.read_player(f"{FAKE} {shlex.quote(option)}{words}")
    engine = started(player)
    assert int(engine._engine.protocol.config["Hash"]) == value
    engine.close()
    with pytest.raises(MatchError, match="expected value for option 'Hash' to be at"):
        started(replace(player, hash_mb=1000, options={}))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
def test_an_engine_that_hangs_behind_a_script_is_ended_too(tmp_path):
    program, made = tmp_path / "engine", tmp_path / "made"
    program.write_text(f'#!/bin/sh\nread line\necho uciok\nsleep 600 &\necho $! > "{made}"\nwait\n')
    program.chmod(0o755)
    started = engines.Program(engines.TimedUci)
    started.start([str(program)])
    while not (made.exists() and made.read_text().strip()):
        time.sleep(0.01)
    started.end()
    child, until = Path("/proc") / made.read_text().strip(), time.monotonic() + 60
    while child.exists() and "State:\tZ" not in (child / "status").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("player", "code", "said"),
    [
        (f"engine:{shlex.quote(sys.executable)} -c 'raise SystemExit'", 1, ["does not start"]),
        ("engine:no-such-program", 2, ["program not found"]),
        (FAKE + ",option.Nonsense=1", 1, ["Nonsense"]),
        (FAKE + ",hash=64", 1, ["it has no option for hash"]),
        (f"{FAKE} silent", 1, ["does not start: no answer; perhaps it speaks UCI only with an option, such as --uci"]),
    ],
)
def test_an_engine_that_cannot_start_as_asked_ends_the_match_with_a_reason(player, code, said, monkeypatch, capsys):
    monkeypatch.setattr("merino.match.engines.START_SECONDS", 0.5 if "silent" in player else 60.0)
    assert main(["match", "default", player, "--games", "2"]) == code
    error = capsys.readouterr().err
    assert all(words in error for words in said)


def test_a_command_may_have_an_equals_sign_and_a_path_blanks(tmp_path):
    for prefix in ("engine:", "xboard:", ""):
        other = players.read_player(f"{prefix}{shlex.quote(sys.executable)} x.py --weights=net.pb,option.Contempt=2")
        assert isinstance(other, players.OtherPlayer)
        assert (other.command[1:], other.options) == (("x.py", "--weights=net.pb"), {"Contempt": "2"})
    program = tmp_path / "a b" / "engine"
    program.parent.mkdir()
    program.write_text("no weights")
    program.chmod(0o755)
    for text in (str(program), f"engine:{program}", shlex.quote(str(program))):
        assert players.read_player(text).command == (str(program),)
    program.write_bytes(DEFAULT_FILE.read_bytes())  # weights that may be executed
    assert isinstance(players.read_player(str(program)), players.OwnPlayer)


@pytest.mark.parametrize(
    "option",
    [option for option in OPTIONS.values() if option.name != players.EVAL_FILE],
    ids=lambda option: option.name,
)
def test_a_player_can_be_given_the_uci_options_that_have_a_word_for_it(option):
    word, _, unit = option.setting.partition("=")
    if not word:
        with pytest.raises(PlayerError, match="no search parameter or weight"):
            players.read_player(f"default,{option.name}=1")
        return
    assert option.kind == "spin" and option.bounds is not None and unit
    low, high = option.bounds
    player = players.read_player(f"default,{word}={high}")
    assert isinstance(player, players.OwnPlayer) and player.settings[word] == high
    for wrong in (low - 1, high + 1):
        with pytest.raises(
            PlayerError, match=f"{word}={unit} must be a whole number from {low} to {high}, not {wrong}"
        ):
            players.read_player(f"default,{word}={wrong}")


def test_a_player_may_be_of_an_elo():
    player = players.read_player(f"default,elo={MAX_ELO},seed=3")
    assert isinstance(player, players.OwnPlayer) and not player.is_plain
    assert engines.OwnEngine(player, TimeControl(nodes=10)).searcher.strength == at_elo(MAX_ELO)
    assert player.identity() != players.OwnPlayer("plain").identity()
    with pytest.raises(PlayerError, match="no search parameter or weight 'StyleFile'"):
        players.read_player("default,StyleFile=me.json")


def test_what_players_with_a_seed_draw_depends_on_the_game_alone(tmp_path):
    def moves(name: str, *runs: tuple[int, int]) -> list[str]:
        output = runner.MatchOutput(pgn=tmp_path / f"{name}.pgn", state=tmp_path / f"{name}.json")
        for games, threads in runs:
            runner.run_match(terms("default,elo=1500,seed=3", "default,elo=1400,seed=4", games), threads, output=output)
        return [" ".join(move.uci() for move in game.mainline_moves()) for game in games_in(tmp_path / f"{name}.pgn")]

    assert moves("at_once", (6, 3)) == moves("resumed", (3, 1), (6, 1))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["match", "default", "razor_depth=1", "--games", "4"], "Games | N: 4 W: "),
        (["selfplay", "4"], "4 games, "),
        (["gauntlet", "default", "razor_depth=1", "--games", "4"], "| default |"),
    ],
)
def test_on_a_full_disk_the_score_is_shown_and_the_file_named(words, shown, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("merino.match.runner.SAVE_EVERY", math.inf)  # seconds: else a busy machine saves earlier
    words = [*words, "--nodes", "50", "--concurrency", "1", "--state", str(tmp_path / "state")]
    assert main([*words, "--pgn", "/dev/full"]) == 1
    captured = capsys.readouterr()
    assert shown in captured.out
    assert f"merino: {words[0]}: cannot write '/dev/full': No space left on device" in captured.err
    state = tmp_path / "state" / "1-2.json" if words[0] == "gauntlet" else tmp_path / "state"
    assert sum(json.loads(state.read_text())["tally"]["points"]) == 4
    assert main([*words, "--pgn", str(tmp_path / "g.pgn")]) == 0  # there is room there: no game is lost
    assert len(games_in(tmp_path / "g.pgn")) == 4


def test_games_are_not_added_to_a_file_that_the_match_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    path, game = tmp_path / "x.pgn", b"1. e4 e5 *\n"
    is_read = f"'{path}' is also an input"
    for content, words, complaint in (
        (DEFAULT_FILE.read_bytes(), [str(path)], is_read),
        (game, ["default", "--openings", str(path)], is_read),
        (game, ["default", "--openings=~/x.pgn"], is_read),
        (game, ["default", "--openings", "~nobody-at-all/x"], "cannot read openings '~nobody-at-all/x'"),
    ):
        path.write_bytes(content)
        assert main(["match", "default", *words, "--games", "2", "--nodes", "50", "--pgn", str(path)]) == 1
        assert complaint in capsys.readouterr().err and path.read_bytes() == content


def test_games_are_not_appended_to_a_compressed_pgn(tmp_path, shell):
    (pgn := tmp_path / "games.pgn.gz").write_bytes(b"kept")
    said = shell("match", "default", "razor_depth=1", "--nodes", "50", "--pgn", pgn, status=2)
    assert f"'{pgn}' is compressed, and nothing can be appended to it" in said and pgn.read_bytes() == b"kept"


def test_the_state_of_another_match_is_refused(tmp_path):
    output = runner.MatchOutput(state=tmp_path / "state.json")
    runner.run_match(terms("default", "razor_depth=1", 2), 1, output=output)
    before = (tmp_path / "state.json").read_bytes()
    with pytest.raises(MatchError, match="other seed, players"):
        runner.run_match(terms("default", "razor_depth=2", 2, seed=7), 1, output=output)
    assert (tmp_path / "state.json").read_bytes() == before
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(MatchError, match="is not the state of a match"):
        runner.run_match(terms("default", "razor_depth=1", 2), 1, output=output)


def test_openings_may_be_compressed_and_in_another_encoding_are_refused_as_that(tmp_path):
    fen, game = b"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n", b"1. e4 e5 *\n"
    for name, content, found in (
        ("o.pgn.gz", gzip.compress(game), Opening(START_FEN, ("e2e4", "e7e5"))),
        ("o.epd.bz2", bz2.compress(b"\xef\xbb\xbf" + fen), Opening(fen.decode().strip())),
        ("o.pgn", gzip.compress(game), "is compressed: let its name end in .gz"),
        ("o.epd", fen.decode().encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        ("o.pgn.xz", b"\xfd7zXZ\0damaged", "cannot read"),
        ("o.bin.gz", gzip.compress(game), "it is not a Polyglot book"),
    ):
        (tmp_path / name).write_bytes(content)
        if isinstance(found, Opening):
            assert FileOpenings(tmp_path / name, 1).opening(0) == found
        else:
            with pytest.raises(OpeningError, match=found):
                FileOpenings(tmp_path / name, 1)


def test_openings_come_from_an_epd_a_pgn_or_a_book(tmp_path):
    epd, pgn, book = tmp_path / "o.epd", tmp_path / "o.pgn", tmp_path / "o.bin"
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -"
    epd.write_text(f'{fen} bm e5; id "x";\n\n# no opening\n{fen} 0 1\n')
    assert {FileOpenings(epd, 1).opening(number).fen for number in range(3)} == {f"{fen} 0 1"}
    (tmp_path / "counted.epd").write_text(f'{fen} hmvc 5; c0 "hmvc 7"; fmvn 9;\n')
    assert FileOpenings(tmp_path / "counted.epd", 1).opening(0).fen == f"{fen} 5 9"
    pgn.write_text('[Event "a"]\n\n1. e4 e5 2. Nf3 *\n\n[Event "b"]\n\n1. d4 *\n')
    found = {FileOpenings(pgn, 1, 2).opening(number).moves for number in range(2)}
    assert found == {("e2e4", "e7e5"), ("d2d4",)}
    without_tags = tmp_path / "O.PGN"
    without_tags.write_text("1. e4 e5 2. Nf3 *\n\n1. d4 *\n")
    assert {FileOpenings(without_tags, 1, 2).opening(number).moves for number in range(2)} == found
    key, move = chess.polyglot.zobrist_hash(chess.Board()), (chess.E2 | 0) * 64 + chess.E4
    book.write_bytes(key.to_bytes(8, "big") + move.to_bytes(2, "big") + (1).to_bytes(2, "big") + bytes(4))
    assert FileOpenings(book, 1).opening(0).moves == ("e2e4",)


def test_it_is_said_that_games_are_played_again_as_openings_come_again(tmp_path, capsys):
    (tmp_path / "o.pgn").write_text("1. e4 e5 *\n\n1. d4 *\n")
    again = "has 2 openings: the games from number 5 on are those before once more, and prove nothing."
    for games, words, said in (
        ("6", ["match", "default", "razor_depth=1"], True),
        ("4", ["match", "default", "razor_depth=1"], False),
        ("6", ["match", "default", "default,elo=1500,seed=1"], False),
        ("6", ["selfplay"], False),
    ):
        count = [games] if words == ["selfplay"] else ["--games", games, "--maxmoves", "9"]
        pgn = tmp_path / f"{words[-1]}{games}.pgn"
        options = ["--nodes", "20", "--openings", str(tmp_path / "o.pgn"), "--pgn", str(pgn)]
        assert main([*words, *count, *options]) == 0
        assert (again in capsys.readouterr().err) == said
        texts = [" ".join(map(str, game.mainline_moves())) for game in games_in(pgn)]
        assert (len(set(texts[::2])) < len(texts[::2])) == said


@pytest.mark.parametrize("threads", [1, 2])
def test_games_of_chess960_are_played_and_read_back(threads, tmp_path):
    openings, games = tmp_path / "o.epd", tmp_path / "games.pgn"
    openings.write_text("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1\n3k4/8/8/8/8/8/8/R2KR3 w EA - 0 1\n")
    words = ["--games", "4", "--nodes", "50", "--maxmoves", "40", "--openings", str(openings), "--pgn", str(games)]
    assert main(["match", "default", f"default,threads={threads},name=caf\udce9", *words, "--quiet"]) == 0
    read = games_in(games)
    assert [game.headers["Variant"] for game in read] == ["Chess960"] * 4
    assert {game.headers["White"] for game in read} == {"default", r"caf\\udce9"}
    assert "O-O" in games.read_text()


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. f3 e5 2. g4 Qh4# 0-1", ("f2f3", "e7e5", "g2g4")),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 *", ("g1f3", "g8f6", "f3g1", "f6g8") * 2),
    ],
)
def test_an_opening_ends_before_the_game_that_it_is_taken_from(text, moves, tmp_path):
    (tmp_path / "x.pgn").write_text(f'[Event "?"]\n\n{text}\n')
    opening = FileOpenings(tmp_path / "x.pgn", 1).opening(0)
    assert opening.moves == moves[: len(opening.moves)] and len(opening.moves) >= 3
    assert opening.position().outcome() is None


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("x.epd", "", "holds no opening"),
        ("x.epd", "no position at all\n", "line 1"),
        ("x.pgn", "no game at all\n", "holds no opening"),
        ("x.pgn", '[Event "?"]\n\n1. e5 *\n', "line 3: 'e5' is not a legal move here"),
        ("x.pgn", '[Event "?"]\n\n1. d4 d4) d5 *\n', "line 3: 'd4' is not a legal move here"),
        ("x.PGN", "1. e4 -- 2. d4 d5 *\n", "line 1: '--' is a null move, which chess does not allow"),
        ("x.pgn", '[Variant "Atomic"]\n\n1. e4 *\n', "line 1: 'Atomic' is a variant that Merino does not play"),
        ("x.pgn", '[Event "?"]\n\n*\n', "without moves: line 1"),
        ("x.pgn", '[Event "?"]\n[FEN "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]\n\n*\n', "line 2: '7k/5Q2.* already over"),
        ("x.fen", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\n", "line 1: the game is already over"),
    ],
)
def test_a_faulty_file_of_openings_is_refused(name, text, complaint, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(OpeningError, match=complaint):
        FileOpenings(tmp_path / name, 1)


FAULTY_LINES = "\n".join(
    [START_FEN, "# a comment", START_FEN.replace(" w ", " x "), "8/8/8/8/8/8/8/k6K w - - 0 1", f"1 {START_FEN}"]
)
FAULTY_GAMES = "\n\n".join(
    [
        '[Result "1-0"]',
        "1. d4 d5 0-1",
        "1. e4 e5 2. Ke3 *",
        '[White "A"]',
        "*",
        '[FEN "4k3/8/8/8/8/8/4P3/4K3 w - -"]',
        "*",
    ]
)


@pytest.mark.parametrize(
    ("name", "text", "starts", "said"),
    [
        ("o.epd", FAULTY_LINES, {()}, "o.epd: 3 openings left out, unreadable: line 3: "),
        ("o.pgn", FAULTY_GAMES, {("d2d4", "d7d5"), ()}, "o.pgn: 1 opening left out, unreadable: line 5: 'Ke3' is not"),
    ],
)
def test_faulty_openings_are_left_out_before_the_first_game(name, text, starts, said, tmp_path, capsys):
    (path := tmp_path / name).write_text(text)
    found = FileOpenings(path, 1)
    assert {found.opening(number).moves for number in range(2 * len(found))} == starts and len(found) == len(starts)
    assert main(["match", "default", "default", "--games", "6", "--nodes", "9", "--openings", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["games"] == 6 and said in shown.err
    assert [row["what"] for row in json.loads(shown.out)["left_out"]] == ["opening"] * (1 + (name == "o.pgn"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--tc", "fast"], "a time control looks like 10+0.1"),
        (["--hash", "900000000"], "is not a whole number from 1 to 65536"),
        (["--tc", "2000000"], "the clock '2000000' has more than 1,000,000 seconds"),
        (["--openings", "missing.pgn"], "cannot read openings 'missing.pgn'"),
        (["--plies", "100000000"], "an opening has at most 2048 random plies, not 100000000"),
        (["--pgn", "/no/such/folder/x.pgn"], "cannot write '/no/such/folder/x.pgn': there is no such folder"),
        (["--state", "/no/such/folder/x"], "cannot write '/no/such/folder/x'"),
    ],
)
def test_a_wrong_option_is_explained(words, complaint, capsys):
    assert main(["match", "default", "default", *words]) != 0
    assert complaint in capsys.readouterr().err


def test_a_program_is_found_in_the_folder_and_on_the_path(tmp_path, monkeypatch):
    program = tmp_path / "engine"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("./engine", "~/engine", str(program)):
        assert players.find_program(named) == str(program)
    assert players.find_program("engine") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert players.find_program("engine") == str(program)


class Screen(io.StringIO):
    """A terminal of usual width."""

    def isatty(self) -> bool:
        return True


def test_the_live_line_of_a_match_is_wiped_before_the_next_text_an_error_too():
    for fault in (None, CommandError("the disk is full")):
        screen = Screen()
        with suppress(CommandError), LivePrinter(screen) as show:
            show("12/100  Elo +1.0")
            show("13/100")
            if fault:
                raise fault
        assert screen.getvalue() == "\r12/100  Elo +1.0\r13/100          \r      \r"


def test_a_live_line_that_is_too_long_keeps_the_score_and_the_time_left():
    tally = Tally()
    tally.points[:], tally.pairs[:] = (119, 47, 103), (22, 22, 56, 17, 17)
    line = report.live_line(tally, 1200, 60.0, statistics.Sprt(0, 5))
    assert shortened(line, 200) == line
    short = shortened(line, 79)
    assert len(short) <= 79
    assert short.startswith("269/1200  ") and "Elo " in short and short.endswith(" left at most")
