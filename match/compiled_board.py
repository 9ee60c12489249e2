"""A board for two players of our own: games in this process, both sides compiled."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.board.move import Move
from merino.inner.engine.search.iterative_deepening import NO_LIMIT
from merino.inner.engine.search.limits import MAX_PLY
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.engine.search.worker import Worker
from merino.inner.formats.openings import Opening
from merino.inner.match.compiled_game import GAME_RULES, MAX_PLIES, play_game
from merino.inner.match.games import BY_NUMBER, Game, Played, Reason
from merino.inner.match.players import OwnPlayer
from merino.inner.match.rng import seed_state
from merino.inner.match.time_control import NO_RANDOM_MOVES, Adjudication, RandomMoves, TimeControl


class CompiledBoard:
    """Two search records that play each other; one for both sides if a player plays itself: it clears half the memory.

    One thread at a time may use it.
    """

    def __init__(
        self,
        players: tuple[OwnPlayer, OwnPlayer],
        time_control: TimeControl,
        adjudication: Adjudication,
        stop_flag: np.ndarray,
        random_moves: RandomMoves = NO_RANDOM_MOVES,
    ) -> None:
        """`stop_flag`, uint64[1], ends a game soon after it is set."""
        self._seed = random_moves.seed
        own = players[:1] if players[0] is players[1] else players
        self._tables = [TranspositionTable(player.hash_mb or time_control.hash_mb) for player in own]
        self._workers = [
            Worker(table, stop_flag, player.evaluation, player.parameters)
            for player, table in zip(own, self._tables, strict=True)
        ]
        self._rules = rules_record(time_control, adjudication, random_moves)

    def stop(self) -> None:
        """The stop flag is all that is needed."""

    def close(self) -> None:
        """Nothing is kept open."""

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped. Nothing is kept from earlier games."""
        for worker, table in zip(self._workers, self._tables, strict=True):
            worker.forget()
            table.clear()
        first, second = self._workers[0], self._workers[-1]
        white, black = (first, second) if first_is_white else (second, first)
        start = opening.position()
        known = len(start.keys)
        keys = np.zeros(known + MAX_PLIES, dtype=np.uint64)
        keys[:known] = start.keys
        moves, scores, depths = np.zeros((3, MAX_PLIES), dtype=np.int32)
        positions, state = np.repeat(start.record, 2), seed_state(self._seed, number)
        count, code = play_game(
            white.record, black.record, positions, self._rules, state, keys, known, moves, scores, depths
        )
        if code not in BY_NUMBER:
            return None
        reason = BY_NUMBER[code]
        return Game(
            number,
            first_is_white,
            opening,
            tuple(Played(Move(moves[i]), int(scores[i]), int(depths[i])) for i in range(count)),
            reason,
            winner_of(reason, int(positions[0]["side"]), int(scores[count - 1]) if count else 0),
        )


def rules_record(
    time_control: TimeControl, adjudication: Adjudication, random_moves: RandomMoves = NO_RANDOM_MOVES
) -> np.ndarray:
    """The rules of a game for compiled code, GAME_RULES[1]."""
    rules = np.zeros(1, dtype=GAME_RULES)
    rules[0]["nodes"] = NO_LIMIT if time_control.nodes is None else time_control.nodes
    rules[0]["depth"] = MAX_PLY - 1 if time_control.depth is None else time_control.depth
    rules[0]["early"], rules[0]["early_loss"] = random_moves.early, random_moves.early_loss
    for name, value in asdict(adjudication).items():
        rules[0][name] = value
    return rules


def winner_of(reason: Reason, to_move: int, last_score: int) -> int | None:
    """The winner of a game; `last_score` is the score of the side that moved last."""
    last = BLACK if to_move == WHITE else WHITE
    if reason is Reason.CHECKMATE:
        return last
    if reason is Reason.WIN_BY_SCORE:
        return last if last_score > 0 else to_move
    return None
