"""How evaluations rank moves, which predicts strength; the learner chooses by it and shows it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import carry_out, for_machines
from merino.core.board.fen import parse_fen
from merino.eval.families import load_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import defaults
from merino.learn import fitting, reading
from merino.learn.fitting import FitCallback, Fitted, fit_all, prior_spread
from merino.learn.positions import one_of_each_game
from merino.learn.reading import read
from merino.learn.request import Events, Settings, Task
from merino.learn.rescoring import RankFigure, moves_of, rank_figure
from merino.learn.sample import Sample
from tests.rows import SELFPLAY, copied_selfplay
from tests.shipped import one_phase

MATES = {  # in one
    "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1": "a1a8",
    "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 1": "f3f7",
}


def positions_of(*fens: str) -> np.ndarray:
    return np.concatenate([parse_fen(fen) for fen in fens])


def test_the_moves_of_positions_are_all_legal_ones_and_a_mate_is_the_best() -> None:
    moves = moves_of(positions_of(*MATES), LinearEvaluation(defaults()))
    assert moves.positions == len(MATES)
    for number, (fen, mate) in enumerate(MATES.items()):
        board, mine = chess.Board(fen), moves.parent == number
        assert np.count_nonzero(mine) == board.legal_moves.count()
        board.push_uci(mate)
        [best] = moves.after[mine & moves.best]
        assert np.array_equal(best["board"], positions_of(board.fen())[0]["board"])


def test_an_evaluation_ranks_the_moves_first_that_it_finds_best_itself() -> None:
    own = LinearEvaluation(defaults())
    found = rank_figure(moves_of(positions_of(*MATES), own), own)
    assert (found.reciprocal_rank, found.first) == (1.0, 1.0)


def test_weights_that_know_no_pieces_rank_moves_worse() -> None:
    poor = one_phase()
    poor[:5] = 100.0
    moves = moves_of(one_of_each_game([SELFPLAY], 1000)[:100], load_net("gen12"))
    worse, better = (rank_figure(moves, LinearEvaluation(weights)) for weights in (poor, defaults()))
    assert worse.reciprocal_rank < better.reciprocal_rank - 0.05 and worse.first < better.first


def test_a_position_of_each_game_is_drawn_and_no_more_files_are_read_than_needed(tmp_path: Path) -> None:
    once = one_of_each_game([SELFPLAY], 1000)
    assert 600 < len(once) <= 710
    assert np.array_equal(once, one_of_each_game([copied_selfplay(tmp_path)], 1000))
    assert len(one_of_each_game([SELFPLAY, SELFPLAY], 100)) < 2 * len(once)


@pytest.mark.parametrize(("wanted", "is_ranked"), [(20, True), (1000, False), (0, False)])
def test_the_learner_ranks_moves_where_there_are_games_enough(wanted: int, is_ranked: bool) -> None:
    request = read_arguments([str(SELFPLAY)]).request
    task = Task.of(replace(request, choice=replace(request.choice, ranked=wanted)), TERMS, defaults())
    assert (reading._moves_to_rank(task, [SELFPLAY]) is not None) == is_ranked


@pytest.mark.parametrize(("words", "by_ranks"), [(["--teacher", "off"], True), ([], False)])
def test_the_prior_is_chosen_by_ranks(words: list[str], by_ranks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    request = read_arguments([str(SELFPLAY), "--per-game", "1", "--no-cache", *words]).request
    task = Task.of(replace(request, choice=replace(request.choice, ranked=0)), TERMS, defaults())
    data = read(task, Events())
    pulls = iter([0.1, 0.2, 0.3])  # each ranks better than the one before
    monkeypatch.setattr(fitting, "rank_figure", lambda *_: RankFigure(next(pulls), 0.0))
    found = fit_all(replace(data, moves=moves_of(positions_of(*MATES), task.evaluation)), FitCallback())
    assert (next(pulls, None) is None) == by_ranks
    weakest = request.choice.pulls[-1] * prior_spread(data.sample)
    assert not by_ranks or found.settings.prior == weakest


def test_ctrl_c_in_the_fit_with_another_pull_ends_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    request = read_arguments([str(SELFPLAY), "--per-game", "1", "--teacher", "off", "--no-cache"]).request
    task = Task.of(replace(request, choice=replace(request.choice, ranked=0)), TERMS, defaults())
    data = read(task, Events())
    begun, fit = list[float | None](), fitting.fit

    def stopped(sample: Sample, start: np.ndarray, settings: Settings, *others: Any) -> Fitted:
        begun.append(settings.prior)
        return replace(
            fit(sample, start, replace(settings, prior=1e-3), *others), interrupted=settings.prior is not None
        )

    monkeypatch.setattr(fitting, "fit", stopped)  # with such a pull nothing moves: the first fit stays the best
    found = fit_all(data, FitCallback())
    assert len(begun) == 2 and found.settings.prior is None and found.fitted.interrupted


def test_the_report_says_how_old_and_new_weights_rank_moves(tmp_path: Path) -> None:
    heard = list[str]()
    args = read_arguments([str(copied_selfplay(tmp_path)), "--out", f"{tmp_path}/w.txt", "--json", "--teacher", "off"])
    args = replace(args, request=replace(args.request, choice=replace(args.request.choice, ranked=20)))
    found = json.loads(for_machines(carry_out(args, heard.append)))["ranks"]
    assert found["positions"] == 20 and 0 < found["old"]["reciprocal_rank"] < 1 and 0 < found["new"]["first"] < 1
    assert f"{found['new']['reciprocal_rank']:.3f} (old {found['old']['reciprocal_rank']:.3f})" in " ".join(heard)
