"""Claims as the JSON has them, their lines on boards of python-chess, and exchanges there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import chess

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 100}
COLOURS = {"white": chess.WHITE, "black": chess.BLACK}
MAX_PLY = 7  # until which a line must have won what it is said to win


class RefusedError(Exception):
    """Why a claim is not accepted."""


def board_after(board: chess.Board, *moves: chess.Move) -> chess.Board:
    """The board after these moves, which may be passes, without what came before."""
    after = board.copy(stack=False)
    for move in moves:
        after.push(move)
    return after.copy(stack=False)


def need(condition: object, reason: str) -> None:
    """Refuse the claim for this reason unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


class Named(NamedTuple):
    """A piece that a claim names, and its square."""

    piece: chess.Piece
    square: chess.Square


@dataclass(frozen=True)
class Claim:
    """A claim as the JSON has it, with the boards along `line`, and the others along `other_line`."""

    kind: str
    side: chess.Color
    pieces: Sequence[Named]
    line: Sequence[chess.Move]
    boards: Sequence[chess.Board]
    other_line: Sequence[chess.Move]
    others: Sequence[chess.Board]
    wins: Mapping[str, int] | None
    text: str

    @cached_property
    def fallen(self) -> frozenset[chess.Square]:
        """The squares in `fen` of the pieces that the line takes until it has won what it wins."""
        last = min(self.wins["ply"] if self.wins else MAX_PLY, len(self.line))
        return frozenset(
            square
            for square in self.boards[0].piece_map()
            if self.place(square, last) is None and self.boards[0].color_at(square) != self.side
        )

    def place(self, square: chess.Square, plies: int) -> chess.Square | None:
        """Where the piece from a square of `fen` stands after so many plies of `line`; None if it has been taken."""
        return followed(self.boards[: plies + 1], self.line, square)


def claim_of(found: Mapping[str, Any]) -> Claim:
    """A claim of the JSON; raises RefusedError where it is no claim, or a line is not legal."""
    try:
        start = chess.Board(found["fen"])
        if not start.is_valid():
            start = chess.Board(found["fen"], chess960=True)
        need(start.is_valid(), f"the position is not legal: {found['fen']}")
        (line, boards), (other_line, others) = (played(start, found[key]) for key in ("line", "other_line"))
        pieces = [
            Named(chess.Piece.from_symbol(each["piece"]), chess.parse_square(each["square"]))
            for each in found["pieces"]
        ]
        wins, side = found["wins"], COLOURS[found["side"]]
        return Claim(found["kind"], side, pieces, line, boards, other_line, others, wins, str(found["text"]))
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(f"it is no claim: {error!r}") from None


def played(start: chess.Board, moves: Sequence[str]) -> tuple[list[chess.Move], list[chess.Board]]:
    """The moves, and the boards from `start` on; raises RefusedError at the first that is not legal."""
    found, boards = [], [start]
    for move in moves:
        board = boards[-1].copy()
        try:
            found.append(board.push_uci(move))
        except ValueError:
            raise RefusedError(f"{move} is not legal in {board.fen()}") from None
        boards.append(board)
    return found, boards


def said(named: Named) -> str:
    """A piece as sentences name it: "White's knight on d5"."""
    owner = "White" if named.piece.color else "Black"
    return f"{owner}'s {chess.piece_name(named.piece.piece_type)} on {chess.square_name(named.square)}"


# Exchanges and where pieces go


def balance(board: chess.Board, side: chess.Color) -> int:
    """By how many pawns a side is ahead."""
    return sum((1 if piece.color == side else -1) * WORTH[piece.piece_type] for piece in board.piece_map().values())


def taken_on(board: chess.Board, move: chess.Move) -> chess.Square | None:
    """The square of the piece that a move takes."""
    if board.is_en_passant(move):
        return chess.square(chess.square_file(move.to_square), chess.square_rank(move.from_square))
    return move.to_square if board.is_capture(move) else None


def profit(board: chess.Board, move: chess.Move) -> int:
    """What a move wins by an exchange on its square, on which both sides take with the cheapest piece or stop."""
    after = board_after(board, move)
    gained = balance(after, board.turn) - balance(board, board.turn)
    takers = list(after.generate_legal_captures(to_mask=chess.BB_SQUARES[move.to_square]))
    if not takers:
        return gained
    cheapest = min(takers, key=lambda taker: after.piece_type_at(taker.from_square) or chess.KING)
    return gained - max(0, profit(after, cheapest))


def at_stake(board: chess.Board) -> int:
    """What the side to move can win by an exchange or a promotion."""
    moves = [move for move in board.legal_moves if board.is_capture(move) or move.promotion]
    return max((profit(board, move) for move in moves), default=0)


def is_quiet(board: chess.Board) -> bool:
    """Whether the side to move can win nothing by an exchange or a promotion."""
    return at_stake(board) <= 0


def followed(boards: Sequence[chess.Board], line: Sequence[chess.Move], square: chess.Square) -> chess.Square | None:
    """Where the piece from a square of the first board stands on the last one; None if it has been taken."""
    for before, move, after in zip(boards, line, boards[1:], strict=False):
        piece = before.piece_at(square)
        assert piece is not None
        if before.is_castling(move) and piece.color == before.turn and piece.piece_type in (chess.KING, chess.ROOK):
            if after.piece_at(square) != piece or piece.piece_type == chess.KING:
                (square,) = after.pieces(piece.piece_type, piece.color) - (
                    before.pieces(piece.piece_type, piece.color) - {square}
                )
        elif square == taken_on(before, move):
            return None
        elif square == move.from_square:
            square = move.to_square
    return square
