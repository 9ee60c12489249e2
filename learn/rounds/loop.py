"""The loop: play, learn, prove, keep or drop, until the time or the rounds are used up, or Ctrl-C."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol

from merino.inner.core.common.work import cores
from merino.inner.learn.request import Events
from merino.inner.learn.rounds.state import LoopState, RoundT, RunFolder, StateT
from merino.inner.learn.rounds.steps import StepContext, StepStoppedError

NOTE_EVERY = 30.0  # seconds


@dataclass(frozen=True)
class Until:
    """When to stop: after `hours` of this run, or at `rounds` rounds in all; None for never."""

    hours: float | None = None
    rounds: int | None = None


class Learner(Protocol[StateT, RoundT]):
    """What a round does: one kind of learning."""

    def round(self, state: StateT, context: StepContext) -> RoundT:
        """Play, learn and prove; its time is not filled in. Raises StepStoppedError, and what its steps raise."""

    def line(self, found: RoundT) -> str:
        """A finished round in a line of the log."""

    def adopt(self, state: StateT) -> StateT:
        """The state after the best is in use, where it is to be; raises OSError."""

    def best(self, state: StateT) -> Path:
        """The file of the best."""

    def in_use(self, state: StateT) -> Path | None:
        """The file that received what was proved, None if there was none."""


@dataclass(frozen=True)
class Finished(Generic[StateT]):
    """The result of a run: its state, the file of the best, and whether Ctrl-C ended it.

    `in_use` is the file that received what was proved, None if there was none.
    """

    state: StateT
    best: Path
    interrupted: bool
    in_use: Path | None


class Loop(Generic[StateT, RoundT]):
    """A run in its folder."""

    def __init__(
        self,
        folder: RunFolder[StateT],
        state: StateT,
        learner: Learner[StateT, RoundT],
        until: Until,
        events: Events,
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        """`executor` plays the games, None for so many threads of this process."""
        self._folder, self._state, self._learner = folder, state, learner
        self._until, self._events = until, events
        self._context = StepContext(threads or cores(), events, self._look, executor)
        self._began = self._counted = time.monotonic()

    def run(self) -> Finished[StateT]:
        """Continue with the rounds; raises LearnError, MatchError and OSError, after keeping the work so far."""
        self._folder.save(self._state)
        interrupted = False
        try:
            self._adopt()  # what was proved by a run that was killed
            while not self._is_over():
                found: Any = replace(self._learner.round(self._state, self._context), seconds=self._seconds())
                self._counted = time.monotonic()
                self._say(self._learner.line(found))
                self._state = replace(self._state.with_round(found), seconds=0.0)
                self._folder.save(self._state)
                self._adopt()
        except (StepStoppedError, KeyboardInterrupt):
            interrupted = not self._is_time_up()
        finally:
            self._note_time()
        state, learner = self._state, self._learner
        return Finished(state, learner.best(state), interrupted, learner.in_use(state))

    def _seconds(self) -> float:
        """The seconds of the present round, in earlier runs too."""
        return self._state.seconds + time.monotonic() - self._counted

    def _is_time_up(self) -> bool:
        hours = self._until.hours
        return hours is not None and time.monotonic() - self._began >= hours * 3600

    def _look(self) -> None:
        """End a step when the time is up; note from time to time how long the round has taken."""
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

    def _adopt(self) -> None:
        """Put the best in use, if a round has proved it since the last time."""
        state = self._learner.adopt(self._state)
        if state is not self._state:
            self._state = state
            self._folder.save(self._state)

    def _say(self, line: str) -> None:
        self._events.say(line)
        self._folder.log(line)


def described(state: LoopState[Any, Any]) -> str:
    """How far a run has come, in a sentence."""
    proven = sum(each.is_proven for each in state.rounds)
    return f"{len(state.rounds)} rounds, {proven} of them successful"
