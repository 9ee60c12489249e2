"""Lets the workers of a `RemoteExecutor` read files; the rows stay with them.

A PGN file is scanned in this process and cut between games, at the same places as without workers. Workers are sent
where its games lie, so that none scans it again: some 50 bytes per game. A worker that has the file under the same path
reads its pieces there; other workers are sent the text. Labelled positions, and positions that are searched for
scores, become rows in this process and are sent.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from sys import getsizeof
from typing import Any

import numpy as np

from merino.core.common.array_files import is_in_file, joined
from merino.core.common.user_files import GAMES, open_user_file
from merino.core.common.work import RemoteExecutor
from merino.formats.pgn_games import GAME, Fault, GamesText, games_of
from merino.formats.sources import CHUNK, Source, SourceError, open_source
from merino.learn.inputs import FileReader, ReadOptions, part_of
from merino.learn.loss_and_gradient import Samples
from merino.learn.position_source import PositionSource, check_found
from merino.learn.remote_sample import RemoteRows, remote_split, results_of
from merino.learn.request import Events
from merino.learn.rows import Rows, RowStore, check_rows
from merino.learn.sample import cut, tell_results
from merino.learn.settings import Settings

EXTRACTS_EACH = 4  # extracts of a large file for each thread of the workers
MAX_EXTRACT = 1 << 24  # bytes
PART_IN_MEMORY = 1 << 16  # rows of an extract whose features a worker keeps in memory
_FASTEST = 1  # level of compression


class NotThereError(SourceError):
    """A file that a worker does not have, or that differs there."""


@dataclass(frozen=True)
class _PlacedGames:
    """Where the games of a piece lie, and the lines and games of the file before them."""

    size: int  # in bytes
    lines_before: int
    games_before: int
    table: bytes  # GAME[n], compressed


@dataclass(frozen=True)
class _Extract:
    """Consecutive pieces of a PGN file. `text` is compressed."""

    path: str
    offset: int | None  # in the file; None if the file is compressed or a stream
    pieces: tuple[_PlacedGames, ...]
    checksum: int
    text: bytes | None = None

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    def games(self) -> Iterator[GamesText]:
        """The games of each piece; raises NotThereError."""
        text, at = self.read(), 0
        for piece in self.pieces:
            data = np.frombuffer(text, np.uint8, piece.size, at)
            table = np.frombuffer(bytearray(zlib.decompress(piece.table)), GAME)  # writable: moves are noted there
            yield GamesText(data, table, piece.lines_before, piece.games_before, at, piece.size)
            at += piece.size

    def read(self) -> bytes:
        """The text; raises NotThereError."""
        if self.text is not None:
            return zlib.decompress(self.text)
        text = b""
        try:
            with open_user_file(Path(self.path), GAMES) as file:
                file.seek(self.offset or 0)
                text = file.read(self.size)
        except OSError as error:
            raise NotThereError(f"cannot read '{self.path}': {error.strerror}") from error
        if zlib.crc32(text) != self.checksum:
            raise NotThereError(f"'{self.path}' is another file than that of the same name here")
        return text


@dataclass(frozen=True)
class _RemotePart:
    """What a worker keeps of an extract: rows, the keys that duplicates share if needed, and its report."""

    rows: Rows
    keys: np.ndarray
    report: _PartReport

    def __sizeof__(self) -> int:
        """Its bytes."""
        return getsizeof(self.rows) + self.keys.nbytes


@dataclass(frozen=True)
class _PartReport:
    """The report of a worker on a part: rows by game, results, and the numbers of games found and used."""

    rows_of_games: np.ndarray
    results: np.ndarray
    found: int = 0
    used: int = 0
    unscored: int = 0
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class PositionsThere(PositionSource):
    """Positions whose rows stay with workers."""

    rows: RemoteRows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def tell_results(self) -> bool:
        """See PositionSource."""
        return tell_results(self.rows.rows_of_games, self.rows.results)

    def sample(self, settings: Settings) -> Samples:
        """The sample that these settings ask for; raises LearnError."""
        return remote_split(self.rows, settings)


def read_rows_remotely(
    paths: Sequence[Path], options: ReadOptions, events: Events, executor: RemoteExecutor
) -> PositionsThere:
    """Like `learn.inputs.read_rows`, by workers; `.fen` files are neither read nor written. Raises LearnError."""
    reader = _RemoteReader(replace(options, keep_fen=False), events, executor)
    for path in paths:
        reader.read(path)
    return reader.finished(paths)


class _RemoteReader:
    """Reads files, one after the other."""

    def __init__(self, options: ReadOptions, events: Events, executor: RemoteExecutor) -> None:
        self._options, self._events, self._executor = options, events, executor
        self._parts: list[Any] = []
        self._reports: list[_PartReport] = []
        self._faults: list[tuple[Path, Fault]] = []
        self._games = self._unscored = 0

    def read(self, path: Path) -> None:
        """Add the rows of a file; raises LearnError."""
        with open_source(path) as source:
            if self._options.rescore is None and not source.holds_positions():
                self._read_games(source)
                return
        self._read_here(path)

    def finished(self, paths: Sequence[Path]) -> PositionsThere:
        """All that was read; raises LearnError if it is nothing."""
        check_found(
            paths, sum(int(report.rows_of_games.sum()) for report in self._reports), self._games, self._unscored
        )
        counts = [report.rows_of_games for report in self._reports]
        if self._options.selection.unique:
            counts = self._drop_duplicates()
        parts = tuple(self._executor.keep(_rows_of, part) for part in self._parts)
        results = np.concatenate([report.results for report in self._reports])
        part_games = tuple(len(report.results) for report in self._reports)
        rows = RemoteRows(self._executor, parts, part_games, np.concatenate(counts), results, len(self._options.terms))
        return PositionsThere(self._games, tuple(self._faults), rows)

    def _read_games(self, source: Source) -> None:
        """Let workers read a PGN file."""
        extracts, futures, first = list[_Extract](), list[Future[_PartReport]](), len(self._parts)
        size = _size_of_extracts(source, self._executor.slots)
        for extract in _extracts(source, size):
            extracts.append(extract)
            self._parts.append(self._executor.keep(_read, self._options, extract))
            futures.append(self._executor.submit(_report_of, self._parts[-1]))
        found = used = rows = 0
        for number, report in enumerate(self._answers(extracts, futures, first), start=1):
            self._reports.append(report)
            self._faults.extend((source.path, fault) for fault in report.faults)
            found, used = found + report.found, used + report.used
            rows += int(report.rows_of_games.sum())
            self._unscored += report.unscored
            self._events.progressed(f"Reading {source.name}", number / len(extracts))
        self._games += used
        self._events.say(f"{source.name}: {found} games, {rows} positions")

    def _answers(
        self, extracts: Sequence[_Extract], futures: list[Future[_PartReport]], first: int
    ) -> Iterator[_PartReport]:
        """The reports in the order of the extracts; the text is sent to a worker that does not have the file."""
        try:
            for number, extract in enumerate(extracts):
                try:
                    yield futures[number].result()
                except NotThereError:
                    sent = replace(extract, text=zlib.compress(_text_here(extract), _FASTEST))
                    self._parts[first + number] = self._executor.keep(_read, self._options, sent)
                    yield self._executor.submit(_report_of, self._parts[first + number]).result()
        finally:
            for future in futures:
                future.cancel()

    def _read_here(self, path: Path) -> None:
        """Read a file in this process, and send its rows."""
        reader = FileReader(self._options, self._events, self._executor)
        reader.read(path)
        self._faults += reader.faults
        self._games, self._unscored = self._games + reader.games, self._unscored + reader.unscored
        rows, keys = reader.store.rows_and_keys()
        cuts = cut(rows.rows_of_games())
        for (first, first_game), (last, last_game) in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            mine = rows.between(first, last, first_game, last_game)
            report = _PartReport(mine.rows_of_games(), mine.results)
            content = pickle.dumps(_RemotePart(mine, keys[first:last], report))
            self._reports.append(report)
            self._parts.append(self._executor.keep(_unpacked, zlib.compress(content, _FASTEST)))

    def _drop_duplicates(self) -> list[np.ndarray]:
        """Keep only the first of positions with equal keys; the number of rows of each game afterwards, by part."""
        keys = results_of([self._executor.submit(_keys_of, part) for part in self._parts])
        every = np.concatenate(keys)
        chosen = np.zeros(len(every), dtype=np.bool_)
        chosen[np.unique(every, return_index=True)[1]] = True
        ends = np.cumsum([len(part) for part in keys])
        masks = np.split(chosen, ends[:-1])
        self._parts = [
            self._executor.keep(_choose, part, np.packbits(mask), len(mask))
            for part, mask in zip(self._parts, masks, strict=True)
        ]
        self._events.say(f"Duplicates left out: {len(every) - int(np.count_nonzero(chosen))}")
        return results_of([self._executor.submit(_rows_by_game, part) for part in self._parts])


def _size_of_extracts(source: Source, slots: int) -> int:
    """The approximate number of bytes that a worker reads at a time."""
    if source.begins is None:
        return 8 * CHUNK
    size = source.path.stat().st_size
    return max(CHUNK, min(MAX_EXTRACT, size // (EXTRACTS_EACH * slots)))


def _extracts(source: Source, size: int) -> Iterator[_Extract]:
    """A PGN file, cut into extracts of about `size` bytes."""
    pieces: list[GamesText] = []
    for piece in games_of(source):
        pieces.append(piece)
        if sum(each.size for each in pieces) >= size:
            yield _extract(source, pieces)
            pieces = []
    if pieces:
        yield _extract(source, pieces)


def _extract(source: Source, pieces: Sequence[GamesText]) -> _Extract:
    text = b"".join(bytes(piece.data[: piece.size]) for piece in pieces)
    offset = None if source.begins is None else source.begins + pieces[0].bytes_before
    sent = zlib.compress(text, _FASTEST) if offset is None else None
    return _Extract(str(source.path.absolute()), offset, tuple(map(_placed, pieces)), zlib.crc32(text), sent)


def _placed(games: GamesText) -> _PlacedGames:
    table = zlib.compress(games.table.tobytes(), _FASTEST)
    return _PlacedGames(games.size, games.lines_before, games.games_before, table)


def _text_here(extract: _Extract) -> bytes:
    """The text of an extract, read in this process; raises SourceError if the file has changed."""
    return extract.read()


def _read(reading: ReadOptions, extract: _Extract) -> _RemotePart:
    """Read the rows of an extract; raises NotThereError and LearnError."""
    store = RowStore(reading.selection.unique, PART_IN_MEMORY, len(reading.terms))
    found, used, unscored, faults = 0, 0, 0, list[Fault]()
    for games in extract.games():
        part = part_of(reading, games)
        if not len(store) and len(part.block):
            check_rows(part.block, part.rows, reading.weights, reading.terms)
        store.add(part.rows, part.block.positions["key"])
        found, used, unscored = found + part.found, used + part.used, unscored + part.unscored
        faults += part.faults
    rows, keys = store.rows_and_keys()
    return _RemotePart(
        rows, keys, _PartReport(rows.rows_of_games(), rows.results, found, used, unscored, tuple(faults))
    )


def _unpacked(content: bytes) -> _RemotePart:
    found: _RemotePart = pickle.loads(zlib.decompress(content))
    return found


def _report_of(part: _RemotePart) -> _PartReport:
    return part.report


def _rows_of(part: _RemotePart) -> Rows:
    return part.rows


def _keys_of(part: _RemotePart) -> np.ndarray:
    return part.keys


def _rows_by_game(part: _RemotePart) -> np.ndarray:
    return part.rows.rows_of_games()


def _choose(part: _RemotePart, mask: np.ndarray, count: int) -> _RemotePart:
    """The part with only the rows whose bit in `mask` is set."""
    chosen, rows = np.unpackbits(mask, count=count).astype(np.bool_), part.rows
    features = joined([rows.features[chosen]], is_in_file(rows.features))
    columns = (features, rows.stage[chosen], rows.game[chosen], rows.to_end[chosen])
    return _RemotePart(Rows(*columns, rows.results, rows.scores[chosen], rows.gaps), part.keys[chosen], part.report)
