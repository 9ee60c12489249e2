"""The compiled forms of a set of terms: its score in the search, its sum, and the counts of one side.

score = sum over terms of weight * feature, where feature = White's count - Black's, each times phase share and group
multiplier. All are made from the set, compiled once for it, and called through their addresses, so that code which
uses a set is compiled for all of them together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError

from merino.inner.core.board.bitboard import U64
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry, in_python, kernel
from merino.inner.core.compiled.memory import array_at
from merino.inner.core.compiled.recursion import counts_address, evaluation_address, sum_address
from merino.inner.eval.evaluation import EvaluationError
from merino.inner.eval.linear.pawn_table import pawn_stage_key, pawn_table_at, place_of_pawns
from merino.inner.eval.linear.registry import Term, TermSet
from merino.inner.eval.material import middlegame_share, stage_of

# Of what numba says: its colours, the functions that it names, and the line that says what is wrong.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FUNCTION = re.compile(r"<function (\w+) at ")
_REASON = re.compile(r"(?:Failed in nopython mode pipeline[^\n]*\n\s*)+([^\n]+)")
_MAX_REASON = 150  # characters


class Addresses(NamedTuple):
    """The addresses of a set's kernels, uint64, for `call_sum` and `call_counts`.

    `weighted_sum` (position, weights of its stage) -> White's score before rules and rounding. `side_counts` (position,
    colour, squares, out) fills out, float64[terms], with the side's counts times phase share and group multiplier; its
    own pieces on `squares`, as it sees them, do not count.
    """

    weighted_sum: np.uint64
    side_counts: np.uint64


def _for_each_term(
    terms: TermSet, arguments: str, line: str, start: str = "", end: str = "", wanted: Callable[[Term], bool] = bool
) -> Any:
    """A kernel with `line` for each wanted term in order: {index}, {count}, {phase} and {multiplier} are the term's.

    numba compiles such lines in half the time of a loop over the functions that count, which it would unroll itself.
    """
    counts = {f"count_{index}": term.count for index, term in enumerate(terms)}
    lines = [
        line.format(index=index, count=count, phase=int(term.phase), multiplier=term.group.multiplier)
        for index, (count, term) in enumerate(zip(counts, terms, strict=True))
        if wanted(term)
    ]
    source = "\n    ".join([f"def each_term({arguments}):", *filter(None, [start, *lines, end])])
    exec(compile(source, f"<the terms: {line}>", "exec"), counts)
    return kernel(counts["each_term"])


@kernel
def phase_shares(side_view):
    """How much a term of each `Phase` counts for a side, by the pieces that its opponent has left."""
    middlegame = middlegame_share(side_view.enemy_units)
    return 1.0, middlegame, 1.0 - middlegame


class _PartialSums(NamedTuple):
    """Kernels (views and phase shares of both sides, weights) -> White's score by some of the terms, float64."""

    pawns: Any  # the terms that depend on pawns alone
    others: Any


@cache
def _sums_of(terms: TermSet) -> _PartialSums:
    arguments = "white, black, white_shares, black_shares, weights"
    line = (
        "score += weights[{index}] * "
        "({multiplier} * (white_shares[{phase}] * {count}(white) - black_shares[{phase}] * {count}(black)))"
    )
    start, end = "score = 0.0", "return score"
    return _PartialSums(
        pawns=_for_each_term(terms, arguments, line, start, end, wanted=lambda term: term.pawns_only),
        others=_for_each_term(terms, arguments, line, start, end, wanted=lambda term: not term.pawns_only),
    )


@cache
def weighted_sum_of(terms: TermSet) -> Any:
    """The kernel (position, weights) -> White's score before rules and rounding, float64.

    `weights` is float64[terms], those of the position's stage.
    """
    by_pawns, by_others = _sums_of(terms)
    views = terms.views

    @kernel
    def weighted_sum(position, weights):
        white, black = views(position)
        white_shares, black_shares = phase_shares(white), phase_shares(black)
        pawns = by_pawns(white, black, white_shares, black_shares, weights)
        return pawns + by_others(white, black, white_shares, black_shares, weights)

    return weighted_sum


@cache
def _remembered_sum_of(terms: TermSet) -> Any:
    """The kernel (position, stage, weights, address of the pawn table) -> what `weighted_sum_of` returns."""
    by_pawns, by_others = _sums_of(terms)
    views = terms.views

    @kernel
    def remembered_sum(position, stage, weights, pawn_table):
        white, black = views(position)
        white_shares, black_shares = phase_shares(white), phase_shares(black)
        keys, scores = pawn_table_at(pawn_table)
        key = pawn_stage_key(position, stage)
        place = place_of_pawns(key)
        if keys[place] != key:
            keys[place], scores[place] = key, by_pawns(white, black, white_shares, black_shares, weights)
        return scores[place] + by_others(white, black, white_shares, black_shares, weights)

    return remembered_sum


def has_pawn_terms(terms: TermSet) -> bool:
    """Whether the search remembers some terms of the set by pawns alone, in the table of `pawn_table`."""
    return any(term.pawns_only for term in terms)


def install(terms: TermSet, records: np.ndarray) -> None:
    """Let these search records use this set; raises EvaluationError for a term of the user's that does not compile."""
    with _compiling(terms):
        install_of(terms)(records)


@contextmanager
def _compiling(terms: TermSet) -> Iterator[None]:
    """Report what numba says of a user's terms in a line, as an EvaluationError."""
    try:
        yield
    except NumbaError as error:
        said = _COLOURS.sub("", str(error))
        names = {in_python(term.count).__name__: f"the term {term.name}" for term in terms}
        culprit = next((names[name] for name in _FUNCTION.findall(said) if name in names), f"the set '{terms.name}'")
        reason = (_REASON.findall(said) or [said])[-1].strip()
        raise EvaluationError(f"{culprit} does not compile: {reason[:_MAX_REASON]}") from error


@cache
def install_of(terms: TermSet) -> Any:
    """The entry (search record) that lets it use this set; `evaluation_data` are the weights of each stage in turn.

    `accumulators` is the address of its pawn table, if the set `has_pawn_terms`.
    """
    weighted_sum, number, row_bytes = weighted_sum_of(terms), len(terms), U64(8 * len(terms))
    remembers, remembered_sum = has_pawn_terms(terms), _remembered_sum_of(terms)

    @kernel
    def white_score(s, ply):
        """White's score at `ply` of a search record before draw rules, float64."""
        position = s.positions[ply]
        stage = stage_of(position)
        row = s.evaluation_data + U64(stage) * row_bytes  # chosen once, as the sum has no stages
        weights = array_at(row, np.float64, number)
        if remembers:
            return remembered_sum(position, stage, weights, s.accumulators)
        return weighted_sum(position, weights)

    @entry(of=terms.key)
    def install(records):
        s = records[0]
        s.evaluation = evaluation_address(white_score, s)

    return install


@cache
def addresses_of(terms: TermSet) -> Addresses:
    """Where the kernels of a set are; compiles them if they are not on the disk."""
    weighted_sum, view_without = weighted_sum_of(terms), terms.view_without
    fill_counts = _for_each_term(
        terms,
        "side_view, shares, out",
        "out[{index}] = {multiplier} * shares[{phase}] * {count}(side_view)",
    )

    @kernel
    def side_counts(position, colour, squares, out):
        side_view = view_without(position, colour, squares)
        fill_counts(side_view, phase_shares(side_view), out)
        return 0

    @entry(of=terms.key)
    def link(positions, out, addresses):
        addresses[0] = sum_address(weighted_sum, positions[0], out)
        addresses[1] = counts_address(side_counts, positions[0], out)

    found = np.zeros(2, dtype=np.uint64)
    with _compiling(terms):
        link(np.zeros(1, dtype=POSITION), np.zeros(len(terms)), found)
    return Addresses(found[0], found[1])
