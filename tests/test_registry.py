"""The registry of terms and the weights files made for it."""

import numpy as np
import pytest

from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import DEFAULT_FILE, SET_WORD, SHIPPED, load, parse, set_in
from tests import naive

# As the article on GreKo 2015 ML lists them.
ROWS = (
    "VAL_P VAL_N VAL_B VAL_R VAL_Q",
    "PawnDoubled PawnIsolated PawnBackwards PawnCenter",
    "PawnPassedFreeMax PawnPassedBlockedMax PawnPassedKingDist PawnPassedSquare",
    "KnightCenter KnightOutpost KnightMobility",
    "BishopPairMidgame BishopPairEndgame BishopCenter BishopMobility",
    "Rook7th RookOpen RookMobility",
    "QueenKingTropism KingCenterMid KingCenterEnd KingPawnShield",
)
NAMES = " ".join(ROWS).split()
BEFORE = "100 400 400 600 1200 -10 -10 -10 10 120 100 5 50 10 10 20 20 100 10 60 20 10 40 40 -40 40 120"
AFTER = "100 400 400 600 1200 -10 -19 -5 9 128 101 9 200 27 7 19 20 95 9 72 24 17 40 99 -41 33 120"


def test_the_first_27_terms_have_the_names_and_the_order_of_the_article():
    names = [term.name for term in TERMS]
    assert names[: len(NAMES)] == NAMES and len(set(NAMES)) == 27
    assert list(naive.TERMS) == names and len(set(names)) == len(names)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_has_a_sentence_bounds_and_the_group_and_phase_of_its_naive_version(term):
    assert term.sentence.endswith(".") and term.sentence[0].isupper() and 5 <= len(term.sentence) <= 130
    low, high = term.bounds
    assert low <= 0 <= high and low < high
    assert term.group.multiplier == naive.TERMS[term.name].multiplier
    assert term.phase.name.lower() == naive.TERMS[term.name].phase


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.txt")), ids=lambda path: path.name)
def test_a_shipped_weights_file_names_all_terms_or_those_of_the_article(path):
    text = path.read_text(encoding="utf-8")
    terms = set_in(text, path.name)
    lines = [line.split() for line in text.splitlines() if not line.startswith(("#", SET_WORD))]
    names = [line[0] for line in lines]
    assert names == [term.name for term in terms] or terms is TERMS and path != DEFAULT_FILE and names == NAMES
    assert len(load(path, terms)) == len(terms) * max(len(line) - 1 for line in lines)


@pytest.mark.parametrize(
    ("name", "values"), [("greko2015-before-training.txt", BEFORE), ("greko2015-after-training.txt", AFTER)]
)
def test_the_articles_weights_are_shipped(name, values):
    expected = "\n".join(f"{term} {value}" for term, value in zip(NAMES, values.split(), strict=True))
    assert np.array_equal(load(SHIPPED / name), parse(expected, "the article"))
