"""Loads or compiles the compiled code of studies that learning does not need."""

from merino.core.board.game import Position
from merino.eval.families import default
from merino.study.accounts import account_around


def warm_up() -> None:
    """Explain a score by the terms."""
    account_around(Position().record, default())
