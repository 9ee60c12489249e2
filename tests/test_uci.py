"""The UCI protocol over a pipe against the real process: the rules GUIs rely on, and the input that breaks others."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from tests.uci_process import ROOT, UciProcess, run_merino

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
MATED = "R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"
STALEMATED = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
SHUFFLE = "g1f3 g8f6 f3g1 f6g8"


@pytest.fixture(scope="module")
def process() -> Iterator[UciProcess]:
    with UciProcess() as running:
        running.ask("uci", until="uciok")
        running.sync()
        yield running


@pytest.fixture
def engine(process: UciProcess) -> UciProcess:
    """The shared process, idle, on the starting position, with the options as at the start."""
    defaults = [f"setoption name {name} value {value}" for name, value in (("MultiPV", 1), ("UCI_Chess960", "false"))]
    process.send(
        "stop", "debug off", *defaults, "setoption name WeightsFile value <empty>", "setoption name Hash value 16"
    )
    process.send("position startpos")
    process.sync()
    return process


def bestmove(engine: UciProcess, *lines: str) -> str:
    return engine.ask(*lines, until="bestmove")[-1].split()[1]


def infos(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("info depth")]


def field(info: str, name: str) -> str:
    words = info.split()
    return words[words.index(name) + 1]


# Start


def test_nothing_heavy_is_imported_before_uciok() -> None:
    code = "import sys, engine.cli, engine.uci; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert "engine.uci" in loaded
    assert not {"numba", "numpy", "argparse", "asyncio", "importlib.metadata", "json", "logging"} & set(loaded)


def test_uciok_comes_within_a_seventh_of_a_second() -> None:
    def seconds() -> float:
        with UciProcess() as fresh:
            fresh.send("uci")
            return fresh.read_until("uciok")[-1].at - fresh.started

    assert min(seconds() for _ in range(5)) < 0.15


def test_quit_directly_after_uciok_ends_at_once_with_code_0() -> None:
    with UciProcess() as fresh:
        fresh.ask("uci", until="uciok")
        sent = fresh.send("quit")
        assert fresh.exit_code() == 0
        assert time.perf_counter() - sent < 0.5


def test_nothing_is_said_before_the_first_command(engine: UciProcess) -> None:
    with UciProcess() as fresh:
        assert fresh.is_silent(0.3)
        assert fresh.ask("uci", until="uciok")[0].startswith("id name Merino")


def test_a_failure_to_load_is_said_and_ends_with_code_1(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('no numba here')")
    done = run_merino("uci", given=b"uci\nisready\n", environment={"PYTHONPATH": f"{tmp_path}"})
    assert done.code == 1
    assert done.output[-1] == "info string error: loader: ImportError: no numba here"


def test_every_option_line_is_well_formed(engine: UciProcess) -> None:
    lines = [line for line in engine.ask("uci", until="uciok") if line.startswith("option")]
    assert {"Hash", "Threads", "Ponder", "Move Overhead"} <= {re.split(" name | type ", line)[1] for line in lines}
    for line in lines:
        assert re.fullmatch(
            r"option name [\w ]+ type (button|check default (true|false)|string default .+"
            r"|spin default (?P<default>\d+) min (?P<low>\d+) max (?P<high>\d+))",
            line,
        ), line
        reserved = re.findall(r"\b(?:name|type|default|min|max|var)\b", line)
        assert len(reserved) == len(set(reserved)), f"python-chess would misread {line}"


# Lines


@pytest.mark.parametrize(
    "raw",
    [
        b"isready\r\n",
        b"isready\r",
        b"\tisready \t\n",
        b"joho isready\n",
        b"joho jo\tho isready now\n",
        b"ISREADY\n",
        b"xboard\nisready\n",
        b"\xff\xfe\x00 isready\n",
        b"\xef\xbb\xbfisready\n",
        b"\n \n\r\nisready\n",
        b"# quit\nisready\n",
        b"x" * 3_000_000 + b"\nisready\n",
        b"stop\nponderhit\nregister later\nisready\n",
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_isready_is_heard_and_nothing_else_is_said(engine: UciProcess, raw: bytes) -> None:
    engine.send_bytes(raw)
    assert [said.text for said in engine.read_until("readyok")] == ["readyok"]


def test_unknown_commands_are_reported_in_debug_mode_only(engine: UciProcess) -> None:
    engine.send("foo bar")
    assert engine.sync() == []
    engine.send("debug on", "foo bar")
    assert engine.sync() == ["info string unknown command: 'foo bar'"]


def test_a_line_without_end_is_run_at_the_end_of_input() -> None:
    assert run_merino("uci", given=b"uci").output[-1] == "uciok"


# Position


@pytest.mark.parametrize(
    ("position", "complaint"),
    [
        ("position fen garbage", "4 to 6 fields"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "0 kings"),
        ("position fen 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "could take the king"),
        ("position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNX w KQkq - 0 1", "'X' on rank 1"),
        ("position startpos moves e2e4 e7e5 e2e4", "ply 3: e2e4 is not legal"),
        ("position startpos moves e2e4 0000", "ply 2: '0000'"),
        ("position startpos moves e2e4 \u00e9\u00e8", "ply 2: '\\xe9\\xe8'"),
        ("position", "'startpos' or 'fen'"),
        ("position fen", "4 to 6 fields"),
    ],
)
def test_a_wrong_position_is_explained_and_go_has_no_move_until_a_right_one(
    engine: UciProcess, position: str, complaint: str
) -> None:
    engine.send(position)
    (error,) = engine.sync()
    assert error.startswith("info string error: position: ")
    assert complaint in error
    assert engine.ask("go depth 3", until="bestmove")[-1] == "bestmove (none)"
    assert bestmove(engine, "position startpos", "go depth 1") != "(none)"


def test_a_fen_of_four_fields_is_accepted(engine: UciProcess) -> None:
    assert bestmove(engine, "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -", "go depth 3") == "d1d8"


@pytest.mark.parametrize("plies", [300, 600, 2000])
def test_a_long_game_is_taken_within_20_ms(engine: UciProcess, plies: int) -> None:
    command = f"position startpos moves {' '.join((SHUFFLE.split() * 500)[:plies])}"

    def seconds() -> float:
        began = engine.send(command, "isready")
        return engine.read_until("readyok")[-1].at - began

    assert min(seconds() for _ in range(5)) < 0.020


def test_a_third_repetition_is_worth_nothing(engine: UciProcess) -> None:
    moves = " ".join((SHUFFLE.split() * 2)[:7])
    said = engine.ask(f"position startpos moves {moves}", "go depth 4 searchmoves f6g8", until="bestmove")
    assert said[-1].startswith("bestmove f6g8")
    assert " score cp 0 " in infos(said)[-1]


def test_a_root_that_is_drawn_by_rule_still_has_a_move(engine: UciProcess) -> None:
    assert bestmove(engine, f"position startpos moves {SHUFFLE} {SHUFFLE} {SHUFFLE}", "go depth 3") != "(none)"
    assert bestmove(engine, "position fen 4k3/8/8/8/8/8/4R3/4K3 b - - 150 120", "go depth 3") != "(none)"


# Go


def test_a_search_ends_with_a_final_info_and_one_bestmove(engine: UciProcess) -> None:
    said = engine.ask("go depth 6", until="bestmove")
    assert re.fullmatch(
        r"info depth 6 seldepth \d+ multipv 1 score cp -?\d+ nodes \d+ nps \d+ hashfull \d+ tbhits 0 time \d+ pv .*",
        said[-2],
    )
    assert said[-1].split()[1] == said[-2].partition(" pv ")[2].split()[0]
    assert engine.sync() == []


@pytest.mark.parametrize(
    "fen", [chess.STARTING_FEN, KIWIPETE, MATE_IN_ONE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"]
)
def test_every_pv_is_legal_and_the_ponder_move_follows_the_bestmove(engine: UciProcess, fen: str) -> None:
    said = engine.ask(f"position fen {fen}", "go depth 9", until="bestmove")
    for line in infos(said):
        board = chess.Board(fen)
        for move in line.partition(" pv ")[2].split():
            assert chess.Move.from_uci(move) in board.legal_moves, line
            board.push_uci(move)
    _, best, *ponder = said[-1].split()
    if ponder:
        assert [best, ponder[1]] == infos(said)[-1].partition(" pv ")[2].split()[:2]


def test_stop_brings_one_bestmove_at_once(engine: UciProcess) -> None:
    engine.send("go infinite")
    time.sleep(0.3)
    sent = engine.send("stop")
    assert engine.read_until("bestmove")[-1].at - sent < 0.1
    assert engine.sync() == []


def test_stop_directly_after_go_is_not_lost(engine: UciProcess) -> None:
    for _ in range(20):
        assert bestmove(engine, "go infinite", "stop") != "(none)"


def test_isready_is_answered_at_once_during_a_search(engine: UciProcess) -> None:
    engine.send("go infinite")
    time.sleep(0.2)
    sent = engine.send("isready")
    assert engine.read_until("readyok")[-1].at - sent < 0.05
    engine.ask("stop", until="bestmove")


def test_go_alone_searches_until_stop(engine: UciProcess) -> None:
    engine.send("go")
    with pytest.raises(TimeoutError):
        engine.read_until("bestmove", 0.5)
    engine.ask("stop", until="bestmove")


@pytest.mark.parametrize("fen", [MATE_IN_ONE, MATED, STALEMATED])
@pytest.mark.parametrize("go", ["go infinite", "go ponder depth 2", "go infinite depth 2", "go ponder wtime 9 btime 9"])
def test_infinite_and_ponder_wait_for_the_gui(engine: UciProcess, fen: str, go: str) -> None:
    engine.send(f"position fen {fen}", go)
    with pytest.raises(TimeoutError):
        engine.read_until("bestmove", 0.25)
    engine.ask("stop", until="bestmove")
    assert engine.sync() == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
def test_waiting_for_stop_costs_no_processor_time(engine: UciProcess) -> None:
    engine.send("go infinite depth 2")
    time.sleep(0.2)
    before = engine.processor_seconds()
    time.sleep(0.5)
    assert engine.processor_seconds() - before < 0.05
    engine.ask("stop", until="bestmove")


def test_ponderhit_turns_the_search_to_its_limits(engine: UciProcess) -> None:
    engine.send("go ponder movetime 200")
    with pytest.raises(TimeoutError):
        engine.read_until("bestmove", 0.5)
    engine.ask("ponderhit", until="bestmove")
    assert engine.sync() == []


def test_a_second_go_lets_the_first_give_its_move(engine: UciProcess) -> None:
    engine.send("go infinite", "position startpos moves e2e4", "go depth 2")
    first, second = (engine.read_until("bestmove")[-1].text.split()[1] for _ in range(2))
    assert chess.Move.from_uci(first) in chess.Board().legal_moves
    assert second[1] in "78"
    assert engine.sync() == []


def test_a_new_game_during_a_search_stops_it(engine: UciProcess) -> None:
    engine.send("go infinite", "ucinewgame", "isready")
    engine.read_until("bestmove")
    engine.read_until("readyok")


@pytest.mark.parametrize(
    ("fen", "score"), [(MATED, "info depth 0 seldepth 0 multipv 1 score mate 0"), (STALEMATED, "score cp 0")]
)
def test_a_root_without_moves_has_a_score_and_no_move(engine: UciProcess, fen: str, score: str) -> None:
    said = engine.ask(f"position fen {fen}", "go depth 5", until="bestmove")
    assert len(said) == 2
    assert score in said[0]
    assert said[1] == "bestmove (none)"


@pytest.mark.parametrize(
    "limits",
    [
        "wtime 100",
        "btime 100",
        "wtime 100 winc 100 btime 100 binc 100",
        "btime 100 binc 100 wtime 100 winc 100 movestogo 1",
        "wtime -50 btime -50",
        "wtime 0 btime 0 winc 0 binc 0",
        "wtime 100.5 btime 99.9",
        "movetime 0",
        "movetime 100",
        "depth 0",
        "depth -3",
        "nodes 0",
        "mate 0",
        "depth joho 3 nodes 1000",
        "joho depth 2",
        "depth 2 wtime",
        "wtime 99999999999999999999999 btime 1 depth 2",
    ],
)
@pytest.mark.parametrize("side", ["", " moves e2e4"])
def test_every_limit_ends_with_a_move_in_time(engine: UciProcess, limits: str, side: str) -> None:
    sent = engine.send(f"position startpos{side}", f"go {limits}")
    said = engine.read_until("bestmove", 10)
    assert said[-1].at - sent < 1.0
    assert re.search(r"score cp -?\d+ (lowerbound )?nodes \d+ nps \d+ ", said[-2].text)


def test_movetime_is_kept(engine: UciProcess) -> None:
    sent = engine.send("go movetime 300")
    assert 0.2 < engine.read_until("bestmove")[-1].at - sent < 0.4


def test_a_single_legal_move_is_played_at_once(engine: UciProcess) -> None:
    sent = engine.send("position fen 7k/8/8/8/8/8/1r6/K7 w - - 0 1", "go wtime 60000 btime 60000")
    assert engine.read_until("bestmove")[-1].at - sent < 0.3


def test_nodes_are_overshot_by_little(engine: UciProcess) -> None:
    said = engine.ask("go nodes 5000", until="bestmove")
    assert int(field(infos(said)[-1], "nodes")) <= 6024


@pytest.mark.parametrize(
    "go", ["searchmoves a2a3 h2h3 depth 4", "depth 4 searchmoves a2a3 h2h3", "searchmoves a2a3 e2e5 depth 3"]
)
def test_searchmoves_may_stand_anywhere(engine: UciProcess, go: str) -> None:
    assert bestmove(engine, f"go {go}") in ("a2a3", "h2h3")


def test_searchmoves_without_a_legal_one_are_ignored(engine: UciProcess) -> None:
    assert bestmove(engine, "go searchmoves 0000 e2e5 depth 3") not in ("(none)", "0000")


def test_a_mate_is_found_and_counted_in_moves(engine: UciProcess) -> None:
    said = engine.ask(f"position fen {MATE_IN_ONE}", "go mate 1", until="bestmove")
    assert said[-1] == "bestmove d1d8"
    assert " score mate 1 " in infos(said)[-1]
    assert infos(said)[-1].endswith(" pv d1d8")


def test_go_mate_ends_also_where_there_is_none(engine: UciProcess) -> None:
    assert bestmove(engine, "go mate 2") != "(none)"


def test_current_moves_come_after_three_seconds_and_not_too_often(engine: UciProcess) -> None:
    sent = engine.send("go infinite")
    time.sleep(3.6)
    engine.send("stop")
    said = [line for line in engine.read_until("bestmove") if " currmove " in line.text]
    assert len(said) <= 6
    for line in said:
        assert re.fullmatch(r"info depth \d+ currmove [a-h][1-8][a-h][1-8] currmovenumber \d+", line.text)
        assert line.at - sent > 2.9


def test_perft_divides_as_stockfish_does(engine: UciProcess) -> None:
    said = engine.ask("go perft 3", until="Nodes searched")
    assert said[:2] == ["a2a3: 380", "b2b3: 420"]
    assert said[-3:] == ["g1h3: 400", "", "Nodes searched: 8902"]


# Options


def test_an_option_is_found_in_any_case_and_its_value_clamped(engine: UciProcess) -> None:
    engine.send("setoption name mOVE   oVERHEAD value 99999")
    assert engine.sync() == ["info string Move Overhead 99999 is out of range; taken as 5000"]
    engine.send("setoption name Move Overhead value 50")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("setoption name Joho value 3", "info string error: no option 'Joho'"),
        ("setoption", "info string error: no option ''"),
        ("setoption name Hash", "info string error: Hash needs a value; it stays as it is"),
        ("setoption name Hash value", "info string error: Hash needs a value; it stays as it is"),
        ("setoption name Hash value big", "info string error: Hash is a number, not 'big'"),
        ("setoption name Ponder value maybe", "info string error: Ponder is true or false, not 'maybe'"),
        ("setoption name UCI_EngineAbout value x", None),
        ("setoption name Clear Hash", None),
        ("setoption name ponder value TRUE", None),
    ],
)
def test_a_faulty_setoption_is_explained(engine: UciProcess, line: str, answer: str | None) -> None:
    engine.send(line)
    assert engine.sync() == ([answer] if answer else [])
    assert bestmove(engine, "go depth 1") != "(none)"


def test_a_hash_beyond_memory_is_refused(engine: UciProcess) -> None:
    engine.send("setoption name Hash value 999999999")
    said = engine.sync()
    assert said[0] == "info string Hash 999999999 is out of range; taken as 65536"
    assert bestmove(engine, "setoption name Hash value 1", "go depth 3") != "(none)"


def test_hash_and_threads_set_during_a_search_wait_for_its_end(engine: UciProcess) -> None:
    engine.send("go infinite", "setoption name Threads value 2", "setoption name Hash value 4", "isready")
    notes = [line.text for line in engine.read_until("readyok") if "info string" in line.text]
    assert notes[-2:] == [f"info string {name} takes effect when the search has ended" for name in ("Threads", "Hash")]
    engine.ask("stop", until="bestmove")
    assert bestmove(engine, "go depth 4") != "(none)"
    engine.send("setoption name Threads value 1")


def test_multipv_lines_come_together_and_sorted(engine: UciProcess) -> None:
    said = infos(engine.ask("setoption name MultiPV value 4", "go depth 5", until="bestmove"))
    last = [line for line in said if field(line, "depth") == "5"][:4]
    assert [field(line, "multipv") for line in last] == ["1", "2", "3", "4"]
    scores = [int(field(line, "cp")) for line in last]
    assert scores == sorted(scores, reverse=True)
    assert len({line.partition(" pv ")[2].split()[0] for line in last}) == 4


def test_multipv_is_capped_at_the_legal_moves(engine: UciProcess) -> None:
    said = engine.ask(
        "setoption name MultiPV value 256", "position fen 7k/8/8/8/8/8/r7/1K6 w - - 0 1", "go depth 2", until="bestmove"
    )
    assert {field(line, "multipv") for line in infos(said)} == {"1", "2"}


@pytest.mark.parametrize(("style", "castling"), [("true", "e1h1"), ("false", "e1g1")])
def test_castling_is_written_in_the_style_asked_for(engine: UciProcess, style: str, castling: str) -> None:
    fen = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    for given in ("e1h1", "e1g1"):
        lines = (f"setoption name UCI_Chess960 value {style}", fen, f"go depth 2 searchmoves {given}")
        assert bestmove(engine, *lines) == castling
    engine.send(f"{fen[:-1]}1 moves {castling}")
    assert engine.sync() == []


def test_the_weights_in_use_are_said_at_the_first_search_only() -> None:
    with UciProcess() as fresh:
        assert not any("weights" in line for line in fresh.ask("uci", "isready", until="readyok"))
        assert fresh.ask("go depth 1", until="bestmove")[0].startswith("info string weights: /")
        assert not any("weights" in line for line in fresh.ask("go depth 1", until="bestmove"))


def test_a_weights_file_is_taken_and_a_faulty_one_leaves_the_old(engine: UciProcess, tmp_path: Path) -> None:
    before = engine.ask("eval", until="Evaluation")
    good, bad = tmp_path / "two  blanks.txt", tmp_path / "bad.txt"
    engine.ask(f"export_weights {good}", until="info string weights written to")
    bad.write_text("VAL_P 100\nVAL_X 3\n")
    engine.send(f"setoption name WeightsFile value {bad}")
    (error,) = engine.sync()
    assert error.startswith(f"info string error: WeightsFile: {bad}:2:")
    assert engine.ask("eval", until="Evaluation") == before
    engine.send(f"setoption name weightsfile value {good}")
    assert engine.sync() == [f"info string weights: {good}"]
    assert engine.ask("eval", until="Evaluation") == before


# End


@pytest.mark.parametrize("ending", ["quit", "end of input"])
def test_a_search_under_way_gives_its_move_and_the_process_ends_with_code_0(ending: str) -> None:
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        fresh.send("go infinite")
        time.sleep(0.2)
        began = time.perf_counter()
        if ending == "quit":
            fresh.send("quit")
        said = fresh.rest() if ending == "quit" else fresh.end_input()
        assert fresh.exit_code() == 0
        assert time.perf_counter() - began < 0.5
        assert said[-1].startswith("bestmove")


def test_a_script_that_ends_without_quit_gets_its_move() -> None:
    done = run_merino("uci", given=b"position startpos\ngo depth 12\n")
    assert done.code == 0
    assert done.output[-1].startswith("bestmove")


def test_no_arguments_on_a_pipe_mean_uci() -> None:
    done = run_merino(given=b"uci\nquit\n")
    assert (done.code, done.output[-1], done.errors) == (0, "uciok", "")


def test_a_command_given_as_arguments_is_run_to_its_end() -> None:
    done = run_merino("go", "depth", "5")
    assert done.code == 0
    assert field(done.output[-2], "depth") == "5"
    assert done.output[-1].startswith("bestmove")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child")
def test_ctrl_c_ends_the_search_of_a_single_command_with_its_move() -> None:
    with UciProcess("go", "infinite") as once:
        once.read_until("info depth 3")
        once.process.send_signal(signal.SIGINT)
        assert once.rest()[-1].startswith("bestmove")
        assert once.exit_code() == 130


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child")
def test_ctrl_c_ends_uci_without_a_word() -> None:
    with UciProcess("uci") as fresh:
        fresh.ask("uci", until="uciok")
        fresh.process.send_signal(signal.SIGINT)
        assert (fresh.rest(), fresh.exit_code()) == ([], 130)


# What people type


def test_d_shows_board_fen_key_and_checkers(engine: UciProcess) -> None:
    said = engine.ask("position startpos moves e2e4 f7f6 d1h5", "d", until="Checkers")
    assert said[1:3] == [" +---+---+---+---+---+---+---+---+", " | r | n | b | q | k | b | n | r | 8"]
    assert said[-3] == "Fen: rnbqkbnr/ppppp1pp/5p2/7Q/4P3/8/PPPP1PPP/RNB1KBNR b KQkq - 1 2"
    assert re.fullmatch(r"Key: [0-9A-F]{16}", said[-2])
    assert said[-1] == "Checkers: h5"


def test_flipping_twice_changes_nothing_but_the_history(engine: UciProcess) -> None:
    engine.send(f"position fen {KIWIPETE}")
    before = engine.ask("d", until="Checkers")
    flipped = engine.ask("flip", "d", until="Checkers")
    assert flipped[-3] == "Fen: r3k2r/pppbbppp/2n2q1P/1P2p3/3pn3/BN2PNP1/P1PPQPB1/R3K2R b KQkq - 0 1"
    assert engine.ask("flip", "d", until="Checkers") == before


def test_compiler_names_python_numba_and_processor(engine: UciProcess) -> None:
    assert engine.ask("compiler", until="numba")[0].startswith("Python 3")
    engine.sync()


def test_help_names_every_command(engine: UciProcess) -> None:
    engine.send("help")
    names = {line.split()[0] for line in engine.sync()}
    assert {"uci", "isready", "position", "go", "stop", "d", "eval", "bench", "flip", "export_weights", "help"} <= names
    engine.send("help go")
    (line,) = engine.sync()
    assert line.startswith("go [LIMITS]")


# Other programs' view


def test_python_chess_can_play_analyse_and_set_options() -> None:
    with chess.engine.SimpleEngine.popen_uci([sys.executable, "-m", "engine", "uci"], cwd=ROOT, timeout=120) as engine:
        engine.configure({"Hash": 8, "Threads": 1, "Move Overhead": 10})
        engine.ping()
        board = chess.Board()
        for _ in range(4):
            board.push(engine.play(board, chess.engine.Limit(time=0.05), ponder=True).move or chess.Move.null())
        lines = engine.analyse(board, chess.engine.Limit(depth=4), multipv=3)
        assert [line["multipv"] for line in lines] == [1, 2, 3]
        game960 = chess.Board.from_chess960_pos(17)
        assert engine.play(game960, chess.engine.Limit(depth=4)).move in game960.legal_moves
