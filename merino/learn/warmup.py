"""Loads or compiles all compiled code of learning."""

from __future__ import annotations

import numpy as np

from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import shares_of_phases
from merino.eval.linear.weights import defaults
from merino.formats.labelled import read_labelled
from merino.formats.pgn_games import read_games
from merino.learn.fitting import FitCallback
from merino.learn.judging import learn
from merino.learn.loss_and_gradient import MANY_TERMS, carrier_counts, products_of
from merino.learn.positions import Quiet, block_of_games, select_quiet, with_random_moves
from merino.learn.reading import Positions, lines_of
from merino.learn.report import calibration
from merino.learn.request import METHODS, Settings
from merino.learn.rescoring import Rescore, moves_of
from merino.learn.rows import RowStore, check_rows, rows_of_block

# Enough for `check_rows` to skip positions: numba compiles again for an array with a stride.
_MOVES = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. d4 exd4 6. Qxd4 Qxd4 7. Nxd4 Bd7"
_GAMES = "".join(f'[Result "{result}"]\n\n{_MOVES} {result}\n\n' for result in ("1-0", "0-1", "1/2-1/2") * 80)


def warm_up() -> None:
    """Make rows of a few games and labelled positions, and learn from them by each method."""
    weights = defaults()
    block = with_random_moves(block_of_games(read_games(_GAMES.encode())))
    select_quiet(read_labelled(lines_of(block, 0)).positions, weights, Quiet.RESOLVED)
    rows = rows_of_block(block)
    check_rows(block, rows, weights)
    store = RowStore()
    store.add(rows)
    store.keep(np.arange(len(rows)) % 2 == 0)
    for method in METHODS:
        settings = Settings(method=method, prior=0.0)  # with no pull every method moves
        sample = Positions(240, (), rows).sample(settings)
        learned = learn(sample, weights, settings, FitCallback())
    calibration(sample, learned.end)
    carrier_counts(sample)
    products_of(np.zeros((1, MANY_TERMS), dtype=np.int16), rows.stage[:1], np.ones(1, np.float32), shares_of_phases(2))
    moves_of(block.positions[:2].copy(), LinearEvaluation(weights))
    Rescore(20, LinearEvaluation(weights)).scores_of(block.positions[:2].copy(), np.zeros(1, dtype=np.uint64))
