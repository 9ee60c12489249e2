"""PGN games read by python-chess, as positions of ours with the moves that led there."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import takewhile
from typing import Any, TextIO, cast

import chess
import chess.pgn

from merino.core.board.game import Position
from merino.core.common.errors import MerinoError

# The variants of chess that Merino plays, by the tag `Variant` of a game.
_STANDARD_CHESS = {"", "chess", "classical", "from position", "illegal", "normal", "standard"}
_SHUFFLED_CHESS = {"chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"}


def is_played(variant: str) -> bool:
    """Whether a variant is chess from any position, or Chess960."""
    name = variant.strip().lower()
    return name in _STANDARD_CHESS | _SHUFFLED_CHESS or name.startswith("wild/")


class VariantError(MerinoError):
    """A game of a variant that Merino does not play."""


@dataclass(frozen=True)
class Loaded:
    """What was read: the final position, the tags of the game, and a remark."""

    position: Position
    remark: str
    tags: dict[str, str] = field(default_factory=dict)


_MARK = re.compile(r"[{;]")  # begins a comment
_HUGE_SIGN = re.compile(r"\$\d{10,}")  # the standard has signs up to $255
_BRACES = str.maketrans("{}", "()")


class _PgnPart(Enum):
    """The part of a text of games that a line is in."""

    BETWEEN_GAMES = auto()
    TAGS = auto()
    AFTER_TAGS = auto()
    MOVES = auto()


class PgnLines:
    """The lines of games for python-chess, with braces around comments that end with their line: it would drop them.

    Signs with huge numbers are left out: on those of thousands of digits it would stop with a ValueError.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._part = _PgnPart.BETWEEN_GAMES
        self._is_in_braces = False

    def tell(self) -> int:
        """Where the next line begins in the text as it is."""
        return self._file.tell()

    def readline(self) -> str:
        """The next line, "" at the end of the text."""
        line = self._file.readline()
        if not self._is_in_braces:
            if line.isspace():
                self._part = _PgnPart.AFTER_TAGS if self._part is _PgnPart.TAGS else _PgnPart.BETWEEN_GAMES
                return line
            if line.startswith("[") and self._part is not _PgnPart.MOVES:
                self._part = _PgnPart.TAGS
                return line
            is_apart = self._part in (_PgnPart.BETWEEN_GAMES, _PgnPart.TAGS)
            if line.startswith("%") or (line.startswith(";") and is_apart):
                return line
        self._part = _PgnPart.MOVES
        return self._in_braces(line)

    def _in_braces(self, line: str) -> str:
        """A line of moves, or within a comment."""
        parts, at = [], 0
        while at < len(line):
            mark = None if self._is_in_braces else _MARK.search(line, at)
            begins = at if self._is_in_braces else len(line) if mark is None else mark.start()
            parts.append(_HUGE_SIGN.sub("", line[at:begins]))
            if mark is not None and mark[0] == ";":
                if line.startswith("["):  # a tag right behind moves
                    return "".join([*parts, line[begins:]])
                comment = line[mark.end() :].strip().translate(_BRACES)
                return "".join([*parts, f"{{ {comment} }}" if comment else "", "\n"])
            end = line.find("}", begins)
            self._is_in_braces = begins < len(line) and end < 0
            at = len(line) if end < 0 else end + 1
            parts.append(line[begins:at])
        return "".join(parts)


def read_game(lines: PgnLines) -> chess.pgn.Game | None:
    """The next game with its faults, None after the last."""
    return chess.pgn.read_game(cast(TextIO, lines), Visitor=FaultKeeper)


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
