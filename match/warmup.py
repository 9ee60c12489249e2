"""Get every compiled entry that matches need, from the cache or by compiling it."""

from __future__ import annotations

from functools import partial

import numpy as np

from match.board import OwnBoard
from match.effort import Adjudication, Effort
from match.openings import RandomOpenings
from match.play import RULES, judge_scores
from match.players import OwnPlayer
from match.runner import Setup, play_match


def warm_up() -> None:
    """Play a short match."""
    player = OwnPlayer("default")
    board = partial(OwnBoard, (player, player), Effort(nodes=10), Adjudication())
    list(play_match(Setup(board=board, openings=partial(RandomOpenings, 1)), 2, 1))
    judge_scores(np.zeros(1, dtype=RULES), np.zeros(1, dtype=np.int32), 1)  # between other engines
