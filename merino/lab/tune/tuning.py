"""A tune by games: its configuration, its pairs and how they are played, its state, and what it shows.

The file is NumPy's `.npz`: `configuration` (JSON) with its `hash`, the random state, the arrays of `State`, the pairs
that are done (`plus`, `minus` float64[n, d], `y` float64[n], NaN for a pair lost to a crash) and those handed out but
not yet played. A resumed tune at fixed nodes ends as if it had not been interrupted.
"""

import hashlib
import json
import logging
import math
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import chess.engine
import numpy as np

from merino.core.common import files, sealed, work
from merino.core.common.options import Option
from merino.core.common.text import COLOURS, GREY, did_you_mean, load_matplotlib, rounded, saved
from merino.engine.search.parameters import parameters_for, tuned_for
from merino.eval.evaluation import Evaluation, Number
from merino.eval.families import default, from_identity
from merino.formats.openings import Opening
from merino.formats.sources import LeftOut
from merino.lab import arrays as npz
from merino.lab.tune import methods
from merino.lab.tune.methods import METHODS, after, next_pair
from merino.lab.tune.parameters import TunedParameter, TuneError, best_step, lines_of_both, playable, settings_for
from merino.lab.tune.rules import EstimatorSettings, ExpectedGain, Method, PairResult, State
from merino.match.config import Clock, MatchConfig, OpeningSource, TimeControl
from merino.match.engines import NO_ANSWER, Program, TimedUci, board_of
from merino.match.games import MatchError, Reason, seed_state
from merino.match.players import OtherPlayer, OwnPlayer, Player
from merino.match.statistics import Sprt

log = logging.getLogger(__name__)

MAX_LOST = 10  # pairs in a row; after that the fault is the engine's, not a game's
PROOF = Sprt(0.0, 5.0)
MAX_PROOF_GAMES = 100_000
# Where the JSON of a configuration has the identity and the time control; kept for older files.
_WEIGHTS, _OTHER_FAMILY, _TIME_CONTROL = "weights", "evaluation", "effort"
_POINTS, _COLUMNS = 200, 3  # of the picture of a course: about so many points, and panels in a row


def method_named(name: str) -> str:
    """The name, if a method has it; raises ValueError with the nearest one."""
    if name not in METHODS:
        raise ValueError(f"there is no method '{name}' among {', '.join(METHODS)}{did_you_mean(name, METHODS)}")
    return name


AHEAD = Option("N", 1)
AHEAD_SENTENCE = "pairs under way; each is made without the results of the N - 1 before it"


@dataclass(frozen=True)
class Configuration:
    """Everything that decides the course of a tune, apart from the clock of the machine.

    `time_control` limits a move, which may be `margin` milliseconds late on a clock. `openings` is a file, by its
    absolute path except in older files, None for random ones of `plies` plies. `engine` is the command line of an
    external engine, empty for Merino itself, whose evaluation has this `identity` apart from what is tuned. Up to
    `ahead` pairs are in progress while an earlier result is awaited.
    """

    parameters: tuple[TunedParameter, ...]
    method: Annotated[str, f"tuning method: {', '.join(METHODS)}", Option("NAME", read=method_named)] = methods.DEFAULT
    pairs: Annotated[int, "game pairs to play", Option("N", 1)] = 1000
    seed: int = 1
    ahead: Annotated[int, AHEAD_SENTENCE, AHEAD] = 32  # whoever plays them, so that a tune depends on its seed alone
    time_control: TimeControl = field(default_factory=TimeControl)
    openings: str | None = None
    plies: int | None = None
    margin: int = 0
    identity: Mapping[str, Any] = field(default_factory=dict)
    engine: tuple[str, ...] = ()

    @property
    def start(self) -> np.ndarray:
        """The values at the start, float64[d]."""
        return np.array([row.start for row in self.parameters], dtype=np.float64)

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation that Merino plays with, apart from what is tuned."""
        return from_identity(self.identity)

    @property
    def kept(self) -> list[str]:
        """The names of tuned numbers that the file of the evaluation keeps."""
        if self.engine:
            return []
        names, evaluation = [row.name for row in self.parameters], self.evaluation
        return [name for name in names if evaluation.keeps_search_numbers or name in evaluation.numbers]

    @property
    def needs_file(self) -> bool:
        """Whether the tuned player needs a file of its evaluation: that is tuned, or not the default one."""
        return not self.engine and (bool(self.kept) or self.identity != default().identity)

    def text(self) -> str:
        """As JSON. Weights are where older files have them; `evaluation` is for other families only."""
        values = asdict(self) | {"version": METHODS[self.method].version}
        values[_TIME_CONTROL] = values.pop("time_control")
        identity = values.pop("identity")
        values[_WEIGHTS] = identity.get(_WEIGHTS, []) if identity.keys() <= {_WEIGHTS} else []
        if identity.keys() - {_WEIGHTS}:
            values[_OTHER_FAMILY] = identity
        return json.dumps(values, sort_keys=True)

    def settings(self, method: Method | None = None) -> EstimatorSettings:
        """The settings of its method, or of another one for a replay."""
        return settings_for(method or METHODS[self.method], self.parameters, self.pairs)


def configuration_hash(text: str) -> str:
    """Sixteen hex digits that differ for another text of a configuration."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def configuration_from(text: str) -> Configuration:
    """Read the JSON of a configuration; raises ValueError, TypeError or KeyError if it is not one."""
    values = sealed.parsed(text)
    if values["method"] not in METHODS:
        raise ValueError(f"its method {values['method']!r} is not one of {', '.join(METHODS)}")
    if values.pop("version") != METHODS[values["method"]].version:
        raise ValueError("it was written by another version of Merino")
    values["parameters"] = tuple(TunedParameter(**row) for row in values["parameters"])
    weights, values["engine"] = values.pop(_WEIGHTS), tuple(values["engine"])
    values["identity"] = values.pop(_OTHER_FAMILY, {_WEIGHTS: weights} if weights else {})
    control = values.pop(_TIME_CONTROL)
    clock = control.pop("clock")
    values["time_control"] = TimeControl(**control, clock=clock and Clock(**clock))
    return Configuration(**values)


def path_of_openings(name: str) -> str:
    """The absolute path of a file of openings, so that a tune finds it from any folder; raises OSError."""
    return str(files.user_path(name).absolute())


def changes(before: Configuration, now: Configuration) -> list[str]:
    """In which settings two configurations differ, in words."""
    before = replace(before, openings=before.openings and path_of_openings(before.openings))  # as the command has it
    kept = configuration_from(now.text())  # as it would be read: lists instead of tuples
    names = (field.name for field in fields(kept) if getattr(kept, field.name) != getattr(before, field.name))
    return [{"identity": "evaluation"}.get(name, name.replace("_", " ")) for name in names]


@dataclass
class Tune:
    """A tune in progress. `waiting` holds pairs handed out, oldest first; results are taken in that order.

    After Ctrl-C at any moment it is that before or after a pair was made or its result taken.
    """

    configuration: Configuration
    settings: EstimatorSettings
    state: State
    random: np.ndarray
    done: list[PairResult] = field(default_factory=list)
    waiting: deque[PairResult] = field(default_factory=deque)

    @classmethod
    def new(cls, configuration: Configuration) -> Self:
        """A tune with nothing played."""
        settings = configuration.settings()
        state = methods.initial_state(settings, configuration.start)
        return cls(configuration, settings, state, seed_state(configuration.seed))

    @property
    def handed_out(self) -> int:
        """The number of pairs made."""
        return len(self.done) + len(self.waiting)

    @property
    def lost(self) -> int:
        """The number of lost pairs, without a result."""
        return sum(math.isnan(result.y) for result in self.done)

    @property
    def is_over(self) -> bool:
        """Whether every pair is done."""
        return len(self.done) == self.configuration.pairs

    def ask(self) -> PairResult | None:
        """Make the next pair to play, with result NaN; None while enough are in progress, and at the end."""
        if len(self.waiting) >= self.configuration.ahead or self.handed_out >= self.configuration.pairs:
            return None
        number = self.handed_out + 1
        random = self.random.copy()
        pair = PairResult(number, *next_pair(self.settings, self.state, number, random), math.nan)
        self.random = random
        self.waiting.append(pair)  # Python looks for Ctrl-C after calls, so it never comes between these lines
        return pair

    def tell(self, y: float) -> None:
        """Take the result of the oldest waiting pair; NaN if it was lost."""
        result = self.waiting[0]._replace(y=float(y))
        state = self.state if math.isnan(y) else after(self.settings, self.state, result)
        self.state, self.waiting = state, deque(islice(self.waiting, 1, None))
        self.done.append(result)  # as in `ask`

    def estimate(self) -> np.ndarray:
        """The best estimate now, float64[d]."""
        return methods.estimate(self.settings, self.state)

    def save(self, path: Path) -> None:
        """Write the file atomically; raises OSError."""
        text = self.configuration.text()
        size = len(self.configuration.parameters)
        pairs = [*self.done, *self.waiting]
        arrays = {
            "configuration": np.array(text),
            "hash": np.array(configuration_hash(text)),
            "random": self.random,
            "plus": np.array([pair.plus for pair in pairs]).reshape(-1, size),
            "minus": np.array([pair.minus for pair in pairs]).reshape(-1, size),
            "y": np.array([pair.y for pair in self.done]),
        }
        files.write_whole(path, npz.as_npz(arrays | self.state._asdict()))


def load_tune(path: Path, wanted: Configuration | None = None) -> Tune:
    """Read the file of a tune; raises TuneError, also if it has another configuration than the one `wanted`."""
    with files.faults_named(path, "a tune", TuneError):
        file = npz.from_npz(files.read_user_file(path, files.STATE))
        text = str(file["configuration"])
        configuration = configuration_from(text)
        if str(file["hash"]) != configuration_hash(text):  # of the text: a later version may know more settings
            raise TuneError(f"'{path}': its configuration has been changed and does not fit its games")
        if wanted is not None and (changed := changes(configuration, wanted)):
            raise TuneError(f"'{path}' belongs to a tune with other {', '.join(changed)}; use another file")
        tune = Tune.new(configuration)
        file = {name: array for name, array in tune.state._asdict().items() if not array.size} | file  # older: without
        plus, minus, results = file["plus"], file["minus"], file["y"]
        pairs = np.zeros((len(plus), len(configuration.parameters)))
        others = {"random": tune.random, "plus": pairs, "minus": pairs, "y": np.zeros(len(results))}
        npz.check_arrays(file, tune.state._asdict() | others)
        if not len(results) <= len(plus) <= configuration.pairs:
            raise ValueError(f"it has {len(plus)} pairs and {len(results)} results of {configuration.pairs} pairs")
        tune.state = State(*(file[name] for name in State._fields))
        tune.random[:] = file["random"]
    known = [*results.tolist(), *[math.nan] * (len(plus) - len(results))]
    made = [PairResult(number, *pair) for number, pair in enumerate(zip(plus, minus, known, strict=True), start=1)]
    tune.done, tune.waiting = made[: len(results)], deque(made[len(results) :])
    return tune


def replay(tune: Tune, settings: EstimatorSettings) -> Iterator[tuple[int, State]]:
    """The states by these settings, of any method, on the games of a tune: before the first pair, and after each.

    Each comes with the number of pairs before it.
    """
    state = methods.initial_state(settings, tune.configuration.start)
    yield 0, state
    for result in tune.done:
        if not math.isnan(result.y):
            state = after(settings, state, result)
        yield result.number, state


class TunePair(NamedTuple):
    """A pair of a tune to play: plain data, for any process."""

    pair: PairResult
    opening: Opening | None = None  # None where the seed says it


class PairOutcome(NamedTuple):
    """Wins minus losses of `plus` in a pair; NaN for one that was lost, such as when an external engine dies."""

    y: float
    fault: str = ""  # why the pair was lost


PlayPair = Callable[[Configuration, work.RunName, TunePair], PairOutcome]


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


def engine_options(command: tuple[str, ...]) -> dict[str, Number]:
    """The numeric options of an external engine; raises TuneError if it does not start."""
    program = Program(TimedUci)
    try:
        options = program.start(command).options
    except (OSError, chess.engine.EngineError, TimeoutError) as error:
        raise TuneError(f"the engine '{' '.join(command)}' does not start: {str(error) or NO_ANSWER}") from error
    finally:
        program.end()
    return {
        name: Number(float(max(option.min, min(int(option.default or 0), option.max))), option.min, option.max)
        for name, option in options.items()
        if option.type == "spin" and option.min is not None and option.max is not None
    }


def players_of(configuration: Configuration, plus: np.ndarray, minus: np.ndarray) -> tuple[Player, Player]:
    """The two players of a pair."""
    rows = configuration.parameters
    if not configuration.engine:
        evaluation = configuration.evaluation
        return own_player("plus", rows, plus, evaluation), own_player("minus", rows, minus, evaluation)
    options = [
        {row.name: str(row.playable(value)) for row, value in zip(rows, values.tolist(), strict=True)}
        for values in (plus, minus)
    ]
    engine = configuration.engine
    return OtherPlayer("plus", engine, options[0]), OtherPlayer("minus", engine, options[1])


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


def play_pair(configuration: Configuration, name: work.RunName, task: TunePair) -> PairOutcome:
    """Play a pair: Merino against itself, or an external engine against itself.

    If the run has ended meanwhile, the outcome is ignored. Raises the errors of openings.
    """
    pair = task.pair
    with work.at_work(name) as run:
        if run is None or run.is_stopped:
            return PairOutcome(math.nan, "the tune was stopped")
        terms = terms_of(configuration, players_of(configuration, pair.plus, pair.minus))
        opening = task.opening or run.kept(terms.source).opening(pair.number)
        points = 0
        try:
            board = board_of(terms, run.stop_flag)
            with run.watching(board):
                for index in range(2):
                    game = board.play(index, opening, index == 0)
                    if game is None:
                        return PairOutcome(math.nan, "the tune was stopped")
                    if game.reason in (Reason.CRASH, Reason.ILLEGAL):
                        return PairOutcome(math.nan, f"{game.reason.value}: {game.detail}")
                    points += game.points
        except MatchError as error:
            return PairOutcome(math.nan, str(error))
        return PairOutcome(float(points - 2))


class _PairsToPlay:
    """The pairs of a tune still to be played, beginning with those handed out before an interruption.

    Raises StopIteration while enough pairs are in progress, and may be asked again later.
    """

    def __init__(self, tune: Tune) -> None:
        self._tune, self._again = tune, deque(tune.waiting)
        self._source: OpeningSource | None = None  # a file, read for the first pair: a tune that is over needs none

    def __iter__(self) -> Iterator[TunePair]:
        return self

    def __next__(self) -> TunePair:
        pair = self._again.popleft() if self._again else self._tune.ask()
        if pair is None:
            raise StopIteration
        if self._tune.configuration.openings is None:
            return TunePair(pair)
        self._source = self._source or terms_of(self._tune.configuration, (OwnPlayer("+"), OwnPlayer("-"))).source()
        return TunePair(pair, self._source.opening(pair.number))


def check_openings(configuration: Configuration) -> LeftOut:
    """What is left out of a file of openings; raises OpeningError if it cannot be read or has none."""
    left_out = LeftOut()
    if configuration.openings is not None:
        terms_of(configuration, (OwnPlayer("plus"), OwnPlayer("minus"))).source(left_out)
    return left_out


def play_tune(
    tune: Tune,
    at_a_time: int,
    on_result: Callable[[Tune], object],
    play: PlayPair = play_pair,
    executor: Executor | None = None,
) -> None:
    """Play until the tune is over; call `on_result` after each pair. The tune is valid after a KeyboardInterrupt.

    Results are taken in the order of their pairs, so that a tune at fixed nodes does not depend on which pair is
    faster. `executor` plays `at_a_time` pairs at a time, a remote one as many as it has slots; None for threads
    of this process. Raises WorkError where its workers are gone.
    """
    lost_in_a_row, rows = 0, tune.configuration.parameters
    with ExitStack() as stack:
        workers = executor or stack.enter_context(work.threads(at_a_time))
        run = stack.enter_context(work.begun())
        ahead = max(tune.configuration.ahead, len(tune.waiting))
        player = partial(play, tune.configuration, run)
        outcomes = stack.enter_context(closing(work.ordered(workers, player, _PairsToPlay(tune), ahead)))
        if isinstance(executor, work.RemoteExecutor):
            stack.callback(executor.stop, run)
        for outcome in outcomes:
            number, plus, minus, _ = tune.waiting[0]
            played = ", ".join(
                f"{row.name} {one:.6g} against {other:.6g}" for row, one, other in zip(rows, plus, minus, strict=True)
            )
            if outcome.fault:
                log.warning("pair %d is lost, %s: %s", number, played, outcome.fault)
            tune.tell(outcome.y)
            lost_in_a_row = lost_in_a_row + 1 if math.isnan(outcome.y) else 0
            if lost_in_a_row == MAX_LOST:
                last = f"the last with {played}: {outcome.fault}"
                raise TuneError(f"{MAX_LOST} pairs in a row could not be played, {last}")
            on_result(tune)


def tuned_values(tune: Tune) -> np.ndarray:
    """The best estimate so far in playable form, float64[d]: integers are rounded."""
    return playable(tune.configuration.parameters, tune.estimate())


def proof_terms(configuration: Configuration, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of the match of tuned values against the initial ones.

    Its random openings are others than those of the tune; those of a file come in another order, and only once where a
    game from one of them would be the same again. Raises OpeningError if the file cannot be read.
    """
    terms = replace(terms_of(configuration, players), seed=configuration.seed + 1, games=MAX_PROOF_GAMES)
    if terms.openings is None:
        return terms
    return replace(terms, games=min(terms.different_games(terms.source()) or terms.games, terms.games))


def as_player(configuration: Configuration, values: Sequence[float], evaluation_file: Path) -> str:
    """The text for `merino match` of the player with these values and the evaluation in `evaluation_file`."""
    names = [row.name for row in configuration.parameters]
    numbers = {name: f"{value:.10g}" for name, value in zip(names, values, strict=True)}
    if configuration.engine:
        options = (f"option.{name}={value}" for name, value in numbers.items())
        return ",".join([shlex.join(configuration.engine), *options])
    file, in_file = [str(evaluation_file)] if configuration.needs_file else [], configuration.kept
    return ",".join([*file, *(f"{name}={value}" for name, value in numbers.items() if name not in in_file)])


def value_table(parameters: Sequence[TunedParameter], settings: EstimatorSettings, state: State) -> list[str]:
    """A row for each parameter: start, estimate, its 95% interval, and the change in units of c_end."""
    values, ends = methods.estimate(settings, state), methods.intervals(settings, state)
    width = max(len("parameter"), *(len(row.name) for row in parameters))
    lines = [f"{'parameter':<{width}} {'start':>9} {'now':>10} {'95% of it':>19} {'moved/c':>8}"]
    for index, row in enumerate(parameters):
        low, high = ends[:, index]
        between = "-" if np.isnan(low) else f"{low + 0.0:.4g} to {high + 0.0:.4g}"
        moved = rounded((values[index] - row.start) / row.c_end, "+", 2)
        now = rounded(values[index], digits=2) if row.high - row.low >= 1 else f"{values[index] + 0.0:.4g}"
        lines.append(f"{row.name:<{width}} {row.start:>9g} {now:>10} {between:>19} {moved:>8}")
    return lines


def gain_line(gain: ExpectedGain) -> str:
    """The expected gain, and whether that is more than chance."""
    mean, low, high = (rounded(elo, "+") for elo in (gain.mean, gain.low, gain.high))
    text = f"Expected against the start: {mean} Elo, 95% from {low} to {high}"
    return text if gain.low > 0 else f"{text}: no gain is proved, keep the start unless a match proves one"


def result_lines(tune: Tune) -> list[str]:
    """The result of a tune: values, intervals, the gain, and the lines of both formats."""
    parameters, settings, state = tune.configuration.parameters, tune.settings, tune.state
    played = len(tune.done) - tune.lost
    lines = [f"{tune.configuration.method} after {played} pairs:", *value_table(parameters, settings, state)]
    gain = methods.gain_over(settings, state, tune.configuration.start)
    if not np.isnan(gain.low):
        lines.append(gain_line(gain))
    steps = [row.r_end or best_step(row, parameters, tune.configuration.pairs) for row in parameters]
    values = [row.shown(value) for row, value in zip(parameters, tune.estimate().tolist(), strict=True)]
    return [*lines, *lines_of_both(parameters, values, steps)]


def tune_json(tune: Tune, proved: bool | None) -> dict[str, Any]:
    """The result of a tune: values as played, with 95% intervals, null where a method has none.

    `proved` is the outcome of the closing match, None without one or if it was not decided. `gain` is what the values
    are expected to be worth against the start, in Elo with its 95% interval.
    """
    rows, exact = tune.configuration.parameters, tune.estimate()
    gain = methods.gain_over(tune.settings, tune.state, tune.configuration.start)
    ends = methods.intervals(tune.settings, tune.state)
    values = [
        {
            "name": row.name,
            "start": row.start,
            "value": row.playable(value),
            "low": sealed.finite(low),
            "high": sealed.finite(high),
        }
        for row, value, low, high in zip(rows, exact.tolist(), *ends, strict=True)
    ]
    return {
        "parameters": values,
        "games": 2 * (len(tune.done) - tune.lost),
        "gain": {"elo": sealed.finite(gain.mean), "low": sealed.finite(gain.low), "high": sealed.finite(gain.high)},
        "proved": proved,
    }


def draw(tune: Tune, method: Method, ending: str) -> bytes:
    """A picture's bytes in the format of its ending: each parameter's course in units of c_end.

    Two deviations are about it, unless the method has none.
    Raises PictureError if matplotlib is not installed.
    """
    settings, rows = tune.configuration.settings(method), tune.configuration.parameters
    every, last = max(1, len(tune.done) // _POINTS), len(tune.done)
    way = [(number, state) for number, state in replay(tune, settings) if number % every == 0 or number == last]
    pairs, unit = [number for number, _ in way], settings.c_end
    moved = [methods.estimate(settings, state) - tune.configuration.start for _, state in way]
    values, spreads = np.array(moved) / unit, np.array([methods.deviations(settings, state) for _, state in way]) / unit
    lines = -(-len(rows) // _COLUMNS)
    figure = load_matplotlib()[0](figsize=(4 * min(_COLUMNS, len(rows)), 2.4 * lines + 0.6), layout="constrained")
    axes = figure.subplots(lines, min(_COLUMNS, len(rows)), squeeze=False, sharex=True).ravel()
    for index, row in enumerate(rows):
        axes[index].plot(pairs, values[:, index], color=COLOURS[0])
        low, high = values[:, index] - 2 * spreads[:, index], values[:, index] + 2 * spreads[:, index]
        axes[index].fill_between(pairs, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)  # nothing where unknown
        axes[index].axhline(0, color=GREY, linewidth=0.8, linestyle=":")
        axes[index].set_title(f"{row.name} (c = {row.c_end:g})", fontsize=9, loc="left")
    for unused in axes[len(rows) :]:
        unused.set_visible(False)
    spread_too = "" if method.deviations is None else ", and two standard deviations"
    figure.suptitle(f"{method.name}: change in units of c{spread_too}", fontsize=11)
    figure.supxlabel("pairs of games", fontsize=9)
    return saved(figure, ending)
