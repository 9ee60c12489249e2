"""The set `full`: each of its terms against its python-chess spelling, and the set as an evaluation."""

import math
import pickle
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import parse_fen
from merino.eval import families, material
from merino.eval.evaluation import EvaluationError
from merino.eval.linear import compiled, family, phases, registry, sets
from merino.eval.linear.registry import TERMS as DEFAULT_TERMS
from merino.eval.linear.weights import WeightsError, as_mapping, load, render, rewrite, set_in
from tests import naive_full
from tests.boards import playouts, records, sparse

FULL = sets.set_named("full")
TO_READ = {each.name: (each, at) for each, at in FULL.to_read()}
NAMES = [term.name for term in FULL]
COLUMNS = {name: index for index, name in enumerate(NAMES)}
STAGE = material.FULL_BOARD
OFTEN_ENOUGH = 4  # of the sides must have some of a term, so that the comparison says something
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 b - - 0 9"


@cache
def boards() -> list[chess.Board]:
    return [*playouts(701, 300), *playouts(702, 30, chess960=True), *sparse(703, 200)]


@pytest.fixture(scope="module")
def positions() -> np.ndarray:
    return records(boards())


@pytest.fixture(scope="module")
def counts(positions: np.ndarray) -> np.ndarray:
    return compiled.counts_of(positions, FULL)


def with_other_pieces(board: chess.Board, draw: random.Random) -> chess.Board:
    """A legal board with the same pawns and kings, and other pieces at random."""
    while True:
        found = chess.Board(None)
        found.turn = draw.choice(chess.COLORS)
        free = list(chess.SQUARES)
        draw.shuffle(free)
        for square in chess.SquareSet(board.pawns | board.kings):
            free.remove(square)
            found.set_piece_at(square, board.piece_at(square))
        for symbol in draw.sample("NNBBRRQnnbbrrq", draw.randint(0, 10)):
            found.set_piece_at(free.pop(), chess.Piece.from_symbol(symbol))
        if found.is_valid():
            return found


def weights() -> np.ndarray:
    """Weights of two phases within their bounds, all different."""
    draw = np.random.default_rng(7)
    low, high = np.transpose([term.bounds for term in FULL])
    return np.concatenate([np.rint(low + draw.random(len(FULL)) * (high - low)) for _ in range(2)])


def count(name: str, fen: str, colour: int = WHITE) -> float:
    """One side's count of a term before the group multiplier."""
    found = compiled.counts_of(parse_fen(fen), FULL)[0, colour, COLUMNS[name]]
    return float(found) / FULL[COLUMNS[name]].group.multiplier


def expected_counts(name: str) -> np.ndarray:
    """What the naive version finds on each board for both sides, float64[boards, 2, cells]; one cell for a term."""
    naive, sides = naive_full.TERMS[name], (chess.WHITE, chess.BLACK)
    if isinstance(naive, naive_full.Table):
        cells = TO_READ[name][0].cells
        found = [[Counter(naive.cells(board, side)) for side in sides] for board in boards()]
        assert {cell for pair in found for each in pair for cell in each} <= set(cells)
        return naive.multiplier * np.array([[[each[cell] for cell in cells] for each in pair] for pair in found])
    return naive.multiplier * np.array([[[naive.count(board, side)] for side in sides] for board in boards()])


def test_the_set_has_the_terms_of_its_naive_version_in_their_order() -> None:
    assert list(naive_full.TERMS) == list(TO_READ) and len(set(NAMES)) == len(NAMES)
    assert 60 <= len(TO_READ) <= 90
    assert [name for name, (_, at) in TO_READ.items() for _ in FULL[at]] == [
        term.table.name if term.table else term.name for term in FULL
    ]


@pytest.mark.parametrize("name", TO_READ)
def test_a_term_says_in_a_sentence_what_it_counts(name: str) -> None:
    each, at = TO_READ[name]
    assert each.sentence.endswith(".") and each.sentence[0].isupper() and 5 <= len(each.sentence) <= 130
    assert each.group.multiplier == naive_full.TERMS[name].multiplier
    assert all(term.bounds[0] <= 0 < term.bounds[1] and term.phase == 0 for term in FULL[at])


@pytest.mark.parametrize("name", TO_READ)
def test_a_term_agrees_with_python_chess(name: str, counts: np.ndarray) -> None:
    found, expected = counts[:, :, TO_READ[name][1]], expected_counts(name)
    wrong = np.flatnonzero(~np.isclose(found, expected, rtol=0, atol=1e-9).all(axis=(1, 2)))
    assert not len(wrong), f"{boards()[wrong[0]].fen()}: {found[wrong[0]]} instead of {expected[wrong[0]]}"
    assert np.count_nonzero(expected) >= OFTEN_ENOUGH and len(np.unique(expected.round(9))) > 1


def test_the_cells_of_a_table_together_count_what_it_says(counts: np.ndarray) -> None:
    compared = 0
    for each, at in TO_READ.values():
        if isinstance(each, registry.TermTable) and each.counts is not None:
            whole = counts[:, :, at].sum(axis=2) / each.group.multiplier
            if not each.counts:
                np.testing.assert_allclose(whole[:, 0], whole[:, 1], rtol=0, atol=1e-9)
                continue
            other, of_other = TO_READ[each.counts]
            expected = counts[:, :, of_other].sum(axis=2) / other.group.multiplier
            np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-9)
            compared += 1
    assert compared > 10


COUNTS = [
    ("BishopPair", "4k3/8/8/8/8/8/8/B1B1KB2 w - -", 1),
    ("BishopPair", "4k3/8/8/8/8/8/8/B1B1K3 w - -", 0),  # both on dark squares
    ("PawnBackward", "4k3/8/8/2p5/2P5/8/1P6/4K3 w - -", 0),  # nothing hinders b2
    ("PawnBackward", "4k3/8/8/2p5/P7/1P6/8/4K3 w - -", 1),
    ("PassedPath", "4k3/8/8/P7/8/8/8/4K3 w - -", (4 / 7) ** 2),
    ("PassedPath", "1n2k3/8/8/P7/8/8/8/4K3 w - -", 0),  # the knight attacks a6
    ("KnightOutpost", "4k3/8/8/3N4/2P5/8/8/4K3 w - -", 1),
    ("KnightOutpost", "4k3/4p3/8/3N4/2P5/8/8/4K3 w - -", 0),  # e7-e6 drives it away
    # Queen 5 and bishop 2, three squares next to him, two of them weak, and three checks of 3 units each.
    ("KingAttack_21", "6k1/6pp/8/7Q/8/3B4/8/4K3 w - -", 1),
    ("KingAttack_9", "6k1/8/8/8/3Q4/8/8/4K3 w - -", 0),  # one is no attack
    ("SafeRookCheck", "4k3/8/8/8/8/8/8/R5K1 w - -", 2),  # a8, and e1
    ("KnightSquare_b4", "4k3/8/8/8/1N4N1/8/8/4K3 w - -", 2),  # g4 is as b4
    ("KingShelter_a_rank3", "4k3/8/8/8/8/7P/5PP1/6K1 w - -", 1),
    ("KingStorm_blocked_rank4", "4k3/8/8/8/7p/7P/5PP1/6K1 w - -", 1),
    ("KnightThreat_rook_by_pawn", "4k3/3p4/2r5/8/3N4/8/8/4K3 w - -", 1),
    ("PassedOwnKing_rank6_steps5", "4k3/8/P7/8/8/8/8/1K6 w - -", 1),  # six
]


@pytest.mark.parametrize(("name", "fen", "expected"), COUNTS)
def test_a_term_counts_what_its_sentence_says(name: str, fen: str, expected: float) -> None:
    assert count(name, fen) == pytest.approx(expected)
    assert count(name, chess.Board(fen).mirror().fen(), BLACK) == pytest.approx(expected)


def test_a_sum_of_whole_weights_is_exact(positions: np.ndarray) -> None:
    parts = np.array([term.group.multiplier / term.parts for term in FULL])
    counts = np.rint(compiled.features_of(positions, FULL) / parts).astype(int).tolist()
    units = [Fraction(str(term.group.multiplier)) / term.parts for term in FULL]
    scores, stages = compiled.scores_of(positions, weights(), FULL), compiled.stages_of(positions).tolist()
    for i, numbers in enumerate(phases.by_stage(weights(), len(FULL))[stages] * STAGE):
        exact = sum(map(math.prod, zip(map(Fraction, numbers), units, counts[i], strict=True))) / STAGE
        ruled = Fraction(material.after_rules(positions[i : i + 1], float(exact)))
        rounded = round(exact if float(exact) == ruled else ruled)
        assert scores[i] == (rounded if positions[i]["side"] == WHITE else -rounded), boards()[i].fen()


def test_the_search_sees_the_sum_that_is_explained() -> None:
    evaluation = family.LinearEvaluation(weights(), terms=FULL)
    for board in boards()[::20]:
        record = parse_fen(board.fen())
        explanation = evaluation.explain(record)
        assert [line.name for line in explanation.lines] == list(TO_READ)
        to_move = int(evaluation.scores(record)[0])
        assert explanation.score_white == (to_move if explanation.turn == WHITE else -to_move)
        assert abs(explanation.rounding) <= 0.5 + 1e-9
        values = evaluation.value_pieces(record)
        assert values.attributed(WHITE) - values.attributed(BLACK) + values.shared_cp == pytest.approx(explanation.sum)


def test_a_file_says_which_set_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    evaluation = family.LinearEvaluation(weights(), 150.0, terms=FULL)
    evaluation.save(path, ["by hand"])
    assert "set full\n" in path.read_text()
    found = families.load_evaluation(path)
    assert found.terms is FULL and found.k == 150.0 and np.array_equal(found.weights, evaluation.weights)
    with pytest.raises(WeightsError, match="it is for the set 'full', and 'greko2015' is wanted"):
        load(path)
    other = rewrite(path.read_text(), found.weights + 0.0, [], FULL)
    assert set_in(other, "a file") is FULL and other == path.read_text()


FAULTY_WORDS = [
    ("set ful", ":1: there is no set of terms named 'ful'; did you mean 'full'"),
    ("set full full", ":1: expected one line 'set NAME', found 'set full full'"),
    ("set", ":1: expected one line 'set NAME', found 'set'"),
    ("set full\nset full", ":2: expected one line 'set NAME'"),
    ("set full\nVAL_P 100", ":2: no term is called 'VAL_P'"),
]


@pytest.mark.parametrize(("line", "heard"), FAULTY_WORDS)
def test_a_faulty_word_of_a_set_is_refused_with_its_place(tmp_path: Path, line: str, heard: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(f"{line}\nPawnValue 100\n")
    with pytest.raises(EvaluationError) as caught:
        families.load_evaluation(path)
    assert heard in str(caught.value)


def test_groups_and_terms_are_worth_what_the_notebook_measured_without_them() -> None:
    full, notebook = sets.set_named("full"), Path("docs/lab/full.md").read_text(encoding="utf-8").splitlines()
    assert full.worth.keys() - TO_READ.keys() == {term.group for term in full}
    table = families.load_evaluation("full").describe().splitlines()
    for what, (elo, error) in full.worth.items():
        noted, shown = (f"`{what}`", f" {what}") if isinstance(what, str) else (what.title.lower(), f"{what.title} (")
        assert any(line.startswith(f"| {noted} ") and line.endswith(f"**{-elo:+} +- {error}** |") for line in notebook)
        assert any(shown in line and line.endswith(f", worth {elo} +- {error} Elo") for line in table)


def test_an_evaluation_is_made_again_from_its_identity_and_from_a_pickle() -> None:
    evaluation = family.LinearEvaluation(weights(), terms=FULL)
    record = parse_fen(MIDDLEGAME)
    for other in (families.from_identity(evaluation.identity), pickle.loads(pickle.dumps(evaluation))):
        assert other.terms is FULL and other.identity == evaluation.identity
        assert np.array_equal(other.scores(record), evaluation.scores(record))
    assert set(family.LinearEvaluation(np.ones(len(DEFAULT_TERMS))).identity) == {"weights"}


def test_the_numbers_of_a_set_are_those_of_its_terms() -> None:
    evaluation = family.LinearEvaluation(np.ones(len(FULL)), terms=FULL)
    assert set(NAMES) <= set(evaluation.numbers)
    other = evaluation.with_numbers({"Hanging": 40, "KingAttack_9_mg": 70})
    changed = as_mapping(other.weights, FULL)
    assert (changed["Hanging"], changed["KingAttack_9_mg"], changed["KingAttack_9_eg"]) == (40, 70, 1)
    assert "KingAttack" in other.describe() and "VAL_P" not in other.describe()
    assert render(changed, [], FULL).startswith("set full\nPawnValue")


def test_terms_of_pawns_and_kings_alone_count_the_same_whatever_pieces_there_are(counts: np.ndarray) -> None:
    draw = random.Random(12)
    others = compiled.counts_of(records([with_other_pieces(board, draw) for board in boards()]), FULL)
    changing = {term.name for term, column in zip(FULL, (counts != others).any(axis=(0, 1)), strict=True) if column}
    for name, (each, at) in TO_READ.items():
        assert each.pawns_and_kings is changing.isdisjoint(term.name for term in FULL[at]), name
