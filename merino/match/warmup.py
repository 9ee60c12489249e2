"""Load every compiled entry that matches need, from the cache or by compiling it."""

import numpy as np

from merino.match import config, games, players, runner


def warm_up() -> None:
    """Play a short match."""
    player = players.OwnPlayer("default")
    list(runner.play_match(config.MatchConfig((player, player), config.TimeControl(nodes=10)), 2, 1))
    games.judge_scores(np.zeros(1, dtype=games.GAME_RULES), np.zeros(1, dtype=np.int32), 1)  # between other engines
