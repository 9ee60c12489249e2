"""Load every compiled entry that matches need, from the cache or by compiling it."""

from __future__ import annotations

import numpy as np

from merino.match.config import MatchConfig, TimeControl
from merino.match.games import GAME_RULES, judge_scores
from merino.match.players import OwnPlayer
from merino.match.runner import play_match


def warm_up() -> None:
    """Play a short match."""
    player = OwnPlayer("default")
    list(play_match(MatchConfig((player, player), TimeControl(nodes=10)), 2, 1))
    judge_scores(np.zeros(1, dtype=GAME_RULES), np.zeros(1, dtype=np.int32), 1)  # between other engines
