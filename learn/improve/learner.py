"""What a round of `improve` does: it learns the weights of terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from merino.inner.core.common.user_files import WEIGHTS, is_there, read_user_file
from merino.inner.learn.improve import steps
from merino.inner.learn.improve.state import Folder, ImproveState, TermsRound
from merino.inner.learn.improve.steps import RoundFit
from merino.inner.learn.installing import replace_weights
from merino.inner.learn.request import Say
from merino.inner.learn.rounds.state import OPEN, SAME, WORSE
from merino.inner.learn.rounds.steps import OUTCOMES, StepContext, announce, elo_of, outcome_words
from merino.inner.learn.run_files import WeightsPaths
from merino.inner.match.games import Tally

_OUTCOMES = OUTCOMES | {
    SAME: "nothing new was learned: no match",
    WORSE: "worse on games kept aside: no match",
}


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
        context.events.say(f"Round {number}: {plan.games} games at {plan.nodes} nodes a move")
        steps.play(plan, number, best, folder, context)
        games = [self.folder.of_round(each) / steps.GAMES for each in plan.learns_from(number)]
        fitted = steps.fit_round(plan, number, best, games, folder, context)
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

    def line(self, found: TermsRound) -> str:
        """See Learner."""
        return "; ".join(outcome_words(found, f"Round {found.number}: {_OUTCOMES[found.verdict]}"))


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
    tally = steps.play_trial(fitted.weights, best, trial, folder / "match.state", context, terms=plan.terms)
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
    start, trial = np.array(state.weights), plan.gauge_trial(number)
    path, terms = folder / "gauge.state", plan.terms
    return elo_of(steps.play_trial(fitted.weights, start, trial, path, context, decides=False, terms=terms))


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets of weights, of one phase or two, are the same."""
    shorter, longer = sorted((one, other), key=len)
    return np.array_equal(np.tile(shorter, len(longer) // len(shorter)), longer)
