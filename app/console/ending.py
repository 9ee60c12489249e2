"""How a game ended, for people and for PGN."""

from __future__ import annotations

from dataclasses import dataclass

from merino.inner.core.board.fen import COLOUR_NAMES
from merino.inner.core.board.game import RESULTS, Outcome, Termination

UNFINISHED = "*"  # the result of an unfinished game, as PGN writes it


@dataclass(frozen=True)
class Ending:
    """The end of a game: the result as PGN writes it, and the reason."""

    result: str
    words: str

    def __str__(self) -> str:
        return f"{self.result}, {self.words}"


DRAW_AGREED = Ending(RESULTS[None], "a draw by agreement")


def by_rule(outcome: Outcome) -> Ending:
    """The end of the game by the rules: "1-0, White wins by checkmate"."""
    if outcome.winner is not None:
        return Ending(outcome.result, f"{side_name(outcome.winner)} wins by {outcome.termination.value}")
    article = "the " if outcome.termination is Termination.FIFTY_MOVES else ""
    return Ending(outcome.result, f"a draw by {article}{outcome.termination.value}")


def resignation(colour: int) -> Ending:
    """The end when a side resigns."""
    return Ending(RESULTS[1 - colour], f"{side_name(colour)} resigns")


def side_name(colour: int) -> str:
    """White or Black, as a word."""
    return COLOUR_NAMES[colour]
