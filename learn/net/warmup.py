"""Get every compiled entry that training needs, from the cache or by compiling it."""

from eval.net.features import features
from formats.pgn_games import read_games
from learn.net.feature_changes import measure_changes

_GAME = b'[Result "1-0"]\n\n1. e4 d5 2. exd5 Qxd5 1-0\n\n'


def warm_up() -> None:
    """Measure what the moves of a game change."""
    measure_changes(features("ALL"), [read_games(_GAME)])
