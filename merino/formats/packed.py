"""Positions with score and result in 32 bytes each, as trainers of nets read them: *bulletformat*'s `ChessBoard`.

A position is seen by the side to move: with Black to move the board is turned upside down and colours swap. In order:
occupied squares; a nibble for each of them from a1 on, role + 8 for the opponent's; score in centipawns and result, 0
lost, 1 drawn, 2 won, both for the side to move; the square of its king, and that of the other king as its owner sees
it; three bytes that other programs do not use. Castling rights, en passant and counters are not stored.

Merino puts the number of the game into two of the free bytes, so that a file can be split by game: 1 to 65535, then
from 1 again; 0 for unknown. The third has a checksum of the position, 1 to 255, in files; 0 for none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from merino.core.board import bitboard, movegen
from merino.core.board.position import NO_SQUARE, POSITION, compute_key, compute_pawn_key, look_at_king, pieces_of
from merino.core.common import errors, sealed
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel

PACKED = memory.record_dtype(
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


class PackedError(errors.MerinoError):
    """A file is not a file of packed positions; the message says what and where."""


@dataclass(frozen=True)
class Filter:
    """Which positions of a game are used: scores up to `most`, and quiet ones only, unless `noisy`."""

    most: int = MAX_SCORE
    noisy: bool = False  # also in check, or where the move played captures or promotes


def begins_packed(content: bytes) -> bool:
    """Whether the content of a file begins with a packed position."""
    if len(content) < PACKED.itemsize:
        return False
    return bool(_first_fault(np.frombuffer(bytearray(content[: PACKED.itemsize]), PACKED))[1] == SOUND)


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
        sealed.warn_unsealed(name.strip("'"))
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
    record.occupied = occupied if side == bitboard.WHITE else bitboard.mirror(occupied)
    record.pieces[:] = 0
    left, index = np.uint64(record.occupied), 0
    while left:
        square = bitboard.lsb(left) ^ 56 * side
        piece = np.int64(position.board[square])
        own = piece >> 3 == side
        nibble = piece & 7 if own else piece & 7 | 8
        record.pieces[index >> 1] |= nibble << 4 * (index & 1)
        index += 1
        left &= left - bitboard.ONE
    record.score, record.result = score, result
    record.king = bitboard.lsb(pieces_of(position, side, bitboard.KING)) ^ 56 * side
    record.other_king = bitboard.lsb(pieces_of(position, 1 - side, bitboard.KING)) ^ 56 * (1 - side)
    record.check = 0
    record.game = 1 + game % GAMES if game >= 0 else 0


@kernel
def read_view(record, view):
    """Fill a view (`eval.net.view`) with what the side to move sees of a PACKED record, without facts."""
    for kind in range(12):
        view[kind] = bitboard.ZERO
    left, index = np.uint64(record.occupied), 0
    view[12] = left
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        view[2 * (nibble & 7) + (nibble >> 3)] |= left & -left
        index += 1
        left &= left - bitboard.ONE


@kernel
def read_position(record, position):
    """Fill a POSITION record with a PACKED one; the side to move is White."""
    memory.clear_record(position)
    position.board[:] = bitboard.EMPTY
    left, index = np.uint64(record.occupied), 0
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        square = bitboard.lsb(left)
        position.board[square] = nibble
        position.pieces[nibble & 7] |= bitboard.bit(square)
        position.colours[nibble >> 3] |= bitboard.bit(square)
        index += 1
        left &= left - bitboard.ONE
    position.en_passant, position.fullmove = NO_SQUARE, 1
    position.key, position.pawn_key = compute_key(position), compute_pawn_key(position)
    look_at_king(position)


@kernel
def fault_of(record):
    """What is wrong with a PACKED record, or SOUND."""
    left, index = np.uint64(record.occupied), 0
    if not 2 <= bitboard.popcount(left) <= 32:
        return BAD_COUNT
    own_kings, kings, own, other, others = 0, 0, -1, -1, 0
    while left:
        nibble = np.int64(record.pieces[index >> 1]) >> 4 * (index & 1) & 15
        if nibble & 7 > bitboard.KING or nibble & 7 == bitboard.PAWN and left & -left & bitboard.EDGE_RANKS:
            return BAD_PIECE
        others += nibble >> 3
        if nibble & 7 == bitboard.KING:
            kings += 1
            own_kings += nibble == bitboard.KING
            own = bitboard.lsb(left) if nibble == bitboard.KING else own
            other = other if nibble == bitboard.KING else bitboard.lsb(left) ^ 56
        index += 1
        left &= left - bitboard.ONE
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
        is_white = positions[index].side == bitboard.WHITE
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
    return abs(score) <= most and (noisy or position.checkers == bitboard.ZERO and not movegen.is_noisy(position, move))


# A position with what a packed one loses: who is to move, castling rights, en passant, counters.
SCORED = np.dtype([("position", POSITION), ("score", np.int16), ("result", np.uint8), ("game", np.uint16)])  # White's


def scored(positions: np.ndarray, records: np.ndarray) -> np.ndarray:
    """SCORED[n] of POSITION[n] and the same positions as PACKED[n]."""
    found, is_black = np.zeros(len(records), dtype=SCORED), positions["side"] != bitboard.WHITE
    found["position"], found["game"] = positions, records["game"]
    found["score"] = np.where(is_black, -records["score"], records["score"])
    found["result"] = np.where(is_black, 2 - records["result"], records["result"])
    return found


def as_scored(records: np.ndarray) -> np.ndarray:
    """PACKED[n] or SCORED[n] as SCORED[n]: who is to move in a packed position is not known, and becomes White."""
    return records if records.dtype == SCORED else scored(unpack(records), records)


def as_packed(records: np.ndarray) -> np.ndarray:
    """SCORED[n] or PACKED[n] as PACKED[n]."""
    if records.dtype != SCORED:
        return records
    positions, games = np.ascontiguousarray(records["position"]), records["game"].astype(np.int64) - 1
    return pack(positions, records["score"], records["result"], games)
