"""What a search says over a pipe: lines, scores, mates, several lines at once, and all the numbers."""

from __future__ import annotations

import itertools
import re
import time

import chess
import pytest

from tests.boards import KIWIPETE, MATE_IN_ONE, playouts, sparse
from tests.uci_process import Said, UciProcess, field, infos, line_of

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
def test_lines_are_legal_and_the_last_begins_with_bestmove_and_ponder_move(engine: UciProcess, position: str) -> None:
    said = search(engine, position, "depth 30 nodes 30000")
    for report in infos(said):
        replay(board_of(position), report)
    _, best, *ponder = said[-1].split()
    assert [best, *ponder[1:]] == line_of(infos(said)[-1])[:2]


def test_a_line_that_ends_the_game_leaves_nothing_to_ponder_on(engine: UciProcess) -> None:
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
def test_mates_are_counted_exactly_in_moves_and_negative_for_the_mated(
    engine: UciProcess, position: str, moves: int, go: str
) -> None:
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
def test_go_mate_ends_with_the_mate(engine: UciProcess, position: str, moves: int, key: str) -> None:
    said = search(engine, position, f"mate {moves}")
    assert f" score mate {moves} " in infos(said)[-1]
    assert said[-1].startswith(f"bestmove {key}")
    replay(board_of(position), infos(said)[-1])


@pytest.mark.parametrize(("side", "sign"), [("w", 1), ("b", -1)])
def test_the_score_is_that_of_the_side_to_move(engine: UciProcess, side: str, sign: int) -> None:
    said = search(engine, f"4k3/8/8/8/8/8/3Q4/4K3 {side} - - 0 1", "depth 4")
    assert sign * int(field(infos(said)[-1], "cp")) > 500


# Several lines


@pytest.mark.parametrize("count", [2, 4, 256])
@pytest.mark.parametrize("position", [KIWIPETE, MORPHY, "7k/8/8/8/8/8/r7/1K6 w - - 0 1"])
def test_lines_come_together_complete_and_sorted(engine: UciProcess, position: str, count: int) -> None:
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


def test_a_stop_between_the_lines_keeps_the_lines_of_one_depth(engine: UciProcess) -> None:
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


def test_speed_is_nodes_by_time_and_the_deepest_ply_is_at_least_that_of_the_line(engine: UciProcess) -> None:
    for report in infos(search(engine, KIWIPETE, "depth 9")):
        numbers = {name: int(field(report, name)) for name in ("nodes", "nps", "time", "seldepth", "depth", "tbhits")}
        assert numbers["nps"] == numbers["nodes"] * 1000 // max(1, numbers["time"])
        assert numbers["seldepth"] >= len(line_of(report))
        assert numbers["tbhits"] == 0
    assert numbers["seldepth"] > numbers["depth"]


def test_the_table_fills_and_is_empty_again_in_a_new_game(engine: UciProcess) -> None:
    engine.send("setoption name Hash value 1")
    full = int(field(infos(search(engine, KIWIPETE, "nodes 300000"))[-1], "hashfull"))
    assert 300 < full <= 1000
    engine.send("ucinewgame")
    assert int(field(infos(search(engine, KIWIPETE, "depth 1"))[-1], "hashfull")) < 50


@pytest.fixture(scope="module")
def long_search(uci: UciProcess) -> list[Said]:
    """What is said in 4.5 seconds; `at` counts from the `go`."""
    sent = uci.send("stop", "position startpos", "setoption name MultiPV value 1", "go infinite")
    time.sleep(4.5)
    uci.send("stop")
    return [Said(line.text, line.at - sent) for line in uci.read_until("bestmove")]


def test_current_moves_come_after_three_seconds_and_not_too_often(long_search: list[Said]) -> None:
    said = [line for line in long_search if " currmove " in line.text]
    assert 1 <= len(said) <= 10
    for line in said:
        assert re.fullmatch(r"info depth \d+ currmove [a-h][1-8][a-h][1-8] currmovenumber [1-9]\d*", line.text)
        assert line.at > 2.9


def test_bounds_are_shown_after_three_seconds_at_the_earliest(long_search: list[Said]) -> None:
    assert all(line.at > 2.9 for line in long_search if "bound" in line.text)
    assert "bound" not in long_search[-2].text  # a GUI compares the bestmove with a line that is none
