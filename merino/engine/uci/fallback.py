"""A move in a fraction of a second without compiled code, for a first start on a clock that cannot wait.

The first start on a machine compiles for a while. A GUI waits ten to fifteen seconds, then the clock runs. Until the
engine is loaded, this module plays: two plies and captures with python-chess, by material and centre.
"""

import time
from typing import NamedTuple

import chess

_VALUES = {chess.PAWN: 100, chess.KNIGHT: 320, chess.BISHOP: 330, chess.ROOK: 500, chess.QUEEN: 950, chess.KING: 0}
_MATE = 30000
_MAX_SCORE = 9999  # a score that is reported; mates are not counted here
_CENTRE = [
    6 - abs(2 * chess.square_file(square) - 7) // 2 - abs(2 * chess.square_rank(square) - 7) // 2
    for square in chess.SQUARES
]


class _OutOfTimeError(Exception):
    """The deadline has passed inside the search."""


class QuickMove(NamedTuple):
    """A move, its score in centipawns for the side to move, and the depth of the search in plies."""

    move: chess.Move
    score: int
    depth: int


def quick_move(board: chess.Board, deadline: float, allowed: list[chess.Move] | None = None) -> QuickMove | None:
    """A legal move, of those `allowed` if any, found before `deadline` (time.perf_counter); None if there is none."""
    moves = sorted(allowed or board.legal_moves, key=lambda move: -_promise(board, move))
    if not moves:
        return None
    if (mate := _mating(board, moves)) is not None:
        return QuickMove(mate, _MAX_SCORE, 1)
    found = QuickMove(moves[0], 0, 1)
    try:
        for depth in (0, 1, 2):
            best, score = _best(board, moves, depth, deadline)
            found = QuickMove(best, max(-_MAX_SCORE, min(score, _MAX_SCORE)), depth + 1)
            moves.remove(best)
            moves.insert(0, best)
    except _OutOfTimeError:
        pass  # this search ends by its deadline; `found` is from the last complete depth
    return found


def _mating(board: chess.Board, moves: list[chess.Move]) -> chess.Move | None:
    """A mate in one, which is seen however little time there is; None without."""
    for move in moves:
        board.push(move)
        is_mate = board.is_checkmate()
        board.pop()
        if is_mate:
            return move
    return None


def _best(board: chess.Board, moves: list[chess.Move], depth: int, deadline: float) -> tuple[chess.Move, int]:
    best, alpha = moves[0], -2 * _MATE
    for move in moves:
        board.push(move)
        try:
            score = -_search(board, -2 * _MATE, -alpha, depth, deadline)
        finally:
            board.pop()
        if score > alpha:
            best, alpha = move, score
    return best, alpha


def _search(board: chess.Board, alpha: int, beta: int, depth: int, deadline: float) -> int:
    if time.perf_counter() > deadline:
        raise _OutOfTimeError
    if board.is_repetition(2) or board.is_insufficient_material() or board.halfmove_clock >= 100:
        return 0
    in_check = board.is_check()
    quiet = depth <= 0 and not in_check
    if quiet:
        alpha = max(alpha, _evaluate(board))
        if alpha >= beta or depth < -4:
            return alpha
    moves = list(board.generate_legal_captures() if quiet else board.legal_moves)
    if not moves and not quiet:
        return -_MATE - depth if in_check else 0
    for move in sorted(moves, key=lambda move: -_promise(board, move)):
        board.push(move)
        try:
            alpha = max(alpha, -_search(board, -beta, -alpha, depth - 1, deadline))
        finally:
            board.pop()
        if alpha >= beta:
            break
    return alpha


def _promise(board: chess.Board, move: chess.Move) -> int:
    """The immediate gain of a move."""
    victim, attacker = board.piece_type_at(move.to_square), board.piece_type_at(move.from_square)
    gain = 10 * _VALUES[victim] - _VALUES[attacker] // 10 if victim and attacker else 0
    return gain + (10 * _VALUES[move.promotion] if move.promotion else 0)


def _evaluate(board: chess.Board) -> int:
    """Material and centre for the side to move, centipawns."""
    score = 0
    for square, piece in board.piece_map().items():
        value = _VALUES[piece.piece_type] + (0 if piece.piece_type == chess.KING else 3 * _CENTRE[square])
        score += value if piece.color == board.turn else -value
    return score
