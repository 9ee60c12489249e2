"""The cost of one evaluation, and of one row of features, over positions from random games."""

import random

import numpy as np

from benchmarks.clock import line
from merino.core.board.game import Position
from merino.core.board.position import POSITION
from merino.core.common.timing import cpu_seconds, medians_in_turns
from merino.eval.linear.evaluate import features_of, scores_of
from merino.eval.linear.weights import DEFAULT_FILE, load

POSITIONS = 4096
REPEATS = 20
ROUNDS = 9


def report() -> None:
    """Print nanoseconds per position."""
    positions, weights = random_positions(POSITIONS), load(DEFAULT_FILE)
    print(f"evaluation of {POSITIONS} positions from random games; CPU time, medians of {ROUNDS} rounds in turns")
    scores_of(positions, weights), features_of(positions)  # compiled before the clock runs
    seconds = medians_in_turns(
        [
            lambda: cpu_seconds(lambda: [scores_of(positions, weights) for _ in range(REPEATS)]),
            lambda: cpu_seconds(lambda: [features_of(positions) for _ in range(REPEATS)]),
        ],
        ROUNDS,
    )
    for what, total in zip(("score", "features (a row for the learner)"), seconds, strict=True):
        line(what, total / REPEATS / POSITIONS * 1e9, "ns")


def random_positions(count: int) -> np.ndarray:
    """POSITION[count] from games of random moves, every fourth position taken; the same ones each time."""
    draw, records = random.Random(2015), np.zeros(count, dtype=POSITION)
    found = 0
    while found < count:
        game = Position()
        while found < count and game.outcome() is None:
            game.push(draw.choice(game.legal_moves))
            if len(game.moves) % 4 == 0:
                records[found] = game.record[0]
                found += 1
    return records
