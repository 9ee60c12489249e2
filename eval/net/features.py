"""Feature sets: blocks combined by `+` and `*`, as in "ALL+H+V" and "KING*ALL", and their active features on a board.

A sum concatenates the tuples of its parts; a product has a tuple for each pair, active if both parts are. Every feature
set is reduced to one form, a sum of terms: an offset and some blocks, each with a stride. Indices are those of the
thesis (see `eval.net.blocks`), however the expression is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.eval.evaluation import EvaluationError
from merino.inner.eval.net.blocks import BLOCKS, FACTS_OF, active_of_block, fill_facts
from merino.inner.eval.net.view import VIEW_SIZE, look

MAX_FEATURES = 1 << 17  # features of a set
MAX_FACTORS = 3
MAX_TERMS = 64
MAX_ACTIVE = 1 << 14
SCRATCH = 1024  # more than any block has active at once

_NUMBERS = {name: number for number, name in enumerate(BLOCKS)}
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z_0-9]*)|([+*()])|(\S))")


class FeatureError(EvaluationError):
    """An expression that is not a feature set; the message says what is wrong and where."""


class Part(NamedTuple):
    """One summand of a feature set."""

    name: str
    size: int
    offset: int


class _Summand(NamedTuple):
    """Tuples of some blocks: their indices times strides, added to an offset."""

    offset: int
    factors: tuple[tuple[str, int], ...]  # block, stride


@dataclass(frozen=True)
class FeatureSet:
    """A feature set: its expression, its size, and its summands in order."""

    name: str
    size: int
    parts: tuple[Part, ...]
    terms: tuple[_Summand, ...]

    @cached_property
    def program(self) -> np.ndarray:
        """The input of `active_features`: int64[terms, 2 + 2 * MAX_FACTORS], offset, factors, (block, stride)."""
        rows = np.zeros((len(self.terms), 2 + 2 * MAX_FACTORS), dtype=np.int64)
        for row, term in zip(rows, self.terms, strict=True):
            row[:2] = term.offset, len(term.factors)
            for index, (block, stride) in enumerate(term.factors):
                row[2 + 2 * index : 4 + 2 * index] = _NUMBERS[block], stride
        return rows

    @cached_property
    def most(self) -> int:
        """The maximum number of features active at once."""
        return sum(int(np.prod([BLOCKS[block].most for block, _ in term.factors])) for term in self.terms)

    def active(self, positions: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The sorted indices of the active features of each of POSITION[n], from White's and from Black's view."""
        active = np.zeros((2, self.most), dtype=np.int32)
        counts = np.zeros(2, dtype=np.int64)
        found = []
        for index in range(len(positions)):
            _active(positions[index : index + 1], self.program, active, counts)
            white, black = (np.sort(row[:count]) for row, count in zip(active, counts, strict=True))
            found.append((white, black))
        return found

    def words(self, index: int) -> str:
        """The feature of this index in words."""
        for term in reversed(self.terms):
            rest, said = index - term.offset, []
            for block, stride in sorted(term.factors, key=lambda factor: -factor[1]):
                number, rest = divmod(rest, stride)
                if not 0 <= number < BLOCKS[block].size:
                    break
                said.append(BLOCKS[block].words(number))
            else:
                if rest == 0:
                    return " and ".join(said)
        raise IndexError(f"{self.name} has no feature {index}")


def features(expression: str) -> FeatureSet:
    """The feature set of an expression such as "ALL+H+V" or "KING*(ALL+H)"; raises FeatureError."""
    return _parsed(" ".join(expression.split()))


@cache
def _parsed(expression: str) -> FeatureSet:
    reader = _ExpressionReader(expression)
    parts = reader.whole()
    terms: list[_Summand] = []
    listed: list[Part] = []
    offset = 0
    for name, size, own in parts:
        listed.append(Part(name, size, offset))
        terms += [_Summand(offset + term.offset, term.factors) for term in own]
        offset += size
    found = FeatureSet("+".join(name for name, *_ in parts), offset, tuple(listed), tuple(terms))
    if found.size > MAX_FEATURES:
        raise FeatureError(f"'{found.name}' has {found.size} features; {MAX_FEATURES} is the most")
    if found.most > MAX_ACTIVE or len(terms) > MAX_TERMS or max(len(t.factors) for t in terms) > MAX_FACTORS:
        raise FeatureError(f"'{found.name}' multiplies too many blocks: at most {MAX_FACTORS}, with few active tuples")
    return found


_Parsed = tuple[str, int, tuple[_Summand, ...]]  # name, size, terms


class _ExpressionReader:
    """Reads an expression: sums of products of blocks and of sums in parentheses."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def whole(self) -> list[_Parsed]:
        """The summands of the expression."""
        found = self._summands()
        if self._next():
            self._fail("an operator is expected")
        return found

    def _summands(self) -> list[_Parsed]:
        found = self._product()
        while self._next() == "+":
            self._take()
            found += self._product()
        return found

    def _product(self) -> list[_Parsed]:
        """The text between two `+`: the summands of a sum in parentheses, else one summand."""
        found = self._factor()
        while self._next() == "*":
            self._take()
            found = [_times(_joined(found), _joined(self._factor()))]
            if found[0][1] > MAX_FEATURES:
                self._fail(f"so far {found[0][1]} features, and {MAX_FEATURES} is the most")
        return found

    def _factor(self) -> list[_Parsed]:
        word = self._next()
        if word == "(":
            self._take()
            found = self._summands()
            if self._next() != ")":
                self._fail("a closing parenthesis is expected")
            self._take()
            return found
        name = word.upper()
        if name not in BLOCKS:
            known = ", ".join(BLOCKS)
            self._fail(f"no block '{word}' (there are {known})" if name.isidentifier() else "a block is expected")
        self._take()
        return [(name, BLOCKS[name].size, (_Summand(0, ((name, 1),)),))]

    def _next(self) -> str:
        """The token that follows, "" at the end."""
        found = _TOKEN.match(self._text, self._at)
        return found[found.lastindex or 0] if found else ""

    def _take(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        assert found
        self._at = found.end()

    def _fail(self, reason: str) -> None:
        found = _TOKEN.match(self._text, self._at)
        place = f"at column {found.start(found.lastindex or 0) + 1}" if found else "at the end"
        raise FeatureError(f"'{self._text[:60]}' is not a feature set: {place}, {reason}")


def _joined(parts: list[_Parsed]) -> _Parsed:
    """One summand from several."""
    if len(parts) == 1:
        return parts[0]
    terms: list[_Summand] = []
    offset = 0
    for _, size, own in parts:
        terms += [_Summand(offset + term.offset, term.factors) for term in own]
        offset += size
    return f"({'+'.join(name for name, *_ in parts)})", offset, tuple(terms)


def _times(first: _Parsed, second: _Parsed) -> _Parsed:
    """The product: a pair (a, b) has the index a * size of the second + b."""
    size = second[1]
    terms = [
        _Summand(a.offset * size + b.offset, tuple((block, stride * size) for block, stride in a.factors) + b.factors)
        for a in first[2]
        for b in second[2]
    ]
    return f"{first[0]}*{second[0]}", first[1] * size, tuple(terms)


@kernel
def active_features(view, program, scratch, active):
    """Fill `active` with the indices of the active features of a view; their number. `scratch` is int32[SCRATCH].

    The view is given the facts that it lacks.
    """
    total, facts = 0, 0
    for term in range(len(program)):
        for factor in range(program[term, 1]):
            facts |= FACTS_OF[program[term, 2 + 2 * factor]]
    fill_facts(view, facts)
    for term in range(len(program)):
        count = 1
        active[total] = program[term, 0]
        for factor in range(program[term, 1]):
            stride = program[term, 3 + 2 * factor]
            found = active_of_block(program[term, 2 + 2 * factor], view, scratch)
            for other in range(found - 1, -1, -1):
                for known in range(count):
                    active[total + other * count + known] = active[total + known] + stride * scratch[other]
            count *= found
        total += count
    return total


@entry
def _active(positions, program, active, counts):
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    for side in range(2):
        look(positions[0], side, view)
        counts[side] = active_features(view, program, scratch, active[side])
