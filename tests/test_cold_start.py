"""The first start on a machine: a GUI gets its answers while the engine still compiles."""

from __future__ import annotations

import io
import threading
import time
import unittest.mock

import chess
import pytest

from engine.board.game import Position
from engine.uci import cold_start
from engine.uci.cold_start import ColdStart
from engine.uci.commands import COMMANDS, run
from engine.uci.fallback import quick_move
from engine.uci.output import Output
from engine.uci.session import UciSession


class Session:
    """A cold start on a buffer, with an engine that is loaded when `loaded` is set."""

    def __init__(self) -> None:
        self.stream = io.BytesIO()
        self.loaded = threading.Event()
        self.handed: list[str] = []
        self.cold = ColdStart(Output(self.stream), self.loaded)

    def go(self, text: str) -> str:
        """What a `go` that ends by itself says."""
        self.cold.go(text, self.handed.append)
        self.cold.wait()
        return self.stream.getvalue().decode()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(cold_start, "WARM_SECONDS", 0.05)
    monkeypatch.setattr(cold_start, "READY_SECONDS", 0.2)
    return Session()


def test_readyok_does_not_wait_for_the_compiler_longer_than_a_gui_allows(session: Session) -> None:
    began = time.perf_counter()
    session.cold.wait_until_ready()
    assert 0.1 < time.perf_counter() - began < 1.0
    assert b"compiling" in session.stream.getvalue()


def test_a_warm_start_says_nothing(session: Session) -> None:
    session.loaded.set()
    session.cold.wait_until_ready()
    assert session.cold.is_warm()
    assert session.stream.getvalue() == b""


def test_a_clock_that_cannot_wait_gets_a_quick_legal_move(session: Session) -> None:
    session.cold.position("startpos moves e2e4 e7e5 d1h5 e8e7")
    said = session.go("wtime 1000 btime 1000")
    assert "bestmove h5e5" in said
    assert said.count("bestmove") == 1
    assert " score cp " in said
    assert not session.handed


def test_a_search_without_a_clock_waits_for_the_engine(session: Session) -> None:
    threading.Timer(0.3, session.loaded.set).start()
    said = session.go("depth 5")
    assert session.handed == ["depth 5"]
    assert "bestmove" not in said


def test_stop_gets_a_move_at_once(session: Session) -> None:
    session.cold.go("infinite", session.handed.append)
    session.cold.stop()
    said = session.stream.getvalue().decode()
    assert chess.Move.from_uci(said.split("bestmove ")[1].strip()) in chess.Board().legal_moves


@pytest.mark.parametrize("text", ["fen rubbish", "startpos moves e2e5", "fen 8/8/8/8/8/8/8/8 w - - 0 1"])
def test_a_position_that_is_not_legal_gets_no_move(session: Session, text: str) -> None:
    session.cold.position(text)
    said = session.go("wtime 100 btime 100")
    assert "info string error: position" in said
    assert said.rstrip().endswith("bestmove (none)")


def test_a_mated_side_has_no_move(session: Session) -> None:
    session.cold.position("fen 7k/6Q1/5K2/8/8/8/8/8 b - - 0 1")
    said = session.go("wtime 100 btime 100")
    assert "info depth 0 score mate 0" in said
    assert said.rstrip().endswith("bestmove (none)")


def test_the_engine_is_told_of_the_last_position_once(session: Session) -> None:
    assert session.cold.take_position() is None
    session.cold.position("startpos moves d2d4")
    assert session.cold.take_position() == "startpos moves d2d4"
    assert session.cold.take_position() is None


def test_the_fallback_mates_in_one_and_keeps_its_deadline() -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1")
    found = quick_move(board, time.perf_counter() + 1)
    assert found is not None
    assert found.move == chess.Move.from_uci("d1d8")
    began = time.perf_counter()
    assert quick_move(chess.Board(), began) is not None
    assert time.perf_counter() - began < 0.2


def test_perft_waits_for_the_engine_and_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "WARM_SECONDS", 0.05)
    stream = io.BytesIO()
    session = UciSession(Output(stream))

    def load() -> None:
        time.sleep(0.3)
        session.position, session._runtime = Position(), unittest.mock.MagicMock()
        session._loaded.set()

    monkeypatch.setattr(session, "_load", load)
    for line in ("position startpos moves e2e4", "go perft 2"):
        name, _, text = line.partition(" ")
        run(session, COMMANDS[name], text)
    session.wait()
    said = stream.getvalue().decode()
    assert "Nodes searched: 600" in said and "bestmove" not in said


@pytest.mark.parametrize("line", ["setoption", "ucinewgame", "isready"])
def test_nothing_waits_for_the_bestmove_of_an_endless_go_that_is_just_handed_over(line: str) -> None:
    session = UciSession(Output(io.BytesIO()))
    session._runtime = unittest.mock.MagicMock()
    session._pending["Clear Hash"] = None

    def search(_: str) -> None:
        time.sleep(0.2)
        if not session.cold.is_stop_requested:  # else it would be stopped at once
            session._is_searching = True
            session._bestmove_said.clear()

    session._loaded.set()
    session.cold.go("infinite", search)
    act = {
        "setoption": lambda: session.set_option("Clear Hash", ""),
        "ucinewgame": session.new_game,
        "isready": session.ready,
    }[line]
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
