"""Syzygy files of results made up for tests: as large as those of five men need, with values that obey no chess.

Values come from a few hundred symbols drawn by lot, so that whoever counts a position wrong finds another value.
"""

from math import comb
from random import Random

import numpy as np

from merino.engine.syzygy import probing, table_files

LOST, BLESSED, DRAWN, CURSED, WON = range(5)
LETTERS = ".PNBRQK"  # by the code of a white piece; of a black one, 8 more
LENGTHS = ((8, 64), (7, 48), (6, 24))  # bits of a code, and how many symbols have such, the lowest first
SYMBOLS = sum(count for _, count in LENGTHS)
MOST = 256  # positions that a symbol stands for
A_BLOCK = 240  # symbols of it: fewer positions than 65,536
BLOCK_BITS, SPAN_BITS = 9, 11


def constant_file(name: str, white: int, black: int) -> bytes:
    """A table that knows one value for each side to move."""
    return _file(name, [bytes([0x80, value]) for value in (white, black)] * _files(name), [])


def random_file(name: str, seed: int) -> bytes:
    """A table of values drawn by lot."""
    random = Random(seed)
    sizes = [size for size in _sizes(name) for _ in range(_sides(name))]
    return _file(name, *zip(*(_part(size, random) for size in sizes), strict=True))


def _sides(name: str) -> int:
    white, black = name.split("v")
    return 1 if white == black else 2


def _files(name: str) -> int:
    return 4 if "P" in name else 1


def _both_have_pawns(name: str) -> bool:
    return all("P" in side for side in name.split("v"))


def _groups(name: str) -> list[str]:
    """The pieces in the order of the file, black ones in small letters, by group."""
    white, black = name.split("v")
    pieces = [*white, *black.lower()]
    pawns = sorted(filter(None, ("P" * pieces.count("P"), "p" * pieces.count("p"))), key=len)
    rest = [piece for piece in pieces if piece not in "Pp"]
    single = [piece for piece in rest if pieces.count(piece) == 1 and piece not in "Kk"][:1]
    first = [] if pawns else ["".join(["k", *single, "K"])]
    others = [piece for piece in dict.fromkeys(reversed(rest)) if pawns or piece not in first[0]]
    return [*pawns, *first, *(piece * rest.count(piece) for piece in others)]


def _sizes(name: str) -> list[int]:
    """How many positions there are, by pair of files."""
    groups = _groups(name)
    both = _both_have_pawns(name)
    rest, free = 1, 64 - len(groups[0])
    if both:
        rest, free = comb(48 - len(groups[0]), len(groups[1])), free - len(groups[1])
    for group in groups[2 if both else 1 :]:
        rest, free = rest * comb(free, len(group)), free - len(group)
    if "P" in name:
        return [rest * int(ways) for ways in probing.LEAD_PAWN_SETS[len(groups[0])]]
    return [rest * (probing.THREE_PIECES if len(groups[0]) == 3 else probing.KING_PAIRS)]


def _file(name: str, heads: list[bytes], tails: list[tuple[bytes, bytes, bytes]]) -> bytes:
    """The whole file from the head of each part, and where there are codes: its spans, sizes and blocks."""
    both = _both_have_pawns(name)
    groups = _groups(name)
    # With White to move the first group counts second, if there are others, and the pawns of the other side last.
    orders = bytes([0x01, 0x10 + len(groups) - 1] if both else [0x01 if len(groups) > 1 else 0])
    codes = bytes((LETTERS.index(piece.upper()) | 8 * piece.islower()) * 0x11 for group in groups for piece in group)
    content = table_files.MAGIC + bytes([(_sides(name) - 1) | 2 * ("P" in name)]) + (orders + codes) * _files(name)
    content += bytes(len(content) & 1)
    content += b"".join(heads[: _sides(name) * _files(name)])
    for part in (0, 1):
        content += b"".join(tail[part] for tail in tails)
    for tail in tails:
        content += bytes(-len(content) % 64) + tail[2]
    return content + bytes(-len(content) % 64 + 16)


def _part(size: int, random: Random) -> tuple[bytes, tuple[bytes, bytes, bytes]]:
    """The head of a part with so many positions, and its spans, sizes and blocks."""
    spans = -(-size >> SPAN_BITS)
    pairs, more = _symbols(random)
    draw = np.random.default_rng(random.getrandbits(32))
    blocks = 1 + (spans << SPAN_BITS) // int(A_BLOCK * more.mean() * 0.8)
    chosen = draw.integers(0, SYMBOLS, (blocks, A_BLOCK))
    positions = (more[chosen] + 1).sum(axis=1)
    ends = np.cumsum(positions)
    assert ends[-1] >= spans << SPAN_BITS and positions.max() <= 1 << 16
    middles = (np.arange(spans) << SPAN_BITS) + (1 << SPAN_BITS - 1)
    inside = np.searchsorted(ends, middles, side="right")
    table = np.zeros(spans, dtype=[("block", "<u4"), ("position", "<u2")])
    table["block"], table["position"] = inside, middles - (ends - positions)[inside]
    head = bytes([0, BLOCK_BITS, SPAN_BITS, 0]) + blocks.to_bytes(4, "little")
    lengths = [length for length, _ in LENGTHS]
    firsts = np.cumsum([0, *(count for _, count in LENGTHS[:-1])])
    head += bytes([lengths[0], lengths[-1]]) + firsts[::-1].astype("<u2").tobytes()
    head += SYMBOLS.to_bytes(2, "little") + pairs + bytes(SYMBOLS & 1)
    return head, (table.tobytes(), (positions - 1).astype("<u2").tobytes(), _packed(chosen))


def _symbols(random: Random) -> tuple[bytes, np.ndarray]:
    """The symbols, three bytes each, and how many positions more than one each stands for: five values, and pairs."""
    pairs, more = [(value, 0xFFF) for value in range(5)], [0] * 5
    while len(pairs) < SYMBOLS:
        first, second = random.randrange(len(pairs)), random.randrange(len(pairs))
        if more[first] + more[second] + 2 <= MOST:
            pairs.append((first, second))
            more.append(more[first] + more[second] + 1)
    packed = (bytes([first & 255, first >> 8 | (second & 15) << 4, second >> 4]) for first, second in pairs)
    return b"".join(packed), np.array(more)


def _packed(chosen: np.ndarray) -> bytes:
    """The blocks of these symbols, int64[blocks, A_BLOCK]."""
    codes, sizes = np.zeros(SYMBOLS, np.uint8), np.zeros(SYMBOLS, np.int64)
    first, lowest, before = 0, 0, LENGTHS[0][0]
    for length, count in LENGTHS:
        lowest >>= before - length
        codes[first : first + count] = [lowest + index << 8 - length for index in range(count)]
        sizes[first : first + count] = length
        first, lowest, before = first + count, lowest + count, length
    blocks = np.zeros((len(chosen), 1 << BLOCK_BITS), dtype=np.uint8)
    is_used = np.arange(8) < sizes[:, None]
    for block, symbols in zip(blocks, chosen, strict=True):
        bits = np.packbits(np.unpackbits(codes[symbols][:, None], axis=1)[is_used[symbols]])
        block[: len(bits)] = bits
    return blocks.tobytes()
