"""Loads or compiles the compiled code of studies that learning does not need."""

from merino.core.board.game import Position
from merino.engine.search.state import new_search_record
from merino.eval.families import default, load_evaluation
from merino.study.accounts import account_around


def warm_up() -> None:
    """Explain a score by the terms; and play and explain by the set `full`, which has code of its own."""
    start, full = Position().record, load_evaluation("full")
    account_around(start, default())
    full.install(new_search_record())
    full.scores(start)
    full.value_pieces(start)
    full.attributed(start)
