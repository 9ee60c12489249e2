"""Moves explained and ranked, two sets of weights compared: in a shell and at the console."""

import json
import re
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.app.console.explaining import position_of, read_positions, run_compare, run_explain, run_moves
from merino.core.board.game import Position
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import MerinoError
from merino.engine.notation.san import read_move
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.families import load as load_evaluation
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import SHIPPED, as_mapping, load, render
from merino.study.judge import by_search
from merino.study.reporting import compare_weights, report_moves, report_position
from merino.study.text import render_move, render_two_weights
from tests.talk import Talk

MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
K = 180.0
WEIGHTS = SHIPPED / "greko2015-after-training.txt"


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return load(WEIGHTS)


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return Searcher(hash_mb=1)


@pytest.fixture
def other_file(tmp_path: Path) -> Path:
    """Weights that like knights in the centre and little else."""
    path = tmp_path / "other.txt"
    values = as_mapping(load(WEIGHTS)) | {"KnightCenter": 150.0, "BishopMobility": 0.0, "VAL_N": 350.0}
    path.write_text(render(values, ["K 150"]))
    return path


CHANGES = [
    (MIDDLEGAME, "Bxh6", {"B c1-h6", "p h6 taken"}),
    (MIDDLEGAME, "Bh7+", {"B d3-h7"}),
    ("4k3/2P5/8/8/8/8/8/R3K3 w Q - 0 1", "O-O-O", {"K e1-c1", "R a1-d1"}),
    ("1n2k3/2P5/8/8/8/8/8/4K3 w - - 0 1", "cxb8=N", {"P c7-b8=N", "n b8 taken"}),
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "exd6", {"P e5-d6", "p d5 taken"}),
]


@pytest.mark.parametrize(("fen", "text", "expected"), CHANGES)
def test_a_move_changes_its_pieces(fen: str, text: str, expected: set[str], weights: np.ndarray) -> None:
    position, evaluation = Position(fen), LinearEvaluation(weights, K)
    move = read_move(position, text)
    report = report_moves(position, [move], evaluation, with_pieces=True)
    changes = report.moves[0].pieces
    after_move = position.copy()
    after_move.push(move)
    before = {piece.square: piece for piece in report.pieces}
    after = {piece.square: piece for piece in report_position(after_move, evaluation).pieces}
    assert [change.square for change in changes] == list(before)
    assert sorted(filter(None, (change.square_after for change in changes))) == sorted(after)
    for change in changes:
        old, new = before[change.square], after[change.square_after] if change.square_after else None
        was = change.piece, change.removal_before_cp, change.attributed_before_cp
        assert was == (old.piece, old.removal_cp, old.attributed_cp)
        assert (change.piece_after, change.removal_after_cp) == ((new.piece, new.removal_cp) if new else (None, None))
        assert change.attributed_change_cp == pytest.approx((new.attributed_cp if new else 0) - old.attributed_cp)
        assert (change.removal_change_cp is None) == (change.piece in "Kk")
    lines = render_move(report, report.moves[0], 80).splitlines()
    shown = {line[:12].rstrip() for line in lines[lines.index("") + 4 :]}
    assert expected == {name for name in shown if name[4:] and name[:2] != "Pi"}


ILLEGAL = [
    ("8/8/8/3q4/8/8/8/4K3 w - - 0 1", "Black has 0 kings"),
    ("4k3/8/8/8/8/8/PPPPPPPP/QQQQKQQQ w - - 0 1", "more queens than its pawns could become"),
]


@pytest.mark.parametrize(("fen", "fault"), ILLEGAL)
def test_an_illegal_position_is_valued_without_moves(fen: str, fault: str, shell) -> None:
    text = " ".join(shell("explain", fen).split())
    assert "has no moves and cannot be searched" in text and fault in text and "Removal:" in text
    printed = shell("explain", fen, "--json")
    queens = [piece for piece in printed["pieces"] if piece["piece"] in "Qq"]
    assert fault in printed["fault"] and all(abs(queen["removal_cp"]) > 500 for queen in queens)
    assert "has no moves and cannot be searched" in shell("explain", fen, "Kd1", status=1)


def test_a_board_without_room_for_a_king_is_refused(shell) -> None:
    ranks = ["QQQQQQQQ"] * 7
    for last, fault in (("qqqqqqqq", "White has no king"), ("qqqq1qqq", "Black has no king")):
        said = shell("explain", f"{'/'.join([*ranks, last])} w - - 0 1", status=1)
        assert f"{fault}, and no square is free for one" in said


@pytest.mark.parametrize("text", ["d5", "Be3", "h3"])
def test_a_line_ends_with_its_evaluation(text: str, weights: np.ndarray, searcher: Searcher) -> None:
    position = Position(MIDDLEGAME)
    move = read_move(position, text)
    evaluation = LinearEvaluation(weights, K)
    judge = by_search(searcher, evaluation)
    (found,) = judge.analyse(position, Limits(nodes=4000, search_moves=[move]))
    report = report_moves(position, [move], evaluation, {move: found}, judge)
    line = report.line_of(report.moves[0])
    assert line.score == report.moves[0].score
    board = chess.Board(MIDDLEGAME)
    for word in line.text.split():
        if not word[0].isdigit():
            board.push_san(word)
    assert board.move_stack[0] == chess.Board(MIDDLEGAME).parse_san(text)
    assert [each.uci() for each in board.move_stack] == list(line.moves)
    assert line.change.after_cp == LinearEvaluation(weights, K).explain(Position(board.fen()).record).score_white
    assert line.change.before_cp == LinearEvaluation(weights, K).explain(position.record).score_white
    assert abs(line.change.after_cp - (line.score.cp or 0)) < 150, "an exchange is not over"


def test_moves_are_ranked_by_search_with_the_mate_first(weights: np.ndarray, searcher: Searcher) -> None:
    position, limits, before = Position(MATE_IN_ONE), Limits(nodes=5000), (searcher.multipv, searcher.is_analysing)
    evaluation = LinearEvaluation(weights, K)
    moves = report_position(position, evaluation, by_search(searcher, evaluation), limits).moves
    assert (searcher.multipv, searcher.is_analysing) == before
    assert (moves[0].san, moves[0].score.text, moves[0].rank) == ("Ra8#", "+M1", 1)
    assert len(moves) == len(position.legal_moves)
    scores = [move.score.cp for move in moves[1:] if move.score is not None and move.score.cp is not None]
    assert len(scores) == len(moves) - 1 and scores == sorted(scores, reverse=True)
    assert all(move.san in move.pv for move in moves)


@pytest.mark.parametrize(
    ("move", "said"), [("Qf7", "The game is drawn: stalemate."), ("Qf8", "White has won by checkmate.")]
)
def test_a_move_that_ends_the_game_gains_nothing_more(move: str, said: str, shell) -> None:
    printed = shell("explain", "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", move, "--depth", "1")
    assert printed.endswith(f"{said}\n") and " gains " not in printed and " at depth " not in printed


def test_the_same_weights_twice_do_not_differ(weights: np.ndarray) -> None:
    compared = compare_weights(Position(MIDDLEGAME), *(LinearEvaluation(weights, K),) * 2)
    assert compared.change.change_cp == 0 and compared.moved == ()
    assert all(kind.attributed_cp[0] == kind.attributed_cp[1] for kind in compared.kinds)
    assert [(kind.kind, kind.count) for kind in compared.kinds] == [*zip("PNBRQK", (12, 4, 4, 4, 2, 2), strict=True)]
    names = "/folder" * 20 + "/a.txt", "/folder" * 20 + "/with blanks/b.txt"
    head, *rest = render_two_weights(compared, names, 80).split("\n\n")
    assert head == f"A: {names[0]}\nB: {names[1]}" and rest[0].startswith("Terms: net in centipawns for White\nterm ")


def test_other_weights_change_terms_pieces_and_ranks(weights: np.ndarray, other_file: Path) -> None:
    compared = compare_weights(Position(MIDDLEGAME), LinearEvaluation(weights, K), load_evaluation(other_file))
    assert {term.name for term in compared.change.terms} == {"BishopMobility"}  # the knights stand alike
    knights = next(kind for kind in compared.kinds if kind.kind == "N")
    assert knights.attributed_cp[1] - knights.attributed_cp[0] == pytest.approx(-50 + (150 - 27) * 1.2 / 3, abs=0.1)
    assert compared.moved and all(move.ranks[0] != move.ranks[1] for move in compared.moved)
    second = {move.san: move.rank for move in report_position(Position(MIDDLEGAME), load_evaluation(other_file)).moves}
    assert {move.move: move.ranks[1] for move in compared.moves} == second


@pytest.mark.parametrize(
    "words", [[MIDDLEGAME, "Bxh6"], [*MIDDLEGAME.split(), "Bxh6"], [*MIDDLEGAME.split()[:4], "Bxh6"]]
)
def test_a_fen_may_be_quoted_or_not(words: list[str]) -> None:
    position, rest = position_of(words, 1)
    assert position.fen().split()[:4] == MIDDLEGAME.split()[:4] and rest == ["Bxh6"]


def test_a_file_of_positions_is_explained_one_by_one(tmp_path: Path, shell) -> None:
    path = tmp_path / "positions.epd"
    path.write_text(f'# two\n{MIDDLEGAME}\n\n{MATE_IN_ONE.rsplit(" ", 2)[0]} bm Ra8#; id "mate";\n')
    assert [position.fen() for position in read_positions(path)] == [MIDDLEGAME, MATE_IN_ONE]
    printed = shell("explain", str(path), "--json", "--static")
    assert [entry["fen"] for entry in printed] == [MIDDLEGAME, MATE_IN_ONE]
    assert all(len(entry["terms"]) == len(TERMS) and entry["pieces"] for entry in printed)
    text = shell("explain", str(path), "--pieces", "--sort", "--hide-zero", "--ascii", "--nodes", "1000")
    assert text.isascii() and text.count("Score, centipawns for White") == text.count("Removal: ") == 2
    assert max(map(len, text.splitlines())) <= 80


def test_commands_in_a_shell_print_text_and_json(other_file: Path, shell) -> None:
    def printed(*arguments: str):
        return shell(*arguments, "--json", "--nodes", "1500", "--hash", "1")

    assert printed("explain", MIDDLEGAME, "Bxh6", "--weights", str(WEIGHTS))["moves"][0]["change"]["change_cp"] == 120
    assert [move["san"] for move in printed("compare", MIDDLEGAME, "h3", "d5")["moves"]] == ["h3", "d5"]
    assert printed("compare", str(WEIGHTS), str(other_file))["moves"][0]["ranks"][0] == 1
    assert printed("moves", MATE_IN_ONE)["moves"][0]["score"]["mate"] == 1
    assert printed("moves", MIDDLEGAME, "--static")["moves"][0]["score"] is None
    for words in (
        ["explain", MIDDLEGAME, "h3"],
        ["compare", MIDDLEGAME, "h3", "d5"],
        ["compare", str(WEIGHTS), str(other_file), MIDDLEGAME],
        ["moves", MATE_IN_ONE],
    ):
        assert max(map(len, shell(*words, "--nodes", "1500", "--hash", "1").splitlines()[2:])) <= 100


@pytest.mark.parametrize("option", ["--weights", "--evalfile"])
def test_a_third_evaluation_next_to_two_weights_files_is_refused(option: str, other_file: Path, shell) -> None:
    said = shell("compare", str(WEIGHTS), str(other_file), option, "gen12", status=2)
    assert "are compared without --weights and --evalfile" in said


def test_the_usual_start_may_be_named_instead_of_its_fen(shell) -> None:
    for command, *words in (
        ["explain", "--static"],
        ["explain", "e4", "--static"],
        ["compare", "e4", "d4", "--nodes", "500"],
    ):
        assert shell(command, "startpos", *words, "--json")["fen"] == Position().fen()


FAULTY_COMMANDS = [
    (run_explain, [MIDDLEGAME, "Nf7"], "Nf7: "),
    (run_explain, [MIDDLEGAME, "d5", "h3"], "expected one move"),
    (run_explain, [MIDDLEGAME, "d5", "--hide-zero"], "--hide-zero is for a position, not for a move in it"),
    (run_explain, [MIDDLEGAME.replace("w", "x", 1)], "side to move 'x'|FEN"),
    (run_explain, ["nowhere.epd"], "'nowhere.epd' is not a FEN, and cannot be read as a file"),
    (run_explain, [MIDDLEGAME, "--k", "0"], "--k"),
    (run_explain, [MIDDLEGAME, "--weights", "nowhere.txt"], "cannot read weights file"),
    (run_compare, [MIDDLEGAME, "d5"], "two moves"),
    (run_compare, ["a.txt"], "two weights files"),
    (run_compare, ["a.txt", "b.txt"], "cannot read weights file 'a.txt'"),
    (run_moves, [MIDDLEGAME, "d5"], "expected nothing"),
    (run_moves, [MIDDLEGAME, "--depth", "deep"], "not a whole number"),
]


@pytest.mark.parametrize(("run", "words", "fault"), FAULTY_COMMANDS)
def test_a_faulty_command_says_what_is_wrong(run, words: list[str], fault: str) -> None:
    with pytest.raises(MerinoError, match=fault):
        run(words)


def test_a_faulty_line_of_a_file_is_named(tmp_path: Path, shell) -> None:
    path = tmp_path / "positions.txt"
    path.write_text(f"{MIDDLEGAME}\n8/8/8/8/8/8/8/8 w - - 0 1\n")
    assert f"{path}:2" in shell("explain", str(path), status=1)
    path.write_text('[Event "a game"]\n\n1. e4 *\n')
    with pytest.raises(CommandError, match="merino annotate"):
        run_explain([str(path)])
    with pytest.raises(UsageError):
        run_explain([str(path), "e4"])


def test_the_console_explains_compares_and_ranks(other_file: Path) -> None:
    talk = Talk()
    talk.say("sn 1000")
    text = talk.say("explain Nf3")
    assert text.startswith("Nf3 is ") and re.search(r"\nNf3: [+-]?0\.\d\d for White at depth \d+, 1\. Nf3", text)
    assert talk.say("explain knight to f3") == text and "stands in the way" in talk.say("explain castle kingside")
    assert "Nf3 and e4" in talk.say("compare Nf3 e4").replace("\n", " ")
    assert "there is no square g9" in talk.say("compare e4 Bg9")
    assert "Expected a move, a FEN or startpos" in talk.say("explain e4 e5")
    assert "Usage: compare MOVE MOVE" in talk.say("compare Nf3")
    assert "it is White's turn" in talk.say("compare Nf6 e4")
    assert "KnightCenter                 27      150" in talk.say(f"compare {WEIGHTS} {other_file}")
    assert "Cannot read weights file" in talk.say("compare nowhere.txt nobody.txt")
    assert talk.say("moves eval").splitlines()[1].split()[0] == "1"
    assert "too short for all 20 moves" in talk.say("moves search")  # the engine of this test knows one line
    assert talk.moves == []
    assert "KnightCenter" in talk.say("pieces b1") and "cannot be removed" in talk.say("pieces e1")
    assert "There is no piece on e5" in talk.say("pieces e5")
    assert json.loads(talk.say("eval static json"))["static"]["score_cp"] == 0
    assert "VAL_P" not in talk.say("eval hide-zero") and "VAL_P" in talk.say("eval sort static")


def test_two_sets_of_terms_are_compared_by_the_terms_of_both() -> None:
    position = Position("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3")
    compared = compare_weights(position, *(load_evaluation(SHIPPED / name) for name in ("default.txt", "full.txt")))
    change = compared.change
    assert {"Tempo", "KnightMobility"} <= {term.name for term in change.terms}
    rest = change.non_term_cp + change.rule_cp + change.rounding_cp
    assert sum(term.change_cp for term in change.terms) + rest == pytest.approx(change.change_cp)
    assert "Tempo" in render_two_weights(compared, ("A", "B"), 100)
