"""PGN games read by python-chess, as positions of ours with the moves that led there."""

from __future__ import annotations

from dataclasses import dataclass, field

import chess.pgn

from engine.board.game import Position
from engine.common.errors import MerinoError
from engine.notation.positions import position_of


class VariantError(MerinoError):
    """A game of a variant that Merino does not play."""


@dataclass(frozen=True)
class Loaded:
    """What was read: the final position, the tags of the game, and a remark."""

    position: Position
    remark: str
    tags: dict[str, str] = field(default_factory=dict)


class FaultKeeper(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects faults in the game instead of logging them."""

    def handle_error(self, error: Exception) -> None:
        """Keep the fault."""
        self.game.errors.append(error)


def loaded(game: chess.pgn.Game, number: int) -> Loaded:
    """A game read by python-chess, up to its first illegal move. Raises VariantError, FenError or IllegalMoveError."""
    tags = game.headers
    if tags.get("Variant", "").lower() not in ("", "standard", "chess") and not tags.is_chess960():
        raise VariantError(f"game {number} is one of {tags['Variant']}, which Merino does not play")
    fen = tags.get("FEN", chess.STARTING_FEN)
    position = position_of(fen)
    position.chess960 = position.chess960 or tags.is_chess960()
    position.push_all([move.uci() for move in game.mainline_moves()])
    players = f"{tags.get('White', '?')} - {tags.get('Black', '?')}"
    remark = f"Game {number}: {players}, {tags.get('Result', '*')}, {len(position.moves)} plies."
    if game.errors:
        remark += f"\nThe rest of it cannot be read: {game.errors[0]}."
    return Loaded(position, remark, dict(tags))
