"""What a move makes of each piece: its value before and after, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.board.bitboard import SQUARE_NAMES
from engine.board.game import Position
from engine.board.move import Move
from eval.evaluation import Evaluation
from eval.linear.explain import PieceValue
from eval.linear.table import LEAST_CHANGE
from study.explain.lookahead import after_moves

Value = Callable[[PieceValue], float | None]


@dataclass(frozen=True)
class PieceChange:
    """A piece before a move and after it, None where the move takes it. Values are centipawns for its owner."""

    before: PieceValue
    after: PieceValue | None

    @property
    def name(self) -> str:
        """The piece and where it goes: "N g1-f3", "P e7-e8=Q", "p d5 taken", "R a1"."""
        letter, origin = self.before.letter, SQUARE_NAMES[self.before.square]
        if self.after is None:
            return f"{letter} {origin} taken"
        if self.after.square == self.before.square:
            return f"{letter} {origin}"
        became = f"={self.after.letter}" if self.after.letter != letter else ""
        return f"{letter} {origin}-{SQUARE_NAMES[self.after.square]}{became}"

    @property
    def removal(self) -> float | None:
        """The change of its removal value, of a piece that is taken the loss of all; None for kings."""
        return self._change(lambda piece: None if piece.removal is None else float(piece.removal))

    @property
    def attributed(self) -> float:
        """The change of its attributed value."""
        return self._change(lambda piece: piece.attributed) or 0.0

    @property
    def is_something(self) -> bool:
        """Whether the move makes anything of the piece: moves it, takes it, or changes a value of it."""
        has_moved = self.after is None or self.after.square != self.before.square
        return has_moved or any(abs(change or 0.0) >= LEAST_CHANGE for change in (self.removal, self.attributed))

    def _change(self, value: Value) -> float | None:
        before = value(self.before)
        if before is None:
            return None
        return ((value(self.after) or 0.0) if self.after else 0.0) - before

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`; of a piece that is taken, what is after the move is None."""
        before, after = self.before, self.after
        return {
            "piece": before.letter,
            "square": SQUARE_NAMES[before.square],
            "piece_after": after.letter if after else None,
            "square_after": SQUARE_NAMES[after.square] if after else None,
            "removal_cp": {"before": before.removal, "after": after.removal if after else None, "change": self.removal},
            "attributed_cp": {
                "before": before.attributed,
                "after": after.attributed if after else None,
                "change": self.attributed,
            },
        }


def piece_changes(position: Position, move: Move, evaluation: Evaluation) -> tuple[PieceChange, ...]:
    """What a legal move makes of each piece, in the order of the board, a1 first.

    Raises EvaluationError where the evaluation does not tell what pieces are worth.
    """
    before = evaluation.value_pieces(position.record).pieces
    after = evaluation.value_pieces(after_moves(position, [move]).record).pieces
    kept = {(piece.square, piece.letter) for piece in before} & {(piece.square, piece.letter) for piece in after}
    gone = [piece for piece in before if (piece.square, piece.letter) not in kept]
    arrived = {_origin(piece, gone).square: piece for piece in after if (piece.square, piece.letter) not in kept}
    there = {piece.square: piece for piece in after if (piece.square, piece.letter) in kept}
    return tuple(
        PieceChange(piece, there.get(piece.square) if piece not in gone else arrived.get(piece.square))
        for piece in before
    )


def _origin(arrived: PieceValue, gone: Iterable[PieceValue]) -> PieceValue:
    """The piece of those that have left their squares which has arrived: the same one, or the pawn it was."""
    own = [piece for piece in gone if piece.colour == arrived.colour]
    return next((piece for piece in own if piece.letter == arrived.letter), own[0])
