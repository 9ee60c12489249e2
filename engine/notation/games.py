"""PGN games read by python-chess, as positions of ours with the moves that led there."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import chess
import chess.pgn

from merino.inner.core.board.game import Position
from merino.inner.core.common.errors import MerinoError
from merino.inner.engine.notation.variants import is_played


class VariantError(MerinoError):
    """A game of a variant that Merino does not play."""


@dataclass(frozen=True)
class Loaded:
    """What was read: the final position, the tags of the game, and a remark."""

    position: Position
    remark: str
    tags: dict[str, str] = field(default_factory=dict)


class FaultKeeper(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects faults in the game instead of logging them.

    Also a null move that belongs to the game, and brackets that do not match, at which python-chess would stop with an
    IndexError.
    """

    def handle_error(self, error: Exception) -> None:
        """Keep the fault."""
        self.game.errors.append(error)

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """Keep the fault that a null move is, except in a variation, where it is a remark on a threat."""
        if not move and len(self.variation_stack) == 1:
            self.handle_error(ValueError(f"a null move, which chess does not allow, in {board.fen()}"))
        super().visit_move(board, move)

    def begin_variation(self) -> Any:
        """Pass over one for which there is no move to replace."""
        if self.variation_stack[-1].parent is None:
            self.handle_error(ValueError("a variation without a move before it"))
            return chess.pgn.SKIP
        return super().begin_variation()

    def end_variation(self) -> None:
        """Stay in the game where no variation has begun."""
        if len(self.variation_stack) > 1:
            super().end_variation()
        else:
            self.handle_error(ValueError("a variation ends that has not begun"))


def loaded(game: chess.pgn.Game, number: int) -> Loaded:
    """A game read by python-chess, up to its first illegal move. Raises VariantError, FenError or IllegalMoveError."""
    tags = game.headers
    if not is_played(tags.get("Variant", "")):
        raise VariantError(f"game {number} is one of {tags['Variant']}, which Merino does not play")
    fen = tags.get("FEN", chess.STARTING_FEN)
    position = Position(fen, chess960=tags.is_chess960())
    position.push_all([move.uci() for move in takewhile(bool, game.mainline_moves())])
    players = f"{tags.get('White', '?')} - {tags.get('Black', '?')}"
    remark = f"Game {number}: {players}, {tags.get('Result', '*')}, {len(position.moves)} plies."
    if game.errors:
        remark += f"\nThe rest of it cannot be read: {game.errors[0]}."
    return Loaded(position, remark, dict(tags))
