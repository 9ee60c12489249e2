"""The explanation of a score adds up to it, and its table to the same number."""

import random
import re
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, SQUARE_NAMES, WHITE
from merino.core.board.game import Position
from merino.core.common.text import rounded
from merino.engine.report import phrases
from merino.engine.report.schema import PositionReport
from merino.engine.report.static import report_change, report_evaluation
from merino.engine.report.text import render, render_change, render_piece, render_pieces
from merino.eval.evaluation import WIDTH
from merino.eval.families import load
from merino.eval.linear.compiled import counts_of, scores_of
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
        assert explanation.score_white == (to_move if position.turn == WHITE else -to_move), "as in the search"
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


def test_a_change_is_the_sum_of_its_parts(positions: list[Position], weights: np.ndarray) -> None:
    for before, after in pairwise(positions):
        change = report_change(*(LinearEvaluation(weights).explain(each.record) for each in (before, after)))
        parts = sum(term.change_cp for term in change.terms) + change.rule_cp + change.rounding_cp
        assert parts == pytest.approx(change.change_cp, abs=1e-6)
        sizes = [abs(term.change_cp) for term in change.terms]
        assert sizes == sorted(sizes, reverse=True) and render_change(change).isascii()


CAUSES = [
    ("4k3/ppp5/8/8/8/1P6/P1P5/4K3 w - - 0 1", "White's pawns left behind (a2, c2)"),  # b3 leaves them behind
    ("4k3/8/8/1p6/p1p5/8/PPP5/4K3 b - - 0 1", "Black's pawn left behind (b5)"),
    ("4k3/8/8/3N4/4P3/8/8/4K3 w - - 0 1", "advanced knight guarded by a pawn (d5)"),  # e4 only guards it
    ("4k3/8/8/8/8/8/8/5K2 w - - 0 1", None),
]


@pytest.mark.parametrize(("fen", "named"), CAUSES)
def test_terms_name_the_pieces_they_are_about_not_those_that_cause_them(fen: str, named: str | None) -> None:
    names = ("PawnBackwards", "KnightOutpost")
    weights = np.array([(-20.0 if term.name == names[0] else 20.0) * (term.name in names) for term in TERMS])
    text = " ".join(phrases.summarise(LinearEvaluation(weights).value_pieces(Position(fen).record)))
    assert (named is None or named in text) and (" (" in text) == (named is not None)


BOTVINNIK = "6k1/p6p/1p2Pnp1/3p4/q1pP4/1nP3N1/1B3QPP/6K1 b - - 0 27"


def test_of_many_terms_the_groups_come_first_and_alone_if_asked() -> None:
    evaluation = load(SHIPPED / "full.txt")
    position = Position(BOTVINNIK)
    report = report_evaluation(position.record, position.fen(), evaluation)
    groups = {group.name: group.net_cp for group in report.groups}
    named = re.findall(r"(?:favour: |, )([a-z ]+?)(?: \(([^)]*)\))? (\d+\.\d\d)", report.summary[-1])
    assert named and all(f"{abs(groups[name.capitalize()]) / 100:.2f}" == size for name, _, size in named)
    assert ("passed pawns", "passed pawn: e6; passed pawn that can step ahead: e6") in [each[:2] for each in named]
    pieces = evaluation.value_pieces(position.record).pieces
    assert phrases.threatened("Hanging", pieces, WHITE) == ["f6"]  # not f2, the attacker
    text = render(report, groups_only=True)
    assert all(name in text for name in groups) and "PassedPawn" not in text and "PassedPawn" in render(report)


def test_a_table_of_weights_is_a_row_without_weight_and_counts_in_the_same_columns() -> None:
    record = Position(BOTVINNIK).record
    lines = render(report_evaluation(record, BOTVINNIK, load(SHIPPED / "full.txt"))).splitlines()
    rows = [next(line for line in lines if f" {name} " in line) for name in ("PawnSquare", "Hanging", "PawnValue")]
    assert re.fullmatch(r"161 PawnSquare +table {12} +-?[\d.]+ +-?[\d.]+ +[-+.\d]+ .*", rows[0])
    assert len({line.index("│") for line in rows}) == 1 and all(len(line) <= WIDTH for line in lines)


def test_as_many_pieces_are_named_under_a_threat_as_its_term_counts(positions: list[Position]) -> None:
    evaluation, counted = load(SHIPPED / "full.txt"), 0
    for position in positions:
        pieces = evaluation.value_pieces(position.record).pieces
        counts = counts_of(position.record, evaluation.terms)[0]
        for each, at in evaluation.terms.to_read():
            for side in (WHITE, BLACK):
                squares = phrases.threatened(each.name, pieces, side)
                assert squares is None or len(squares) == counts[side, at].sum(), (each.name, position.fen())
                counted += len(squares or ())
    assert counted > 50


NAMED = r"(?:favour: |, )(?:(?:White|Black)'s )?([a-z ]+(?:(?:White|Black)'s king)?)(?: \(.*?\))? (\d+\.\d\d)"


def test_sentences_name_only_what_the_table_shows(positions: list[Position], weights: np.ndarray) -> None:
    for position in positions:
        values = LinearEvaluation(weights).value_pieces(position.record)
        explanation = values.explanation
        nets: dict[str, set[str]] = defaultdict(set)
        for line in explanation.lines:
            for said in phrases.phrases_of(line.name):
                nets[said].add(f"{abs(line.net) / 100:.2f}")
        nets["material"] = {f"{abs(explanation.group_net(Group.MATERIAL)) / 100:.2f}"}
        text = " ".join(phrases.summarise(values))
        named = re.findall(NAMED, text)
        assert [(name, size) for name, size in named if size not in nets[name]] == []
        squares = re.findall(r"[a-h][1-8]", text)
        assert all(position.piece_at(SQUARE_NAMES.index(square)) for square in squares)
        leader = "White" if explanation.score_white > 0 else "Black"
        has_lead = abs(explanation.score_white) >= phrases.MIN_AHEAD
        assert text.startswith(f"{leader} is ahead by" if has_lead else "Neither side is ahead.")
        change = report_change(LinearEvaluation(weights).explain(Position().record), explanation)
        result = f"This {'gains' if change.change_cp > 0 else 'costs'} White {abs(change.change_cp) / 100:.2f}."
        expected = result if change.change_cp else "This leaves the score as it is."
        assert phrases.summarise_change(change, "This", WHITE)[0] == expected


@pytest.mark.parametrize("name", ["default", "full"])
def test_a_change_names_material_as_one_and_the_nets_of_terms(name: str, positions: list[Position]) -> None:
    evaluation = load(SHIPPED / f"{name}.txt")
    for before, after in pairwise(positions):
        changed = report_change(*(evaluation.explain(each.record) for each in (before, after)))
        nets = {
            phrases.net_phrase(term.name): term.change_cp
            for term in changed.terms
            if not phrases.is_material(term.name)
        }
        nets["material"] = sum(term.change_cp for term in changed.terms if phrases.is_material(term.name))
        for sentence in phrases.summarise_change(changed, "This", BLACK)[1:]:
            sign = 1 if sentence.startswith("In White's favour: ") else -1
            for said, size in re.findall(r"(?:favour: |, )([a-z ]+) (\d+\.\d\d)", sentence):
                assert f"{sign * nets[said] / 100:.2f}" == size


def test_what_a_table_says_of_a_piece_is_named_by_what_it_asks() -> None:
    assert phrases.change_phrase("KnightSquare", -9.0) == phrases.change_phrase("PawnSquare", 9.0) == "its square"
    assert phrases.change_phrase("RookFromKing", -9.0) == "its distance from the king"
    assert phrases.net_phrase("KnightSquare") == "squares of knights"
    assert phrases.net_phrase("QueenFromKing") == "distance of the queen from the king"
    unstoppable = "passed pawns that the enemy king cannot catch"
    assert phrases.net_phrase("PassedSquare") == phrases.change_phrase("PassedSquare", 9.0) == unstoppable


def test_the_table_can_be_sorted_and_hide_what_is_nothing(positions: list[Position], weights: np.ndarray) -> None:
    explanation, found = LinearEvaluation(weights).explain(positions[20].record), report(positions[20], weights)
    rows = re.findall(r"^ *(\d+) \w+.*? ([-+.\d]+)  ", render(found, by_size=True), re.MULTILINE)
    nets = [abs(explanation.lines[int(number) - 1].net) for number, _ in rows]
    assert len(rows) == len(TERMS) and nets == sorted(nets, reverse=True)
    hidden = re.findall(r"^ *(\d+) \w", render(found, hide_zero=True), re.MULTILINE)
    assert {int(number) for number in hidden} == {line.number for line in explanation.lines if abs(line.net) >= 0.05}
