"""The explanation of a score adds up to it, and its table to the same number."""

import random
import re
from collections import Counter
from dataclasses import replace

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, SQUARE_NAMES, WHITE
from merino.core.board.game import Position
from merino.core.common.text import rounded
from merino.engine.report import phrases
from merino.engine.report.schema import PositionReport
from merino.engine.report.static import report_change, report_evaluation
from merino.engine.report.text import render, render_piece, render_pieces
from merino.eval.evaluation import WIDTH
from merino.eval.families import default, load
from merino.eval.linear.compiled import scores_of
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, Group
from merino.eval.linear.weights import SHIPPED
from merino.eval.material import CANNOT_WIN, KNOWN_DRAW, OPPOSITE_BISHOPS, after_rules
from tests.shipped import one_phase

RULES = [
    ("8/8/8/8/8/1k6/8/K1B5 w - - 0 1", KNOWN_DRAW),
    ("8/8/8/3n4/8/1k6/8/K1B5 b - - 0 1", KNOWN_DRAW),
    ("k7/8/8/P7/8/8/8/K1B5 w - - 0 1", KNOWN_DRAW),  # the bishop does not guard a8
    ("8/7p/4k3/8/8/8/2B5/K7 w - - 0 1", CANNOT_WIN),
    ("8/8/2b1k3/8/8/8/7P/K7 b - - 0 1", CANNOT_WIN),
    ("8/8/4k3/8/8/8/8/K4NN1 w - - 0 1", KNOWN_DRAW),
    ("8/7p/4k3/8/3b4/P6P/2B5/K7 w - - 0 1", OPPOSITE_BISHOPS),
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", None),
    ("8/7p/4k3/8/8/8/P7/K7 w - - 0 1", None),
    ("8/8/4k3/8/8/8/8/K6R w - - 0 1", None),
]


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return one_phase()


def report(position: Position, weights: np.ndarray) -> PositionReport:
    return report_evaluation(position.record, position.fen(), LinearEvaluation(weights))


@pytest.fixture(scope="module")
def positions() -> list[Position]:
    """Positions of random games, from the opening to bare kings."""
    draw = random.Random(27)
    found = []
    for _ in range(12):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 240:
            board.push(draw.choice(list(board.legal_moves)))
            if board.ply() % 7 == 0:
                found.append(Position(board.fen()))
    return found


@pytest.mark.parametrize(("fen", "rule"), RULES)
def test_a_draw_rule_is_named_where_it_changes_the_score(fen: str, rule: str | None, weights: np.ndarray) -> None:
    explanation = LinearEvaluation(weights).explain(Position(fen).record)
    assert explanation.rule == rule
    if rule is None:
        assert explanation.score_white == round(explanation.sum)
    else:
        expected = explanation.sum / 2 if rule == OPPOSITE_BISHOPS else 0
        assert abs(explanation.score_white - expected) <= 0.5
        assert rule in render(report(Position(fen), weights))


def test_the_expected_score_follows_the_logistic_curve(weights: np.ndarray) -> None:
    level = LinearEvaluation(weights).explain(Position().record)
    assert level.score_white == 0 and level.expected_score == 0.5
    record = Position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1").record
    ahead, doubtful = (LinearEvaluation(weights, k=k).explain(record) for k in (200, 1000))
    assert ahead.expected_score == pytest.approx(1 / (1 + np.exp(-ahead.score_white / ahead.k)))
    assert 0.5 < doubtful.expected_score < ahead.expected_score


def test_the_printed_column_adds_up_to_the_printed_sum(positions: list[Position], weights: np.ndarray) -> None:
    term_row = re.compile(r"^ *\d+ \w+(?: [me]g)?(?: +[-.\d]+){5} +([-+.\d]+)  ", re.MULTILINE)
    sum_row = re.compile(r"^   Sum .* ([-+.\d]+)$", re.MULTILINE)
    for position in positions:
        text = render(report(position, weights), unicode=False)
        assert text.isascii() and max(len(row) for row in text.splitlines()) <= 80
        nets = [0.0 if net == "." else float(net) for net in term_row.findall(text)]
        assert len(nets) == len(TERMS) and sum(nets) == pytest.approx(float(sum_row.search(text)[1]), abs=1.0)


def test_sum_rule_and_rounding_make_the_score_that_the_engine_searches_with(positions: list[Position]) -> None:
    ruled = [Position(fen) for fen, rule in RULES if rule]
    draw = np.random.default_rng(27)
    for position in [*positions, *ruled]:
        weights = np.array([draw.uniform(*term.bounds) for term in TERMS])
        explanation = LinearEvaluation(weights).explain(position.record)
        to_move = scores_of(position.record, weights)[0]
        assert explanation.score_white == (to_move if position.side == WHITE else -to_move), "as in the search"
        assert explanation.sum == pytest.approx(sum(line.net for line in explanation.lines), abs=1e-9)
        assert abs(after_rules(position.record, explanation.sum) - explanation.score_white) <= 0.5 + 1e-9
        made_of = explanation.sum + explanation.rule_cp + explanation.rounding
        assert made_of == pytest.approx(explanation.score_white, abs=1e-9)
        assert abs(explanation.rounding) <= 0.5 + 1e-9
        assert (abs(explanation.rule_cp) > 1e-9) <= (explanation.rule is not None)


def test_attributed_values_and_the_shared_rest_sum_to_the_score(positions: list[Position], weights: np.ndarray) -> None:
    for position in positions:
        values = LinearEvaluation(weights).value_pieces(position.record)
        total = values.attributed(WHITE) - values.attributed(BLACK) + values.shared_cp
        assert total == pytest.approx(values.explanation.sum, abs=1e-6)
        for number, line in enumerate(values.explanation.lines, start=1):
            credits = [(1 if piece.colour == WHITE else -1, each) for piece in values.pieces for each in piece.credits]
            credits += [(1, each) for each in values.shared]
            own = sum(sign * credit.cp for sign, credit in credits if credit.number == number)
            assert own == pytest.approx(line.net, abs=1e-6)


def test_removal_is_the_change_without_the_piece(positions: list[Position], weights: np.ndarray) -> None:
    compared = 0
    for position in positions[::9]:
        before = LinearEvaluation(weights).explain(position.record).score_white
        board = chess.Board(position.fen())
        for piece in LinearEvaluation(weights).value_pieces(position.record).pieces:
            without = board.copy()
            removed = without.remove_piece_at(piece.square)
            assert removed.symbol() == piece.letter
            if removed.piece_type == chess.KING:
                assert piece.removal is None and piece.relative is None
            elif without.is_valid():  # and the king of the side that has moved does not stand in check without it
                after = LinearEvaluation(weights).explain(Position(without.fen()).record).score_white
                assert piece.removal == (before - after if removed.color else after - before)
                assert piece.relative == pytest.approx(piece.removal / weights[0])
                compared += 1
    assert compared > 100


def test_a_pair_of_bishops_is_given_to_each_and_taken_off_once(weights: np.ndarray) -> None:
    values = LinearEvaluation(weights).value_pieces(Position("4k3/pppppppp/8/8/8/8/8/2B1KB2 w - - 0 1").record)
    pair = next(line for line in values.explanation.lines if line.name == "BishopPairEndgame")
    shares = {SQUARE_NAMES[p.square]: c.cp for p in values.pieces for c in p.credits if c.name == pair.name}
    assert shares == {"c1": pair.net, "f1": pair.net}
    assert [credit.cp for credit in values.shared if credit.name == pair.name] == [-pair.net]


def test_no_value_is_relative_to_a_pawn_without_weight(weights: np.ndarray) -> None:
    weightless = weights.copy()
    weightless[0] = 0
    found = report(Position(), weightless)
    assert all(piece.relative_pawns is None for piece in found.pieces)
    assert "P    -" in render_pieces(found, ("relative",))


def test_nothing_is_shown_as_minus_nought(weights: np.ndarray) -> None:
    lone = report(Position("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1"), np.where(np.arange(len(TERMS)) < 5, weights, 0.0))
    assert "less Black's 0.0, shared" in render_pieces(lone)
    assert [rounded(value, "+", 0) for value in (-0.4, 0.0, 0.4, -0.6)] == ["+0", "+0", "+0", "-1"]
    slight = replace(next(piece for piece in lone.pieces if piece.piece == "Q"), attributed_cp=-0.04, shapley_cp=-0.04)
    assert "-0" not in render_piece(slight) + render_pieces(replace(lone, pieces=(slight,)), ("attributed",))


BOTVINNIK = "6k1/p6p/1p2Pnp1/3p4/q1pP4/1nP3N1/1B3QPP/6K1 b - - 0 27"


def test_of_many_terms_the_groups_come_first_and_alone_if_asked() -> None:
    report = report_evaluation(Position(BOTVINNIK).record, BOTVINNIK, load(SHIPPED / "full.txt"))
    groups = {group.name: group.net_cp for group in report.groups}
    named = re.findall(r"(?:favour: |; )([a-z ]+?)(?: \(([^)]*)\))? (\d+\.\d\d)", report.summary[-1])
    assert named and all(f"{abs(groups[name.capitalize()]) / 100:.2f}" == size for name, _, size in named)
    assert ("passed pawns", "White's e-pawn is passed") in [each[:2] for each in named]
    text = render(report, groups_only=True)
    assert all(name in text for name in groups) and "PassedPawn" not in text and "PassedPawn" in render(report)


def test_a_table_of_weights_is_a_row_without_weight_and_counts_in_the_same_columns() -> None:
    lines = render(report_evaluation(Position(BOTVINNIK).record, BOTVINNIK, load(SHIPPED / "full.txt"))).splitlines()
    rows = [next(line for line in lines if f" {name} " in line) for name in ("PawnSquare", "Hanging", "PawnValue")]
    assert re.fullmatch(r"161 PawnSquare +table {12} +-?[\d.]+ +-?[\d.]+ +[-+.\d]+ .*", rows[0])
    assert len({line.index("│") for line in rows}) == 1 and all(len(line) <= WIDTH for line in lines)


def summary_of(fen: str, evaluation: LinearEvaluation | None = None) -> str:
    record = Position(fen).record
    return " ".join(phrases.summarise((evaluation or default()).explain(record), record))


def change_by(fen: str, move: str, evaluation: LinearEvaluation | None = None) -> str:
    """The sentences on the change by a legal move, coordinates, for White."""
    boards = list(phrases.boards_after(fen, [], [move]))
    before, after = ((evaluation or default()).explain(Position(board.fen()).record) for board in boards)
    return " ".join(phrases.summarise_change(report_change(before, after), "It", WHITE, *boards))


def only(name: str, weight: float) -> LinearEvaluation:
    return LinearEvaluation(np.array([weight * (term.name == name) for term in TERMS]))


TRAP = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 0 16"
QUIET = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
PASSER = "2r5/pp2p1k1/8/2K5/PP6/3R3q/8/8 w - - 2 45"
WEAK = "2rq1k2/5pn1/6p1/1p2n2r/2p3pP/P1Q5/R1PN1PK1/1R3N2 w - - 1 31"
CASTLING = "r3k3/p1p2p2/2p1r3/P1b1p2p/2B3pP/1P2P3/2QB1PP1/2R1K1NR b Kq - 0 22"
STATED = [
    (WEAK, "White's a-, c-, f- and h-pawns are isolated (1.02)", "centre on d2|central"),
    (WEAK, "Black's knight stands in the centre on e5 (0.15)", ""),
    (WEAK, "Black's b-pawn is backward (0.14)", "behind"),
    (QUIET, "White's d-pawn is isolated (0.27)", "backward|behind"),  # b2 has been left behind, and nobody attacks b3
    (QUIET, "White's rook stands on the half-open e-file (0.34)", "without friendly"),
    (QUIET, "White's rooks reach more squares, 8 against 3 (0.18)", "immobile"),
    (TRAP, "White's rook stands on the open d-file (0.27)", "without friendly"),
    (PASSER, "Black's e-pawn is passed (0.17)", "far"),  # two squares from the king
    (CASTLING, "White has the bishop pair (0.67)", ""),
    (CASTLING, "material (a queen, a bishop and a knight for a pawn) 19.82", ""),
]


@pytest.mark.parametrize(("fen", "said", "unsaid"), STATED)
def test_a_sentence_has_the_word_that_chess_has_for_a_fact(fen: str, said: str, unsaid: str) -> None:
    text = summary_of(fen)
    assert said in text and not (unsaid and re.search(unsaid, text)), text


UNUSUAL = [
    ("PawnIsolated", -30.0, WEAK, "d2c4"),
    ("RookOpen", 30.0, CASTLING, "a8d8"),
    ("KnightCenter", 30.0, WEAK, "d2e4"),
]
CHANGED = [
    ("4k3/8/3p4/2p5/3P4/4P3/8/4K3 w - - 0 1", "d4c5", ["In material White gains a pawn"]),
    ("4k3/8/8/3p4/2PP4/8/8/4K3 w - - 0 1", "c4d5", ["becomes passed", "White's d-pawns become isolated"]),
    ("4k3/3p4/2p1P3/8/8/8/8/4K3 w - - 0 1", "e6d7", ["becomes passed", "Black's c-pawn becomes isolated"]),
    ("4k3/8/8/8/2p5/1P6/P7/4K3 w - - 0 1", "b3c4", ["becomes passed", "White's a- and c-pawns become isolated"]),
    (CASTLING, "a8d8", ["Black's rooks reach 6 squares more", "Black's rook now stands on the open d-file (0.27)"]),
    (WEAK, "d2e4", ["White's knight now stands in the centre on e4 (0.15)"]),
    ("8/5pk1/6p1/8/1P6/4B1P1/5PK1/2b5 w - - 0 50", "e3a7", ["White's bishop on a7 reaches 4 squares fewer"]),
    ("r3k2r/pp3ppp/8/8/8/8/PP3PPP/R3K2R w KQkq - 0 1", "e1g1", ["White's rooks reach 3 squares more"]),
    (QUIET, "d3a6", ["reach"]),
]


@pytest.mark.parametrize(("fen", "move", "said"), CHANGED)
def test_a_change_names_the_pieces_for_which_a_fact_changes(fen: str, move: str, said: list[str]) -> None:
    text = change_by(fen, move)
    assert all(each in text for each in said) and "favour" not in text, text
    assert text.count("(") >= len(said) and ("isolated" in text) == ("isolated" in said[-1])


def test_a_king_that_castles_does_not_reach_the_centre() -> None:
    text = change_by(CASTLING, "e8c8")
    assert "cent" not in text and "No pawn now shields Black's king on the b-file" in text


@pytest.mark.parametrize(("name", "weight", "fen", "move"), UNUSUAL)
def test_a_weight_of_unusual_sign_makes_no_sentence(name: str, weight: float, fen: str, move: str) -> None:
    usual, unusual = only(name, weight), only(name, -weight)
    assert "In " in summary_of(fen, usual) and "In " not in summary_of(fen, unusual)
    assert change_by(fen, move, usual).count(".") > change_by(fen, move, unusual).count(".")


def holding(word: str, owner: chess.Color, board: chess.Board) -> set[str]:
    """The files of the pawns to which a word applies, by other means than those of Merino."""
    pawns = {owner: set(board.pieces(chess.PAWN, owner)) for owner in chess.COLORS}
    found = set()
    for square in pawns[owner]:
        file, rank = square % 8, square // 8
        near = [each for each in pawns[owner] if abs(each % 8 - file) == 1]
        ahead = range(rank + 1, 8) if owner else range(rank)
        column = [each for each in pawns[owner] if each % 8 == file and each != square]
        guards = [each for each in pawns[not owner] if abs(each % 8 - file) <= 1 and each // 8 in ahead]
        step = square + (8 if owner else -8)
        stops = [each for each in pawns[not owner] if step in board.attacks(each)]
        behind = [each for each in near if each // 8 not in ahead]
        if {
            "isolated": not near,
            "doubled": bool(column),
            "passed": not guards and not any(each // 8 in ahead for each in column),
            "backward": bool(near) and not behind and bool(stops),
        }[word]:
            found.add(chess.FILE_NAMES[file])
    return found


def test_what_is_said_of_pawns_is_so_on_the_board(positions: list[Position]) -> None:
    counts: Counter[str] = Counter()
    for position in positions:
        text, board = summary_of(position.fen()), chess.Board(position.fen())
        for owner, files, word in re.findall(r"(White|Black)'s ([a-h, and-]+)-pawns? (?:is|are) (\w+) \(", text):
            assert set(re.findall(r"\b[a-h]\b", files)) == holding(word, owner == "White", board), (
                text,
                position.fen(),
            )
            counts[word] += 1
    assert counts["isolated"] > 20 and len(counts) == 4, counts


def test_sentences_name_only_what_the_table_shows(positions: list[Position], weights: np.ndarray) -> None:
    for position in positions:
        explanation = LinearEvaluation(weights).explain(position.record)
        nets = {f"{abs(line.net) / 100:.2f}" for line in explanation.lines}
        text = " ".join(phrases.summarise(explanation, position.record))
        assert set(re.findall(r"\((\d+\.\d\d)\)", text)) <= nets
        for material in re.findall(r"material \([^)]*\) (\d+\.\d\d)", text):
            assert material == f"{abs(explanation.group_net(Group.MATERIAL)) / 100:.2f}"
        assert all(position.piece_at(SQUARE_NAMES.index(square)) for square in re.findall(r"[a-h][1-8]", text))
        leader = "White" if explanation.score_white > 0 else "Black"
        has_lead = abs(explanation.score_white) >= phrases.MIN_AHEAD
        assert text.startswith(f"{leader} is ahead by" if has_lead else "Neither side is ahead.")
        change = report_change(LinearEvaluation(weights).explain(Position().record), explanation)
        result = f"This {'gains' if change.change_cp > 0 else 'costs'} White {abs(change.change_cp) / 100:.2f}."
        expected = result if change.change_cp else "This leaves the score as it is."
        assert phrases.summarise_change(change, "This", WHITE) == (expected,), "without boards nothing is known"


def test_the_table_can_be_sorted_and_hide_what_is_nothing(positions: list[Position], weights: np.ndarray) -> None:
    explanation, found = LinearEvaluation(weights).explain(positions[20].record), report(positions[20], weights)
    rows = re.findall(r"^ *(\d+) \w+.*? ([-+.\d]+)  ", render(found, by_size=True), re.MULTILINE)
    nets = [abs(explanation.lines[int(number) - 1].net) for number, _ in rows]
    assert len(rows) == len(TERMS) and nets == sorted(nets, reverse=True)
    hidden = re.findall(r"^ *(\d+) \w", render(found, hide_zero=True), re.MULTILINE)
    assert {int(number) for number in hidden} == {line.number for line in explanation.lines if abs(line.net) >= 0.05}
