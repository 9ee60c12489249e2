"""The loop: play, learn, prove, keep or drop, until the time or the rounds are used up, or Ctrl-C.

All rounds have the same steps: games of the best against itself, the deciding match, matches that only measure. An
interrupted step continues from its own state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol

from merino.core.common.sealed import from_json
from merino.core.common.text import counted
from merino.core.common.user_files import STATE, faults_named, read_user_file
from merino.core.common.work import cores
from merino.eval.evaluation import Evaluation
from merino.learn.errors import LearnError
from merino.learn.request import Events
from merino.learn.rounds.state import OPEN, LoopState, Round, RoundPlan, RoundT, RunFolder, StateT
from merino.match.config import CLEAR_WIN, MatchConfig, TimeControl
from merino.match.games import Tally
from merino.match.players import OwnPlayer
from merino.match.prove import StrengthTest
from merino.match.report import count_line, duration, signed
from merino.match.runner import MatchOutput, MatchResult, run_match
from merino.match.statistics import Estimate, Sprt, estimate

NOTE_EVERY = 30.0  # seconds
OUTCOMES = {
    "H1": "stronger: it is the best from now on",
    "H0": "not stronger: dropped",
    OPEN: "not settled: dropped",
}


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
    return f"{counted(len(state.rounds), 'round')}, {proven} of them successful"


class StepStoppedError(Exception):
    """A step was interrupted, by Ctrl-C or because the time is up; its work so far is kept."""


@dataclass(frozen=True)
class StepContext:
    """How to work and report: games at the same time, callbacks, and `poll`, called several times a second.

    `poll` may raise KeyboardInterrupt, to end a step as Ctrl-C does. `executor` plays the games, None for threads.
    """

    threads: int
    events: Events
    poll: Callable[[], object]
    executor: Executor | None = None

    def show(self, line: str) -> None:
        """Show the state of a match."""
        self.events.match_state(line)
        self.poll()


def play_games(
    plan: RoundPlan,
    number: int,
    evaluation: Evaluation,
    folder: Path,
    context: StepContext,
    pgn: Path | None = None,
    positions: Path | None = None,
    openings: Path | None = None,
) -> MatchResult:
    """Let Merino with this evaluation play the games of a round, into a PGN or a file as of `selfplay --positions`.

    `openings` is a file of them, None for random ones. Raises StepStoppedError and MatchError.
    """
    player = OwnPlayer("Merino", evaluation)
    config = MatchConfig(
        (player, player),
        TimeControl(nodes=plan.nodes),
        games=plan.games,
        seed=plan.seed_of(number, 0),
        openings=None if openings is None else str(openings),
        adjudication=CLEAR_WIN,
        random_moves=plan.random_moves(number),
    )
    state, event = folder / "games.state", "Merino self-play"
    output = MatchOutput(context.show, pgn, state, event, count_line, positions=positions)
    return _finished(config, None, output, context)


def play_match(
    new: Evaluation, old: Evaluation, trial: StrengthTest, state: Path, context: StepContext, decides: bool = True
) -> Tally:
    """Play a match, until its test is settled if it decides; raises StepStoppedError and MatchError."""
    players = OwnPlayer("new", new), OwnPlayer("old", old)
    config = MatchConfig(
        players, trial.time_control, games=trial.most_games, seed=trial.seed, adjudication=trial.adjudication
    )
    return _finished(config, trial.test if decides else None, MatchOutput(context.show, state=state), context).tally


def _finished(config: MatchConfig, test: Sprt | None, output: MatchOutput, context: StepContext) -> MatchResult:
    result = run_match(config, context.threads, test, output, context.executor)
    if result.interrupted:
        raise StepStoppedError
    return result


@contextmanager
def kept_fit(path: Path, what: str) -> Iterator[dict[str, Any]]:
    """What the fit of `what`, such as "a round", has left in a file; raises LearnError, also for what it lacks."""
    with faults_named(path, f"the fit of {what}", LearnError):
        yield from_json(read_user_file(path, STATE), str(path))


def announce(trial: StrengthTest, context: StepContext) -> None:
    """Say which match decides."""
    low, high = trial.test.bounds
    most = f"{trial.most_games} games at most"
    context.events.say(f"  {trial.test} at {trial.time_control} a move, settled at {low:.2f} or {high:.2f}, {most}")


def elo_of(tally: Tally) -> tuple[float | None, float | None]:
    """The Elo of a match and its error, None without a game."""
    found: Estimate | None = estimate(tally.counts) if tally.games else None
    return (None, None) if found is None else (found.elo, found.elo_error)


def outcome_words(found: Round, words: str) -> list[str]:
    """The parts of a round's line in the log: its verdict, given in `words`, its Elo, that from the start, its time."""
    parts = [words]
    if found.elo is not None and found.elo_error is not None:
        parts.append(f"{found.match_games} games, Elo {signed(found.elo, found.elo_error)}")
    if found.from_start is not None and found.from_start_error is not None:
        parts.append(f"the best is {signed(found.from_start, found.from_start_error)} from the start")
    return [*parts, duration(found.seconds)]
