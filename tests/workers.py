"""A search thread of its own, for tests of what it does at a node."""

from collections.abc import Mapping

import numpy as np

from merino.core.board.game import Position
from merino.engine.search.parameters import parameter_values
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.worker import Worker
from merino.eval.evaluation import Evaluation


def worker_at(
    position: Position, evaluation: Evaluation, numbers: Mapping[str, int] | None = None, table_mb: int = 1
) -> Worker:
    """A thread that is about to search this position, with the parameters of the evaluation or with these numbers."""
    parameters = None if numbers is None else parameter_values(numbers)
    worker = Worker(TranspositionTable(table_mb), np.zeros(1, dtype=np.uint64), evaluation, parameters)
    worker.set_root(position, full_width=False)
    return worker
