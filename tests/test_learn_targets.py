"""What is learned: results, what searches say, or both; scores read from files, and made by searches."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import main_thread

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.shell.cli import main
from merino.core.board.fen import START_FEN, parse_fen
from merino.core.common.command import UsageError
from merino.eval.families import default
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import by_stage, in_two_phases
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import defaults
from merino.formats.labelled import read_labelled, write_labelled
from merino.formats.pgn_games import read_games
from merino.formats.pgn_tokens import MATE, NO_SCORE
from merino.formats.scored_games import scored_games
from merino.learn import rescoring
from merino.learn.errors import LearnError
from merino.learn.fitting import FitCallback, Learned
from merino.learn.judging import learn
from merino.learn.positions import Selection
from merino.learn.reading import ReadOptions, read_rows, searched_positions
from merino.learn.report import Seconds, summarise
from merino.learn.request import METHODS, Events, Settings
from merino.learn.rescoring import Rescore, RescoringStoppedError, ScoreFile
from merino.learn.rows import Rows
from merino.learn.sample import SCORES, ZERO_SCORE, Target, points_by_score, sample_of, scale_of_counts
from tests.rows import labels_of, made_up_rows, split

N = len(TERMS)
K = 800.0
GAMES = """[Result "1-0"]

1. e4 {[%eval 0.35]} e5 {[%eval -0.2,12] [%clk 0:01]} 2. Nf3 {+0.31/9 0.2s} (2. f4 {[%eval 9.0]}) Nc6 { -0.40/10 }
3. Bb5 {wv=0.55, d=20} a6 4. Ba4 {[%eval #5]} Nf6 {-M3/12 0.1s} 5. O-O {a word} 1-0

[Result "0-1"]

1. d4 d5 0-1
"""


def test_comments_give_scores_in_the_ways_of_engines_and_servers() -> None:
    games = read_games(GAMES.encode(), with_scores=True)
    # A comment of the mover's search is about the position before his move.
    assert games.scores.tolist() == [35, 31, 40, NO_SCORE, 55, NO_SCORE, MATE - 3, *[NO_SCORE] * 4]
    assert read_games(GAMES.encode()).scores.tolist() == []


@pytest.mark.parametrize("comment", ["1/2-1/2", "1/2 agreed", "12/03/2005", "40/120 control", "0/12"])
def test_a_number_before_a_slash_is_no_score_without_sign_or_point(comment: str) -> None:
    text = f"1. e4 {{a}} e5 {{{comment}}} 2. Nf3 {{0.00/12}} 1/2-1/2\n".encode()
    assert read_games(text, 1, True).scores.tolist() == [NO_SCORE, 0, NO_SCORE]
    assert scored_games(read_games(text)).scores.tolist() == [NO_SCORE, NO_SCORE, 0]


@pytest.mark.parametrize(
    ("comment", "score"),
    [("+0.35/12 3s", -35), ("0.35/12 3s", -35), ("-3/12", 300), ("M5/20 1s", 5 - MATE), ("#-5/20", MATE - 5)],
)
def test_a_score_of_the_mover_has_a_sign_a_point_or_a_mate(comment: str, score: int) -> None:
    assert read_games(f"1. e4 e5 {{{comment}}} *\n".encode(), 1, True).scores.tolist()[0] == score


def test_labelled_positions_give_scores_for_the_side_to_move_or_for_white() -> None:
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR"
    text = (
        f'{fen} b KQkq - c9 "1-0"; ce 35;\n{fen} w KQkq - c9 "1-0"; ce -12;\n{fen} b KQkq - 0 1 | 41 | 1.0\n'
        f'{fen} b KQkq - 0 1 | 0.5\n{fen} b KQkq - 0 1 | -7 | 0.5\n{fen} b KQkq - c9 "0-1"; ce mate;\n'
        f"{fen} b KQkq - 0 1 | 0.35 | 1.0\n"
    )
    read = read_labelled(text.encode())
    assert read.scores.tolist() == [-35, -12, 41, NO_SCORE, -7, NO_SCORE, NO_SCORE]
    assert read.results.tolist() == [1.0, 1.0, 1.0, 0.5, 0.5, 0.0, 1.0]


def test_scores_written_are_read_back() -> None:
    fens = [f"4k3/8/8/8/8/8/4P3/4K3 {side} - - 0 1" for side in "wbw"]
    positions, scores = np.concatenate([parse_fen(fen) for fen in fens]), np.array([35, 35, NO_SCORE], np.int16)
    text = write_labelled(positions, np.ones(3), np.array([0, 7, 7]), np.array([-1, 4, 3]), scores)
    start = b"4k3/8/8/8/8/8/4P3/4K3 "
    remarks = (b'w - - 0 1 c9 "1-0"; ce 35;', b'b - - 0 1 c9 "1-0"; c8 "4"; c7 "7"; ce -35;')
    assert text.splitlines() == [start + each for each in (*remarks, b'w - - 0 1 c9 "1-0"; c8 "3"; c7 "7";')]
    assert read_labelled(text).scores.tolist() == scores.tolist()


def test_counters_beyond_all_bounds_are_written_so_that_they_are_read() -> None:
    positions, one = parse_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 100000 100000"), np.zeros(1, np.int32)
    positions["halfmove"] += 1
    positions["fullmove"] += 1
    text = write_labelled(positions, np.ones(1), one, one)
    assert text.startswith(b"4k3/8/8/8/8/8/4P3/4K3 w - - 100000 100000") and len(read_labelled(text).positions) == 1


def test_the_scale_of_scores_is_the_one_that_fits_the_results() -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(-600, 600, 40_000).astype(np.int16)
    results = (rng.random(len(scores)) < 1 / (1 + np.exp(-scores / 170))).astype(np.float32)
    places = scores.astype(np.int64) + ZERO_SCORE
    found = scale_of_counts(np.bincount(places, minlength=SCORES), np.bincount(places, results, minlength=SCORES))
    assert found == pytest.approx(170, rel=0.05)


def truth() -> np.ndarray:
    weights = in_two_phases(defaults(), N)
    weights[5:N] = np.clip(1.5 * weights[5:N] - 4, *np.array([term.bounds for term in TERMS])[5:].T)
    return weights


def scored_rows(count: int) -> Rows:
    """Rows of two phases whose scores are those of the true weights, and whose results are drawn by them."""
    rows = made_up_rows(truth(), K, count, seed=11, phases=2)
    scores = (rows.features * by_stage(truth(), N)[rows.stage]).sum(axis=1) / 256
    return replace(rows, scores=np.clip(scores, -30000, 30000).astype(np.int16))


def learned(rows: Rows, **settings: object) -> Learned:
    chosen = replace(Settings(phases=2, decay=None, k=K), **settings)  # type: ignore[arg-type]
    return learn(split(rows, chosen), defaults(), chosen, FitCallback())


def test_a_target_is_the_blend_of_result_and_expected_score() -> None:
    rows = scored_rows(500)
    sample = sample_of(rows, np.zeros(len(rows), bool), target=Target(0.25, k=K))
    target = sample.labels[rows.game] + sample.points[rows.scores.astype(int) + 32768]
    expected = 0.25 * labels_of(rows) + 0.75 / (1 + np.exp(-rows.scores / K))
    assert target == pytest.approx(expected, abs=1e-6)


def test_a_position_without_a_score_has_no_target() -> None:
    points = points_by_score(Target(0.25, k=K), K)
    assert np.isnan(points[NO_SCORE + ZERO_SCORE])
    assert points[ZERO_SCORE] == pytest.approx(0.75 / 2)


def test_scores_teach_both_phases_from_few_games_what_results_do_not() -> None:
    rows = scored_rows(4_000)
    misses = []
    for share in (0.0, 0.5, 1.0):
        found = learned(rows, target=Target(share, k=K), prior=0.0)
        misses.append(np.abs(found.end.weights - truth()).mean())
    assert misses[0] < 1.5 < misses[2]
    assert misses[0] < misses[1] < misses[2]


def test_every_method_comes_to_the_same_place_in_two_phases() -> None:
    rows = scored_rows(4_000)
    ends = [learned(rows, target=Target(0.5, k=K), method=method, last=12).end.weights for method in METHODS]
    assert np.abs(ends[1] - ends[0]).max() <= 3


def test_what_one_phase_hardly_sees_does_not_run_away() -> None:
    rows = scored_rows(4_000)
    rows.features[:, 12] = np.where(rows.stage < 3, rows.features[:, 12], 0)
    found = learned(rows, target=Target(0.5, k=K))
    name = f"{TERMS[12].name}_mg"
    line = next(
        line
        for line in summarise(split(rows, Settings()), found, Settings(), 1, Seconds(0.0, 0.0)).weights
        if line.name == name
    )
    assert abs(line.new - line.old) < 50
    assert any("rare: 0 games" in flag for flag in line.flags)


def test_all_terms_may_move_and_k_stays_as_the_start_has_it() -> None:
    rows = scored_rows(4_000)
    found = learned(rows, first=1, k=None, target=Target(0.5))
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
    parts = list(searched_positions([path], Rescore(nodes, LinearEvaluation(defaults())), Events(lines.append)))
    return np.concatenate(parts)["score"], lines


def test_searched_positions_have_one_name_a_game_as_text(tmp_path: Path) -> None:
    epd = tmp_path / "p.epd"
    assert main(["positions", str(pgn(tmp_path)), "--rescore", "60", "--out", str(epd), "--quiet"]) == 0
    read = read_labelled(epd.read_bytes())
    assert set(read.positions["side"]) == {0, 1} and len(set(read.games.tolist())) == 12
    assert len(set(zip(read.games.tolist(), read.results.tolist(), strict=True))) == 12


def test_games_without_scores_are_refused_with_the_way_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(
        LearnError,
        match=r"no position in .* comes with the score of a search; 'merino positions FILE "
        r"--rescore 1000 --out FILE\.epd' makes them",
    ):
        read_rows([pgn(tmp_path)], ReadOptions(Selection(), defaults(), needs_scores=True), Events())


def test_positions_are_searched_once_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_ctrl_c_ends_the_searches_of_positions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert set(ended) == {True}  # of as many searches as were under way


def score_pieces(path: Path, firsts: tuple[int, ...]) -> ScoreFile:
    """Ask for the scores of pieces that begin there, in this order; the file is still open."""
    file = ScoreFile(path, Rescore(60, default()), "games")
    for first in firsts:
        file.scores_of(first, parse_fen(START_FEN))
    return file


def test_scores_lie_in_the_order_of_the_games_whichever_thread_was_quicker(tmp_path: Path) -> None:
    contents = []
    for firsts in ((0, 500, 900), (900, 0, 500)):
        path = tmp_path / f"{firsts[0]}.scores"
        with score_pieces(path, firsts):
            pass
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_scores_that_a_run_left_out_of_order_are_put_in_order_by_the_next(tmp_path: Path) -> None:
    path, like = tmp_path / "games.scores", tmp_path / "like.scores"
    with pytest.raises(OSError, match="full"), score_pieces(path, (900, 0, 500)):
        raise OSError("full")
    with score_pieces(like, (0, 500, 900)):
        pass
    assert path.read_bytes() != like.read_bytes()
    with score_pieces(path, (0, 500, 900)) as file:
        assert file.made == 0
    assert path.read_bytes() == like.read_bytes()


def test_a_search_that_is_stopped_gives_no_scores() -> None:
    positions = np.concatenate([parse_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")] * 3)
    with pytest.raises(RescoringStoppedError):
        Rescore(60, LinearEvaluation(defaults())).scores_of(positions, np.ones(1, np.uint64))


def test_a_mate_and_a_position_without_moves_have_scores() -> None:
    fens = ["6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "3R2k1/5ppp/8/8/8/8/8/K7 b - - 0 1", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]
    positions = np.concatenate([parse_fen(fen) for fen in fens])
    scores = Rescore(500, LinearEvaluation(defaults())).scores_of(positions, np.zeros(1, np.uint64))
    assert scores.tolist() == [MATE - 1, MATE, 0]


@pytest.mark.parametrize(
    ("text", "share"), [("result", 1.0), ("search", 0.0), ("blend=0.5", 0.5), ("blend=0", 0.0), ("blend=1", 1.0)]
)
def test_a_target_is_named_on_the_command_line(text: str, share: float) -> None:
    assert read_arguments(["a.pgn", "--target", text]).request.settings.target.share == share


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--target", "both"], "is not one of result, search and blend=X"),
        (["--target", "blend=2"], "needs an X from 0 to 1"),
        (["--target", "blend"], "is not one of result, search and blend=X"),
        (["--per-game", "0"], "--per-game"),
        (["--phases", "3"], "--phases"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_arguments(["a.pgn", *words])


def test_two_phases_do_not_become_one_by_themselves() -> None:
    start = in_two_phases(defaults(), N)
    start[0] += 5
    rows = scored_rows(500)
    with pytest.raises(LearnError, match="two phases"):
        learn(split(rows, Settings()), start, Settings(phases=1), FitCallback())
