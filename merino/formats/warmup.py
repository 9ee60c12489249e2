"""Load every compiled entry that reading needs, from the cache or by compiling it."""

from __future__ import annotations

import numpy as np

from merino.core.board.fen import START_FEN, parse_fen
from merino.formats.labelled import read_labelled, write_labelled
from merino.formats.packed import Filter, checked_blocks, pack, unpack, with_checks
from merino.formats.packed_files import as_lines, count_positions
from merino.formats.pgn_games import read_games
from merino.formats.scored_games import as_viriformat, games_in, packed_of, scored_games

_GAME = b'[Result "1-0"]\n\n1. e4 {[%eval 0.2]} e5 2. Nf3 (2. f4) Nc6 1-0\n\n'
_POSITION = b'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c9 "1-0";\n'


def warm_up() -> None:
    """Read a game and a position, and write the position; pack both, write and count what is packed."""
    games = read_games(_GAME)
    read = read_labelled(_POSITION)
    write_labelled(read.positions, read.results, read.games, read.to_end)
    scored = scored_games(games)
    packed_of(scored, Filter(ahead=0.5))
    unpack(packed_of(scored, Filter()))
    games_in(as_viriformat(scored))
    start, one = parse_fen(START_FEN), np.zeros(1, dtype=np.int32)
    packed = pack(start, one, one, one)
    list(checked_blocks([with_checks(packed)], ""))
    as_lines(packed)
    count_positions([[packed]])
