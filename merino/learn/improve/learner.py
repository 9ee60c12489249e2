"""A run of `improve`: its settings, state and folder, its start, and what each of its rounds does.

It begins in a new folder or where the last run stopped. `best.txt` has the best weights, `start.txt` those at the
start.

A round plays games of the best, learns weights from them, and plays the deciding match, and one that measures.

An interrupted step continues: games and matches from their own states; learning takes seconds and is repeated with the
same result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from merino.core.common import files, sealed, text
from merino.eval.linear import family, registry, sets
from merino.eval.linear import weights as weights_files
from merino.learn import judging, procedure, reading, request
from merino.learn.improve import rounds
from merino.learn.improve.rounds import StepContext, play_games
from merino.learn.sample import split
from merino.match.games import Tally

DEFAULT_FOLDER = "improve"  # of the user's data, for a run that names no other
BEST, START = "best.txt", "start.txt"
_COUNTS, _ERRORS = ("games", "positions"), ("error_before", "error_after")
_COLUMNS = dict.fromkeys(("round", "verdict", *_COUNTS), "") | dict.fromkeys(_ERRORS, ".6f") | {"match_games": ""}
_COLUMNS |= dict.fromkeys(("elo", "elo_error", "from_start", "from_start_error"), ".1f")


@dataclass(frozen=True)
class Plan(rounds.RoundPlan):
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
    positions: request.Quiet = request.Quiet.ANY
    per_game: int | None = None
    set: str = registry.TERMS.name
    terms_version: str = registry.TERMS.version

    def check(self) -> Self:
        """See RoundPlan."""
        last, terms = self.last or len(self.terms), len(self.terms)
        if not 1 <= self.first <= last <= terms:
            raise request.LearnError(f"terms are numbered 1..{terms}, first before last; not {self.first} {last}")
        if self.phases not in (1, 2):
            raise request.LearnError(f"a weight has one value or two, not {self.phases}")
        rounds.check_share(self.share)
        return super().check()

    @property
    def terms(self) -> registry.TermSet:
        """The set of terms that are learned."""
        return sets.set_named(self.set)

    def evaluation(self, weights: Sequence[float] | np.ndarray) -> family.LinearEvaluation:
        """The evaluation by these weights."""
        return family.LinearEvaluation(np.array(weights), terms=self.terms)

    def settings(self, number: int) -> request.Settings:
        """The settings of learning in a round."""
        target, seed = request.Target(self.share), self.seed_of(number, 1)
        settings = request.Settings(self.first, self.last, phases=self.phases, target=target, decay=None, seed=seed)
        return settings.of_set(self.terms)

    @property
    def selection(self) -> request.Selection:
        """Which positions of the games are learned from."""
        return request.Selection(positions=self.positions, per_game=self.per_game)


@dataclass(frozen=True, kw_only=True)
class TermsRound(rounds.Round):
    """A finished round: the errors on validation games before and after learning, and the weights learned."""

    error_before: float
    error_after: float
    weights: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ImproveState(rounds.LoopState):
    """The finished rounds of a run.

    `weights` are those at the start; `changes_use` says that they were those in use, so that proven weights replace
    them, and `in_use` is the last round for which this was done, 0 for none.
    """

    command, columns = "improve", _COLUMNS

    plan: Plan
    rounds: tuple[TermsRound, ...] = ()
    changes_use: bool
    weights: tuple[float, ...]
    in_use: int = 0

    @property
    def best(self) -> np.ndarray:
        """The best weights so far, of one phase or two."""
        proven = [found.weights for found in self.rounds if found.is_proven]
        return np.array(proven[-1] if proven else self.weights)

    @classmethod
    def load(cls, path: Path) -> Self:
        """See LoopState."""
        state = super().load(path)
        if len(state.weights) % len(state.plan.terms):
            raise request.LearnError(f"'{path}' is of an evaluation with other terms: give a new folder")
        return state


GAMES, CANDIDATE, FIT = "games.pgn", "candidate.txt", "fit.json"
_OUTCOMES = rounds.OUTCOMES | {
    rounds.SAME: "nothing new was learned: no match",
    rounds.WORSE: "worse on games kept aside: no match",
}


@dataclass(frozen=True)
class RoundFit:
    """The result of a fit: the weights, the number of games and positions, and the error on validation games."""

    weights: np.ndarray
    games: int
    positions: int
    error_before: float
    error_after: float

    def is_new(self, best: np.ndarray) -> bool:
        """Whether its weights are others than these, of one phase or two."""
        shorter, longer = sorted((self.weights, best), key=len)
        return not np.array_equal(np.tile(shorter, len(longer) // len(shorter)), longer)


class Folder(rounds.RunFolder[ImproveState]):
    """The folder of a run of `improve`."""

    state_kind = ImproveState
    say: request.Say = request.SILENT.say
    paths: procedure.WeightsPaths | None = None  # of the files that receive proven weights, None to leave these here

    def best(self, _: ImproveState) -> Path:
        """See RunFolder."""
        return self.path / BEST

    def contents(self, state: ImproveState) -> dict[str, bytes]:
        """See RunFolder."""
        best = weights_text(state.best, [f"the best of {text.counted(len(state.rounds), 'round')}"], state.plan.terms)
        contents = {rounds.TABLE: state.table().encode(), BEST: best.encode()}
        if not files.is_there(self.path / START):
            origin = f"the start, as in {state.start_name}"
            contents[START] = weights_text(np.array(state.weights), [origin], state.plan.terms).encode()
        return contents

    def in_use(self, state: ImproveState) -> Path | None:
        """See RunFolder."""
        return self.paths.target if self.paths is not None and state.in_use else None

    def adopt(self, state: ImproveState) -> ImproveState:
        """See RunFolder."""
        number, paths = state.last_proven, self.paths
        if paths is None or number <= state.in_use:
            return state

        def note(line: str) -> None:
            self.say(line)
            self.log(line)

        content = files.read_user_file(self.path / BEST, files.WEIGHTS)
        is_there = files.is_there(paths.target)  # with this content, if a run was killed right after
        if not is_there or files.read_user_file(paths.target, files.WEIGHTS) != content:
            procedure.replace_weights(paths, content, note)
        return replace(state, in_use=number)

    def round(self, state: ImproveState, context: StepContext) -> TermsRound:
        """See RunFolder."""
        number, plan, say = len(state.rounds) + 1, state.plan, context.events.say
        folder = self.of_round(number)
        games = [self.of_round(each) / GAMES for each in plan.learns_from(number)]
        for path in () if files.is_there(folder / FIT) else games[:-1]:
            if not files.is_there(path):
                raise request.LearnError(
                    f"'{path}' is missing, and round {number} learns from its games; {rounds.BACK}"
                )
        say(f"Round {number}: {plan.games} games at {plan.nodes} nodes a move")
        play_games(plan, number, plan.evaluation(state.best), folder, context, pgn=folder / GAMES)
        fitted = fit_round(plan, number, state.best, games, folder, context)
        say(
            f"  learned from {fitted.games} games, {fitted.positions} positions; error on games kept aside "
            f"{fitted.error_before:.6f} -> {fitted.error_after:.6f}"
        )
        new, start = plan.evaluation(fitted.weights), {"from_start": lambda: plan.evaluation(state.weights)}
        if not fitted.is_new(state.best):
            found = rounds.outcome(rounds.SAME, Tally())
        elif fitted.error_after > fitted.error_before:
            found = rounds.outcome(rounds.WORSE, Tally())
        else:
            found = self.decided(state, new, plan.evaluation(state.best), context)
        found |= self.gauged(state, found["verdict"], new, start, context)
        return TermsRound(number=number, **found, **vars(fitted) | {"weights": tuple(fitted.weights.tolist())})

    def line(self, found: TermsRound) -> str:
        """See RunFolder."""
        return "; ".join(rounds.outcome_words(found, f"Round {found.number}: {_OUTCOMES[found.verdict]}"))


def weights_text(weights: np.ndarray, header: list[str], terms: registry.TermSet = registry.TERMS) -> str:
    """The text of a weights file of the run."""
    header = [f"{weights_files.IMPROVED} {line}" for line in header]
    return weights_files.render(weights_files.as_mapping(weights, terms), header, terms)


def fit_round(
    plan: Plan, number: int, best: np.ndarray, games: list[Path], folder: Path, context: StepContext
) -> RoundFit:
    """Learn from the games of these files and write the candidate to the folder. Raises LearnError.

    Validation games are of the newest file only: the best weights have learned from the others.
    """
    settings, terms = plan.settings(number), plan.terms
    if files.is_there(folder / FIT):
        return _kept_fit(folder, terms)
    start = reading.start_of(best, plan.phases, len(terms))
    options = reading.ReadOptions(plan.selection, best, needs_scores=settings.target.needs_scores, terms=terms)
    found = reading.read_rows(games, options, request.Events(progressed=context.events.progressed))
    learned = judging.learn(split(found.rows, settings, found.games - plan.games), start, settings, terms)
    if learned.interrupted:
        raise rounds.StepStoppedError
    values = found.games, len(found.rows), learned.before.valid, learned.after.valid
    fitted = dict(zip((*_COUNTS, *_ERRORS), values, strict=True))
    origin = f"round {number}, from {found.games} games, {len(found.rows)} positions"
    files.write_whole(folder / CANDIDATE, weights_text(learned.end.weights, [origin], terms).encode())
    files.write_whole(folder / FIT, sealed.as_json(fitted))
    return _kept_fit(folder, terms)


def _kept_fit(folder: Path, terms: registry.TermSet) -> RoundFit:
    """The fit that the folder of a round holds; raises LearnError."""
    return rounds.kept_fit(folder / FIT, RoundFit, "a round", weights=weights_files.load(folder / CANDIDATE, terms))


def begin(
    path: Path,
    weights: str | None,
    given: Mapping[str, Any],
    until: rounds.Until,
    events: request.Events,
    threads: int | None = None,
    of_set: str | None = None,
) -> rounds.Finished[ImproveState]:
    """Run in the folder `path`, from the file `weights`, None for those in use; `given` are settings of the Plan.

    With `of_set`, the name of a set of terms, it runs from the values of the pieces alone, and `weights` is None.
    An existing folder keeps its settings, and `given` must agree with them. Weights are put in use only if the run
    began with those in use. Raises LearnError, WeightsError, MatchError and OSError.
    """
    with Folder(path) as folder:
        start_name = f"the pieces alone, set {of_set}"
        if of_set is None:
            start_name = str(sealed.writable(str(weights_files.active_file(weights).absolute())))
        state, is_named = folder.load(), weights is not None or of_set is not None
        if state is None:
            state = _new(weights, given, of_set, start_name, not is_named)
        else:
            plan = state.plan
            plan.check_same(given, path)
            if plan.terms.version != plan.terms_version:
                raise request.LearnError(
                    f"the terms of '{plan.set}' have changed since '{path}' was begun: {rounds.BACK}"
                )
            if is_named and start_name != state.start_name:
                asked = weights or start_name
                raise request.LearnError(f"'{path}' began with '{state.start_name}', not '{asked}'; give a new folder")
            events.say(f"Continuing in '{path}' after {text.counted(len(state.rounds), 'round')}")
        folder.say = events.say
        if state.changes_use:
            folder.paths = _paths_in_use(path, state)
            folder.paths.check_writable()
        return folder.run(state, until, events, threads)


def _paths_in_use(path: Path, state: ImproveState) -> procedure.WeightsPaths:
    """The files of the weights in use; raises LearnError where the run in the folder `path` has improved others."""
    paths, began = procedure.weights_paths(None), procedure.weights_paths(state.start_name)
    if sealed.writable(str(paths.target)) != sealed.writable(str(began.target)):
        raise request.LearnError(
            f"'{path}' improves the weights in '{began.target}', and now those in '{paths.source}' are in use: set "
            f"{weights_files.ENVIRONMENT_VARIABLE} as it was, or give a new folder"
        )
    return paths


def _new(
    weights: str | None, given: Mapping[str, Any], of_set: str | None, start_name: str, changes_use: bool
) -> ImproveState:
    """The state of a new folder; raises LearnError and WeightsError."""
    if of_set is None:
        terms, start = weights_files.load_any(weights_files.active_file(weights))
    else:
        terms = sets.set_named(of_set)
        start = rounds.pieces_alone(terms)
    plan = Plan(**given, set=terms.name, terms_version=terms.version).check()
    start = reading.start_of(start, plan.phases, len(terms))
    return ImproveState(plan=plan, start_name=start_name, changes_use=changes_use, weights=tuple(start.tolist()))
