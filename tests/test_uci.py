"""The UCI protocol over a pipe against the real process: start, lines, what people type, the end."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from merino.core.common.command import CommandError
from merino.engine.uci import read_lines
from merino.engine.uci.output import Output
from merino.engine.uci.session import UciSession
from tests.boards import KIWIPETE
from tests.uci_process import PATIENCE, ROOT, UciProcess, field, run_merino

# Start


def test_nothing_heavy_is_imported_before_uciok() -> None:
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
    whole = after.children_user + after.children_system - before.children_user - before.children_system
    assert whole - used < seconds


HAS_PROCESSOR_TIME = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it is read from /proc")


@HAS_PROCESSOR_TIME
def test_uciok_costs_less_than_a_seventh_of_a_second_of_processor_time() -> None:
    def seconds() -> float:
        with UciProcess() as fresh:
            fresh.ask("uci", until="uciok")
            return fresh.processor_seconds()

    assert min(seconds() for _ in range(5)) < 0.15


@HAS_PROCESSOR_TIME
def test_readyok_costs_less_than_two_seconds_of_processor_time_after_the_start() -> None:
    with UciProcess() as fresh:
        fresh.ask("uci", "isready", until="readyok")
        assert fresh.processor_seconds() < 2.0


def test_quit_directly_after_uciok_ends_at_once_with_code_0() -> None:
    with UciProcess() as fresh:
        fresh.ask("uci", until="uciok")
        with ending(fresh, seconds=0.5):
            fresh.send("quit")
            assert fresh.exit_code() == 0


def test_nothing_is_said_before_the_first_command(engine: UciProcess) -> None:
    with UciProcess() as fresh:
        assert fresh.is_silent(0.3)
        assert fresh.ask("uci", until="uciok")[0].startswith("id name Merino")


def test_arena_may_send_xboard_before_uci() -> None:
    with UciProcess() as fresh:
        assert fresh.ask("xboard", "uci", until="uciok")[0].startswith("id name Merino")


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


@pytest.mark.parametrize(
    "line",
    ["position fen ", "position startpos moves ", "setoption name ", "setoption name Hash value ", "go depth 1 "],
)
def test_a_megabyte_of_junk_is_answered_in_a_short_line_if_at_all(engine: UciProcess, line: str) -> None:
    engine.send("debug on", line + "junk" * 250_000)
    said = engine.read_until("bestmove") if line.startswith("go") else []
    assert all(len(text) < 300 for text in [*(line.text for line in said), *engine.sync()])


@pytest.mark.parametrize(
    "line",
    ["go depth 1 searchmoves" + " e2e4 e7e5" * 100_000, "go depth 1" + " joho" * 200_000],
    ids=["many moves", "many words"],
)
@HAS_PROCESSOR_TIME
def test_a_megabyte_of_words_after_go_takes_no_longer_than_reading_it(engine: UciProcess, line: str) -> None:
    before = engine.processor_seconds()
    said = engine.ask(line, until="bestmove")
    assert len(said) < 20
    assert engine.processor_seconds() - before < 2.0


def test_unknown_commands_are_reported_in_debug_mode_only(engine: UciProcess) -> None:
    engine.send("foo bar")
    assert engine.sync() == []
    engine.send("debug on", "foo bar")
    assert engine.sync() == ["info string unknown command: 'foo bar'"]


def test_a_line_without_end_is_run_at_the_end_of_input() -> None:
    assert run_merino("uci", given=b"uci").output[-1] == "uciok"


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


# End


@pytest.mark.parametrize("go", ["go infinite", "go ponder wtime 9000 btime 9000", "go depth 2 ponder"])
@pytest.mark.parametrize("by", ["quit", "end of input"])
def test_a_search_under_way_gives_its_move_and_the_process_ends_with_code_0(by: str, go: str) -> None:
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


@pytest.mark.parametrize("arguments", [("setoption", "name", "Moon"), ("export_weights", "nowhere/weights.txt")])
def test_a_command_given_as_arguments_that_fails_has_exit_code_1(arguments: tuple[str, ...]) -> None:
    done = run_merino(*arguments)
    assert done.code == 1
    assert done.output[-1].startswith("info string error: ")


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


SIGTERM_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM that could be heard")


def terminated(engine: UciProcess) -> tuple[list[str], int]:
    """What is still said after SIGTERM, and the exit code; it is to take half a second, here somewhat more."""
    with ending(engine, seconds=2.0):
        engine.process.send_signal(signal.SIGTERM)
        said, code = engine.rest(), engine.exit_code()
    return said, code


@SIGTERM_ONLY
@pytest.mark.parametrize("line", ["go infinite", "go ponder wtime 9000 btime 9000", "go perft 9", "bench", "d"])
def test_sigterm_ends_whatever_is_under_way_with_code_0(line: str, tmp_path: Path) -> None:
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
@pytest.mark.parametrize("lines", [["isready"], ["go infinite"], ["go wtime 100000 btime 100000"]], ids=" ".join)
def test_sigterm_ends_a_cold_start_with_code_0(lines: list[str], tmp_path: Path) -> None:
    with UciProcess(environment={"MERINO_HOME": str(tmp_path)}) as fresh:
        fresh.ask("uci", until="uciok")
        fresh.send("position startpos moves e2e4", *lines)
        fresh.read_until("info string compiling")
        time.sleep(1.0)  # in the midst of it
        assert terminated(fresh)[1] == 0


@SIGTERM_ONLY
def test_sigterm_does_not_wait_for_a_gui_that_reads_nothing_any_more() -> None:
    command = [sys.executable, "-m", "merino", "uci"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as deaf:
        assert deaf.stdin is not None
        deaf.stdin.write(b"uci\n" * 500)  # the answers are more than a pipe holds
        deaf.stdin.flush()
        assert deaf.stdout is not None
        deaf.stdout.read(1)  # it has started, and hears signals
        deaf.send_signal(signal.SIGTERM)
        assert deaf.wait(PATIENCE) == 0


def test_the_log_is_closed_when_the_session_ends(tmp_path: Path) -> None:
    session = UciSession(Output(io.BytesIO()))
    session.log_to(log := (tmp_path / "log").open("ab"))
    session.output.say("readyok")
    session.close()
    session.output.say("too late for it")
    assert log.closed
    assert (tmp_path / "log").read_text().endswith("<< readyok\n")


def test_errors_show_text_as_it_is_but_no_character_that_steers_a_terminal() -> None:
    stream = io.BytesIO()
    Output(stream).error("no option 'Größe ♞'\x1b[31m\x07\t\x9b\u2028\u202e\udcff")
    shown = r"info string error: no option 'Größe ♞'\x1b[31m\x07\t\x9b\u2028\u202e\udcff"
    assert stream.getvalue().decode() == f"{shown}\n"


def test_an_option_with_a_foreign_name_is_quoted_as_it_was_typed(engine: UciProcess) -> None:
    engine.send("setoption name Größe value 3")
    assert engine.sync() == ["info string error: there is no option 'Größe'"]


def test_a_home_that_is_none_is_told_in_a_sentence() -> None:
    done = run_merino("go", "depth", "1", environment={"MERINO_HOME": "~nobody-of-this-name"})
    told = "MERINO_HOME is '~nobody-of-this-name': there is no home folder ~nobody-of-this-name"
    assert (done.code, list(done.output), done.errors) == (1, [f"info string error: {told}"], "")


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be read")
def test_an_input_that_cannot_be_read_is_told() -> None:
    descriptor = os.open(ROOT, os.O_RDONLY)
    with pytest.raises(CommandError, match="cannot read the input: Is a directory"):
        next(read_lines(descriptor))
    os.close(descriptor)
