"""Random-move positions: a legal move away from those of the games, which only a teacher scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.core.board.bitboard import ZERO
from merino.core.board.fen import parse_fen, to_fen
from merino.core.board.game import Position
from merino.eval.families import load_net
from merino.eval.linear.weights import defaults
from merino.formats.pgn_tokens import NO_SCORE
from merino.learn.errors import LearnError
from merino.learn.positions import PositionBlock, Quiet, Selection, with_random_moves
from merino.learn.reading import ReadOptions, read_rows, with_random_moves_of
from merino.learn.request import Events, LearnRequest
from tests.boards import playouts, records
from tests.rows import SELFPLAY, copied_selfplay


def block_of(positions: np.ndarray) -> PositionBlock:
    """A block of one game a position, each with a score."""
    number = len(positions)
    columns = (np.arange(number, dtype=np.int32), np.zeros(number, dtype=np.int16), np.full(number, 0.5, np.float32))
    return PositionBlock(positions, *columns, np.full(number, 7, dtype=np.int16))


def test_a_random_move_position_is_a_legal_move_away_and_never_in_check() -> None:
    positions = records([board for board in playouts(5, 200) if not board.is_check()])
    found = with_random_moves(block_of(positions))
    are_random = found.scores == NO_SCORE
    assert len(found) - len(positions) == are_random.sum() > 0.8 * len(positions)
    assert np.array_equal(found.positions[~are_random], positions)
    assert np.all(found.positions["checkers"] == ZERO)
    for found_position, game in zip(found.positions[are_random], found.game[are_random], strict=True):
        position = Position(to_fen(positions[game : game + 1]))
        after = {position_after(position, int(move)) for move in position.legal_moves}
        assert to_fen(found_position.reshape(1)) in after


def position_after(position: Position, move: int) -> str:
    """The FEN after a move."""
    copy = position.copy()
    copy.push(move)
    return copy.fen()


def test_random_moves_are_the_same_each_time() -> None:
    positions = records(playouts(6, 50))
    one, other = with_random_moves(block_of(positions.copy())), with_random_moves(block_of(positions.copy()))
    assert np.array_equal(one.positions, other.positions)


def test_without_a_legal_move_there_is_no_random_move_position() -> None:
    stalemate = parse_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    assert len(with_random_moves(block_of(stalemate))) == 1


@pytest.mark.parametrize(
    ("words", "has_random_moves"),
    [
        ([], True),
        (["--teacher", "gen1"], True),
        (["--target", "search", "--teacher", "gen12"], True),
        (["--teacher", "off"], False),
        (["--target", "blend=0.5", "--teacher", "gen12"], False),
        (["--target", "result"], False),
        (["--preset", "greko2015"], False),
    ],
)
def test_random_moves_are_made_only_where_a_teacher_alone_scores(words: list[str], has_random_moves: bool) -> None:
    assert read_arguments(["a.pgn", *words]).request.has_random_moves is has_random_moves


def test_random_move_positions_are_read_from_the_cache_again(tmp_path: Path) -> None:
    games, heard = copied_selfplay(tmp_path), list[str]()
    options = ReadOptions(
        Selection(per_game=3, random_moves=True), defaults(), keep_fen=True, needs_scores=True, teacher=load_net("gen1")
    )
    first = read_rows([games], options, Events(heard.append)).rows
    second = read_rows([games], options, Events(heard.append)).rows
    assert any(line.startswith("Using file") for line in heard)
    assert np.array_equal(first.features, second.features) and np.array_equal(first.scores, second.scores)
    without = read_rows([games], replace(options, selection=Selection(per_game=3)), Events()).rows
    assert not np.array_equal(first.features[: len(without)], without.features)


def test_a_cache_with_random_moves_is_used_unless_results_count(tmp_path: Path) -> None:
    games = tmp_path / "games.pgn"
    games.write_bytes(SELFPLAY.read_bytes()[:50_000])
    selection = Selection(positions=Quiet.RESOLVED, per_game=3, random_moves=True)
    options = ReadOptions(selection, defaults(), True, needs_scores=True, teacher=load_net("gen1"), needs_results=False)
    rows = read_rows([games], options, Events()).rows
    again = read_rows([games.with_suffix(".fen")], options, Events()).rows
    assert np.array_equal(rows.features, again.features) and np.array_equal(rows.scores, again.scores)
    with pytest.raises(LearnError, match=r"games\.fen' contains random-move positions, which have no result"):
        read_rows([games.with_suffix(".fen")], replace(options, needs_results=True), Events())


POSITION = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c9 "1-0";'


def test_random_moves_are_learned_from_only_where_files_hold_games_or_them(tmp_path: Path) -> None:
    games, positions, cache, heard = tmp_path / "a.pgn", tmp_path / "b.epd", tmp_path / "c.fen", list[str]()
    games.write_text("1. e4 e5 1-0")
    positions.write_text(POSITION)
    cache.write_text(f"# merino-positions 1; source 00; skip-first 0, skip-last 0, strays\n{POSITION}")
    request = LearnRequest(("any",))
    assert with_random_moves_of([games, cache], request, heard.append) == request and not heard
    assert with_random_moves_of([games, positions], request, heard.append).has_random_moves
    assert not with_random_moves_of([positions], request, heard.append).has_random_moves
    assert heard == [f"Random-move positions are made from games only: '{positions}' gives none"] * 2
