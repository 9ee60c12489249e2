"""Games of PGN text in full: tags, moves, comments, signs and variations, each with its place in the text.

Where they begin is what `pgn_tokens` says, as for all readers. The contents of the games of a text, joined, are the
text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np

from merino.core.board.fen import COLOUR_NAMES, START_FEN
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.board.movegen import MAX_MOVES
from merino.core.common.text import counted, without_controls
from merino.core.compiled import memory
from merino.core.compiled.jit import entry
from merino.formats import pgn_games, pgn_tokens, sources
from merino.formats.pgn_games import plain_value
from merino.formats.pgn_tokens import resolve

PART = memory.record_dtype([("kind", np.int8), ("start", np.int64), ("stop", np.int64), ("depth", np.int64)])
_RESULT = re.compile(rb"(?:\*|(?:1-0|0-1|1/2)[^\s{}();$!?*\[\],\"\xc2]*)\Z")
_SIGNS = {b"!": 1, b"?": 2, b"!!": 3, b"??": 4, b"!?": 5, b"?!": 6}
_MAX_SIGN_DIGITS = 9  # the standard has signs up to $255
_BRACES = str.maketrans("{}", "()")
_COMMAND = re.compile(r"\s*\[%(\w+)\s*([^\]]*?)\s*\]\s*")
_DRAWN = ("csl", "cal")  # commands that list squares and arrows


def commands_in(comment: str) -> tuple[str, dict[str, str]]:
    """The words of a comment, and its commands, such as `[%clk 0:03:00]`, by their names.

    Of several with one name the last holds, but squares and arrows are all drawn.
    """
    commands = dict[str, str]()
    for name, value in _COMMAND.findall(comment):
        commands[name] = f"{commands[name]},{value}" if name in _DRAWN and name in commands else value
    return _COMMAND.sub(" ", comment).strip(), commands


@dataclass(frozen=True)
class PgnPart:
    """A part of the moves of a game: one of the kinds of `pgn_tokens`, and its place in the content of the game.

    `depth` is 0 in the game itself, 1 in a variation, brackets included, 2 in a variation of that.
    """

    kind: int
    start: int
    stop: int
    depth: int


class Reading(NamedTuple):
    """What a game is read as, which nobody who writes it may change: `moves` are coordinates."""

    tags: Mapping[str, str]
    moves: tuple[str, ...]
    result: str
    fault: str = ""


@dataclass(frozen=True)
class GameSource:
    """A game as read. `content` begins where the game before it ends; its moves are from `text` on.

    `fault` says what is wrong with it, "" if nothing; `moves` end where it could not be read.
    """

    number: int
    line: int  # of the file, from 1, at which it begins, or at which its fault is
    content: bytes
    text: int
    tags: dict[str, str]
    result: str
    start: Position
    moves: tuple[str, ...]  # coordinates from the starting position
    fault: str = ""
    scores: tuple[int, ...] = ()  # behind the moves, as `pgn_games.Games` has them; none of a game with a fault

    def __repr__(self) -> str:
        return f"GameSource({self.label!r}, {len(self.moves)} plies, {self.fault or self.result!r})"

    @property
    def label(self) -> str:
        """Who plays whom: "Morphy - Anderssen"."""
        return without_controls(" - ".join(self.tags.get(side, "?") for side in COLOUR_NAMES))

    @property
    def reading(self) -> Reading:
        """What a writer must not change of it."""
        return Reading(self.tags, self.moves, self.result, self.fault)

    @cached_property
    def parts(self) -> list[PgnPart]:
        """What stands behind the tags, the result last if there is one."""
        return parts_of(self.content, self.text)

    def position(self) -> Position:
        """The position after the moves, with its history."""
        found = self.start.copy()
        found.push_all(self.moves)
        return found

    def comment(self, part: PgnPart) -> str:
        """The text of a comment, "" if the part is none."""
        text = self.content[part.start + 1 : part.stop]
        if part.kind == pgn_tokens.COMMENT:
            return sources.decoded(text[:-1]).strip()
        is_comment = part.kind == pgn_tokens.LINE and self.content.startswith(b";", part.start)
        return sources.decoded(text).strip().translate(_BRACES) if is_comment else ""

    def sign(self, part: PgnPart) -> int | None:
        """The number of a sign such as $4 or ??, None if the part is none."""
        text = self.content[part.start : part.stop]
        if part.kind != pgn_tokens.SIGN or text == b"$" or len(text) > 1 + _MAX_SIGN_DIGITS:
            return None
        return _SIGNS.get(text) or int(text[1:])

    def move_in(self, position: Position, part: PgnPart) -> int:
        """The legal move of `position` that a MOVE means; or ILLEGAL, AMBIGUOUS or NULL of `pgn_tokens`."""
        word = np.frombuffer(self.content, dtype=np.uint8, count=part.stop)
        return int(_move(position.record, word, part.start, part.stop))


@entry
def _move(positions, data, start, stop):
    return resolve(positions[0], np.zeros(MAX_MOVES, dtype=np.int32), data, start, stop)


@entry
def _parts(data, at, found):
    """Fill PART[n] with what stands from `at` on, up to a result; returns their number, which may be more than fit."""
    count, depth, end, outer = 0, 0, len(data), 0
    while at < end:
        if pgn_tokens.SPACE[data[at]]:
            at += 1
            continue
        if depth and at >= outer:
            depth = 0  # where a variation is not closed
        kind, stop = pgn_tokens.next_part(data, at, outer if depth else end, depth > 0)
        if kind == pgn_tokens.OPENING:
            if depth == 0:
                outer = pgn_tokens.skip_variation(data, at, end)
            depth += 1
        if count < len(found):
            part = found[count]
            part.kind, part.start, part.stop, part.depth = kind, at, stop, depth
        count += 1
        if kind == pgn_tokens.CLOSING and depth:
            depth -= 1
        elif kind == pgn_tokens.RESULT and depth == 0:
            break
        at = stop
    return count


def parts_of(content: bytes, at: int) -> list[PgnPart]:
    """What stands in a text from `at` on, up to the result of a game."""
    data, found = np.frombuffer(content, dtype=np.uint8), np.zeros(64 + (len(content) - at) // 2, dtype=PART)
    return [PgnPart(*part) for part in found[: int(_parts(data, at, found))].tolist()]


@cache
def coordinates(move: int, chess960: bool) -> str:
    """What `Move.uci` gives, which is slow for all moves of a game."""
    return Move(move).uci(chess960)


def games_of(content: bytes) -> Iterator[GameSource]:
    """The games of a PGN text, each as it is read; text without a game is none."""
    read = pgn_games.read_games(content, whole=pgn_tokens.IN_PAWNS, keeps_empty=True)
    faults = read.useless()
    readable = pgn_games.up_to_faults(read) if faults else read
    lines = read.lines(read.table["start"])
    for number, (begin, end) in enumerate(pairwise(_cuts(content, read.table))):
        row, fault = readable.table[number], faults.get(number)
        first, text = int(row["start"]), int(row["text"])
        is_readable = row["fault"] == pgn_games.NO_FAULT
        fen, variant = (read.tag(number, name) if is_readable else "" for name in ("FEN", "Variant"))
        start = Position(fen or START_FEN, pgn_games.is_shuffled(variant))
        moves = readable.moves[row["first"] : row["first"] + row["plies"]].tolist()
        yield GameSource(
            number + 1,
            fault.line if fault else int(lines[number]),
            content[begin:end],
            text - begin if text > first else _untagged(content[begin:first]),
            dict(_tags(content[first:text])),
            pgn_games.RESULTS[row["result"]],
            start,
            tuple(coordinates(move, start.chess960) for move in moves),
            fault.text if fault else "",
            tuple(readable.scores[row["first"] : row["first"] + row["plies"]].tolist()),
        )


def readings(content: bytes) -> list[Reading]:
    """What the games of a PGN text are read as."""
    return [source.reading for source in games_of(content)]


def misread(content: bytes, meant: Sequence[Reading]) -> str:
    """How a PGN text would be read otherwise than as these games, but for who annotated them; "" if not."""
    found = readings(content)
    if len(found) != len(meant):
        return f"it would be read as {counted(len(found), 'game')}, not {len(meant)}"
    for ours, theirs in zip(map(_unsigned, meant), map(_unsigned, found), strict=True):
        for name, mine, other in zip(Reading._fields, ours, theirs, strict=True):
            if mine != other:
                return f"its {name} would be read otherwise"
    return ""


def _unsigned(game: Reading) -> Reading:
    return game._replace(tags={name: value for name, value in game.tags.items() if name != "Annotator"})


def _cuts(content: bytes, table: np.ndarray) -> Iterator[int]:
    """Where the content of each game begins, and that of the last one ends."""
    yield 0
    if not len(table):
        return
    for end, start in zip(table["end"].tolist(), table["start"][1:].tolist(), strict=False):
        if _RESULT.search(content, max(0, end - 64), end):
            behind = content[end : end + 64]  # a percent sign there begins no line, as it would in the next content
            yield end + len(behind) - len(behind.lstrip(b"%"))
        else:
            before = () if content.startswith(b"[", start) else parts_of(content[end:start], 0)
            numbers = [part.start for part in before if part.kind == pgn_tokens.NUMBER and not part.depth]
            yield end + numbers[-1] if numbers else start
    yield len(content)


def _untagged(before: bytes) -> int:
    """Where the text of a game without tags begins in what is before its moves: behind results that belong to none."""
    at = 0
    while (parts := parts_of(before, at)) and parts[-1].kind == pgn_tokens.RESULT:
        at = parts[-1].stop
    return at


def _tags(text: bytes) -> Iterator[tuple[str, str]]:
    """The names and values of the tags in the head of a game; without a quote at its end, a value is none."""
    for part in takewhile(lambda part: part.start < len(text), parts_of(text, 0)):
        if part.kind == pgn_tokens.TAG:
            name, *value, _ = text[part.start + 1 : part.stop].split(b'"')
            if value:
                yield sources.decoded(name.strip()), plain_value(sources.decoded(b'"'.join(value)))
