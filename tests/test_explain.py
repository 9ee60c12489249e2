"""The explanation of a score adds up to it, and its table to the same number."""

import random
import re

import chess
import numpy as np
import pytest

from engine.game import Position
from eval.evaluate import after_rules, scores_of
from eval.explain import CANNOT_WIN, KNOWN_DRAW, OPPOSITE_BISHOPS, explain
from eval.registry import TERMS, Group
from eval.table import render, render_terms
from eval.weights import DEFAULT_FILE, load

RULES = [
    ("8/8/8/8/8/1k6/8/K1B5 w - - 0 1", KNOWN_DRAW),
    ("8/8/8/3n4/8/1k6/8/K1B5 b - - 0 1", KNOWN_DRAW),
    ("k7/8/8/P7/8/8/8/K1B5 w - - 0 1", KNOWN_DRAW),  # the bishop does not guard a8
    ("8/7p/4k3/8/8/8/2B5/K7 w - - 0 1", CANNOT_WIN),
    ("8/8/2b1k3/8/8/8/7P/K7 b - - 0 1", CANNOT_WIN),
    ("8/7p/4k3/8/3b4/P6P/2B5/K7 w - - 0 1", OPPOSITE_BISHOPS),
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", None),
    ("8/7p/4k3/8/8/8/P7/K7 w - - 0 1", None),
    ("8/8/4k3/8/8/8/8/K6R w - - 0 1", None),
]


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return load(DEFAULT_FILE)


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


def test_the_lines_sum_to_the_score_to_the_centipawn(positions: list[Position], weights: np.ndarray) -> None:
    for position in positions:
        explanation = explain(position.record, weights)
        assert explanation.sum == pytest.approx(sum(line.net for line in explanation.lines), abs=1e-9)
        assert abs(after_rules(position.record, explanation.sum) - explanation.score_white) <= 0.5 + 1e-9


def test_the_score_is_the_one_the_engine_searches_with(positions: list[Position]) -> None:
    draw = np.random.default_rng(27)
    for position in positions:
        weights = np.array([draw.uniform(*term.bounds) for term in TERMS])
        explanation = explain(position.record, weights)
        assert explanation.score_to_move == scores_of(position.record, weights)[0]
        assert explanation.score_white == explanation.score_to_move * (1 if position.turn == 0 else -1)


def test_the_lines_are_the_terms_of_the_registry_in_order(weights: np.ndarray) -> None:
    lines = explain(Position().record, weights).lines
    assert [line.name for line in lines] == [term.name for term in TERMS]
    assert [line.number for line in lines] == list(range(1, len(TERMS) + 1))
    assert [line.weight for line in lines] == weights.tolist()


@pytest.mark.parametrize(("fen", "rule"), RULES)
def test_a_draw_rule_is_named_where_it_changes_the_score(fen: str, rule: str | None, weights: np.ndarray) -> None:
    explanation = explain(Position(fen).record, weights)
    assert explanation.rule == rule
    if rule is None:
        assert explanation.score_white == round(explanation.sum)
    else:
        expected = explanation.sum / 2 if rule == OPPOSITE_BISHOPS else 0
        assert abs(explanation.score_white - expected) <= 0.5
        assert rule in render(explanation)


def test_the_expected_score_follows_the_logistic_curve(weights: np.ndarray) -> None:
    level = explain(Position().record, weights)
    assert level.score_white == 0
    assert level.expected_score == 0.5
    ahead = explain(Position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1").record, weights)
    assert ahead.expected_score == pytest.approx(1 / (1 + np.exp(-ahead.score_white / ahead.k)))
    doubtful = explain(Position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1").record, weights, k=1000)
    assert 0.5 < doubtful.expected_score < ahead.expected_score


def test_the_share_of_the_middlegame_is_that_of_the_opponents_pieces(weights: np.ndarray) -> None:
    explanation = explain(Position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1").record, weights)
    assert explanation.middlegame == (0, 5 / 32)


def test_each_line_belongs_to_one_group(weights: np.ndarray) -> None:
    explanation = explain(Position().record, weights)
    grouped = [line for group in Group for line in explanation.of_group(group)]
    assert sorted(line.number for line in grouped) == [line.number for line in explanation.lines]


def test_the_printed_column_adds_up_to_the_printed_sum(positions: list[Position], weights: np.ndarray) -> None:
    term_row = re.compile(r"^ *\d+ \w+ +[-.\d]+ +[-.\d]+ +[-.\d]+ +[-.\d]+ +[-.\d]+ +([-+.\d]+)  ", re.MULTILINE)
    sum_row = re.compile(r"^   Sum .* ([-+.\d]+)$", re.MULTILINE)
    for position in positions:
        text = render(explain(position.record, weights))
        nets = [0.0 if net == "." else float(net) for net in term_row.findall(text)]
        assert len(nets) == len(TERMS)
        total = sum_row.search(text)
        assert total is not None
        assert sum(nets) == pytest.approx(float(total[1]), abs=1.0)


def test_the_table_fits_a_terminal_and_stays_ascii_on_request(positions: list[Position], weights: np.ndarray) -> None:
    for position in positions:
        text = render(explain(position.record, weights), unicode=False)
        assert text.isascii()
        assert max(len(row) for row in text.splitlines()) <= 80


def test_the_table_of_terms_has_every_name_and_sentence(weights: np.ndarray) -> None:
    text = " ".join(render_terms(weights).split())
    for term in TERMS:
        assert term.name in text
        assert term.sentence in text
