"""A run of `improve`: its settings, state and folder, its start, and what each of its rounds does.

It begins in a new folder or where the last run stopped. `best.txt` has the best weights, `start.txt` those at the
start.

A round plays games of the best, learns weights from them, and plays the deciding match, and one that measures.

An interrupted step continues: games and matches from their own states; learning takes seconds and is repeated with the
same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from merino.core.common.files import GAMES as KIND_OF_GAMES
from merino.core.common.files import WEIGHTS, is_there, open_user_file, read_user_file, write_whole
from merino.core.common.sealed import as_json, writable
from merino.core.common.text import counted
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import in_two_phases
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import ENVIRONMENT_VARIABLE, IMPROVED, active_file, as_mapping, load, load_any, render
from merino.learn.errors import LearnError
from merino.learn.fitting import FitCallback
from merino.learn.improve.rounds import (
    OPEN,
    OUTCOMES,
    SAME,
    TABLE,
    WORSE,
    Finished,
    Loop,
    LoopState,
    Round,
    RoundPlan,
    RunFolder,
    StepContext,
    StepStoppedError,
    Until,
    announce,
    check_share,
    elo_of,
    kept_fit,
    outcome_words,
    pieces_alone,
    play_games,
    play_match,
    read_state,
)
from merino.learn.judging import learn
from merino.learn.positions import Quiet, Selection
from merino.learn.procedure import WeightsPaths, replace_weights, weights_paths
from merino.learn.reading import ReadOptions, read_rows
from merino.learn.request import Events, Say, Settings, start_of
from merino.learn.sample import Target
from merino.match.games import Tally

FORMAT = "merino improve 1"
STATE_NAME = "improve.json"
DEFAULT_FOLDER = "improve"  # of the user's data, for a run that names no other
BEST, START = "best.txt", "start.txt"
_COLUMNS = {
    "round": "",
    "verdict": "",
    "games": "",
    "positions": "",
    "error_before": ".6f",
    "error_after": ".6f",
    "match_games": "",
    "elo": ".1f",
    "elo_error": ".1f",
    "from_start": ".1f",
    "from_start_error": ".1f",
}


@dataclass(frozen=True)
class Plan(RoundPlan):
    """The settings of a run.

    `share` is that of the result in the target, `phases` the number of values of a weight; terms `first` to `last` of
    the set named `set` may move, to its end if `last` is None. At most `per_game` positions of a game are used, None
    for all; `positions` is the treatment of those where a capture changes the score. `terms_version` is the version of
    the set when the run began.
    """

    share: float = 0.5
    phases: int = 2
    first: int = 1
    last: int | None = None
    positions: Quiet = Quiet.ANY
    per_game: int | None = None
    set: str = TERMS.name
    terms_version: str = TERMS.version

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """See RoundPlan."""
        plan = super().from_json(data)
        set_named(plan.set)
        return replace(plan, positions=Quiet(plan.positions))

    def check(self) -> Self:
        """See RoundPlan."""
        last, terms = self.last or len(self.terms), len(self.terms)
        if not 1 <= self.first <= last <= terms:
            raise LearnError(f"terms are numbered 1..{terms}, first before last; not {self.first} {last}")
        if self.phases not in (1, 2):
            raise LearnError(f"a weight has one value or two, not {self.phases}")
        check_share(self.share)
        return super().check()

    @property
    def terms(self) -> TermSet:
        """The set of terms that are learned."""
        return set_named(self.set)

    def settings(self, number: int) -> Settings:
        """The settings of learning in a round."""
        return Settings(
            first=self.first,
            last=self.last,
            phases=self.phases,
            target=Target(self.share),
            decay=None,
            seed=self.seed_of(number, 1),
        ).of_set(self.terms)

    @property
    def selection(self) -> Selection:
        """Which positions of the games are learned from."""
        return Selection(positions=self.positions, per_game=self.per_game)


@dataclass(frozen=True, kw_only=True)
class TermsRound(Round):
    """A finished round: the errors on validation games before and after learning, and the weights learned."""

    error_before: float
    error_after: float
    weights: tuple[float, ...]

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """See Round."""
        found = super().from_json(data)
        return replace(found, weights=tuple(found.weights))


@dataclass(frozen=True, kw_only=True)
class ImproveState(LoopState[Plan, TermsRound]):
    """The finished rounds of a run.

    `weights` are those at the start; `changes_use` says that they were those in use, so that proven weights replace
    them, and `in_use` is the last round for which this was done, 0 for none.
    """

    columns = _COLUMNS

    changes_use: bool
    weights: tuple[float, ...]
    in_use: int = 0

    @property
    def best(self) -> np.ndarray:
        """The best weights so far, of one phase or two."""
        proven = [found.weights for found in self.rounds if found.is_proven]
        return np.array(proven[-1] if proven else self.weights)

    def as_json(self) -> dict[str, Any]:
        """See LoopState."""
        own = {"changes_use": self.changes_use, "in_use": self.in_use, "weights": list(self.weights)}
        return {"format": FORMAT, **super().as_json(), **own}


class Folder(RunFolder[ImproveState]):
    """The folder of a run of `improve`."""

    command, state_name = "improve", STATE_NAME

    @property
    def best(self) -> Path:
        """The file of the best weights."""
        return self.path / BEST

    def read(self, path: Path) -> ImproveState:
        """See RunFolder."""
        return load_state(path)

    def contents(self, state: ImproveState) -> dict[str, bytes]:
        """See RunFolder."""
        best = weights_text(state.best, [f"the best of {counted(len(state.rounds), 'round')}"], state.plan.terms)
        contents = {TABLE: state.table().encode(), BEST: best.encode()}
        if not is_there(self.path / START):
            origin = f"the start, as in {state.start_name}"
            contents[START] = weights_text(np.array(state.weights), [origin], state.plan.terms).encode()
        return contents


def weights_text(weights: np.ndarray, header: list[str], terms: TermSet = TERMS) -> str:
    """The text of a weights file of the run."""
    return render(as_mapping(weights, terms), [f"{IMPROVED} {line}" for line in header], terms)


def load_state(path: Path) -> ImproveState:
    """Read `improve.json`; raises LearnError."""
    with read_state(path, FORMAT, "an improve") as data:
        state = ImproveState(
            plan=Plan.from_json(data["plan"]),
            start_name=str(data["start"]),
            changes_use=bool(data["changes_use"]),
            weights=tuple(data["weights"]),
            rounds=tuple(TermsRound.from_json(found) for found in data["rounds"]),
            in_use=int(data["in_use"]),
            seconds=float(data["seconds"]),
        )
    if len(state.weights) % len(state.plan.terms):
        raise LearnError(f"'{path}' is of an evaluation with other terms: give a new folder")
    return state


_ANEW = "put their file back as it was, or give a new folder"
GAMES, CANDIDATE, FIT = "games.pgn", "candidate.txt", "fit.json"
_OUTCOMES = OUTCOMES | {
    SAME: "nothing new was learned: no match",
    WORSE: "worse on games kept aside: no match",
}


@dataclass(frozen=True)
class RoundFit:
    """The result of a fit: the weights, the number of games and positions, and the error on validation games."""

    weights: np.ndarray
    games: int
    positions: int
    error_before: float
    error_after: float


@dataclass(frozen=True)
class TermsLearner:
    """Learns weights in `folder`. `paths` are the files that receive proven weights, None to leave these there."""

    folder: Folder
    say: Say
    paths: WeightsPaths | None = None

    def best(self, _: ImproveState) -> Path:
        """See Learner."""
        return self.folder.best

    def in_use(self, state: ImproveState) -> Path | None:
        """See Learner."""
        return self.paths.target if self.paths is not None and state.in_use else None

    def adopt(self, state: ImproveState) -> ImproveState:
        """See Learner."""
        number = state.last_proven
        if self.paths is None or number <= state.in_use:
            return state
        content, target = read_user_file(self.folder.best, WEIGHTS), self.paths.target
        if not is_there(target) or read_user_file(target, WEIGHTS) != content:  # else a run was killed right after
            replace_weights(self.paths, content, self._install_note)
        return replace(state, in_use=number)

    def _install_note(self, line: str) -> None:
        self.say(line)
        self.folder.log(line)

    def round(self, state: ImproveState, context: StepContext) -> TermsRound:
        """See Learner."""
        number = len(state.rounds) + 1
        plan, best, folder = state.plan, state.best, self.folder.of_round(number)
        if not is_there(folder / FIT):
            self._check_games(plan, number)
        context.events.say(f"Round {number}: {plan.games} games at {plan.nodes} nodes a move")
        play_games(plan, number, _evaluation(best, plan), folder, context, pgn=folder / GAMES)
        games = [self.folder.of_round(each) / GAMES for each in plan.learns_from(number)]
        fitted = fit_round(plan, number, best, games, folder, context)
        context.events.say(
            f"  learned from {fitted.games} games, {fitted.positions} positions; error on games kept aside "
            f"{fitted.error_before:.6f} -> {fitted.error_after:.6f}"
        )
        verdict, tally = _proved(state, number, fitted, folder, context)
        elo, elo_error = elo_of(tally)
        from_start, from_start_error = _from_start(state, number, verdict, fitted, folder, context)
        return TermsRound(
            number=number,
            verdict=verdict,
            games=fitted.games,
            positions=fitted.positions,
            error_before=fitted.error_before,
            error_after=fitted.error_after,
            match_games=tally.games,
            elo=elo,
            elo_error=elo_error,
            from_start=from_start,
            from_start_error=from_start_error,
            weights=tuple(fitted.weights.tolist()),
        )

    def _check_games(self, plan: Plan, number: int) -> None:
        """Raise LearnError unless the earlier rounds that a round learns from have the games that they played."""
        for each in plan.learns_from(number)[:-1]:
            path = self.folder.of_round(each) / GAMES
            back = f"round {number} learns from them; put the file back as it was, or give a new folder"
            if not is_there(path):
                raise LearnError(f"'{path}', the games of round {each}, is missing: {back}")
            if (count := _games_in(path)) < plan.games:
                raise LearnError(f"'{path}' has {count} of the {plan.games} games of round {each}: {back}")

    def line(self, found: TermsRound) -> str:
        """See Learner."""
        return "; ".join(outcome_words(found, f"Round {found.number}: {_OUTCOMES[found.verdict]}"))


def _games_in(path: Path) -> int:
    """The number of games in a PGN file of a round; raises OSError."""
    with open_user_file(path, KIND_OF_GAMES) as file:
        return sum(line.startswith(b"[Result ") for line in file)


def _proved(
    state: ImproveState, number: int, fitted: RoundFit, folder: Path, context: StepContext
) -> tuple[str, Tally]:
    """The result of the match of the new weights against the best, and its games."""
    plan, best = state.plan, state.best
    if _are_same(fitted.weights, best):
        return SAME, Tally()
    if fitted.error_after > fitted.error_before:
        return WORSE, Tally()
    trial = plan.trial(number)
    announce(trial, context)
    players = _evaluation(fitted.weights, plan), _evaluation(best, plan)
    tally = play_match(*players, trial, folder / "match.state", context)
    return trial.test.verdict(tally.counts) or OPEN, tally


def _from_start(
    state: ImproveState, number: int, verdict: str, fitted: RoundFit, folder: Path, context: StepContext
) -> tuple[float | None, float | None]:
    """The Elo of the new best against the start, and its error, by a separate match."""
    plan, rounds = state.plan, state.rounds
    if verdict != "H1":
        return (rounds[-1].from_start, rounds[-1].from_start_error) if rounds else (None, None)
    if not plan.gauge:
        return None, None
    players = _evaluation(fitted.weights, plan), _evaluation(np.array(state.weights), plan)
    trial, path = plan.gauge_trial(number), folder / "gauge.state"
    return elo_of(play_match(*players, trial, path, context, decides=False))


def _evaluation(weights: np.ndarray, plan: Plan) -> LinearEvaluation:
    return LinearEvaluation(weights, terms=plan.terms)


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets of weights, of one phase or two, are the same."""
    shorter, longer = sorted((one, other), key=len)
    return np.array_equal(np.tile(shorter, len(longer) // len(shorter)), longer)


def fit_round(
    plan: Plan, number: int, best: np.ndarray, games: list[Path], folder: Path, context: StepContext
) -> RoundFit:
    """Learn from the games of these files and write the candidate to the folder. Raises LearnError.

    Validation games are of the newest file only: the best weights have learned from the others.
    """
    if is_there(folder / FIT):
        return _kept_fit(folder, plan.terms)
    settings, terms = plan.settings(number), plan.terms
    start = in_two_phases(best, len(terms)) if plan.phases == 2 else best
    options = ReadOptions(plan.selection, best, needs_scores=settings.target.needs_scores, terms=terms)
    found = read_rows(games, options, Events(progressed=context.events.progressed))
    sample = found.sample(settings, found.games - plan.games)
    learned = learn(sample, start, settings, FitCallback(), terms)
    if learned.interrupted:
        raise StepStoppedError
    fitted = {
        "games": found.games,
        "positions": len(found.rows),
        "error_before": learned.before.valid,
        "error_after": learned.after.valid,
    }
    origin = f"round {number}, from {found.games} games, {len(found.rows)} positions"
    text = weights_text(learned.end.weights, [origin], terms)
    write_whole(folder / CANDIDATE, text.encode())
    write_whole(folder / FIT, as_json(fitted))
    return _kept_fit(folder, terms)


def _kept_fit(folder: Path, terms: TermSet) -> RoundFit:
    """The fit that the folder of a round holds; raises LearnError."""
    path = folder / FIT
    with kept_fit(path, "a round") as found:
        errors = float(found["error_before"]), float(found["error_after"])
        return RoundFit(load(folder / CANDIDATE, terms), int(found["games"]), int(found["positions"]), *errors)


def begin(
    path: Path,
    weights: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
    of_set: str | None = None,
) -> Finished[ImproveState]:
    """Run in the folder `path`, from the file `weights`, None for those in use; `given` are settings of the Plan.

    With `of_set`, the name of a set of terms, it runs from the values of the pieces alone, and `weights` is None.
    An existing folder keeps its settings, and `given` must agree with them. Weights are put in use only if the run
    began with those in use. Raises LearnError, WeightsError, MatchError and OSError.
    """
    with Folder(path) as folder:
        state = folder.load()
        if state is None:
            state = _new(weights, given, of_set)
        else:
            _check_same(path, state, weights, given, of_set)
            events.say(f"Continuing in '{path}' after {counted(len(state.rounds), 'round')}")
        paths = _paths_in_use(path, state) if state.changes_use else None
        if paths is not None:
            paths.check_writable()
        return Loop(folder, state, TermsLearner(folder, events.say, paths), until, events, threads).run()


def _paths_in_use(path: Path, state: ImproveState) -> WeightsPaths:
    """The files of the weights in use; raises LearnError where the run in the folder `path` has improved others."""
    paths, began = weights_paths(None), weights_paths(state.start_name)
    if writable(str(paths.target)) != writable(str(began.target)):
        raise LearnError(
            f"'{path}' improves the weights in '{began.target}', and now those in '{paths.source}' are in use: set "
            f"{ENVIRONMENT_VARIABLE} as it was, or give a new folder"
        )
    return paths


def _new(weights: str | None, given: Mapping[str, Any], of_set: str | None) -> ImproveState:
    """The state of a new folder; raises LearnError and WeightsError."""
    if of_set is None:
        terms, start = load_any(active_file(weights))
    else:
        terms = set_named(of_set)
        start = pieces_alone(terms)
    plan = Plan(**given, set=terms.name, terms_version=terms.version).check()
    start = start_of(start, plan.phases, len(terms))
    return ImproveState(
        plan=plan,
        start_name=_name_of(weights, of_set),
        changes_use=weights is None and of_set is None,
        weights=tuple(start.tolist()),
    )


def _name_of(weights: str | None, of_set: str | None) -> str:
    """What a run begins with, as its state keeps it."""
    return str(writable(str(active_file(weights).absolute()))) if of_set is None else f"the pieces alone, set {of_set}"


def _check_same(
    path: Path, state: ImproveState, weights: str | None, given: Mapping[str, Any], of_set: str | None
) -> None:
    """Raise LearnError if `given`, the start or the code of the terms differs from that of the folder."""
    state.plan.check_same(given, path)
    if state.plan.terms.version != state.plan.terms_version:
        raise LearnError(f"the terms of the set '{state.plan.set}' have changed since '{path}' was begun: {_ANEW}")
    asked = _name_of(weights, of_set)
    if (weights is not None or of_set is not None) and asked != state.start_name:
        raise LearnError(f"'{path}' began with '{state.start_name}', not '{weights or asked}'; give a new folder")
