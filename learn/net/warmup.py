"""Get every compiled entry that training needs, from the cache or by compiling it."""

import numpy as np

from merino.inner.eval.net.features import features
from merino.inner.eval.net.network import Shape
from merino.inner.formats.packed import Filter
from merino.inner.formats.pgn_games import read_games
from merino.inner.formats.scored_games import packed_of, scored_games
from merino.inner.learn.net.feature_changes import measure_changes
from merino.inner.learn.net.feature_costs import update_costs
from merino.inner.learn.net.gradient import Objective
from merino.inner.learn.net.position_counts import count_positions
from merino.inner.learn.net.training import Trainer, TrainingSettings

_GAME = b'[Result "1-0"]\n\n1. e4 { [%eval 0.2] } e5 { [%eval 0.1] } 2. Nf3 1-0\n\n'


def warm_up() -> None:
    """Measure what moves change in features and what an update costs, and train a net on the positions of a game."""
    games = read_games(_GAME)
    measure_changes(features("ALL"), [games])
    update_costs([Shape()])
    records = np.repeat(packed_of(scored_games(games), Filter()), 48)
    records["game"] = np.arange(len(records))
    count_positions([records])
    for objective in (Objective(), Objective(pqr=True)):
        settings = TrainingSettings(Shape("H", 1), objective, epochs=1, validation=0.5)
        Trainer(records, settings, threads=1).run()
