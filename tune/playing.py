"""Playing the pairs of a tune on several threads, and taking their results in order."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import chess.engine
import numpy as np

from engine.common.command import CommandError
from engine.search.parameters import PARAMETERS, parameter_values
from eval.evaluation import Evaluation, Number
from match.contest import Terms
from match.games import Reason
from match.players import OtherPlayer, OwnPlayer, Player
from match.runner import Board, OpeningSource
from match.sides import START_SECONDS
from tune.parameters import Parameter, TuneError
from tune.rules import PairResult
from tune.tuning import Configuration, Tune

MOST_LOST = 10  # pairs in a row, then something is wrong with the engine rather than with a game

log = logging.getLogger(__name__)


class PairLostError(Exception):
    """A pair that could not be played to its end, such as when an external engine dies."""


class PairPlayer(Protocol):
    """What plays pairs; one thread at a time uses it."""

    def play(self, pair: PairResult) -> float | None:
        """Wins minus losses of `plus` in the two games, None if it was stopped; raises PairLostError."""

    def stop(self) -> None:
        """End the game under way soon, the stop flag being set; called from another thread."""


def own_player(label: str, rows: tuple[Parameter, ...], values: np.ndarray, evaluation: Evaluation) -> OwnPlayer:
    """Merino with these values of the parameters and, for the rest, `evaluation` and the defaults of the search."""
    wanted = {row.name: value for row, value in zip(rows, values.tolist(), strict=True)}
    own = {name: value for name, value in wanted.items() if name in evaluation.numbers}
    search = {name: round(value) for name, value in wanted.items() if name not in own}
    return OwnPlayer(label, evaluation.with_numbers(own), parameter_values(search))


def engine_options(command: tuple[str, ...]) -> dict[str, Number]:
    """The numbers that an external engine lets one set; raises TuneError if it does not start."""
    try:
        engine = chess.engine.SimpleEngine.popen_uci(list(command), timeout=START_SECONDS)
    except (OSError, chess.engine.EngineError, TimeoutError) as error:
        raise TuneError(f"the engine '{' '.join(command)}' does not start: {error or 'no answer'}") from error
    try:
        return {
            name: Number(float(option.default or 0), float(option.min), float(option.max))
            for name, option in engine.options.items()
            if option.type == "spin" and option.min is not None and option.max is not None
        }
    finally:
        engine.close()


def check_own(parameters: tuple[Parameter, ...]) -> None:
    """Raise TuneError for a number of the search that is not tuned as an integer."""
    search = {row.name for row in PARAMETERS}
    for row in parameters:
        if row.name in search and not row.whole:
            raise TuneError(f"{row.name} is an integer; its type cannot be float")


def players_of(configuration: Configuration, plus: np.ndarray, minus: np.ndarray) -> tuple[Player, Player]:
    """The two players of a pair."""
    rows = configuration.parameters
    if configuration.engine:
        return _other(configuration, "plus", plus), _other(configuration, "minus", minus)
    evaluation = configuration.evaluation
    return own_player("plus", rows, plus, evaluation), own_player("minus", rows, minus, evaluation)


def _other(configuration: Configuration, label: str, values: np.ndarray) -> OtherPlayer:
    options = {
        row.name: str(round(value) if row.whole else value)
        for row, value in zip(configuration.parameters, values.tolist(), strict=True)
    }
    return OtherPlayer(label, configuration.engine, options)


def terms_of(configuration: Configuration, players: tuple[Player, Player]) -> Terms:
    """How these players meet in this tune."""
    return Terms(
        players,
        configuration.effort,
        seed=configuration.seed,
        openings=configuration.openings,
        plies=configuration.plies,
        margin=configuration.margin,
    )


class Games:
    """Plays pairs of games: Merino against itself, or an external engine against itself."""

    def __init__(self, configuration: Configuration, stop_flag: np.ndarray) -> None:
        """`stop_flag`, uint64[1], ends a game soon after it is set."""
        self._configuration, self._stop_flag = configuration, stop_flag
        self._openings: OpeningSource | None = None
        self._board: Board | None = None

    def play(self, pair: PairResult) -> float | None:
        """Wins minus losses of `plus`; None if the flag was set."""
        terms = terms_of(self._configuration, players_of(self._configuration, pair.plus, pair.minus))
        if self._openings is None:
            self._openings = terms.source()
        opening = self._openings.opening(pair.number)
        try:
            self._board = terms.board(self._stop_flag)
        except CommandError as error:
            raise PairLostError(str(error)) from error
        points = 0
        try:
            for index in range(2):
                game = self._board.play(index, opening, index == 0)
                if game is None:
                    return None
                if game.reason in (Reason.CRASH, Reason.ILLEGAL):
                    raise PairLostError(f"{game.reason.value}: {game.detail}")
                points += game.points
        finally:
            self._board.close()
        return float(points - 2)

    def stop(self) -> None:
        """End the game under way."""
        if self._board is not None:
            self._board.stop()


def play_tune(
    tune: Tune,
    make_player: Callable[[np.ndarray], PairPlayer],
    threads: int,
    on_result: Callable[[Tune], None],
) -> None:
    """Play until the tune is over, `on_result` after each pair. Raises KeyboardInterrupt with the tune in order.

    Results are taken in the order of their pairs, so that the course of a tune at fixed nodes does not depend on which
    thread was faster.
    """
    stop_flag = np.zeros(1, dtype=np.uint64)
    local = threading.local()
    players: list[PairPlayer] = []

    def play(pair: PairResult) -> float | None:
        if not hasattr(local, "player"):
            local.player = make_player(stop_flag)
            players.append(local.player)
        if stop_flag[0]:
            return None
        try:
            y: float | None = local.player.play(pair)
            return y
        except PairLostError as error:
            log.warning("pair %d is lost: %s", pair.number, error)
            return math.nan

    pool = ThreadPoolExecutor(threads, thread_name_prefix="pairs")
    lost_in_a_row = 0
    futures: deque[Future[float | None]] = deque(pool.submit(play, pair) for pair in tune.waiting)
    try:
        while True:
            while (pair := tune.ask()) is not None:
                futures.append(pool.submit(play, pair))
            if not futures:
                return
            y = futures[0].result()
            if y is None:
                return
            futures.popleft()
            tune.tell(y)
            lost_in_a_row = lost_in_a_row + 1 if math.isnan(y) else 0
            if lost_in_a_row == MOST_LOST:
                raise TuneError(f"{MOST_LOST} pairs in a row could not be played; the log above says why")
            on_result(tune)
    finally:
        stop_flag[0] = 1
        for player in players:
            player.stop()
        pool.shutdown(cancel_futures=True)
