"""Sums of a net updated piece by piece: at each node of long games they are those from scratch, for every set."""

import random
from collections.abc import Callable

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.game import Position
from merino.core.board.move import NO_MOVE
from merino.core.compiled import jit, memory
from merino.engine.search.state import new_search_record
from merino.eval.net import blocks, family, network, updates
from merino.eval.net.features import features
from tests.test_evaluation import STARTS
from tests.test_net import random_net

OFTEN_SEEN = ("MB", "PV", "H")  # mirrored or by the friendly king; `make test-nets` has each by itself
EVERY_BLOCK = "+".join(["MIRRORED(MB+PV)", "(H+V)*KING8", *(name for name in blocks.BLOCKS if name not in OFTEN_SEEN)])
BY_ROWS = "MIRRORED(KING8*ALL)"
FROM_SCRATCH = ("H*V", "KING+D1*D2")
PLIES = 80


@jit.entry
def _score_at(records, ply):
    return memory.call_evaluation(records[0].evaluation, records[0], ply)


def go_on(record: np.ndarray, ply: int, position: Position, move: int) -> None:
    """Make a move, or pass, in the game and in the search record at `ply`."""
    if move == NO_MOVE:
        board = chess.Board(position.fen())
        board.push(chess.Move.null())
        position = Position(board.fen())
    else:
        position.push(move)
    record[0]["plies"][ply]["move"], record[0]["positions"][ply + 1] = move, position.record[0]


def play(evaluation: family.NetEvaluation, record: np.ndarray, fen: str, seed: int) -> None:
    """Play a random game from a position, and compare each score with that from scratch."""
    draw, position = random.Random(seed), Position(fen)
    record[0]["positions"][0] = position.record[0]
    for ply in range(PLIES):
        assert _score_at(record, ply) == pytest.approx(evaluation.white_scores(position.record)[0], abs=1e-6), (
            f"{evaluation.network.shape.features} after {ply} plies from {fen}: {position.fen()}"
        )
        moves = position.legal_moves
        if not moves:
            break
        if ply % 9 == 8 and not position.is_check():
            go_on(record, ply, position.copy(), NO_MOVE)
            _score_at(record, ply + 1)  # of a line that the game leaves again
        go_on(record, ply, position, draw.choice(moves))


def check_long_games(name: str) -> None:
    """Play games with a net of this feature set."""
    evaluation, record = family.NetEvaluation(random_net(network.Shape(name, 32))), new_search_record()
    kept = evaluation.install(record)
    for seed, fen in enumerate(3 * STARTS):
        play(evaluation, record, fen, seed)
    assert kept


@pytest.mark.parametrize("name", [pytest.param(EVERY_BLOCK, id="every block"), BY_ROWS, FROM_SCRATCH[0]])
def test_sums_along_long_games_are_those_from_scratch(name: str) -> None:
    check_long_games(name)


def test_every_block_is_updated_piece_by_piece_with_the_own_king() -> None:
    for name in blocks.BLOCKS:
        assert updates.obstacle(features(name)) == "" == updates.obstacle(features(f"KING*{name}+{name}"))


def test_what_cannot_be_updated_piece_by_piece_says_why(shell) -> None:
    for name, said in zip(FROM_SCRATCH, ("H*V", "D1*D2"), strict=True):
        assert updates.obstacle(features(name)) == f"a move may change both factors of {said}"
    assert "not updated piece by piece, as a move may change both factors of H*V" in shell("features", "H*V")
    assert shell("features", "H*V", "--json")["by_lists"] == "a move may change both factors of H*V"
    assert shell("features", "H+V", "--json")["by_lists"] == ""


@pytest.mark.parametrize("way", [blocks.Block.turned, blocks.Block.mirrored])
def test_a_tuple_that_is_turned_or_mirrored_twice_is_itself(way: Callable[[blocks.Block, int], int]) -> None:
    for block in blocks.BLOCKS.values():
        twin = blocks.BLOCKS.get(block.twin, block)
        seen = [way(block, index) for index in range(block.size)]
        assert sorted(seen) == list(range(twin.size))
        assert [way(twin, index) for index in seen] == list(range(block.size))


def test_the_command_times_a_set_in_turns_with_all(shell) -> None:
    printed = shell("features", "KING*ALL", "--time", "--hidden", "32", "--json")
    assert list(printed) == ["update_output_ns", "all_ns"] and min(printed.values()) > 1
    assert " times ALL (" in shell("features", "ALL", "--time")


NOT_TIMED = [
    ("features ALL --time --hidden 0", "a net has 1 to 1024 neurons"),
    ("features ALL k7/8/8/8/8/8/8/K7 w - - 0 1 --time", "give either --time or a FEN"),
]


@pytest.mark.parametrize(("words", "said"), NOT_TIMED)
def test_what_cannot_be_timed_is_refused_with_a_reason(words: str, said: str, capsys) -> None:
    assert main(words.split()) in (1, 2) and said in capsys.readouterr().err
