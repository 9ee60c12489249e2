"""The start of a run of `improve`, in a new folder or where the last run stopped, and what each of its rounds does.

A round plays games of the best, learns weights from them, and plays the deciding match, and one that measures.

An interrupted step continues: games and matches from their own states; learning takes seconds and is repeated with the
same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.files import write_whole
from merino.core.common.sealed import as_json, writable
from merino.core.common.text import counted
from merino.core.common.user_files import GAMES as KIND_OF_GAMES
from merino.core.common.user_files import WEIGHTS, is_there, open_user_file, read_user_file
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import in_two_phases
from merino.eval.linear.registry import TermSet
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import ENVIRONMENT_VARIABLE, active_file, load, load_any
from merino.learn.errors import LearnError
from merino.learn.fitting import FitCallback
from merino.learn.improve.state import Folder, ImproveState, Plan, TermsRound, weights_text
from merino.learn.judging import learn
from merino.learn.procedure import WeightsPaths, replace_weights, weights_paths
from merino.learn.reading import ReadOptions, read_rows
from merino.learn.request import Events, Say, start_of
from merino.learn.rounds.loop import (
    OUTCOMES,
    Finished,
    Loop,
    StepContext,
    StepStoppedError,
    Until,
    announce,
    elo_of,
    kept_fit,
    outcome_words,
    play_games,
    play_match,
)
from merino.learn.rounds.state import OPEN, SAME, WORSE, pieces_alone
from merino.match.games import Tally

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
