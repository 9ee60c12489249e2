"""The registry of evaluation terms, filled by `@term`; everything else is derived from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

from merino.inner.core.compiled.jit import kernel


class Group(Enum):
    """A family of terms and its fixed multiplier: a weight of 10 in a group of 1.2 is worth 12 centipawns."""

    MATERIAL = ("Material", 1.0)
    PAWN_STRUCTURE = ("Pawn structure", 0.8)
    PASSED_PAWNS = ("Passed pawns", 1.2)
    BOARD_CONTROL = ("Board control", 1.2)
    MOBILITY = ("Mobility", 0.8)
    KING_SAFETY = ("King safety", 1.0)

    def __init__(self, title: str, multiplier: float) -> None:
        self.title = title
        self.multiplier = multiplier


class Phase(IntEnum):
    """When a term counts: always, or by the share of the opponent's pieces that are on or off the board."""

    ALWAYS = 0
    MIDDLEGAME = 1
    ENDGAME = 2


@dataclass(frozen=True)
class Term:
    """One evaluation term.

    `count` is compiled: it takes a `View` and returns how much of the term that side has (any real number, before
    phase and group multiplier). `bounds` are of the weight in centipawns. `sign` is the expected sign of the weight: 1
    if more of the term should be good for its side, -1 if bad. `sentence` is the chess. `default` is the weight in a
    file that does not name the term, None for that of the file that comes with Merino. A new term takes 0, so that
    older files score as before.
    """

    name: str
    group: Group
    bounds: tuple[int, int]
    phase: Phase
    sign: int
    sentence: str
    count: Any
    default: float | None = None


TERMS: list[Term] = []


def term(
    name: str,
    group: Group,
    bounds: tuple[int, int],
    phase: Phase = Phase.ALWAYS,
    sign: int = 1,
    default: float | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Register the decorated count as the next term. Its docstring is the sentence that users read."""

    def register(count: Callable[..., Any]) -> Any:
        sentence = " ".join((count.__doc__ or "").split())
        compiled = kernel(count)
        TERMS.append(Term(name, group, bounds, phase, sign, sentence, compiled, default))
        return compiled

    return register
