"""Files of positions with scores and results, read in any format as streams of packed positions, and written.

The formats are packed files (`formats.packed`), games with scores (PGN, viriformat), and lines of text, `FEN | score |
result` from White's view, or EPD with `ce` (for the side to move) and `c9`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from merino.core.board.fen import MAX_FEN_BYTES, FenError, parse_fen, write_fen
from merino.core.common.files import first_there
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry
from merino.formats.packed import (
    AT_ONCE,
    PACKED,
    Filter,
    PackedBlocks,
    PackedError,
    checked_blocks,
    joined,
    open_blocks,
    pack,
    spooled,
    unpack,
    with_checks,
)
from merino.formats.pgn_games import GamesText, games_of, play_games
from merino.formats.scored_games import (
    ENDING,
    ScoredGames,
    as_viriformat,
    holds_viriformat,
    is_games_file,
    packed_of,
    read_viriformat,
    scaled,
    scored_games,
)
from merino.formats.sources import STANDARD_INPUT, Source, is_compressed, open_source, plain_name, writing_source

BUCKET = 1 << 22  # positions shuffled in memory
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_RESULTS = {"0": 0, "0.0": 0, "0-1": 0, "0.5": 1, "1/2": 1, "1/2-1/2": 1, "1": 2, "1.0": 2, "1-0": 2}
_CE = re.compile(r"\bce (-?\d{1,5});")
_C9 = re.compile(r'\bc9 "([^"]*)";')
_TAG = re.compile(rb'[\r\n]\[\w+ "')

Report = Callable[[float | None], object]
_T = TypeVar("_T")


def packed_positions(path: Path, chosen: Filter, report: Report | None = None) -> Iterator[np.ndarray]:
    """The positions of a file, some PACKED[n] at a time; `report` is called with the share done.

    The filter applies to games only: other files hold positions chosen before. Raises PackedError, also where scores
    should look ahead and there are no games, and SourceError.
    """
    with open_source(path) as source:
        contents = _contents_of(source)
        if chosen.ahead and contents not in (_FileContents.PGN, _FileContents.VIRIFORMAT):
            raise PackedError(f"{source.name} holds positions, not what came after them: --lambda needs games")
        if contents is _FileContents.PACKED:
            yield from _of_packed(path, source, report)
        elif contents is _FileContents.LINES:
            yield from _of_lines(path, source, report)
        else:
            for games in _games(source, contents, report):
                yield packed_of(games, chosen)


def rescaled(records: np.ndarray, factor: float) -> np.ndarray:
    """PACKED[n] with scores times a factor, as `scored_games.scaled`."""
    if factor == 1:
        return records
    found = records.copy()
    found["score"] = scaled(found["score"], factor)
    return found


def all_positions(path: Path) -> np.ndarray:
    """All positions of a file, PACKED[n]; raises PackedError, also if there are none, and SourceError."""
    parts = [part for part in packed_positions(path, Filter()) if len(part)]
    if not parts:
        raise PackedError(f"'{path}' holds no position with a score and a result")
    return np.concatenate(parts)


def evenly(records: np.ndarray, most: int) -> np.ndarray:
    """At most so many of PACKED[n], evenly from the first to the last."""
    return records[np.linspace(0, len(records) - 1, min(most, len(records))).astype(np.int64)]


def training_positions(
    paths: Sequence[Path],
    chosen: Filter,
    folder: Path,
    report: Callable[[Path], Report] | None = None,
) -> PackedBlocks:
    """The positions of files, those of games through a filter: packed files where they lie, others by way of `folder`.

    `report` gives what is called while a file is read.
    Raises PackedError, also if there are none, SourceError and OSError.
    """
    with ExitStack() as opened:
        parts = []
        for path in paths:
            tell = report(path) if report else None
            if not chosen.ahead and _can_be_read_in_place(path):
                part = open_blocks(path)
            else:
                part = spooled(packed_positions(path, chosen, tell), folder)
            parts.append(opened.enter_context(part))
        found = joined(parts)
        if not len(found):
            raise PackedError(
                f"'{paths[0]}' holds no position with a score and a result; for games without scores "
                "'merino positions --rescore 1000' makes them by searches"
            )
        opened.pop_all()  # closed by the caller
    return found


def _can_be_read_in_place(path: Path) -> bool:
    if path == STANDARD_INPUT or first_there([path]) is None or is_compressed(path):
        return False
    with open_source(path) as source:
        return _contents_of(source) is _FileContents.PACKED


def games_with_scores(path: Path, report: Report | None = None) -> Iterator[ScoredGames]:
    """The games of a file, PGN or viriformat, some at a time; raises PackedError and SourceError."""
    with open_source(path) as source:
        contents = _contents_of(source)
        if contents not in (_FileContents.PGN, _FileContents.VIRIFORMAT):
            raise PackedError(f"{source.name} holds positions, of which no games can be made")
        yield from _games(source, contents, report)


def _games(source: Source, contents: _FileContents, report: Report | None) -> Iterator[ScoredGames]:
    if contents is _FileContents.PGN:
        return _of_games(source, scored_games, report)
    return _reported(read_viriformat(source), source, report)


def _reported(parts: Iterable[_T], source: Source, report: Report | None) -> Iterator[_T]:
    """The parts of a file as they come, with a report after each."""
    for part in parts:
        yield part
        if report:
            report(source.done)


class _FileContents(Enum):
    """What a file may hold."""

    PACKED = auto()
    PGN = auto()
    VIRIFORMAT = auto()
    LINES = auto()  # one position each


def _contents_of(source: Source) -> _FileContents:
    """What a file holds, by its first bytes; only before the first read."""
    if b"\0" in source.head[:4096] or is_games_file(source.path):
        return _FileContents.VIRIFORMAT if holds_viriformat(source) else _FileContents.PACKED
    has_tags = source.head.lstrip().startswith(b"[") or _TAG.search(source.head)  # maybe behind comments
    return _FileContents.PGN if has_tags and not source.holds_positions() else _FileContents.LINES


def _of_packed(path: Path, source: Source, report: Report | None) -> Iterator[np.ndarray]:
    if source.is_passing or is_compressed(path):
        yield from _reported(checked_blocks(_blocks_in(source), source.name), source, report)
        return
    with open_blocks(path) as records:
        for number, block in enumerate(records.blocks(AT_ONCE), start=1):
            yield block
            if report:
                report(min(1.0, number * AT_ONCE / len(records)))


def _blocks_in(source: Source) -> Iterator[np.ndarray]:
    """The records of a compressed file or a pipe, PACKED[n] at a time; raises PackedError if the last is cut off."""
    content, size = b"", 0
    while piece := source.read(AT_ONCE * PACKED.itemsize - len(content)):
        content, size = content + piece, size + len(piece)
        if len(content) == AT_ONCE * PACKED.itemsize:
            yield np.frombuffer(content, dtype=PACKED)
            content = b""
    if len(content) % PACKED.itemsize:
        raise PackedError(f"{source.name} holds no packed positions: {size} bytes are not a multiple of 32")
    yield np.frombuffer(content, dtype=PACKED)


def _of_games(source: Source, made_of: Callable[..., _T], report: Report | None = None) -> Iterator[_T]:
    """What `made_of` makes of the games of a PGN, and of how many come before them, some games at a time."""

    def made(piece: GamesText) -> _T:
        games = play_games(piece.data, piece.table, 1, piece.lines_before)
        return made_of(games, games_before=piece.games_before)

    return _reported(in_order(made, games_of(source)), source, report)


def _of_lines(path: Path, source: Source, report: Report | None) -> Iterator[np.ndarray]:
    number = 0
    for text in source.lines():
        positions, scores, results = [], [], []
        for line in text.decode("utf-8", "replace").splitlines():
            number += 1
            if not line.strip() or line.startswith("#"):
                continue
            try:
                fen, score, result = _line(line)
                record = parse_fen(fen)
            except (ValueError, FenError) as error:
                raise PackedError(f"{path}:{number}: {error}") from error
            positions.append(record)
            scores.append(score)
            results.append(result)
        if positions:
            records = np.concatenate(positions)
            yield pack(records, np.array(scores), np.array(results), np.full(len(records), -1))
        if report:
            report(source.done)


def _line(line: str) -> tuple[str, int, int]:
    """FEN, White's score and White's result, 0..2, of a line; raises ValueError."""
    if line.count("|") == 2:
        fen, score, result = (part.strip() for part in line.split("|"))
        if result.strip("[]") not in _RESULTS:
            raise ValueError(f"{result[:20]!r} is not a result such as 1.0")
        if not re.fullmatch(r"[+-]?\d{1,5}", score):
            raise ValueError(f"{score[:20]!r} is not a score in centipawns")
        return fen, _bounded(int(score)), _RESULTS[result.strip("[]")]
    score_found, result_found = _CE.search(line), _C9.search(line)
    if not score_found or not result_found or result_found[1] not in _RESULTS:
        raise ValueError(f"neither 'FEN | score | result' nor EPD with ce and c9: {line[:60]!r}")
    fen = " ".join(line.split()[:4])
    sign = 1 if fen.split()[1:2] == ["w"] else -1
    return fen, sign * _bounded(int(score_found[1])), _RESULTS[result_found[1]]


def _bounded(score: int) -> int:
    if abs(score) >= 1 << 15:
        raise ValueError(f"the score {score} does not fit into two bytes")
    return score


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
        """Write PACKED[n], or games; raises OSError, and PackedError for a game that is too long."""
        self._file.write(self._encode(chunk))
        if isinstance(chunk, ScoredGames):
            self.games += len(chunk)
            self.positions += len(chunk.moves)
        else:
            self.positions += len(chunk)


@contextmanager
def writing_positions(path: Path) -> Iterator[PositionsWriter]:
    """A file in the format of its ending, compressed or not, that takes the place of `path` as `writing_source` does.

    Raises OSError and SourceError.
    """
    with writing_source(path) as file:
        yield PositionsWriter(file, _ENCODERS.get(plain_name(path).suffix.lower(), as_packed))


def as_packed(records: np.ndarray) -> bytes:
    """PACKED[n] as packed files have them."""
    return with_checks(records).tobytes()


def as_lines(records: np.ndarray) -> bytes:
    """PACKED[n] as lines `FEN | score | result`. White is to move, as the colours are not known."""
    return "".join(f"{fen} | {score} | {result / 2}\n" for fen, score, result, _ in _rows(records)).encode()


def as_epd(records: np.ndarray) -> bytes:
    """PACKED[n] as EPD with `ce`, `c9` and, where the game is known, `c7`. White is to move."""
    lines = []
    for fen, score, result, game in _rows(records):
        named = f' c7 "{game}";' if game else ""
        lines.append(f'{" ".join(fen.split()[:4])} ce {score}; c9 "{("0-1", "1/2-1/2", "1-0")[result]}";{named}\n')
    return "".join(lines).encode()


# What writes a file by its ending; any other one holds packed positions.
_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    ENDING: as_viriformat,
    ".txt": as_lines,
    ".fen": as_lines,
    ".epd": as_epd,
}


def _rows(records: np.ndarray) -> Iterator[tuple[str, int, int, int]]:
    """FEN, score, result and game of each of PACKED[n]."""
    positions = unpack(records)
    text, ends = np.empty(len(positions) * MAX_FEN_BYTES, dtype=np.uint8), np.zeros(len(positions), dtype=np.int64)
    _write_fens(positions, text, ends)
    whole, at = text.tobytes(), 0
    columns = (records[name].tolist() for name in ("score", "result", "game"))
    for end, score, result, game in zip(ends.tolist(), *columns, strict=True):
        yield whole[at:end].decode(), score, result, game
        at = end


@entry
def _write_fens(positions, text, ends):
    at = 0
    for index in range(len(positions)):
        at = write_fen(positions[index], text, at)
        ends[index] = at


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
            whole = np.concatenate(waiting) if waiting else np.zeros(0, dtype=PACKED)
            yield draw.permutation(whole)
            return
        waiting.append(chunk)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".merino-shuffle-") as name:
        yield from _by_buckets((chunk for part in (waiting, chunks) for chunk in part), Path(name), draw, bucket)


def _by_buckets(
    chunks: Iterator[np.ndarray], folder: Path, draw: np.random.Generator, bucket: int
) -> Iterator[np.ndarray]:
    """Distribute the positions over files, again if one gets too large, and shuffle each."""
    files: list[IO[bytes]] = [(folder / str(number)).open("w+b") for number in range(16)]
    try:
        for chunk in chunks:
            places = draw.integers(len(files), size=len(chunk))
            for number, file in enumerate(files):
                file.write(chunk[places == number].tobytes())
        for number, file in enumerate(files):
            size = file.tell() // PACKED.itemsize
            file.seek(0)
            if size <= bucket:
                yield draw.permutation(np.frombuffer(bytearray(file.read()), dtype=PACKED))
            else:
                deeper = folder / f"{number}-more"
                deeper.mkdir()
                yield from _by_buckets(_parts(file), deeper, draw, bucket)
    finally:
        for file in files:
            file.close()


def _parts(file: IO[bytes]) -> Iterator[np.ndarray]:
    while content := file.read(AT_ONCE * PACKED.itemsize):
        yield np.frombuffer(content, dtype=PACKED)


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
