"""The game that is shown where nobody can type."""

import sys
import time

import chess
import pytest

from merino.app.console.games import pace_of
from merino.app.console.loop import play_alone, play_demo
from merino.app.console.session import Session
from merino.app.console.terminal import Terminal
from merino.core.board.game import Position
from merino.engine.uci.runtime import Runtime


def _moves(text: str) -> list[str]:
    """The moves of the score that is printed at the end."""
    score = text[text.index("\n1. ") :].split("\n\n", maxsplit=1)[0]
    return [word for word in score.split() if not word.endswith(".")]


def test_the_game_is_legal_and_stops_after_so_many_plies(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert play_demo(["--maxmoves", "6", "--movetime", "20"]) == 0
    text = capsys.readouterr().out
    board = chess.Board()
    for move in _moves(text):
        board.push_san(move)
    assert board.ply() == 12
    assert text.count("depth") == 12
    assert text.count("a  b  c  d  e  f  g  h") == 3  # at the start, after ten, and at the end
    assert "Stopped after 12 plies" in text
    assert time.monotonic() - began < 60


def test_the_result_is_printed_when_the_game_ends(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(Runtime(1), Terminal(), sys.stdout)
    session.game.position = Position("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    session.game.pace = pace_of("sd 3")
    play_alone(session, 10)
    text = capsys.readouterr().out
    assert "Ra8#" in text and "+M1" in text
    assert text.endswith("The game is over: 1-0, White wins by checkmate.\n")
