"""Load every compiled entry of the lab, from the cache or by compiling it."""

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.eval.net.network import Shape
from merino.formats import packed, pgn_games
from merino.formats.scored_games import packed_of, scored_games
from merino.lab.nets import feature_costs, training
from merino.lab.people.games import PlayerGame, read_clocks
from merino.lab.points.games import vectors_of_games
from merino.lab.points.values import bootstrap, cells_of
from merino.lab.tune import rules, simulator
from merino.lab.tune.methods import DEFAULT, METHODS, after, estimate, initial_state, next_pair
from merino.match.games import seed_state

_SCORED_GAME = '[Result "1-0"]\n\n1. e4 { [%eval 0.2] } e5 { [%eval 0.1] } 2. Nf3 1-0\n\n'
_GAMES = b'[Result "1-0"]\n\n1. e4 d5 2. exd5 Nf6 3. Nc3 Nxd5 4. a3 a6 5. h3 h6 1-0\n\n'


def warm_up() -> None:
    """All of it."""
    warm_up_nets()
    warm_up_points()
    warm_up_tunes()


def warm_up_nets() -> None:
    """Measure what an update costs, and train a net on the positions of a game."""
    games = pgn_games.read_games(_SCORED_GAME.encode())
    feature_costs.update_costs([Shape()])
    records = np.repeat(packed_of(scored_games(games), packed.Filter()), 48)
    records["game"] = np.arange(len(records))
    training.Trainer(records, training.TrainingSettings(Shape("H", 1), epochs=1, validation=0.5), threads=1).run()


def warm_up_points() -> None:
    """Value the pieces of a game, and replay a player's game."""
    games = pgn_games.read_games(_GAMES)
    vectors, _ = vectors_of_games(games)
    bootstrap(cells_of(vectors.differences, vectors.outcomes), vectors, 2, 1)
    assert len(PlayerGame(1, "", "", WHITE, None, 1.0, games.starts[:1], games.moves, np.zeros(0)).positions)
    read_clocks(games.data, 0, 0, np.zeros(1))


def warm_up_tunes() -> None:
    """Simulate a short tune, and take the steps of a tune by games."""
    simulator.simulate(METHODS[DEFAULT], simulator.SETTINGS["S0"], 2, pairs=1, runs=2, seed=1, at_a_time=1)
    settings = simulator.tuner_settings(METHODS[DEFAULT], simulator.SETTINGS["S0"], 2, 1)
    state = initial_state(settings, settings.sigma_0)
    plus, minus = next_pair(settings, state, 1, seed_state(1, 2))
    state = after(settings, state, rules.PairResult(1, plus, minus, 0.0))
    estimate(settings, state)
