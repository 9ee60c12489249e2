"""An arena of tuning methods: real engines with numbers set wrong on purpose, and the Elo that each method wins back.

A TOML file has the cases. `games`, `check`, `every`, `seeds` and `methods` at the top are the games of a tune, those of
each match against the right values, after how many games of a tune (even) there is such a match, how many tunes each
method plays in a case, and the methods. A table [cases.NAME] has `engine`, a command, or nothing for Merino, `nodes` or
`depth`, and a table [cases.NAME.parameters.P] for each parameter as in a file for a tune, whose `start` is the wrong
value; `right` is the right one, by default that of the engine.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common.errors import real_number
from merino.core.common.text import rounded
from merino.core.common.user_files import SETTINGS, faults_named, read_user_text
from merino.eval.evaluation import Number
from merino.lab.tune.estimators import estimate as estimate_of
from merino.lab.tune.methods import DEFAULT, METHODS
from merino.lab.tune.parameters import TunedParameter, TuneError, check_known, check_scale, playable, read_table
from merino.lab.tune.playing import check_options, check_own, players_of, terms_of
from merino.lab.tune.tuning import Configuration, Tune, replay
from merino.match.config import MatchConfig, TimeControl
from merino.match.statistics import Estimate, estimate

AHEAD = 8  # pairs of a tune under way: few, as a case is short
MAX_NUMBER = 10**9  # of games and tunes, as on the command line
_DEFAULTS: dict[str, Any] = {"games": 2000, "check": 400, "every": 1000, "seeds": 1, "methods": [DEFAULT, "spsa"]}
_NAME = re.compile(r"\w[\w .+-]{0,99}")  # of a case
_CASE_KEYS = ("engine", "nodes", "depth", "parameters")
Known = Callable[[str], tuple[tuple[str, ...], Mapping[str, Number], Mapping[str, Any]]]


@dataclass(frozen=True)
class ArenaCase:
    """An engine with numbers set wrong; `right` are the right ones, float64[d]."""

    name: str
    parameters: tuple[TunedParameter, ...]
    right: np.ndarray
    engine: tuple[str, ...]
    identity: Mapping[str, Any]
    time_control: TimeControl

    def configuration(self, method: str, pairs: int, seed: int) -> Configuration:
        """The tune of a method in this case."""
        return Configuration(
            self.parameters, method, pairs, seed, AHEAD, self.time_control, identity=self.identity, engine=self.engine
        )

    @property
    def start(self) -> np.ndarray:
        """The wrong values, float64[d]."""
        return np.array([row.start for row in self.parameters])


@dataclass(frozen=True)
class Arena:
    """The cases, and what is played in each."""

    cases: tuple[ArenaCase, ...]
    games: int
    check: int
    every: int
    seeds: int
    methods: tuple[str, ...]

    @property
    def marks(self) -> tuple[int, ...]:
        """After how many games of a tune its values are checked."""
        return tuple(range(self.every, self.games + 1, self.every))


class Check(NamedTuple):
    """A match of values after some games of a tune against the right ones; 0 games for the start, of every method."""

    case: ArenaCase
    method: str
    seed: int
    games: int
    config: MatchConfig

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.case.name}-start" if not self.games else f"{tune_name(self)}-{self.games}"


def tune_name(check: Check) -> str:
    """The name of the file of the tune whose values are checked."""
    return f"{check.case.name}-{check.method}-{check.seed}"


def read_arena(path: Path, known: Known) -> Arena:
    """The arena of a file; `known` finds an engine's command, its numbers and its identity. Raises TuneError."""
    with faults_named(path, "an arena in TOML", TuneError):
        content = tomllib.loads(read_user_text(path, SETTINGS))
    for key in content:
        if key not in (*_DEFAULTS, "cases"):
            raise TuneError(f"{path}: unknown key {key!r}; possible are {', '.join(sorted((*_DEFAULTS, 'cases')))}")
    settings = _DEFAULTS | {key: content[key] for key in _DEFAULTS if key in content}
    for key in ("games", "check", "every", "seeds"):
        if type(settings[key]) is not int or settings[key] < 1:  # a bool is an int, too
            raise TuneError(f"{path}: {key} = {settings[key]!r} is not a whole number above 0")
        if settings[key] > MAX_NUMBER:
            raise TuneError(f"{path}: {key} is more than {MAX_NUMBER}")
    if not isinstance(settings["methods"], list) or not settings["methods"]:
        raise TuneError(f"{path}: methods = {settings['methods']!r} is not a list of methods")
    for method in settings["methods"]:
        if not isinstance(method, str) or method not in METHODS:
            raise TuneError(f"{path}: there is no method {method!r} among {', '.join(METHODS)}")
        if settings["methods"].count(method) > 1:
            raise TuneError(f"{path}: the method {method!r} is listed twice")
    if settings["every"] > settings["games"]:
        raise TuneError(f"{path}: every = {settings['every']} is more than games = {settings['games']}")
    if settings["every"] % 2:
        raise TuneError(f"{path}: every = {settings['every']} ends within a pair of games: it must be even")
    tables = content.get("cases")
    if not isinstance(tables, dict) or not tables:
        raise TuneError(f"{path} has no cases; a case is a table [cases.NAME]")
    cases = tuple(_read_case(name, table, f"{path}: [cases.{name}]", known) for name, table in tables.items())
    return Arena(cases, **settings | {"methods": tuple(settings["methods"])})


def _read_case(name: str, table: Any, where: str, known: Known) -> ArenaCase:
    if not _NAME.fullmatch(name):
        raise TuneError(
            f"{where}: a name is of letters, digits, spaces and -_+., as files in one folder are named by it"
        )
    if not isinstance(table, dict) or not isinstance(table.get("parameters"), dict) or not table["parameters"]:
        raise TuneError(f"{where} lists no parameters")
    for key in table:
        if key not in _CASE_KEYS:
            raise TuneError(f"{where}: unknown key {key!r}; possible are {', '.join(_CASE_KEYS)}")
    command, numbers, identity = known(str(table.get("engine", "")))
    rows, given = [], dict[str, Any]()
    for parameter, values in table["parameters"].items():
        rest = dict(values) if isinstance(values, dict) else values
        if isinstance(rest, dict) and "right" in rest:
            given[parameter] = rest.pop("right")
        rows.append(read_table(parameter, rest, where, numbers))
    check_known(rows, numbers, f"the engine of {name}")
    (check_options if command else check_own)(tuple(rows))
    check_scale(rows)
    checked = {key: _right(value, numbers[key], f"{where}: [{key}]") for key, value in given.items()}
    right = [checked.get(row.name, numbers[row.name].value) for row in rows]
    return ArenaCase(name, tuple(rows), np.array(right), command, identity, _time_control(table, where))


def _right(value: Any, limits: Number, where: str) -> float:
    try:
        return real_number(f"{where}: right", value, limits.low, limits.high)
    except (TypeError, ValueError, OverflowError) as error:
        raise TuneError(str(error)) from error


def _time_control(table: Mapping[str, Any], where: str) -> TimeControl:
    try:
        return TimeControl(nodes=table.get("nodes"), depth=table.get("depth")).or_default()
    except (TypeError, ValueError) as error:
        raise TuneError(f"{where}: {error}") from error


def checks(arena: Arena, tuned: Callable[[Check, Configuration], Tune]) -> Iterator[Check]:
    """The matches of an arena, each with its configuration; `tuned` plays a tune to its end, or finds it played."""
    for case in arena.cases:
        yield _check(arena, case, "", 0, 0, case.start)
        for seed in range(1, arena.seeds + 1):
            for method in arena.methods:
                first = _check(arena, case, method, seed, arena.games, case.start)
                tune = tuned(first, case.configuration(method, arena.games // 2, seed))
                for games, values in zip(arena.marks, values_after(tune, arena.marks), strict=True):
                    yield _check(arena, case, method, seed, games, values)


def _check(arena: Arena, case: ArenaCase, method: str, seed: int, games: int, values: np.ndarray) -> Check:
    configuration = case.configuration(method or DEFAULT, 1, seed)
    first, second = players_of(configuration, values, case.right)
    players = (replace(first, label=method or "start"), replace(second, label="right"))
    terms = replace(terms_of(configuration, players), seed=1000 + seed, games=arena.check)
    return Check(case, method, seed, games, terms)


def values_after(tune: Tune, marks: tuple[int, ...]) -> list[np.ndarray]:
    """The values of a tune after each of these numbers of games, in playable form."""
    rows, states = tune.configuration.parameters, replay(tune, tune.settings)
    return [playable(rows, estimate_of(tune.settings, state)) for pairs, state in states if 2 * pairs in marks]


def standings(results: Iterable[tuple[Check, np.ndarray]]) -> dict[tuple[str, str, int], Estimate]:
    """Elo of the values against the right ones by case, method and games, over all seeds; each with its counts."""
    counts: dict[tuple[str, str, int], np.ndarray] = {}
    for check, found in results:
        key = (check.case.name, check.method, check.games)
        counts[key] = counts.get(key, 0) + found
    return {key: estimate(found) for key, found in counts.items()}


def arena_table(arena: Arena, found: Mapping[tuple[str, str, int], Estimate]) -> list[str]:
    """A row for each case and method: the Elo left at the start and after each mark, with half its 95% interval."""
    heads = ["start", *(f"{games} games" for games in arena.marks)]
    lines = [f"| Case | Numbers | Method | {' | '.join(heads)} |", f"| --- | ---: | --- |{' ---: |' * len(heads)}"]
    for case in arena.cases:
        for method in arena.methods:
            keys = [(case.name, "", 0), *((case.name, method, games) for games in arena.marks)]
            cells = [_left(found.get(key)) for key in keys]
            lines.append(f"| {case.name} | {len(case.parameters)} | `{method}` | {' | '.join(cells)} |")
    return lines


def _left(found: Estimate | None) -> str:
    return "" if found is None else f"{rounded(-found.elo, digits=0)} +- {found.elo_error:.0f}"
