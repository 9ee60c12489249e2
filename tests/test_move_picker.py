"""How the best of the moves left is found, and the key that is known before a move is made."""

from __future__ import annotations

import random

import numpy as np

from merino.inner.core.board.bitboard import FULL
from merino.inner.core.board.game import Position
from merino.inner.core.board.makemove import likely_key, make
from merino.inner.core.board.move import NORMAL, kind_of
from merino.inner.core.board.movegen import ALL, MAX_MOVES, generate
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.memory import aligned_record
from merino.inner.engine.search.history import HISTORY_BITS
from merino.inner.engine.search.move_picker import KILLER_SCORES, PLACE_BITS, VICTIM_WEIGHT, place_of, ranked
from merino.inner.engine.search.parameters import EXCHANGE_VALUES, PARAMETERS
from tests.boards import playouts


@entry
def _best_place(scores):
    best = ranked(scores[0], 0)
    for index in range(1, len(scores)):
        best = max(best, ranked(scores[index], index))
    return place_of(best)


@entry
def _foretold(positions, after, moves):
    """How many legal moves touch no right to castle or to take en passant, promotions aside; 0 if a key is wrong."""
    position, plain = positions[0], 0
    for index in range(generate(position, moves, ALL, FULL)):
        move = int(moves[index])
        make(after[0], position, move)
        if kind_of(move) == NORMAL and after[0].castling == position.castling and position.en_passant < 0:
            if likely_key(position, move) != after[0].key:
                return 0
            plain += 1
    return plain


def test_the_best_of_scores_with_places_is_the_first_of_the_highest() -> None:
    draw = random.Random(5)
    for _ in range(200):
        scores = [draw.choice((-90_000, -1, 0, 7, 200_000)) for _ in range(draw.randint(1, MAX_MOVES - 1))]
        assert _best_place(np.array(scores, dtype=np.int32)) == scores.index(max(scores))


def test_a_score_with_its_place_fits_into_32_bits_whatever_the_parameters() -> None:
    highest = {parameter.name: parameter.bounds[1] for parameter in PARAMETERS}
    noisy = VICTIM_WEIGHT * 2 * max(highest[name] for name in EXCHANGE_VALUES) + (1 << HISTORY_BITS)
    quiet = 3 * (1 << HISTORY_BITS) + highest["threat_bonus"] + highest["check_bonus"]
    assert MAX_MOVES <= 1 << PLACE_BITS
    assert max(noisy, *KILLER_SCORES) < 1 << (31 - PLACE_BITS)
    assert quiet < 1 << (31 - PLACE_BITS)


def test_the_key_of_a_plain_move_is_known_before_it_is_made() -> None:
    after, moves = aligned_record(POSITION), np.zeros(MAX_MOVES, dtype=np.int32)
    counts = [_foretold(Position(board.fen()).record, after, moves) for board in playouts(6, 200)]
    assert sum(count > 0 for count in counts) > 100
    assert all(count > 0 for count, board in zip(counts, playouts(6, 200), strict=True) if board.ep_square is None)
