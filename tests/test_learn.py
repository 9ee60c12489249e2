"""Learning: the fit finds what made the results, bounds and frozen weights hold, and nothing is written in vain."""

from __future__ import annotations

import io
import random
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import learn_weights
from merino.core.board.fen import parse_fen
from merino.core.common.command import CommandError, UsageError
from merino.eval.linear.compiled import features_of
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import learned_k, load, save
from merino.formats.pgn_games import read_games
from merino.learn.fitting import FitCallback
from merino.learn.judging import learn
from merino.learn.request import Settings
from merino.learn.rows import FEATURE_SCALE, Rows
from tests.rows import rows_of, split
from tests.shipped import ARTICLE, article_weights, one_phase

BOUNDS = np.array([term.bounds for term in TERMS], dtype=np.float64)
GAMES = 200
POSITIONAL = np.arange(5, len(TERMS))


def random_games(count: int, seed: int) -> str:
    """PGN of random games that end by move 35, won by the side with more material."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 70:
            board.push(rng.choice(list(board.legal_moves)))
        worth = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0}
        balance = sum(worth[p.piece_type] * (1 if p.color else -1) for p in board.piece_map().values())
        game = chess.pgn.Game.from_board(board)
        game.headers["Result"] = "1-0" if balance > 0 else "0-1" if balance < 0 else "1/2-1/2"
        texts.append(str(game))
    return "\n\n".join(texts) + "\n"


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games") / "random.pgn"
    path.write_text(random_games(GAMES, seed=1))
    return path


def test_a_row_times_the_weights_is_the_score_before_the_rules(pgn: Path) -> None:
    games = read_games(pgn.read_bytes())
    rows = rows_of(games)
    positions = []
    for text in pgn.read_text().split("[Event")[1:4]:
        game = chess.pgn.read_game(io.StringIO("[Event" + text))
        assert game is not None
        board = game.board()
        for move in game.mainline_moves():
            quiet = not board.is_capture(move) and move.promotion is None
            board.push(move)
            if quiet and not board.is_check():
                positions.append(parse_fen(board.fen()))
    expected = features_of(np.concatenate(positions))
    found = rows.features[rows.game < 3] / FEATURE_SCALE
    assert len(found) == len(expected) > 100
    assert np.abs(found - expected).max() <= 0.5 / FEATURE_SCALE + 1e-9
    assert np.abs((found - expected) @ one_phase()).max() < 2


def test_no_game_lies_in_both_parts(pgn: Path) -> None:
    rows = rows_of(read_games(pgn.read_bytes()))
    sample = split(rows, Settings())
    train, valid = (set(sample.games(is_validation)) for is_validation in (False, True))
    assert not train & valid
    assert 0.1 < len(valid) / GAMES < 0.3


def test_noise_teaches_nothing_and_is_not_accepted() -> None:
    rng = np.random.default_rng(6)
    features = (FEATURE_SCALE * rng.normal(0, 1, (4000, len(ARTICLE)))).astype(np.int16)
    game = np.repeat(np.arange(100), 40).astype(np.int32)
    results = (rng.integers(0, 3, 100) / 2).astype(np.float32)
    none = np.zeros(4000, dtype=np.uint8)
    rows = Rows(features, none, game, none.astype(np.int16), results, none.astype(np.int16))
    flat = np.where(np.arange(len(ARTICLE)) < 5, article_weights(), np.clip(0.0, *BOUNDS[: len(ARTICLE)].T))
    learned = learn(split(rows, Settings()), flat, Settings(k=1e6), FitCallback(), ARTICLE)
    assert not learned.accepted


def test_learning_writes_new_weights_and_keeps_the_old(pgn: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights.txt"
    flat = one_phase()
    flat[POSITIONAL] = np.clip(0.0, BOUNDS[POSITIONAL, 0], BOUNDS[POSITIONAL, 1])
    flat[:5] = 100.0, 200.0, 200.0, 300.0, 400.0  # wrong, but not so that all exchanges are searched
    save(weights, flat)
    lines: list[str] = []
    words = [str(pgn), "1", "5", "--decay", "10", "--seed", "1", "--phases", "1"]
    words += ["--weights", str(weights), "--no-match"]
    assert learn_weights(words, lines.append) == weights
    text = "\n".join(lines)
    assert f"Games: {GAMES}" in text
    assert "Training set:" in text and "Validation set:" in text
    assert (load(weights) != flat).any()
    assert f"K = {learned_k(weights):.1f}" in text
    assert (load(tmp_path / "weights.old") == flat).all()
    assert "Start optimization..." in (tmp_path / "learning.log").read_text()


DRAWN = '[Result "1/2-1/2"]\n\n1. e4 e5 2. Nf3 Nc6 1/2-1/2\n\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1. e4 e5 2. Nf3 Nc6 *\n", "no finished game"),
        (DRAWN * 5, "drawn"),
        (DRAWN.replace("1/2-1/2", "1-0") * 5, "won for White"),
        (DRAWN, "one game"),
    ],
)
def test_games_that_cannot_teach_are_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path, weights = tmp_path / "games.pgn", tmp_path / "weights.txt"
    path.write_text(text)
    save(weights, one_phase())
    before = weights.read_bytes()
    with pytest.raises(CommandError, match=reason):
        learn_weights([str(path), "--weights", str(weights), "--target", "result"], lambda line: None)
    assert weights.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.pgn", "6"],
        ["a.pgn", "9", "6"],
        ["a.pgn", "0", "27"],
        ["a.pgn", "1", str(len(TERMS) + 1)],
        ["a.pgn", "--what"],
    ],
)
def test_a_wrong_command_line_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        read_arguments(words)


def test_a_game_that_cannot_be_read_is_reported_and_the_rest_used(pgn: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixed.pgn"
    path.write_text('[Event "bad"]\n\n1. e4 e5 2. Qxe5 1-0\n\n' + pgn.read_text())
    lines: list[str] = []
    learn_weights([str(path), "--weights", str(_saved(tmp_path)), "--out", str(tmp_path / "out.txt")], lines.append)
    text = "\n".join(lines)
    assert "1 game could not be read" in text
    assert "line 3: 'Qxe5' is not a legal move here" in text
    assert f"Games: {GAMES}" in text


def _saved(folder: Path) -> Path:
    save(folder / "weights.txt", one_phase())
    return folder / "weights.txt"
