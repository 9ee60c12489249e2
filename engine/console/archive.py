"""Games and positions read from files: game N of a PGN file, line N of a file of FENs or EPDs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TextIO

import chess.pgn

from engine.board.fen import FenError
from engine.board.game import Position
from engine.common.command import CommandError
from engine.console.chess960 import needs_chess960

_FEN_SLASHES = 7
_COMMENTS = ("#", "%", ";")


@dataclass(frozen=True)
class Loaded:
    """What was read: the position at its end, the tags of the game, and what there is to tell."""

    position: Position
    remark: str
    tags: dict[str, str] = field(default_factory=dict)


def load(path: Path, number: int) -> Loaded:
    """The entry of this number, from 1; raises CommandError, naming what is wrong with file or entry."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            first = next((line for line in file if _counts(line)), "")
            file.seek(0)
            holds_positions = looks_like_fen(first)
            found = _nth_position(file, number) if holds_positions else _nth_game(file, number)
    except OSError as error:
        raise CommandError(f"cannot read '{path}': {error.strerror or error}") from error
    except FenError as error:
        raise CommandError(f"{'line' if holds_positions else 'game'} {number} of '{path}': {error}") from error
    if isinstance(found, int):
        if not found:
            raise CommandError(f"'{path}' holds no game and no position")
        raise CommandError(f"'{path}' ends with {'position' if holds_positions else 'game'} {found}")
    return found


def looks_like_fen(text: str) -> bool:
    """Whether a text begins with the board of a FEN."""
    return text.split(maxsplit=1)[0].count("/") == _FEN_SLASHES if text.strip() else False


def position_of(fen: str) -> Position:
    """The position of a FEN, as Chess960 if its castling rights ask for that; raises FenError."""
    plain = Position(fen, chess960=True).fen()
    return Position(fen, chess960=needs_chess960(plain))


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(_COMMENTS)


def _nth_position(lines: Iterable[str], number: int) -> Loaded | int:
    """The position in the line of this number, blank lines and comments not counted; else how many there are."""
    taken = list(islice(filter(_counts, lines), number))
    if len(taken) < number:
        return len(taken)
    fields = taken[-1].split()
    has_counters = len(fields) >= 6 and all(text.isdecimal() for text in fields[4:6])
    operations = fields[6 if has_counters else 4 :]
    position = position_of(" ".join(fields[: 6 if has_counters else 4]))
    return Loaded(position, f"Position {number}: {' '.join(operations) or position.fen()}")


class FaultKeeper(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects faults in the game instead of logging them."""

    def handle_error(self, error: Exception) -> None:
        """Keep the fault."""
        self.game.errors.append(error)


def _nth_game(file: TextIO, number: int) -> Loaded | int:
    """The game of this number; else how many there are. Comments and variations are passed over."""
    for index in range(1, number):
        if not chess.pgn.skip_game(file):
            return index - 1
    game = chess.pgn.read_game(file, Visitor=FaultKeeper)
    if game is None or (not game.variations and dict(game.headers) == dict(chess.pgn.Game().headers)):
        return number - 1  # a text without tags and moves is no game
    return loaded(game, number)


def loaded(game: chess.pgn.Game, number: int) -> Loaded:
    """A game that python-chess has read, as far as it is legal. Raises CommandError, FenError or IllegalMoveError."""
    tags = game.headers
    if tags.get("Variant", "").lower() not in ("", "standard", "chess") and not tags.is_chess960():
        raise CommandError(f"game {number} is one of {tags['Variant']}, which Merino does not play")
    fen = tags.get("FEN", chess.STARTING_FEN)
    position = position_of(fen)
    position.chess960 = position.chess960 or tags.is_chess960()
    position.push_all([move.uci() for move in game.mainline_moves()])
    players = f"{tags.get('White', '?')} - {tags.get('Black', '?')}"
    remark = f"Game {number}: {players}, {tags.get('Result', '*')}, {len(position.moves)} half-moves."
    if game.errors:
        remark += f"\nThe rest of it cannot be read: {game.errors[0]}."
    return Loaded(position, remark, dict(tags))
