"""A board for two players of our own: games in this process, both sides compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.bitboard import BLACK, WHITE
from engine.move import Move
from engine.search.deepening import NO_LIMIT
from engine.search.limits import MAX_PLY
from engine.search.state import set_parameters
from engine.search.transposition import TranspositionTable
from engine.search.worker import Worker
from match.games import BY_NUMBER, Game, Reason
from match.openings import Opening
from match.play import LONGEST_GAME, RULES, play_game
from match.players import OwnPlayer

NODES_PER_MEGABYTE = 1000  # a move, of a table that a game of usual length about fills
LARGEST_HASH_MB = 64


@dataclass(frozen=True)
class Adjudication:
    """When a game ends before its rules end it. Scores in centipawns; numbers of moves are of each side, 0 for never.

    Both sides must agree: a side that misjudges its game should lose it on the board.
    """

    win_score: int = 0
    win_moves: int = 0
    draw_score: int = 0
    draw_moves: int = 0
    draw_from: int = 0  # move number
    longest: int = LONGEST_GAME  # half-moves


@dataclass(frozen=True)
class Effort:
    """How much a move may cost."""

    nodes: int | None = None
    depth: int | None = None

    @property
    def hash_mb(self) -> int:
        """The size of a table that fits."""
        if self.nodes is None:
            return LARGEST_HASH_MB // 4
        return max(1, min(LARGEST_HASH_MB, self.nodes // NODES_PER_MEGABYTE))


class OwnBoard:
    """Two search records that play each other. One thread at a time may use it."""

    def __init__(
        self, players: tuple[OwnPlayer, OwnPlayer], effort: Effort, adjudication: Adjudication, stop_flag: np.ndarray
    ) -> None:
        """`stop_flag`, uint64[1], ends a game soon after it is set."""
        self._tables = [TranspositionTable(effort.hash_mb) for _ in players]
        self._workers = []
        for player, table in zip(players, self._tables, strict=True):
            worker = Worker(table, stop_flag, player.weights)
            set_parameters(worker.record, player.parameters)
            self._workers.append(worker)
        self._rules = np.zeros(1, dtype=RULES)
        self._rules[0]["nodes"] = NO_LIMIT if effort.nodes is None else effort.nodes
        self._rules[0]["depth"] = MAX_PLY - 1 if effort.depth is None else effort.depth
        for name in ("longest", "win_score", "win_moves", "draw_score", "draw_moves", "draw_from"):
            self._rules[0][name] = getattr(adjudication, name)

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped. Nothing of earlier games is remembered."""
        for worker, table in zip(self._workers, self._tables, strict=True):
            worker.forget()
            table.clear()
        white, black = self._workers if first_is_white else reversed(self._workers)
        start = opening.position()
        known = len(start.keys)
        keys = np.zeros(known + LONGEST_GAME, dtype=np.uint64)
        keys[:known] = start.keys
        moves, scores = np.zeros(LONGEST_GAME, dtype=np.int32), np.zeros(LONGEST_GAME, dtype=np.int32)
        positions = np.repeat(start.record, 2)
        count, code = play_game(white.record, black.record, positions, self._rules, keys, known, moves, scores)
        if code not in BY_NUMBER:
            return None
        reason = BY_NUMBER[code]
        return Game(
            number,
            first_is_white,
            opening,
            tuple(Move(move) for move in moves[:count].tolist()),
            tuple(scores[:count].tolist()),
            reason,
            _winner(reason, int(positions[0]["side"]), int(scores[count - 1]) if count else 0),
        )


def _winner(reason: Reason, to_move: int, last_score: int) -> int | None:
    """Who has won; `last_score` is that of the side that has moved last."""
    last = BLACK if to_move == WHITE else WHITE
    if reason is Reason.CHECKMATE:
        return last
    if reason is Reason.WIN_BY_SCORE:
        return last if last_score > 0 else to_move
    return None
