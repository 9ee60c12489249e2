"""Get every compiled entry that matches need, from the cache or by compiling it."""

from __future__ import annotations

import numpy as np

from match.effort import Effort
from match.play import RULES, judge_scores
from match.players import OwnPlayer
from match.runner import play_match
from match.terms import Terms


def warm_up() -> None:
    """Play a short match."""
    player = OwnPlayer("default")
    list(play_match(Terms((player, player), Effort(nodes=10)), 2, 1))
    judge_scores(np.zeros(1, dtype=RULES), np.zeros(1, dtype=np.int32), 1)  # between other engines
