"""Writes games as PGN text: tag pairs, results and terminations, comments, move numbers, lines.

What is written is read again by `pgn_parts`, as all files are. A comment is one word of the move text; lines break only
between words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import chess
import chess.pgn

from merino.core.board.fen import START_FEN
from merino.core.common.errors import MerinoError
from merino.formats import pgn_parts

WIDTH = 80  # columns
UNKNOWN_TAGS = dict.fromkeys(["Event", "Site", "Date", "Round", "White", "Black"], "?") | {"Date": "????.??.??"}

LOOKED_AT = 1 << 16  # bytes at the end of a file, where a game is added

_BLANKS = dict.fromkeys([*range(32), 127], " ")  # characters that tags and comments must not contain
_NO_BRACES = str.maketrans("{}", "()")
_KEEPS_THE_NEXT = re.compile(r"[({]|\d+\.+|\[%\w+")  # words that must not end a line
# And characters that must not begin one: a line that begins with % is skipped by readers.
_KEEPS_TO_THE_LAST = ("$", "%", "}", ")")


class MisreadError(MerinoError):
    """A game that would be read otherwise than it is meant; the message says which, and how."""


def tag_pair(name: str, value: str) -> str:
    """`[White "Morphy"]`: the value on one line, its quotes and backslashes escaped."""
    quoted = value.translate(_BLANKS).replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{quoted}"]'


def start_tags(fen: str, chess960: bool = False) -> dict[str, str]:
    """The tags of a game that starts from this FEN; none for the usual start, unless it is one of Chess960."""
    variant = {"Variant": "Chess960"} if chess960 else {}
    return variant if fen == START_FEN else {"SetUp": "1", "FEN": fen} | variant


def comment(text: str) -> str:
    """The text in braces; braces in the text are replaced, because PGN cannot write them."""
    return f"{{ {text.translate(_BLANKS).translate(_NO_BRACES)} }}"


def with_commands(text: str, commands: Mapping[str, str]) -> str:
    """A comment with its commands, such as `[%clk 0:03:00]`, before its words."""
    return " ".join([*(f"[%{name} {value}]" for name, value in commands.items()), text]).strip()


def push_move(board: chess.Board, move: chess.Move, follows_move: bool) -> Iterator[str]:
    """Play a move; returns its words: with a number before White's move, and before Black's if no move precedes it."""
    if board.turn == chess.WHITE:
        yield f"{board.fullmove_number}."
    elif not follows_move:
        yield f"{board.fullmove_number}..."
    yield board.san_and_push(move)


def wrapped(words: Iterable[str], width: int = WIDTH) -> list[str]:
    """The words in lines of at most this many columns; a longer word has a line of its own."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def game_text(tags: Mapping[str, str], words: Sequence[str], moves: Iterable[str] | None, width: int = WIDTH) -> str:
    """A whole game, with an empty line after it; the last word is the result, `moves` are the coordinates.

    Raises MisreadError. Without `moves` it is not read again.
    """
    pairs = [tag_pair(name, value) for name, value in tags.items()]
    text = "\n".join([*pairs, "", *wrapped(words, width), "", ""])
    if moves is None:
        return text
    meant = {name: value.translate(_BLANKS) for name, value in tags.items()}
    if how := pgn_parts.misread(text.encode(), [pgn_parts.Reading(meant, tuple(moves), words[-1])]):
        raise MisreadError(f"'{meant.get('White')} - {meant.get('Black')}' cannot be written as PGN: {how}")
    return text


def joint(end: bytes) -> bytes:
    """What to write between the end of a PGN file and the next game: an empty line, as far as it is missing."""
    end = end[-4:].replace(b"\r", b"")[-2:]
    return b"\n" * (2 - end.endswith(b"\n") - (end == b"\n\n")) if end else b""


def check_end(content: bytes, path: Path) -> None:
    """Raise MisreadError where a game behind this content, the end of the file, would not be read as one of its own."""
    end = content[-LOOKED_AT:]
    end = end[end.find(b"\n") + 1 :] if len(end) < len(content) else end
    more = game_text(UNKNOWN_TAGS, ["*"], ()).encode()
    if how := pgn_parts.misread(end + joint(end) + more, [*pgn_parts.readings(end), *pgn_parts.readings(more)]):
        raise MisreadError(f"nothing can be added to '{path}': behind its last game {how}")


def tree_text(game: chess.pgn.Game, width: int = WIDTH) -> str:
    """A whole game from python-chess, with comments, signs and variations, and an empty line after it.

    Raises MisreadError.
    """
    words = game.accept(_Exporter(columns=None, headers=False)).split()
    return game_text(game.headers, list(kept_together(words)), (move.uci() for move in game.mainline_moves()), width)


class _Exporter(chess.pgn.StringExporter):
    """Writes a brace in a comment as a parenthesis."""

    def visit_comment(self, comment: str) -> None:
        super().visit_comment(comment.translate(_BLANKS).replace("}", ")"))


def kept_together(words: Iterable[str]) -> Iterator[str]:
    """The words, joined by blanks where a line must not break."""
    line = ""
    for word in words:
        last = line.rpartition(" ")[2]
        if line and (_KEEPS_THE_NEXT.fullmatch(last) or word.startswith(_KEEPS_TO_THE_LAST)):
            line += f" {word}"
        else:
            if line:
                yield line
            line = word
    if line:
        yield line
