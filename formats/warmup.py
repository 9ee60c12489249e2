"""Get every compiled entry that reading needs, from the cache or by compiling it."""

from __future__ import annotations

import numpy as np

from formats.labelled import read_labelled, write_labelled
from formats.pgn_games import read_games

_GAME = b'[Result "1-0"]\n\n1. e4 {[%eval 0.2]} e5 2. Nf3 (2. f4) Nc6 1-0\n\n'
_POSITION = b'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c9 "1-0";\n'


def warm_up() -> None:
    """Read a game and a position, and write the position."""
    read_games(_GAME)
    read = read_labelled(_POSITION)
    write_labelled(
        read.positions, read.results, np.zeros(len(read.positions), dtype=np.int32), np.zeros_like(read.to_end)
    )
