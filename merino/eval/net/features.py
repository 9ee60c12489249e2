"""Feature sets: blocks combined by `+` and `*`, as in "ALL+H+V" and "KING*ALL", and their active features on a board.

A sum concatenates the tuples of its parts; a product has a tuple for each pair, active if both parts are. Every feature
set is reduced to one form, a sum of terms: an offset and some blocks, each with a stride. Indices are those of the
thesis (see `eval.net.blocks`), however the expression is written. `MIRRORED(...)` are the same features on a board that
is mirrored left to right where the friendly king is on the files e to h, so that it is always on the files a to d.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from math import prod
from typing import NamedTuple, cast

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING, SQUARES
from merino.core.compiled.jit import entry, kernel
from merino.eval.evaluation import EvaluationError
from merino.eval.net import blocks
from merino.eval.net.view import OWN, VIEW_SIZE, king_in, look, mirror_view, pieces_in

MAX_FEATURES = 1 << 17  # features of a set
MAX_FACTORS = 3
MAX_TERMS = 64
MAX_OPERATORS = 400  # and parentheses of an expression
MAX_ACTIVE = 1 << 14
SCRATCH = 1024  # more than any block has active at once

MIRRORED = "MIRRORED"  # before a set in parentheses
NO_KING = 64  # the square of a king that is missing
RIGHT = 4  # of a square: it is on one of the files e to h

# A row of a program: how many factors are not of the friendly king, whether there are others, (block, stride, is
# mirrored) for each of the former, and from KINGS on the offset and all factors of the friendly king, by its square.
MOVING, NEEDS_KING, FACTORS = range(3)
KING_SQUARES = FACTORS + 3 * MAX_FACTORS
PROGRAM_WIDTH = KING_SQUARES + 64

_MAP = re.compile(r"\[([0-9A-Za-z/]*)\]")


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
        """The factors that do not follow from the friendly king alone."""
        return [factor for factor in self.factors if factor.block in blocks.BLOCKS]

    @property
    def kings(self) -> np.ndarray:
        """The offset and what all factors of the friendly king add to it, by the king's square, int64[64]."""
        found = np.full(64, self.offset, dtype=np.int64)
        for name, stride, is_mirrored in self.factors:
            if block := blocks.king_block(name):
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
                row[FACTORS + 3 * index : FACTORS + 3 * index + 3] = blocks.NUMBERS[block], stride, is_mirrored
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


def block_of(name: str) -> blocks.Block | blocks.KingBlock:
    """The block of a name that has been read."""
    return blocks.BLOCKS[name] if name in blocks.BLOCKS else cast(blocks.KingBlock, blocks.king_block(name))


def features(expression: str) -> FeatureSet:
    """The feature set of an expression such as "ALL+H+V" or "KING*(ALL+H)"; raises FeatureError."""
    return _parsed(" ".join(expression.split()))


class _Parsed(NamedTuple):
    """A piece of an expression that has been read."""

    name: str
    size: int
    terms: tuple[Summand, ...]


@cache
def _parsed(expression: str) -> FeatureSet:
    parts = _summands(expression)
    offsets = accumulate((part.size for part in parts), initial=0)
    listed = tuple(Part(part.name, part.size, offset) for part, offset in zip(parts, offsets, strict=False))
    _, size, terms = _joined(parts)
    found = FeatureSet("+".join(part.name for part in parts), size, listed, terms)
    if found.size > MAX_FEATURES:
        raise FeatureError(f"'{found.name}' has {found.size} features; {MAX_FEATURES} is the most")
    if found.most > MAX_ACTIVE or len(terms) > MAX_TERMS or max(len(t.factors) for t in terms) > MAX_FACTORS:
        raise FeatureError(f"'{found.name}' multiplies too many blocks: at most {MAX_FACTORS}, with few active tuples")
    return found


def _summands(text: str) -> list[_Parsed]:
    """The summands of an expression: sums of products of blocks and of sums in parentheses. Raises FeatureError."""
    operators = sum(map(text.count, "+*("))
    if operators > MAX_OPERATORS:
        raise _fault(text, f"it has {operators} operators and parentheses, and {MAX_OPERATORS} are the most")
    try:  # Python's own parser takes it apart; a map is written as a part of the block's name
        tree = ast.parse(_MAP.sub(lambda found: f"__{found[1].replace('/', '_')}", text), mode="eval")
    except (SyntaxError, ValueError):
        raise _fault(text, "a block or an operator is missing, or a parenthesis") from None

    def summands(node: ast.expr) -> list[_Parsed]:
        match node:
            case ast.BinOp(left, ast.Add(), right):
                return summands(left) + summands(right)
            case ast.BinOp(left, ast.Mult(), right):
                product = _times(_joined(summands(left)), _joined(summands(right)))
                if product.size > MAX_FEATURES:
                    raise _fault(text, f"'{product.name}' has {product.size}, and {MAX_FEATURES} is the most")
                return [product]
            case ast.Call(ast.Name(word), [inside], []) if word.upper() == MIRRORED:
                return [_mirrored(summands(inside))]
            case ast.Name(word):
                before, is_map, drawn = word.partition("__")
                name = before.upper() + (f"[{drawn.replace('_', '/')}]" if is_map else "")
                if name in blocks.BLOCKS or blocks.king_block(name):
                    return [_Parsed(name, block_of(name).size, (Summand(0, (Factor(name, 1),)),))]
                known = (
                    f"there are {', '.join([*blocks.BLOCKS, *blocks.KINGS])}, and maps such as KING[{blocks.KING8_MAP}]"
                )
                raise _fault(text, f"no block '{name}' ({known})")
        raise _fault(text, "a block is expected")

    return summands(tree.body)


def _fault(text: str, reason: str) -> FeatureError:
    return FeatureError(f"'{text[:60]}' is not a feature set: {reason}")


def _mirrored(parts: list[_Parsed]) -> _Parsed:
    """The same features on the mirrored board, as one summand."""
    name = f"{MIRRORED}({'+'.join(part.name for part in parts)})"
    _, size, terms = _joined(parts)
    turned = [tuple(factor._replace(is_mirrored=True) for factor in term.factors) for term in terms]
    return _Parsed(name, size, tuple(Summand(term.offset, each) for term, each in zip(terms, turned, strict=True)))


def _joined(parts: list[_Parsed]) -> _Parsed:
    """One summand from several."""
    if len(parts) == 1:
        return parts[0]
    terms: list[Summand] = []
    offset = 0
    for _, size, own in parts:
        terms += [Summand(offset + term.offset, term.factors) for term in own]
        offset += size
    return _Parsed(f"({'+'.join(part.name for part in parts)})", offset, tuple(terms))


def _times(first: _Parsed, second: _Parsed) -> _Parsed:
    """The product: a pair (a, b) has the index a * size of the second + b."""
    terms = []
    for a in first.terms:
        wide = [factor._replace(stride=factor.stride * second.size) for factor in a.factors]
        terms += [Summand(a.offset * second.size + b.offset, (*wide, *b.factors)) for b in second.terms]
    return _Parsed(f"{first.name}*{second.name}", first.size * second.size, tuple(terms))


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
            blocks.fill_facts(view, blocks.FACTS_OF[block] & ~facts)
            facts |= blocks.FACTS_OF[block]
            found = blocks.active_of_block(block, view, scratch)
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


# Features that are pieces on squares. A piece-value net has an output row for each piece but the king on each square,
# from its owner's view: place * 5 + role, with the place of the feature in ALL.
PIECES = 14  # mailbox codes of pieces
PIECE_ROWS = 64 * KING
NO_ROW = -1


def _features_of_pieces() -> np.ndarray:
    """The feature of ALL of each piece on each square, int32[2, 14, 64], by side of the view; 0 for no piece."""
    side, piece, square = np.ogrid[:2, :PIECES, :64]
    seen, role = square ^ 56 * side, piece & 7
    features_of_all = 12 * (8 * (seen & 7) + (seen >> 3)) + 2 * role + (piece // BLACK_PIECE ^ side)
    return np.where(role < EMPTY, features_of_all, 0).astype(np.int32)


def _row_of_feature(feature: int) -> int:
    place, piece = divmod(feature, 12)
    role, is_other = divmod(piece, 2)
    return NO_ROW if is_other or role == KING else place * KING + role


PIECE_FEATURES = _features_of_pieces()
# The row of a piece, by its feature of ALL from its owner's view; NO_ROW for kings and the other side's pieces.
ROW_OF_FEATURE = np.array([_row_of_feature(feature) for feature in range(768)], dtype=np.int32)


def is_by_piece(wanted: FeatureSet) -> bool:
    """Whether each feature is one piece on one square."""
    return [term.factors for term in wanted.terms] == [(Factor("ALL", 1),)]


def is_by_piece_and_king(wanted: FeatureSet) -> bool:
    """Whether each feature is one piece on one square, for some squares of the friendly king or for all."""
    return all([factor.block for factor in term.moving] == ["ALL"] for term in wanted.terms)


def piece_features(term: Summand) -> np.ndarray:
    """The features of pieces in a summand of such a set, less what the friendly king adds: int32[2, 2, 14 * 64].

    By the side of the view, by whether its king is on the files e to h, and by piece << 6 | square.
    """
    (factor,) = term.moving
    mirrored = PIECE_FEATURES[:, :, np.arange(64) ^ 7] if factor.is_mirrored else PIECE_FEATURES
    return factor.stride * np.stack([PIECE_FEATURES, mirrored], axis=1).reshape(2, 2, -1)
