"""Load every compiled entry that reading needs, from the cache or by compiling it."""

import numpy as np

from merino.core.board.fen import START_FEN, parse_fen
from merino.formats import labelled, openings, packed_files, pgn_games, pgn_parts, pgn_tokens
from merino.formats.packed import Filter, checked_blocks, pack, unpack, with_checks
from merino.formats.scored_games import as_viriformat, games_in, has_score, packed_of, scored_games

_GAME = b'[Result "1-0"]\n\n1. e4 {[%eval 0.2]} e5 2. Nf3 (2. f4) Nc6 1-0\n\n'
_POSITION = b'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c9 "1-0";\n'


def warm_up() -> None:
    """Read a game and a position, and write the position; pack both, write and count what is packed."""
    games = pgn_games.read_games(_GAME)
    games.positions()
    read = labelled.read_labelled(_POSITION)
    labelled.write_labelled(read.positions, read.results, read.games, read.to_end)
    (game,) = pgn_parts.games_of(_GAME)
    game.move_in(game.start, game.parts[1])
    openings.are_over(read.positions)
    has_score(games.data, pgn_tokens.IN_PAWNS)
    scored = scored_games(games)
    unpack(packed_of(scored, Filter()))
    games_in(as_viriformat(scored))
    start, one = parse_fen(START_FEN), np.zeros(1, dtype=np.int32)
    packed = pack(start, one, one, one)
    list(checked_blocks([with_checks(packed)], ""))
    packed_files.as_lines(packed)
    packed_files.count_positions([[packed]])
