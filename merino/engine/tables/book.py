"""An opening book in the format of Polyglot, read by python-chess.

The format has no mark of its own, so a book is known by what all books have: entries in the order of their keys, moves
that some piece could make, and from the start of the game on legal ones. Weights may be 0, castling is written either
way, and keys of no position that we know are no fault.
"""

from collections import deque
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import chess.polyglot
import numpy as np

from merino.core.board.game import IllegalMoveError, Position
from merino.core.board.move import Move
from merino.core.common.files import BOOK, read_user_file
from merino.engine.notation.san import board_of

_ENTRY = np.dtype([("key", ">u8"), ("move", ">u2"), ("weight", ">u2"), ("learn", ">u4")])
_CHECKED = 1 << 20  # entries that are checked together
_WALKED = 1000  # moves from the start of the game on that are checked


class BookError(ValueError):
    """A book that cannot be used; the message names the file and the fault."""


class _Reader(chess.polyglot.MemoryMappedReader):
    """Reads a book in memory: a mapped file ends the process when it is cut short, and its disk may be slow."""

    def __init__(self, content: bytes) -> None:
        self.mmap = content  # type: ignore[assignment]  # only its bytes are used

    def __len__(self) -> int:
        return len(self.mmap) // _ENTRY.itemsize


class Book:
    """A book, read into memory."""

    def __init__(self, file: Path) -> None:
        """Raises BookError."""
        try:
            content = read_user_file(file, BOOK)
        except OSError as error:
            raise BookError(f"cannot read book '{file}': {error.strerror}") from error
        if not content:
            raise BookError(f"book '{file}' is empty")
        if len(content) % _ENTRY.itemsize:
            raise BookError(f"cannot read book '{file}': it is not a Polyglot book")
        self.file = file
        self._reader = _Reader(content)
        fault = _fault(np.frombuffer(content, dtype=_ENTRY)) or self._illegal_move()
        if fault:
            raise BookError(f"cannot read book '{file}': it is not a Polyglot book, since {fault}")

    def move(self, position: Position, random: Random) -> Move | None:
        """A random move of the book in this position, by their weights; None if there is none."""
        board = board_of(position)
        try:
            entry = self._reader.weighted_choice(board, random=random)
        except IndexError:
            return None
        try:
            return position.parse_uci(board.uci(entry.move))
        except IllegalMoveError:  # a broken book, or another position with the same key
            return None

    def _illegal_move(self) -> str:
        """A move in words that is not legal, among the first of those from the start of the game on; "" for none."""
        seen = set[int]()
        waiting, left = deque([chess.Board()]), _WALKED
        while waiting and left:
            board = waiting.popleft()
            key = chess.polyglot.zobrist_hash(board)
            entries = () if key in seen else islice(self._reader.find_all(key, minimum_weight=0), left)
            seen.add(key)
            for entry in entries:
                left -= 1
                try:
                    move = board.parse_uci(entry.move.uci())
                except ValueError:
                    return f"its move {entry.move.uci()} is not legal in {board.fen()}"
                if move:
                    waiting.append(board.copy(stack=False))
                    waiting[-1].push(move)
        return ""


def _fault(entries: np.ndarray) -> str:
    """The first entry in words that is out of order or moves as no piece does; "" if there is none."""
    for first in range(0, len(entries), _CHECKED):
        keys = entries["key"][max(0, first - 1) : first + _CHECKED].astype(np.uint64)
        out_of_order = np.flatnonzero(keys[1:] < keys[:-1])
        if len(out_of_order):
            return f"entry {max(1, first) + out_of_order[0] + 1} is out of order"
        impossible = np.flatnonzero(~_possible_moves()[entries["move"][first : first + _CHECKED]])
        if len(impossible):
            return f"entry {first + impossible[0] + 1} moves as no piece does"
    return ""


@cache
def _possible_moves() -> np.ndarray:
    """Which 16 bits can be a move, bool[65536]: of a queen or a knight, a promotion, or 0 for none."""
    found = np.zeros(1 << 16, dtype=bool)
    found[0] = True
    empty = chess.Board(None)
    for start in chess.SQUARES:
        empty.set_piece_at(start, chess.Piece(chess.QUEEN, chess.WHITE))
        reached = empty.attacks(start) | chess.SquareSet(chess.BB_KNIGHT_ATTACKS[start])
        empty.remove_piece_at(start)
        for end in reached:
            found[start << 6 | end] = True
            if (chess.square_rank(start), chess.square_rank(end)) in ((6, 7), (1, 0)):
                is_step = abs(chess.square_file(start) - chess.square_file(end)) <= 1
                found[[piece << 12 | start << 6 | end for piece in range(1, 5)]] = is_step
    return found
