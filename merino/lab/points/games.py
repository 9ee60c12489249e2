"""The games of point values: files read into material vectors, filters and sets of games, and matrices of vectors.

A vector is (dP, dN, dB, dR, dQ), White's pieces less Black's: one for each quiet phase of the balance, by the rule of
Medvedev's first study. It is written when at least two plies in a row were no capture, no promotion and no check, and
the five numbers differ from the vector written last in that game. The first of a game is all zeros, since nothing can
be captured or checked at once. (Rule: read off V. Medvedev's program `pgnlearn`; this code is our own.) On request a
vector also has FEATURES of the pieces that are left, White's less Black's, and the phase of the game, and is written
when one of them has changed.

A matrix has rows of five differences and the result, for other programs. Plain text, as Medvedev's program writes it,
has six numbers a row and nothing else. CSV (`.csv`) names the columns and adds the number of the game, which plain text
lacks.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple
from unicodedata import normalize

import numpy as np

from merino.core.board import bitboard, makemove, movegen
from merino.core.board.position import POSITION, pieces_of
from merino.core.common import options, work
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.eval.material import FULL_SET, units
from merino.formats import pgn_games, sources
from merino.formats.pgn_tokens import BLACK_WON, DRAWN, UNFINISHED, WHITE_WON
from merino.study.errors import StudyError

PIECES = bitboard.PIECE_LETTERS[: bitboard.QUEEN + 1]  # of the columns
PIECE_NAMES = ("pawn", "knight", "bishop", "rook", "queen")
COLUMNS = (*PIECES, "result", "game")  # of a matrix
FEATURES = ("bishop pair", "knight by friendly pawns", "rook by friendly pawns", "queen with knight", "last pawn")
PHASES = ("opening", "middlegame", "endgame")
NEUTRAL_PAWNS = 5  # friendly pawns at which a knight and a rook have just their values (L. Kaufman, 1999)
OPENING_UNITS = 2 * FULL_SET - 12  # of both sides: all pieces, or all but four bishops and knights
ENDGAME_UNITS = 26  # of both sides: thirteen each, as J. Speelman draws the line
QUIET_PLIES = 2  # in a row, before the balance counts as settled
DRAW = 1  # half points
BAND = 100  # Elo points in a set of `by elo`
SUGGESTED_PLAYERS = 5
TAGS = ("White", "Black", "WhiteElo", "BlackElo", "Date", "ECO")
_NUMBERS = len(COLUMNS) - 1  # in a row of plain text
_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_MAX_PIECES = 64  # pieces of a kind on a board
_UNKNOWN = {"", "?", "-"}  # values of a tag
_HALF_POINTS = np.zeros(UNFINISHED + 1, dtype=np.int8)
_HALF_POINTS[[BLACK_WON, DRAWN, UNFINISHED, WHITE_WON]] = 0, DRAW, DRAW, 2
_NO_VECTOR = 127  # stands for the vector before a game's first; no balance equals it
_PHASE = len(PIECES) + len(FEATURES)  # its column in a row, behind those of balance and features
_COLUMNS = _PHASE + 1

ShowShare = Callable[[str, float | None], object]  # what is done, and the share that is done, None if unknown


class Draws(StrEnum):
    """What to do with drawn games."""

    SKIP = "skip"
    HALF = "half"

    @property
    def other(self) -> "Draws":
        """The other way."""
        return Draws.HALF if self is Draws.SKIP else Draws.SKIP


class Wanted(StrEnum):
    """Results of games to choose."""

    WHITE = "1-0"
    DRAW = "1/2-1/2"
    BLACK = "0-1"
    WON = "won"
    LOST = "lost"
    DRAWN = "drawn"


class By(StrEnum):
    """By what games, or their vectors, are divided into sets."""

    PLAYER = "player"
    ELO = "elo"
    YEAR = "year"
    ECO = "eco"
    PHASE = "phase"


_of_games, _of_sets = (partial(options.Option, group=title) for title in ("games to use", "sets of games"))


@dataclass(frozen=True)
class PointsRequest:
    """The games to use, their division into sets, the treatment of draws, and whether features are fitted too.

    A game without a tag that a filter needs is left out.
    """

    draws: Annotated[Draws, "drawn games: leave them out (Medvedev's way) or count half a point", options.Option()] = (
        Draws.SKIP
    )
    seed: Annotated[int, "seed of the samples behind the intervals", options.Option("N")] = 2015
    features: Annotated[
        bool, "add features: bishop pair, friendly pawns, queen with knight, the last pawn", options.Option()
    ] = False
    player: Annotated[str | None, "only games of this player, with either colour", _of_games("NAME")] = None
    result: Annotated[Wanted | None, "only games with this result; won and lost need --player", _of_games()] = None
    min_elo: Annotated[int | None, "only games with both players rated N or more", _of_games("N")] = None
    max_elo: Annotated[int | None, "only games with both players rated N or less", _of_games("N")] = None
    max_elo_gap: Annotated[int | None, "only games whose players' ratings differ by N or less", _of_games("N")] = None
    eco: Annotated[str, "only openings whose ECO code begins with CODE: B, B9, B90", _of_games("CODE")] = ""
    by: Annotated[By | None, "divide the games, or their positions by phase, into sets to compare", _of_sets()] = None
    min_games: Annotated[int, "leave out sets with fewer games", _of_sets("N")] = 100
    top: Annotated[int, "show the N largest sets", _of_sets("N", 1)] = 20

    @property
    def filters(self) -> str:
        """The filters in words; empty without any."""
        limits = {"Elo >=": self.min_elo, "Elo <=": self.max_elo, "Elo gap <=": self.max_elo_gap}
        words = [self.player, self.result, *(f"{name} {limit}" for name, limit in limits.items() if limit is not None)]
        return ", ".join(filter(None, [*words, self.eco]))


@dataclass(frozen=True)
class Vectors:
    """The vectors of some games.

    `differences` int8[n, 5], White's pieces less Black's in the order of PIECES; `game` int32[n], from 0, rising;
    `results` int8[games], White's half points: 0, 1 or 2. `by_game` is false where the text that they were read from
    does not say where games begin, and a "game" is only a stretch of rows that may be part of one. None unless asked
    for are `features` int8[n, 5] in the order of FEATURES, `phase` int8[n], an index of PHASES, and `tags`, TAGS by
    name, each object[games], "" where it is missing.
    """

    differences: np.ndarray
    game: np.ndarray
    results: np.ndarray
    by_game: bool = True
    features: np.ndarray | None = None
    phase: np.ndarray | None = None
    tags: Mapping[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.differences)

    @property
    def games(self) -> int:
        """The number of games."""
        return len(self.results)

    @property
    def outcomes(self) -> np.ndarray:
        """The result of each vector's game, int8[n]."""
        return self.results[self.game]

    @property
    def columns(self) -> np.ndarray:
        """The predictors, int8[n, k]: the differences, followed by the features if known."""
        return self.differences if self.features is None else np.hstack([self.differences, self.features])

    def of_games(self, chosen: np.ndarray) -> "Vectors":
        """The games for which `chosen`, bool[games], is true, numbered again."""
        numbers = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        kept = self._rows(chosen[self.game])
        tags = self.tags and {name: values[chosen] for name, values in self.tags.items()}
        return replace(kept, game=numbers[kept.game], results=self.results[chosen], tags=tags)

    def of_phase(self, phase: int) -> "Vectors":
        """The vectors of one of PHASES, which must be known, in the games that have some."""
        assert self.phase is not None
        chosen, has_rows = self.phase == phase, np.zeros(self.games, dtype=bool)
        has_rows[self.game[chosen]] = True
        return self._rows(chosen).of_games(has_rows)

    def of_balance(self) -> "Vectors":
        """Those vectors whose five differences are not those of the one before in the same game: Medvedev's."""
        changed = np.ones(len(self), dtype=bool)
        changed[1:] = (np.diff(self.game) != 0) | (np.diff(self.differences, axis=0) != 0).any(axis=1)
        return replace(self._rows(changed), features=None)

    def _rows(self, kept: np.ndarray) -> "Vectors":
        """These rows, the games unchanged."""
        features, phase = (None if column is None else column[kept] for column in (self.features, self.phase))
        return replace(self, differences=self.differences[kept], game=self.game[kept], features=features, phase=phase)


def joined(parts: Sequence[Vectors]) -> Vectors:
    """All games of the parts, one part after the other, with what all of them have."""

    def together(columns: Sequence[np.ndarray | None]) -> np.ndarray | None:
        known = [column for column in columns if column is not None]
        return np.concatenate(known) if len(known) == len(columns) else None

    offsets = np.cumsum([0, *(part.games for part in parts)], dtype=np.int32)
    tags = {name: together([None if part.tags is None else part.tags[name] for part in parts]) for name in TAGS}
    return Vectors(
        np.concatenate([part.differences for part in parts]),
        np.concatenate([part.game + offset for part, offset in zip(parts, offsets, strict=False)]),
        np.concatenate([part.results for part in parts]),
        all(part.by_game for part in parts),
        together([part.features for part in parts]),
        together([part.phase for part in parts]),
        {name: found for name, found in tags.items() if found is not None} or None,
    )


@kernel
def _features_of(position, colour):
    """The FEATURES of a side."""
    pawns = bitboard.popcount(pieces_of(position, colour, bitboard.PAWN))
    knights = bitboard.popcount(pieces_of(position, colour, bitboard.KNIGHT))
    bishops = bitboard.popcount(pieces_of(position, colour, bitboard.BISHOP))
    rooks = bitboard.popcount(pieces_of(position, colour, bitboard.ROOK))
    has_queen = pieces_of(position, colour, bitboard.QUEEN) != bitboard.ZERO
    return (
        int(bishops >= 2),
        knights * (pawns - NEUTRAL_PAWNS),
        rooks * (pawns - NEUTRAL_PAWNS),
        int(has_queen and knights > 0),
        int(pawns > 0),
    )


@kernel
def phase_of(position):
    """The phase of the game by the pieces of both sides: an index of PHASES."""
    left = units(position, 0) + units(position, 1)
    return 0 if left >= OPENING_UNITS else 2 if left <= ENDGAME_UNITS else 1


@kernel
def _write_row(position, row):
    """Fill `row`, int8[11]: the balance, the features, the phase."""
    for kind in range(len(PIECES)):
        white_pieces = bitboard.popcount(position.pieces[kind] & position.colours[0])
        row[kind] = white_pieces - bitboard.popcount(position.pieces[kind] & position.colours[1])
    white, black = _features_of(position, 0), _features_of(position, 1)
    for index in range(len(FEATURES)):
        row[len(PIECES) + index] = white[index] - black[index]
    row[_PHASE] = phase_of(position)


@kernel
def _is_new(row, last, watched):
    """Whether a number of `row` that is watched differs from that of `last`; then `last` becomes like it."""
    changed = False
    for column in range(len(row)):
        changed |= watched[column] and row[column] != last[column]
        last[column] = row[column]
    return changed


@entry
def _extract(table, numbers, starts, moves, watched, rows, game):
    """Fill the rows of the games table[numbers]; how many there are."""
    stack, last, found = np.zeros(2, dtype=POSITION), np.zeros(_COLUMNS, dtype=np.int8), 0
    for index in range(len(numbers)):
        record = table[numbers[index]]
        memory.copy_record(stack[0], starts[record.position])
        last[:] = _NO_VECTOR
        quiet = 0
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            move = np.int64(moves[record.first + ply])
            makemove.make(after, before, move)
            quiet = 0 if movegen.is_noisy(before, move) or after.checkers != bitboard.ZERO else quiet + 1
            if quiet >= QUIET_PLIES:
                _write_row(after, rows[found])
                if _is_new(rows[found], last, watched):
                    game[found] = index
                    found += 1
    return found


def vectors_of_games(games: pgn_games.Games, features: bool = False, phase: bool = False) -> tuple[Vectors, np.ndarray]:
    """The vectors of every game that could be read, and the numbers of these games, int64[games].

    With `features` and `phase` these are filled in, and each change of one makes a vector, too. An unfinished game
    counts as drawn, as it does in Medvedev's program.
    """
    table = games.table
    numbers = np.flatnonzero((table["fault"] == pgn_games.NO_FAULT) & (table["plies"] > 0))
    capacity = int(table["plies"][numbers].sum()) + 1  # the row behind the last is written before it is found not new
    rows, game = np.zeros((capacity, _COLUMNS), dtype=np.int8), np.zeros(capacity, dtype=np.int32)
    watched = np.repeat([True, features, phase], [len(PIECES), len(FEATURES), 1])
    found = _extract(table, numbers, games.starts, games.moves, watched, rows, game)
    balance, extra, last = np.split(rows[:found], [len(PIECES), _PHASE], axis=1)
    vectors = Vectors(
        balance.copy(),
        game[:found].copy(),
        _HALF_POINTS[table["result"][numbers]],
        features=extra.copy() if features else None,
        phase=last[:, 0].copy() if phase else None,
    )
    return vectors, numbers


def chosen_games(games: Vectors, request: PointsRequest) -> np.ndarray:
    """Which of the games, whose tags are known, pass the filters, bool[games]."""
    assert games.tags is not None
    keep, result, results = np.ones(games.games, dtype=bool), request.result, games.results
    if request.player:
        is_white, is_black = (_who_is(games.tags[name], request.player) for name in ("White", "Black"))
        if result in (Wanted.WON, Wanted.LOST):
            own, other = (2, 0) if result == Wanted.WON else (0, 2)
            is_white, is_black = is_white & (results == own), is_black & (results == other)
        keep &= is_white | is_black
    if result in (Wanted.WHITE, Wanted.DRAW, Wanted.BLACK, Wanted.DRAWN):
        keep &= results == {Wanted.WHITE: 2, Wanted.BLACK: 0}.get(result, DRAW)
    if request.eco:
        keep &= np.array([code.upper().startswith(request.eco.upper()) for code in games.tags["ECO"]], dtype=bool)
    limits = (request.min_elo, request.max_elo, request.max_elo_gap)
    if limits != (None, None, None):
        ratings = _ratings(games.tags)
        low, high = ratings.min(axis=0), ratings.max(axis=0)
        most, gap = (np.inf if limit is None else limit for limit in limits[1:])
        keep &= (low >= max(request.min_elo or 0, 1)) & (high <= most) & (high - low <= gap)
    return keep


def labels_of(tags: Mapping[str, np.ndarray], request: PointsRequest) -> list[tuple[str, ...]]:
    """The labels of the sets `by` which the games are divided; a game may have none or several."""
    if request.by is By.PLAYER:
        pairs = zip(tags["White"], tags["Black"], strict=True)
        return [tuple({name: None for name in pair if name not in _UNKNOWN}) for pair in pairs]
    if request.by is By.ELO:
        ratings = _ratings(tags)
        floors = np.where((ratings > 0).all(axis=0), ratings.sum(axis=0) // 2 // BAND * BAND, -1).tolist()
        return [(f"{floor}-{floor + BAND - 1}",) if floor >= 0 else () for floor in floors]
    if request.by is By.YEAR:
        return [(date[:4],) if re.match(r"\d{4}", date) else () for date in tags["Date"]]
    # One character more than the filter asks for: volumes A to E without one, then B0 to B9, then B90 to B99.
    size = len(request.eco) + 1
    return [(code[:size].upper(),) if re.match(r"[A-Ea-e]\d\d", code) else () for code in tags["ECO"]]


def _ratings(tags: Mapping[str, np.ndarray]) -> np.ndarray:
    """Elo of White and Black, int64[2, games]; 0 where it is not given."""
    texts = (tags[name] for name in ("WhiteElo", "BlackElo"))
    return np.array([[int(each) if re.fullmatch(r"\d{1,4}", each) else 0 for each in side] for side in texts])


def _who_is(names: np.ndarray, wanted: str) -> np.ndarray:
    """Which names, bool[n], mean the player: they have each word asked for, one of them in full, others as initials."""
    asked = _words(wanted)

    @cache
    def is_the_player(name: str) -> bool:
        words = _words(name)
        spelled = all(any(_same_word(one, other) for other in words) for one in asked)
        return spelled and not set(asked).isdisjoint(words)

    return np.array([is_the_player(name) for name in names], dtype=bool)


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", normalize("NFC", name).casefold())  # an accent behind its letter would end the word


def _same_word(one: str, other: str) -> bool:
    return one == other or min(len(one), len(other)) == 1 and one[0] == other[0]


class PointsSource(NamedTuple):
    """A file as read, or a set of games."""

    label: str
    vectors: Vectors


def read_source(path: Path, request: PointsRequest, progress: ShowShare, left_out: sources.LeftOut) -> PointsSource:
    """The vectors of a file, with the tags of its games if the request needs them.

    A remark says how many games have no result. Raises SourceError, and StudyError if a matrix lacks something that was
    asked for.
    """
    by_phase = request.by is By.PHASE
    with_tags = bool(request.filters) or request.by is not None and not by_phase

    def part_of(text: pgn_games.GamesText) -> tuple[Vectors, list[sources.Fault], int]:
        games = pgn_games.play_games(text.data, text.table, 1, text.lines_before)
        vectors, numbers = vectors_of_games(games, request.features, by_phase)
        if with_tags:
            order = numbers.tolist()
            tags = {name: [games.tag(number, name).strip() for number in order] for name in TAGS}
            vectors = replace(vectors, tags={name: np.array(row, dtype=object) for name, row in tags.items()})
        unfinished = np.count_nonzero((games.table["result"] == UNFINISHED) & (games.table["plies"] > 0))
        return vectors, list(games.faults()), int(unfinished)

    with sources.open_source(path) as stream:
        if is_matrix(stream.head, sources.plain_name(path).suffix.lower()):
            if request.features or by_phase:
                raise StudyError(f"'{stream.name}' is a matrix: it has no positions, which features and phases need")
            return PointsSource(stream.name, read_matrix(path, b"".join(stream.lines())))
        parts = []
        for part in work.in_order(part_of, pgn_games.games_of(stream)):
            parts.append(part)
            progress(f"Reading {stream.name}", stream.done)
    vectors, faults, unfinished = zip(*parts, strict=True)
    label = sources.name_of(path)
    left_out.add(path, chain.from_iterable(faults))
    if sum(unfinished):
        left_out.remarks.append(f"{label}: games without a result, which count as drawn: {sum(unfinished)}")
    if not sum(part.games for part in vectors):
        fault = f"{sources.name_of(path, quoted=True)} holds no game that can be read"
        raise sources.SourceError("\n".join([fault, *left_out.lines()]))
    return PointsSource(label, joined(vectors))


def sets_of(files: Sequence[PointsSource], request: PointsRequest) -> tuple[Sequence[PointsSource], int]:
    """The vectors of the games of each set with its label, and the number of smaller sets that are left out.

    Raises StudyError where there are none.
    """
    needs_tags = bool(request.filters) or request.by not in (None, By.PHASE)
    if needs_tags and (matrices := [source.label for source in files if source.vectors.tags is None]):
        raise StudyError(f"'{matrices[0]}' is a matrix: it has no players, ratings or games to choose from")
    wanted, suffix = files, f" ({request.filters})" if request.filters else ""
    if request.filters:
        chosen = (source.vectors.of_games(chosen_games(source.vectors, request)) for source in files)
        wanted = [PointsSource(f"{source.label}{suffix}", kept) for source, kept in zip(files, chosen, strict=True)]
    vectors = joined([source.vectors for source in wanted])
    if not vectors.games:
        raise StudyError(_nothing_found(joined([source.vectors for source in files]), request))
    if request.by is None:
        return wanted, 0
    if request.by is By.PHASE:
        phases = {name: vectors.of_phase(number) for number, name in enumerate(PHASES)}
        shown = largest({name: found.games for name, found in phases.items()}, request)
        return [PointsSource(name, phases[name]) for name in shown], len(phases) - len(shown)
    members: dict[str, list[int]] = {}
    for number, labels in enumerate(labels_of(vectors.tags or {}, request)):
        for label in labels:
            members.setdefault(label, []).append(number)
    shown = largest({label: len(members[label]) for label in sorted(members, key=_by_number)}, request)
    numbers = np.arange(vectors.games)
    found = [PointsSource(label, vectors.of_games(np.isin(numbers, members[label]))) for label in shown]
    return found, len(members) - len(shown)


def largest(sizes: Mapping[str, int], request: PointsRequest) -> list[str]:
    """The sets with the most games, in their order; raises StudyError where all are too small."""
    if not sizes:
        raise StudyError(f"no game here has the tags that --by {request.by} looks at")
    large = [label for label in sorted(sizes, key=lambda label: -sizes[label]) if sizes[label] >= request.min_games]
    if not large:
        raise StudyError(f"no set by {request.by} has {request.min_games} games here (--min-games)")
    return [label for label in sizes if label in large[: request.top]]


def _by_number(label: str) -> tuple[int, str]:
    """Sorts 900-999 before 1000-1099, and names by the alphabet."""
    digits = re.match(r"\d+", label)
    return int(digits[0]) if digits else 0, label


def _nothing_found(games: Vectors, request: PointsRequest) -> str:
    if request.player and games.tags and not chosen_games(games, PointsRequest(player=request.player)).any():
        names = Counter(name for side in ("White", "Black") for name in games.tags[side] if name not in _UNKNOWN)
        known = ", ".join(f"'{name}'" for name, _ in names.most_common(SUGGESTED_PLAYERS))
        return f"no game of '{request.player}' here; most games are by {known}"
    return "no game passes all filters"


def render_matrix(vectors: Vectors, ending: str) -> str:
    """The text of the file: CSV by `ending`, else plain."""
    table = np.column_stack([vectors.differences, vectors.outcomes, vectors.game + np.int32(1)])
    text = io.StringIO()
    if ending == ".csv":
        np.savetxt(text, table, fmt="%d", delimiter=",", header=",".join(COLUMNS), comments="")
    else:
        np.savetxt(text, table[:, :_NUMBERS], fmt="%2d")
    return text.getvalue()


def is_matrix(text: bytes, ending: str) -> bool:
    """Whether a file has vectors instead of games: by its ending, or by six integers in its first row."""
    first = next((line for line in text[:4096].decode("latin-1").splitlines() if line.strip()), "").split()
    return ending == ".csv" or len(first) == _NUMBERS and all(map(_INTEGER.fullmatch, first))


def read_matrix(path: Path, text: bytes) -> Vectors:
    """The vectors that `render_matrix` wrote; raises SourceError with the row at fault.

    Plain text does not show where games begin. A normal game begins with level material, so the rows from one level
    balance to the next with the same result count as a game; sometimes this is only part of one.
    """
    rows: list[list[int]] = []
    for number, line in enumerate(text.decode("latin-1").splitlines(), 1):
        words = line.replace(",", " ").split()
        if not words or number == 1 and words == list(COLUMNS):
            continue
        widths, where = {len(rows[0])} if rows else {_NUMBERS, len(COLUMNS)}, f"'{path}', row {number}"
        if len(words) not in widths or not all(map(_INTEGER.fullmatch, words)):
            shown = " ".join(words)[:40]
            raise sources.SourceError(f"{where}: five differences and a result are expected, not '{shown}'")
        rows.append([int(word) for word in words])
        if not 0 <= rows[-1][len(PIECES)] <= 2 * DRAW or max(map(abs, rows[-1][: len(PIECES)])) > _MAX_PIECES:
            raise sources.SourceError(f"{where}: results are 0, 1 or 2 and differences at most {_MAX_PIECES}")
    if not rows:
        raise sources.SourceError(f"'{path}' holds no row of a matrix")
    table = np.array(rows)
    differences, results = table[:, : len(PIECES)].astype(np.int8), table[:, len(PIECES)].astype(np.int8)
    knows_games, begins = table.shape[1] == len(COLUMNS), np.ones(len(table), dtype=bool)
    if knows_games:
        begins[1:] = np.diff(table[:, -1]) != 0
    else:
        begins[1:] = (np.diff(results) != 0) | ~differences[1:].any(axis=1)
    return Vectors(differences, np.cumsum(begins, dtype=np.int32) - np.int32(1), results[begins], knows_games)
