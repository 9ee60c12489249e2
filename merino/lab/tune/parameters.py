"""The parameters of a tune: numbers with names and bounds, settings made from them, and files that list them.

fishtest      name, start, min, max, c_end, r_end               always integers
OpenBench     name, int or float, start, min, max, c_end, r_end
TOML          a table [name] for each parameter with c_end, or with dist, from which c_end follows by (19);
              optional are start, min, max, r_end, type ("int" or "float"), elo
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.core.common.errors import MerinoError
from merino.core.common.text import did_you_mean
from merino.core.common.user_files import SETTINGS, read_user_text
from merino.engine.search.parameters import OLD_NAMES, PARAMETERS, by_name, parameters_for
from merino.eval.evaluation import Evaluation, Number
from merino.lab.tune.methods import number_of
from merino.lab.tune.plan import REACH, elo_width, spsa_step
from merino.lab.tune.rules import FIRST_TAU2, EstimatorSettings, Method

UNKNOWN_ELO = 1.0  # the assumed cost of displacing a parameter by c_end, by default; too little is safer
MAX_RATIO = 1e6  # of c_end and dist, either way: far beyond any useful one
MAX_COST = 1e6  # Elo that a displacement costs: from 1e9 on methods lose all digits, and far less is decided at once
MIN_COST = 1e-6  # and the least, of which no number of games would tell anything
MAX_SPAN, MAX_SHARE = 1e50, 1e9  # of bounds, and of what a perturbation or a distance is to them, either way
_TYPES = {"int": True, "float": False}
_TOML_KEYS = {"start", "min", "max", "c_end", "r_end", "type", "elo", "dist"}


class TuneError(MerinoError):
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
    now = by_name(parameters_for(evaluation))
    search = {row.name: Number(float(now[row.name]), float(row.bounds[0]), float(row.bounds[1])) for row in PARAMETERS}
    return {**evaluation.numbers, **search, **{old: search[new] for old, new in OLD_NAMES.items()}}


def check(parameter: TunedParameter, where: str) -> TunedParameter:
    """Return the parameter if its numbers make sense; else raise TuneError, which says `where`."""
    name, low, high = parameter.name, parameter.low, parameter.high
    for field in ("start", "low", "high", "c_end", "r_end", "elo", "dist"):
        value = getattr(parameter, field)
        if value is not None and not math.isfinite(value):
            raise TuneError(f"{where}: {name}: {field} = {value} is not a finite number")
    if not low < high:
        raise TuneError(f"{where}: {name}: the bounds {low:g}..{high:g} leave nothing to tune")
    if parameter.whole and math.floor(high) - math.ceil(low) < 1:
        raise TuneError(f"{where}: {name}: the bounds {low:g}..{high:g} hold no two integers; nothing to tune")
    if not low <= parameter.start <= high:
        raise TuneError(f"{where}: {name} starts at {parameter.start:g}, outside its bounds {low:g}..{high:g}")
    if parameter.c_end <= 0:
        raise TuneError(f"{where}: {name}: c_end = {parameter.c_end:g}; without a perturbation nothing is learned")
    for field in ("r_end", "elo", "dist"):
        value = getattr(parameter, field)
        if value is not None and value <= 0:
            raise TuneError(f"{where}: {name}: {field} = {value:g}; it must be above 0")
    if not 1 / MAX_RATIO <= parameter.c_end / parameter.distance <= MAX_RATIO:
        raise TuneError(f"{where}: {name}: c_end = {parameter.c_end:g} and dist = {parameter.distance:g} do not match")
    if max(parameter.elo, parameter.elo_at_c) > MAX_COST:
        costs = f"{parameter.elo:.3g} Elo at {parameter.distance:g}, and so {parameter.elo_at_c:.3g} at c_end"
        raise TuneError(f"{where}: {name}: a displacement costs {costs}; {MAX_COST:.0f} is the most")
    return parameter


def check_scale(parameters: Sequence[TunedParameter]) -> None:
    """Raise TuneError for numbers of such a scale that a tune would lose all digits: no player plays with those."""
    for parameter in parameters:
        name, span = parameter.name, parameter.high - parameter.low
        if not 1 / MAX_SPAN <= span <= MAX_SPAN:
            raise TuneError(
                f"{name}: the bounds {parameter.low:g}..{parameter.high:g} are too wide or too narrow to tune"
            )
        for field, value in (("c_end", parameter.c_end), ("dist", parameter.distance)):
            if not span / MAX_SHARE <= value <= span * MAX_SHARE:
                raise TuneError(
                    f"{name}: {field} = {value:g} does not match the bounds {parameter.low:g}..{parameter.high:g}"
                )
        if parameter.r_end is not None and parameter.r_end > MAX_SHARE:
            raise TuneError(f"{name}: r_end = {parameter.r_end:g}; {MAX_SHARE:g} is the most")
        if parameter.elo < MIN_COST:
            raise TuneError(f"{name}: elo = {parameter.elo:g}; {MIN_COST:g} is the least")


def check_known(parameters: Sequence[TunedParameter], known: Mapping[str, Number], owner: str) -> None:
    """Raise TuneError if `owner` does not know a name or does not accept the bounds."""
    for parameter in parameters:
        if parameter.name not in known:
            kind = getattr(known, "others", {}).get(parameter.name)
            if kind is not None:
                raise TuneError(f"{parameter.name} is an option of type {kind}; only numbers (spin) can be tuned")
            check_whole(parameter.name, known, owner)
            hint = did_you_mean(parameter.name, known)
            raise TuneError(f"{owner} has no parameter named {parameter.name!r}{hint}")
        limits = known[parameter.name]
        if parameter.low < limits.low or parameter.high > limits.high:
            raise TuneError(
                f"{parameter.name}: the bounds {parameter.low:g}..{parameter.high:g} reach beyond what {owner} takes, "
                f"{limits.low:g}..{limits.high:g}"
            )


def check_whole(name: str, known: Mapping[str, Number], where: str) -> None:
    """Raise TuneError for the whole of parts that differ, which has no value to start from."""
    parts = [part for part, number in known.items() if number.part_of == name]
    if parts and name not in known:
        raise TuneError(f"{where}: {name} has a value for each phase; tune {' and '.join(parts)}")


def rounding_warnings(parameters: Sequence[TunedParameter], always_differ: bool = False) -> list[str]:
    """A sentence for each integer whose perturbation is so small that rounding often gives both players the same.

    It says something else for a method whose players `always_differ`.
    """
    return [
        f"{parameter.name}: c_end = {parameter.c_end:g} is below half a step of an integer: "
        + (
            "it is perturbed by half a step at least"
            if always_differ
            else f"{1 - 2 * parameter.c_end:.0%} of the last pairs play the same value on both sides"
        )
        for parameter in parameters
        if parameter.whole and parameter.c_end < 0.5
    ]


def settings_for(method: Method, parameters: Sequence[TunedParameter], pairs: int) -> EstimatorSettings:
    """The settings of a method for `pairs` pairs; tau is estimated from the results."""
    steps = [parameter.r_end or best_step(parameter, parameters, pairs) for parameter in parameters]
    distance = np.array([float(parameter.distance) for parameter in parameters])
    return EstimatorSettings(
        method=number_of(method),
        pairs=pairs,
        tau=0.0,
        low=np.array([float(parameter.bounds[0]) for parameter in parameters]),
        high=np.array([float(parameter.bounds[1]) for parameter in parameters]),
        whole=np.array([parameter.whole for parameter in parameters]),
        c_end=np.array([float(parameter.c_end) for parameter in parameters]),
        r_end=np.array(steps, dtype=np.float64),
        sigma=elo_width(distance, np.array([float(parameter.elo) for parameter in parameters])),
        sigma_0=distance,
        bank=method.bank,
    )


def best_step(parameter: TunedParameter, parameters: Sequence[TunedParameter], pairs: int) -> float:
    """The best r_end for one of the parameters, by `tune.plan`."""
    total = sum(each.elo for each in parameters)
    return spsa_step(total, len(parameters), pairs, parameter.elo_at_c, math.sqrt(FIRST_TAU2))


def read_file(path: Path, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters listed in a file; `known` has start and bounds for TOML that omits them. Raises TuneError."""
    try:
        text = read_user_text(path, SETTINGS)
    except OSError as error:
        raise TuneError(f"cannot read '{path}': {error.strerror}") from error
    if path.suffix.lower() == ".toml":
        return read_toml(text, str(path), known)
    return read_lines(text, str(path))


def read_lines(text: str, source: str) -> list[TunedParameter]:
    """The parameters in lines of fishtest or OpenBench; empty lines and `#` comments are skipped."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#", 1)[0].strip()
        if content:
            found.append(_read_line(content, f"{source}:{number}"))
    return _all_different(found, source)


def _read_line(line: str, where: str) -> TunedParameter:
    name, *fields = (field.strip() for field in line.split(","))
    whole = True
    if len(fields) == 6:
        if fields[0] not in _TYPES:
            raise TuneError(f"{where}: the type of {name} must be 'int' or 'float', not {fields[0][:40]!r}")
        whole = _TYPES[fields.pop(0)]
    if len(fields) != 5 or not name:
        raise TuneError(
            f"{where}: expected 'name, start, min, max, c_end, r_end', or with int or float after the name; "
            f"found {line[:60]!r}"
        )
    start, low, high, c_end, r_end = (_number(field, where) for field in fields)
    return check(TunedParameter(name, start, low, high, c_end, r_end, whole), where)


def read_toml(text: str, source: str, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters in TOML."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of numbers and lists beyond what Python takes
        raise TuneError(f"{source}: {error}") from error
    return _all_different([read_table(name, table, source, known) for name, table in tables.items()], source)


def read_table(name: str, table: object, source: str, known: Mapping[str, Number]) -> TunedParameter:
    """The parameter of a table; `known` has start and bounds that it omits. Raises TuneError."""
    where = f"{source}: [{name}]"
    if not isinstance(table, dict):
        raise TuneError(f"{source}: {name} is not a table; write a parameter as [{name}], with its numbers below")
    for key in table:
        if key not in _TOML_KEYS:
            raise TuneError(f"{where}: unknown key {key!r}; possible are {', '.join(sorted(_TOML_KEYS))}")
    kind = table.get("type", "int")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise TuneError(f"{where}: type must be 'int' or 'float', not {kind!r}")
    check_whole(name, known, where)
    registered = known.get(name)
    usual = {"start": registered.value, "min": registered.low, "max": registered.high} if registered else {}
    values: dict[str, float] = dict(usual)
    for key, value in table.items():
        if key == "type":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TuneError(f"{where}: {key} = {value!r} is not a number")
        try:
            values[key] = float(value)
        except OverflowError as error:
            raise TuneError(f"{where}: {key} is too large a number") from error
    if "dist" in values:
        values.setdefault("c_end", REACH * values["dist"])
    for key in ("start", "min", "max", "c_end"):
        if key not in values:
            instead = " (or dist)" if key == "c_end" else ""
            hint = "" if registered else did_you_mean(name, known)
            raise TuneError(f"{where}: {key}{instead} is missing{hint}")
    renamed = {{"min": "low", "max": "high"}.get(key, key): value for key, value in values.items()}
    return check(TunedParameter(name, whole=_TYPES[kind], **renamed), source)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise TuneError(f"{where}: {text[:40]!r} is not a number") from error


def _all_different(parameters: list[TunedParameter], source: str) -> list[TunedParameter]:
    if not parameters:
        raise TuneError(f"{source} lists no parameters")
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise TuneError(f"{source}: {parameter.name} is listed twice")
        seen.add(parameter.name)
    return parameters


def fishtest_lines(parameters: Sequence[TunedParameter], values: Iterable[float], steps: Iterable[float]) -> list[str]:
    """Lines for fishtest with `values` as the start and `steps` as r_end."""
    return [
        ", ".join([row.name, *(_plain(number) for number in (value, row.low, row.high, row.c_end, step))])
        for row, value, step in zip(parameters, values, steps, strict=True)
    ]


def openbench_lines(parameters: Sequence[TunedParameter], values: Iterable[float], steps: Iterable[float]) -> list[str]:
    """Lines for OpenBench with `values` as the start and `steps` as r_end."""
    kinds = {whole: kind for kind, whole in _TYPES.items()}
    lines = []
    for row, value, step in zip(parameters, values, steps, strict=True):
        numbers = (_plain(number) for number in (row.playable(value), row.low, row.high, row.c_end, step))
        lines.append(", ".join([row.name, kinds[row.whole], *numbers]))
    return lines


def _plain(number: float) -> str:
    return f"{number + 0.0:.10g}"
