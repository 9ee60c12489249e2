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
from merino.core.board.bitboard import BLACK, ONE, U64, WHITE, ZERO, lsb
from merino.core.board.position import POSITION, king_square
from merino.core.compiled import memory
from merino.core.compiled.jit import CompilationError, entry, in_python, kernel
from merino.eval import evaluation, material
from merino.eval.linear import phases, registry
from merino.eval.linear.view import Pieces

# What a thread remembers, in two tables: the sum of the terms that look at pawns and kings alone, kept by these, and
# the score of a position. Pawns and kings rarely move, and the quiescence search meets a position in six again.

BITS = 13
ENTRIES = 1 << BITS
BYTES, HALF = 32 * ENTRIES, U64(16 * ENTRIES)  # a key and a score for each, in both tables, that of pawns behind
_BELOW_PLACE = U64(64 - BITS)
_SPREAD = U64(0x9E3779B97F4A7C15)  # odd, without a pattern: the same pawns with other kings or stages lie apart


@kernel(makes_arrays=True)
def _table_at(address, kind):
    """The keys, uint64, and the scores of the table at `address`, each score behind its key: of both, every other."""
    return memory.array_at(address, np.uint64, 2 * ENTRIES), memory.array_at(address + U64(8), kind, 2 * ENTRIES)


@kernel
def _place_of(key):
    """The only place in a table where the score of a key may be."""
    return np.int64(key >> _BELOW_PLACE << ONE)


@kernel
def pawn_king_key(position, stage):
    """The key of the position's pawns and kings, and of the stage of the game if their sum depends on it, uint64."""
    kings = king_square(position, WHITE) << 6 | king_square(position, BLACK)
    return position.pawn_key ^ U64(stage << 12 | kings) * _SPREAD


# A set that counts whole numbers has whole weights, too: both phases of a weight in one int64, the middlegame above the
# endgame, times SCALE, of which all multipliers of groups and parts of counts are divisors. So one addition adds up
# both phases, in any order, and whole centipawns add up exactly; the stage comes last. Other sets have a row of real
# weights for each stage.

SCALE = 8820
_HIGH, _LOW = 32, 0xFFFF_FFFF
_SIGN = 1 << 31


def weights_of(terms: registry.TermSet, weights: np.ndarray) -> np.ndarray:
    """What the sum of a set takes for weights of one phase or two: int64[terms] or float64[STAGES, terms]."""
    unit = np.array([term.group.multiplier / term.parts for term in terms])
    if not terms.is_whole:
        return phases.by_stage(weights, len(terms)) * unit
    middlegame, endgame = (np.rint(half * unit * SCALE).astype(np.int64) for half in phases.halves(weights, len(terms)))
    return np.asarray((middlegame << _HIGH) + endgame)


@kernel
def _of_both_phases(total, stage):
    """White's score at a stage, float64, of a sum of whole weights."""
    endgame = (total + _SIGN & _LOW) - _SIGN
    middlegame = total - endgame >> _HIGH
    return (middlegame * stage + endgame * (material.FULL_BOARD - stage)) / (material.FULL_BOARD * SCALE)


# Of what numba says: its colours, the functions that it names, and the line that says what is wrong.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FUNCTION = re.compile(r"<function (\w+) at ")
_REASON = re.compile(r"(?:Failed in nopython mode pipeline[^\n]*\n\s*)+([^\n]+)")
_MAX_REASON = 150  # characters


class Addresses(NamedTuple):
    """The addresses of a set's kernels, uint64, for `call_evaluation` and `call_counts`.

    `white_score` (position, address of `weights_of`) -> White's score before rules and rounding. `side_counts`
    (position, colour, squares, out) fills out, float64[terms], with the side's counts times phase share and group
    multiplier; its own pieces on `squares`, as it sees them, do not count.
    """

    white_score: np.uint64
    side_counts: np.uint64


def _count_of(each: registry.Term | registry.TermTable) -> Any:
    """What counts a term or a table."""
    return each.total if isinstance(each, registry.TermTable) else each.count


class _Arithmetic(NamedTuple):
    """How the terms of a set are added up: kernels for what is called by these names."""

    at: Any  # (cells, index, how much) -> what that adds; `cells` are the weights, first place, size, unit of the count
    shares_of: Any  # (view) -> how much a term of each `Phase` counts
    now: Any  # (number) -> the same


def _adding(
    terms: registry.TermSet, arithmetic: _Arithmetic, of: str = "", wanted: Callable[[Any], bool] = lambda _: True
) -> Any:
    """A kernel -> total of the wanted terms and tables: (view, weights), of a piece (view, square, reach, weights).

    numba compiles its lines in half the time of a loop over the functions that count, which it would unroll itself.
    """
    names, lines = arithmetic._asdict(), [f"def each_term(view, {'square, reach, ' * bool(of)}weights):"]
    lines.append("shares, total = shares_of(view), 0")
    for each, places in terms.to_read():
        if each.of != of or not wanted(each):
            continue
        count, is_term = f"count_{places.start}", isinstance(each, registry.Term)
        names[count] = _count_of(each)
        cells = f"(weights, {places.start}, {places.stop - places.start}, {each.group.multiplier / each.parts})"
        if of:
            amount = f"at({cells}, {'0, ' if is_term else '*'}{count}(view, square, reach))"
        elif isinstance(each, registry.Term):
            amount = f"at({cells}, 0, shares[{int(each.phase)}] * {count}(view))"
        else:
            amount = f"{count}(view, at, {cells})"
        lines.append(f"total = now(total + {amount})")
    by_square = {each.of for each, _ in terms.to_read() if wanted(each)} - {"", *Pieces._fields}
    for pieces in () if of else sorted(by_square):
        names[f"of_{pieces}"] = _adding(terms, arithmetic, pieces, wanted)
        lines.append(_LOOP.format(pieces=pieces))
    names |= {"lsb": lsb, "ONE": ONE}
    exec(compile("\n    ".join([*lines, "return total"]), "<the terms>", "exec"), names)
    return kernel(names["each_term"])


_LOOP = """pieces = view.{pieces}
    while pieces:
        total = now(total + of_{pieces}(view, lsb(pieces), 0, weights))
        pieces &= pieces - ONE"""


@kernel
def _weighed_at(cells, index, amount):
    """So much of a cell, times its weight."""
    return amount * cells[0][cells[1] + index]


@kernel
def _weighed_inside(cells, index, amount):
    """The same for tables of a user, who may ask for a cell that a table lacks: it is the nearest that it has."""
    return _weighed_at(cells, min(max(index, 0), cells[2] - 1), amount)


@kernel
def _counted_at(cells, index, amount):
    """Note so much of a cell; the weights are the counts. A cell that the table lacks makes its first one NaN."""
    out, first, size, unit = cells
    if 0 <= index < size:
        out[first + index] += amount * unit
    else:
        out[first] = np.nan
    return 0


@kernel
def phase_shares(view):
    """How much a term of each `Phase` counts for a side, by the pieces that its opponent has left."""
    middlegame = material.middlegame_share(view.enemy_units)
    return 1.0, middlegame, 1.0 - middlegame


@kernel
def _whole_shares(_):
    """The same for a set of whole counts: all always."""
    return 1, 0, 0


@kernel
def _as_it_comes(total, _=0):
    """The same of a sum of real weights, which are those of the stage."""
    return total


@kernel
def _uncounted(view, square, reach, counts):
    return 0


_COUNTING = _Arithmetic(_counted_at, phase_shares, _as_it_comes)
_NO_PIECES = Pieces(*[_uncounted] * len(Pieces._fields))


def _pieces_of(terms: registry.TermSet, arithmetic: _Arithmetic) -> Pieces:
    return Pieces(*[_adding(terms, arithmetic, pieces) for pieces in Pieces._fields])


@cache
def _kernels_of(terms: registry.TermSet) -> tuple[Any, Any]:
    """Kernels -> White's score before rules and rounding, float64.

    (position, address of `weights_of`), and for the search (record, ply).
    """
    whole, number, view, look, meet = terms.is_whole, len(terms), terms.view, terms.look, terms.meet
    kind, finished, by_stage = (np.int64, _of_both_phases, 0) if whole else (np.float64, _as_it_comes, 1)
    arithmetic = _Arithmetic(
        _weighed_inside if terms.version else _weighed_at,
        _whole_shares if whole else phase_shares,
        memory.now if whole else _as_it_comes,
    )
    pieces, row_bytes = _pieces_of(terms, arithmetic), 8 * number
    of_pawns = _adding(terms, arithmetic, wanted=lambda each: each.pawns_and_kings)
    has_pawns = any(each.pawns_and_kings for each in terms)
    of_others = _adding(terms, arithmetic, wanted=lambda each: not each.pawns_and_kings)

    @kernel(makes_arrays=True)
    def weights_at(address, stage):
        return memory.array_at(U64(address + by_stage * stage * row_bytes), kind, number)

    @kernel
    def look_at(position, white, black, weights):
        """Fill the views of both sides; the sum of all terms but those of pawns and kings alone."""
        total = look(position, WHITE, ZERO, white, pieces, weights)
        total -= look(position, BLACK, ZERO, black, pieces, weights)
        meet(position, WHITE, white, black)
        meet(position, BLACK, black, white)
        return total + of_others(white, weights) - of_others(black, weights)

    @kernel
    def white_score(position, address):
        stage, white, black = material.stage_of(position), memory.local_record(view), memory.local_record(view)
        weights = weights_at(address, stage)
        total = look_at(position, white, black, weights)
        return finished(total + of_pawns(white, weights) - of_pawns(black, weights), stage)

    @kernel
    def remembered_score(s, ply):
        position, tables = s.positions[ply], s.accumulators
        keys, scores = _table_at(tables, np.float64)
        here = _place_of(position.key)
        if keys[here] != position.key:
            stage, white, black = material.stage_of(position), memory.local_record(view), memory.local_record(view)
            weights, key = weights_at(np.int64(s.evaluation_data), stage), pawn_king_key(position, by_stage * stage)
            pawns_at, place = tables + HALF, _place_of(key)
            if has_pawns:
                memory.prefetch(pawns_at + U64(8 * place))  # it comes while the pieces are looked at
            total = look_at(position, white, black, weights)
            if has_pawns:
                pawn_keys, sums = _table_at(pawns_at, kind)
                if pawn_keys[place] != key:
                    pawn_keys[place], sums[place] = key, of_pawns(white, weights) - of_pawns(black, weights)
                total += sums[place]
            keys[here], scores[here] = position.key, finished(total, stage)
        return scores[here]

    return white_score, remembered_score


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

    Their `evaluation_data` is the address of `weights_of`, `accumulators` that of BYTES for the tables.
    """
    with _compiling(terms):
        _install_of(terms)(records)


@cache
def _install_of(terms: registry.TermSet) -> Any:
    _, remembered_score = _kernels_of(terms)

    @entry(of=terms.key)
    def install(records):
        s = records[0]
        s.evaluation = memory.evaluation_address(remembered_score, s)

    return install


@cache
def addresses_of(terms: registry.TermSet) -> Addresses:
    """Where the kernels of a set are; compiles them if they are not on the disk."""
    white_score, view, look, meet = _kernels_of(terms)[0], terms.view, terms.look, terms.meet
    add_counts, pieces = _adding(terms, _COUNTING), _pieces_of(terms, _COUNTING)

    @kernel
    def side_counts(position, colour, squares, out):
        out[:] = 0.0
        side, enemy = memory.local_record(view), memory.local_record(view)
        look(position, colour, squares, side, pieces, out)
        look(position, 1 - colour, ZERO, enemy, _NO_PIECES, out)
        meet(position, colour, side, enemy)
        return add_counts(side, out)

    @entry(of=terms.key)
    def link(positions, out, addresses):
        addresses[0] = memory.evaluation_address(white_score, positions[0])
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
        scores[index] = material.final_score(position, memory.call_evaluation(address, position, weights))


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
    summed = weights_of(terms, weights)
    _evaluate_all(addresses_of(terms).white_score, positions, summed.ctypes.data, scores)
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
