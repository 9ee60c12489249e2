"""The parameters of a tune: numbers with names and bounds, the files that list them, and what follows before a game.

fishtest      name, start, min, max, c_end, r_end               always integers
OpenBench     name, int or float, start, min, max, c_end, r_end
TOML          a table [name] for each parameter with c_end, or with dist, from which c_end follows by (19);
              optional are start, min, max, r_end, type ("int" or "float"), elo
"""

import math
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import errors, files
from merino.core.common.text import did_you_mean
from merino.engine.search import parameters as search
from merino.eval.evaluation import Evaluation, Number
from merino.lab.tune.methods import number_of
from merino.lab.tune.rules import BETA, FIRST_TAU2, GAMMA, EstimatorSettings, Method

REACH = 2.2  # (19): the last perturbation over the distance of the optimum, as in the paper's settings
MIN_WORTH = 1.05  # if no step of SPSA gains anything by (18), it still makes small ones
MEAN_STEP = 1.70  # the mean over a run of a_n / a_N, SPSA's step over its last, for the exponents of `lab.tune.rules`
UNKNOWN_ELO = 1.0  # the default cost of displacing a parameter by c_end; too little is safer
MIN_SIZE, MAX_SIZE = 1e-9, 1e12  # of what a parameter may move, and of costs: beyond these a tune loses all digits
MAX_COST = 1e6  # Elo that a displacement costs: from 1e9 on methods lose all digits, and far less is decided at once
MAX_PAIRS = 10**18
_TYPES = {"int": True, "float": False}
_TOML_KEYS = ("start", "min", "max", "c_end", "r_end", "type", "elo", "dist")


class TuneError(errors.MerinoError):
    """Something cannot be tuned or read; the message says what and where."""


@dataclass(frozen=True)
class TunedParameter:
    """A number to tune, in its own units.

    `c_end` and `r_end` are as on fishtest, the perturbation and the step of the last pair; `r_end` None for the best
    by formula. `elo` is the estimated cost of a displacement by `dist` from the optimum, and `dist` the estimated
    distance of the optimum.
    """

    name: str
    start: float
    low: float
    high: float
    c_end: float
    r_end: float | None = None
    whole: bool = True
    elo: float = UNKNOWN_ELO
    dist: float | None = None

    def playable(self, value: float) -> float:
        """The value as engines play with it: an integer for a whole number."""
        return round(value) if self.whole else value

    def shown(self, value: float) -> float:
        """The value to four decimals, to more where its range is below 1, and within its bounds."""
        rounded = round(value, 4 - math.floor(math.log10(min(1.0, self.high - self.low))))
        return min(max(rounded, self.low), self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of what engines play with: those of integers within its own for a whole number."""
        return (math.ceil(self.low), math.floor(self.high)) if self.whole else (self.low, self.high)

    @property
    def distance(self) -> float:
        """The estimated distance of the optimum: `dist`, else c_end."""
        return self.c_end if self.dist is None else self.dist

    @property
    def elo_at_c(self) -> float:
        """The estimated cost in Elo of displacing it by c_end."""
        return self.elo * (self.c_end / self.distance) ** 2


def playable(parameters: Sequence[TunedParameter], values: np.ndarray) -> np.ndarray:
    """All values in playable form, [d]."""
    return np.array([row.playable(value) for row, value in zip(parameters, values.tolist(), strict=True)])


def own_parameters(evaluation: Evaluation) -> dict[str, Number]:
    """What Merino can tune, by name (old names too): the numbers of this evaluation and of the search."""
    now = search.by_name(search.parameters_for(evaluation))
    numbers = {
        row.name: Number(float(now[row.name]), float(row.bounds[0]), float(row.bounds[1])) for row in search.PARAMETERS
    }
    return {**evaluation.numbers, **numbers, **{old: numbers[new] for old, new in search.OLD_NAMES.items()}}


def check(parameter: TunedParameter, where: str) -> TunedParameter:
    """Return the parameter if its numbers make sense; else raise TuneError, which says `where`."""
    low, high, fault = parameter.low, parameter.high, ""
    sizes = {name: getattr(parameter, name) for name in ("c_end", "r_end", "elo", "dist")}
    wrong = [name for name, size in sizes.items() if size is not None and not MIN_SIZE <= size <= MAX_SIZE]
    if not MIN_SIZE <= high - low <= MAX_SIZE:
        fault = f"the bounds {low:g}..{high:g} leave nothing to tune, or too much"
    elif parameter.whole and math.floor(high) - math.ceil(low) < 1:
        fault = f"the bounds {low:g}..{high:g} hold no two integers; nothing to tune"
    elif not low <= parameter.start <= high:
        fault = f"start = {parameter.start:g} is outside the bounds {low:g}..{high:g}"
    elif wrong:
        fault = f"{wrong[0]} = {sizes[wrong[0]]:g} is not from {MIN_SIZE:g} to {MAX_SIZE:g}"
    elif max(parameter.elo, parameter.elo_at_c) > MAX_COST:
        costs = f"{parameter.elo:.3g} Elo at {parameter.distance:g}, and so {parameter.elo_at_c:.3g} at c_end"
        fault = f"a displacement costs {costs}; {MAX_COST:.0f} is the most"
    if fault:
        raise TuneError(f"{where}: {parameter.name}: {fault}")
    return parameter


def check_tunable(parameters: Sequence[TunedParameter], known: Mapping[str, Number], engine: str = "") -> None:
    """Raise TuneError for a name, bounds or a type that Merino cannot play with, or the external `engine`."""
    owner = f"the engine '{engine}'" if engine else "Merino"
    names = [row.name if engine else search.current_name(row.name) for row in parameters]
    for row, name in zip(parameters, names, strict=True):
        if row.name not in known:
            check_whole(row.name, known, owner)
            raise TuneError(f"{owner} has no number named {row.name!r}{did_you_mean(row.name, known)}")
        limits = known[row.name]
        if row.low < limits.low or row.high > limits.high:
            own, allowed = f"{row.low:g}..{row.high:g}", f"{limits.low:g}..{limits.high:g}"
            raise TuneError(f"{row.name}: the bounds {own} reach beyond those of {owner}, {allowed}")
        if names.count(name) > 1:
            raise TuneError(f"{name} is listed twice, once by its old name")
        if not row.whole and (engine or name in {each.name for each in search.PARAMETERS}):
            raise TuneError(f"{row.name} is an integer; its type must not be float")


def check_whole(name: str, known: Mapping[str, Number], where: str) -> None:
    """Raise TuneError for the whole of parts that differ, which has no value to start from."""
    parts = [part for part, number in known.items() if number.part_of == name]
    if parts and name not in known:
        raise TuneError(f"{where}: {name} has a value for each phase; tune {' and '.join(parts)}")


def settings_for(method: Method, parameters: Sequence[TunedParameter], pairs: int) -> EstimatorSettings:
    """The settings of a method for `pairs` pairs; tau is estimated from the results."""
    steps = [parameter.r_end or best_step(parameter, parameters, pairs) for parameter in parameters]
    columns = (
        (*row.bounds, row.c_end, step, row.elo, row.distance) for row, step in zip(parameters, steps, strict=True)
    )
    low, high, c_end, r_end, elo, distance = np.array(list(columns), dtype=np.float64).T.copy()
    whole = np.array([parameter.whole for parameter in parameters])
    sigma = elo_width(distance, elo)
    return EstimatorSettings(
        number_of(method), pairs, 0.0, low, high, whole, c_end, r_end, sigma, distance, method.bank
    )


def best_step(parameter: TunedParameter, parameters: Sequence[TunedParameter], pairs: int) -> float:
    """The best r_end for one of the parameters."""
    total = sum(each.elo for each in parameters)
    return spsa_step(total, len(parameters), pairs, parameter.elo_at_c, math.sqrt(FIRST_TAU2))


def elo_width(distance: np.ndarray, elo: np.ndarray) -> np.ndarray:
    """The width sigma of a strength curve that loses `elo` at `distance` from the optimum, by (19).

    The exact factor would be 9.32, from distance / sqrt(2 beta elo); the paper's 9.9 errs on the safe side.
    """
    return 7.0 * distance * np.sqrt(2.0 / elo)


def spsa_step(total_elo: float, size: int, pairs: int, elo_at_c: float, tau: float) -> float:
    """The step r_end that leaves SPSA the smallest loss: (18) in the diffusion approximation.

    `size` parameters have `total_elo` to gain; displacing one of them by c_end costs `elo_at_c`. The loss after a
    step r is total_elo * exp(-g r) + size * r * tau^2 / (8 beta), g being `decay`.
    """
    decay = 2 * 4 * MEAN_STEP * BETA * pairs * elo_at_c
    return math.log(max(MIN_WORTH, 8 * BETA * decay * total_elo / (size * tau**2))) / decay


def loss_left(pairs: float, start_losses: np.ndarray, losses_at_c: np.ndarray, tau: float) -> float:
    """The Elo that BSPSA still loses after `pairs` pairs if the widths are right.

    The arguments are, for each parameter (float64[d]), the Elo lost at the start and by a player displaced by c_end. A
    parameter still loses 1 / (1 / start + information). The information on one of d parameters is as if the others
    were known, because signs are independent. For d equal parameters with sums L0 and E_c this is 1 / (1 / L0 + pairs
    E_c / (542 d^2 (tau / 0.6)^2)).
    """
    information = 16 * BETA**2 * pairs * losses_at_c / ((1 - 2 * GAMMA) * tau**2)
    return float((1 / (1 / start_losses + information)).sum())


def pairs_needed(target: float, start_losses: np.ndarray, losses_at_c: np.ndarray, tau: float) -> int:
    """The fewest pairs after which `loss_left` is at most `target`, above 0."""
    return bisect_left(range(MAX_PAIRS), -target, key=lambda pairs: -loss_left(pairs, start_losses, losses_at_c, tau))


def read_file(path: Path, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters listed in a file; `known` has start and bounds for TOML that omits them. Raises TuneError."""
    with files.faults_named(path, "a file of parameters", TuneError):
        text = files.read_user_text(path, files.SETTINGS)
    is_toml = path.suffix.lower() == ".toml"
    return read_toml(text, str(path), known) if is_toml else read_lines(text, str(path))


def read_lines(text: str, source: str) -> list[TunedParameter]:
    """The parameters in lines of fishtest or OpenBench; empty lines and `#` comments are skipped."""
    lines = ((number, line.split("#", 1)[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    return _all_different([_read_line(line, f"{source}:{number}") for number, line in lines if line], source)


def _read_line(line: str, where: str) -> TunedParameter:
    name, *fields = (field.strip() for field in line.split(","))
    kind = fields.pop(0) if len(fields) == 6 else "int"
    if kind not in _TYPES:
        raise TuneError(f"{where}: the type of {name} must be 'int' or 'float', not {kind[:40]!r}")
    if len(fields) != 5 or not name:
        forms = "'name, start, min, max, c_end, r_end', or with int or float after the name"
        raise TuneError(f"{where}: expected {forms}; found {line[:60]!r}")
    with errors.turning(ValueError, TuneError, f"{where}: "):
        start, low, high, c_end, r_end = map(errors.number_in, fields)
        return check(TunedParameter(name, start, low, high, c_end, r_end, _TYPES[kind]), where)


def read_toml(text: str, source: str, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters in TOML."""
    # Also of numbers and lists beyond what Python takes.
    with errors.turning((ValueError, RecursionError), TuneError, f"{source}: "):
        tables = tomllib.loads(text)
    return _all_different([read_table(name, table, source, known) for name, table in tables.items()], source)


def read_table(name: str, table: object, source: str, known: Mapping[str, Number]) -> TunedParameter:
    """The parameter of a table; `known` has start and bounds that it omits. Raises TuneError."""
    where = f"{source}: [{name}]"
    if not isinstance(table, dict):
        raise TuneError(f"{source}: {name} is not a table; write a parameter as [{name}], with its numbers below")
    check_whole(name, known, where)
    usual = {"start": known[name].value, "min": known[name].low, "max": known[name].high} if name in known else {}
    values: dict[str, Any] = usual | {"type": "int"} | table
    if values["type"] not in tuple(_TYPES):  # which may be a list
        raise TuneError(f"{where}: type must be 'int' or 'float', not {values['type']!r}")
    whole = _TYPES[values.pop("type")]
    for key, value in values.items():
        if key not in _TOML_KEYS:
            raise TuneError(f"{where}: unknown key {key!r}; possible are {', '.join(sorted(_TOML_KEYS))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MAX_SIZE:
            raise TuneError(f"{where}: {key} = {value!r:.40} is not a number up to {MAX_SIZE:g}")
    if "dist" in values:
        values.setdefault("c_end", REACH * values["dist"])
    if missing := [key for key in ("start", "min", "max", "c_end") if key not in values]:
        instead = " (or dist)" if missing[0] == "c_end" else ""
        hint = "" if name in known else did_you_mean(name, known)
        raise TuneError(f"{where}: {missing[0]}{instead} is missing{hint}")
    values["low"], values["high"] = values.pop("min"), values.pop("max")
    return check(TunedParameter(name, whole=whole, **{key: float(value) for key, value in values.items()}), source)


def _all_different(parameters: list[TunedParameter], source: str) -> list[TunedParameter]:
    names = [parameter.name for parameter in parameters]
    if not names:
        raise TuneError(f"{source} lists no parameters")
    if twice := [name for name in names if names.count(name) > 1]:
        raise TuneError(f"{source}: {twice[0]} is listed twice")
    return parameters


def lines_of_both(parameters: Sequence[TunedParameter], values: Iterable[float], steps: Iterable[float]) -> list[str]:
    """Lines for fishtest and OpenBench with `values` as the start and `steps` as r_end."""
    fishtest, openbench = ["# fishtest"], ["# OpenBench"]
    for row, value, step in zip(parameters, values, steps, strict=True):
        rest = ", ".join(_plain(number) for number in (row.low, row.high, row.c_end, step))
        fishtest.append(f"{row.name}, {_plain(value)}, {rest}")
        kind = "int" if row.whole else "float"
        openbench.append(f"{row.name}, {kind}, {_plain(row.playable(value))}, {rest}")
    return [*fishtest, *openbench]


def _plain(number: float) -> str:
    return f"{number + 0.0:.10g}"
