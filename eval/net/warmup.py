"""Get every compiled entry of the nets, from the cache or by compiling it."""

from engine.board.game import Position
from eval.net.features import features


def warm_up() -> None:
    """Find the features of a position."""
    features("ALL").active(Position().record)
