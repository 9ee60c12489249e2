"""Loads or compiles all compiled code of learning."""

from __future__ import annotations

import numpy as np

from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import shares_of_phases
from merino.eval.linear.weights import defaults
from merino.formats.labelled import read_labelled
from merino.formats.pgn_games import read_games
from merino.learn.calibration import calibration
from merino.learn.fen_file import lines_of
from merino.learn.gain import learn
from merino.learn.inputs import split
from merino.learn.loss_and_gradient import carrier_counts
from merino.learn.minimisers import METHODS, FitCallback
from merino.learn.positions import Equal, Quiet, Selection, block_of_games, is_open, select_quiet, with_strays
from merino.learn.products import MANY_TERMS, products_of
from merino.learn.ranking import moves_of
from merino.learn.rescoring import Rescore
from merino.learn.rows import RowStore, check_rows, rows_of_block
from merino.learn.settings import Settings

# Enough for `check_rows` to skip positions: numba compiles anew for an array with a stride.
_MOVES = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. d4 exd4 6. Qxd4 Qxd4 7. Nxd4 Bd7"
_GAMES = "".join(f'[Result "{result}"]\n\n{_MOVES} {result}\n\n' for result in ("1-0", "0-1", "1/2-1/2") * 80)


def warm_up() -> None:
    """Make rows of a few games and labelled positions, and learn from them by each method."""
    weights = defaults()
    block = block_of_games(read_games(_GAMES.encode()), Selection())
    block = with_strays(block.chosen(is_open(block, weights, bound=1000)))
    select_quiet(read_labelled(lines_of(block, 0)).positions, weights, Quiet.RESOLVED)
    rows = rows_of_block(block)
    check_rows(block, rows, weights)
    store = RowStore(Equal.POSITION)
    store.add(rows, block.positions["key"])
    store.drop_duplicates()
    for method in METHODS:
        settings = Settings(method=method, prior=0.0, ratings=method != "descent")  # with no pull every method moves
        sample = split(rows, settings)
        learned = learn(sample, weights, settings, FitCallback())
    calibration(sample, learned.end)
    carrier_counts(sample)
    products_of(np.zeros((1, MANY_TERMS), dtype=np.int16), rows.stage[:1], np.ones(1, np.float32), shares_of_phases(2))
    moves_of(block.positions[:2].copy(), LinearEvaluation(weights))
    Rescore(20, LinearEvaluation(weights)).scores_of(block.positions[:2].copy(), np.zeros(1, dtype=np.uint64))
