"""Load every compiled entry that matches need, from the cache or by compiling it."""

from datetime import date

import numpy as np

from merino.match import config, games, players, report, runner


def warm_up() -> None:
    """Play a short match, and write its games."""
    player = players.OwnPlayer("default")
    for game in runner.play_match(config.MatchConfig((player, player), config.TimeControl(nodes=10)), 2, 1):
        report.write_game(game, ("", ""), "", date.today())
    games.judge_scores(np.zeros(1, dtype=games.GAME_RULES), np.zeros(1, dtype=np.int32), 1)  # between other engines
