"""A tune by games: its configuration, every pair played, and the resulting state; kept in one file.

The file is NumPy's `.npz`: `configuration` (JSON) with its `hash`, the random state, the arrays of `State`, the pairs
that are done (`plus`, `minus` float64[n, d], `y` float64[n], NaN for a pair lost to a crash) and those handed out but
not yet played. A resumed tune at fixed nodes ends as if it had not been interrupted.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.array_files import as_npz, check_arrays, from_npz
from merino.core.common.files import write_whole
from merino.core.common.sealed import parsed
from merino.core.common.user_files import STATE, faults_named, read_user_file, user_path
from merino.eval.evaluation import Evaluation
from merino.eval.families import from_identity
from merino.lab.tune.estimators import after, estimate, initial_state, next_pair
from merino.lab.tune.methods import METHODS
from merino.lab.tune.parameters import TunedParameter, TuneError, settings_for
from merino.lab.tune.rules import EstimatorSettings, Method, PairResult, State
from merino.match.config import Clock, TimeControl
from merino.match.games import seed_state

# Where the JSON of a configuration has the identity and the time control; kept for older files.
_WEIGHTS, _OTHER_FAMILY, _TIME_CONTROL = "weights", "evaluation", "effort"
_NAMES = {"identity": "evaluation"}  # of a setting in messages, where it is not its field's


@dataclass(frozen=True)
class Configuration:
    """Everything that decides the course of a tune, apart from the clock of the machine.

    `time_control` limits a move, which may be `margin` milliseconds late on a clock. `openings` is a file of them, by
    its absolute path but in older files, None for random ones of `plies` plies. `engine` is the command line of an
    external engine, empty for Merino itself with the evaluation of this `identity`, of any family, as what is not
    tuned. Up to `ahead` pairs are in progress while an earlier result is awaited.
    """

    parameters: tuple[TunedParameter, ...]
    method: str
    pairs: int
    seed: int
    ahead: int
    time_control: TimeControl
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
    values = parsed(text)
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
    return str(user_path(name).absolute())


def changes(before: Configuration, now: Configuration) -> list[str]:
    """In which settings two configurations differ, in words."""
    if before.openings is not None:
        before = replace(before, openings=path_of_openings(before.openings))  # as the same command names it now
    kept = configuration_from(now.text())  # as it would be read: lists instead of tuples
    names = (field.name for field in fields(kept) if getattr(kept, field.name) != getattr(before, field.name))
    return [_NAMES.get(name, name.replace("_", " ")) for name in names]


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
    def new(cls, configuration: Configuration) -> Tune:
        """A tune with nothing played."""
        settings = configuration.settings()
        state = initial_state(settings, configuration.start)
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
        waiting = deque(islice(self.waiting, 1, None))
        self.state, self.waiting = state, waiting
        self.done.append(result)  # as in `ask`

    def estimate(self) -> np.ndarray:
        """The best estimate now, float64[d]."""
        return estimate(self.settings, self.state)

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
        write_whole(path, as_npz(arrays | self.state._asdict()))


def load_tune(path: Path, wanted: Configuration | None = None) -> Tune:
    """Read the file of a tune; raises TuneError, also if it has another configuration than the one `wanted`."""
    with faults_named(path, "a tune", TuneError):
        file = from_npz(read_user_file(path, STATE))
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
        check_arrays(file, tune.state._asdict() | others)
        if not len(results) <= len(plus) <= configuration.pairs:
            raise ValueError(f"it has {len(plus)} pairs and {len(results)} results of {configuration.pairs} pairs")
        tune.state = State(*(file[name] for name in State._fields))
        tune.random[:] = file["random"]
    for index in range(len(plus)):
        if index < len(results):
            tune.done.append(PairResult(index + 1, plus[index], minus[index], float(results[index])))
        else:
            tune.waiting.append(PairResult(index + 1, plus[index], minus[index], math.nan))
    return tune


def replay(tune: Tune, settings: EstimatorSettings) -> Iterator[tuple[int, State]]:
    """The states by these settings, of any method, on the games of a tune: before the first pair, and after each.

    Each comes with the number of pairs before it.
    """
    state = initial_state(settings, tune.configuration.start)
    yield 0, state
    for result in tune.done:
        if not math.isnan(result.y):
            state = after(settings, state, result)
        yield result.number, state
