"""Comparison of ways to learn: each recipe learns weights from the same start, and plays a match against the start.

A recipe is one way to call the learner: with which games and which settings. What it learned may also meet a pool of
other engines, and the best version the start at other limits. Everything is kept in a folder, so that a stopped
comparison continues: games and matches from their states, and learned weights are not learned again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.files import write_whole
from merino.core.common.json_text import finite
from merino.core.common.quoting import counted
from merino.core.common.sealed import as_json, from_json
from merino.core.common.user_files import STATE, faults_named, is_there, read_user_file
from merino.core.common.work import cores
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import simplest
from merino.eval.linear.weights import as_mapping, load, load_any, render
from merino.formats.sources import digest
from merino.lab.article.recipe_matches import (
    ComparisonStoppedError,
    Limit,
    Pool,
    PoolResult,
    RecipeMatches,
    control_match,
    pool_match,
)
from merino.learn.errors import LearnError
from merino.learn.fitting import fit_all
from merino.learn.gain import judge
from merino.learn.inputs import PositionsHere, ReadOptions, read_rows
from merino.learn.loss_and_gradient import gather
from merino.learn.minimisers import FitCallback
from merino.learn.positions import Selection
from merino.learn.reading import read_options, training_data, with_strays_of
from merino.learn.report import Seconds, record_of, summarise
from merino.learn.request import Events, LearnRequest, Task
from merino.learn.rows import Rows
from merino.learn.sample import sample_of
from merino.learn.scale import fit_k
from merino.match.config import CLEAR_WIN, MatchConfig, RandomMoves, TimeControl
from merino.match.games import Tally
from merino.match.players import OwnPlayer
from merino.match.report import Rating, count_line
from merino.match.runner import MatchOutput, run_match
from merino.match.statistics import estimate

SETTINGS_FILE = "settings.json"
START = "start"  # the name of what all versions began with


@dataclass(frozen=True)
class OwnGames:
    """Games of the start against itself from random openings: their number, and nodes per move."""

    count: int
    nodes: int
    seed: int = 1


@dataclass(frozen=True)
class Recipe:
    """A way to learn. `request` has its settings and selection; its files are names of sources.

    `weights` is a file to use instead of learning. `note` is shown beside the results.
    """

    name: str
    request: LearnRequest
    weights: Path | None = None
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A comparison to make.

    `sources` are games by name: a file, games to play, or None if the file was not given. `tests` names the sources on
    which errors are measured. Each match has `games` games at `nodes` per move; the best version meets the start at the
    limits of `controls`, too.
    """

    start: Path
    sources: Mapping[str, Path | OwnGames | None]
    recipes: tuple[Recipe, ...]
    tests: tuple[str, ...] = ()
    nodes: int = 2000
    games: int = 1000
    seed: int = 1
    pool: Pool | None = None
    controls: tuple[Limit, ...] = ()

    def check_names(self) -> None:
        """Raise ValueError where two of its parts would keep their work in one file of the folder."""
        played = [name for name, source in self.sources.items() if isinstance(source, OwnGames)]
        kept = [("the settings", SETTINGS_FILE), *((f"[games.{name}]", f"{name}.state") for name in played)]
        for name in (START, *(recipe.name for recipe in self.recipes)):
            rivals = range(1, 1 + len(self.pool.opponents if self.pool else ()))
            kept += [(f"[recipes.{name}]", f"{pool_match(name, number)}.state") for number in rivals]
        for recipe in self.recipes:
            files = [f"{recipe.name}.state"]
            if recipe.weights is None:
                controls = range(1, 1 + len(self.controls))
                files += [f"{recipe.name}.json", *(f"{control_match(recipe.name, each)}.state" for each in controls)]
            kept += [(f"[recipes.{recipe.name}]", file) for file in files]
        found = dict[str, str]()
        for part, file in kept:
            if file in found:
                raise ValueError(f"{found[file]} and {part} would both be kept in '{file}'; rename one of them")
            found[file] = part


@dataclass(frozen=True)
class RecipeResult:
    """The result of a recipe.

    `errors` are mean squared errors by test, each with the K that fits the weights best. Elo is against the start, with
    half the width of its 95% interval; `rating` is that among the pool. `controls` are the matches of the best version
    at other limits. `missing` names a source without a file; then nothing was measured.
    """

    name: str
    games: int = 0
    positions: int = 0
    errors: Mapping[str, float] | None = None
    tally: Tally | None = None
    seconds: float = 0.0
    note: str = ""
    missing: str = ""
    rating: Rating | None = None
    controls: tuple[tuple[Limit, Tally], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        found = {
            "name": self.name,
            "games": self.games,
            "positions": self.positions,
            "errors": {name: finite(error) for name, error in (self.errors or {}).items()},
            "seconds": round(self.seconds, 1),
            "note": self.note,
            "missing": self.missing,
        }
        if self.tally and self.tally.games:
            found |= {"match_games": self.tally.games, **_strength(self.tally)}
        if self.rating:
            rating, error, los = map(finite, (self.rating.rating, self.rating.error, self.rating.los))
            found |= {"rating": rating, "rating_error": error, "los": los}
        if self.controls:
            found["controls"] = [
                {"limit": str(limit.time_control), "games": tally.games, **_strength(tally)}
                for limit, tally in self.controls
            ]
        return found


def _strength(tally: Tally) -> dict[str, float | None]:
    """The Elo of a match, as plain data; None where it has no bound."""
    elo = estimate(tally.counts)
    return {"elo": finite(elo.elo), "elo_error": finite(elo.elo_error)}


def _check_same(comparison: Comparison, folder: Path) -> None:
    """Write down the settings of the folder; raises LearnError if it was begun with others."""
    path = folder / SETTINGS_FILE
    terms, start = load_any(comparison.start)
    wanted: dict[str, object] = {"start": start.tolist(), "terms": terms.version}
    wanted |= {"nodes": comparison.nodes, "games": comparison.games, "seed": comparison.seed}
    if not is_there(path):
        write_whole(path, as_json(wanted))
        return
    found = {"terms": ""} | _read(path)  # which folders of before do not tell
    other = [name for name, value in wanted.items() if found.get(name) != value]
    if other:
        raise LearnError(f"'{folder}' was begun with other settings ({', '.join(other)}); give a new folder")


def _read(path: Path) -> dict[str, Any]:
    """A file of JSON in the folder; raises LearnError."""
    with faults_named(path, "whole, so give a new folder", LearnError):
        return from_json(read_user_file(path, STATE), str(path))


class Comparing:
    """A comparison in a folder; methods raise LearnError, EvaluationError, MatchError, OSError.

    Ctrl-C in games or in a match raises ComparisonStoppedError; the same calls continue from there.
    """

    def __init__(self, comparison: Comparison, folder: Path, events: Events, concurrency: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _check_same(comparison, folder)
        self._comparison, self._folder, self._events = comparison, folder, events
        self._threads = concurrency or cores()
        self._matches = RecipeMatches(folder, comparison.seed, self._threads, events.match_state)
        self._terms, self._start = load_any(comparison.start)
        self._tests: dict[str, Rows] = {}
        self._versions: dict[str, OwnPlayer] = {}  # those that have been measured, by their names

    def outcomes(self) -> Iterator[RecipeResult]:
        """The outcome of each recipe in turn, the start first."""
        for reason in self._comparison.pool.absent if self._comparison.pool else ():
            self._events.say(f"Left out of the pool: {reason}")
        recipes = (Recipe(START, LearnRequest(()), self._comparison.start), *self._comparison.recipes)
        for number, recipe in enumerate(recipes, start=1):
            yield self._outcome(recipe, sum(self._missing(later) is None for later in recipes[number:]))

    def meet_pool(self) -> PoolResult | None:
        """What all versions of `outcomes` scored against the pool; None if nobody is in it."""
        pool = self._comparison.pool
        return self._matches.meet_pool(tuple(self._versions.values()), pool) if pool and pool.opponents else None

    def controls(self, name: str) -> tuple[tuple[Limit, Tally], ...]:
        """The matches of a version against the start at the limits of the controls."""
        players = self._versions[name], self._versions[START]
        wanted = enumerate(self._comparison.controls, start=1)
        return tuple(
            (limit, self._matches.play(control_match(name, number), players, limit)) for number, limit in wanted
        )

    def _missing(self, recipe: Recipe) -> str | None:
        """The first source of a recipe that has no file, if any."""
        sources = (*recipe.request.files, *self._comparison.tests)
        return next((name for name in sources if self._comparison.sources.get(name) is None), None)

    def _outcome(self, recipe: Recipe, later: int) -> RecipeResult:
        """Learn and measure, or take the results from the folder; `later` recipes come after it."""
        missing = self._missing(recipe)
        if missing is not None:
            return RecipeResult(recipe.name, note=recipe.note, missing=missing)
        began = time.monotonic()
        games, positions, weights = self._learned(recipe)
        self._versions[recipe.name] = OwnPlayer(recipe.name, self._evaluation(weights))
        errors = {name: self._error(name, weights) for name in self._comparison.tests}
        tally = None if np.array_equal(weights, self._start) else self._match(recipe.name, later)
        return RecipeResult(recipe.name, games, positions, errors, tally, time.monotonic() - began, recipe.note)

    def _learned(self, recipe: Recipe) -> tuple[int, int, np.ndarray]:
        """Games and positions that a recipe learned from, and its weights."""
        if recipe.weights is not None:
            return 0, 0, load(recipe.weights, self._terms)
        file, record = self._folder / f"{recipe.name}.txt", self._folder / f"{recipe.name}.json"
        identity = repr((recipe.request, [self._identity(name) for name in recipe.request.files]))
        files = self._digests(recipe.request.files)
        if is_there(record):
            found = _read(record)
            if found.get("identity") != identity:
                raise LearnError(f"'{record}' is from another recipe; give a new folder, or another name")
            if found.get("files", files) != files:  # which the first folders did not keep
                raise LearnError(f"'{record}' is from other games: their file has changed since; give a new folder")
            try:
                return int(found["games"]), int(found["positions"]), load(file, self._terms)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise LearnError(f"'{record}' is damaged: {error!r}; give a new folder") from error
        games, positions, weights = self._learn(recipe)
        header = f"{recipe.name}: {games} games, {positions} positions, start {self._comparison.start.name}"
        write_whole(file, self._text(weights, header).encode())
        kept = {"identity": identity, "files": files, "games": games, "positions": positions}
        write_whole(record, as_json(kept))
        return games, positions, load(file, self._terms)

    def _evaluation(self, weights: np.ndarray) -> LinearEvaluation:
        return LinearEvaluation(weights, terms=self._terms)

    def _text(self, weights: np.ndarray, header: str) -> str:
        """The text of the file of learned weights."""
        return render(as_mapping(simplest(weights, len(self._terms)), self._terms), [header], self._terms)

    def _learn(self, recipe: Recipe) -> tuple[int, int, np.ndarray]:
        request = replace(recipe.request, choice=replace(recipe.request.choice, targets=()))
        paths = [self._file(name) for name in request.files]
        task = Task.of(with_strays_of(paths, request, _silent), self._terms, self._start)
        options = read_options(task)
        positions = self._positions(paths, options)
        data = training_data(task, positions, paths)
        fits = fit_all(data, FitCallback())
        [found] = fits.every
        learned = judge(found.sample, found.fitted, found.settings, FitCallback())
        if learned.interrupted:
            raise ComparisonStoppedError
        seconds = Seconds(data.seconds, time.perf_counter() - task.began)
        summary = summarise(found.sample, learned, found.settings, positions.games, seconds, self._terms)
        record = record_of(
            found.sample, learned, found.settings, summary, request.files, self._terms, task.request.has_strays
        )
        write_whole(self._folder / f"{recipe.name}.record.json", as_json(record))
        return positions.games, len(positions), learned.end.weights

    def _positions(self, files: list[Path], options: ReadOptions) -> PositionsHere:
        found = read_rows(files, options, replace(self._events, say=_silent))
        if found.faults:
            path, fault = found.faults[0]
            self._events.say(f"{counted(len(found.faults), 'game')} could not be read, the first in '{path}': {fault}")
        return found

    def _identity(self, name: str) -> str:
        """A source as text."""
        source = self._comparison.sources[name]
        return str(asdict(source)) if isinstance(source, OwnGames) else str(source)

    def _digests(self, names: Sequence[str]) -> dict[str, str]:
        """The hashes of the files among these sources, by name; own games are known by what they are played by."""
        sources = {name: self._comparison.sources[name] for name in names}
        return {name: digest(source) for name, source in sources.items() if isinstance(source, Path)}

    def _file(self, name: str) -> Path:
        """The file of a source; own games are played first."""
        source = self._comparison.sources[name]
        if not isinstance(source, OwnGames):
            assert source is not None
            return source
        both = OwnPlayer("Merino", self._evaluation(self._start))
        config = MatchConfig(
            (both, both),
            TimeControl(nodes=source.nodes),
            source.count,
            source.seed,
            adjudication=CLEAR_WIN,
            random_moves=RandomMoves(early=6, early_loss=100, seed=source.seed),
        )
        file = self._folder / f"{name}.pgn"
        output = MatchOutput(self._events.match_state, file, file.with_suffix(".state"), "Merino self-play", count_line)
        if run_match(config, self._threads, None, output).interrupted:
            raise ComparisonStoppedError
        return file

    def _error(self, name: str, weights: np.ndarray) -> float:
        """The mean squared error of weights on a test."""
        if name not in self._tests:
            options = ReadOptions(Selection(), self._start, terms=self._terms)
            self._tests[name] = self._positions([self._file(name)], options).rows
        rows = self._tests[name]
        sample = sample_of(rows, np.zeros(len(rows), dtype=np.bool_))
        return gather(sample, fit_k(sample, weights)).train

    def _match(self, name: str, later: int) -> Tally:
        """The match against the start."""
        players = self._versions[name], self._versions[START]
        limit = Limit(TimeControl(nodes=self._comparison.nodes), self._comparison.games)
        return self._matches.play(name, players, limit, later * limit.games)


_silent: Callable[[object], object] = str  # says nothing
