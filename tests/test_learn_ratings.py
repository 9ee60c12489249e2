"""The players' strength in the model of a result: ratings are read from the games, and take what is theirs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.core.common.command import UsageError
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import defaults
from merino.formats.pgn_games import read_games
from merino.learn.gain import Learned, learn
from merino.learn.inputs import ReadOptions, read_rows, split
from merino.learn.loss_and_gradient import gather
from merino.learn.minimisers import FitCallback
from merino.learn.positions import Selection
from merino.learn.report import Seconds, summarise
from merino.learn.request import Events
from merino.learn.rows import FEATURE_SCALE, Rows
from merino.learn.scale import rated_games
from merino.learn.settings import Settings
from merino.learn.strengths import Players, fit_strengths, players_of, strengths_in
from merino.learn.tables import render
from tests.rows import made_up_rows
from tests.shipped import one_phase

K, PER_POINT = 200.0, 0.002
TERM = 12  # a term that means nothing here
METHODS = ("gauss-newton", "adam")
MOVES = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. d3 b5 6. Bb3 Be7 7. Nc3 d6 8. h3 h6"


def truth() -> np.ndarray:
    weights = one_phase()
    weights[TERM] = 0.0
    return weights


@cache
def better_players_have_more_of_it() -> Rows:
    """Games whose stronger player has more of a term that wins nothing."""
    rows, rng = made_up_rows(truth(), K, 40_000, seed=5), np.random.default_rng(6)
    gaps = rng.normal(0, 200, len(rows.results)).astype(np.float32)
    features = rows.features.copy()
    features[:, TERM] = np.rint(FEATURE_SCALE * (gaps / 200 + rng.normal(0, 0.3, len(gaps))))[rows.game]
    scores = np.bincount(rows.game, features @ truth() / FEATURE_SCALE) / rows.rows_of_games()
    expected = 1 / (1 + np.exp(-scores / K - PER_POINT * gaps))
    return replace(rows, features=features, results=(rng.random(len(gaps)) < expected).astype(np.float32), gaps=gaps)


def learned(rows: Rows, **settings: object) -> Learned:
    wanted = Settings(first=6, decay=None, prior=0.0, **settings)  # type: ignore[arg-type]
    return learn(split(rows, wanted), truth(), wanted, FitCallback())


def games_file(folder: Path, ratings: list[tuple[str, str]]) -> Path:
    """A file with a game for each pair of ratings."""
    path, results = folder / "games.pgn", ("1-0", "0-1", "1/2-1/2")
    path.write_text(
        "".join(
            f'[WhiteElo "{white}"]\n[BlackElo "{black}"]\n[Result "{results[n % 3]}"]\n\n{MOVES} {results[n % 3]}\n\n'
            for n, (white, black) in enumerate(ratings)
        )
    )
    return path


@pytest.mark.parametrize("method", METHODS)
def test_what_stronger_players_win_is_not_put_down_to_the_position(method: str) -> None:
    blind, knowing = (learned(better_players_have_more_of_it(), ratings=each, method=method) for each in (False, True))
    assert blind.end.weights[TERM] > 50
    assert abs(knowing.end.weights[TERM]) < 25
    assert knowing.end.per_point == pytest.approx(PER_POINT, rel=0.3)  # the noise of the positions takes some of it
    assert blind.end.per_point == 0
    assert knowing.after.train < blind.after.train


def test_what_a_point_of_rating_counts_predicts_results_best() -> None:
    rows = better_players_have_more_of_it()
    start, sample = learned(rows, ratings=True).start, split(rows, Settings(decay=None))
    best = gather(sample, start).train
    for factor in (0.9, 1.1):
        assert gather(sample, replace(start, per_point=factor * start.per_point)).train > best
        assert gather(sample, replace(start, inverse_k=factor * start.inverse_k)).train > best


def test_games_without_ratings_teach_what_they_always_did_and_the_report_says_so() -> None:
    rows = replace(better_players_have_more_of_it(), gaps=np.zeros(0, dtype=np.float32))
    blind, asked = (learned(rows, ratings=each) for each in (False, True))
    assert np.array_equal(blind.end.weights, asked.end.weights)
    assert blind.end.inverse_k == asked.end.inverse_k
    wanted = Settings(ratings=True)
    said = render(summarise(split(rows, wanted), asked, wanted, 8000, Seconds(0.0, 0.0), TERMS))
    assert any("no game tells who played, or how strong they are" in line for line in said)


def test_the_report_tells_how_many_games_have_ratings_and_what_they_count() -> None:
    rows = better_players_have_more_of_it()
    rows = replace(rows, gaps=np.where(np.arange(len(rows.gaps)) < 6000, rows.gaps, np.float32(np.nan)))
    wanted, found = Settings(ratings=True, decay=None), learned(rows, ratings=True)
    summary = summarise(split(rows, wanted), found, wanted, 8000, Seconds(0.0, 0.0), TERMS)
    assert summary.rated_games == 6000
    assert summary.hundred_points == pytest.approx(100 * found.start.per_point * found.start.k) != 0
    assert any("known in 6000 of 8000 games" in line for line in render(summary))
    assert summarise(split(rows, wanted), found, Settings(), 8000, Seconds(0.0, 0.0), TERMS).rated_games is None


def test_a_gap_of_ratings_needs_both_numbers() -> None:
    text = "".join(
        f'[WhiteElo "{white}"]\n[BlackElo "{black}"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n\n'
        for white, black in (("2500", "2430"), ("2500", "?"), ("-", "2400"), ("0", "2400"), ("2400", "2650"))
    )
    games = read_games((text + '[Result "1-0"]\n\n1. d4 d5 1-0\n').encode())
    np.testing.assert_array_equal(players_of(games.data, games.table).gaps, [70, np.nan, np.nan, np.nan, -250, np.nan])


def test_ratings_are_found_though_positions_are_kept_beside_the_games(tmp_path: Path) -> None:
    path = games_file(tmp_path, [("2500", "2400"), ("2000", "?"), ("2300", "2350")] * 20)
    plain = ReadOptions(Selection(), defaults(), keep_fen=True)
    read_rows([path], plain, Events())
    assert path.with_suffix(".fen").exists()
    rows = read_rows([path], replace(plain, ratings=True), Events()).rows
    np.testing.assert_array_equal(rows.gaps[:3], [100, np.nan, -50])
    assert rated_games(split(rows, Settings())) == 40


def test_labelled_positions_beside_games_have_no_ratings(tmp_path: Path) -> None:
    path = games_file(tmp_path, [("2500", "2400")] * 6)
    read_rows([path], ReadOptions(Selection(), defaults(), keep_fen=True), Events())
    labelled = path.with_suffix(".fen").rename(tmp_path / "labelled.fen")
    rows = read_rows([labelled, path], ReadOptions(Selection(), defaults(), ratings=True), Events()).rows
    np.testing.assert_array_equal(rows.gaps, [np.nan] * 6 + [100] * 6)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "here scores teach; add --teacher off"),
        (["--target", "search"], "here scores teach"),
        (["--preset", "greko2015"], "--method descent"),
        (["--teacher", "off", "--method", "descent"], "--method descent"),
        (["--play-on", "100"], "leave out --ratings"),
    ],
)
def test_ratings_are_refused_where_they_cannot_count(words: list[str], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_arguments(["a.pgn", "--ratings", *words])


def test_ratings_count_where_results_teach() -> None:
    for words in (["--teacher", "off"], ["--target", "blend=0.5"]):
        assert read_arguments(["a.pgn", "--ratings", *words]).request.settings.ratings
    assert not read_arguments(["a.pgn", "--teacher", "off"]).request.settings.ratings


def a_file_of(folder: Path, games: list[tuple[str, str, str]], tags: str = "") -> Path:
    """A file with a game for each of White, Black and the result."""
    path = folder / "named.pgn"
    path.write_text(
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n{tags}[Result "{result}"]\n\n{MOVES} {result}\n\n'
            for white, black, result in games
        )
    )
    return path


def a_tournament(strengths: np.ndarray, games: int, seed: int = 3) -> tuple[Players, np.ndarray]:
    """Who met whom, none with a rating, and the results, of players so strong and an advantage of 35 Elo."""
    rng, count = np.random.default_rng(seed), len(strengths)
    who = np.stack([rng.integers(0, count, games), rng.integers(0, count, games)], axis=1)
    who = who[who[:, 0] != who[:, 1]]
    expected = 1 / (1 + 10 ** (-(strengths[who[:, 0]] - strengths[who[:, 1]] + 35) / 400))
    results = (rng.random(len(who)) < expected).astype(np.float64)
    return Players((who + 1).astype(np.uint64), np.full(who.shape, np.nan, dtype=np.float32)), results


def test_strengths_are_found_in_results_with_the_advantage_of_the_first_move() -> None:
    true = np.random.default_rng(1).normal(0, 150, 40)
    players, results = a_tournament(true, 20_000)
    found = fit_strengths(players, results)
    off = found.elo - found.elo.mean() - (true - true.mean())
    assert np.sqrt(np.mean(off**2)) < 20
    assert found.advantage == pytest.approx(35, abs=8)
    assert np.array_equal(found.keys, np.arange(1, 41))


def test_few_games_say_little() -> None:
    one = Players(np.array([[1, 2]] * 3, dtype=np.uint64), np.full((3, 2), np.nan, dtype=np.float32))
    three = fit_strengths(one, np.array([1.0, 1.0, 1.0])).elo
    assert 50 < three[0] - three[1] < 300


def test_ratings_in_other_games_are_where_a_strength_begins() -> None:
    keys = np.array([[1, 2], [1, 3], [2, 4]], dtype=np.uint64)
    ratings = np.array([[2600, 2300], [2600, np.nan], [2300, np.nan]], dtype=np.float32)
    found = fit_strengths(Players(keys, ratings), np.array([0.5, 0.5, 0.5]))
    assert found.elo[0] > found.elo[1] + 150
    assert found.elo[1] < found.elo[2] < found.elo[0]  # who drew with the stronger one may be stronger
    gaps = found.gaps(keys, np.array([0.5, 0.5, 0.5]))
    assert gaps[0] == pytest.approx(300, abs=20) and np.isnan(gaps[1:]).all()  # 3 and 4 have no other game


def test_a_result_does_not_foretell_itself() -> None:
    players, results = a_tournament(np.random.default_rng(2).normal(0, 150, 30), 300)
    found = fit_strengths(players, results)
    gaps = found.gaps(players.keys, results)
    for game in range(0, 300, 29):
        others = np.arange(len(results)) != game
        alone = fit_strengths(Players(*(each[others] for each in players)), results[others])
        white, black = np.searchsorted(alone.keys, players.keys[game])
        assert gaps[game] == pytest.approx(alone.elo[white] - alone.elo[black], abs=8)


def test_games_that_give_no_ratings_tell_strengths_by_their_results(tmp_path: Path) -> None:
    games = [("Ann", "Bob", "1-0"), ("Bob", "Ann", "0-1"), ("Ann", "Cleo", "1/2-1/2"), ("Dan", "Ann", "1-0")] * 5
    path = a_file_of(tmp_path, [*games, ("Ann", "?", "1-0"), ("Eve", "Ann", "0-1"), ("Ann", "Bob", "*")])
    said: list[str] = []
    strengths, is_any_known = strengths_in([path], said.append, lambda *_: None)
    assert is_any_known
    assert said == ["Strength of 5 players fitted to their results: 21 games lack ratings"]
    options = ReadOptions(Selection(), defaults(), ratings=True, strengths=strengths)
    gaps = read_rows([path], options, Events()).rows.gaps
    assert gaps[0] > 20 and gaps[1] < -20 and gaps[3] > 20
    assert np.isnan(gaps[-3:]).all()  # nobody, one without another game, and no result
    assert len(read_rows([path], replace(options, strengths=None), Events()).rows.gaps) == len(gaps)


def test_where_all_games_give_ratings_nothing_is_fitted(tmp_path: Path) -> None:
    path = a_file_of(tmp_path, [("Ann", "Bob", "1-0")] * 3, '[WhiteElo "2000"]\n[BlackElo "1900"]\n')
    assert strengths_in([path], pytest.fail, lambda *_: None) == (None, True)
    assert strengths_in([a_file_of(tmp_path, [("", "?", "1-0")] * 3)], pytest.fail, lambda *_: None) == (None, False)
