"""Rows for tests of the learner: made up to a known truth, or of the games that come with Merino."""

from functools import cache
from pathlib import Path

import numpy as np

from merino.eval.linear.phases import by_stage
from merino.eval.material import FULL_BOARD
from merino.formats.pgn_games import Games, read_games
from merino.learn.positions import FEATURE_SCALE, Rows, block_of_games, rows_of_block
from merino.learn.sample import FitParameters, Sample, gather

SELFPLAY = Path(__file__).resolve().parent.parent / "games" / "selfplay.pgn"
POSITIONS_PER_GAME = 5
FEW = 200  # games


def copied_selfplay(folder: Path) -> Path:
    """A copy of the games of the project, without a cache next to it."""
    copy = folder / SELFPLAY.name
    copy.write_bytes(SELFPLAY.read_bytes())
    return copy


def few_games(folder: Path) -> Path:
    """A file with the first 200 games of the project in this folder: enough to learn the values of the pieces from."""
    few = folder / "few.pgn"
    few.write_bytes(b"[Event ".join(SELFPLAY.read_bytes().split(b"[Event ")[: 1 + FEW]))
    return few


def made_up_rows(weights: np.ndarray, k: float, count: int, seed: int, phases: int = 1) -> Rows:
    """Rows of plausible size, five of one result a game, that are drawn from what `weights` and `k` predict.

    The weights may be of two phases; a game stays at one stage.
    """
    rng = np.random.default_rng(seed)
    games, terms = count // POSITIONS_PER_GAME, len(weights) // phases
    features = rng.normal(0, 1, (games, 1, terms)) + rng.normal(0, 0.3, (games, POSITIONS_PER_GAME, terms))
    features = np.rint(FEATURE_SCALE * features).astype(np.int16)
    stage = rng.integers(0, FULL_BOARD, games, endpoint=True)
    scores = (features.mean(axis=1) * by_stage(weights, terms)[stage]).sum(axis=1)
    results = (rng.random(games) < 1 / (1 + np.exp(-scores / FEATURE_SCALE / k))).astype(np.float32)
    game = np.repeat(np.arange(games, dtype=np.int32), POSITIONS_PER_GAME)
    to_end = np.tile(np.arange(POSITIONS_PER_GAME, dtype=np.int16)[::-1], games)
    stages = np.repeat(stage, POSITIONS_PER_GAME).astype(np.uint8)
    return Rows(features.reshape(-1, terms), stages, game, to_end, results, np.zeros(len(game), dtype=np.int16))


@cache
def selfplay_rows() -> Rows:
    """The rows of the games that come with Merino."""
    return rows_of(read_games(SELFPLAY.read_bytes()))


def rows_of(games: Games) -> Rows:
    """The rows of all finished games."""
    return rows_of_block(block_of_games(games))


def labels_of(rows: Rows) -> np.ndarray:
    """The result of each row's game."""
    return np.asarray(rows.results[rows.game])


def some_games(rows: Rows, games: np.ndarray) -> Rows:
    """The rows of these games, renumbered."""
    games = np.sort(games)
    keep = np.isin(rows.game, games)
    game = np.searchsorted(games, rows.game[keep]).astype(np.int32)
    return Rows(rows.features[keep], rows.stage[keep], game, rows.to_end[keep], rows.results[games], rows.scores[keep])


def mean_error(sample: Sample, parameters: FitParameters) -> float:
    """The weighted mean of the squared error over the training set."""
    return gather(sample, parameters).errors()[0]
