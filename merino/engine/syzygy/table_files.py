"""Syzygy files of results (.rtbw): their head as a record that kernels search, each read when it is first needed."""

import threading
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from merino.core.board.bitboard import BLACK, BLACK_PIECE, WHITE
from merino.core.common.errors import MerinoError, turning
from merino.core.common.files import TABLES, open_user_file
from merino.core.compiled.memory import Callback
from merino.engine.syzygy import probing

MAGIC = b"\x71\xe8\x23\x5d"
_HAS_SIDES, _HAS_PAWNS = 1, 2  # flags of a file
_IS_CONSTANT = 0x80  # flag of a part
_WHOLE, _END = 64, 16  # a file has blocks of 64 bytes and a checksum of 16
_NOTHING = 0xFFF  # the second symbol of a symbol that is a value
_MAX_BITS = 32  # of a code
MAX_VALUE = 4


class BrokenTableError(MerinoError):
    """A file that is no table of this material; the message says what is wrong with it."""


class Material(NamedTuple):
    """What a table is named by, such as KRP and KR."""

    white: str
    black: str

    @property
    def pieces(self) -> list[int]:
        """The mailbox codes of all, kings included."""
        kinds = probing.LETTERS + "K"
        return [BLACK_PIECE * colour + kinds.index(each) for colour in (WHITE, BLACK) for each in self[colour]]


def describe(table: np.void, material: Material) -> None:
    """Fill what the name of a table says into its record, TABLE."""
    pawns = [side.count("P") for side in material]
    lead = BLACK if pawns[BLACK] and (not pawns[WHITE] or pawns[BLACK] < pawns[WHITE]) else WHITE
    table["men"] = len(material.pieces)
    table["is_symmetric"] = material.white == material.black
    table["leaders"] = 3 if any(side.count(letter) == 1 for side in material for letter in probing.LETTERS) else 2
    table["lead_colour"], table["lead_pawns"], table["other_pawns"] = lead, pawns[lead], pawns[1 - lead]


def read_table(table: np.void, material: Material, content: np.ndarray) -> list[np.ndarray]:
    """Fill the record of a table that is described from its file, uint8; both it and what is returned must be kept.

    Raises BrokenTableError.
    """
    if len(content) % _WHOLE != _END or content[:4].tobytes() != MAGIC:
        raise BrokenTableError("it is no Syzygy table of results, or its end is missing")
    flags, has_pawns = int(content[4]), bool(table["lead_pawns"])
    if bool(flags & _HAS_SIDES) == bool(table["is_symmetric"]) or bool(flags & _HAS_PAWNS) != has_pawns:
        raise BrokenTableError("it is a table of other material")
    with turning((IndexError, ValueError, OverflowError), BrokenTableError, "its head makes no sense: "):
        kept = _read_parts(table, material.pieces, content)
    table["file"], table["file_size"] = content.ctypes.data, len(content)
    table["state"] = probing.READ
    return kept


def _read_parts(table: np.void, pieces: list[int], content: np.ndarray) -> list[np.ndarray]:
    """Read the head of each part, then find what it has in the file."""
    at, kept, parts = 5, [], []
    sides, files = 1 if table["is_symmetric"] else 2, 4 if table["lead_pawns"] else 1
    orders = 2 if table["other_pawns"] else 1
    for file in range(files):
        for side in range(sides):
            numbers = [int(byte) >> 4 * side & 15 for byte in content[at : at + orders + len(pieces)]]
            part, order = table["parts"][side, file], [*numbers[:orders], 15][:2]
            _set_groups(table, part, order, [(number & 8) + (number & 7) - 1 for number in numbers[orders:]], file)
            found = part["pieces"][: len(pieces)].tolist()
            if sorted(found) != sorted(pieces) or len(list(groupby(found))) != len(set(found)):
                raise BrokenTableError("it is a table of other material")
            parts.append(part)
        at += orders + len(pieces)
    at += at & 1
    for part in parts:
        at, arrays = _read_codes(part, content, at)
        kept += arrays
    packed = [part for part in parts if part["constant"] == probing.COMPRESSED]
    for part in packed:
        part["spans_at"] = at
        at += 6 * -(-int(part["positions"]) >> int(part["span_bits"]))
    for part in packed:
        part["block_sizes_at"] = at
        at += 2 * int(part["block_sizes"])
    for part in packed:
        part["blocks_at"] = at = -(-at // _WHOLE) * _WHOLE
        at += int(part["blocks"]) << int(part["block_bits"])
    if at > len(content) - _END:
        raise BrokenTableError("its end is missing")
    return kept


def _set_groups(table: np.void, part: np.void, order: list[int], pieces: list[int], file: int) -> None:
    """Fill in which pieces are numbered together, and by what each number counts.

    `order` says when the first group comes, and when the other side's pawns do.
    """
    has_two = bool(table["other_pawns"])
    part["pieces"][: len(pieces)] = pieces
    sizes = [int(table["lead_pawns"] or table["leaders"])]
    for index in range(sizes[0], len(pieces)):
        if index > sizes[0] and pieces[index] == pieces[index - 1]:
            sizes[-1] += 1
        else:
            sizes.append(1)
    part["sizes"][: len(sizes)] = sizes
    free, factor, following = 64 - sizes[0] - (sizes[1] if has_two else 0), 1, 2 if has_two else 1
    for place in range(probing.MAX_MEN + 2):
        if place == order[0]:
            part["factors"][0] = factor
            factor *= _first_group(table, file)
        elif place == order[1] and has_two:
            part["factors"][1] = factor
            factor *= int(probing.BINOMIALS[sizes[1], 48 - sizes[0]])
        elif following < len(sizes):
            part["factors"][following] = factor
            factor *= int(probing.BINOMIALS[sizes[following], free])
            free -= sizes[following]
            following += 1
    part["positions"] = factor


def _first_group(table: np.void, file: int) -> int:
    """How many ways there are to place the first group."""
    if table["lead_pawns"]:
        return int(probing.LEAD_PAWN_SETS[int(table["lead_pawns"]), file])
    return probing.THREE_PIECES if table["leaders"] == 3 else probing.KING_PAIRS


def _read_codes(part: np.void, content: np.ndarray, at: int) -> tuple[int, list[np.ndarray]]:
    """Read the codes of a part; where those of the next begin, and arrays to keep."""
    if content[at] & _IS_CONSTANT:
        if content[at + 1] > MAX_VALUE:
            raise BrokenTableError("it has values that are none")
        part["constant"] = content[at + 1]
        return at + 2, []
    part["constant"] = probing.COMPRESSED
    block_bits, span_bits, unused = (int(byte) for byte in content[at + 1 : at + 4])
    blocks = int(content[at + 4 : at + 8].view("<u4")[0])
    longest, shortest = int(content[at + 8]), int(content[at + 9])
    if not (0 < shortest <= longest <= _MAX_BITS and 0 < span_bits < _MAX_BITS and block_bits < _MAX_BITS):
        raise BrokenTableError("its head makes no sense")
    lengths = longest - shortest + 1
    part["block_bits"], part["span_bits"], part["shortest"], part["lengths"] = block_bits, span_bits, shortest, lengths
    part["blocks"], part["block_sizes"] = blocks, blocks + unused
    first_symbols = content[at + 10 : at + 10 + 2 * lengths].view("<u2").astype(np.int64)
    at += 10 + 2 * lengths
    symbols = int(content[at : at + 2].view("<u2")[0])
    parts = _read_symbols(content[at + 2 : at + 2 + 3 * symbols].reshape(symbols, 3).astype(np.int64))
    first_codes = _first_codes(first_symbols.tolist(), shortest)
    part["symbols"], part["symbol_parts"] = symbols, parts.ctypes.data
    part["first_codes"], part["first_symbols"] = first_codes.ctypes.data, first_symbols.ctypes.data
    return at + 2 + 3 * symbols + (symbols & 1), [parts, first_codes, first_symbols]


def _first_codes(first_symbols: list[int], shortest: int) -> np.ndarray:
    """The lowest code of each length, uint64, from the highest bit: longer codes are lower, the last begin with 0."""
    codes = [0] * len(first_symbols)
    for index in reversed(range(len(codes) - 1)):
        codes[index] = (codes[index + 1] + first_symbols[index] - first_symbols[index + 1]) // 2
    return np.array([code << 64 - shortest - index for index, code in enumerate(codes)], dtype=np.uint64)


def _read_symbols(packed: np.ndarray) -> np.ndarray:
    """Symbols, int64[n, 3] as SYMBOL, from int64[n, 3], the bytes of two numbers of twelve bits each."""
    first = packed[:, 0] | (packed[:, 1] & 15) << 8
    second = packed[:, 1] >> 4 | packed[:, 2] << 4
    is_value = second == _NOTHING
    if (np.maximum(first, second)[~is_value] >= len(packed)).any() or (first[is_value] > MAX_VALUE).any():
        raise BrokenTableError("it has symbols of what is none")
    more = np.where(is_value, 0, -1)
    waiting = np.flatnonzero(~is_value)
    while len(waiting):
        parts = more[first[waiting]], more[second[waiting]]
        known = np.minimum(*parts) >= 0
        if not known.any():
            raise BrokenTableError("it has symbols that contain themselves")
        more[waiting[known]] = (parts[0] + parts[1] + 1)[known]
        waiting = waiting[~known]
    return np.ascontiguousarray(np.stack([first, second, more], axis=1))


class ResultTables:
    """What a search may ask; it must live as long as one may. All threads can share it."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """`files` by the material of each, such as KRPvKR."""
        self._files = [(Material(*name.split("v")), path) for name, path in files.items()]
        self._faults: dict[int, str] = {}
        self._tables, self._directory = np.zeros(len(files), probing.TABLE), np.zeros(1, probing.DIRECTORY)
        self._kept: list[np.ndarray] = []
        self._reading = threading.Lock()
        found: dict[int, int] = {}
        for number, (material, _) in enumerate(self._files):
            self._tables[number]["number"] = number
            describe(self._tables[number], material)
            found[probing.key_of(material.black, material.white)] = 2 * number + 1
            found[probing.key_of(material.white, material.black)] = 2 * number
        self._keys = np.array(sorted(found), dtype=np.uint64)
        self._found = np.array([found[key] for key in sorted(found)], dtype=np.int64)
        self._reader = Callback(self._read, probing.TABLE)
        directory = self._directory[0]
        directory["entries"], directory["keys"] = len(found), self._keys.ctypes.data
        directory["found"], directory["reader"] = self._found.ctypes.data, self._reader.address
        directory["tables"], directory["tables_count"] = self._tables.ctypes.data, len(files)

    @property
    def men(self) -> int:
        """The largest number of pieces of a position in them, kings included; 0 without tables."""
        return int(self._tables["men"].max(initial=0))

    @property
    def fault(self) -> str | None:
        """What is wrong with a table that was found to be broken, with its name; None if none was."""
        broken = int(self._directory[0]["broken"])
        if not broken:
            return None
        reason = self._faults.get(broken - 1, "its codes make no sense")
        return f"a broken table: '{self._files[broken - 1][1]}': {reason}"

    def attach(self, record: np.ndarray) -> None:
        """Let the search of this record, SEARCH[1], ask them."""
        probing.link(record)
        record[0]["tablebase_data"] = self._directory.ctypes.data

    def _read(self, record: np.ndarray) -> int:
        """Read a table, for compiled code: TABLE[1]; its state. Another thread may have just read it."""
        table = record[0]
        with self._reading:
            if table["state"] == probing.UNREAD:
                number = int(table["number"])
                material, path = self._files[number]
                try:
                    with open_user_file(path, TABLES) as file:
                        content = np.memmap(file, dtype=np.uint8, mode="r")
                    self._kept += [content, *read_table(table, material, content)]
                except (BrokenTableError, OSError, ValueError) as error:
                    self._faults[number] = str(error)
                    self._directory[0]["broken"] = number + 1
                    table["state"] = probing.BROKEN
        return int(table["state"])
