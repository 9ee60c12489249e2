"""Files of positions with scores and results, read in any format as streams of packed positions, written, and counted.

The formats are packed files (`formats.packed`), games with scores (PGN, viriformat), and lines of text as
`formats.labelled` reads them, with a score each.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from merino.core.board import bitboard, fen
from merino.core.common.files import first_there
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry
from merino.formats import labelled, packed, pgn_games, pgn_tokens, scored_games, sources
from merino.formats.packed import GAMES, PACKED, Filter, PackedError
from merino.formats.scored_games import ScoredGames, is_games_file
from merino.formats.sources import LeftOut, Source, is_compressed

AT_ONCE = 1 << 18  # positions read together
BUCKET = 1 << 22  # positions shuffled in memory
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_TAG = re.compile(rb'[\r\n]\[\w+ "')

Report = Callable[[float | None], object]
_T = TypeVar("_T")


class SourceContents(Enum):
    """What a file may hold."""

    PACKED = auto()
    PGN = auto()
    VIRIFORMAT = auto()
    LINES = auto()  # one position each


def contents_of(source: Source) -> SourceContents:
    """What a file holds, by its first bytes; only before the first read."""
    if b"\0" in source.head[:4096] or is_games_file(source.path):
        return SourceContents.VIRIFORMAT if scored_games.holds_viriformat(source) else SourceContents.PACKED
    has_tags = source.head.lstrip().startswith(b"[") or _TAG.search(source.head)  # maybe behind comments
    return SourceContents.PGN if has_tags and not source.holds_positions() else SourceContents.LINES


def is_packed(path: Path) -> bool:
    """Whether a file holds packed positions that can be read where they lie."""
    if path == sources.STANDARD_INPUT or first_there([path]) is None or is_compressed(path):
        return False
    with sources.open_source(path) as source:
        return contents_of(source) is SourceContents.PACKED


def packed_positions(
    path: Path,
    chosen: Filter,
    report: Report | None = None,
    with_colours: bool = False,
    left_out: LeftOut | None = None,
) -> Iterator[np.ndarray]:
    """The positions of a file, some PACKED[n] at a time; `report` is called with the share done.

    What is not used is noted in `left_out`.
    SCORED[n] with `with_colours`, where the file has them. The filter applies to games only: other files hold positions
    chosen before. Raises PackedError and SourceError.
    """
    left_out = LeftOut() if left_out is None else left_out
    with sources.open_source(path) as source:
        contents = contents_of(source)
        if contents in (SourceContents.PGN, SourceContents.VIRIFORMAT):
            for games in _games(source, contents, left_out, report):
                yield scored_games.packed_of(games, chosen, with_colours)
        elif contents is SourceContents.PACKED:
            yield from _reported(packed.checked_blocks(_blocks_in(source), source.name), source, report)
        else:
            lines = _of_lines(source, left_out)
            yield from _reported(lines if with_colours else map(packed.as_packed, lines), source, report)


def rescaled(records: np.ndarray, factor: float) -> np.ndarray:
    """PACKED[n] or SCORED[n] with scores times a factor, as `scored_games.scaled`."""
    if factor == 1:
        return records
    found = records.copy()
    found["score"] = scored_games.scaled(found["score"], factor)
    return found


def all_positions(path: Path, left_out: LeftOut | None = None) -> np.ndarray:
    """All positions of a file, PACKED[n]; raises PackedError, also if there are none, and SourceError."""
    left_out = LeftOut() if left_out is None else left_out
    parts = [part for part in packed_positions(path, Filter(), left_out=left_out) if len(part)]
    if not parts:
        raise PackedError("\n".join([f"'{path}' holds no position with a score and a result", *left_out.lines()]))
    return np.concatenate(parts)


def evenly(records: np.ndarray, most: int) -> np.ndarray:
    """At most so many of PACKED[n], evenly from the first to the last."""
    return records[np.linspace(0, len(records) - 1, min(most, len(records))).astype(np.int64)]


def games_with_scores(
    path: Path, report: Report | None = None, left_out: LeftOut | None = None
) -> Iterator[ScoredGames]:
    """The games of a file, PGN or viriformat, some at a time; raises PackedError and SourceError."""
    with sources.open_source(path) as source:
        contents = contents_of(source)
        if contents not in (SourceContents.PGN, SourceContents.VIRIFORMAT):
            raise PackedError(f"{source.name} holds positions, of which no games can be made")
        yield from _games(source, contents, LeftOut() if left_out is None else left_out, report)


def _games(source: Source, contents: SourceContents, left_out: LeftOut, report: Report | None) -> Iterator[ScoredGames]:
    """The games of a source, some at a time."""
    if contents is SourceContents.VIRIFORMAT:
        yield from _reported(scored_games.read_viriformat(source), source, report)
        return
    unit, unscored, moves = scored_games.ScoreUnit(source), 0, 0

    def made(piece: pgn_games.GamesText) -> tuple[ScoredGames, list[sources.Fault]]:
        games = pgn_games.play_games(piece.data, piece.table, 1, piece.lines_before)
        return scored_games.scored_games(games, piece.games_before, unit.whole), list(games.faults(needs_result=True))

    for games, faults in _reported(in_order(made, pgn_games.games_of(source)), source, report):
        left_out.add(source.path, faults)
        unscored, moves = unscored + int((games.scores == pgn_tokens.NO_SCORE).sum()), moves + len(games.scores)
        yield games
    unit.note(source.path, unscored, moves, left_out)


def _reported(parts: Iterable[_T], source: Source, report: Report | None) -> Iterator[_T]:
    """The parts of a file as they come, with a report after each."""
    for part in parts:
        yield part
        if report:
            report(source.done)


def _blocks_in(source: Source) -> Iterator[np.ndarray]:
    """The records of a file, PACKED[n] at a time; raises PackedError if the last is cut off."""
    content, size = b"", 0
    while piece := source.read(AT_ONCE * PACKED.itemsize - len(content)):
        content, size = content + piece, size + len(piece)
        if len(content) == AT_ONCE * PACKED.itemsize:
            yield np.frombuffer(content, dtype=PACKED)
            content = b""
    if len(content) % PACKED.itemsize:
        raise PackedError(
            f"{source.name} holds no packed positions, or its end is missing: {size} bytes are no multiple of 32"
        )
    yield np.frombuffer(content, dtype=PACKED)


def _of_lines(source: Source, left_out: LeftOut) -> Iterator[np.ndarray]:
    """The positions of lines of text with a score and one of the three results, SCORED[n] at a time."""
    for text, lines in source.numbered_lines():
        found = labelled.read_labelled(text, lines, in_check=True)
        left_out.add(source.path, found.faults, "line")
        is_graded = np.rint(2 * found.results) != 2 * found.results
        for wrong, said, why in (
            (found.scores == pgn_tokens.NO_SCORE, "neither ce 35 nor | 35 | 1.0 nor [1.0] 35", sources.NO_SCORE),
            (is_graded, "the result is not 0, 0.5 or 1", sources.UNREADABLE),
        ):
            left_out.add(source.path, (sources.Fault(line, said, why) for line in found.lines[wrong].tolist()), "line")
        found = found.only((found.scores != pgn_tokens.NO_SCORE) & ~is_graded)
        results = np.rint(2 * found.results)
        records = np.zeros(len(results), dtype=packed.SCORED)
        records["position"], records["score"], records["result"] = found.positions, found.scores, results
        records["game"] = np.where(found.games == labelled.NO_GAME, 0, found.games % np.uint64(GAMES) + np.uint64(1))
        yield records


def write_packed_file(path: Path, chunks: Iterable[np.ndarray]) -> int:
    """Write positions as `writing_positions` does; returns their number, and raises OSError and SourceError."""
    with writing_positions(path) as written:
        for chunk in chunks:
            written.add(chunk)
    return written.positions


class PositionsWriter:
    """Positions, or whole games in viriformat, on their way to a file."""

    def __init__(self, file: IO[bytes], encode: Callable[[Any], bytes]) -> None:
        self._file, self._encode = file, encode
        self.games = self.positions = 0  # so far

    def add(self, chunk: np.ndarray | ScoredGames) -> None:
        """Write PACKED[n], SCORED[n] or games; raises OSError, and PackedError for a game that is too long."""
        self._file.write(self._encode(chunk))
        if isinstance(chunk, ScoredGames):
            self.games += len(chunk)
        self.positions += len(chunk.moves if isinstance(chunk, ScoredGames) else chunk)


@contextmanager
def writing_positions(path: Path) -> Iterator[PositionsWriter]:
    """A file in the format of its ending, compressed or not, that takes the place of `path` as `writing_source` does.

    Raises OSError and SourceError.
    """
    with sources.writing_source(path) as file:
        yield PositionsWriter(file, _ENCODERS.get(_ending(path), as_bytes))


def _ending(path: Path) -> str:
    return sources.plain_name(path).suffix.lower()


def is_text(path: Path) -> bool:
    """Whether a file with this name is written as lines of text, which hold who is to move."""
    return _ENCODERS.get(_ending(path)) in (as_lines, as_epd)


def as_bytes(records: np.ndarray) -> bytes:
    """PACKED[n] or SCORED[n] as packed files have them."""
    return packed.with_checks(packed.as_packed(records)).tobytes()


def as_lines(records: np.ndarray) -> bytes:
    """PACKED[n] or SCORED[n] as lines `FEN | score | result`, White's."""
    scored = packed.as_scored(records)
    positions, lines = np.ascontiguousarray(scored["position"]), []
    for index, (score, result) in enumerate(zip(scored["score"].tolist(), scored["result"].tolist(), strict=True)):
        lines.append(f"{fen.to_fen(positions[index : index + 1])} | {score} | {result / 2}\n")
    return "".join(lines).encode()


def as_epd(records: np.ndarray) -> bytes:
    """PACKED[n] or SCORED[n] as lines with `c9`, `ce` and, where the game is known, `c7`."""
    scored = packed.as_scored(records)
    positions, unknown = np.ascontiguousarray(scored["position"]), np.full(len(scored), labelled.NO_END)
    return labelled.write_labelled(positions, scored["result"] / 2, scored["game"], unknown, scored["score"])


# What writes a file by its ending; any other one holds packed positions.
_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    scored_games.ENDING: scored_games.as_viriformat,
    ".txt": as_lines,
    ".fen": as_lines,
    ".epd": as_epd,
}


def shuffled(chunks: Iterable[np.ndarray], folder: Path, seed: int, bucket: int = BUCKET) -> Iterator[np.ndarray]:
    """The positions in an order drawn by a seed, through files in `folder` if they do not fit into one bucket.

    Each position goes to a bucket by chance, and each bucket is shuffled in memory. Raises OSError.
    """
    draw = np.random.default_rng(seed)
    waiting: list[np.ndarray] = []
    chunks = iter(chunks)
    while sum(map(len, waiting)) < bucket:
        chunk = next(chunks, None)
        if chunk is None:
            yield draw.permutation(np.concatenate(waiting) if waiting else np.zeros(0, dtype=PACKED))
            return
        waiting.append(chunk)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".merino-shuffle-") as name:
        yield from _by_buckets((chunk for part in (waiting, chunks) for chunk in part), Path(name), draw, bucket)


def _by_buckets(
    chunks: Iterator[np.ndarray], folder: Path, draw: np.random.Generator, bucket: int
) -> Iterator[np.ndarray]:
    """Distribute the positions over files, again if one gets too large, and shuffle each."""
    files: list[IO[bytes]] = [(folder / str(number)).open("w+b") for number in range(16)]
    dtype = PACKED
    try:
        for chunk in chunks:
            dtype, places = chunk.dtype, draw.integers(len(files), size=len(chunk))
            for number, file in enumerate(files):
                file.write(chunk[places == number].tobytes())
        for number, file in enumerate(files):
            size = file.tell() // dtype.itemsize
            file.seek(0)
            if size <= bucket:
                yield draw.permutation(np.frombuffer(bytearray(file.read()), dtype=dtype))
            else:
                deeper = folder / f"{number}-more"
                deeper.mkdir()
                yield from _by_buckets(_parts(file, dtype), deeper, draw, bucket)
    finally:
        for file in files:
            file.close()


def _parts(file: IO[bytes], dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
    while content := file.read(AT_ONCE * dtype.itemsize):
        yield np.frombuffer(content, dtype=dtype)


def is_held_out(games: np.ndarray, share: float, first: int = 0, seed: int | None = None) -> np.ndarray:
    """Which positions, bool[n], belong to games kept aside, by their numbers; about `share` of all games.

    Numbers are those of PACKED records. Where games are unknown, 0, positions are kept aside one by one, by their
    places; that of the first is `first`. Those of a `seed` are drawn without regard to those of none, which validate:
    both parts of a file that is split by a seed have some of these.
    """
    unknown = games == 0
    if seed is not None:
        mixed = np.where(unknown, first + np.arange(len(games)), games).astype(np.uint64) * _MIXER
        for word in (np.uint64(seed % (1 << 64)), np.uint64(0)):
            mixed = (mixed ^ mixed >> np.uint64(32) ^ word) * _MIXER
        return _fraction(mixed) < share
    drawn = _fraction(games.astype(np.uint64) * _MIXER)
    if unknown.any():
        drawn[unknown] = ((first + np.flatnonzero(unknown)) * 0.6180339887498949) % 1.0
    return drawn < share


def _fraction(mixed: np.ndarray) -> np.ndarray:
    """Hashes, uint64[n], as numbers from 0 to below 1."""
    return (mixed >> np.uint64(40)).astype(np.float64) / (1 << 24)


BOUNDS = (-2000, -1000, -500, -200, -100, -50, 0, 50, 100, 200, 500, 1000, 2000)  # of scores, in centipawns
MIN_RISE = 4  # games over which numbers rise, on average, where they are in order
MAX_UNITS = 24  # of phase: knight and bishop 1, rook 2, queen 4
UNITS = np.array([0, 1, 1, 2, 4, 0])


@dataclass
class PositionCounts:
    """Sums over positions. Scores and results are those of the side to move.

    `games` are all, or the different numbers of games unless the positions of each game lie together, `in_order`.
    """

    positions: int = 0
    games: int = 0  # 0 if none has a number
    in_order: bool = True
    duplicates: int = 0  # positions that occurred before
    mean: float = 0.0  # of the scores
    deviation: float = 0.0
    scores: np.ndarray = field(default_factory=lambda: np.zeros(len(BOUNDS) + 1, dtype=np.int64))
    results: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))  # lost, drawn, won
    phases: np.ndarray = field(default_factory=lambda: np.zeros(MAX_UNITS + 1, dtype=np.int64))
    kings: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))

    def add(self, records: np.ndarray) -> np.ndarray:
        """Count PACKED[n]; returns a hash of each, uint64[n]."""
        scores = records["score"].astype(np.float64)
        self.positions += len(records)
        self.mean += float(scores.sum())  # sums until the end
        self.deviation += float((scores**2).sum())
        keys, phases = np.zeros(len(records), dtype=np.uint64), np.zeros(len(records), dtype=np.int64)
        _look_at_all(np.asarray(records), keys, phases)
        bins = np.searchsorted(BOUNDS, scores, side="right")
        for counts, found in (
            (self.scores, bins),
            (self.results, records["result"]),
            (self.phases, np.minimum(phases, MAX_UNITS)),
            (self.kings, records["king"]),
        ):
            np.add(counts, np.bincount(found, minlength=len(counts)), out=counts)
        return keys


def count_positions(files: Iterable[Iterable[np.ndarray]]) -> PositionCounts:
    """The counts of files, each PACKED[n] at a time."""
    counts, keys = PositionCounts(), [np.zeros(0, dtype=np.uint64)]
    for chunks in files:
        runs, falls, last, seen = 0, 0, 0, np.zeros(GAMES + 1, dtype=np.bool_)
        for chunk in chunks:
            keys.append(counts.add(chunk))
            numbers = chunk["game"][chunk["game"] != 0].astype(np.int64)
            steps = np.diff(numbers, prepend=last)
            runs, falls = runs + int(np.count_nonzero(steps)), falls + int(np.count_nonzero(steps < 0))
            last, seen[numbers] = int(numbers[-1]) if len(numbers) else last, True
        # In order a number comes once, or numbers rise over many games, and fall behind GAMES or where a file was
        # appended. Those of shuffled positions fall at every second change.
        different = int(np.count_nonzero(seen))
        in_order = runs == different or runs >= MIN_RISE * (falls + 1)
        counts.games += runs if in_order else different
        counts.in_order &= in_order
    counts.duplicates = counts.positions - len(np.unique(np.concatenate(keys)))
    counts.mean /= max(1, counts.positions)
    counts.deviation = float(np.sqrt(max(0.0, counts.deviation / max(1, counts.positions) - counts.mean**2)))
    return counts


@entry
def _look_at_all(records, keys, phases):
    """A hash of each board, and its phase."""
    for index in range(len(records)):
        record = records[index]
        key, left, number = np.uint64(record.occupied) * _MIXER, np.uint64(record.occupied), 0
        while left:
            nibble = np.int64(record.pieces[number >> 1]) >> 4 * (number & 1) & 15
            phases[index] += UNITS[nibble & 7]
            key = (key ^ np.uint64(bitboard.lsb(left) * 16 + nibble)) * _MIXER
            key ^= key >> np.uint64(29)
            number += 1
            left &= left - np.uint64(1)
        keys[index] = key
