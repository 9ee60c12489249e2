"""How a line of the search wins material: by a piece that hangs, by a motif of its first move, by a promotion.

A motif counts only where its line takes what it attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto

import chess

from merino.inner.study.reasons.motifs import (
    WORTH,
    discovered_by,
    exchange,
    fork_targets,
    is_hanging,
    piece_name,
    pins_by,
    skewers_by,
    taken_on,
    worth_at,
)

MIN_GAIN = 1  # pawns that a line must win to count as winning something
SHOWN = 6  # plies of a line


@dataclass(frozen=True)
class FoundLine:
    """A line of the search from a board, and the moves to mate for the side that begins it, None without a mate."""

    board: chess.Board
    moves: tuple[chess.Move, ...]
    mate: int | None

    def after(self, plies: int) -> chess.Board:
        """The board after so many of its moves."""
        board = self.board.copy(stack=False)
        for move in self.moves[:plies]:
            board.push(move)
        return board

    @property
    def text(self) -> str:
        """Its first moves with their numbers."""
        return self.board.variation_san(list(self.moves[:SHOWN]))

    @property
    def gain(self) -> int:
        """The pawns that the side that begins it has won at its end, less what the other side can take there.

        If it is the side's turn there, it can save one piece: only the second largest capture counts.
        """
        side, last = self.board.turn, self.after(len(self.moves))
        targets = chess.SquareSet(last.occupied_co[side] & ~last.kings)
        captures = sorted((exchange(last, square, not side) for square in targets), reverse=True)
        lost = captures[1:2] if last.turn == side else captures[:1]
        return balance(last, side) - balance(self.board, side) - sum(lost)

    @property
    def promotes(self) -> bool:
        """Whether the side that begins it promotes in it."""
        return any(move.promotion for move in self.moves[::2])


class Means(Enum):
    """What wins material."""

    HANGING = auto()
    FORK = auto()
    SKEWER = auto()
    PIN = auto()
    DISCOVERY = auto()
    PROMOTION = auto()
    MATERIAL = auto()


@dataclass(frozen=True)
class Win:
    """How a line wins material: a sentence without a full stop, and the square of the piece that hangs, if one does."""

    means: Means
    sentence: str
    square: chess.Square | None = None


def win_by(line: FoundLine, gain: int, mover: str = "it") -> Win | None:
    """How a line wins so many pawns for the side that begins it; None if it does not. `mover` names its first move."""
    if not line.moves:
        return None
    taken = taken_on(line.board, line.moves[0])
    if taken is not None and is_hanging(line.board, taken):
        return Win(Means.HANGING, f"the {piece_name(line.board, taken)} can be taken", taken)
    if gain < MIN_GAIN:
        return None
    if line.promotes:
        return _motif(line) or Win(Means.PROMOTION, "a pawn promotes")
    won = "a pawn" if gain == 1 else f"material worth {gain} pawns"
    return _motif(line) or Win(Means.MATERIAL, f"{mover} wins {won}")


def balance(board: chess.Board, side: chess.Color) -> int:
    """The pawns by which a side is ahead in material."""
    return sum(
        WORTH[piece.piece_type] * (1 if piece.color == side else -1)
        for piece in board.piece_map().values()
        if piece.piece_type != chess.KING
    )


def _motif(line: FoundLine) -> Win | None:
    """The motif of the first move of a line that wins by it."""
    move, board, name = line.moves[0], line.after(1), line.board.san(line.moves[0])
    targets = fork_targets(board, move.to_square)
    if targets and _takes(line, targets):
        said = " and ".join(piece_name(board, target) for target in sorted(targets, key=_by_worth(board))[:2])
        return Win(Means.FORK, f"{name} attacks the {said}")
    for means, verb, found in (
        (Means.SKEWER, "drives away", skewers_by(board, move.to_square)),
        (Means.PIN, "pins", pins_by(board, move.to_square)),
    ):
        for front, behind in found:
            if _takes(line, [front, behind]):
                said = f"{name} {verb} the {piece_name(board, front)} before the {piece_name(board, behind)}"
                return Win(means, said)
    targets = discovered_by(line.board, move)
    if targets and _takes(line, targets):
        return Win(Means.DISCOVERY, f"{name} uncovers an attack on the {piece_name(board, targets[0])}")
    return None


def _takes(line: FoundLine, targets: Iterable[chess.Square]) -> bool:
    """Whether the second or third move of the side that begins the line takes one of these pieces, moved or not."""
    wanted = set(targets)
    board = line.after(1)
    for index, move in enumerate(line.moves[1:6], start=1):
        if index % 2 and move.from_square in wanted and board.piece_type_at(move.from_square) != chess.KING:
            wanted.discard(move.from_square)
            wanted.add(move.to_square)
        elif not index % 2 and taken_on(board, move) in wanted:
            return True
        board.push(move)
    return False


def _by_worth(board: chess.Board) -> Callable[[chess.Square], int]:
    return lambda square: -worth_at(board, square)
