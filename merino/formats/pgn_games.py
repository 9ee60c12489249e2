"""Games from PGN text: where each begins, and its moves, resolved to legal ones.

Two passes, both compiled. `scan` finds games, tags and results. `play` resolves the moves of a range of games from
their starting positions; ranges may be played by several threads at once. A game that cannot be read keeps its place
with a fault, and reading continues with the next.

Files are read as a stream, some hundred games at a time, so that memory is bounded.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from merino.core.board import bitboard, makemove, movegen
from merino.core.board.fen import START_FEN, FenError, parse_fen
from merino.core.board.position import POSITION
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.formats import pgn_tokens, sources
from merino.formats.pgn_tokens import resolve

TAG_NAMES = ("Result", "FEN", "White", "Black", "WhiteElo", "BlackElo", "Date", "ECO", "Variant", "Event")
_TAG_LENGTHS = np.array([len(name) for name in TAG_NAMES])
_TAG_BYTES = np.array([list(name.ljust(12).encode()) for name in TAG_NAMES], dtype=np.uint8)

GAME = memory.record_dtype(
    [
        ("start", np.int64),  # offset of the game: its first tag or move
        ("text", np.int64),  # offset of its moves
        ("end", np.int64),  # offset behind its last token
        ("result", np.int8),  # BLACK_WON, DRAWN, WHITE_WON or UNFINISHED
        ("tags", np.int64, (len(TAG_NAMES), 2)),  # start and end of each tag's value; both 0 if it is missing
        ("first", np.int64),  # index of its first move
        ("plies", np.int32),  # how many moves there are
        ("fault", np.int8),  # 0, or what is wrong with it
        ("fault_at", np.int64),  # offset of the word at fault
        ("position", np.int32),  # its starting position
    ]
)
MAX_GAME_BYTES = 1 << 25  # bytes; a text without one whole game in so many has none, or is not PGN
NO_FAULT, ILLEGAL_MOVE, AMBIGUOUS_MOVE, NULL_MOVE, BAD_FEN, BAD_VARIANT, UNCLOSED, CONTRADICTION, IS_OVER = range(9)
_REASONS = {
    ILLEGAL_MOVE: "is not a legal move here",
    AMBIGUOUS_MOVE: "could be more than one move",
    NULL_MOVE: "is a null move, which chess does not allow",
    BAD_VARIANT: "is a variant that Merino does not play",
    UNCLOSED: "opens a comment that is never closed",
    CONTRADICTION: "is not the result in the tag",
    IS_OVER: "is a position where the game is already over",
}
_RESULT, _FEN, _VARIANT, _EVENT = (TAG_NAMES.index(name) for name in ("Result", "FEN", "Variant", "Event"))


# The variants of chess that Merino plays, by the tag `Variant` of a game.
_STANDARD_CHESS = {"", "chess", "classical", "from position", "illegal", "normal", "standard"}
_SHUFFLED_CHESS = {"chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"}


def _is_played(variant: str) -> bool:
    """Whether a variant is chess from any position, or Chess960."""
    name = variant.strip().lower()
    return name in _STANDARD_CHESS or name.startswith("wild/") or is_shuffled(name)


def is_shuffled(variant: str) -> bool:
    """Whether a variant is Chess960."""
    return variant.strip().lower() in _SHUFFLED_CHESS


@kernel
def _tag_row(data, start, stop):
    """The row in TAG_NAMES of the tag data[start:stop], or -1."""
    at = pgn_tokens.skip_blanks(data, start + 1, stop)
    length = pgn_tokens.word_end(data, at, stop) - at
    for row in range(len(_TAG_BYTES)):
        if length == _TAG_LENGTHS[row] and pgn_tokens.matches(data, at, stop, _TAG_BYTES[row, :length]):
            return row
    return -1


@kernel
def _read_tag(data, start, stop, game, row):
    """Note the place of a tag's value, between its first and last quote."""
    opening = start
    while data[opening] != ord('"'):
        opening += 1
    closing = stop - 1
    while data[closing] != ord('"'):
        closing -= 1
    if closing > opening:
        game.tags[row, 0], game.tags[row, 1] = opening + 1, closing


@kernel
def _begins_new_game(game, row, fresh):
    """Whether a tag starts a new game after tags without moves: "Event", or after a gap any repeated tag."""
    return game.tags[row, 0] > 0 and (row == _EVENT or fresh == pgn_tokens.AFTER_GAP)


@kernel
def _begin(game, start):
    game.start = game.text = game.end = start
    game.result = pgn_tokens.UNFINISHED
    game.tags[:] = 0
    game.plies = game.fault = game.position = 0
    game.first = game.fault_at = 0


@kernel
def _finish(data, game, moves, at, keeps_empty):
    """Set the result of a game, from the text behind its moves or else from its tag; returns whether to keep it.

    `at` is the place of the result in the text. If it differs from the tag's, that is a fault: either may be wrong.
    A game without moves is kept with `keeps_empty`, if it has tags.
    """
    in_tag = pgn_tokens.result_at(data, game.tags[_RESULT, 0], game.tags[_RESULT, 1])
    if game.result == pgn_tokens.UNFINISHED:
        game.result = in_tag
    elif in_tag != pgn_tokens.UNFINISHED and in_tag != game.result and game.fault == NO_FAULT:
        game.fault, game.fault_at = CONTRADICTION, at
    return moves > 0 or game.fault == UNCLOSED or keeps_empty and game.text > game.start


@entry
def _scan(data, games, keeps_empty):
    """Fill GAME[n] with the games of the text; returns their number, which may be more than fit.

    Games without moves are left out, unless `keeps_empty`.
    """
    found, at, end, last = 0, 0, len(data), len(games) - 1
    begun, moves = False, 0
    while True:
        kind, start, stop, fresh = pgn_tokens.next_token(data, at, end)
        game = games[min(found, last)]
        over = kind == pgn_tokens.END or moves > 0 and kind == pgn_tokens.TAG
        if (
            over
            or kind == pgn_tokens.MOVE
            and (fresh == pgn_tokens.AFTER_GAP and moves > 0 or fresh == pgn_tokens.NUMBER_ONE and moves > 1)
        ):
            if begun and _finish(data, game, moves, start, keeps_empty):
                found += 1
                game = games[min(found, last)]
            begun, moves = False, 0
            if kind == pgn_tokens.END:
                return found
        if not begun:
            _begin(game, start)
            begun = True
        if kind == pgn_tokens.TAG:
            row = _tag_row(data, start, stop)
            if row >= 0:
                if _begins_new_game(game, row, fresh):
                    found += _finish(data, game, moves, start, keeps_empty)
                    game = games[min(found, last)]
                    _begin(game, start)
                _read_tag(data, start, stop, game, row)
            game.text = stop
        elif kind == pgn_tokens.MOVE:
            moves += 1
        else:
            if kind == pgn_tokens.OPEN_COMMENT:
                game.fault, game.fault_at = UNCLOSED, start
            else:
                game.result = pgn_tokens.result_at(data, start, stop)
            found += _finish(data, game, moves, start, keeps_empty)
            begun, moves = False, 0
        game.end = at = stop


@entry
def _play(data, games, first, last, starts, moves, scores, whole):
    """Resolve the moves of games[first:last] into `moves` from its beginning; returns the number written.

    `scores` gets the scores in comments for the positions after the moves; it may be empty. `whole` is for
    `score_between`.
    """
    stack = np.zeros(2, dtype=POSITION)
    scratch = np.zeros(movegen.MAX_MOVES, dtype=np.int32)
    written = 0
    for number in range(first, last):
        game = games[number]
        game.first, game.plies = written, 0
        if game.fault != NO_FAULT:
            continue
        memory.copy_record(stack[0], starts[game.position])
        written = _play_game(data, game, stack, scratch, moves, scores, whole, written)
    return written


@kernel
def _play_game(data, game, stack, scratch, moves, scores, whole, written):
    """Resolve the moves of one game; returns the end of all moves written. A game with a fault writes none."""
    at, plies, began = game.text, 0, written
    while True:
        kind, start, stop, _ = pgn_tokens.next_token(data, at, game.end)
        if len(scores) and plies:
            _note_score(stack[plies & 1], scores, written - 1, plies, pgn_tokens.score_between(data, at, start, whole))
        if kind != pgn_tokens.MOVE:
            break
        move = resolve(stack[plies & 1], scratch, data, start, stop)
        if move <= 0:
            game.fault_at = start
            game.fault = ILLEGAL_MOVE - move  # of ILLEGAL, AMBIGUOUS and NULL, which count down from 0
            return began
        makemove.make(stack[(plies + 1) & 1], stack[plies & 1], move)
        moves[written] = move
        written += 1
        plies += 1
        at = stop
    game.plies = plies
    return written


@entry
def _follow(table, starts, moves, keys, played, numbers):
    """Fill in the Zobrist key of each position of the games, the move made there, 0 at the end, and the game's row."""
    stack = np.zeros(2, dtype=POSITION)
    at = 0
    for number in range(len(table)):
        game = table[number]
        memory.copy_record(stack[0], starts[game.position])
        for ply in range(game.plies + 1):
            move = moves[game.first + ply] if ply < game.plies else 0
            keys[at], played[at], numbers[at] = stack[ply & 1].key, move, number
            if move:
                makemove.make(stack[(ply + 1) & 1], stack[ply & 1], move)
            at += 1


@kernel
def _note_score(position, scores, index, plies, found):
    """Store the score behind move `index`, which led to `position`, as White's score."""
    kind, value = found
    scores[index] = pgn_tokens.NO_SCORE
    if kind == pgn_tokens.OF_POSITION:
        scores[index] = value
    elif kind == pgn_tokens.OF_MOVER and plies > 1:  # of the position before the move; its mover is no longer to move
        scores[index - 1] = value if position.side == bitboard.BLACK else -value


@dataclass(frozen=True)
class Games:
    """The games of a text: GAME[n] (those with a fault have no moves), int16 moves of all, POSITION[m] they start from.

    `scores`, int16, are those in comments, for the position after each move, from White's view as in
    `formats.pgn_tokens`; empty if not requested.
    """

    table: np.ndarray
    moves: np.ndarray
    starts: np.ndarray
    data: np.ndarray
    lines_before: int = 0  # in the file, before `data`
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int16))

    def __len__(self) -> int:
        return len(self.table)

    def tag(self, number: int, name: str) -> str:
        """The value of a tag of game `number`, "" if it is missing."""
        start, stop = self.table["tags"][number, TAG_NAMES.index(name)]
        return plain_value(sources.decoded(self.data[start:stop]))

    def lines(self, places: np.ndarray) -> np.ndarray:
        """The lines of the file, from 1, of some offsets."""
        return np.searchsorted(_line_ends(self.data), places) + 1 + self.lines_before

    def faults(self, needs_result: bool = False) -> Iterator[sources.Fault]:
        """Why games are of no use: what is wrong, or that they have no moves, or no result if that is needed."""
        return iter(self.useless(needs_result).values())

    def useless(self, needs_result: bool = False) -> dict[int, sources.Fault]:
        """The same as `faults`, by the number of the game."""
        table = self.table
        is_faulty, has_no_moves = table["fault"] != NO_FAULT, table["plies"] == 0
        numbers = np.flatnonzero(is_faulty | has_no_moves | needs_result & (table["result"] == pgn_tokens.UNFINISHED))
        if not len(numbers):
            return {}
        lines = self.lines(np.where(is_faulty, table["fault_at"], table["start"])[numbers])
        return {
            number: self._fault(number, line) for number, line in zip(numbers.tolist(), lines.tolist(), strict=True)
        }

    def positions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of all positions of the games the Zobrist key, the move made there, 0 at the end, and the row in `table`."""
        count = int(self.table["plies"].sum()) + len(self.table)
        keys, numbers = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.int32)
        played = np.zeros(count, dtype=np.int16)
        _follow(self.table, self.starts, self.moves, keys, played, numbers)
        return keys, played, numbers

    def _fault(self, number: int, line: int) -> sources.Fault:
        game = self.table[number]
        if game["fault"] != NO_FAULT:
            return sources.Fault(line, self._reason(game))
        return sources.Fault(line, why=sources.NO_RESULT if game["plies"] else sources.NO_MOVES)

    def _reason(self, game: np.void) -> str:
        at, fault = int(game["fault_at"]), int(game["fault"])
        if fault == BAD_FEN:
            return f"the tag FEN: {_fen_fault(self._value(game, _FEN))}"
        if fault == BAD_VARIANT:
            return f"{sources.decoded(self._value(game, _VARIANT))[:40]!r} {_REASONS[fault]}"
        word = re.match(rb"[^\s{}();$!?\[\]]*", bytes(self.data[at : at + 100]))
        return f"{sources.decoded(word[0] if word and word[0] else self.data[at : at + 1])[:20]!r} {_REASONS[fault]}"

    def _value(self, game: np.void, row: int) -> np.ndarray:
        start, stop = game["tags"][row]
        return self.data[start:stop]


def _line_ends(data: np.ndarray) -> np.ndarray:
    """The offsets of the characters that end a line."""
    carriage = np.flatnonzero(data == ord("\r"))
    alone = carriage[data[np.minimum(carriage + 1, len(data) - 1)] != ord("\n")]
    return np.sort(np.concatenate([np.flatnonzero(data == ord("\n")), alone]))


def _fen_fault(value: np.ndarray) -> str:
    try:
        parse_fen(sources.decoded(value))
    except FenError as error:
        return str(error)
    return ""


def read_games(
    text: bytes | np.ndarray, threads: int = 2, whole: int | None = None, keeps_empty: bool = False
) -> Games:
    """The games of a PGN text that have moves, with `keeps_empty` all; with scores as of `play_games`."""
    return play_games(*scan_games(text, keeps_empty), threads, whole=whole)


def up_to_faults(games: Games) -> Games:
    """The same games, each with the moves before its first fault."""
    table = games.table.copy()
    cut = (table["fault"] != NO_FAULT) & (table["fault"] != BAD_FEN) & (table["fault"] != BAD_VARIANT)
    if not cut.any():
        return games
    table["end"][cut], table["fault"][cut] = table["fault_at"][cut], NO_FAULT
    return up_to_faults(play_games(games.data, table))


def scan_games(text: bytes | np.ndarray, keeps_empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of a text and its games, GAME[n], with moves not yet resolved; without moves only if `keeps_empty`."""
    data = np.frombuffer(text, dtype=np.uint8) if isinstance(text, bytes) else text.view()
    data.flags.writeable = False  # so that kernels are compiled for one type of array only
    return data, _scan_all(data, keeps_empty)


def whole_games(text: bytes, keeps_empty: bool = False) -> tuple[np.ndarray, np.ndarray, int]:
    """The games of a text that will continue: (its bytes, GAME[n] of the complete ones, offset of the next one).

    The last game, or an open comment, may continue in the text that follows, unless the text is longer than any game
    can be. The text must end at the end of a line.
    """
    data, table = scan_games(text, keeps_empty)
    if len(data) > MAX_GAME_BYTES:
        return data, table, len(data)
    count = max(0, len(table) - 1)
    in_comment = np.flatnonzero((table["fault"] == UNCLOSED) & (table["end"] > text.rfind(b"{")))
    if len(in_comment):
        count = min(count, int(in_comment[0]))
    return data, table[:count], int(table["start"][count]) if len(table) else 0


def play_games(
    data: np.ndarray, table: np.ndarray, threads: int = 1, lines_before: int = 0, whole: int | None = None
) -> Games:
    """The games of `table` with their moves; `data` begins after this many lines of its file.

    With scores if `whole` says what 1 is worth, as `pgn_tokens.score_between` has it.
    """
    _mark_variants(data, table)
    starts = _starting_positions(data, table)
    spans = list(pairwise(np.linspace(0, len(table), max(1, min(threads, len(table) // 64)) + 1).astype(np.int64)))
    with ThreadPoolExecutor(len(spans)) as pool:
        play = map if len(spans) == 1 else pool.map  # a thread costs more than to play a game
        blocks = list(play(lambda span: _play_span(data, table, starts, whole, *span), spans))
    offset = 0
    for (first, last), (block, _) in zip(spans, blocks, strict=True):
        table["first"][first:last] += offset
        offset += len(block)
    moves, scores = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Games(table, moves, starts, data, lines_before, scores)


def _scan_all(data: np.ndarray, keeps_empty: bool) -> np.ndarray:
    table = np.zeros(len(data) // 600 + 64, dtype=GAME)
    count = int(_scan(data, table, keeps_empty))
    if count >= len(table):  # the last place is reused once the table is full
        table = np.zeros(count + 1, dtype=GAME)
        count = int(_scan(data, table, keeps_empty))
    return table[:count]


def _play_span(
    data: np.ndarray, table: np.ndarray, starts: np.ndarray, whole: int | None, first: int, last: int
) -> tuple[np.ndarray, np.ndarray]:
    """The moves of some games, and their scores if requested."""
    if first == last:
        return np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.int16)
    capacity = int(table["end"][last - 1] - table["text"][first]) // 2 + 16  # a move has two letters and a blank
    moves, scores = np.zeros(capacity, dtype=np.int16), np.zeros(capacity * (whole is not None), dtype=np.int16)
    count = _play(data, table, first, last, starts, moves, scores, whole or 0)
    return moves[:count].copy(), scores[:count].copy()


def _mark_variants(data: np.ndarray, table: np.ndarray) -> None:
    """Mark games of chess variants."""
    spans = table["tags"][:, _VARIANT]
    for number in np.flatnonzero((spans[:, 1] > spans[:, 0]) & (table["fault"] == NO_FAULT)):
        start, stop = spans[number]
        if not _is_played(sources.decoded(data[start:stop])):
            table["fault"][number], table["fault_at"][number] = BAD_VARIANT, start


def _starting_positions(data: np.ndarray, table: np.ndarray) -> np.ndarray:
    """POSITION[m]: the usual start first, then one for each different FEN tag. Marks games whose FEN is bad."""
    places: dict[bytes, int] = {START_FEN.encode(): 0}
    positions = [parse_fen(START_FEN)]
    spans = table["tags"][:, _FEN]
    for number in np.flatnonzero((spans[:, 1] > spans[:, 0]) & (table["fault"] == NO_FAULT)):
        start, stop = spans[number]
        fen = bytes(data[start:stop])
        if fen not in places:
            try:
                positions.append(parse_fen(sources.decoded(fen)))
            except FenError:
                table["fault"][number], table["fault_at"][number] = BAD_FEN, start
                continue
            places[fen] = len(positions) - 1
        table["position"][number] = places[fen]
    return np.concatenate(positions)


MAX_VALUE = 100  # characters of a header in the list

_LISTED = ("White", "Black", "WhiteElo", "BlackElo", "Date", "Event", "ECO")
_ROWS = tuple(TAG_NAMES.index(name) for name in _LISTED)
RESULTS = ("0-1", "1/2-1/2", "1-0", "*")  # by BLACK_WON, DRAWN, WHITE_WON, UNFINISHED


@dataclass(frozen=True)
class GameHeader:
    """A game of a file: its bytes from `start`, `size` of them, and its headers, "" for those that are missing."""

    start: int
    size: int
    result: str
    white: str
    black: str
    white_elo: str
    black_elo: str
    date: str
    event: str
    eco: str


class GamesText(NamedTuple):
    """Some games of a file, with moves not yet resolved (for `play_games`), and the lines and games before them."""

    data: np.ndarray
    table: np.ndarray
    lines_before: int
    games_before: int
    bytes_before: int  # of the text, uncompressed and without its byte-order mark
    size: int  # bytes of these games, which `data` begins with


def games_of(source: sources.Source) -> Iterator[GamesText]:
    """The games of a PGN file, some hundred at a time, those without moves too."""
    rest, lines, games, at = b"", 0, 0, 0
    while text := source.read(max(sources.CHUNK, len(rest))):
        text = rest + text
        data, table, after = whole_games(text[: sources.end_of_lines(text)], keeps_empty=True)
        if after:
            yield GamesText(data, table, lines, games, at, after)
            lines, games, at = lines + sources.count_lines(text[:after]), games + len(table), at + after
        rest = text[after:]
    yield GamesText(*scan_games(rest, keeps_empty=True), lines, games, at, len(rest))


def list_games(text: bytes, at: int = 0, goes_on: bool = False) -> tuple[list[GameHeader], int]:
    """The games of a text, those without moves too, and the offset of the first one that is not listed.

    Offsets are those of a file in which the text begins at `at`. The last game of a text that `goes_on` is not listed:
    its end may be in what follows. The offset is then that of its start, and `at` if the text holds no whole game.
    Moves are not read.
    """
    _, table, after = games_in(text, goes_on)
    return list(headers_of(text, table, at)), at + after


def games_in(text: bytes, goes_on: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """The games that `list_games` lists, for `play_games`, and the offset of the next one."""
    if goes_on:
        return whole_games(text[: sources.end_of_lines(text)], keeps_empty=True)
    return *scan_games(text, keeps_empty=True), len(text)


def plain_value(value: str) -> str:
    """The value of a tag without the backslashes of its quotes."""
    return re.sub(r'\\(["\\])', r"\1", value)


def headers_of(text: bytes, table: np.ndarray, at: int) -> Iterator[GameHeader]:
    """The games that `games_in` finds in a text which begins at offset `at` of its file."""
    spans = table["tags"][:, _ROWS].tolist()
    games = zip(table["start"].tolist(), table["end"].tolist(), table["result"].tolist(), spans, strict=True)
    for start, end, result, values in games:
        headers = (_value(text[begin:stop]) for begin, stop in values)
        yield GameHeader(at + start, end - start, RESULTS[result], *headers)


def _value(text: bytes) -> str:
    return plain_value(sources.decoded(text))[:MAX_VALUE]
