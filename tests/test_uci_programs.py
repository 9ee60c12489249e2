"""Merino as other programs drive it: python-chess, and the compliance test of a match runner."""

import logging
import sys
from collections.abc import Iterator

import chess
import chess.engine
import pytest
from chess.engine import Limit, SimpleEngine

from tests.boards import MATE_IN_ONE, MATED, STALEMATED
from tests.uci_process import ROOT, UciProcess

# python-chess


@pytest.fixture(scope="module")
def shared() -> Iterator[SimpleEngine]:
    with SimpleEngine.popen_uci([sys.executable, "-m", "merino", "uci"], cwd=str(ROOT), timeout=120) as running:
        yield running


@pytest.fixture
def engine(shared: SimpleEngine, caplog: pytest.LogCaptureFixture) -> Iterator[SimpleEngine]:
    """The engine under python-chess, which logs whatever it does not understand; nothing of that may be left."""
    with caplog.at_level(logging.WARNING, logger="chess.engine"):
        yield shared
    assert [record.getMessage() for record in caplog.records if record.name.startswith("chess.engine")] == []


def test_python_chess_plays_several_games_with_pondering(engine):
    for game in range(3):
        board = chess.Board()
        for _ in range(6):
            limit = Limit(white_clock=2, black_clock=2, white_inc=0.01, black_inc=0.01)
            played = engine.play(board, limit, game=game, ponder=True, info=chess.engine.INFO_ALL)
            assert played.move in board.legal_moves
            assert played.info["pv"][0] == played.move
            board.push(played.move)
            if played.ponder is not None and game == 1:
                board.push(played.ponder)  # the expected answer: the engine gets a ponderhit
            else:
                board.push(next(iter(board.legal_moves)))


@pytest.mark.parametrize("limit", [Limit(time=0.05), Limit(depth=4), Limit(nodes=3000), Limit(mate=1)])
def test_python_chess_plays_and_analyses_within_every_limit(engine, limit):
    board = chess.Board(MATE_IN_ONE)
    assert engine.play(board, limit).move == chess.Move.from_uci("d1d8")
    assert engine.analyse(board, limit)["score"] == chess.engine.PovScore(chess.engine.Mate(1), chess.WHITE)


def test_python_chess_gets_several_lines_and_may_restrict_the_moves(engine):
    assert [line["multipv"] for line in engine.analyse(chess.Board(), Limit(depth=5), multipv=3)] == [1, 2, 3]
    wanted = [chess.Move.from_uci("a2a3"), chess.Move.from_uci("h2h3")]
    assert engine.play(chess.Board(), Limit(depth=3), root_moves=wanted).move in wanted


def test_python_chess_stops_an_analysis_without_end(engine):
    with engine.analysis(chess.Board()) as analysis:
        for info in analysis:
            if info.get("depth", 0) >= 6:
                break
    assert analysis.wait().move in chess.Board().legal_moves


def test_python_chess_sets_every_kind_of_option(engine):
    engine.configure({"Hash": 8, "Threads": 2, "Move Overhead": 10, "Clear Hash": None, "WeightsFile": ""})
    engine.ping()
    assert engine.play(chess.Board(), Limit(depth=3)).move is not None
    engine.configure({"Hash": 16, "Threads": 1, "Move Overhead": 50})


@pytest.mark.parametrize("number", [17, 518, 959])
def test_python_chess_plays_chess960(engine, number):
    board = chess.Board.from_chess960_pos(number)
    for _ in range(30):
        played = engine.play(board, Limit(depth=2), game=f"960 {number}")
        assert played.move in board.legal_moves
        board.push(played.move)


@pytest.mark.parametrize("fen", [MATED, STALEMATED])
def test_python_chess_gets_no_move_where_there_is_none(engine, fen):
    assert engine.play(chess.Board(fen), Limit(depth=2)).move is None


# The compliance test of fastchess, step by step: numbers and tokens as it prints and sends them.

WHITE_TO_MOVE = "position fen 3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27"
BLACK_TO_MOVE = "position fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
SEARCHES = (  # what is sent before, and the `go`
    ((WHITE_TO_MOVE, "isready"), "go wtime 100"),  # 8-14
    ((BLACK_TO_MOVE,), "go btime 100"),  # 15-20
    ((), "go wtime 100 winc 100 btime 100 binc 100"),  # 21-25
    ((), "go btime 100 binc 100 wtime 100 winc 100"),  # 26-31
    (("ucinewgame", "position startpos"), "go wtime 100 btime 100"),  # 32-36
    (("position startpos moves e2e4 e7e5",), "go wtime 100 btime 100"),  # 37-40
)


def test_the_forty_steps_of_the_compliance_test_of_fastchess_pass():
    with UciProcess() as engine:
        said = engine.ask("uci", until="uciok")  # 1
        engine.ask("isready", until="readyok")  # 2
        assert any(line.startswith("id name ") for line in said)  # 3
        assert any(line.startswith("id author ") for line in said)  # 4
        engine.ask("ucinewgame", "isready", until="readyok")  # 5
        engine.ask("position startpos", "isready", until="readyok")  # 6, 7
        for before, go in SEARCHES:
            engine.send(*before)
            *said, last = engine.ask(go, until="bestmove")
            assert chess.Move.from_uci(last.split()[1])
            report = [line for line in said if " score " in line][-1]
            assert report.startswith("info ")
            words = report.split()
            assert all("." not in words[words.index(name) + 1] for name in ("time", "nps", "score"))
