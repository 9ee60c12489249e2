"""Playing the pairs of a tune on several threads, and taking their results in order."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np

from engine.search.parameters import PARAMETERS, parameter_values
from eval.registry import TERMS
from match.board import OwnBoard
from match.effort import Adjudication, Effort
from match.openings import RandomOpenings
from match.players import OwnPlayer
from tune.parameters import Parameter, TuneError
from tune.rules import PairResult
from tune.tuning import Configuration, Tune

log = logging.getLogger(__name__)


class PairLostError(Exception):
    """A pair that could not be played to its end, such as when an external engine dies."""


class PairPlayer(Protocol):
    """What plays pairs; one thread at a time uses it."""

    def play(self, pair: PairResult) -> float | None:
        """Wins minus losses of `plus` in the two games, None if it was stopped; raises PairLostError."""

    def close(self) -> None:
        """Let go of what it holds."""


def own_player(label: str, parameters: tuple[Parameter, ...], values: np.ndarray, weights: np.ndarray) -> OwnPlayer:
    """Merino with these values of the parameters and, for the rest, `weights` and the defaults of the search."""
    chosen = weights.copy()
    terms = [term.name for term in TERMS]
    changes = {}
    for row, value in zip(parameters, values.tolist(), strict=True):
        if row.name in terms:
            chosen[terms.index(row.name)] = value
        else:
            changes[row.name] = round(value)
    return OwnPlayer(label, chosen, parameter_values(changes))


def check_own(parameters: tuple[Parameter, ...]) -> None:
    """Raise TuneError for a number of the search that is not tuned as an integer."""
    search = {row.name for row in PARAMETERS}
    for row in parameters:
        if row.name in search and not row.whole:
            raise TuneError(f"{row.name} is an integer; its type cannot be float")


class OwnPairs:
    """Pairs of games of Merino against itself, in this process."""

    def __init__(self, configuration: Configuration, stop_flag: np.ndarray) -> None:
        """`stop_flag`, uint64[1], ends a game soon after it is set."""
        self._configuration, self._stop_flag = configuration, stop_flag
        self._weights = np.array(configuration.weights)
        self._openings = RandomOpenings(configuration.seed, configuration.plies)
        self._effort = Effort(configuration.nodes, configuration.depth)

    def play(self, pair: PairResult) -> float | None:
        """Wins minus losses of `plus`; None if the flag was set."""
        rows = self._configuration.parameters
        plus, minus = (own_player("", rows, values, self._weights) for values in (pair.plus, pair.minus))
        board = OwnBoard((plus, minus), self._effort, Adjudication(), self._stop_flag)
        opening = self._openings.opening(pair.number)
        points = 0
        for index in range(2):
            game = board.play(index, opening, index == 0)
            if game is None:
                return None
            points += game.points
        return float(points - 2)

    def close(self) -> None:
        """Nothing is held."""


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
            on_result(tune)
    finally:
        stop_flag[0] = 1
        pool.shutdown(cancel_futures=True)
        for player in players:
            player.close()
