"""Games as PGN text: tag pairs, results and terminations, comments, move numbers, lines. Reading is in `pgn_tokens`.

Words of the move text are whole words, comments among them: a line ends only between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import chess

from engine.board.bitboard import BLACK, WHITE
from engine.board.fen import START_FEN

RESULTS = {WHITE: "1-0", BLACK: "0-1", None: "1/2-1/2"}  # by the winner
WIDTH = 80  # columns

_BLANKS = dict.fromkeys([*range(32), 127], " ")  # what no tag and no comment may hold
_NO_BRACES = str.maketrans("{}", "()")


class Termination(StrEnum):
    """The values of the tag Termination, as the PGN standard lists them."""

    ABANDONED = "abandoned"
    ADJUDICATION = "adjudication"
    DEATH = "death"
    EMERGENCY = "emergency"
    NORMAL = "normal"
    RULES_INFRACTION = "rules infraction"
    TIME_FORFEIT = "time forfeit"
    UNTERMINATED = "unterminated"


def tag_pair(name: str, value: str) -> str:
    """`[White "Morphy"]`: the value on one line, its quotes and backslashes escaped."""
    quoted = value.translate(_BLANKS).replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{quoted}"]'


def start_tags(fen: str) -> dict[str, str]:
    """The tags of a game that starts from this FEN: none for the usual start."""
    return {} if fen == START_FEN else {"SetUp": "1", "FEN": fen}


def comment(text: str) -> str:
    """The text in braces, its own being replaced: PGN has no way to write one."""
    return f"{{ {text.translate(_BLANKS).translate(_NO_BRACES)} }}"


def push_move(board: chess.Board, move: chess.Move, follows_move: bool) -> Iterator[str]:
    """Play a move; the words for it: a number before White's, and before Black's where no move stands before it."""
    if board.turn == chess.WHITE:
        yield f"{board.fullmove_number}."
    elif not follows_move:
        yield f"{board.fullmove_number}..."
    yield board.san_and_push(move)


def wrapped(words: Iterable[str], width: int = WIDTH) -> list[str]:
    """The words in lines of at most so many columns; a longer word has a line of its own."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def game_text(tags: Mapping[str, str], words: Iterable[str], width: int = WIDTH) -> str:
    """A whole game, with an empty line after it; the last of the words is the result."""
    pairs = [tag_pair(name, value) for name, value in tags.items()]
    return "\n".join([*pairs, "", *wrapped(words, width), "", ""])
