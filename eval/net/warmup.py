"""Get every compiled entry of the nets, from the cache or by compiling it."""

import numpy as np

from merino.inner.core.board.game import Position
from merino.inner.eval.net.network import Network, Shape
from merino.inner.eval.net.piece_family import net_evaluation


def warm_up(record: np.ndarray) -> None:
    """Score a position with empty nets, and install them in `record`, a scratch record SEARCH[1]."""
    for shape in (Shape("H*V", 1), Shape("ALL", 1), Shape(piece_values=True)):
        weights = {name: np.zeros(size, dtype=np.int16) for name, size in shape.layers().items()}
        net = net_evaluation(Network(shape, weights, 1.0))
        net.scores(Position().record)
        net.install(record)
