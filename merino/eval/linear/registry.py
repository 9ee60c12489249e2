"""What a term and a set of terms are. A set is filled by its `term` decorator; everything else is derived from it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

import numpy as np

from merino.core.compiled.jit import kernel
from merino.eval.linear.view import VIEW, look, meet

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
class TermTable:
    """A term with a number for each of its cells: a piece by its square, say, or by how many squares it reaches.

    Each cell is a `Term` of its own in the set, in a row and in this order, called by the table's name and the cell's.
    `total` is compiled: it takes a view, a function `at` and what that wants first, and returns the sum of
    at(cells, index of a cell, how much of it the side has). With `of`, the name of a set of the view such as "knights",
    it is asked for each of these pieces alone: it takes the view, the square and how many safe squares the piece
    attacks (0 for pawns), and returns the index of a cell and how much of it the piece is. `counts` names the term or
    table of the set whose count is that of all cells together, empty if that is the same for both sides, None if it is
    neither.
    """

    name: str
    group: Group
    sentence: str
    cells: tuple[str, ...]
    total: Any
    pawns_and_kings: bool = False
    counts: str | None = None
    of: str = ""
    parts: int = 1


@dataclass(frozen=True)
class Term:
    """One evaluation term.

    `count` is compiled: it takes a view of its set and returns how much of the term that side has (any real number,
    before phase and group multiplier), in so many `parts` of one; with `of` how much of it one piece is, as in a table.
    `bounds` are of the weight in centipawns. `sign` is the expected sign of the weight: 1 if more of the term should be
    good for its side, -1 if bad. `sentence` is the chess. `default` is the weight in a file that does not name the
    term, None for that of the file that comes with Merino. A new term takes 0, so that older files score as before.
    `pawns_and_kings` promises that the count depends on the pawns and kings of both sides alone: the search then
    remembers it by them. `table` is that which it is a cell of, None for a term that stands alone; a cell has no
    `count` of its own, as the table counts for all of them.
    """

    name: str
    group: Group
    bounds: tuple[int, int]
    phase: Phase
    sign: int
    sentence: str
    count: Any
    default: float | None = None
    pawns_and_kings: bool = False
    table: TermTable | None = None
    parts: int = 1
    of: str = ""


def to_read(terms: Sequence[Term]) -> Iterator[tuple[Term | TermTable, slice]]:
    """What a reader knows: terms that stand alone and tables, in order, each with the places of its weights."""
    first = 0
    while first < len(terms):
        table = terms[first].table
        last = first + (1 if table is None else len(table.cells))
        yield table or terms[first], slice(first, last)
        first = last


class TermSet(Sequence[Term]):
    """A named set of terms: all that a score is the sum of, in the order of their weights. Its first term is the pawn.

    `name` is the word by which a weights file names the set. `view` is the dtype of what its terms look at. `look` is a
    kernel (position, colour, squares, view, Pieces, counts) -> what these kernels count of all pieces of a side; it
    fills its view, but for its own pieces on `squares`, as it sees them. `meet`, a kernel too, fills what depends on
    the enemy's view (position, colour, view, enemy's). `version` distinguishes sets of one name that a user's file has
    had, as compiled code and results depend on them; empty for the sets of Merino. `base` names the set that it is
    derived from, empty for none. All counts of a set that `is_whole` are whole numbers of parts, in all phases, so that
    its sum is exact. `worth` has groups, and terms and tables by name, each with the Elo that is lost without it and
    half of its 95% interval, as measured with the weights that come with Merino.
    """

    version = base = ""

    def __init__(
        self,
        name: str,
        view: np.dtype = VIEW,
        look: Any = look,
        meet: Any = meet,
        terms: Iterable[Term] = (),
        is_whole: bool = False,
    ) -> None:
        self.name, self.view, self.look, self.meet, self.is_whole = name, view, look, meet, is_whole
        self._terms = list(terms)
        self.worth: dict[Group | str, tuple[int, int]] = {}

    def __getitem__(self, index: Any) -> Any:
        return self._terms[index]

    def __len__(self) -> int:
        return len(self._terms)

    def to_read(self) -> Iterator[tuple[Term | TermTable, slice]]:
        """What a reader knows of the set; see the function."""
        return to_read(self)

    def worth_of(self, what: Group | str) -> str:
        """What a group, or the term or table of this name, is worth: words to come after it, empty if not measured."""
        return ", worth {} +- {} Elo".format(*self.worth[what]) if what in self.worth else ""

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
        pawns_and_kings: bool = False,
        parts: int = 1,
        of: str = "",
    ) -> Callable[[Callable[..., Any]], Any]:
        """Add the decorated count as the next term. Its docstring is the sentence that users read.

        Raises ValueError for a term of pawns and kings alone that counts in one phase, as that depends on the pieces.
        """
        if pawns_and_kings and phase is not Phase.ALWAYS:
            raise ValueError(f"{name} cannot depend on pawns and kings alone: its phase depends on the pieces")

        def register(count: Callable[..., Any]) -> Any:
            sentence = " ".join((count.__doc__ or "").split())
            compiled = kernel(count)
            self._terms.append(
                Term(name, group, bounds, phase, sign, sentence, compiled, default, pawns_and_kings, None, parts, of)
            )
            return compiled

        return register

    def table(
        self,
        name: str,
        group: Group,
        bounds: tuple[int, int],
        cells: Iterable[str],
        default: float | None = None,
        pawns_and_kings: bool = False,
        counts: str | None = None,
        of: str = "",
    ) -> Callable[[Callable[..., Any]], Any]:
        """Add the decorated total as a `TermTable`, and its cells as the next terms.

        `counts` and `of` are as there, the rest as for `term`. The sentence of a cell is that of the table with its
        name.
        """

        def register(total: Callable[..., Any]) -> Any:
            sentence, compiled = " ".join((total.__doc__ or "").split()), kernel(total)
            table = TermTable(name, group, sentence, tuple(cells), compiled, pawns_and_kings, counts, of)
            for cell in table.cells:
                text = f"{sentence.removesuffix('.')}: {cell}."
                self._terms.append(
                    Term(f"{name}_{cell}", group, bounds, Phase.ALWAYS, 0, text, None, default, pawns_and_kings, table)
                )
            return compiled

        return register


TERMS = TermSet("greko2015")  # the default: the 27 of GreKo 2015 ML, filled by `terms`
