"""The boards that games are played on.

One is for two players of our own: games in this process, both sides compiled. The other is driven by Python move by
move, for other engines and for games on a clock.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.move import Move
from merino.engine.notation.san import as_chess_move, start_board_of
from merino.engine.search.iterative_deepening import NO_LIMIT
from merino.engine.search.limits import MAX_MS, MAX_PLY
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.worker import Worker
from merino.formats.openings import Opening
from merino.match.compiled_game import GAME_RULES, MAX_PLIES, UNFINISHED, judge_scores, play_game
from merino.match.engines import EngineFault, EnginePlayer, Situation, other, start_engine
from merino.match.errors import MatchError
from merino.match.games import BY_NUMBER, Game, Played, Reason
from merino.match.players import OwnPlayer, Player
from merino.match.rng import seed_state
from merino.match.time_control import NO_RANDOM_MOVES, Adjudication, RandomMoves, TimeControl


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
        """`stop_flag`, uint64[1], ends a game soon after it is set. Raises MatchError if there is not enough memory."""
        self._seed = random_moves.seed
        own = players[:1] if players[0] is players[1] else players
        try:
            self._tables = [TranspositionTable(player.hash_mb or time_control.hash_mb) for player in own]
        except MemoryError as error:
            raise MatchError("not enough memory for the hash tables of a match") from error
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
    rules[0]["depth"] = min(MAX_PLY - 1, time_control.depth or MAX_PLY)
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


class PythonBoard:
    """Two players of any kind. Only one thread at a time may use it, except for `stop`."""

    def __init__(
        self,
        players: tuple[Player, Player],
        time_control: TimeControl,
        adjudication: Adjudication,
        stop_flag: np.ndarray,
        margin: int = 0,
    ) -> None:
        """`margin`: milliseconds by which a move may be late. Raises MatchError for an engine that does not start."""
        rules = rules_record(time_control, adjudication)
        self._conditions = _PlayingConditions(time_control, rules, adjudication.longest, margin, stop_flag)
        self._sides: list[EnginePlayer] = []
        try:
            for player in players:
                self._sides.append(start_engine(player, time_control, stop_flag, margin))
        except BaseException:
            self.close()
            raise

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped."""
        game = _GameInPlay(self._conditions, opening, self._sides if first_is_white else self._sides[::-1])
        reason, winner, detail = game.run(number)
        if reason is None:
            return None
        return Game(number, first_is_white, opening, tuple(game.played), reason, winner, detail)

    def stop(self) -> None:
        """End the current game."""
        for side in self._sides:
            side.stop()

    def close(self) -> None:
        """Close the players."""
        for side in self._sides:
            side.close()


class _PlayingConditions(NamedTuple):
    """What all games of a board have in common."""

    time_control: TimeControl
    rules: np.ndarray  # for judge_scores
    longest: int  # plies of a game
    margin: int  # milliseconds by which a move may be late
    stop_flag: np.ndarray


class _GameInPlay:
    """A game in progress. `sides` are White's and Black's players."""

    def __init__(self, conditions: _PlayingConditions, opening: Opening, sides: list[EnginePlayer]) -> None:
        self._conditions, self._sides = conditions, sides
        self._position = opening.position()
        self._board = start_board_of(self._position)
        for move in self._position.moves:
            self._board.push(as_chess_move(move, self._position.chess960))
        clock = conditions.time_control.clock
        self._left = None if clock is None else [float(clock.base), float(clock.base)]
        self._made = [0, 0]  # moves by each side since the opening
        self.played: list[Played] = []

    def run(self, number: int) -> tuple[Reason | None, int | None, str]:
        """Play the game of this number; returns the reason of its end (None if stopped), the winner, and any fault."""
        for colour, side in enumerate(self._sides):
            try:
                side.new_game(number)
            except EngineFault as fault:
                return self._lost(colour, fault)
        while True:
            reason = self._end()
            if reason is not None:
                last_score = self.played[-1].score if self.played else None
                return reason, winner_of(reason, self._position.turn, last_score or 0), ""
            turn = self._position.turn
            try:
                late = self._move(turn)
            except EngineFault as fault:
                return self._lost(turn, fault)
            if self._conditions.stop_flag[0]:
                return None, None, ""
            if late:
                return Reason.TIME, other(turn), f"{math.ceil(late)} ms late"

    def _lost(self, side: int, fault: EngineFault) -> tuple[Reason | None, int | None, str]:
        """The end by a fault of a side, which is none where the game was stopped."""
        if self._conditions.stop_flag[0]:
            return None, None, ""
        return fault.reason, other(side), str(fault)

    def _move(self, turn: int) -> float:
        """Let the side to move play; returns by how many milliseconds it was late, 0 within the margin."""
        clocks, allowed = self._clocks(turn)
        clock = self._conditions.time_control.clock
        moves_to_go = None if clock is None else clock.moves_to_go(self._made[turn])
        played = self._sides[turn].choose(Situation(self._position, self._board, clocks, moves_to_go))
        used = 1000 * (played.seconds or 0.0)
        late = used - allowed if used - allowed > self._conditions.margin else 0.0
        self._made[turn] += 1
        if self._left is not None and clock is not None:
            self._left[turn] = min(max(0.0, allowed - used) + clock.added_after(self._made[turn]), MAX_MS)
        if not late:
            self.played.append(played)
            self._position.push(played.move)
            self._board.push(as_chess_move(played.move, self._position.chess960))
        return late

    def _clocks(self, turn: int) -> tuple[tuple[int, int] | None, float]:
        """The clocks as the players see them, and how many milliseconds the side to move may use."""
        time_control = self._conditions.time_control
        if self._left is not None and time_control.clock is not None:
            self._left[turn] = min(self._left[turn] + time_control.clock.increment, MAX_MS)
            return (int(self._left[0]), int(self._left[1])), self._left[turn]
        return None, float("inf") if time_control.movetime is None else float(time_control.movetime)

    def _end(self) -> Reason | None:
        """Why the game is over: by the rules, by the scores, or by its length."""
        outcome = self._position.outcome()
        if outcome is not None:
            return Reason(outcome.termination.value)
        unscored = [number for number, move in enumerate(self.played) if move.score is None]
        scores = [move.score for move in self.played[unscored[-1] + 1 if unscored else 0 :]]
        code = judge_scores(self._conditions.rules, np.array(scores, dtype=np.int32), self._position.fullmove_number)
        if code != UNFINISHED:
            return BY_NUMBER[code]
        return Reason.TOO_LONG if len(self.played) >= self._conditions.longest else None
