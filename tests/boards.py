"""Positions for the tests: some with a name, and random ones, the same on each run, from playouts or thrown men."""

import io
import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import chess
import chess.pgn
import numpy as np

from merino.core.board.fen import parse_fen

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
MATED = "R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"
STALEMATED = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
WILD = "1q1q1k2/q1q1q1q1/1q1q1q2/8/8/1Q1Q1Q2/Q1Q1Q1Q1/2Q1K3 w - - 0 1"  # where even one ply takes long


def random_game(draw: random.Random, board: chess.Board, plies: int) -> Iterator[chess.Move]:
    """Play up to `plies` random moves on `board`, and yield each before it is played.

    Castling, en passant, promotion and the capture of a rook that may castle are played every other time they are
    possible: bare chance hardly meets them.
    """
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            return
        rooks = board.clean_castling_rights() & board.occupied_co[not board.turn]
        special = [move for move in moves if move.promotion or board.is_castling(move) or board.is_en_passant(move)]
        special += [move for move in moves if chess.BB_SQUARES[move.to_square] & rooks]
        move = draw.choice(special if special and draw.random() < 0.5 else moves)
        yield move
        board.push(move)


def games_in(pgn: str | Path) -> list[chess.pgn.Game]:
    """The games of a text or a file as python-chess reads them, which finds no fault."""
    file = io.StringIO(pgn if isinstance(pgn, str) else pgn.read_text(encoding="utf-8"))
    games = list(iter(lambda: chess.pgn.read_game(file), None))
    assert not any(game.errors for game in games)
    return games


def start_board(draw: random.Random, chess960: bool) -> chess.Board:
    """A game's first position, drawn from the 960 where asked for."""
    return chess.Board.from_chess960_pos(draw.randrange(960)) if chess960 else chess.Board()


@cache
def playouts(seed: int, count: int, chess960: bool = False, plies: int = 180) -> tuple[chess.Board, ...]:
    """`count` positions spread over random games; treat them as read-only."""
    draw = random.Random(seed)
    boards: list[chess.Board] = []
    while len(boards) < count:
        board = start_board(draw, chess960)
        boards += [board.copy(stack=False) for _ in random_game(draw, board, plies) if draw.random() < 1 / 12]
    return tuple(boards[:count])


def placed(draw: random.Random, white: str, black: str) -> chess.Board:
    """A legal position with these men, "KBP" and "K" say, on random squares and a random side to move."""
    men = [chess.Piece.from_symbol(letter) for letter in white.upper() + black.lower()]
    while True:
        board = chess.Board(None)
        for man in men:
            ranks = range(1, 7) if man.piece_type == chess.PAWN else range(8)
            free = [square for square in chess.SQUARES if square >> 3 in ranks and board.piece_at(square) is None]
            board.set_piece_at(draw.choice(free), man)
        board.turn = draw.random() < 0.5
        if board.is_valid():
            return board


@cache
def sparse(seed: int, count: int) -> tuple[chess.Board, ...]:
    """`count` positions with few men; in every third one side has no pieces, only pawns."""
    draw = random.Random(seed)
    boards = []
    for index in range(count):
        sides = ["K" + "P" * draw.randrange(6) + "".join(draw.choices("NBRQ", k=draw.randrange(4))) for _ in range(2)]
        if index % 3 == 0:
            sides[draw.randrange(2)] = "K" + "P" * draw.randrange(4)
        boards.append(placed(draw, *sides))
    return tuple(boards)


def records(boards: Iterable[chess.Board]) -> np.ndarray:
    """The boards as POSITION[n]."""
    return np.concatenate([parse_fen(board.fen()) for board in boards])
