"""Positions, moves and comparisons explained by nets: in a shell, as JSON, and piece values of a command."""

from pathlib import Path

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.eval.families import DEFAULT_FILE, default, load_evaluation
from merino.eval.linear.registry import TERMS
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import save_net
from merino.eval.net.network import Shape
from tests.test_net import random_net
from tests.test_net_play import material_net

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 b - - 0 9"
DRAW = "8/8/4k3/8/8/3KN3/8/8 w - - 0 1"


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "material.net"
    save_net(material_net(), path)
    return str(path)


@pytest.fixture
def piece_net(tmp_path: Path) -> str:
    path = tmp_path / "pieces.net"
    save_net(random_net(Shape("ALL", 16, piece_values=True)), path)
    return str(path)


CROWDED = "qqqqqqqq/qqqqqqqk/8/8/{}/8/QQQQQQQQ/KQQQQQQQ w - - 0 1"  # with as many men as a net has room for, or more


@pytest.mark.parametrize("kind", ["net", "piece_net"])
def test_a_net_values_any_board_with_32_men_and_refuses_more(kind: str, request, shell) -> None:
    evaluation = request.getfixturevalue(kind)
    assert len(shell("explain", CROWDED.format("8"), "--evalfile", evaluation, "--json", "--static")["pieces"]) == 32
    for option in ("--evalfile", "--beside"):
        said = shell("explain", CROWDED.format("N7"), option, evaluation, status=1)
        assert said.endswith("a net counts 32 men at most, and here are 33\n")
    assert len(shell("explain", CROWDED.format("N7"), "--json")["pieces"]) == 33


def test_a_net_explains_a_position_next_to_the_terms(net: str, shell) -> None:
    report = shell("explain", MIDDLEGAME, "--evalfile", net, "--json", "--static")
    assert report["terms"] == report["groups"] == [] and report["shared_cp"] is None
    assert report["without_terms"] == "material.net does not split its score into terms"
    assert report["static"]["score_cp"] == 0 and report["static"]["non_term_cp"] == report["static"]["sum_cp"]
    values = {piece["square"]: (piece["removal_cp"], piece["attributed_cp"]) for piece in report["pieces"]}
    assert values["d1"] == (900, None) and values["d8"] == (-900, None) and values["g1"] == (None, None)
    assert len(report["moves"]) == len(Position(MIDDLEGAME).legal_moves)
    assert all(not move["change"]["terms"] for move in report["moves"])
    beside = report["beside"]
    assert beside["score_cp"] == -int(default().scores(Position(MIDDLEGAME).record)[0])
    removals = default().removals(Position(MIDDLEGAME).record)[0]
    assert next(piece for piece in beside["pieces"] if piece["square"] == "d1")["removal_cp"] == removals[3]


def test_the_text_of_a_net_shows_score_pieces_and_the_terms(net: str, shell) -> None:
    text = shell("explain", MIDDLEGAME, "--evalfile", net, "--pieces", "--static")
    for part in ("By the terms the position is even", "Q  9.00", "Score for White 0.00 by ", "In pawns for the owner"):
        assert part in text, part
    assert "Mobility" not in text and "a known draw" in shell("explain", DRAW, "--evalfile", net, "--static")


def test_a_piece_value_net_shows_its_value_of_each_piece(piece_net: str, shell) -> None:
    report = shell("explain", MIDDLEGAME, "--evalfile", piece_net, "--json", "--static")
    total = sum(piece["attributed_cp"] for piece in report["pieces"]) + report["shared_cp"]
    assert total == pytest.approx(report["static"]["sum_cp"])
    beside = shell("explain", MIDDLEGAME, "--beside", piece_net, "--json", "--static")
    own = {piece["square"]: piece["attributed_cp"] for piece in report["pieces"]}
    assert {piece["square"]: piece["attributed_cp"] for piece in beside["beside"]["pieces"]} == own
    assert len(beside["terms"]) == len(TERMS) and beside["static"]["score_cp"] != beside["beside"]["score_cp"]


def test_moves_and_what_they_change_are_explained_by_a_net(net: str, shell) -> None:
    ranked = shell("moves", MIDDLEGAME, "--evalfile", net, "--static", "--json")["moves"]
    assert {move["change"]["after_cp"] for move in ranked} == {0, -100}
    taking = "4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1"
    assert "nothing" not in shell("moves", taking, "--evalfile", net, "--static")
    changed = shell("explain", taking, "exd5", "--evalfile", net, "--static", "--json")["moves"][0]["change"]
    assert (changed["change_cp"], changed["non_term_cp"], changed["terms"]) == (100, pytest.approx(100), [])
    text = shell("explain", taking, "exd5", "--evalfile", net, "--static", "--pieces")
    assert "What exd5 makes of each piece" in text and "p d5 taken" in text


@pytest.mark.parametrize("turned", [False, True])
def test_a_net_and_the_terms_are_compared(net: str, turned: bool, shell) -> None:
    files = [net, str(DEFAULT_FILE)][:: -1 if turned else 1]
    found = shell("compare", *files, MIDDLEGAME, "--json")
    kinds = {kind["kind"]: kind for kind in found["pieces"]}
    assert kinds["Q"]["removal_cp"][turned] == 900 and kinds["Q"]["attributed_cp"][turned] is None
    assert kinds["Q"]["attributed_cp"][not turned] is not None
    assert any(move["ranks"][0] != move["ranks"][1] for move in found["moves"])
    text = shell("compare", *files, MIDDLEGAME)
    assert f"{'AB'[turned]}: material.net does not split its score into terms." in text
    assert f"Terms of {'BA'[turned]}: net in centipawns" in text


def test_games_are_annotated_by_a_net(net: str, tmp_path: Path, shell) -> None:
    games = tmp_path / "g.pgn"
    games.write_text("1. e4 d5 2. exd5 Qxd5 3. Nc3 Qxg2 4. Bxg2 *\n")
    assert "3... Qxg2 $4" in shell("annotate", str(games), "--judge", net, "--nodes", "300")


def test_piece_values_of_a_net_are_shown_by_phase(piece_net: str, shell) -> None:
    found = shell("net", piece_net, "--json")
    own = {(row["piece"], row["phase"]): row for row in found["own_values"]}
    evaluation = NetEvaluation(random_net(Shape("ALL", 16, piece_values=True)))
    assert set(own) == {(row["piece"], row["phase"]) for row in found["pieces"]} and evaluation.has_attributed
    text = shell("net", piece_net, "--stats", "games/selfplay.pgn")
    assert "value that the net gives each piece" in text and "2.94" in text and "regression" in text


def test_piece_values_are_averaged_over_positions_of_the_whole_file(tmp_path: Path, shell) -> None:
    positions = tmp_path / "p.txt"
    rook, queen = (f"4k3/8/8/8/8/8/8/{piece}3K3 w - - 0 1 | 500 | 1.0\n" for piece in "RQ")
    positions.write_text(2000 * rook + 1999 * queen)
    found = shell("net", "gen1", "--positions", str(positions), "--json")
    counted = {row["piece"]: row["pieces"] for row in found["pieces"] if row["phase"] == "all"}
    assert counted.keys() == {"rook", "queen"} and sum(counted.values()) == 2000 and abs(counted["rook"] - 1000) < 3


def test_the_net_of_piece_values_that_comes_along_knows_the_order_of_the_pieces() -> None:
    evaluation = load_evaluation("pieces1")
    record = Position().record
    values, kinds = evaluation.attributed(record)[0], record[0]["board"] & 7
    pawn, knight, bishop, rook, queen = (float(np.mean(values[kinds == kind])) for kind in range(5))
    assert pawn < knight < bishop < rook < queen and 2 < knight / pawn < 6
