"""The leaves of the move tree, in all and behind each root move: the test of move generation, and its speed.

Root moves come in the order of Stockfish's generator, so that two divides can be compared line by line.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from merino.core.board import bitboard
from merino.core.board.attacks import BETWEEN, BISHOP_STEPS, KING_ATTACKS, KNIGHT_ATTACKS, PAWN_ATTACKS, ROOK_STEPS, ray
from merino.core.board.game import Position
from merino.core.board.makemove import castling_destinations, make
from merino.core.board.move import PROMOTION, QUEEN_PROMOTION, Move
from merino.core.board.movegen import ALL, MAX_MOVES, count_legal, generate
from merino.core.board.position import POSITION
from merino.core.compiled.jit import entry, in_python, kernel
from merino.core.compiled.memory import aligned_record, copy_record, record_dtype

MAX_DEPTH = 16

_STACK = record_dtype([("positions", POSITION, MAX_DEPTH + 1), ("moves", np.int32, (MAX_DEPTH + 1, MAX_MOVES))])
COUNTED_IN_ONE_GO = 4  # plies; beyond, Ctrl-C and `stop` are heard in between

_ALL = (1 << 64) - 1
_STEPS = {bitboard.BISHOP: BISHOP_STEPS, bitboard.ROOK: ROOK_STEPS, bitboard.QUEEN: ROOK_STEPS + BISHOP_STEPS}
_Key = tuple[int, int, int]  # origin, destination, kind if it promotes


@kernel
def _count(stack, ply, depth, bulk):
    if bulk and depth == 1:
        return count_legal(stack.positions[ply])
    leaves = 0
    if depth == 0:
        return leaves + 1
    for index in range(generate(stack.positions[ply], stack.moves[ply], ALL, bitboard.FULL)):
        make(stack.positions[ply + 1], stack.positions[ply], np.int64(stack.moves[ply, index]))
        leaves += _count(stack, ply + 1, depth - 1, bulk) if depth > 1 else 1
    return leaves


@entry
def _perft(stacks, positions, depth, bulk):
    stack = stacks[0]
    copy_record(stack.positions[0], positions[0])
    return _count(stack, np.int64(0), depth, bulk)


def perft(position: np.ndarray, depth: int, bulk: bool = True) -> int:
    """The number of leaves `depth` plies below `position`, POSITION[1].

    With `bulk` the last ply is counted and not played.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"perft depth {depth} is not within 0..{MAX_DEPTH}")
    return int(_perft(aligned_record(_STACK), position, depth, bulk))


def print_divide(
    position: Position, depth: int, say: Callable[[str], None], is_stopped: Callable[[], bool] = lambda: False
) -> int:
    """Print each root move with the leaves behind it, then the total; returns the total. Depth is 1 or more.

    Returns early, and prints no total, once `is_stopped` says so.
    """
    total = 0
    for move in stockfish_order(position):
        leaves = _count_behind(position, move, depth - 1, is_stopped)
        if is_stopped():
            return total
        say(f"{position.uci(move)}: {leaves}")
        total += leaves
    for line in ("", f"Nodes searched: {total}", ""):
        say(line)
    return total


def stockfish_order(position: Position) -> list[Move]:
    """The legal moves in the order in which Stockfish generates them."""
    legal = {_key(move): move for move in position.legal_moves}
    keys, index = list(_Generator(position).moves()), 0
    while index < len(keys):
        if keys[index] in legal:
            index += 1
            continue
        last = keys.pop()  # Stockfish fills the gap of an illegal move with the last one
        if index < len(keys):
            keys[index] = last
    return [legal[key] for key in keys]


def _count_behind(position: Position, move: Move, depth: int, is_stopped: Callable[[], bool]) -> int:
    child = position.copy()
    child.push(move)
    if depth <= COUNTED_IN_ONE_GO:
        return perft(child.record, depth)
    return sum(_count_behind(child, reply, depth - 1, is_stopped) for reply in child.legal_moves if not is_stopped())


def _key(move: Move) -> _Key:
    return move.from_square, move.to_square, move.kind if move.kind >= PROMOTION else 0


class _Generator:
    """Pseudo-legal moves as Stockfish 15 generates them, as keys."""

    def __init__(self, position: Position) -> None:
        record = position.record[0]
        self.is_white = position.side == bitboard.WHITE
        self.own, foe = int(record["colours"][position.side]), int(record["colours"][1 - position.side])
        self.pieces = [int(pieces) & self.own for pieces in record["pieces"]]
        self.occupied, self.rooks = self.own | foe, int(record["castling"]) & self.own
        self.king = self.pieces[bitboard.KING].bit_length() - 1
        self.en_passant = int(record["en_passant"])
        checkers = [square for square in bitboard.SQUARES if int(record["checkers"]) >> square & 1]
        self.checks = len(checkers)
        self.enemies = foe if not checkers else int(record["checkers"])
        # Out of check, a piece may go anywhere; in check, it must take the checker or step in between.
        self.goals = int(BETWEEN[self.king, checkers[0]]) | 1 << checkers[0] if checkers else _ALL & ~self.own

    def moves(self) -> Iterator[_Key]:
        """All of them: pawns, pieces by worth, king, castling."""
        if self.checks < 2:
            yield from self._pawn_pushes()
            yield from self._promotions()
            yield from self._pawn_captures()
            for kind in (bitboard.KNIGHT, bitboard.BISHOP, bitboard.ROOK, bitboard.QUEEN):
                for origin in _squares(self.pieces[kind]):
                    yield from ((origin, target, 0) for target in _squares(self._attacks(kind, origin) & self.goals))
        yield from ((self.king, target, 0) for target in _squares(int(KING_ATTACKS[self.king]) & ~self.own))
        if not self.checks:
            yield from self._castling()

    def _up(self, squares: int, files: int = 0) -> int:
        """The set moved one rank forward and `files` to the right, seen from White."""
        if files:
            squares &= ~int(bitboard.FILE_H if files > 0 else bitboard.FILE_A)
        shift = (8 if self.is_white else -8) + files
        return (squares << shift) & _ALL if shift > 0 else squares >> -shift

    def _steps(self, targets: int, files: int, kinds: Iterable[int] = (0,), ranks: int = 1) -> Iterator[_Key]:
        forward = (8 if self.is_white else -8) * ranks + files
        yield from ((target - forward, target, kind) for target in _squares(targets) for kind in kinds)

    def _split_pawns(self) -> tuple[int, int]:
        """The pawns about to promote, and the others."""
        seventh = 0xFF << (48 if self.is_white else 8)
        return self.pieces[bitboard.PAWN] & seventh, self.pieces[bitboard.PAWN] & ~seventh

    def _pawn_pushes(self) -> Iterator[_Key]:
        single = self._up(self._split_pawns()[1]) & ~self.occupied
        double = self._up(single & int(bitboard.RANK_3 if self.is_white else bitboard.RANK_6)) & ~self.occupied
        yield from self._steps(single & self.goals, 0)
        yield from self._steps(double & self.goals, 0, ranks=2)

    def _promotions(self) -> Iterator[_Key]:
        pawns, kinds = self._split_pawns()[0], range(QUEEN_PROMOTION, PROMOTION - 1, -1)
        for files in self._capture_files():
            yield from self._steps(self._up(pawns, files) & self.enemies, files, kinds)
        yield from self._steps(self._up(pawns) & ~self.occupied & self.goals, 0, kinds)

    def _pawn_captures(self) -> Iterator[_Key]:
        pawns = self._split_pawns()[1]
        for files in self._capture_files():
            yield from self._steps(self._up(pawns, files) & self.enemies, files)
        if self.en_passant >= 0:
            capturers = int(PAWN_ATTACKS[1 if self.is_white else 0, self.en_passant]) & pawns
            yield from ((origin, self.en_passant, 0) for origin in _squares(capturers))

    def _capture_files(self) -> tuple[int, int]:
        """Right first, then left, seen from the mover."""
        return (1, -1) if self.is_white else (-1, 1)

    def _attacks(self, kind: int, origin: int) -> int:
        if kind == bitboard.KNIGHT:
            return int(KNIGHT_ATTACKS[origin])
        attacks = 0
        for step in _STEPS[kind]:
            for target in ray(origin, step):
                attacks |= 1 << target
                if self.occupied >> target & 1:
                    break
        return attacks

    def _castling(self) -> Iterator[_Key]:
        rooks = _squares(self.rooks)
        for rook in (*(r for r in rooks if r > self.king), *(r for r in rooks if r < self.king)):
            squares = self.king, rook, *in_python(castling_destinations)(self.king, rook)
            path = sum(1 << square for square in range(min(squares), max(squares) + 1))
            if not path & self.occupied & ~(1 << self.king | 1 << rook):
                yield self.king, rook, 0


def _squares(squares: int) -> list[int]:
    return [square for square in bitboard.SQUARES if squares >> square & 1]
