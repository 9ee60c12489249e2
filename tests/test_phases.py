"""Weights of two phases: read, written, evaluated, explained and tuned; one phase scores as it always did."""

from pathlib import Path

import numpy as np
import pytest

from merino.core.board.bitboard import BISHOP, KNIGHT, QUEEN, ROOK
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.engine.report.static import report_change, report_evaluation
from merino.engine.report.text import render
from merino.eval.evaluation import EvaluationError
from merino.eval.families import from_identity, load_evaluation
from merino.eval.linear.compiled import features_of, scores_of, stages_of, white_scores_of
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import by_stage, column_names, halves, in_two_phases, simplest, with_values
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import as_mapping, load, parse, rewrite, save
from merino.eval.material import FULL_BOARD
from tests.boards import playouts, records
from tests.shipped import ONE_PHASE, one_phase

N = len(TERMS)
NAMES = [term.name for term in TERMS]
OUTPOST = NAMES.index("KnightOutpost")


def two_phases() -> np.ndarray:
    """Weights whose values differ in every term, within bounds."""
    chance = np.random.default_rng(3)
    low, high = np.array([term.bounds for term in TERMS], dtype=float).T
    start = in_two_phases(one_phase(), N)
    return np.clip(np.rint(start + chance.uniform(-30, 30, 2 * N)), np.tile(low, 2), np.tile(high, 2))


def test_a_line_with_two_values_reads_as_middlegame_and_endgame() -> None:
    one = "\n".join(
        line for line in ONE_PHASE.read_text().splitlines() if "KnightOutpost" not in line and "VAL_P" not in line
    )
    found = parse(f"KnightOutpost 30 18 # better with pieces\nVAL_P 101\n{one}", "a file")
    middlegame, endgame = halves(found, N)
    assert (middlegame[OUTPOST], endgame[OUTPOST]) == (30, 18)
    others = [index for index in range(N) if index != OUTPOST]
    assert np.array_equal(middlegame[others], endgame[others])
    assert middlegame[0] == 101


def test_two_phases_written_are_read_back_and_one_value_stays_one(tmp_path: Path) -> None:
    weights = two_phases()
    weights[N + 3] = weights[3]
    save(tmp_path / "weights.txt", weights)
    assert np.array_equal(load(tmp_path / "weights.txt"), weights)
    rows = [line.split() for line in (tmp_path / "weights.txt").read_text().splitlines()]
    assert [row[0] for row in rows] == NAMES
    assert [len(row) for row in rows] == [2 if weights[i] == weights[N + i] else 3 for i in range(N)]


def test_a_rewritten_file_keeps_comments_and_takes_other_numbers_of_values() -> None:
    text = "# mine\nKnightOutpost  30\t18  # two\nVAL_P 100 # one\n"
    weights = with_values(one_phase(), {"KnightOutpost_mg": 5, "KnightOutpost_eg": 5, "VAL_P_eg": 120}, TERMS)
    found = rewrite(text, weights, [])
    assert found.startswith("# mine\nKnightOutpost  5  # two\nVAL_P 100 120 # one\nVAL_N ")
    assert np.array_equal(parse(found, "a file"), weights)


def test_one_phase_scores_as_the_plain_sum_at_every_stage() -> None:
    table = by_stage(one_phase(), N)
    assert table.shape == (FULL_BOARD + 1, N)
    assert (table == one_phase()).all()
    positions = records(playouts(5, 200))
    assert np.array_equal(scores_of(positions, one_phase()), scores_of(positions, in_two_phases(one_phase(), N)))


def test_weights_go_from_endgame_to_middlegame_by_the_pieces_left() -> None:
    weights, positions = two_phases(), records(playouts(6, 300))
    middlegame, endgame = halves(weights, N)
    for position, score in zip(positions, white_scores_of(positions, weights), strict=True):
        units = sum(
            unit * int(position["pieces"][kind]).bit_count()
            for kind, unit in ((KNIGHT, 3), (BISHOP, 3), (ROOK, 5), (QUEEN, 10))
        )
        share = min(units / FULL_BOARD, 1)
        assert score == pytest.approx(features_of(position[None])[0] @ (endgame + share * (middlegame - endgame)))


def test_more_pieces_than_at_the_start_are_no_more_than_the_middlegame() -> None:
    assert stages_of(Position("QQQQQQQQ/8/8/3k4/8/8/8/K7 b - - 0 1").record).tolist() == [FULL_BOARD]
    assert stages_of(Position("8/3k4/8/8/8/8/P7/K7 w - - 0 1").record).tolist() == [0]


def test_the_explanation_adds_up_and_shows_both_values() -> None:
    weights = two_phases()
    for position in records(playouts(8, 60))[:, None]:
        found = LinearEvaluation(weights).explain(position)
        assert found.sum == pytest.approx(white_scores_of(position, weights)[0])
        assert found.stage == stages_of(position)[0] / FULL_BOARD
        assert [line.values for line in found.lines] == list(zip(*halves(weights, N), strict=True))
        report = report_evaluation(position, to_fen(position), LinearEvaluation(weights))
        line = report.to_dict()["terms"][OUTPOST]
        between = line["weight_eg"] + found.stage * (line["weight_mg"] - line["weight_eg"])
        assert line["weight"] == pytest.approx(between)
        values = LinearEvaluation(weights).value_pieces(position)
        assert values.attributed(0) - values.attributed(1) + values.shared_cp == pytest.approx(found.sum)
    assert "weights with two values" in render(report)
    plain = report_evaluation(position, report.fen, LinearEvaluation(one_phase()))
    assert "weights with two values" not in render(plain)


def test_a_change_by_a_capture_counts_the_change_of_stage() -> None:
    weights = two_phases()
    before, after = Position("4k3/8/8/3q4/4P3/8/8/4K2Q w - - 0 1"), Position("4k3/8/8/3P4/8/8/8/4K2Q b - - 0 1")
    change = report_change(*(LinearEvaluation(weights).explain(each.record) for each in (before, after)))
    net = white_scores_of(after.record, weights)[0] - white_scores_of(before.record, weights)[0]
    assert sum(term.change_cp for term in change.terms) == pytest.approx(net)


def test_the_table_of_terms_shows_both_values() -> None:
    weights = with_values(one_phase(), {"KnightOutpost_mg": 33, "KnightOutpost_eg": -7}, TERMS)
    rows = LinearEvaluation(weights).describe().splitlines()
    row = next(line for line in rows if "KnightOutpost" in line)
    assert row.split()[2:4] == ["33", "-7"]
    assert max(map(len, rows)) <= 80


def test_the_table_of_terms_shows_no_negative_zero() -> None:
    for values, heard in (((-0.0, 0.0), ["0"]), ((-0.0, 5), ["0", "5"]), ((5, -0.0), ["5", "0"])):
        named = dict(zip(("KnightOutpost_mg", "KnightOutpost_eg"), values, strict=True))
        rows = LinearEvaluation(with_values(one_phase(), named, TERMS)).describe().splitlines()
        row = next(line for line in rows if "KnightOutpost" in line).split()
        assert row[2 : 2 + len(heard)] == heard


def test_numbers_name_each_phase_and_both_together() -> None:
    evaluation = load_evaluation(ONE_PHASE)
    assert evaluation.numbers["KnightOutpost_mg"].part_of == "KnightOutpost"
    split = evaluation.with_numbers({"KnightOutpost_mg": 33})
    assert as_mapping(split.weights)["KnightOutpost_mg"] == 33
    assert split.numbers["KnightOutpost_eg"].value == evaluation.numbers["KnightOutpost"].value
    assert "KnightOutpost" not in split.numbers
    assert split.with_numbers({"KnightOutpost": 5}).numbers["KnightOutpost"].value == 5
    with pytest.raises(EvaluationError, match="KnightOutpost = 999 is outside"):
        split.with_numbers({"KnightOutpost": 999})
    assert split.with_numbers({"VAL_P": 99}).numbers["VAL_P_eg"].value == 99
    again = from_identity(split.identity)
    assert isinstance(again, LinearEvaluation) and np.array_equal(again.weights, split.weights)


def test_two_phases_that_are_the_same_are_one() -> None:
    assert np.array_equal(simplest(in_two_phases(one_phase(), N), N), one_phase())
    assert LinearEvaluation(in_two_phases(one_phase(), N)).identity == LinearEvaluation(one_phase()).identity
    assert column_names(TERMS, 2)[OUTPOST + N] == "KnightOutpost_eg"
