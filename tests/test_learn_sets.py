"""Learning the weights of another set of terms than the default: the file to start from says which."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.shell.cli import main
from merino.core.common.command import UsageError
from merino.eval.linear.compiled import white_scores_of
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import defaults, load, load_any, save
from merino.formats.pgn_games import read_games
from merino.learn.errors import LearnError
from merino.learn.fitting import _centring_of
from merino.learn.improve.learner import Plan
from merino.learn.loss_and_gradient import carrier_counts
from merino.learn.positions import Quiet, block_of_games, select_quiet
from merino.learn.request import DEFAULT_SELECTION, Settings
from merino.learn.rescoring import Rescore, described_scorer
from merino.learn.rows import FEATURE_SCALE, check_rows, rows_of_block
from tests.rows import SELFPLAY, few_games, split

FULL = set_named("full")


def material() -> np.ndarray:
    """Weights that know the pieces alone, float64[terms]."""
    weights = np.zeros(len(FULL))
    weights[:5] = 100, 300, 300, 500, 900
    return weights


@pytest.fixture
def start(tmp_path: Path) -> Path:
    path = tmp_path / "w" / "start.txt"
    path.parent.mkdir()
    save(path, material(), ["the pieces alone"], FULL)
    return path


def test_scores_and_positions_belong_to_the_version_of_own_terms() -> None:
    weights = defaults()
    mine, changed = TermSet("mine", terms=TERMS), TermSet("mine", terms=TERMS)
    mine.version, changed.version = "0123", "4567"
    scorers = [described_scorer(LinearEvaluation(weights, terms=terms)) for terms in (TERMS, mine, changed)]
    choices = [DEFAULT_SELECTION.describe(weights, terms) for terms in (TERMS, mine, changed)]
    assert len(set(scorers)) == len(set(choices)) == 3
    plain = hashlib.blake2b(LinearEvaluation(weights).weights.tobytes(), digest_size=8).hexdigest()
    assert scorers[0] == f"weights {plain}" and choices[0] == DEFAULT_SELECTION.describe(weights)


@pytest.fixture(scope="module")
def games() -> bytes:
    """A part of the games that come with Merino."""
    return b"[Event".join(SELFPLAY.read_bytes().split(b"[Event")[:121])


def test_the_weights_of_a_set_are_learned_from_games(start: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["learn", str(few_games(start.parent)), "1", str(len(FULL)), "--phases", "2", "--weights", str(start)]
    assert main([*words, "--no-cache", "--no-match", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["weights"]) == 2 * len(FULL) and summary["valid_after"] < summary["valid_before"]
    terms, learned = load_any(start)
    assert terms is FULL and "set full\n" in start.read_text()
    assert learned.tolist() == [line["new"] for line in summary["weights"]]
    assert load(start.with_suffix(".old"), FULL).tolist() == material().tolist()


def test_rows_of_a_set_times_its_weights_are_its_scores(games: bytes) -> None:
    block = block_of_games(read_games(games))
    rows = rows_of_block(block, FULL)
    weights = np.concatenate([material(), 1.1 * material()])
    assert rows.features.shape == (len(block), len(FULL))
    check_rows(block, rows, weights, FULL)
    rows.features[:, 1] += np.int16(2 * FEATURE_SCALE)
    with pytest.raises(LearnError, match="internal error"):
        check_rows(block, rows, weights, FULL)


def test_what_the_cells_of_a_table_share_goes_to_the_term_that_counts_the_same(games: bytes) -> None:
    block = block_of_games(read_games(games))
    sample, size = split(rows_of_block(block, FULL), Settings()), 2 * len(FULL)
    weights = np.random.default_rng(5).uniform(-100, 100, size)
    centring = _centring_of(sample, FULL, 2, np.arange(size))
    assert centring is not None
    centred, often = centring @ weights, carrier_counts(sample, 2)[:, 0]
    before, after = (white_scores_of(block.positions, each, FULL) for each in (weights, centred))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    places = {each.name: at for each, at in FULL.to_read()}
    for name in ("KnightSquare", "RookMobility", "KingSquare", "PassedOwnKing"):
        for phase in range(2):
            cells = np.arange(places[name].start, places[name].stop) + phase * len(FULL)
            assert abs(often[cells] @ centred[cells]) < 1e-6 < abs(often[cells] @ weights[cells])
    knight = places["KnightValue"].start
    held = _centring_of(sample, FULL, 2, np.delete(np.arange(size), knight))
    assert held is not None
    kept = held @ weights
    assert kept[knight] == weights[knight] and kept[knight + len(FULL)] != weights[knight + len(FULL)]
    assert np.array_equal(kept[places["KnightSquare"]], weights[places["KnightSquare"]])
    assert _centring_of(sample, TERMS, 2, np.arange(size)) is None


def test_positions_are_chosen_and_scored_by_the_set_of_the_weights(games: bytes) -> None:
    few = block_of_games(read_games(games)).positions[:40].copy()
    assert 0 < np.count_nonzero(select_quiet(few, material(), Quiet.ONLY, FULL)) <= 40
    other = material()
    other[5:] = 50  # all else counts, too
    searches = [Rescore(50, LinearEvaluation(weights, terms=FULL)) for weights in (material(), other)]
    scores = [search.scores_of(few, np.zeros(1, dtype=np.uint64)) for search in searches]
    assert not np.array_equal(*scores)


def test_terms_are_counted_and_named_in_the_set_of_the_weights(start: Path) -> None:
    chosen = read_arguments(["a.pgn", "--terms", "KingAttack,hanging", "--weights", str(start)])
    cells = tuple(term.name for term in FULL if term.table is not None and term.table.name == "KingAttack")
    assert chosen.request.settings.names == ("Hanging", *cells) and len(cells) > 5
    chosen = read_arguments(["a.pgn", "1", str(len(FULL)), "--weights", str(start)])
    assert chosen.request.settings.last == len(FULL) > len(TERMS)
    with pytest.raises(UsageError, match="there is no term 'VAL_P'"):
        read_arguments(["a.pgn", "--terms", "VAL_P", "--weights", str(start)])
    with pytest.raises(UsageError, match=f"terms are numbered 1 to {len(FULL)}"):
        read_arguments(["a.pgn", "1", str(len(FULL) + 1), "--weights", str(start)])


def test_settings_that_name_no_last_term_go_to_the_end_of_the_set() -> None:
    assert Settings().of_set(FULL).moving == f"6..{len(FULL)}" and Settings().of_set(TERMS).moving == f"6..{len(TERMS)}"


def test_of_many_terms_that_may_move_the_first_are_named() -> None:
    names = tuple(term.name for term in TERMS)
    assert Settings(names=names[:8]).moving == ", ".join(names[:8])
    assert Settings(names=names).moving == ", ".join(names[:8]) + " and 19 more"
    with pytest.raises(LearnError, match="terms are numbered"):
        Settings(last=len(FULL)).of_set(TERMS)
    with pytest.raises(LearnError, match="no term named Hanging"):
        Settings(names=("Hanging",)).of_set(TERMS)


def test_a_plan_of_improve_keeps_the_set() -> None:
    plan = Plan(set="full")
    assert Plan.from_json(plan.as_json()) == plan and plan.terms is FULL
    assert plan.settings(1).last == len(FULL) and Plan.from_json({}).terms is TERMS
    with pytest.raises(ValueError, match="no set of terms named 'other'"):
        Plan.from_json({"set": "other"})
    with pytest.raises(LearnError, match=f"terms are numbered 1..{len(FULL)}"):
        Plan(set="full", last=len(FULL) + 1).check()
