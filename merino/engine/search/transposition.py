"""The transposition table: results of earlier searches, shared by all threads without locks.

A bucket is one cache line of four entries, an entry two words: the data, and the key XOR the data. An entry mixed by
two writers does not match its key and is not found.
"""

import numpy as np

from merino.core.board.bitboard import U64, ZERO
from merino.core.board.makemove import likely_key
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import CACHE_LINE, aligned_bytes, load_word, prefetch, store_word
from merino.engine.search.limits import KNOWN_WIN

NO_BOUND, UPPER_BOUND, LOWER_BOUND, EXACT = range(4)
AGES = 32
ENTRIES = 4  # in a bucket
_DEEPER_PLIES = 3  # an entry of this search that is deeper by more than this is kept
_AGE_PENALTY = 8  # plies by which an entry counts as shallower for each search of age
_MIN_COUNTED = 60  # plies without a capture or pawn move: few searches look forty ahead
_COUNTED_TOGETHER = 8  # counts that share entries: ways of different length lead to a position
_SPREAD = U64(0x9E3779B97F4A7C15)  # by which the count changes all bits of a key
_WORD = U64(8)
_ENTRY = U64(16)
_LINE = U64(CACHE_LINE)
_LOW_16 = U64(0xFFFF)
_LOW_8 = U64(0xFF)
_HALF = U64(32)


@kernel
def _table_key(position):
    """The key of a position in the table, uint64; near the fifty-move rule it depends on the plies counted.

    Scores then show how near the rule is: with more plies left, the position is worth more.
    """
    if position.halfmove < _MIN_COUNTED:
        return position.key
    return position.key ^ U64((position.halfmove - _MIN_COUNTED) // _COUNTED_TOGETHER + 1) * _SPREAD


@kernel
def _bucket_address(s, key):
    """The address of the bucket of a key, uint64."""
    return s.table_address + (((key >> _HALF) * s.buckets) >> _HALF) * _LINE


@kernel
def fetch_entry(s, position, move):
    """Fetch from memory, without waiting, the entry that is asked for after a move."""
    prefetch(_bucket_address(s, likely_key(position, move)))


@kernel
def probe(s, ply):
    """The data stored for the position at `ply`, uint64, or 0."""
    key = _table_key(s.positions[ply])
    address = _bucket_address(s, key)
    for _ in range(ENTRIES):
        data = load_word(address + _WORD)
        if load_word(address) ^ data == key and data != ZERO:
            return data
        address += _ENTRY
    return ZERO


@kernel
def entry_move(data):
    """The move of an entry, int64; it may be illegal where two positions share a key."""
    return np.int64(data & _LOW_16)


@kernel
def entry_score(data, ply):
    """The score of an entry as seen from `ply`, int64: known wins count from the root again."""
    score = np.int64(np.int16((data >> U64(16)) & _LOW_16))
    if score >= KNOWN_WIN:
        return score - ply
    if score <= -KNOWN_WIN:
        return score + ply
    return score


@kernel
def entry_static_eval(data):
    """The static evaluation of an entry, int64, or NO_SCORE."""
    return np.int64(np.int16((data >> _HALF) & _LOW_16))


@kernel
def entry_depth(data):
    """The depth an entry was searched to, int64."""
    return np.int64((data >> U64(48)) & _LOW_8)


@kernel
def entry_bound(data):
    """UPPER_BOUND, LOWER_BOUND or EXACT; NO_BOUND for no entry."""
    return np.int64((data >> U64(56)) & U64(3))


@kernel
def entry_is_pv(data):
    """Whether the position has been on a principal variation; False for no entry."""
    return np.int64((data >> U64(58)) & U64(1)) != 0


@kernel
def bound_of(score, alpha, beta):
    """The bound that a score found in the window (alpha, beta) gives."""
    if score >= beta:
        return LOWER_BOUND
    return EXACT if score > alpha else UPPER_BOUND


@kernel
def age_of(number):
    """The age of a table in search `number` since it was cleared, int64."""
    return number % AGES


@kernel
def _entry_age(data):
    return data >> U64(59)


@kernel
def _pack(move, score, static, depth, bound, tt_pv, age):
    low = U64(move) | U64(score & 0xFFFF) << U64(16) | U64(static & 0xFFFF) << _HALF
    return low | U64(depth) << U64(48) | U64(bound) << U64(56) | U64(tt_pv) << U64(58) | age << U64(59)


@kernel
def store(s, ply, move, score, static, depth, bound, tt_pv):
    """Store a result of the position at `ply`.

    It replaces the same position, or else the shallowest and oldest entry of the bucket.
    """
    if score >= KNOWN_WIN:
        score += ply
    elif score <= -KNOWN_WIN:
        score -= ply
    key = _table_key(s.positions[ply])
    address = _bucket_address(s, key)
    place, least = address, np.int64(1 << 30)
    for _ in range(ENTRIES):
        data = load_word(address + _WORD)
        if load_word(address) ^ data == key:
            if move == 0:
                move = entry_move(data)
            if bound != EXACT and _entry_age(data) == s.age and depth + _DEEPER_PLIES < entry_depth(data):
                return  # a much deeper result of this very search is worth more
            place = address
            break
        years = np.int64((s.age - _entry_age(data)) & U64(AGES - 1))
        worth = entry_depth(data) - _AGE_PENALTY * years if data != ZERO else np.int64(-(1 << 30))
        if worth < least:
            place, least = address, worth
        address += _ENTRY
    data = _pack(move, score, static, max(depth, 0), bound, tt_pv, s.age)
    store_word(place, key ^ data)
    store_word(place + _WORD, data)


@entry
def _used_of_thousand(table, age):
    used = 0
    for index in range(1000):
        data = table[2 * index + 1]
        used += data != ZERO and _entry_age(data) == age
    return used


class TranspositionTable:
    """The memory of the table, uint64 words aligned to a cache line, and the age of new entries."""

    def __init__(self, megabytes: int) -> None:
        """Allocate; raises MemoryError if there is not enough memory."""
        size = max(megabytes * 2**20, 16 * CACHE_LINE * 64)
        self.words = aligned_bytes(size).view(np.uint64)
        self.buckets = size // CACHE_LINE
        self.age = 0  # of the search among searches, modulo AGES

    @property
    def megabytes(self) -> int:
        """Its size in MiB."""
        return self.words.nbytes >> 20

    def attach(self, record: np.ndarray) -> None:
        """Let the thread of this record use the table."""
        record[0]["table_address"] = self.words.ctypes.data
        record[0]["buckets"] = self.buckets

    def clear(self) -> None:
        """Forget everything."""
        self.words.fill(0)
        self.age = 0

    def begin_search(self) -> None:
        """Entries stored from now on are younger than all present ones."""
        self.age = (self.age + 1) % AGES

    def hashfull(self) -> int:
        """How full the table is with entries of this search, in thousandths, by a sample."""
        return int(_used_of_thousand(self.words, U64(self.age)))
