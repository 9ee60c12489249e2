"""Positions drawn from games, one of each: to play on from, or to rank moves in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from merino.inner.core.common.work import in_order
from merino.inner.formats.labelled import NO_GAME, read_labelled
from merino.inner.formats.pgn_games import play_games
from merino.inner.formats.pgn_stream import GamesText, games_of
from merino.inner.formats.sources import Source, count_lines, open_source
from merino.inner.learn.positions import Selection, block_of_games, drawn, sampled


def one_of_each_game(paths: Sequence[Path], first: int, last: int, enough: int | None = None) -> np.ndarray:
    """A position of each game between these plies, POSITION[n], none in check, in an order by chance, always the same.

    Of labelled positions, which need not tell their ply, it takes any; one that names no game counts as a game. It
    reads no more once there are `enough`. Raises SourceError.
    """
    found, count = list[np.ndarray](), 0
    for path in paths:
        with open_source(path) as source:
            for positions in _drawn(source, first, last):
                found.append(positions)
                count += len(positions)
                if enough is not None and count >= enough:
                    break
    every = np.concatenate(found)
    return every[np.argsort(every["key"], kind="stable")]


def _drawn(source: Source, first: int, last: int) -> Iterator[np.ndarray]:
    if source.holds_positions():
        yield from _of_labelled(source)
    else:
        yield from in_order(lambda piece: _of_games(piece, first, last), games_of(source))


def _of_games(piece: GamesText, first: int, last: int) -> np.ndarray:
    games = play_games(piece.data, piece.table, 1, piece.lines_before)
    block = block_of_games(games, Selection(skip_first=first))
    ply = 2 * (block.positions["fullmove"].astype(np.int64) - 1) + block.positions["side"]
    return sampled(block.chosen(ply <= last), 1).positions


def _of_labelled(source: Source) -> Iterator[np.ndarray]:
    lines = 0
    for text in source.lines():
        labelled = read_labelled(text, lines)
        chosen = drawn(labelled.positions["key"], labelled.games, 1) | (labelled.games == NO_GAME)
        yield labelled.positions[chosen]
        lines += count_lines(text)
