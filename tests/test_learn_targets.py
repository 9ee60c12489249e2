"""What is learned: results, what searches say, or both; scores read from files, and made by searches."""

import hashlib
import json
import signal
import time
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from threading import main_thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from merino.app.console.learning import read_arguments
from merino.app.shell.cli import main
from merino.core.board.bitboard import ZERO
from merino.core.board.fen import parse_fen, to_fen
from merino.core.board.game import Position
from merino.core.common.command import UsageError
from merino.eval.linear import compiled, family, phases, registry, sets
from merino.eval.linear.phases import FULL_BOARD
from merino.eval.linear.weights import defaults, load, load_any, save
from merino.formats import labelled, packed_files, pgn_games, pgn_tokens, sources
from merino.formats.scored_games import scored_games
from merino.learn import fitting, judging, rescoring
from merino.learn import sample as samples
from merino.learn.fitting import Fitted, centring_of, fit_all, prior_spread
from merino.learn.improve.learner import Plan
from merino.learn.positions import (
    FEATURE_SCALE,
    PositionBlock,
    Rows,
    block_of_games,
    refined,
    rows_of_block,
    select_quiet,
    with_random_moves,
)
from merino.learn.procedure import earlier_weights
from merino.learn.reading import ReadOptions, prepared, read, read_rows
from merino.learn.request import METHODS, SILENT, Events, LearnError, LearnRequest, Quiet, Selection, Settings, Target
from merino.learn.rescoring import Rescore, RescoringStoppedError, searched_positions
from tests.boards import playouts, records
from tests.rows import SELFPLAY, few_games, labels_of, made_up_rows

N = len(registry.TERMS)
K = 800.0
GAMES = """[Result "1-0"]

1. e4 {[%eval 0.35]} e5 {[%eval -0.2,12] [%clk 0:01]} 2. Nf3 {+0.31/9 0.2s} (2. f4 {[%eval 9.0]}) Nc6 { -0.40/10 }
3. Bb5 {wv=0.55, d=20} a6 4. Ba4 {[%eval #5]} Nf6 {-M3/12 0.1s} 5. O-O {a word} 1-0

[Result "0-1"]

1. d4 d5 0-1
"""


def test_comments_give_scores_in_the_ways_of_engines_and_servers():
    games = pgn_games.read_games(GAMES.encode(), whole=pgn_tokens.IN_PAWNS)
    # A comment of the mover's search is about the position before his move.
    none = pgn_tokens.NO_SCORE
    assert games.scores.tolist() == [35, 31, 40, none, 55, none, pgn_tokens.MATE - 3, *[none] * 4]
    assert pgn_games.read_games(GAMES.encode()).scores.tolist() == []


@pytest.mark.parametrize("comment", ["1/2-1/2", "1/2 agreed", "12/03/2005", "40/120 control", "0/12"])
def test_a_number_before_a_slash_is_no_score_without_sign_or_point(comment):
    text = f"1. e4 {{a}} e5 {{{comment}}} 2. Nf3 {{0.00/12}} 1/2-1/2\n".encode()
    assert pgn_games.read_games(text, 1, pgn_tokens.IN_PAWNS).scores.tolist() == [
        pgn_tokens.NO_SCORE,
        0,
        pgn_tokens.NO_SCORE,
    ]
    assert scored_games(pgn_games.read_games(text)).scores.tolist() == [pgn_tokens.NO_SCORE, pgn_tokens.NO_SCORE, 0]


@pytest.mark.parametrize(
    ("comment", "score"),
    [
        ("[%eval\n0.35]", 35),
        ("[%eval 0.35,\r\n12]", 35),
        ("[%eval -0.2\n]", -20),
        ("[%eval 35,12]", 3500),
        ("[%evals 0.35]", pgn_tokens.NO_SCORE),
        ("[%eval0.35]", pgn_tokens.NO_SCORE),
        ("[%eval 0.35cp]", pgn_tokens.NO_SCORE),
        ("[%eval 1e1]", pgn_tokens.NO_SCORE),
        ("wv=0.55, d=20", 55),
        ("wv=0,55, d=20", pgn_tokens.NO_SCORE),
    ],
)
def test_a_score_of_the_position_is_read_whole(comment, score):
    games = pgn_games.read_games(f"1. e4 {{{comment}}} e5 *\n".encode(), 1, pgn_tokens.IN_PAWNS)
    assert games.scores.tolist()[0] == score


@pytest.mark.parametrize(
    ("evals", "scores", "said"),
    [
        (
            ("35,12", "-31,12", "8,9", "#3"),
            [35, -31, 8, pgn_tokens.MATE - 3],
            "is in centipawns, as the median of such",
        ),
        (("0,12", "-1,12", "2,9", "1"), [0, -100, 200, 100], ""),  # in pawns, rounded
        (("0.35", "31", "12", "40"), [35, 3100, 1200, 4000], ""),
        (
            ("0,35", "0,07", "-1,20", "0"),
            [pgn_tokens.NO_SCORE] * 4,
            "not understood as a score: line 5: { [%eval 0,35] }",
        ),
    ],
)
def test_the_median_of_scores_without_a_fraction_says_their_unit(tmp_path, evals, scores, said):
    moves = zip(("1. e4", "e5", "2. Nf3", "Nc6"), evals, strict=True)
    game = '[Event "a"]\n[White "B"]\n[Result "1-0"]\n\n' + " ".join(
        f"{move} {{ [%eval {each}] }}" for move, each in moves
    )
    (tmp_path / "g.pgn").write_text(f"{game} 1-0\n")
    left_out = sources.LeftOut()
    (games,) = packed_files.games_with_scores(tmp_path / "g.pgn", left_out=left_out)
    assert games.scores.tolist() == scores
    assert said in "".join(left_out.remarks) and bool(said) == bool(left_out.remarks)


@pytest.mark.parametrize(
    ("comment", "score"),
    [
        ("+0.35/12 3s", -35),
        ("0.35/12 3s", -35),
        ("-3/12", 300),
        ("M5/20 1s", 5 - pgn_tokens.MATE),
        ("#-5/20", pgn_tokens.MATE - 5),
        ("+0.57 17/28 583 363004", -57),
        ("+M3 96/4\n16 35602", 3 - pgn_tokens.MATE),
        ("-0.57\n17/22 520 671767", 57),
        (" 0/1 8 40000", pgn_tokens.NO_SCORE),
        ("+0.57 and 17/28", pgn_tokens.NO_SCORE),
        ("+0.57 17 583", pgn_tokens.NO_SCORE),
        ("+0.57", pgn_tokens.NO_SCORE),
    ],
)
def test_a_score_of_the_mover_has_a_sign_a_point_or_a_mate(comment, score):
    assert (
        pgn_games.read_games(f"1. e4 e5 {{{comment}}} *\n".encode(), 1, pgn_tokens.IN_PAWNS).scores.tolist()[0] == score
    )


def test_labelled_positions_give_scores_for_the_side_to_move_or_for_white():
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR"
    text = (
        f'{fen} b KQkq - c9 "1-0"; ce 35;\n{fen} w KQkq - c9 "1-0"; ce -12;\n{fen} b KQkq - 0 1 | 41 | 1.0\n'
        f"{fen} b KQkq - 0 1 | 0.5\n{fen} b KQkq - 0 1 | -7 | 0.5\n{fen} b KQkq - 0 1 [0.5] 35\n"
        f'{fen} w KQkq - [1.0] -20; id "x";\n{fen} w KQkq - [0.5] 1-0\n{fen} w KQkq - [0.5] 0\n'
        f'{fen} b KQkq - c9 "0-1"; ce mate;\n'
    )
    read = labelled.read_labelled(text.encode())
    none = pgn_tokens.NO_SCORE
    assert read.scores.tolist() == [-35, -12, 41, none, -7, -35, -20, none, 0]
    assert read.results.tolist() == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.5]
    assert [str(fault) for fault in read.faults] == ["line 10: 'mate' is no score in whole centipawns"]


def test_scores_written_are_read_back():
    fens = [f"4k3/8/8/8/8/8/4P3/4K3 {side} - - 0 1" for side in "wbw"]
    positions, scores = positions_of(*fens), np.array([35, 35, pgn_tokens.NO_SCORE], np.int16)
    text = labelled.write_labelled(positions, np.ones(3), np.array([0, 7, 7]), np.array([-1, 4, 3]), scores)
    start = b"4k3/8/8/8/8/8/4P3/4K3 "
    remarks = (b'w - - 0 1 c9 "1-0"; ce 35;', b'b - - 0 1 c9 "1-0"; c8 "4"; c7 "7"; ce -35;')
    assert text.splitlines() == [start + each for each in (*remarks, b'w - - 0 1 c9 "1-0"; c8 "3"; c7 "7";')]
    assert labelled.read_labelled(text).scores.tolist() == scores.tolist()


def test_counters_beyond_all_bounds_are_written_so_that_they_are_read():
    position = parse_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 100000 100000")
    position["halfmove"] += 1
    position["fullmove"] += 1
    assert to_fen(position) == "4k3/8/8/8/8/8/4P3/4K3 w - - 100000 100000"


def test_the_scale_of_scores_is_the_one_that_fits_the_results():
    rng = np.random.default_rng(1)
    scores = rng.integers(-600, 600, 40_000).astype(np.int16)
    results = (rng.random(len(scores)) < 1 / (1 + np.exp(-scores / 170))).astype(np.float32)
    places = scores.astype(np.int64) + samples.ZERO_SCORE
    found = samples.scale_of_counts(
        np.bincount(places, minlength=samples.SCORES), np.bincount(places, results, minlength=samples.SCORES)
    )
    assert found == pytest.approx(170, rel=0.05)


def truth() -> np.ndarray:
    weights = phases.in_two_phases(defaults(), N)
    weights[5:N] = np.clip(1.5 * weights[5:N] - 4, *np.array([term.bounds for term in registry.TERMS])[5:].T)
    return weights


def scored_rows(count: int) -> Rows:
    """Rows of two phases whose scores are those of the true weights, and whose results are drawn by them."""
    rows = made_up_rows(truth(), K, count, seed=11, phases=2)
    scores = (rows.features * phases.by_stage(truth(), N)[rows.stage]).sum(axis=1) / 256
    return replace(rows, scores=np.clip(scores, -30000, 30000).astype(np.int16))


def learned(rows: Rows, **settings: object) -> judging.Learned:
    chosen = replace(Settings(phases=2, decay=None, k=K), **settings)  # type: ignore[arg-type]
    return judging.learn(samples.split(rows, chosen), defaults(), chosen)


def test_a_target_is_the_blend_of_result_and_expected_score():
    rows = scored_rows(500)
    sample = samples.sample_of(rows, np.zeros(len(rows), bool), target=Target(0.25, k=K))
    target = sample.labels[rows.game] + sample.points[rows.scores.astype(int) + 32768]
    assert target == pytest.approx(0.25 * labels_of(rows) + 0.75 / (1 + np.exp(-rows.scores / K)), abs=1e-6)


def test_a_position_without_a_score_has_no_target():
    points = samples.points_by_score(Target(0.25, k=K), K)
    assert np.isnan(points[pgn_tokens.NO_SCORE + samples.ZERO_SCORE])
    assert points[samples.ZERO_SCORE] == pytest.approx(0.75 / 2)


def test_scores_teach_both_phases_from_few_games_what_results_do_not():
    rows = scored_rows(4_000)
    found = [learned(rows, target=Target(share, k=K), prior=0.0) for share in (0.0, 0.5, 1.0)]
    misses = [np.abs(each.end.weights - truth()).mean() for each in found]
    assert misses[0] < 1.5 < misses[2]
    assert misses[0] < misses[1] < misses[2]


def test_every_method_comes_to_the_same_place_in_two_phases():
    rows = scored_rows(4_000)
    ends = [learned(rows, target=Target(0.5, k=K), method=method, last=12).end.weights for method in METHODS]
    assert np.abs(ends[1] - ends[0]).max() <= 3


def test_each_phase_has_its_share_of_the_gradient_of_each_game():
    sample = samples.split(scored_rows(1_000), Settings(phases=2, decay=None, k=K))
    parameters = samples.FitParameters(truth(), 1 / K)
    middlegame = sample.stage[:, None] / FULL_BOARD
    features = np.hstack([sample.features * middlegame, sample.features * (1 - middlegame)]).astype(np.float64)
    predicted = 1 / (1 + np.exp(-samples.scores_of(sample, parameters.weights).astype(np.float64) / K))
    factors = predicted * (1 - predicted) * (predicted - sample.labels[sample.game]) * ~sample.is_validation
    parts = np.stack([(factors * (sample.game == game)) @ features for game in range(len(sample.results))])
    gradient = samples.gather(sample, parameters, samples.Detail.GRADIENT).gradient
    products = samples.products_by_game(sample, parameters, np.eye(2 * N))
    np.testing.assert_allclose(gradient, parts.sum(axis=0), rtol=1e-3, atol=1e-4 * np.abs(gradient).max())
    np.testing.assert_allclose(products, parts.T @ parts, rtol=1e-3, atol=1e-4 * np.abs(products).max())


def test_what_one_phase_hardly_sees_does_not_run_away():
    rows = scored_rows(4_000)
    rows.features[:, 12] = np.where(rows.stage < 3, rows.features[:, 12], 0)
    found = learned(rows, target=Target(0.5, k=K))
    name = f"{registry.TERMS[12].name}_mg"
    lines = judging.summarise(samples.split(rows, Settings()), found, Settings()).weights
    line = next(line for line in lines if line.name == name)
    assert abs(line.new - line.old) < 50
    assert any("rare: 0 games" in flag for flag in line.flags)


def test_all_terms_may_move_and_k_stays_as_the_start_has_it():
    found = learned(scored_rows(4_000), first=1, k=None, target=Target(0.5))
    assert found.end.k == found.start.k
    assert found.end.weights[0] != found.start.weights[0]


def pgn(tmp_path: Path, games: int = 12) -> Path:
    line = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. d3 b5 6. Bb3 Be7 7. Nc3 d6 8. h3 h6"
    path = tmp_path / "games.pgn"
    results = ("1-0", "0-1", "1/2-1/2")
    path.write_text("".join(f'[Result "{results[n % 3]}"]\n\n{line} {results[n % 3]}\n\n' for n in range(games)))
    return path


def search(path: Path, nodes: int = 60) -> tuple[np.ndarray, list[str]]:
    """The scores that searches give positions of the games, and the lines for people."""
    lines = list[str]()
    parts = list(
        searched_positions(
            [path], Rescore(nodes, family.LinearEvaluation(defaults())), Events(lines.append), sources.LeftOut()
        )
    )
    return np.concatenate(parts)["score"], lines


def test_games_without_scores_are_refused_with_the_way_to_make_them(tmp_path):
    said = r"no position in .* the score of a search; 'merino positions FILE --rescore 1000 --out FILE\.epd' makes them"
    with pytest.raises(LearnError, match=said):
        read_rows([pgn(tmp_path)], ReadOptions(Selection(), defaults(), needs_scores=True), Events())


def test_searched_positions_have_one_name_a_game_as_text(tmp_path):
    epd = tmp_path / "p.epd"
    assert main(["positions", str(pgn(tmp_path)), "--rescore", "60", "--out", str(epd), "--quiet"]) == 0
    read = labelled.read_labelled(epd.read_bytes())
    assert set(read.positions["side"]) == {0, 1} and len(set(read.games.tolist())) == 12
    assert len(set(zip(read.games.tolist(), read.results.tolist(), strict=True))) == 12


def test_positions_are_searched_once_and_resumed(tmp_path, monkeypatch):
    path, file = pgn(tmp_path), tmp_path / "games.pgn.train.scores"
    monkeypatch.setattr(rescoring, "BATCH", 16)
    whole, lines = search(path)
    kept = file.read_bytes()
    assert np.abs(whole).max() < 500 and lines[0].startswith("Searching 60 nodes a position")
    file.write_bytes(kept[: len(kept) // 2])
    again, lines = search(path)
    assert lines[0].startswith("Using") and np.array_equal(again, whole)
    other, lines = search(path, nodes=3000)
    assert not lines[0].startswith("Using") and not np.array_equal(other, whole)
    file.write_bytes(kept)
    monkeypatch.setattr(Rescore, "scores_of", lambda *_: pytest.fail("searched again"))
    assert np.array_equal(search(path)[0], whole)
    file.write_text("mine")
    with pytest.raises(LearnError, match="is in the way"):
        search(path)
    assert file.read_text() == "mine"


def test_ctrl_c_ends_the_searches_of_positions_at_once(tmp_path, monkeypatch):
    ended: list[bool] = []
    searches = count()

    def stopped(_: Rescore, positions: np.ndarray, stop: np.ndarray) -> np.ndarray:
        if next(searches) == 0:
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        until = time.monotonic() + 10
        while not stop[0] and time.monotonic() < until:
            time.sleep(0.01)
        ended.append(bool(stop[0]))
        raise RescoringStoppedError

    monkeypatch.setattr(Rescore, "scores_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        search(pgn(tmp_path), 10**6)
    until = time.monotonic() + 10
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
    assert set(ended) == {True}  # of as many searches as were under way


def test_a_search_that_is_stopped_gives_no_scores():
    positions = positions_of(*["4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"] * 3)
    with pytest.raises(RescoringStoppedError):
        Rescore(60, family.LinearEvaluation(defaults())).scores_of(positions, np.ones(1, np.uint64))


def test_a_mate_and_a_position_without_moves_have_scores():
    fens = ["6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "3R2k1/5ppp/8/8/8/8/8/K7 b - - 0 1", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]
    scores = Rescore(500, family.LinearEvaluation(defaults())).scores_of(positions_of(*fens), np.zeros(1, np.uint64))
    assert scores.tolist() == [pgn_tokens.MATE - 1, pgn_tokens.MATE, 0]


@pytest.mark.parametrize(
    ("text", "share"), [("result", 1.0), ("search", 0.0), ("blend=0.5", 0.5), ("blend=0", 0.0), ("blend=1", 1.0)]
)
def test_a_target_is_named_on_the_command_line(text, share):
    assert read_arguments(["a.pgn", "--target", text]).request.settings.target.share == share


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--target", "both"], "is not one of result, search and blend=X"),
        (["--target", "blend=2"], "needs an X from 0 to 1"),
        (["--target", "blend"], "is not one of result, search and blend=X"),
        (["--per-game", "0"], "--per-game"),
        (["--phases", "3"], "--phases"),
        (["--method", "newton"], "no option"),
        (["--decay", "0"], "--decay|--lambda"),
        (["--prior", "-1"], "--prior"),
        (["--prior", "much"], "neither a number from 0.001 on nor 'off'"),
        (["--seed", "1.5"], "--seed"),
        (["--out"], "expected one argument"),
        (["6"], "the first and the last term, or neither"),
        (["9", "6"], "terms are numbered"),
        (["0", "27"], "terms are numbered"),
        (["9" * 5000, "1"], "terms are numbered"),
        (["--terms", "1-" + "9" * 5000], "terms are numbered"),
        (["1", str(N + 1)], "terms are numbered"),
        (["--what"], "there is no option"),
    ],
)
def test_what_makes_no_sense_is_refused(words, fault):
    with pytest.raises(UsageError, match=f"^learn: .*({fault})"):
        read_arguments(["a.pgn", *words])


def test_two_phases_do_not_become_one_by_themselves():
    start = phases.in_two_phases(defaults(), N)
    start[0] += 5
    rows = scored_rows(500)
    with pytest.raises(LearnError, match="two phases"):
        judging.learn(samples.split(rows, Settings()), start, Settings(phases=1))


def block_of(positions: np.ndarray) -> PositionBlock:
    """A block of one game a position, each with a score."""
    number = len(positions)
    columns = (np.arange(number, dtype=np.int32), np.zeros(number, dtype=np.int16), np.full(number, 0.5, np.float32))
    return PositionBlock(positions, *columns, np.full(number, 7, dtype=np.int16))


def test_a_random_move_position_is_a_legal_move_away_and_never_in_check():
    assert len(with_random_moves(block_of(parse_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")))) == 1
    positions = records([board for board in playouts(5, 40) if not board.is_check()])
    found, again = with_random_moves(block_of(positions)), with_random_moves(block_of(positions))
    assert np.array_equal(found.positions, again.positions), "the same each time"
    are_random = found.scores == pgn_tokens.NO_SCORE
    assert len(found) - len(positions) == are_random.sum() > 0.8 * len(positions)
    assert np.array_equal(found.positions[~are_random], positions)
    assert np.all(found.positions["checkers"] == ZERO)
    for found_position, game in zip(found.positions[are_random], found.game[are_random], strict=True):
        position = Position(to_fen(positions[game : game + 1]))
        after = [position.copy() for _ in position.legal_moves]
        for copy, move in zip(after, position.legal_moves, strict=True):
            copy.push(int(move))
        assert to_fen(found_position.reshape(1)) in [copy.fen() for copy in after]


POSITION = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c9 "1-0";'


def test_random_moves_are_learned_from_only_where_files_hold_games_or_them(tmp_path):
    games, positions, cache, heard = tmp_path / "a.pgn", tmp_path / "b.epd", tmp_path / "c.fen", list[str]()
    games.write_text("1. e4 e5 1-0")
    positions.write_text(POSITION)
    cache.write_text(f"# merino-positions 1; source 00; skip-first 0, skip-last 0, strays\n{POSITION}")
    request = LearnRequest(("any",))
    options = ReadOptions(Selection(), defaults())
    with pytest.raises(LearnError, match=r"c\.fen' contains random-move positions, which have no result"):
        read_rows([cache], options, Events())
    assert len(read_rows([cache], replace(options, needs_results=False), Events()).rows) == 1
    for paths, is_random in (([games, cache], True), ([games, positions], True), ([positions], False)):
        assert prepared(request, registry.TERMS, paths, heard.append)[0].has_random_moves == is_random
    assert heard == [f"Random-move positions are made from games only: '{positions}' gives none"] * 2


def positions_of(*fens: str) -> np.ndarray:
    return np.concatenate([parse_fen(fen) for fen in fens])


def test_of_later_games_fewer_positions_are_drawn(monkeypatch):
    games = pgn_games.read_games(SELFPLAY.read_bytes())
    monkeypatch.setattr("merino.learn.positions.EARLY_GAMES", 1000 + len(games) // 2)
    block = refined(block_of_games(games), Selection(per_game=5, later=2), defaults(), games_before=1000)
    of_each = np.bincount(block.game)
    assert (of_each[: len(games) // 2].max(), of_each[len(games) // 2 :].max()) == (5, 2)
    for words, later in (([], 10), (["--per-game", "30"], None)):
        assert read_arguments(["a.pgn", *words]).request.selection.later == later


@pytest.mark.parametrize(("words", "fits"), [(["--teacher", "off"], 1), ([], 3)])
def test_other_pulls_are_tried_where_scores_teach(words, fits):
    data = read(read_arguments([str(SELFPLAY), "--per-game", "1", *words]).request, registry.TERMS, defaults(), SILENT)
    with patch.object(fitting, "fit", wraps=fitting.fit) as fit:
        settings, found = fit_all(data, SILENT)
    assert fit.call_count == fits
    errors = [
        samples.gather(data.sample, fitting.fit(*call.args, **call.kwargs).end).valid for call in fit.call_args_list
    ]
    assert samples.gather(data.sample, found.end).valid == pytest.approx(min(errors))
    assert settings.prior in (None, *(factor * prior_spread(data.sample) for factor in data.request.choice.pulls))


def test_ctrl_c_in_the_fit_with_another_pull_ends_all_fits(monkeypatch):
    data = read(read_arguments([str(SELFPLAY), "--per-game", "1"]).request, registry.TERMS, defaults(), SILENT)
    begun, fit = list[float | None](), fitting.fit

    def stopped(sample: samples.Sample, start: np.ndarray, settings: Settings, *others: Any, **more: Any) -> Fitted:
        begun.append(settings.prior)
        return replace(
            fit(sample, start, replace(settings, prior=1e-3), *others, **more), interrupted=settings.prior is not None
        )

    monkeypatch.setattr(fitting, "fit", stopped)  # with such a pull nothing moves: the first fit stays the best
    chosen, found = fit_all(data, SILENT)
    assert len(begun) == 2 and chosen.prior is None and found.interrupted


FULL = sets.set_named("full")


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


def test_scores_belong_to_the_version_of_own_terms():
    weights = defaults()
    mine, changed = registry.TermSet("mine", terms=registry.TERMS), registry.TermSet("mine", terms=registry.TERMS)
    mine.version, changed.version = "0123", "4567"
    scorers = [
        rescoring.described_scorer(family.LinearEvaluation(weights, terms=terms))
        for terms in (registry.TERMS, mine, changed)
    ]
    plain = hashlib.blake2b(family.LinearEvaluation(weights).weights.tobytes(), digest_size=8).hexdigest()
    assert len(set(scorers)) == 3 and scorers[0] == f"weights {plain}"


@pytest.fixture(scope="module")
def games() -> bytes:
    """A part of the games that come with Merino."""
    return b"[Event".join(SELFPLAY.read_bytes().split(b"[Event")[:121])


def test_the_weights_of_a_set_are_learned_from_games(start, capsys):
    words = ["learn", str(few_games(start.parent)), "1", str(len(FULL)), "--phases", "2", "--weights", str(start)]
    assert main([*words, "--no-match", "--json", "--per-game", "5"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["weights"]) == 2 * len(FULL) and summary["valid_after"] < summary["valid_before"]
    terms, learned = load_any(start)
    assert terms is FULL and "set full\n" in start.read_text()
    assert learned.tolist() == [line["new"] for line in summary["weights"]]
    assert load(earlier_weights(start)[0][1], FULL).tolist() == material().tolist()


def test_rows_of_a_set_times_its_weights_are_its_scores(games):
    block = block_of_games(pgn_games.read_games(games))
    rows = rows_of_block(block, FULL)
    weights = np.concatenate([material(), 1.1 * material()])
    assert rows.features.shape == (len(block), len(FULL))
    scores = (rows.features * phases.by_stage(weights, len(FULL))[rows.stage]).sum(axis=1) / FEATURE_SCALE
    rounding = np.abs(weights).sum() * 0.5 / FEATURE_SCALE
    assert np.abs(scores - compiled.white_scores_of(block.positions, weights, FULL)).max() < rounding


def test_what_the_cells_of_a_table_share_goes_to_the_term_that_counts_the_same(games):
    block = block_of_games(pgn_games.read_games(games))
    sample, size = samples.split(rows_of_block(block, FULL), Settings()), 2 * len(FULL)
    weights = np.random.default_rng(5).uniform(-100, 100, size)
    centring = centring_of(sample, FULL, 2, np.arange(size))
    assert centring is not None
    centred, often = centring @ weights, samples.carrier_counts(sample, 2)[:, 0]
    before, after = (compiled.white_scores_of(block.positions, each, FULL) for each in (weights, centred))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    places = {each.name: at for each, at in FULL.to_read()}
    for name in ("KnightSquare", "RookMobility", "KingSquare", "PassedOwnKing"):
        for phase in range(2):
            cells = np.arange(places[name].start, places[name].stop) + phase * len(FULL)
            assert abs(often[cells] @ centred[cells]) < 1e-6 < abs(often[cells] @ weights[cells])
    knight = places["KnightValue"].start
    held = centring_of(sample, FULL, 2, np.delete(np.arange(size), knight))
    assert held is not None
    kept = held @ weights
    assert kept[knight] == weights[knight] and kept[knight + len(FULL)] != weights[knight + len(FULL)]
    assert np.array_equal(kept[places["KnightSquare"]], weights[places["KnightSquare"]])
    assert centring_of(sample, registry.TERMS, 2, np.arange(size)) is None


def test_positions_are_chosen_and_scored_by_the_set_of_the_weights(games):
    few = block_of_games(pgn_games.read_games(games)).positions[:40].copy()
    assert 0 < np.count_nonzero(select_quiet(few, material(), Quiet.ONLY, FULL)) <= 40
    other = material()
    other[5:] = 50  # all else counts, too
    searches = [Rescore(50, family.LinearEvaluation(weights, terms=FULL)) for weights in (material(), other)]
    assert not np.array_equal(*[search.scores_of(few, np.zeros(1, dtype=np.uint64)) for search in searches])


def test_terms_are_counted_and_named_in_the_set_of_the_weights(start):
    chosen = read_arguments(["a.pgn", "--terms", "KingAttack,hanging", "--weights", str(start)])
    cells = tuple(term.name for term in FULL if term.table is not None and term.table.name == "KingAttack")
    assert chosen.request.settings.names == ("Hanging", *cells) and len(cells) > 5
    chosen = read_arguments(["a.pgn", "1", str(len(FULL)), "--weights", str(start)])
    assert chosen.request.settings.last == len(FULL) > len(registry.TERMS)
    with pytest.raises(UsageError, match="there is no term 'VAL_P'"):
        read_arguments(["a.pgn", "--terms", "VAL_P", "--weights", str(start)])
    with pytest.raises(UsageError, match=f"terms are numbered 1 to {len(FULL)}"):
        read_arguments(["a.pgn", "1", str(len(FULL) + 1), "--weights", str(start)])


def test_settings_that_name_no_last_term_go_to_the_end_of_the_set():
    for terms in (FULL, registry.TERMS):
        assert Settings().of_set(terms).moving == f"6..{len(terms)}"


def test_of_many_terms_that_may_move_the_first_are_named():
    names = tuple(term.name for term in registry.TERMS)
    assert Settings(names=names[:8]).moving == ", ".join(names[:8])
    assert Settings(names=names).moving == ", ".join(names[:8]) + " and 19 more"
    with pytest.raises(LearnError, match="terms are numbered"):
        Settings(last=len(FULL)).of_set(registry.TERMS)
    with pytest.raises(LearnError, match="no term named Hanging"):
        Settings(names=("Hanging",)).of_set(registry.TERMS)


def test_a_plan_of_improve_keeps_the_set():
    plan = Plan(set="full")
    assert Plan.from_json(asdict(plan)) == plan and plan.terms is FULL
    assert plan.settings(1).last == len(FULL) and Plan.from_json({}).terms is registry.TERMS
    with pytest.raises(ValueError, match="no set of terms named 'other'"):
        _ = Plan.from_json({"set": "other"}).terms
    with pytest.raises(LearnError, match=f"terms are numbered 1..{len(FULL)}"):
        Plan(set="full", last=len(FULL) + 1).check()
