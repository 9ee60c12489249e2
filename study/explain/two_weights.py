"""One position under two sets of weights: what each says of the terms, the pieces and the moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from engine.board.game import Position
from engine.notation.san import san_moves
from eval.evaluation import Evaluation
from eval.linear.explain import Change, PieceValue
from study.explain.ranking import evaluations, ranks

KINDS = "PNBRQK"


@dataclass(frozen=True)
class KindValue:
    """The mean value of the pieces of one kind, both sides together, under each of the weights. Centipawns."""

    kind: str  # "N"
    count: int
    removal: tuple[float, float] | None  # None for kings
    attributed: tuple[float, float]

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return {"kind": self.kind, "count": self.count, "removal_cp": self.removal, "attributed_cp": self.attributed}


@dataclass(frozen=True)
class MoveUnderBoth:
    """A move with its rank among the legal moves and its evaluation, for the mover, under each of the weights."""

    san: str
    ranks: tuple[int, int]
    evaluations: tuple[int, int]

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return {"move": self.san, "ranks": self.ranks, "evaluations_cp": self.evaluations}


@dataclass(frozen=True)
class TwoWeights:
    """The comparison: what changes from the first weights to the second."""

    change: Change
    kinds: tuple[KindValue, ...]  # from pawn to king, those on the board
    moves: tuple[MoveUnderBoth, ...]  # all legal moves, in the order of the first weights

    @property
    def moved(self) -> tuple[MoveUnderBoth, ...]:
        """The moves whose rank changes."""
        return tuple(move for move in self.moves if move.ranks[0] != move.ranks[1])

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return {
            "change": self.change.as_json(),
            "pieces": [kind.as_json() for kind in self.kinds],
            "moves": [move.as_json() for move in self.moves],
        }


def compare_weights(position: Position, first: Evaluation, second: Evaluation) -> TwoWeights:
    """`position` under two sets of weights."""
    values = [evaluation.value_pieces(position.record) for evaluation in (first, second)]
    change = Change(values[0].explanation, values[1].explanation)
    moves = position.legal_moves
    scores = [evaluations(position, moves, evaluation) for evaluation in (first, second)]
    entries = zip(
        san_moves(position, moves), zip(*map(ranks, scores), strict=True), zip(*scores, strict=True), strict=True
    )
    under_both = sorted((MoveUnderBoth(*entry) for entry in entries), key=lambda move: (move.ranks[0], move.san))
    kinds = (_kind_value(kind, values[0].pieces, values[1].pieces) for kind in KINDS)
    return TwoWeights(change, tuple(kind for kind in kinds if kind.count), tuple(under_both))


def _kind_value(kind: str, first: Sequence[PieceValue], second: Sequence[PieceValue]) -> KindValue:
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.letter.upper() == kind]
    if not pairs:
        return KindValue(kind, 0, None, (0.0, 0.0))
    removals = [(a.removal, b.removal) for a, b in pairs if a.removal is not None and b.removal is not None]
    removal = (fmean(a for a, _ in removals), fmean(b for _, b in removals)) if removals else None
    attributed = (fmean(a.attributed for a, _ in pairs), fmean(b.attributed for _, b in pairs))
    return KindValue(kind, len(pairs), removal, attributed)
