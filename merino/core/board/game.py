"""`Position`: the board for Python code, with its history, in the manner of python-chess.

position = Position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -")
position.push_uci("e1g1")
position.legal_moves, position.fen(), position.outcome()

Boards and moves of python-chess are taken wherever ours are, and made by `to_chess`. It is loaded where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, cast

import numpy as np

from merino.core.board import bitboard
from merino.core.board.fen import START_FEN, FenError, parse_fen, to_fen
from merino.core.board.makemove import castling_destinations, make
from merino.core.board.move import CASTLING, PROMOTION, Move, destination_of, kind_of, origin_of
from merino.core.board.movegen import ALL, MAX_MOVES, generate
from merino.core.board.position import POSITION, is_insufficient_material
from merino.core.common.errors import instance, whole_number
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import aligned_record, copy_record

if TYPE_CHECKING:
    import chess

START_NAME = "startpos"  # taken for the FEN of the usual start, as in UCI
FIFTY_MOVES = 100  # in plies
RESULTS = {bitboard.WHITE: "1-0", bitboard.BLACK: "0-1", None: "1/2-1/2"}  # by the winner, as PGN writes them

_CORNERS = bitboard.EDGE_RANKS & (bitboard.FILE_A | bitboard.FILE_H)
_SQUARES = {name: square for square, name in enumerate(bitboard.SQUARE_NAMES)}
_PROMOTIONS = {"": 0, "n": PROMOTION, "b": PROMOTION + 1, "r": PROMOTION + 2, "q": PROMOTION + 3}


class Termination(Enum):
    """Why a game is over."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    INSUFFICIENT_MATERIAL = "insufficient material"
    FIFTY_MOVES = "fifty-move rule"
    THREEFOLD_REPETITION = "threefold repetition"


@dataclass(frozen=True)
class Outcome:
    """How a game ended: the reason, and the winner, True for White as in python-chess, or None for a draw."""

    termination: Termination
    winner: bool | None

    @property
    def result(self) -> str:
        """The result as PGN writes it."""
        return RESULTS[None if self.winner is None else int(not self.winner)]


class IllegalMoveError(ValueError):
    """A move that cannot be read or is not legal here; `index` is its place in the list it came in."""

    def __init__(self, message: str, index: int = 0) -> None:
        super().__init__(message)
        self.index = index


@entry
def _legal_moves(positions, moves):
    return generate(positions[0], moves, ALL, bitboard.FULL)


@entry
def _has_insufficient_material(positions):
    return is_insufficient_material(positions[0])


@kernel
def _find_move(position, scratch, wanted):
    """The legal move that goes where `wanted` goes, or 0. Castling also matches by where the king ends up.

    The kind of `wanted` gives the promotion and nothing else.
    """
    origin, destination = origin_of(wanted), destination_of(wanted)
    promotion = max(kind_of(wanted), PROMOTION - 1)
    castling = 0
    for index in range(generate(position, scratch, ALL, bitboard.bit(origin))):
        move = int(scratch[index])
        if kind_of(move) == CASTLING and castling_destinations(origin, destination_of(move))[0] == destination:
            castling = move
        if destination_of(move) == destination and max(kind_of(move), PROMOTION - 1) == promotion:
            return move
    return castling if promotion < PROMOTION else 0


@entry
def _play(positions, wanted, moves, keys):
    """Play `wanted`, int32[n], from positions[0] into positions[1]; fills moves and keys; how many were legal."""
    scratch = np.zeros(MAX_MOVES, dtype=np.int32)
    current, following = positions[1], positions[2]
    copy_record(current, positions[0])
    for index in range(len(wanted)):
        move = _find_move(current, scratch, int(wanted[index]))
        if move == 0:
            return index
        make(following, current, move)
        copy_record(current, following)
        moves[index], keys[index] = move, current.key
    return len(wanted)


SVG_SIZE = 320  # pixels of a board in a notebook


class Position:
    """A game from a starting position: the board now, and how it came about.

    `record` is POSITION[1], the board for compiled code; treat it as read-only. `keys` holds the Zobrist key of
    every position of the game, the present one last. Two are equal if their FENs are, whatever was played before; as a
    key of a dictionary use a `copy` that nothing is played on.
    """

    def __init__(self, fen: str | chess.Board = START_FEN, chess960: bool = False) -> None:
        """Set up a FEN (4 to 6 fields), "startpos", or a board of python-chess with the moves that led to it.

        Castling is written as king takes own rook with `chess960`, and where the FEN has rights that need Chess960.
        Raises FenError, IllegalMoveError for a null move of the board, and TypeError for anything else.
        """
        board = None if isinstance(fen, str) else _board(fen, "fen")
        root = fen if board is None else board.root().fen()
        self._root = parse_fen(START_FEN if root == START_NAME else str(root))
        self.chess960 = chess960 or needs_chess960(self._root) or (board is not None and board.chess960)
        self.record = self._root
        self.moves: list[Move] = []
        self.keys: list[int] = [int(self._root[0]["key"])]
        if board is not None:
            self.push_all([move.uci() for move in board.move_stack])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.keys[-1] == other.keys[-1] and self.fen() == other.fen()

    def __hash__(self) -> int:
        return hash(self.keys[-1])

    def to_chess(self, stack: bool = True) -> chess.Board:
        """The board of python-chess, with the moves that led to it if `stack`."""
        import chess  # noqa: PLC0415 (not before it is needed)

        board = chess.Board(self.start_fen() if stack else self.fen(), chess960=self.chess960)
        for move in self.moves if stack else ():
            board.push(move.to_chess(self.chess960))
        return board

    def copy(self) -> Position:
        """An independent copy, history included."""
        other = object.__new__(Position)
        other.chess960, other._root, other.record = self.chess960, self._root, self.record
        other.moves, other.keys = self.moves.copy(), self.keys.copy()
        return other

    @property
    def turn(self) -> bool:
        """Whether White is to move, as in python-chess: `merino.WHITE` or `merino.BLACK`."""
        return self.side == bitboard.WHITE

    @property
    def side(self) -> int:
        """The side to move as records have it, 0 for White."""
        return int(self.record[0]["side"])

    @property
    def fullmove_number(self) -> int:
        """The number of the move to be played, from 1."""
        return int(self.record[0]["fullmove"])

    @property
    def halfmove_clock(self) -> int:
        """Plies since the last capture or pawn move."""
        return int(self.record[0]["halfmove"])

    @property
    def legal_moves(self) -> list[Move]:
        """Every legal move."""
        moves = np.zeros(MAX_MOVES, dtype=np.int32)
        return [Move(move) for move in moves[: _legal_moves(self.record, moves)]]

    def piece_at(self, square: int) -> str | None:
        """The letter of the piece on a square from 0 (a1) to 63 (h8), capital for White, or None."""
        whole_number("square", square, 0, 63)
        piece = int(self.record[0]["board"][square])
        return None if piece == bitboard.EMPTY else bitboard.PIECE_LETTERS[piece]

    def fen(self) -> str:
        """The FEN of the present position."""
        return to_fen(self.record)

    def _repr_svg_(self) -> str:
        """What Jupyter shows: the board from White's side, with the last move and a king in check marked."""
        import chess.svg  # noqa: PLC0415 (only notebooks draw)

        fen = self.fen()
        last = self.moves[-1].to_chess(chess960=True) if self.moves else None
        board = chess.Board(fen, chess960=True)
        king = board.king(board.turn) if self.is_check() else None
        return str(chess.svg.board(chess.BaseBoard(fen.split(maxsplit=1)[0]), lastmove=last, check=king, size=SVG_SIZE))

    def start_fen(self) -> str:
        """The FEN of the position the game began with."""
        return to_fen(self._root)

    def parse_uci(self, text: str) -> Move:
        """The legal move a coordinate text means; raises IllegalMoveError."""
        return self._played([text])[1][0]

    def legal(self, move: int | chess.Move, what: str = "the move (parse_uci makes one of a text)") -> Move:
        """The legal move that ours or one of python-chess is here; raises IllegalMoveError, or TypeError for a text."""
        return self._run(*_wanted(move, what))[1][0]

    def push(self, move: int | chess.Move) -> None:
        """Play a legal move; raises IllegalMoveError, or TypeError for a text, which `push_uci` takes."""
        self._advance(*self._run(*_wanted(move, "the move (push_uci takes a text)")))

    def san(self, move: int | chess.Move) -> str:
        """A legal move in short notation: "Nbd2", "exd8=Q+", "O-O"; raises IllegalMoveError."""
        return self.to_chess(stack=False).san(self.legal(move).to_chess(self.chess960))

    def push_san(self, text: str) -> Move:
        """Play a move given in short notation; raises IllegalMoveError and then changes nothing."""
        try:
            wanted = self.to_chess(stack=False).parse_san(text)
        except ValueError as error:
            raise IllegalMoveError(str(error)) from error
        return self.push_uci(wanted.uci())

    def push_uci(self, text: str) -> Move:
        """Play a move given as coordinates; raises IllegalMoveError and then changes nothing."""
        return self.push_all([text])[0]

    def push_all(self, texts: Sequence[str]) -> list[Move]:
        """Play coordinate moves in one go; raises IllegalMoveError with the index and then changes nothing."""
        if isinstance(texts, str):
            raise TypeError(f"push_all takes a sequence of moves, not the text {texts[:40]!r}, which push_uci plays")
        record, moves, keys = self._played(texts)
        self._advance(record, moves, keys)
        return moves

    def pop(self) -> Move:
        """Take back the last move; raises IndexError where there is none."""
        if not self.moves:
            raise IndexError("no move has been played, so none can be taken back")
        last = self.moves.pop()
        self.record, _, keys = self._run(np.array(self.moves, dtype=np.int32), [], self._root)
        self.keys = [self.keys[0], *keys]
        return last

    def uci(self, move: int) -> str:
        """Coordinate text of a move, castling in the style of this game."""
        return Move(move).uci(self.chess960)

    def is_check(self) -> bool:
        """Whether the side to move is in check."""
        return bool(self.record[0]["checkers"])

    def is_checkmate(self) -> bool:
        """Whether the side to move is mated."""
        return self.is_check() and not self.legal_moves

    def is_stalemate(self) -> bool:
        """Whether the side to move has no move and is not in check."""
        return not self.is_check() and not self.legal_moves

    def is_insufficient_material(self) -> bool:
        """Whether no series of legal moves could mate."""
        return bool(_has_insufficient_material(self.record))

    def is_fifty_moves(self) -> bool:
        """Whether fifty moves have passed on each side without a capture or pawn move, and it is no mate."""
        return self.halfmove_clock >= FIFTY_MOVES and not self.is_checkmate()

    def is_repetition(self, count: int = 3) -> bool:
        """Whether the present position has occurred `count` times."""
        whole_number("count", count, 1)
        return self.keys[-1 - self.halfmove_clock :].count(self.keys[-1]) >= count

    def outcome(self) -> Outcome | None:
        """How the game has ended, draws counted without a claim, or None while it goes on."""
        if not self.legal_moves:
            if self.is_check():
                return Outcome(Termination.CHECKMATE, winner=not self.turn)
            return Outcome(Termination.STALEMATE, None)
        if self.is_insufficient_material():
            return Outcome(Termination.INSUFFICIENT_MATERIAL, None)
        if self.halfmove_clock >= FIFTY_MOVES:
            return Outcome(Termination.FIFTY_MOVES, None)
        return Outcome(Termination.THREEFOLD_REPETITION, None) if self.is_repetition() else None

    def is_game_over(self) -> bool:
        """Whether the game has ended, by `outcome`."""
        return self.outcome() is not None

    def result(self) -> str:
        """The result as PGN writes it, "*" while the game goes on."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.result

    def __str__(self) -> str:
        """The board in letters, White below."""
        rows = [[self.piece_at(8 * rank + file) or "." for file in range(8)] for rank in range(7, -1, -1)]
        return "\n".join(" ".join(row) for row in rows)

    def __repr__(self) -> str:
        return f"Position({self.fen()!r})"

    def _played(self, texts: Sequence[str]) -> tuple[np.ndarray, list[Move], list[int]]:
        return self._run(np.array([_read_coordinates(t, i) for i, t in enumerate(texts)], dtype=np.int32), texts)

    def _run(
        self, wanted: np.ndarray, texts: Sequence[str], start: np.ndarray | None = None
    ) -> tuple[np.ndarray, list[Move], list[int]]:
        """The record, moves and keys after playing `wanted` from `start` (the present position if None)."""
        records = np.zeros(3, dtype=POSITION)
        records[0] = (self.record if start is None else start)[0]
        moves, keys = np.zeros(len(wanted), dtype=np.int32), np.zeros(len(wanted), dtype=np.uint64)
        played = _play(records, wanted, moves, keys)
        if played < len(wanted):
            raise IllegalMoveError(f"{texts[played]} is not legal in {to_fen(records[1:2])}", played)
        record = aligned_record(POSITION)
        record[0] = records[1]
        return record, [Move(move) for move in moves], keys.tolist()

    def _advance(self, record: np.ndarray, moves: Iterable[Move], keys: Iterable[int]) -> None:
        self.record = record
        self.moves.extend(moves)
        self.keys.extend(keys)


def as_position(position: Position | chess.Board | str) -> Position:
    """The position, that of a board of python-chess, a FEN or "startpos"; raises as `Position` does."""
    if isinstance(position, Position):
        return position
    return Position(position if isinstance(position, str) else _board(position, "position"))


def _board(given: object, what: str) -> chess.Board:
    """A board of python-chess on which chess is played; raises FenError and TypeError for anything else."""
    import chess  # noqa: PLC0415 (not before it is needed)

    instance(what, given, chess.Board, f"a Position, a chess.Board, a FEN or '{START_NAME}'")
    board = cast("chess.Board", given)
    if board.uci_variant != "chess":
        raise FenError(f"a board of {board.uci_variant} is not one of chess or Chess960")
    return board


def needs_chess960(record: np.ndarray) -> bool:
    """Whether there are castling rights that only Chess960 allows: a rook outside the corners, a king off its file."""
    board, rights = record[0]["board"], record[0]["castling"]
    at_home = (
        (bitboard.KING, _SQUARES["e1"], bitboard.RANK_1),
        (bitboard.BLACK_PIECE + bitboard.KING, _SQUARES["e8"], bitboard.RANK_8),
    )
    return bool(rights & ~_CORNERS) or any(rights & rank and board[square] != king for king, square, rank in at_home)


def _wanted(move: object, what: str) -> tuple[np.ndarray, list[str]]:
    """A move of ours or of python-chess, whose kind gives the promotion, and its text; raises TypeError."""
    if not isinstance(move, int | np.integer):
        import chess  # noqa: PLC0415 (not before it is needed)

        if isinstance(move, chess.Move):
            return np.array([_read_coordinates(move.uci(), 0)], dtype=np.int32), [move.uci()]
    number = whole_number(what, move, 0, 0xFFFF)
    return np.array([number], dtype=np.int32), [Move(number).uci()]


def _read_coordinates(text: str, index: int) -> int:
    """Coordinate text as a packed move whose kind only gives the promotion; raises IllegalMoveError, TypeError."""
    instance("each move", text, str, "a text like 'e2e4'")
    origin, destination = _SQUARES.get(text[:2]), _SQUARES.get(text[2:4])
    promotion = _PROMOTIONS.get(text[4:].lower())
    if origin is None or destination is None or promotion is None:
        raise IllegalMoveError(f"{text[:20]!r} is no move like e2e4 or e7e8q", index)
    return origin | destination << 6 | promotion << 12
