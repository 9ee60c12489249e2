"""One position under two evaluations: terms, pieces and moves of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from merino.core.board.game import Position
from merino.engine.report.schema import ChangeReport, MoveReport, PieceReport, PositionReport, plain
from merino.engine.report.static import between
from merino.engine.report.text import owners
from merino.eval.evaluation import Evaluation
from merino.study.reporting import report_position

KINDS = "PNBRQK"


@dataclass(frozen=True)
class KindComparison:
    """The mean value of the pieces of one kind for their owners, both sides together, under each of the weights."""

    kind: str  # "N"
    count: int
    removal_cp: tuple[float, float] | None  # None for kings
    attributed_cp: tuple[float | None, float | None]  # None if an evaluation has no such value


@dataclass(frozen=True)
class MoveComparison:
    """A move with its rank among the legal moves and its evaluation, for the mover, under each of the weights."""

    move: str  # in short notation
    ranks: tuple[int, int]
    evaluations_cp: tuple[int, int]


@dataclass(frozen=True)
class WeightsComparison:
    """The reports under both weights, and what changes from the first to the second."""

    first: PositionReport
    second: PositionReport
    change: ChangeReport
    kinds: tuple[KindComparison, ...]  # from pawn to king, those on the board
    moves: tuple[MoveComparison, ...]  # all legal moves, in the order of the first weights

    @property
    def moved(self) -> tuple[MoveComparison, ...]:
        """The moves whose rank changes."""
        return tuple(move for move in self.moves if move.ranks[0] != move.ranks[1])

    def to_dict(self) -> dict[str, object]:
        """What changes as plain data for `json.dumps`, without the two reports."""
        return {
            "change": plain(self.change),
            "pieces": plain(self.kinds),
            "moves": plain(self.moves),
        }


def compare_weights(position: Position, first: Evaluation, second: Evaluation) -> WeightsComparison:
    """`position` under two evaluations; without attributed values if one of them has no terms."""
    return compare_reports(report_position(position, first), report_position(position, second))


def compare_reports(first: PositionReport, second: PositionReport) -> WeightsComparison:
    """Two reports of the same position, each with all legal moves, compared."""
    others = {move.uci: move for move in second.moves}
    sign = 1 if first.to_move == "white" else -1
    kinds = (_kind(kind, first.pieces, second.pieces) for kind in KINDS)
    return WeightsComparison(
        first,
        second,
        between(first, second),
        tuple(kind for kind in kinds if kind.count),
        tuple(_move(move, others[move.uci], sign) for move in first.moves),
    )


def _move(first: MoveReport, second: MoveReport, sign: int) -> MoveComparison:
    values = (sign * first.change.after_cp, sign * second.change.after_cp)
    return MoveComparison(first.san, (first.rank, second.rank), values)


def _kind(kind: str, first: Sequence[PieceReport], second: Sequence[PieceReport]) -> KindComparison:
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.piece.upper() == kind]
    if not pairs:
        return KindComparison(kind, 0, None, (None, None))
    letters = [a.piece for a, _ in pairs]
    sides = list(zip(*pairs, strict=True))
    removal = [_mean([piece.removal_cp for piece in side], letters) for side in sides]
    attributed = [_mean([piece.attributed_cp for piece in side], letters) for side in sides]
    known = (removal[0], removal[1]) if removal[0] is not None and removal[1] is not None else None
    return KindComparison(kind, len(pairs), known, (attributed[0], attributed[1]))


def _mean(values: Sequence[float | None], letters: Sequence[str]) -> float | None:
    """The mean for the owners of the pieces with these letters, None where one of the values is."""
    known = [owners(letter, value) for letter, value in zip(letters, values, strict=True) if value is not None]
    return fmean(known) if len(known) == len(values) else None
