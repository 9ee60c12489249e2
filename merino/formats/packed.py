"""Positions with score and result in 32 bytes each, as trainers of nets read them: *bulletformat*'s `ChessBoard`.

A position is seen by the side to move: with Black to move the board is turned upside down and colours swap. In order:
occupied squares; a nibble for each of them from a1 on, role + 8 for the opponent's; score in centipawns and result, 0
lost, 1 drawn, 2 won, both for the side to move; the square of its king, and that of the other king as its owner sees
it; three bytes that other programs do not use. Castling rights, en passant and counters are not stored.

Merino puts the number of the game into two of the free bytes, so that a file can be split by game: 1 to 65535, then
from 1 again; 0 for unknown. The third has a checksum of the position, 1 to 255, in files; 0 for none.

`PackedBlocks` reads positions in blocks, so that memory does not grow with their number: packed files where they lie;
what comes from games or other files is first written to a file without a name, which is gone when it is closed, or when
the program ends in whatever way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Self

import numpy as np

from merino.core.board.bitboard import EDGE_RANKS, EMPTY, KING, ONE, PAWN, WHITE, ZERO, bit, lsb, mirror, popcount
from merino.core.board.movegen import is_noisy
from merino.core.board.position import NO_SQUARE, POSITION, compute_key, compute_pawn_key, look_at_king, pieces_of
from merino.core.common import files
from merino.core.common.errors import MerinoError
from merino.core.common.files import open_user_file
from merino.core.common.sealed import RowFile, warn_unsealed
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import clear_record, record_dtype

PACKED = record_dtype(
    [
        ("occupied", np.uint64),
        ("pieces", np.uint8, 16),  # two nibbles each, the lower first
        ("score", np.int16),
        ("result", np.uint8),
        ("king", np.uint8),
        ("other_king", np.uint8),
        ("check", np.uint8),  # 1..255 in files, 0 for none
        ("game", np.uint16),  # 1..65535, or 0
    ]
)
assert PACKED.itemsize == 32

MAX_SCORE = 3000  # centipawns; larger scores teach nothing
GAMES = 65535  # numbers of games
_MIXER = np.uint64(0x9E3779B97F4A7C15)
SOUND, BAD_COUNT, BAD_PIECE, BAD_KINGS, BAD_KING_SQUARE, BAD_RESULT, BAD_REST = range(7)
_FAULTS = {
    BAD_COUNT: "it does not have 2 to 32 pieces, 16 of a colour at most",
    BAD_PIECE: "it has an unknown piece, or a pawn on the first or last rank",
    BAD_KINGS: "it does not have one king of each colour",
    BAD_KING_SQUARE: "its king squares do not match its board",
    BAD_RESULT: "its result is not 0, 1 or 2",
    BAD_REST: "it has more pieces than occupied squares",
}


class PackedError(MerinoError):
    """A file is not a file of packed positions; the message says what and where."""


@dataclass(frozen=True)
class Filter:
    """Which positions of a game are used, scores up to `most` and quiet ones only, unless `noisy`; and their scores."""

    most: int = MAX_SCORE
    noisy: bool = False  # also in check, or where the move played captures or promotes
    ahead: float = 0.0  # lambda: the share of a score that is made of what came later in the game


def count_of(size: int, path: Path) -> int:
    """How many positions a packed file of so many bytes has; raises PackedError."""
    if size == 0:
        raise PackedError(f"'{path}' is empty")
    if size % PACKED.itemsize:
        raise PackedError(
            f"'{path}' holds no packed positions, or its end is missing: {size} bytes are {size // 32} positions "
            f"of 32 bytes and {size % 32} more bytes"
        )
    return size // PACKED.itemsize


def begins_packed(content: bytes) -> bool:
    """Whether the content of a file begins with a packed position."""
    if len(content) < PACKED.itemsize:
        return False
    first = np.frombuffer(bytearray(content[: PACKED.itemsize]), PACKED)
    return bool(_first_fault(first)[1] == SOUND)


def checked_blocks(blocks: Iterable[np.ndarray], name: str) -> Iterator[np.ndarray]:
    """All positions of a file as they come, PACKED[n] at a time.

    Raises PackedError at what is not a position, and behind the last one if a position was damaged.
    """
    first, marked, wrong, first_wrong = 0, 0, 0, 0
    for block in blocks:
        some = np.asarray(block)
        index, fault = _first_fault(some)
        if fault:
            raise PackedError(f"{name} holds no packed positions: {_FAULTS[fault]} ({_place(first + index)})")
        is_marked = some["check"] != 0
        marked += int(is_marked.sum())
        damaged = np.flatnonzero(is_marked & (some["check"] != _checks(some)))
        if len(damaged) and not wrong:
            first_wrong = first + int(damaged[0])
        wrong, first = wrong + len(damaged), first + len(some)
        yield some
    if not marked:
        warn_unsealed(name.strip("'"))
    elif 0 < wrong <= marked // 2:  # were it more, the bytes would be those of another program
        raise PackedError(f"{name} was damaged after it was written: a checksum is wrong ({_place(first_wrong)})")


def _place(index: int) -> str:
    return f"number {index + 1}, from byte {32 * index} on"


def with_checks(records: np.ndarray) -> np.ndarray:
    """PACKED[n] as files have them, with the checksum of each position."""
    found = np.array(records, dtype=PACKED)
    found["check"] = _checks(found)
    return found


def without_checks(records: np.ndarray) -> np.ndarray:
    """PACKED[n] without checksums."""
    found = np.array(records, dtype=PACKED)
    found["check"] = 0
    return found


def _checks(records: np.ndarray) -> np.ndarray:
    """The checksums of PACKED[n], uint8[n]."""
    *others, mixed = np.ascontiguousarray(without_checks(records)).view(np.uint64).reshape(-1, 4).T
    for words in others:
        mixed = (mixed ^ mixed >> np.uint64(29)) * _MIXER ^ words
    mixed = (mixed ^ mixed >> np.uint64(32)) * _MIXER
    return (1 + (mixed >> np.uint64(56)) % np.uint64(255)).astype(np.uint8)


def pack(positions: np.ndarray, scores: np.ndarray, results: np.ndarray, games: np.ndarray) -> np.ndarray:
    """POSITION[n] as PACKED[n]. Scores in centipawns and results, 0..2, are White's; games are numbers, < 0 unknown."""
    packed = np.zeros(len(positions), dtype=PACKED)
    _pack_all(positions, scores.astype(np.int64), results.astype(np.int64), games.astype(np.int64), packed)
    return packed


def unpack(records: np.ndarray) -> np.ndarray:
    """PACKED[n] as POSITION[n]; the side to move becomes White."""
    positions = np.zeros(len(records), dtype=POSITION)
    _unpack_all(np.asarray(records), positions)
    return positions


@kernel
def write_packed(position, score, result, game, record):
    """Fill one PACKED record; `score` and `result` are those of the side to move, `game` < 0 for unknown."""
    side = np.int64(position.side)
    occupied = position.colours[0] | position.colours[1]
    record.occupied = occupied if side == WHITE else mirror(occupied)
    record.pieces[:] = 0
    left, index = np.uint64(record.occupied), 0
    while left:
        square = lsb(left) ^ 56 * side
        piece = np.int64(position.board[square])
        own = piece >> 3 == side
        nibble = piece & 7 if own else piece & 7 | 8
        record.pieces[index >> 1] |= nibble << 4 * (index & 1)
        index += 1
        left &= left - ONE
    record.score, record.result = score, result
    record.king = lsb(pieces_of(position, side, KING)) ^ 56 * side
    record.other_king = lsb(pieces_of(position, 1 - side, KING)) ^ 56 * (1 - side)
    record.check = 0
    record.game = 1 + game % GAMES if game >= 0 else 0


@kernel
def read_view(record, view):
    """Fill a view (`eval.net.view`) with what the side to move sees of a PACKED record, without facts."""
    for kind in range(12):
        view[kind] = ZERO
    left, index = np.uint64(record.occupied), 0
    view[12] = left
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        view[2 * (nibble & 7) + (nibble >> 3)] |= left & -left
        index += 1
        left &= left - ONE


@kernel
def read_position(record, position):
    """Fill a POSITION record with a PACKED one; the side to move is White."""
    clear_record(position)
    position.board[:] = EMPTY
    left, index = np.uint64(record.occupied), 0
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        square = lsb(left)
        position.board[square] = nibble
        position.pieces[nibble & 7] |= bit(square)
        position.colours[nibble >> 3] |= bit(square)
        index += 1
        left &= left - ONE
    position.en_passant, position.fullmove = NO_SQUARE, 1
    position.key, position.pawn_key = compute_key(position), compute_pawn_key(position)
    look_at_king(position)


@kernel
def fault_of(record):
    """What is wrong with a PACKED record, or SOUND."""
    left, index = np.uint64(record.occupied), 0
    if not 2 <= popcount(left) <= 32:
        return BAD_COUNT
    own_kings, kings, own, other, others = 0, 0, -1, -1, 0
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        if nibble & 7 > KING or nibble & 7 == PAWN and left & -left & EDGE_RANKS:
            return BAD_PIECE
        others += nibble >> 3
        if nibble & 7 == KING:
            kings += 1
            own_kings += nibble == KING
            own = lsb(left) if nibble == KING else own
            other = other if nibble == KING else lsb(left) ^ 56
        index += 1
        left &= left - ONE
    if max(others, index - others) > 16:
        return BAD_COUNT
    if kings != 2 or own_kings != 1:
        return BAD_KINGS
    if record.king != own or record.other_king != other:
        return BAD_KING_SQUARE
    if record.result > 2:
        return BAD_RESULT
    while index < 32:
        if np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15:
            return BAD_REST
        index += 1
    return SOUND


@entry
def _first_fault(records):
    """The index and fault of the first record that is not a position; fault SOUND if there is none."""
    for index in range(len(records)):
        fault = fault_of(records[index])
        if fault != SOUND:
            return index, fault
    return len(records), SOUND


@entry
def _pack_all(positions, scores, results, games, packed):
    for index in range(len(positions)):
        is_white = positions[index].side == WHITE
        score = scores[index] if is_white else -scores[index]
        result = results[index] if is_white else 2 - results[index]
        write_packed(positions[index], score, result, games[index], packed[index])


@entry
def _unpack_all(records, positions):
    for index in range(len(records)):
        read_position(records[index], positions[index])


@kernel
def is_taken(position, move, score, most, noisy):
    """Whether a position with the move played in it passes a filter; `score` is that of its search."""
    return abs(score) <= most and (noisy or position.checkers == ZERO and not is_noisy(position, move))


AT_ONCE = 1 << 18  # positions read together


class PackedBlocks:
    """Positions in files or in memory, PACKED[n], in order. Several threads may read them."""

    def __init__(self, parts: Sequence[_FilePart | np.ndarray]) -> None:
        self.parts, self._lock = parts, Lock()
        self._starts = np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for part in self.parts:
            if isinstance(part, _FilePart):
                part.file.close()

    def read(self, first: int, last: int) -> np.ndarray:
        """The positions from `first` up to `last`, PACKED[last - first]; raises OSError and PackedError."""
        found = []
        for part, start in zip(self.parts, self._starts.tolist(), strict=False):
            begin, end = max(first - start, 0), min(last - start, len(part))
            if begin < end:
                found.append(self._of_part(part, begin, end))
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=PACKED), *found])

    def blocks(self, size: int = AT_ONCE) -> Iterator[np.ndarray]:
        """All positions, `size` at a time; raises OSError and PackedError."""
        for first in range(0, len(self), size):
            yield self.read(first, min(first + size, len(self)))

    def every(self, step: int) -> np.ndarray:
        """Each `step`-th position from the first on."""
        found, first = [], 0
        for block in self.blocks():
            found.append(block[-first % step :: step].copy())
            first += len(block)
        return np.concatenate([np.zeros(0, dtype=PACKED), *found])

    def _of_part(self, part: _FilePart | np.ndarray, first: int, last: int) -> np.ndarray:
        if not isinstance(part, _FilePart):
            return np.asarray(part[first:last])
        with self._lock:
            return part.read(first, last)


class _FilePart:
    """A file of so many positions, open for reading."""

    def __init__(self, file: IO[bytes], count: int, name: str) -> None:
        self.file, self._count, self._name = file, count, name

    def __len__(self) -> int:
        return self._count

    def read(self, first: int, last: int) -> np.ndarray:
        """See PackedBlocks."""
        self.file.seek(PACKED.itemsize * first)
        content = self.file.read(PACKED.itemsize * (last - first))
        if len(content) < PACKED.itemsize * (last - first):
            raise PackedError(f"{self._name} was cut off while it was read")
        return np.frombuffer(content, dtype=PACKED)


def blocks_of(records: np.ndarray | PackedBlocks) -> PackedBlocks:
    """PACKED[n] in memory, or mapped, as blocks; blocks stay as they are."""
    return records if isinstance(records, PackedBlocks) else PackedBlocks([records])


def joined(parts: Iterable[PackedBlocks]) -> PackedBlocks:
    """All positions of some, one after another; to close it closes them."""
    return PackedBlocks([part for blocks in parts for part in blocks.parts])


def open_blocks(path: Path) -> PackedBlocks:
    """The positions of a packed file; raises PackedError and OSError.

    Every position is checked, so that other files are refused.
    """
    with ExitStack() as opened:
        file = opened.enter_context(open_user_file(path, files.PACKED))
        found = PackedBlocks([_FilePart(file, count_of(file.seek(0, 2), path), f"'{path}'")])
        for _ in checked_blocks(found.blocks(), f"'{path}'"):
            pass
        opened.pop_all()  # closed by the caller
    return found


def spooled(chunks: Iterable[np.ndarray], folder: Path) -> PackedBlocks:
    """Positions, PACKED[n] at a time, in a file without a name in `folder`; raises OSError, which names it."""
    rows = RowFile(np.zeros(0, dtype=PACKED), folder)
    with ExitStack() as opened:
        opened.enter_context(rows.file)
        for chunk in chunks:
            rows.add(chunk)
        opened.pop_all()  # closed by the caller
    return PackedBlocks([_FilePart(rows.file, len(rows), f"the file of positions in '{folder}'")])
