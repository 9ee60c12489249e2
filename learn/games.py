"""Games from PGN text: where each begins, and its moves, resolved to legal ones.

Two passes, both compiled. `scan` finds games, tags and results. `play` resolves the moves of a range of games from
their starting positions; ranges may be played by several threads at once. A game that cannot be read keeps its place
with a fault, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.fen import START_FEN, FenError, parse_fen
from engine.jit import entry, kernel
from engine.makemove import make
from engine.memory import copy_record
from engine.movegen import MAX_MOVES
from engine.position import POSITION
from learn.notation import AMBIGUOUS, ILLEGAL, resolve
from learn.tokens import END, MOVE, TAG, UNFINISHED, next_token, result_at

TAG_NAMES = ("Result", "FEN", "White", "Black", "WhiteElo", "BlackElo", "Date", "ECO", "Variant", "Event")
_TAG_BYTES = np.zeros((len(TAG_NAMES), 12), dtype=np.uint8)
for _row, _name in zip(_TAG_BYTES, TAG_NAMES, strict=True):
    _row[: len(_name)] = np.frombuffer(_name.encode(), dtype=np.uint8)

GAME = np.dtype(
    [
        ("start", np.int64),  # offset of the game: its first tag or move
        ("text", np.int64),  # offset of its moves
        ("end", np.int64),  # offset behind its last token
        ("result", np.int8),  # BLACK_WON, DRAWN, WHITE_WON or UNFINISHED
        ("tags", np.int64, (len(TAG_NAMES), 2)),  # start and end of each tag's value; both 0 where it is not given
        ("first", np.int64),  # index of its first move
        ("plies", np.int32),  # how many moves there are
        ("fault", np.int8),  # 0, or what is wrong with it
        ("fault_at", np.int64),  # offset of the word at fault
        ("position", np.int32),  # its starting position
    ],
    align=True,
)
NO_FAULT, ILLEGAL_MOVE, AMBIGUOUS_MOVE, BAD_FEN = range(4)
_FAULTS = ("", "is not a legal move here", "could be more than one move", "is not a usable FEN")
_LONGEST = 2**31 - 1


@kernel
def _read_tag(data, start, stop, game):
    """Note where the value of a tag is, if it is one of TAG_NAMES."""
    at = start + 1
    while at < stop and data[at] == ord(" "):
        at += 1
    opening = at
    while opening < stop and data[opening] != ord('"'):
        opening += 1
    closing = stop - 1
    while closing > opening and data[closing] != ord('"'):
        closing -= 1
    if closing <= opening:
        return
    for row in range(len(_TAG_BYTES)):
        length = 0
        while length < 12 and _TAG_BYTES[row, length] and data[at + length] == _TAG_BYTES[row, length]:
            length += 1
        if (length == 12 or not _TAG_BYTES[row, length]) and not (65 <= data[at + length] <= 122):
            game.tags[row, 0], game.tags[row, 1] = opening + 1, closing


@kernel
def _begin(game, start):
    game.start = game.text = game.end = start
    game.result = UNFINISHED
    game.tags[:] = 0
    game.plies = game.fault = game.position = 0
    game.first = game.fault_at = 0


@kernel
def _finish(data, game, moves):
    """Whether what was read is a game: it has moves, or tags and a result."""
    if game.result == UNFINISHED and game.tags[0, 1] > game.tags[0, 0]:
        game.result = result_at(data, game.tags[0, 0], game.tags[0, 1])
    return moves > 0


@entry
def _scan(data, games):
    """Fill GAME[n] with the games of the text; how many there are, which may be more than fit."""
    found, at, end = 0, 0, len(data)
    if end >= 3 and data[0] == 0xEF and data[1] == 0xBB and data[2] == 0xBF:
        at = 3  # byte order mark
    in_moves, begun, moves = False, False, 0
    while True:
        kind, start, stop = next_token(data, at, end)
        game = games[min(found, len(games) - 1)]
        if kind == TAG and in_moves or kind == END:
            if begun and _finish(data, game, moves):
                found += 1
                game = games[min(found, len(games) - 1)]
            begun, in_moves, moves = False, False, 0
            if kind == END:
                return found
        if not begun:
            _begin(game, start)
            begun = True
        game.end = stop
        if kind == TAG:
            _read_tag(data, start, stop, game)
            game.text = stop
        elif kind == MOVE:
            in_moves = True
            moves += 1
        else:
            game.result = result_at(data, start, stop)
            if _finish(data, game, moves):
                found += 1
            begun, in_moves, moves = False, False, 0
        at = stop


@entry
def _play(data, games, first, last, starts, moves):
    """Resolve the moves of games[first:last] into `moves` from its beginning; how many were written."""
    stack = np.zeros(2, dtype=POSITION)
    scratch = np.zeros(MAX_MOVES, dtype=np.int32)
    written = 0
    for number in range(first, last):
        game = games[number]
        game.first, game.plies = written, 0
        if game.fault != NO_FAULT:
            continue
        copy_record(stack[0], starts[game.position])
        written = _play_game(data, game, stack, scratch, moves, written)
    return written


@kernel
def _play_game(data, game, stack, scratch, moves, written):
    """Resolve the moves of one game; the end of all moves written. A game with a fault writes none."""
    at, plies, began = game.text, 0, written
    while True:
        kind, start, stop = next_token(data, at, game.end)
        if kind != MOVE:
            break
        move = resolve(stack[plies & 1], scratch, data, start, stop)
        if move == ILLEGAL or move == AMBIGUOUS:
            game.fault, game.fault_at = (ILLEGAL_MOVE if move == ILLEGAL else AMBIGUOUS_MOVE), start
            return began
        make(stack[(plies + 1) & 1], stack[plies & 1], move)
        moves[written] = move
        written += 1
        plies += 1
        at = stop
    game.plies = plies
    return written


@dataclass(frozen=True)
class Fault:
    """A game that could not be read."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True)
class Games:
    """Games read: GAME[n] (those with a fault have no moves), int16 moves of all, POSITION[m] they start from."""

    table: np.ndarray
    moves: np.ndarray
    starts: np.ndarray
    data: np.ndarray

    def __len__(self) -> int:
        return len(self.table)

    def tag(self, number: int, name: str) -> str:
        """The value of a tag of game `number`, "" where it is not given."""
        start, stop = self.table["tags"][number, TAG_NAMES.index(name)]
        return bytes(self.data[start:stop]).decode("utf-8", "replace").replace('\\"', '"').replace("\\\\", "\\")

    def faults(self) -> Iterator[Fault]:
        """What is wrong with each game that could not be read."""
        for game in self.table[self.table["fault"] != NO_FAULT]:
            at = int(game["fault_at"])
            word = bytes(self.data[at : at + 100]).decode("utf-8", "replace")
            word = word.split('"')[0] if game["fault"] == BAD_FEN else (word.split() or [""])[0][:20]
            line = int(np.count_nonzero(self.data[:at] == ord("\n"))) + 1
            yield Fault(line, f"{word!r} {_FAULTS[int(game['fault'])]}")


def read_games(text: bytes | np.ndarray, threads: int = 2) -> Games:
    """Every game of a PGN text that has moves."""
    data = np.frombuffer(text, dtype=np.uint8) if isinstance(text, bytes) else text
    table = _scan_all(data)
    starts = _starting_positions(data, table)
    bounds = np.linspace(0, len(table), max(1, min(threads, len(table) // 64)) + 1).astype(np.int64)
    spans = list(pairwise(bounds))
    with ThreadPoolExecutor(len(spans)) as pool:
        blocks = list(pool.map(lambda span: _play_span(data, table, starts, *span), spans))
    offset = 0
    for (first, last), block in zip(spans, blocks, strict=True):
        table["first"][first:last] += offset
        offset += len(block)
    return Games(table, np.concatenate(blocks), starts, data)


def _scan_all(data: np.ndarray) -> np.ndarray:
    table = np.zeros(len(data) // 600 + 64, dtype=GAME)
    count = int(_scan(data, table))
    if count >= len(table):  # the last place is reused once the table is full
        table = np.zeros(count + 1, dtype=GAME)
        count = int(_scan(data, table))
    return table[:count]


def _play_span(data: np.ndarray, table: np.ndarray, starts: np.ndarray, first: int, last: int) -> np.ndarray:
    if first == last:
        return np.zeros(0, dtype=np.int16)
    room = int(table["end"][last - 1] - table["text"][first]) // 2 + 16  # a move has two letters and a blank
    moves = np.zeros(room, dtype=np.int16)
    return moves[: _play(data, table, first, last, starts, moves)].copy()


def _starting_positions(data: np.ndarray, table: np.ndarray) -> np.ndarray:
    """POSITION[m]: the usual start first, then one for each different FEN tag. Marks games whose FEN is bad."""
    places: dict[bytes, int] = {START_FEN.encode(): 0}
    positions = [parse_fen(START_FEN)]
    spans = table["tags"][:, TAG_NAMES.index("FEN")]
    for number in np.flatnonzero(spans[:, 1] > spans[:, 0]):
        start, stop = spans[number]
        fen = bytes(data[start:stop])
        if fen not in places:
            try:
                positions.append(parse_fen(fen.decode("utf-8", "replace")))
            except FenError:
                table["fault"][number], table["fault_at"][number] = BAD_FEN, start
                continue
            places[fen] = len(positions) - 1
        table["position"][number] = places[fen]
    return np.concatenate(positions)
