"""Random openings for pairs of games, about even, by a seed."""

from __future__ import annotations

import numpy as np

from merino.core.board.bitboard import FULL
from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.core.board.makemove import make
from merino.core.board.move import Move
from merino.core.board.movegen import ALL, generate
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record
from merino.engine.search.iterative_deepening import deepen, set_root
from merino.engine.search.limits import MAX_PLY
from merino.engine.search.transposition import TranspositionTable, age_of
from merino.engine.search.worker import Worker
from merino.eval.families import default
from merino.formats.openings import Opening, OpeningError
from merino.match.compiled_game import MAX_PLIES, UNFINISHED, end_by_rule
from merino.match.rng import next_random, seed_state

PLIES = 8  # random plies
EVEN = 50  # centipawns by which the judging search may prefer one side
JUDGE_NODES = 1000
TRIES = 10_000


@kernel
def _walk(s, start, positions, keys, state, plies, moves):
    """Play `plies` random moves from `start` into positions[0]; returns whether the game goes on."""
    position = positions[0]
    copy_record(position, start)
    keys[0] = position.key
    for ply in range(plies):
        if end_by_rule(position, keys, ply + 1) != UNFINISHED:
            return False
        count = generate(position, s.moves[0], ALL, FULL)
        moves[ply] = s.moves[0, next_random(state) % count]
        make(positions[1], position, np.int64(moves[ply]))
        copy_record(position, positions[1])
        keys[ply + 1] = position.key
    return end_by_rule(position, keys, plies + 1) == UNFINISHED


@entry
def _even_walk(judge, starts, positions, keys, state, plies, even, nodes, tries, moves):
    """Fill `moves`, int32[plies], with the first random line that the judge finds even; whether there was one."""
    s = judge[0]
    for attempt in range(tries):
        if not _walk(s, starts[0], positions, keys, state, plies, moves):
            continue
        set_root(s, positions[0], keys, plies + 1, age_of(attempt))
        if abs(deepen(s, nodes, MAX_PLY - 1)[1]) <= even:
            return True
    return False


class RandomOpenings:
    """Random plies that leave the game about even for a short search with the default weights.

    Opening number n depends only on the seed and n. Only one thread at a time may use an object.
    """

    def __init__(self, seed: int, plies: int = PLIES) -> None:
        """Raises OpeningError for more plies than a random game has."""
        if plies > MAX_PLIES:
            raise OpeningError(f"an opening has at most {MAX_PLIES} random plies, not {plies}")
        self._seed, self._plies = seed, plies
        self._table = TranspositionTable(0)
        self._judge = Worker(self._table, np.zeros(1, dtype=np.uint64), default())
        self._start = Position()

    def opening(self, number: int) -> Opening:
        """The opening with this number; raises OpeningError if no try is even."""
        self._table.clear()
        self._judge.forget()
        state = seed_state(self._seed, number)
        moves = np.zeros(self._plies, dtype=np.int32)
        positions = np.repeat(self._start.record, 2)
        keys = np.zeros(self._plies + 1, dtype=np.uint64)
        found = _even_walk(
            self._judge.record, self._start.record, positions, keys, state, self._plies, EVEN, JUDGE_NODES, TRIES, moves
        )
        if not found:
            raise OpeningError(
                f"{TRIES} tries found no opening of {self._plies} random plies that is even within {EVEN} cp"
            )
        return Opening(START_FEN, tuple(Move(move).uci() for move in moves))
