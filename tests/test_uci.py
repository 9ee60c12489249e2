"""The UCI protocol over a pipe against the real process: start, lines, what people type, the end."""

import io
import itertools
import os
import re
import signal
import subprocess
import sys
import time
import unittest.mock
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chess
import pytest

from merino.core.common.command import CommandError
from merino.engine import uci
from merino.engine.uci import read_lines
from merino.engine.uci.output import Output
from merino.engine.uci.session import UciSession
from tests.boards import KIWIPETE, MATE_IN_ONE, playouts, sparse
from tests.uci_process import PATIENCE, ROOT, Said, UciProcess, bestmove, field, infos, line_of, run_merino

# Start


def test_nothing_heavy_is_imported_before_uciok():
    code = "import sys, merino.app.shell.cli, merino.engine.uci; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert "merino.engine.uci" in loaded
    assert not {"numba", "numpy", "argparse", "asyncio", "importlib.metadata", "json", "logging"} & set(loaded)


@contextmanager
def ending(engine: UciProcess, seconds: float) -> Iterator[None]:
    """The process ends in this block, and takes less processor time for it; the clock says little on a busy machine."""
    if not Path("/proc/self/stat").exists():
        yield
        return
    used, before = engine.processor_seconds(), os.times()
    yield
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system - used < seconds


HAS_PROCESSOR_TIME = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it is read from /proc")


@HAS_PROCESSOR_TIME
def test_uciok_costs_less_than_a_seventh_of_a_second_of_processor_time():
    def seconds() -> float:
        with UciProcess() as fresh:
            fresh.ask("uci", until="uciok")
            return fresh.processor_seconds()

    assert min(seconds() for _ in range(5)) < 0.15


@HAS_PROCESSOR_TIME
def test_readyok_costs_less_than_two_seconds_of_processor_time_after_the_start():
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        assert fresh.processor_seconds() < 2.0


def test_quit_directly_after_uciok_ends_at_once_with_code_0():
    with UciProcess() as fresh:
        fresh.ask("uci", until="uciok")
        with ending(fresh, seconds=0.5):
            fresh.send("quit")
            assert fresh.exit_code() == 0


def test_nothing_is_said_before_the_first_command_which_may_be_xboard_as_from_arena():
    with UciProcess() as fresh:
        assert fresh.is_silent(0.3)
        assert fresh.ask("xboard", "uci", until="uciok")[0].startswith("id name Merino")


def test_on_windows_numpy_is_loaded_before_a_pipe_is_read(monkeypatch):
    done = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "stdin", unittest.mock.MagicMock())
    monkeypatch.setattr(uci, "import_module", done.append)
    monkeypatch.setattr(uci, "read_lines", lambda _: done.append("read") or iter([]))
    monkeypatch.setattr(uci, "_new_session", unittest.mock.MagicMock)
    monkeypatch.setattr(uci, "_leave", done.append)
    uci.serve()
    assert done == ["numpy", "read", 0]


def test_a_failure_to_load_is_said_and_ends_with_code_1(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('much\\nadvice') from ImportError('no memory for numpy')")
    done = run_merino("uci", given=b"uci\nisready\n", environment={"PYTHONPATH": f"{tmp_path}"})
    fault = "Merino cannot be loaded, perhaps because memory is short: ImportError: no memory for numpy"
    assert (done.code, done.output[-1], done.errors) == (1, f"info string error: {fault}", "")
    done = run_merino("bench", environment={"PYTHONPATH": f"{tmp_path}"})
    assert (done.code, done.errors) == (1, f"merino: {fault}\n")


def test_every_option_line_is_well_formed(engine):
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
def test_isready_is_heard_and_nothing_else_is_said(engine, raw):
    engine.send_bytes(raw)
    assert [said.text for said in engine.read_until("readyok")] == ["readyok"]


@pytest.mark.parametrize(
    "line",
    ["position fen ", "position startpos moves ", "setoption name ", "setoption name Hash value ", "go depth 1 "],
)
def test_a_megabyte_of_junk_is_answered_in_a_short_line_if_at_all(engine, line):
    engine.send("debug on", line + "junk" * 250_000)
    said = engine.read_until("bestmove") if line.startswith("go") else []
    assert all(len(text) < 300 for text in [*(line.text for line in said), *engine.sync()])


@pytest.mark.parametrize(
    "line",
    ["go depth 1 searchmoves" + " e2e4 e7e5" * 100_000, "go depth 1" + " joho" * 200_000],
    ids=["many moves", "many words"],
)
@HAS_PROCESSOR_TIME
def test_a_megabyte_of_words_after_go_takes_no_longer_than_reading_it(engine, line):
    before = engine.processor_seconds()
    assert len(engine.ask(line, until="bestmove")) < 20
    assert engine.processor_seconds() - before < 2.0


def test_unknown_commands_are_reported_in_debug_mode_only(engine):
    engine.send("foo bar")
    assert engine.sync() == []
    engine.send("debug on", "foo bar")
    assert engine.sync() == ["info string unknown command: 'foo bar'"]


# What people type


def test_d_shows_board_fen_key_and_checkers(engine):
    said = engine.ask("position startpos moves e2e4 f7f6 d1h5", "d", until="Checkers")
    assert said[1:3] == [" +---+---+---+---+---+---+---+---+", " | r | n | b | q | k | b | n | r | 8"]
    assert said[-3] == "Fen: rnbqkbnr/ppppp1pp/5p2/7Q/4P3/8/PPPP1PPP/RNB1KBNR b KQkq - 1 2"
    assert re.fullmatch(r"Key: [0-9A-F]{16}", said[-2])
    assert said[-1] == "Checkers: h5"


def test_help_names_every_command(engine):
    engine.send("help")
    names = {line.split()[0] for line in engine.sync()}
    assert {"uci", "isready", "position", "go", "stop", "d", "eval", "bench", "perft", "help"} <= names
    engine.send("help go")
    (line,) = engine.sync()
    assert line.startswith("go [LIMITS]")


# End


@pytest.mark.parametrize(
    ("by", "go"), [("quit", "go infinite"), ("end of input", "go depth 2 ponder"), ("end of input", "go infinite")]
)
def test_a_search_under_way_gives_its_move_and_the_process_ends_with_code_0(by, go):
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        fresh.send(go)
        time.sleep(0.2)
        with ending(fresh, seconds=0.5):
            if by == "quit":
                fresh.send("quit")
            said = fresh.rest() if by == "quit" else fresh.end_input()
            assert fresh.exit_code() == 0
        assert said[-1].startswith("bestmove")


@pytest.mark.parametrize(
    ("script", "shown"),
    [("go depth 12", "info depth 12 "), ("go infinite", ""), ("go depth 6\nquit\n", ""), ("go infinite\nquit", "")],
)
def test_a_script_gets_its_move_whether_it_ends_with_quit_a_line_end_or_neither(script, shown):
    done = run_merino("uci", given=f"position startpos\n{script}".encode())
    assert done.code == 0 and done.output[-1].startswith("bestmove ")
    assert any(line.startswith(shown) for line in infos(done.output))


def test_a_command_given_as_arguments_is_run_to_its_end():
    done = run_merino("go", "depth", "5")
    assert done.code == 0
    assert field(done.output[-2], "depth") == "5"
    assert done.output[-1].startswith("bestmove")


def test_a_command_given_as_arguments_that_fails_has_exit_code_1():
    done = run_merino("position", "nowhere")
    assert done.code == 1
    assert done.output[-1].startswith("info string error: ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child")
def test_ctrl_c_ends_the_search_of_a_single_command_with_its_move():
    with UciProcess("go", "infinite") as once:
        once.read_until("info depth 3")
        once.process.send_signal(signal.SIGINT)
        assert once.rest()[-1].startswith("bestmove")
        assert once.exit_code() == 130


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child")
def test_ctrl_c_ends_uci_without_a_word():
    with UciProcess("uci") as fresh:
        fresh.ask("uci", until="uciok")
        fresh.process.send_signal(signal.SIGINT)
        assert (fresh.rest(), fresh.exit_code()) == ([], 130)


SIGTERM_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM that could be heard")


def terminated(engine: UciProcess) -> tuple[list[str], int]:
    """What is still said after SIGTERM, and the exit code; it is to take half a second, here somewhat more."""
    with ending(engine, seconds=2.0):
        engine.process.send_signal(signal.SIGTERM)
        said, code = engine.rest(), engine.exit_code()
    return said, code


@SIGTERM_ONLY
@pytest.mark.parametrize("line", ["go infinite", "go perft 9", "d"])
def test_sigterm_ends_whatever_is_under_way_with_code_0(line, tmp_path):
    log = tmp_path / "dialogue.log"
    with UciProcess() as fresh:
        fresh.ask("uci", f"setoption name Debug Log File value {log}", "isready", until="readyok")
        fresh.send(line)
        time.sleep(0.2)
        said, code = terminated(fresh)
    assert code == 0
    assert line.startswith(("go inf", "go pon")) == bool(said and said[-1].startswith("bestmove"))
    written = log.read_text().splitlines()
    assert not said or written[-1].endswith(f"<< {said[-1]}")


@SIGTERM_ONLY
@pytest.mark.parametrize("lines", [["isready"], ["go wtime 100000 btime 100000"]], ids=" ".join)
def test_sigterm_ends_a_cold_start_with_code_0(lines, tmp_path):
    with UciProcess(environment={"MERINO_HOME": str(tmp_path)}) as fresh:
        fresh.ask("uci", until="uciok")
        fresh.send("position startpos moves e2e4", *lines)
        fresh.read_until("info string compiling")
        time.sleep(1.0)  # during the job
        assert terminated(fresh)[1] == 0


@SIGTERM_ONLY
def test_sigterm_does_not_wait_for_a_gui_that_reads_nothing_any_more():
    command = [sys.executable, "-m", "merino", "uci"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as deaf:
        assert deaf.stdin is not None
        deaf.stdin.write(b"uci\n" * 500)  # the answers are more than a pipe holds
        deaf.stdin.flush()
        assert deaf.stdout is not None
        deaf.stdout.read(1)  # it has started, and hears signals
        deaf.send_signal(signal.SIGTERM)
        assert deaf.wait(PATIENCE) == 0


def test_the_log_is_closed_when_the_session_ends(tmp_path):
    session = UciSession(Output(io.BytesIO()))
    session.output.log_to(log := (tmp_path / "log").open("ab"))
    session.output.say("readyok")
    session.close()
    session.output.say("too late for it")
    assert log.closed
    assert (tmp_path / "log").read_text().endswith("<< readyok\n")


def test_errors_show_text_as_it_is_but_no_character_that_steers_a_terminal():
    stream = io.BytesIO()
    Output(stream).error("no option 'Größe ♞'\x1b[31m\x07\t\x9b\u2028\u202e\udcff")
    shown = r"info string error: no option 'Größe ♞'\x1b[31m\x07\t\x9b\u2028\u202e\udcff"
    assert stream.getvalue().decode() == f"{shown}\n"


def test_a_home_that_is_none_is_stated_in_a_sentence():
    done = run_merino("go", "depth", "1", environment={"MERINO_HOME": "~nobody-of-this-name"})
    fault = "MERINO_HOME is '~nobody-of-this-name': there is no home folder ~nobody-of-this-name"
    assert (done.code, list(done.output), done.errors) == (1, [f"info string error: {fault}"], "")


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be read")
def test_an_input_that_cannot_be_read_is_stated():
    descriptor = os.open(ROOT, os.O_RDONLY)
    with pytest.raises(CommandError, match="cannot read the input: Is a directory"):
        next(read_lines(descriptor))
    os.close(descriptor)


# The list of UCI rules names tests that exist.


def test_every_rule_names_a_test_and_every_test_named_exists():
    modules = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py")]
    exist = {name for module in modules for name in re.findall(r"^ *def (test_\w+)\(", module, re.MULTILINE)}
    page = (ROOT / "docs" / "gui.md").read_text(encoding="utf-8").partition("## The rules of UCI\n")[2]
    rows = re.findall(r"^\| (.*) \| (.*) \|$", page, re.MULTILINE)
    rules = {rule: re.findall(r"`(test_\w+)`", tests) for rule, tests in rows if rule not in ("Rule", "---")}
    assert len(rules) > 50
    assert [rule for rule, tests in rules.items() if not tests] == []
    assert {test for tests in rules.values() for test in tests} - exist == set()


# Counting and the bench over a pipe against the real process: they take long, and the GUI is heard all the same.

JOBS = ["go perft 9", "perft 9", "bench"]


def test_perft_divides_as_stockfish_does(engine):
    said = engine.ask("go perft 3", until="Nodes searched")
    assert said[:2] == ["a2a3: 380", "b2b3: 420"]
    assert said[-3:] == ["g1h3: 400", "", "Nodes searched: 8902"]


@pytest.mark.parametrize(
    ("style", "pieces", "castling"),
    [("true", "5K1R", "f1h1"), ("false", "5K1R", "f1h1"), ("true", "4K2R", "e1h1"), ("false", "4K2R", "e1g1")],
)
def test_perft_writes_castling_in_the_style_asked_for(engine, style, pieces, castling):
    """With the king on f1 its step to g1 and castling would both be f1g1: that needs the style of Chess960."""
    position = f"position fen 4k3/8/8/8/8/8/8/{pieces} w H - 0 1"
    said = engine.ask(f"setoption name UCI_Chess960 value {style}", position, "go perft 1", until="Nodes searched")
    assert said[-3] == f"{castling}: 1"


def test_the_bench_is_the_same_each_time_and_ends_with_nodes_and_speed(engine):
    engine.send("bench", "bench")
    first, second = (engine.read_until_match(r"(\d+) nodes \d+ nps") for _ in range(2))
    assert first[1] == second[1]


@pytest.mark.parametrize("job", JOBS)
def test_isready_and_stop_are_heard_at_once_during_a_background_job(engine, job):
    assert engine.seconds(job, "isready", until="readyok") < 0.1
    time.sleep(0.1)
    sent = engine.send("stop")
    assert bestmove(engine, "go depth 1") != "(none)"
    assert time.perf_counter() - sent < 0.5
    assert engine.sync() == []


@pytest.mark.parametrize("job", JOBS)
def test_a_search_ends_the_background_job_before_it(engine, job):
    engine.send(job)
    assert bestmove(engine, "go depth 3") != "(none)"
    engine.sync()
    assert engine.is_silent(0.3)


def test_a_background_job_ends_the_search_before_it(engine):
    engine.send("go infinite", "go perft 1")
    assert engine.read_until("bestmove")
    engine.read_until("Nodes searched: 20")


def test_background_jobs_wait_for_each_other(engine):
    engine.send("go perft 4", "position startpos moves e2e4", "go perft 1")
    assert engine.read_until("Nodes searched")[-1].text == "Nodes searched: 197281"
    assert engine.read_until("Nodes searched")[-1].text == "Nodes searched: 20"


@pytest.mark.parametrize("job", ["go perft 9", "bench"])
def test_quit_does_not_wait_for_a_background_job(job):
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        fresh.send(job)
        time.sleep(0.05)
        fresh.send("quit")
        said = fresh.rest()
        assert fresh.exit_code() == 0
    assert not [line for line in said if line.startswith("Nodes searched") or line.endswith(" nps")]  # it has not ended


def test_background_jobs_of_a_script_are_finished_at_the_end_of_input():
    done = run_merino("uci", given=b"go perft 5\nposition startpos moves e2e4\ngo perft 2\n")
    assert done.code == 0
    nodes = [line for line in done.output if line.startswith("Nodes")]
    assert nodes == ["Nodes searched: 4865609", "Nodes searched: 600"]


def test_a_background_job_given_as_arguments_is_finished():
    assert "Nodes searched: 4865609" in run_merino("go", "perft", "5").output


# What a search says over a pipe: lines, scores, mates, several lines at once, and all the numbers.

MORPHY = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"
THREE_MOVER = "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1"
# What comes after `position fen`: near the fifty moves, in check too, and with positions that have occurred.
NEAR_A_DRAW = (
    "8/8/4k3/8/8/3K3R/8/8 w - - 92 120",
    "8/8/4k3/8/8/3KR3/8/8 b - - 97 120",
    "8/8/8/8/8/1k6/1q6/3K2R1 b - - 95 120",
    f"{chess.STARTING_FEN} moves g1f3 g8f6 f3g1 f6g8 g1f3",
    "6k1/5ppp/8/8/8/1q6/5PPP/3Q2K1 w - - 10 40 moves d1c1 b3d5 c1b1 d5f5 b1c1 f5d5 c1b1 d5b3",
    "7k/8/8/6Q1/8/8/1q6/7K w - - 4 1 moves g5d8 h8h7 d8h4 h7g8 h4d8 g8h7",
)


def search(engine: UciProcess, position: str, go: str) -> list[str]:
    return engine.ask(f"position fen {position}", f"go {go}", until="bestmove")


def board_of(position: str) -> chess.Board:
    fen, _, moves = position.partition(" moves ")
    board = chess.Board(fen)
    for move in moves.split():
        board.push_uci(move)
    return board


def replay(board: chess.Board, report: str) -> None:
    """Play the line of a report: legal, not beyond the end of the game, and to the mate that is claimed."""
    board = board.copy()
    for move in line_of(report):
        assert chess.Move.from_uci(move) in board.legal_moves, report
        board.push_uci(move)
        over = board.is_repetition(3) or board.halfmove_clock >= 100 or not any(board.legal_moves)
        assert not over or move == line_of(report)[-1], f"{report} goes on after {board.fen()}"
    if " score mate " in report:
        moves = int(field(report, "mate"))
        assert len(line_of(report)) == (2 * moves - 1 if moves > 0 else -2 * moves), report
        assert board.is_checkmate(), report


# Lines


@pytest.mark.parametrize(
    "position",
    [chess.STARTING_FEN, KIWIPETE, MORPHY, *NEAR_A_DRAW, *(board.fen() for board in playouts(31, 15) + sparse(31, 25))],
)
def test_lines_are_legal_and_the_last_begins_with_bestmove_and_ponder_move(engine, position):
    said = search(engine, position, "depth 30 nodes 30000")
    for report in infos(said):
        replay(board_of(position), report)
    _, best, *ponder = said[-1].split()
    assert [best, *ponder[1:]] == line_of(infos(said)[-1])[:2]


def test_a_line_that_ends_the_game_leaves_nothing_to_ponder_on(engine):
    assert search(engine, MATE_IN_ONE, "depth 3")[-1] == "bestmove d1d8"


# Scores


@pytest.mark.parametrize(
    ("position", "moves"),
    [
        (MATE_IN_ONE, 1),
        (f"{MORPHY} moves a1a6", -1),
        (THREE_MOVER, 3),
        (f"{THREE_MOVER} moves f6a6", -2),
        (f"{THREE_MOVER} moves f6a6 f7f6", 2),
    ],
)
@pytest.mark.parametrize("go", ["depth 12", "mate 3", "infinite\nstop"])
def test_mates_are_counted_exactly_in_moves_and_negative_for_the_mated(engine, position, moves, go):
    if "infinite" in go:
        engine.send(f"position fen {position}", "go infinite")
        early = [line.text for line in engine.read_until("info depth 10 ")]
        said = early + engine.ask("stop", until="bestmove")
    else:
        said = search(engine, position, go)
    report = infos(said)[-1]
    assert f" score mate {moves} " in report or (moves < 0 and go == "mate 3")
    for report in infos(said):
        replay(board_of(position), report)


@pytest.mark.parametrize(("position", "moves", "key"), [(MORPHY, 2, "a1a6"), (THREE_MOVER, 3, "f6a6")])
def test_go_mate_ends_with_the_mate(engine, position, moves, key):
    said = search(engine, position, f"mate {moves}")
    assert f" score mate {moves} " in infos(said)[-1]
    assert said[-1].startswith(f"bestmove {key}")
    replay(board_of(position), infos(said)[-1])


@pytest.mark.parametrize(("side", "sign"), [("w", 1), ("b", -1)])
def test_the_score_is_that_of_the_side_to_move(engine, side, sign):
    said = search(engine, f"4k3/8/8/8/8/8/3Q4/4K3 {side} - - 0 1", "depth 4")
    assert sign * int(field(infos(said)[-1], "cp")) > 500


# Several lines


@pytest.mark.parametrize("count", [2, 4, 256])
@pytest.mark.parametrize("position", [KIWIPETE, MORPHY, "7k/8/8/8/8/8/r7/1K6 w - - 0 1"])
def test_lines_come_together_complete_and_sorted(engine, position, count):
    engine.send(f"setoption name MultiPV value {count}")
    said = search(engine, position, "depth 4")
    count = min(count, board_of(position).legal_moves.count())
    groups = [list(group) for _, group in itertools.groupby(infos(said), key=lambda line: field(line, "depth"))]
    assert [field(group[0], "depth") for group in groups] == ["1", "2", "3", "4"]
    for group in groups:
        assert [int(field(line, "multipv")) for line in group] == list(range(1, count + 1))
        assert len({line_of(line)[0] for line in group}) == count
        worth = [_worth(line) for line in group]
        assert worth == sorted(worth, reverse=True)
        for line in group:
            replay(board_of(position), line)
    assert said[-1].split()[1] == line_of(groups[-1][0])[0]


def test_a_stop_between_the_lines_keeps_the_lines_of_one_depth(engine):
    engine.send("setoption name MultiPV value 5", f"position fen {KIWIPETE}", "go infinite")
    engine.read_until("info depth 7 ")
    said = infos([line.text for line in engine.read_until("info depth 7 ")] + engine.ask("stop", until="bestmove"))
    last_of_each = {field(line, "multipv"): field(line, "depth") for line in said}
    assert len(set(last_of_each.values())) == 1


def _worth(report: str) -> int:
    """The score in an order of its own: mates first, the shorter the better."""
    if " score cp " in report:
        return int(field(report, "cp"))
    moves = int(field(report, "mate"))
    return 100_000 - moves if moves > 0 else -100_000 - moves


# Numbers


def test_speed_is_nodes_by_time_and_the_deepest_ply_is_at_least_that_of_the_line(engine):
    for report in infos(search(engine, KIWIPETE, "depth 9")):
        numbers = {name: int(field(report, name)) for name in ("nodes", "nps", "time", "seldepth", "depth", "tbhits")}
        assert numbers["nps"] == numbers["nodes"] * 1000 // max(1, numbers["time"])
        assert numbers["seldepth"] >= len(line_of(report))
        assert numbers["tbhits"] == 0
    assert numbers["seldepth"] > numbers["depth"]


def test_the_table_fills_and_is_empty_again_in_a_new_game(engine):
    engine.send("setoption name Hash value 1")
    assert 300 < int(field(infos(search(engine, KIWIPETE, "nodes 300000"))[-1], "hashfull")) <= 1000
    engine.send("ucinewgame")
    assert int(field(infos(search(engine, KIWIPETE, "depth 1"))[-1], "hashfull")) < 50


@pytest.fixture(scope="module")
def long_search(uci: UciProcess) -> list[Said]:
    """What is said in 4.5 seconds; `at` counts from the `go`."""
    sent = uci.send("stop", "position startpos", "setoption name MultiPV value 1", "go infinite")
    time.sleep(4.5)
    uci.send("stop")
    return [Said(line.text, line.at - sent) for line in uci.read_until("bestmove")]


def test_current_moves_come_after_three_seconds_and_not_too_often(long_search):
    said = [line for line in long_search if " currmove " in line.text]
    assert 1 <= len(said) <= 10
    for line in said:
        assert re.fullmatch(r"info depth \d+ currmove [a-h][1-8][a-h][1-8] currmovenumber [1-9]\d*", line.text)
        assert line.at > 2.9


def test_bounds_are_shown_after_three_seconds_at_the_earliest(long_search):
    assert all(line.at > 2.9 for line in long_search if "bound" in line.text)
    assert "bound" not in long_search[-2].text  # a GUI compares the bestmove with a line that is none
