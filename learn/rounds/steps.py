"""The steps that all rounds have: games of the best against itself, the deciding match, matches that only measure.

An interrupted step continues from its own state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merino.inner.core.common.sealed import from_json
from merino.inner.core.common.user_files import STATE, faults_named, read_user_file
from merino.inner.eval.evaluation import Evaluation
from merino.inner.learn.errors import LearnError
from merino.inner.learn.request import Events
from merino.inner.learn.rounds.state import OPEN, WIN, Round, RoundPlan
from merino.inner.match.config import MatchConfig
from merino.inner.match.games import Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import StrengthTest
from merino.inner.match.report import count_line, duration, signed
from merino.inner.match.runner import MatchOutput, MatchResult, run_match
from merino.inner.match.statistics import Estimate, Sprt, estimate
from merino.inner.match.time_control import TimeControl

OUTCOMES = {
    "H1": "stronger: it is the best from now on",
    "H0": "not stronger: dropped",
    OPEN: "not settled: dropped",
}


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
        plan.games,
        plan.seed_of(number, 0),
        None if openings is None else str(openings),
        adjudication=WIN,
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
    config = MatchConfig(players, trial.time_control, trial.most_games, trial.seed, adjudication=trial.adjudication)
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
