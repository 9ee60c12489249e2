"""What a term and a set of terms are. A set is filled by its `term` decorator; everything else is derived from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, overload

from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.view import view_without, views

PAWN_VALUE = 0  # the first term of every set: the unit of relative values


class Group(Enum):
    """A family of terms and its fixed multiplier: a weight of 10 in a group of 1.2 is worth 12 centipawns."""

    MATERIAL = ("Material", 1.0)
    PAWN_STRUCTURE = ("Pawn structure", 0.8)
    PASSED_PAWNS = ("Passed pawns", 1.2)
    BOARD_CONTROL = ("Board control", 1.2)
    MOBILITY = ("Mobility", 0.8)
    KING_SAFETY = ("King safety", 1.0)
    THREATS = ("Threats", 1.0)

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

    `count` is compiled: it takes a view of its set and returns how much of the term that side has (any real number,
    before phase and group multiplier). `bounds` are of the weight in centipawns. `sign` is the expected sign of the
    weight: 1 if more of the term should be good for its side, -1 if bad. `sentence` is the chess. `default` is the
    weight in a file that does not name the term, None for that of the file that comes with Merino. A new term takes 0,
    so that older files score as before. `pawns_only` promises that the count depends on the pawns of both sides alone:
    the search then remembers it by them.
    """

    name: str
    group: Group
    bounds: tuple[int, int]
    phase: Phase
    sign: int
    sentence: str
    count: Any
    default: float | None = None
    pawns_only: bool = False


class TermSet(Sequence[Term]):
    """A named set of terms: all that a score is the sum of, in the order of their weights. Its first term is the pawn.

    `name` is the word by which a weights file names the set. `views` is a kernel: the views of both sides of a
    position, White's first, which its terms count on. `view_without` is another: the view of a side (position, colour,
    squares) that leaves its own pieces on `squares`, as it sees them, out of the count. `version` tells apart those of
    one name that a user's file has had, as compiled code and results depend on them; empty for the sets of Merino.
    `base` names the set that it is derived from, empty for none.
    """

    version = base = ""

    def __init__(
        self, name: str, views: Any = views, view_without: Any = view_without, terms: Iterable[Term] = ()
    ) -> None:
        self.name, self.views, self.view_without = name, views, view_without
        self._terms = list(terms)

    @overload
    def __getitem__(self, index: int) -> Term: ...

    @overload
    def __getitem__(self, index: slice) -> list[Term]: ...

    def __getitem__(self, index: int | slice) -> Term | list[Term]:
        return self._terms[index]

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def key(self) -> str:
        """Name and version, by which compiled code is kept."""
        return f"{self.name}-{self.version}" if self.version else self.name

    def term(
        self,
        name: str,
        group: Group,
        bounds: tuple[int, int],
        phase: Phase = Phase.ALWAYS,
        sign: int = 1,
        default: float | None = None,
        pawns_only: bool = False,
    ) -> Callable[[Callable[..., Any]], Any]:
        """Add the decorated count as the next term. Its docstring is the sentence that users read.

        Raises ValueError for a term of pawns alone that counts in one phase, as that depends on the pieces.
        """
        if pawns_only and phase is not Phase.ALWAYS:
            raise ValueError(f"{name} cannot depend on pawns alone: its phase depends on the pieces")

        def register(count: Callable[..., Any]) -> Any:
            sentence = " ".join((count.__doc__ or "").split())
            compiled = kernel(count)
            self._terms.append(Term(name, group, bounds, phase, sign, sentence, compiled, default, pawns_only))
            return compiled

        return register


TERMS = TermSet("greko2015")  # the default: the 27 of GreKo 2015 ML, filled by `terms`
