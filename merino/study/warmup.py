"""Loads or compiles the compiled code of studies that learning does not need."""

from __future__ import annotations

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.eval.families import default
from merino.formats.pgn_games import read_games
from merino.study.points.board import BoardTally, add_games
from merino.study.points.regression import bootstrap, cells_of
from merino.study.points.vectors import vectors_of_games
from merino.study.profile.choices import choices_of
from merino.study.profile.players import PlayerGame, PlayerGames
from merino.study.words.account import account_around

_GAMES = b'[Result "1-0"]\n\n1. e4 d5 2. exd5 Nf6 3. Nc3 Nxd5 4. a3 a6 5. h3 h6 1-0\n\n'


def warm_up() -> None:
    """Value the pieces of a game, by its result and on the board, tell a score in the terms, and profile a player."""
    games = read_games(_GAMES)
    vectors, _ = vectors_of_games(games)
    bootstrap(cells_of(vectors.differences, vectors.outcomes), vectors, 2, 1)
    add_games(BoardTally(), games, np.zeros(1, dtype=np.int64), default())
    terms = default()
    account_around(Position().record, terms)
    game = PlayerGame(1, "", "", WHITE, None, 1.0, games.starts[:1], games.moves, np.zeros(0))
    choices_of(PlayerGames("", (game,), 0), terms)
