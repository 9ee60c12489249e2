"""The compiled forms of a set of terms: its score in the search, its sum, and the counts of one side.

score = sum over terms of weight * feature, where feature = White's count - Black's, each times phase share and group
multiplier. All are made from the set, compiled once for it, and called through their addresses, so that code which
uses a set is compiled for all of them together.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import merino.eval.linear.terms  # noqa: F401  (fills the default set)
from merino.core.board.bitboard import BLACK, U64, WHITE, ZERO
from merino.core.board.position import POSITION, king_square
from merino.core.compiled import memory
from merino.core.compiled.jit import CompilationError, entry, in_python, kernel
from merino.eval import evaluation, material
from merino.eval.linear import phases, registry

# The pawn hash table: the sum of the terms that look at pawns and kings alone, kept by these and the stage. Pawns and
# kings rarely move, so most positions of a search have those of an earlier one. Each thread has a table of its own.

BITS = 13
ENTRIES = 1 << BITS
BYTES = 16 * ENTRIES  # a key and a score for each
_BELOW_PLACE = U64(64 - BITS)
_SCORES = U64(8 * ENTRIES)  # the scores lie behind the keys
_SPREAD = U64(0x9E3779B97F4A7C15)  # odd, without a pattern: the same pawns with other kings or stages lie apart


@kernel(makes_arrays=True)
def pawn_table_at(address):
    """The keys, uint64[ENTRIES], and the scores, float64[ENTRIES], of the table at `address`."""
    return memory.array_at(address, np.uint64, ENTRIES), memory.array_at(address + _SCORES, np.float64, ENTRIES)


@kernel
def pawn_king_key(position, stage):
    """The key of the position's pawns and kings at a stage of the game, uint64."""
    kings = king_square(position, WHITE) << 6 | king_square(position, BLACK)
    return position.pawn_key ^ U64(stage << 12 | kings) * _SPREAD


@kernel
def place_of_pawns(key):
    """The only place in the table where the score of a key may be."""
    return np.int64(key >> _BELOW_PLACE)


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


def _count_of(each: registry.Term | registry.TermTable) -> Any:
    """What counts a term or a table."""
    return each.total if isinstance(each, registry.TermTable) else each.count


def _for_each_term(
    terms: registry.TermSet,
    arguments: str,
    of_term: str,
    of_table: str,
    wanted: Callable[[registry.Term | registry.TermTable], bool] = lambda _: True,
    **names: Any,
) -> Any:
    """A kernel (arguments, total) -> total, with a line for each wanted term or table in order, which changes `total`.

    What stands in braces is filled in: {index} is the place of its first weight, {size} the number of them, {phase},
    {multiplier} and {count}, which counts it, are the term's. The lines may use `names`. numba compiles them in half
    the time of a loop over the functions that count, which it would unroll itself.
    """
    lines, known = [f"def each_term({arguments}, total):"], names
    for each, places in filter(lambda pair: wanted(pair[0]), terms.to_read()):
        name, is_term = f"count_{places.start}", isinstance(each, registry.Term)
        known[name] = _count_of(each)
        filled = (of_term if is_term else of_table).format(
            index=places.start,
            size=places.stop - places.start,
            count=name,
            phase=int(each.phase) if isinstance(each, registry.Term) else 0,
            multiplier=each.group.multiplier,
        )
        lines.append(filled)
    exec(compile("\n    ".join([*lines, "return total"]), f"<the terms: {of_term}>", "exec"), known)
    return kernel(known["each_term"])


@kernel
def _weighed_at(cells, index, amount):
    """An `at` of tables: so much of a cell, times its weight. `cells` are the weights, the first place, the size."""
    weights, first, _ = cells
    return amount * weights[first + index]


@kernel
def _weighed_inside(cells, index, amount):
    """The same for tables of a user, who may ask for a cell that a table lacks: it is the nearest that it has."""
    weights, first, size = cells
    return amount * weights[first + min(max(index, 0), size - 1)]


@kernel
def _counted_at(cells, index, amount):
    """An `at` of tables that notes so much of a cell, times a share: `cells` are out, first place, size, share.

    A cell that the table lacks makes its first one NaN.
    """
    out, first, size, share = cells
    if 0 <= index < size:
        out[first + index] += amount * share
    else:
        out[first] = np.nan
    return 0.0


@kernel
def phase_shares(side_view):
    """How much a term of each `Phase` counts for a side, by the pieces that its opponent has left."""
    middlegame = material.middlegame_share(side_view.enemy_units)
    return 1.0, middlegame, 1.0 - middlegame


@cache
def _kernels_of(terms: registry.TermSet) -> tuple[Any, Any]:
    """Kernels -> White's score before rules and rounding, float64, by `weights` of the position's stage.

    (position, weights), and for the search (position, stage, weights, address of the pawn table).
    """
    lines = (
        "white, black, white_shares, black_shares, weights",
        "total += weights[{index}] * "
        "({multiplier} * (white_shares[{phase}] * {count}(white) - black_shares[{phase}] * {count}(black)))",
        "total += {multiplier} * ({count}(white, weighed_at, (weights, {index}, {size})) - "
        "{count}(black, weighed_at, (weights, {index}, {size})))",
    )
    weighed_at, views = _weighed_inside if terms.version else _weighed_at, terms.views
    by_pawns = _for_each_term(terms, *lines, lambda each: each.pawns_and_kings, weighed_at=weighed_at)
    by_others = _for_each_term(terms, *lines, lambda each: not each.pawns_and_kings, weighed_at=weighed_at)

    @kernel
    def weighted_sum(position, weights):
        white, black = views(position)
        white_shares, black_shares = phase_shares(white), phase_shares(black)
        pawns = by_pawns(white, black, white_shares, black_shares, weights, 0.0)
        return pawns + by_others(white, black, white_shares, black_shares, weights, 0.0)

    @kernel
    def remembered_sum(position, stage, weights, pawn_table):
        white, black = views(position)
        white_shares, black_shares = phase_shares(white), phase_shares(black)
        keys, scores = pawn_table_at(pawn_table)
        key = pawn_king_key(position, stage)
        place = place_of_pawns(key)
        if keys[place] != key:
            keys[place], scores[place] = key, by_pawns(white, black, white_shares, black_shares, weights, 0.0)
        return scores[place] + by_others(white, black, white_shares, black_shares, weights, 0.0)

    return weighted_sum, remembered_sum


@contextmanager
def _compiling(terms: registry.TermSet) -> Iterator[None]:
    """Report what numba says of a user's terms in a line, as an EvaluationError."""
    try:
        yield
    except CompilationError as error:
        said = _COLOURS.sub("", str(error))
        names = {in_python(_count_of(each)).__name__: f"the term {each.name}" for each, _ in terms.to_read()}
        culprit = next((names[name] for name in _FUNCTION.findall(said) if name in names), f"the set '{terms.name}'")
        reason = (_REASON.findall(said) or [said])[-1].strip()
        raise evaluation.EvaluationError(f"{culprit} does not compile: {reason[:_MAX_REASON]}") from error


def install(terms: registry.TermSet, records: np.ndarray) -> None:
    """Let these search records use this set; raises EvaluationError for a term of the user's that does not compile.

    Their `evaluation_data` are the weights of each stage in turn, `accumulators` the address of a pawn table.
    """
    with _compiling(terms):
        _install_of(terms)(records)


@cache
def _install_of(terms: registry.TermSet) -> Any:
    _, remembered_sum = _kernels_of(terms)
    number, row_bytes = len(terms), U64(8 * len(terms))

    @kernel
    def white_score(s, ply):
        """White's score at `ply` of a search record before draw rules, float64."""
        position = s.positions[ply]
        stage = material.stage_of(position)
        row = s.evaluation_data + U64(stage) * row_bytes  # chosen once, as the sum has no stages
        return remembered_sum(position, stage, memory.array_at(row, np.float64, number), s.accumulators)

    @entry(of=terms.key)
    def install(records):
        s = records[0]
        s.evaluation = memory.evaluation_address(white_score, s)

    return install


@cache
def addresses_of(terms: registry.TermSet) -> Addresses:
    """Where the kernels of a set are; compiles them if they are not on the disk."""
    weighted_sum, view_without = _kernels_of(terms)[0], terms.view_without
    fill_counts = _for_each_term(
        terms,
        "side_view, shares, out",
        "out[{index}] = {multiplier} * shares[{phase}] * {count}(side_view)",
        "{count}(side_view, counted_at, (out, {index}, {size}, {multiplier}))",
        counted_at=_counted_at,
    )

    @kernel
    def side_counts(position, colour, squares, out):
        side_view = view_without(position, colour, squares)
        out[:] = 0.0
        return fill_counts(side_view, phase_shares(side_view), out, 0)

    @entry(of=terms.key)
    def link(positions, out, addresses):
        addresses[0] = memory.sum_address(weighted_sum, positions[0], out)
        addresses[1] = memory.counts_address(side_counts, positions[0], out)

    found = np.zeros(2, dtype=np.uint64)
    with _compiling(terms):
        link(np.zeros(1, dtype=POSITION), np.zeros(len(terms)), found)
    return Addresses(found[0], found[1])


# Scores, rows of features and counts of each side. A weight may have two values, interpolated by the stage of the game
# (`phases`). The draw rules come after the sum; then the score is rounded once and turned to the side to move.

NUMBER_OF_TERMS = len(registry.TERMS)  # of the default set


@kernel
def side_counts(address, position, out):
    """Fill out, float64[2, terms], with White's and Black's counts times phase share and group multiplier.

    `address` is that of the set's `Addresses.side_counts`.
    """
    for colour in range(2):
        memory.call_counts(address, position, colour, ZERO, out[colour])


@entry
def _evaluate_all(address, positions, weights, scores):
    for index in range(len(positions)):
        position = positions[index]
        scores[index] = material.final_score(
            position, memory.call_sum(address, position, weights[material.stage_of(position)])
        )


@entry
def _stage_all(positions, stages):
    for index in range(len(positions)):
        stages[index] = material.stage_of(positions[index])


@entry
def _count_all(address, positions, counts):
    for index in range(len(positions)):
        side_counts(address, positions[index], counts[index])


def scores_of(positions: np.ndarray, weights: np.ndarray, terms: registry.TermSet = registry.TERMS) -> np.ndarray:
    """Scores of POSITION[n] under weights of one phase or two, int64[n]: centipawns for the side to move."""
    scores = np.zeros(len(positions), dtype=np.int64)
    _evaluate_all(addresses_of(terms).weighted_sum, positions, phases.by_stage(weights, len(terms)), scores)
    return scores


def counts_of(positions: np.ndarray, terms: registry.TermSet = registry.TERMS) -> np.ndarray:
    """Both sides' counts of POSITION[n], float64[n, 2, terms], with phase share and group multiplier applied.

    Raises EvaluationError for a table of the user's that counts in a cell which it does not have.
    """
    counts = np.zeros((len(positions), 2, len(terms)))
    _count_all(addresses_of(terms).side_counts, positions, counts)
    if terms.version and np.isnan(counts).any():
        table = terms[int(np.flatnonzero(np.isnan(counts).any(axis=(0, 1)))[0])].table
        raise evaluation.EvaluationError(
            f"the table {table.name if table else '?'} counts in a cell that it does not have"
        )
    return counts


def features_of(positions: np.ndarray, terms: registry.TermSet = registry.TERMS) -> np.ndarray:
    """Rows of features, float64[n, terms], White minus Black: row @ weights of one phase is White's score."""
    counts = counts_of(positions, terms)
    return np.asarray(counts[:, 0] - counts[:, 1])


def stages_of(positions: np.ndarray) -> np.ndarray:
    """The stage of each of POSITION[n], int64[n]: the row of `by_stage` that it is scored with."""
    stages = np.zeros(len(positions), dtype=np.int64)
    _stage_all(positions, stages)
    return stages


def white_scores_of(positions: np.ndarray, weights: np.ndarray, terms: registry.TermSet = registry.TERMS) -> np.ndarray:
    """White's scores of POSITION[n] before draw rules and rounding, float64[n]."""
    features = features_of(positions, terms)
    if phases.phases_of(weights, len(terms)) == 1:
        return np.asarray(features @ weights)
    return np.asarray((features * phases.by_stage(weights, len(terms))[stages_of(positions)]).sum(axis=1))
