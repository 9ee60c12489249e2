"""Feature sets: blocks combined by `+` and `*`, as in "ALL+H+V" and "KING*ALL", and their active features on a board.

A sum concatenates the tuples of its parts; a product has a tuple for each pair, active if both parts are. Every feature
set is reduced to one form, a sum of terms: an offset and some blocks, each with a stride. Indices are those of the
thesis (see `eval.net.blocks`), however the expression is written. `MIRRORED(...)` are the same features on a board that
is mirrored left to right where the own king is on the files e to h, so that it is always on the files a to d.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import NamedTuple, cast

import numpy as np

from merino.core.board.bitboard import KING, SQUARES
from merino.core.compiled.jit import entry, kernel
from merino.eval.evaluation import EvaluationError
from merino.eval.net.blocks import BLOCKS, FACTS_OF, Block, active_of_block, fill_facts
from merino.eval.net.kings import KING8_MAP, KINGS, KingBlock, king_block
from merino.eval.net.view import OWN, VIEW_SIZE, king_in, look, mirror_view, pieces_in

MAX_FEATURES = 1 << 17  # features of a set
MAX_FACTORS = 3
MAX_TERMS = 64
MAX_DEPTH = 32  # of parentheses
MAX_ACTIVE = 1 << 14
SCRATCH = 1024  # more than any block has active at once

MIRRORED = "MIRRORED"  # before a set in parentheses
NO_KING = 64  # the square of a king that is missing
RIGHT = 4  # of a square: it is on one of the files e to h

# A row of a program: how many factors are not of the own king, whether there are others, (block, stride, is mirrored)
# for each of the former, and from KINGS on the offset and all factors of the own king, by its square.
MOVING, NEEDS_KING, FACTORS = range(3)
KING_SQUARES = FACTORS + 3 * MAX_FACTORS
PROGRAM_WIDTH = KING_SQUARES + 64

_NUMBERS = {name: number for number, name in enumerate(BLOCKS)}
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z_0-9]*(?:\[[^\]\s]*\]?)?)|([+*()])|(\S))")


class FeatureError(EvaluationError):
    """An expression that is not a feature set; the message says what is wrong and where."""


class Part(NamedTuple):
    """One summand of a feature set."""

    name: str
    size: int
    offset: int


class Factor(NamedTuple):
    """A block in a product: what its indices are multiplied with, and whether it sees the mirrored board."""

    block: str
    stride: int
    is_mirrored: bool = False


class Summand(NamedTuple):
    """Tuples of some blocks: their indices times strides, added to an offset."""

    offset: int
    factors: tuple[Factor, ...]

    @property
    def moving(self) -> list[Factor]:
        """The factors that do not follow from the own king alone."""
        return [factor for factor in self.factors if factor.block in BLOCKS]

    @property
    def kings(self) -> np.ndarray:
        """The offset and what all factors of the own king add to it, by the king's square, int64[64]."""
        found = np.full(64, self.offset, dtype=np.int64)
        for name, stride, is_mirrored in self.factors:
            if block := king_block(name):
                places = [block.places[square ^ 7 if is_mirrored and square & RIGHT else square] for square in SQUARES]
                found += stride * np.array(places)
        return found


@dataclass(frozen=True)
class FeatureSet:
    """A feature set: its expression, its size, and its summands in order."""

    name: str
    size: int
    parts: tuple[Part, ...]
    terms: tuple[Summand, ...]

    @cached_property
    def program(self) -> np.ndarray:
        """The input of `active_features`: int64[terms, PROGRAM_WIDTH]."""
        rows = np.zeros((len(self.terms), PROGRAM_WIDTH), dtype=np.int64)
        for row, term in zip(rows, self.terms, strict=True):
            row[MOVING], row[NEEDS_KING] = len(term.moving), len(term.moving) < len(term.factors)
            for index, (block, stride, is_mirrored) in enumerate(term.moving):
                row[FACTORS + 3 * index : FACTORS + 3 * index + 3] = _NUMBERS[block], stride, is_mirrored
            row[KING_SQUARES:] = term.kings
        return rows

    @cached_property
    def most(self) -> int:
        """The maximum number of features active at once."""
        return sum(prod(block_of(factor.block).most for factor in term.factors) for term in self.terms)

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
            for block, stride, is_mirrored in sorted(term.factors, key=lambda factor: -factor.stride):
                number, rest = divmod(rest, stride)
                if not 0 <= number < block_of(block).size:
                    break
                said.append(block_of(block).words(number) + (" (mirrored)" if is_mirrored else ""))
            else:
                if rest == 0:
                    return " and ".join(said)
        raise IndexError(f"{self.name} has no feature {index}")


def block_of(name: str) -> Block | KingBlock:
    """The block of a name that has been read."""
    return BLOCKS[name] if name in BLOCKS else cast(KingBlock, king_block(name))


def features(expression: str) -> FeatureSet:
    """The feature set of an expression such as "ALL+H+V" or "KING*(ALL+H)"; raises FeatureError."""
    return _parsed(" ".join(expression.split()))


@cache
def _parsed(expression: str) -> FeatureSet:
    reader = _ExpressionReader(expression)
    parts = reader.whole()
    terms: list[Summand] = []
    listed: list[Part] = []
    offset = 0
    for name, size, own in parts:
        listed.append(Part(name, size, offset))
        terms += [Summand(offset + term.offset, term.factors) for term in own]
        offset += size
    found = FeatureSet("+".join(name for name, *_ in parts), offset, tuple(listed), tuple(terms))
    if found.size > MAX_FEATURES:
        raise FeatureError(f"'{found.name}' has {found.size} features; {MAX_FEATURES} is the most")
    if found.most > MAX_ACTIVE or len(terms) > MAX_TERMS or max(len(t.factors) for t in terms) > MAX_FACTORS:
        raise FeatureError(f"'{found.name}' multiplies too many blocks: at most {MAX_FACTORS}, with few active tuples")
    return found


_Parsed = tuple[str, int, tuple[Summand, ...]]  # name, size, terms


class _ExpressionReader:
    """Reads an expression: sums of products of blocks and of sums in parentheses."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

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
            if self._depth == MAX_DEPTH:
                self._fail(f"more than {MAX_DEPTH} parentheses are open")
            self._take()
            self._depth += 1
            found = self._summands()
            self._depth -= 1
            if self._next() != ")":
                self._fail("a closing parenthesis is expected")
            self._take()
            return found
        before, bracket, behind = word.partition("[")
        name = before.upper() + bracket + behind
        if name == MIRRORED:
            self._take()
            if self._next() != "(":
                self._fail("an opening parenthesis is expected")
            return [_mirrored(self._factor())]
        if name not in BLOCKS and not king_block(name):
            self._fail(_unknown(word, before.upper()))
        self._take()
        return [(name, block_of(name).size, (Summand(0, (Factor(name, 1),)),))]

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


def _unknown(word: str, name: str) -> str:
    """Why a word is no block; `name` is what stands before a bracket."""
    if not name.isidentifier():
        return "a block is expected"
    if "[" in word and name != "KING":
        return f"only KING has a map, not {name}"
    if "[" in word:
        return f"a map of the own king is KING[{KING8_MAP}], for instance"
    return f"no block '{word}' (there are {', '.join([*BLOCKS, *KINGS])})"


def _mirrored(parts: list[_Parsed]) -> _Parsed:
    """The same features on the mirrored board, as one summand."""
    name = f"{MIRRORED}({'+'.join(name for name, *_ in parts)})"
    _, size, terms = _joined(parts)
    turned = [tuple(factor._replace(is_mirrored=True) for factor in term.factors) for term in terms]
    return name, size, tuple(Summand(term.offset, factors) for term, factors in zip(terms, turned, strict=True))


def _joined(parts: list[_Parsed]) -> _Parsed:
    """One summand from several."""
    if len(parts) == 1:
        return parts[0]
    terms: list[Summand] = []
    offset = 0
    for _, size, own in parts:
        terms += [Summand(offset + term.offset, term.factors) for term in own]
        offset += size
    return f"({'+'.join(name for name, *_ in parts)})", offset, tuple(terms)


def _times(first: _Parsed, second: _Parsed) -> _Parsed:
    """The product: a pair (a, b) has the index a * size of the second + b."""
    size = second[1]
    terms = []
    for a in first[2]:
        wide = [factor._replace(stride=factor.stride * size) for factor in a.factors]
        terms += [Summand(a.offset * size + b.offset, (*wide, *b.factors)) for b in second[2]]
    return f"{first[0]}*{second[0]}", first[1] * size, tuple(terms)


@kernel
def active_features(view, program, scratch, active):
    """Fill `active` with the indices of the active features of a view; their number. `scratch` is int32[SCRATCH].

    The view is given the facts that it lacks, and may be mirrored left to right.
    """
    total, facts, is_mirrored = 0, 0, False
    king = king_in(view, OWN) if pieces_in(view, KING, OWN) else NO_KING
    for term in range(len(program)):
        if program[term, NEEDS_KING] and king == NO_KING:
            continue
        count = 1
        active[total] = program[term, KING_SQUARES + king % NO_KING]
        for factor in range(FACTORS, FACTORS + 3 * program[term, MOVING], 3):
            block, stride = program[term, factor], program[term, factor + 1]
            if is_mirrored != (program[term, factor + 2] != 0 and king & RIGHT != 0):
                mirror_view(view)
                is_mirrored, facts = not is_mirrored, 0
            fill_facts(view, FACTS_OF[block] & ~facts)
            facts |= FACTS_OF[block]
            found = active_of_block(block, view, scratch)
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
