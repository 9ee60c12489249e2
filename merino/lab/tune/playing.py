"""Plays the pairs of a tune as an ordered map; each result is taken before more pairs are made.

The outcome is a player, its text for `merino match`, and the match that would confirm it.
"""

from __future__ import annotations

import logging
import math
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import chess.engine
import numpy as np

from merino.core.common.work import RemoteExecutor, RunName, at_work, begun, ordered, threads
from merino.engine.search.parameters import PARAMETERS, current_name, parameters_for, tuned_for
from merino.eval.evaluation import Evaluation, Number
from merino.eval.families import default
from merino.formats.openings import Opening, OpeningError
from merino.lab.tune.parameters import TunedParameter, TuneError, playable
from merino.lab.tune.rules import PairResult
from merino.lab.tune.tuning import Configuration, Tune
from merino.match.config import MatchConfig, OpeningSource
from merino.match.engines import Board, Program, TimedUci, board_of
from merino.match.games import MatchError, Reason
from merino.match.players import OtherPlayer, OwnPlayer, Player
from merino.match.runner import opening_or_fault
from merino.match.statistics import Sprt

MAX_LOST = 10  # pairs in a row; after that the fault is the engine's, not a game's

log = logging.getLogger(__name__)
PROOF = Sprt(0.0, 5.0)
MAX_PROOF_GAMES = 100_000


class TunePair(NamedTuple):
    """A pair of a tune to play: plain data, for any process."""

    pair: PairResult
    opening: Opening | str | None = None  # or what is wrong with it; None where the seed says it


class PairOutcome(NamedTuple):
    """Wins minus losses of `plus` in a pair; NaN for one that was lost, such as when an external engine dies."""

    y: float
    fault: str = ""  # why the pair was lost


PlayPair = Callable[[Configuration, RunName, TunePair], PairOutcome]


def own_player(label: str, rows: tuple[TunedParameter, ...], values: np.ndarray, evaluation: Evaluation) -> OwnPlayer:
    """Merino with these values of the parameters and, for the rest, `evaluation` and its numbers of the search."""
    wanted = {row.name: value for row, value in zip(rows, values.tolist(), strict=True)}
    numbers = evaluation.numbers
    own = {name: value for name, value in wanted.items() if name in numbers}
    search = {name: round(value) for name, value in wanted.items() if name not in own}
    tuned = evaluation.with_numbers(own)
    if tuned.keeps_search_numbers:
        return OwnPlayer(label, tuned_for(tuned, search))
    return OwnPlayer(label, tuned, parameters_for(tuned, search))


class EngineNumbers(dict[str, Number]):
    """The numeric options of an engine by name; `others` are the types of its other options."""

    def __init__(self, numbers: Mapping[str, Number], others: Mapping[str, str]) -> None:
        super().__init__(numbers)
        self.others = others


def engine_options(command: tuple[str, ...]) -> EngineNumbers:
    """The numeric options of an external engine; raises TuneError if it does not start."""
    program = Program(TimedUci)
    try:
        options = program.start(command).options
    except (OSError, chess.engine.EngineError, TimeoutError) as error:
        reason = program.fault or error or "no answer"
        raise TuneError(f"the engine '{' '.join(command)}' does not start: {reason}") from error
    finally:
        program.end()
    numbers = {
        name: Number(float(max(option.min, min(int(option.default or 0), option.max))), option.min, option.max)
        for name, option in options.items()
        if option.type == "spin" and option.min is not None and option.max is not None
    }
    return EngineNumbers(numbers, {name: option.type for name, option in options.items() if name not in numbers})


def check_own(parameters: tuple[TunedParameter, ...]) -> None:
    """Raise TuneError for a number of the search that is not tuned as an integer, or listed by both its names."""
    search = {row.name for row in PARAMETERS}
    names = [current_name(row.name) for row in parameters]
    for row, name in zip(parameters, names, strict=True):
        if names.count(name) > 1:
            raise TuneError(f"{name} is listed twice, once by its old name")
        if name in search:
            _check_whole(row)


def check_options(parameters: tuple[TunedParameter, ...]) -> None:
    """Raise TuneError for a number of another engine that is not tuned as an integer: UCI has no other numbers."""
    for row in parameters:
        _check_whole(row)


def _check_whole(row: TunedParameter) -> None:
    if not row.whole:
        raise TuneError(f"{row.name} is an integer; its type must not be float")


def players_of(configuration: Configuration, plus: np.ndarray, minus: np.ndarray) -> tuple[Player, Player]:
    """The two players of a pair."""
    rows = configuration.parameters
    if configuration.engine:
        return _other(configuration, "plus", plus), _other(configuration, "minus", minus)
    evaluation = configuration.evaluation
    return own_player("plus", rows, plus, evaluation), own_player("minus", rows, minus, evaluation)


def _other(configuration: Configuration, label: str, values: np.ndarray) -> OtherPlayer:
    options = {
        row.name: str(row.playable(value)) for row, value in zip(configuration.parameters, values.tolist(), strict=True)
    }
    return OtherPlayer(label, configuration.engine, options)


def terms_of(configuration: Configuration, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of the match of these players in this tune."""
    return MatchConfig(
        players,
        configuration.time_control,
        seed=configuration.seed,
        openings=configuration.openings,
        plies=configuration.plies,
        margin=configuration.margin,
    )


def play_pair(configuration: Configuration, name: RunName, task: TunePair) -> PairOutcome:
    """Play a pair: Merino against itself, or an external engine against itself.

    If the run has ended meanwhile, the outcome is ignored. Raises the errors of openings.
    """
    pair = task.pair
    with at_work(name) as run:
        if run is None or run.is_stopped:
            return _STOPPED
        terms = terms_of(configuration, players_of(configuration, pair.plus, pair.minus))
        opening = task.opening or run.kept(terms.source).opening(pair.number)
        if isinstance(opening, str):
            raise OpeningError(opening)
        try:
            board = board_of(terms, run.stop_flag)
        except MatchError as error:
            return PairOutcome(math.nan, str(error))
        with run.watching(board):
            return _play_both(board, opening)


_STOPPED = PairOutcome(math.nan, "the tune was stopped")


def _play_both(board: Board, opening: Opening) -> PairOutcome:
    """Both games of a pair."""
    points = 0
    for index in range(2):
        game = board.play(index, opening, index == 0)
        if game is None:
            return _STOPPED
        if game.reason in (Reason.CRASH, Reason.ILLEGAL):
            return PairOutcome(math.nan, f"{game.reason.value}: {game.detail}")
        points += game.points
    return PairOutcome(float(points - 2))


class _PairsToPlay:
    """The pairs of a tune still to be played, beginning with those handed out before an interruption.

    Raises StopIteration while enough pairs are in progress, and may be asked again later.
    """

    def __init__(self, tune: Tune) -> None:
        self._tune = tune
        self._again = deque(tune.waiting)

    @cached_property
    def _source(self) -> OpeningSource | None:
        """The openings of a file, read for the first pair: a tune that is over needs none. Raises OpeningError."""
        return None if self._tune.configuration.openings is None else _source_of(self._tune.configuration)

    def __iter__(self) -> Iterator[TunePair]:
        return self

    def __next__(self) -> TunePair:
        pair = self._again.popleft() if self._again else self._tune.ask()
        if pair is None:
            raise StopIteration
        return TunePair(pair, None if self._source is None else opening_or_fault(self._source, pair.number))


def _source_of(configuration: Configuration) -> OpeningSource:
    """The openings of a tune; raises OpeningError."""
    return terms_of(configuration, (OwnPlayer("plus"), OwnPlayer("minus"))).source()


def check_openings(configuration: Configuration) -> None:
    """Raise TuneError if a file of openings cannot be read or has none."""
    try:
        if configuration.openings is not None:
            _source_of(configuration)
    except OpeningError as error:
        raise TuneError(str(error)) from error


def play_tune(
    tune: Tune,
    at_a_time: int,
    on_result: Callable[[Tune], object],
    play: PlayPair = play_pair,
    executor: Executor | None = None,
) -> None:
    """Play until the tune is over; call `on_result` after each pair. The tune is valid after a KeyboardInterrupt.

    Results are taken in the order of their pairs, so that a tune at fixed nodes does not depend on which pair is
    faster. `executor` plays `at_a_time` pairs at a time, a `RemoteExecutor` as many as it has slots; None for threads
    of this process. Raises WorkError where its workers are gone.
    """
    lost_in_a_row = 0
    with ExitStack() as stack:
        workers = executor or stack.enter_context(threads(at_a_time))
        run = stack.enter_context(begun())
        player = partial(play, tune.configuration, run)
        ahead = max(tune.configuration.ahead, len(tune.waiting))
        outcomes = stack.enter_context(closing(ordered(workers, player, _PairsToPlay(tune), ahead)))
        if isinstance(executor, RemoteExecutor):
            stack.callback(executor.stop, run)
        for outcome in outcomes:
            lost = _values(tune)
            if outcome.fault:
                log.warning("pair %d is lost, %s: %s", len(tune.done) + 1, lost, outcome.fault)
            tune.tell(outcome.y)
            lost_in_a_row = lost_in_a_row + 1 if math.isnan(outcome.y) else 0
            if lost_in_a_row == MAX_LOST:
                raise TuneError(f"{MAX_LOST} pairs in a row could not be played, the last with {lost}: {outcome.fault}")
            on_result(tune)


def _values(tune: Tune) -> str:
    """The values that the oldest pair in progress plays, as `name 3 against 5`."""
    pair = tune.waiting[0]
    rows = zip(tune.configuration.parameters, pair.plus.tolist(), pair.minus.tolist(), strict=True)
    return ", ".join(f"{row.name} {plus:.6g} against {minus:.6g}" for row, plus, minus in rows)


def tuned_values(tune: Tune) -> np.ndarray:
    """The best estimate so far in playable form, float64[d]: integers are rounded."""
    return playable(tune.configuration.parameters, tune.estimate())


def tuned_players(tune: Tune) -> tuple[Player, Player]:
    """The tuned player, and the one at the start."""
    configuration = tune.configuration
    tuned, first = players_of(configuration, tuned_values(tune), configuration.start)
    return replace(tuned, label="tuned"), replace(first, label="start")


def proof_terms(configuration: Configuration, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of the match of tuned values against the initial ones.

    Its random openings are others than those of the tune; those of a file come in another order, and only once where a
    game from one of them would be the same again. Raises TuneError if the file cannot be read.
    """
    terms = replace(terms_of(configuration, players), seed=configuration.seed + 1, games=MAX_PROOF_GAMES)
    if terms.openings is None or not terms.is_repeatable:
        return terms
    try:
        source = terms.source()
    except OpeningError as error:
        raise TuneError(str(error)) from error
    return replace(terms, games=min(terms.different_games(source) or terms.games, terms.games))


def tunes_file(configuration: Configuration) -> bool:
    """Whether the file of the tuned evaluation differs from that of the first one."""
    return bool(_kept(configuration))


def needs_file(configuration: Configuration) -> bool:
    """Whether the tuned player needs a file of its evaluation: that is tuned, or not the default one."""
    if configuration.engine:
        return False
    return tunes_file(configuration) or configuration.identity != default().identity


def _kept(configuration: Configuration) -> list[str]:
    """The names of tuned numbers that the file of the evaluation keeps."""
    if configuration.engine:
        return []
    evaluation = configuration.evaluation
    names = [row.name for row in configuration.parameters]
    return [name for name in names if evaluation.keeps_search_numbers or name in evaluation.numbers]


def as_player(configuration: Configuration, values: Sequence[float], evaluation_file: Path) -> str:
    """The text for `merino match` of the player with these values and the evaluation in `evaluation_file`."""
    names = [row.name for row in configuration.parameters]
    numbers = {name: f"{value:.10g}" for name, value in zip(names, values, strict=True)}
    if configuration.engine:
        options = (f"option.{name}={value}" for name, value in numbers.items())
        return ",".join([shlex.join(configuration.engine), *options])
    file, kept = [str(evaluation_file)] if needs_file(configuration) else [], _kept(configuration)
    return ",".join([*file, *(f"{name}={value}" for name, value in numbers.items() if name not in kept)])
