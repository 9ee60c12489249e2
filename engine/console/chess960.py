"""Start positions of Chess960."""

import random

import chess


def start_position(number: int | None = None) -> tuple[int, str]:
    """The start position of this number, 0 to 959, or a random one; its number and its FEN."""
    number = random.randrange(960) if number is None else number
    return number, chess.Board.from_chess960_pos(number).fen()
