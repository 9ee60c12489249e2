"""What pieces are worth on the board, on average: every value counted once, where it belongs."""

import io
import json
import math
from contextlib import nullcontext
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.game import Position
from merino.core.board.position import POSITION
from merino.eval.families import default
from merino.lab.points.board import QUANTILES, BoardValues, board_values
from merino.lab.points.games import PHASES, PIECES, PointsRequest, Wanted
from merino.lab.points.report import render_board

# A long game that White wins, one that Black wins and one that is drawn; the second ends with few pieces.
GAMES = """[White "Good"]\n[Black "Bad"]\n[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. O-O f6 6. d4 exd4 7. Nxd4 c5 8. Nb3 Qxd1 9. Rxd1 Bd6 1-0

[White "Bad"]\n[Black "Good"]\n[Result "0-1"]\n[SetUp "1"]\n[FEN "4k3/3q1p2/8/8/8/5n2/4BP2/3RK3 w - - 0 1"]

1. Bxf3 Qxd1+ 2. Bxd1 f5 3. f4 Ke7 0-1

[White "Good"]\n[Black "Bad"]\n[Result "1/2-1/2"]

1. d4 d5 2. c4 dxc4 3. e3 b5 1/2-1/2
"""


def positions() -> list[tuple[str, int]]:
    """Every position after a move, by python-chess: FEN and what White scored in half points."""
    file, found = io.StringIO(GAMES), list[tuple[str, int]]()
    while (game := chess.pgn.read_game(file)) is not None:
        result = {"1-0": 2, "0-1": 0, "1/2-1/2": 1}[game.headers["Result"]]
        found += [(node.board().fen(), result) for node in game.mainline()]
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games") / "games.pgn"
    path.write_text(GAMES)
    return path


def valued(file: Path, result: Wanted | None = None) -> BoardValues:
    return board_values(file, default(), PointsRequest(result=result), lambda _: nullcontext(lambda _: None), print)


@pytest.fixture(scope="module")
def board(file: Path) -> BoardValues:
    return valued(file)


def test_values_of_many_positions_are_those_of_each_alone() -> None:
    fens = [fen for fen, _ in positions()]
    records = np.zeros(len(fens), dtype=POSITION)
    for index, fen in enumerate(fens):
        records[index] = Position(fen).record[0]
    evaluation = default()
    removals, attributed = evaluation.removals(records), evaluation.attributed(records)
    for index in range(len(fens)):
        pieces = evaluation.value_pieces(records[index : index + 1]).pieces
        squares = [piece.square for piece in pieces]
        assert removals[index, squares].tolist() == [piece.removal or 0 for piece in pieces]
        assert attributed[index, squares].tolist() == pytest.approx([piece.attributed for piece in pieces])
        assert np.count_nonzero(removals[index]) <= len(pieces)


def phase_of(fen: str) -> str:
    left = sum({"n": 3, "b": 3, "r": 5, "q": 10}.get(letter, 0) for letter in fen.split(maxsplit=1)[0].lower())
    return PHASES[0] if left >= 52 else PHASES[2] if left <= 26 else PHASES[1]


@pytest.mark.parametrize("way", ["removal", "attributed"])
def test_means_and_spreads_are_those_of_all_pieces_one_by_one(way: str, board: BoardValues) -> None:
    table: dict[tuple[str, str | None], list[float]] = {}
    for fen, _ in positions():
        for piece in default().value_pieces(Position(fen).record).pieces:
            value = piece.removal if way == "removal" else piece.attributed
            if piece.removal is not None and value is not None:
                for phase in (None, phase_of(fen)):
                    table.setdefault((piece.letter.upper(), phase), []).append(value)
    pawn = float(np.mean(table["P", None]))
    assert board.pawns[way] == pytest.approx(pawn)
    for kind in PIECES:
        for phase in (None, *PHASES):
            found, values = board.spreads[way, kind, phase], np.array(table.get((kind, phase), []))
            assert found.number == len(values)
            if len(values):
                assert found.mean == pytest.approx(values.mean() / pawn)
                assert found.deviation == pytest.approx(values.std() / pawn, abs=1e-6)
                exact = np.quantile(values, QUANTILES, method="inverted_cdf") / pawn
                assert found.quantiles == pytest.approx(exact, abs=0.6 / pawn)  # in whole centipawns
            else:
                assert math.isnan(found.mean)


def test_the_winner_is_predicted_in_decided_games_and_level_scores_count_half(board: BoardValues) -> None:
    right = []
    for fen, result in positions():
        score = default().explain(Position(fen).record).score_white
        if result != 1:
            right.append(0.5 if score == 0 else float((score > 0) == (result == 2)))
    found = board.predictions[None]
    assert found.positions == len(right)
    assert found.share == pytest.approx(np.mean(right))
    assert sum(board.predictions[phase].positions for phase in PHASES) == found.positions
    assert found.error > 0


def test_filters_choose_the_games_that_are_valued(file: Path, board: BoardValues) -> None:
    drawn = valued(file, Wanted.DRAW)
    assert (drawn.games, drawn.positions) == (1, 6)
    assert drawn.predictions[None].positions == 0 and math.isnan(drawn.predictions[None].share)
    assert board.games == 3
    text = render_board(drawn, None)
    assert "Team 44" in text and "- of 0 positions" in text


def test_the_command_prints_text_or_json(file: Path, board: BoardValues, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["points", str(file), "--board", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["values"]) == len(board.spreads)
    assert shown["team_44"]["Q"] == 9.87
    assert main(["points", str(file), "--board"]) == 0
    assert "by removal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--board", "--by", "elo"], "--board does not go with --by"),
        (["--weights", "w.txt"], "--weights needs --board"),
        (["--board", "--player", "Fischer"], "no game that can be read and passes the filters"),
    ],
)
def test_options_that_do_not_go_with_the_board_are_refused(
    options: list[str], complaint: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["points", str(file), *options]) != 0
    assert complaint in capsys.readouterr().err
