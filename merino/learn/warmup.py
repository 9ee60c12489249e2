"""Loads or compiles all compiled code of learning."""

import numpy as np

from merino.eval.linear import family, phases
from merino.eval.linear.weights import defaults
from merino.formats import labelled, pgn_games
from merino.learn import judging, positions, request, rescoring
from merino.learn.sample import MANY_TERMS, carrier_counts, products_of, split

_MOVES = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. d4 exd4 6. Qxd4 Qxd4 7. Nxd4 Bd7"
_GAMES = "".join(f'[Result "{result}"]\n\n{_MOVES} {result}\n\n' for result in ("1-0", "0-1", "1/2-1/2") * 4)


def warm_up() -> None:
    """Make rows of a few games and labelled positions, and learn from them by each method."""
    weights = defaults()
    block = positions.with_random_moves(positions.block_of_games(pgn_games.read_games(_GAMES.encode())))
    text = labelled.write_labelled(block.positions, block.results[block.game], block.game + 1, block.to_end)
    positions.select_quiet(labelled.read_labelled(text).positions, weights, request.Quiet.RESOLVED)
    rows = positions.rows_of_block(block)
    for method in request.METHODS:
        settings = request.Settings(method=method, prior=0.0)  # with no pull every method moves
        sample = split(rows, settings)
        judging.learn(sample, weights, settings)
    carrier_counts(sample)
    products_of(
        np.zeros((1, MANY_TERMS), dtype=np.int16), rows.stage[:1], np.ones(1, np.float32), phases.shares_of_phases(2)
    )
    rescoring.Rescore(20, family.LinearEvaluation(weights)).scores_of(
        block.positions[:2].copy(), np.zeros(1, dtype=np.uint64)
    )
