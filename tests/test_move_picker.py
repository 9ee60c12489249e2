"""How the best of the moves left is found, and the key that is known before a move is made."""

import random

import numpy as np
import pytest

from merino.core.board import bitboard, game, makemove, movegen
from merino.core.board.move import NO_MOVE, NORMAL, kind_of
from merino.core.board.position import POSITION
from merino.core.compiled import jit, memory
from merino.engine.search import move_picker, parameters
from merino.engine.search.history import HISTORY_BITS, quiet_history
from merino.eval.families import default
from tests.boards import KIWIPETE, playouts
from tests.workers import worker_at

MOST_MOVES = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"  # 218


@jit.entry
def _best_place(scores):
    best = move_picker.ranked(scores[0], 0)
    for index in range(1, len(scores)):
        best = max(best, move_picker.ranked(scores[index], index))
    return move_picker.place_of(best)


@jit.entry
def _expected(positions, after, moves):
    """How many legal moves touch no right to castle or to take en passant, promotions aside; 0 if a key is wrong."""
    position, plain = positions[0], 0
    for index in range(movegen.generate(position, moves, movegen.ALL, bitboard.FULL)):
        move = int(moves[index])
        makemove.make(after[0], position, move)
        if kind_of(move) == NORMAL and after[0].castling == position.castling and position.en_passant < 0:
            if makemove.likely_key(position, move) != after[0].key:
                return 0
            plain += 1
    return plain


@jit.entry
def _is_noisy(positions, move):
    return movegen.is_noisy(positions[0], move)


@jit.entry
def _handed_out(records, hash_move, noisy_only, moves, scores):
    """Write the moves that the picker hands out, and the scores of quiet ones but the first; how many there are."""
    s, count = records[0], 0
    move_picker.init_move_picker(s, 0, hash_move, noisy_only)
    while True:
        move = move_picker.next_move(s, 0)
        if move == NO_MOVE:
            return count
        moves[count] = move
        if move != hash_move and not movegen.is_noisy(s.positions[0], move):
            scores[count] = quiet_history(s, 0, move) + move_picker.threat_score(s, 0, move)
        count += 1


@pytest.mark.parametrize("fen", [MOST_MOVES, KIWIPETE])
def test_every_legal_move_is_handed_out_once_and_quiet_ones_by_score(fen: str) -> None:
    worker, draw = worker_at(game.Position(fen), default()), random.Random(7)
    history = worker.record[0]["butterfly_history"]
    history[...] = np.array([draw.randrange(-9000, 9000) for _ in range(history.size)]).reshape(history.shape)
    moves, scores = np.zeros((2, movegen.MAX_MOVES), dtype=np.int32)
    legal = sorted(game.Position(fen).legal_moves)
    assert sorted(moves[: _handed_out(worker.record, NO_MOVE, False, moves, scores)].tolist()) == legal
    quiet = scores[scores != 0].tolist()
    assert quiet == sorted(quiet, reverse=True) and len(set(quiet)) > 30


HASH_MOVES = [
    ("4k3/8/8/8/1b6/8/3N4/4K3 w - - 0 1", "d2f3"),  # pinned
    ("4kr2/8/8/8/8/8/8/4K2R w K - 0 1", "e1h1"),  # castling across a check
    ("4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1", "e5d6"),  # en passant, too late
    ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8"),  # a pawn on the last rank
    (KIWIPETE, "a6e2"),  # of the other side
]


@pytest.mark.parametrize(("fen", "text"), HASH_MOVES)
def test_a_hash_move_of_another_position_is_never_handed_out(fen: str, text: str) -> None:
    """Two positions may share a key, and threads a bucket; a move of 16 bits may then be any."""
    draw, position = random.Random(3), game.Position(fen)
    worker = worker_at(position, default())
    moves, scores = np.zeros((2, movegen.MAX_MOVES), dtype=np.int32)
    squares = bitboard.SQUARE_NAMES.index(text[:2]) | bitboard.SQUARE_NAMES.index(text[2:]) << 6
    legal = {
        int(move): is_noisy for move in position.legal_moves for is_noisy in [_is_noisy(position.record, int(move))]
    }
    for hash_move in [
        *(squares | kind << 12 for kind in range(16)),
        *(draw.randrange(1 << 16) for _ in range(9)),
        *[*legal][::3],
    ]:
        for noisy_only in (False, True):
            found = moves[: _handed_out(worker.record, hash_move, noisy_only, moves, scores)].tolist()
            assert len(found) == len(set(found)) and set(found) <= legal.keys(), (hash_move, found)
            assert all(map(legal.get, found)) if noisy_only else len(found) == len(legal)
            assert hash_move not in legal or found[:1] == [hash_move] or noisy_only and not legal[hash_move]


def test_the_best_of_scores_with_places_is_the_first_of_the_highest() -> None:
    draw = random.Random(5)
    for _ in range(200):
        scores = [draw.choice((-90_000, -1, 0, 7, 200_000)) for _ in range(draw.randint(1, movegen.MAX_MOVES - 1))]
        assert _best_place(np.array(scores, dtype=np.int32)) == scores.index(max(scores))


def test_a_score_with_its_place_fits_into_32_bits_whatever_the_parameters() -> None:
    highest = {parameter.name: parameter.bounds[1] for parameter in parameters.PARAMETERS}
    noisy = move_picker.VICTIM_WEIGHT * 2 * max(highest[name] for name in parameters.EXCHANGE_VALUES) + (
        1 << HISTORY_BITS
    )
    quiet = 3 * (1 << HISTORY_BITS) + highest["threat_bonus"] + highest["check_bonus"]
    assert movegen.MAX_MOVES <= 1 << move_picker.PLACE_BITS
    assert max(noisy, *move_picker.KILLER_SCORES) < 1 << (31 - move_picker.PLACE_BITS)
    assert quiet < 1 << (31 - move_picker.PLACE_BITS)


def test_the_key_of_a_plain_move_is_known_before_it_is_made() -> None:
    after, moves = memory.aligned_record(POSITION), np.zeros(movegen.MAX_MOVES, dtype=np.int32)
    counts = [_expected(game.Position(board.fen()).record, after, moves) for board in playouts(6, 200)]
    assert sum(count > 0 for count in counts) > 100
    assert all(count > 0 for count, board in zip(counts, playouts(6, 200), strict=True) if board.ep_square is None)
