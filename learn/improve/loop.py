"""The loop: play, learn, prove, keep or drop, until the time or the rounds are used up, or Ctrl-C."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from merino.inner.core.common.user_files import WEIGHTS, is_there, read_user_file
from merino.inner.core.common.work import cores
from merino.inner.learn.improve import steps
from merino.inner.learn.improve.plan import Plan
from merino.inner.learn.improve.state import Folder, LoopState, Round
from merino.inner.learn.improve.steps import RoundFit, StepContext, StepStoppedError
from merino.inner.learn.installing import WeightsPaths, install
from merino.inner.learn.request import Events
from merino.inner.match.games import Tally
from merino.inner.match.report import duration, signed
from merino.inner.match.statistics import Estimate, estimate

NOTE_EVERY = 30.0  # seconds
SAME, WORSE, OPEN = "same", "worse", "open"
_OUTCOMES = {
    "H1": "stronger: it is the best from now on",
    "H0": "not stronger: dropped",
    OPEN: "not settled: dropped",
    SAME: "nothing new was learned: no match",
    WORSE: "worse on games kept aside: no match",
}


@dataclass(frozen=True)
class Until:
    """When to stop: after `hours` of this run, or at `rounds` rounds in all; None for never."""

    hours: float | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class Improvement:
    """The result of a run: its state, the file of the best weights, and whether Ctrl-C ended it.

    `in_use` is the file that received proven weights, None if there were none.
    """

    state: LoopState
    best: Path
    interrupted: bool
    in_use: Path | None = None


class Improver:
    """A run in its folder."""

    def __init__(
        self,
        folder: Folder,
        state: LoopState,
        until: Until,
        events: Events,
        threads: int | None = None,
        paths: WeightsPaths | None = None,
    ) -> None:
        """`paths` are the files that receive proven weights, None to leave these in the folder."""
        self._folder, self._state, self._until = folder, state, until
        self._events, self._paths = events, paths
        self._context = StepContext(threads or cores(), events, self._look)
        self._began = self._counted = time.monotonic()

    def run(self) -> Improvement:
        """Continue with the rounds; raises LearnError, MatchError and OSError, after keeping the work so far."""
        self._folder.save(self._state)
        interrupted = False
        try:
            self._put_in_use()  # proved by a run that was killed
            while not self._is_over():
                found = self._round(len(self._state.rounds) + 1)
                self._counted = time.monotonic()
                self._state = replace(self._state.with_round(found), seconds=0.0)
                self._folder.save(self._state)
                self._put_in_use()
        except (StepStoppedError, KeyboardInterrupt):
            interrupted = not self._is_time_up()
        finally:
            self._note_time()
        in_use = self._paths.target if self._paths and self._state.in_use else None
        return Improvement(self._state, self._folder.best, interrupted, in_use)

    def _seconds(self) -> float:
        """The seconds of the present round, in earlier runs too."""
        return self._state.seconds + time.monotonic() - self._counted

    def _is_time_up(self) -> bool:
        hours = self._until.hours
        return hours is not None and time.monotonic() - self._began >= hours * 3600

    def _look(self) -> None:
        """End a match when the time is up; note from time to time how long the round has taken."""
        if self._is_time_up():
            raise KeyboardInterrupt
        if time.monotonic() - self._counted >= NOTE_EVERY:
            self._note_time()

    def _note_time(self) -> None:
        """Save the time of the present round, in case the run is killed."""
        self._state = replace(self._state, seconds=self._seconds())
        self._counted = time.monotonic()
        self._folder.save(self._state)

    def _is_over(self) -> bool:
        rounds = self._until.rounds
        return self._is_time_up() or (rounds is not None and len(self._state.rounds) >= rounds)

    def _put_in_use(self) -> None:
        """Put the best weights in use if a round has proved them since the last time."""
        number = self._state.last_proven
        if self._paths is None or number <= self._state.in_use:
            return
        content, target = read_user_file(self._folder.best, WEIGHTS), self._paths.target
        if not is_there(target) or read_user_file(target, WEIGHTS) != content:  # else a run was killed right after
            install(self._paths, content, self._say)
        self._state = replace(self._state, in_use=number)
        self._folder.save(self._state)

    def _say(self, line: str) -> None:
        self._events.say(line)
        self._folder.log(line)

    def _round(self, number: int) -> Round:
        """Play, learn and prove; raises StepStoppedError."""
        plan, best, folder = self._state.plan, self._state.best, self._folder.of_round(number)
        self._events.say(f"Round {number}: {plan.games} games at {plan.nodes} nodes a move")
        steps.play(plan, number, best, folder, self._context)
        window = range(max(1, number - plan.window + 1), number + 1)
        games = [self._folder.of_round(each) / steps.GAMES for each in window]
        fitted = steps.fit_round(plan, number, best, games, folder, self._context)
        self._events.say(
            f"  learned from {fitted.games} games, {fitted.positions} positions; error on games kept aside "
            f"{fitted.error_before:.6f} -> {fitted.error_after:.6f}"
        )
        verdict, tally = self._proved(number, fitted, best, folder)
        elo = estimate(tally.counts) if tally.games else None
        start = self._from_start(number, verdict, fitted, folder)
        found = Round(
            number=number,
            verdict=verdict,
            games=fitted.games,
            positions=fitted.positions,
            error_before=fitted.error_before,
            error_after=fitted.error_after,
            match_games=tally.games,
            elo=None if elo is None else elo.elo,
            elo_error=None if elo is None else elo.elo_error,
            from_start=start[0],
            from_start_error=start[1],
            seconds=self._seconds(),
            weights=tuple(fitted.weights.tolist()),
        )
        self._say(_line_of(found, plan, tally))
        return found

    def _proved(self, number: int, fitted: RoundFit, best: np.ndarray, folder: Path) -> tuple[str, Tally]:
        """The result of the match of the new weights against the best, and its games."""
        if _are_same(fitted.weights, best):
            return SAME, Tally()
        if fitted.error_after > fitted.error_before:
            return WORSE, Tally()
        plan = self._state.plan
        trial = plan.trial(number)
        low, high = trial.test.bounds
        most = f"{trial.most_games} games at most"
        self._events.say(f"  {trial.test} at {trial.time_control} a move, settled at {low:.2f} or {high:.2f}, {most}")
        state = folder / "match.state"
        tally = steps.play_trial(fitted.weights, best, trial, state, self._context, terms=plan.terms)
        return trial.test.verdict(tally.counts) or OPEN, tally

    def _from_start(
        self, number: int, verdict: str, fitted: RoundFit, folder: Path
    ) -> tuple[float | None, float | None]:
        """The Elo of the new best against the start, and its error, by a separate match."""
        plan, rounds = self._state.plan, self._state.rounds
        if verdict != "H1":
            return (rounds[-1].from_start, rounds[-1].from_start_error) if rounds else (None, None)
        if not plan.gauge:
            return None, None
        start = np.array(self._state.weights)
        trial = plan.gauge_trial(number)
        state, terms = folder / "gauge.state", plan.terms
        tally = steps.play_trial(fitted.weights, start, trial, state, self._context, decides=False, terms=terms)
        found: Estimate = estimate(tally.counts)
        return found.elo, found.elo_error


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets of weights, of one phase or two, are the same."""
    shorter, longer = sorted((one, other), key=len)
    return np.array_equal(np.tile(shorter, len(longer) // len(shorter)), longer)


def _line_of(found: Round, plan: Plan, tally: Tally) -> str:
    """A round in a line of the log."""
    words = [f"Round {found.number}: {_OUTCOMES[found.verdict]}"]
    if found.elo is not None and found.elo_error is not None:
        ratio = plan.trial(found.number).test.llr(tally.counts)
        words.append(f"{found.match_games} games, Elo {signed(found.elo, found.elo_error)}, LLR {ratio:.2f}")
    if found.from_start is not None and found.from_start_error is not None:
        words.append(f"the best is {signed(found.from_start, found.from_start_error)} from the start")
    return "; ".join([*words, duration(found.seconds)])
