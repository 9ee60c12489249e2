"""Runs a match: plays its pairs as an ordered map of work; counts, shows, tests and saves its games.

The games and their order are the same for every executor and number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from engine.board.fen import FenError
from engine.common.runs import Run, RunName, at_work, begun
from engine.common.work import ordered, threads
from formats.openings import OpeningError
from match.config import Board, MatchConfig, OpeningSource
from match.errors import MatchError
from match.games import Game, Tally
from match.keeping import MatchKeeper
from match.pgn import write_game
from match.positions import PositionFile
from match.report import GameRate, live_line
from match.statistics import Estimate, Sprt, estimate

AHEAD = 4  # pairs per thread that may be finished before an earlier one is
SHOW_EVERY = 0.5  # seconds
SAVE_EVERY = 2.0


@dataclass(frozen=True)
class MatchOutput:
    """What a match writes besides its result."""

    show: Callable[[str], object] | None = None  # called with the live line several times a second
    pgn: Path | None = None  # games are appended to it
    state: Path | None = None  # the match is resumed from it after an interruption
    event: str = "Merino match"
    line: Callable[[Tally, int, float | None, Sprt | None], str] = live_line  # what is shown
    say: Callable[[str], object] | None = None  # called with remarks, in sentences
    positions: Path | None = None  # packed positions are appended to it


@dataclass
class MatchResult:
    """A match, or the part of it that was played."""

    tally: Tally
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def estimate(self) -> Estimate:
        """The strength of the first player against the second, with its error."""
        return estimate(self.tally.counts)


class BrokenOffError(MatchError):
    """A match that cannot continue; `result` is the part that was played."""

    def __init__(self, reason: str, result: MatchResult) -> None:
        super().__init__(reason)
        self.result = result


def run_match(
    config: MatchConfig,
    threads: int,
    sprt: Sprt | None = None,
    output: MatchOutput | None = None,
    executor: Executor | None = None,
) -> MatchResult:
    """Play until all games are played, the test is decided, or Ctrl-C; `threads` pairs at a time.

    `executor` plays them; None for threads of this process. Resumes from the state file, if there is one. Raises
    MatchError, or BrokenOffError once games have been played.
    """
    return _Match(config, sprt, output or MatchOutput()).run(threads, executor)


class _Match:
    """A match in progress."""

    def __init__(self, config: MatchConfig, sprt: Sprt | None, output: MatchOutput) -> None:
        self._config, self._sprt, self._output = config, sprt, output
        self._day = date.today()
        skip, path = config.variety.early, output.positions
        self._positions = None if path is None else PositionFile(path, skip)
        self._keeper = MatchKeeper(output.pgn, output.state, config.identity(), self._positions)
        self._result = MatchResult(*self._keeper.load())
        self._first = self._result.tally.games
        self._say(self._keeper.catch_up(self._is_over()))
        if self._first and not self._is_over():
            self._say(f"{self._first} of {config.games} games are already played; continuing.")
        self._saved = self._shown = time.monotonic()
        self._began = self._saved - self._result.seconds

    def run(self, threads: int, executor: Executor | None) -> MatchResult:
        """Play."""
        games = play_match(self._config, self._config.games, threads, self._first, executor)
        try:
            self._play(games, GameRate(threads))
        except KeyboardInterrupt:
            self._result.interrupted = True
        except (OpeningError, FenError, MatchError) as error:
            raise BrokenOffError(str(error), self._result) from error
        finally:
            try:
                self._save()
            finally:
                games.close()
        return self._result

    def _play(self, games: Generator[Game, None, None], pace: GameRate) -> None:
        """Count the games, and from time to time save and show the state."""
        while not self._is_over():
            game = next(games)
            now = time.monotonic()
            pace.note(now)
            self._take(game)
            if now - self._saved >= SAVE_EVERY:
                self._save()
            if self._output.show is not None and now - self._shown >= SHOW_EVERY:
                self._shown = now
                self._output.show(self._output.line(self._result.tally, self._config.games, pace.speed, self._sprt))

    def _is_over(self) -> bool:
        """Whether all games are played, or the test is decided; the test is checked after whole pairs."""
        tally = self._result.tally
        if tally.games >= self._config.games:
            return True
        return self._sprt is not None and tally.games % 2 == 0 and bool(self._sprt.verdict(tally.counts))

    def _take(self, game: Game) -> None:
        first, second = self._config.players
        if self._output.pgn is not None:
            self._keeper.add(write_game(game, (first.label, second.label), self._output.event, self._day))
        if self._positions is not None:
            self._positions.add(game)
        self._result.tally.add(game)

    def _save(self) -> None:
        """Write the games and the state; raises BrokenOffError."""
        self._saved = time.monotonic()
        self._result.seconds = self._saved - self._began
        try:
            self._keeper.save(self._result.tally, self._result.seconds)
        except MatchError as error:
            raise BrokenOffError(str(error), self._result) from error

    def _say(self, sentence: str) -> None:
        if sentence and self._output.say is not None:
            self._output.say(sentence)


@dataclass(frozen=True)
class PairTask:
    """The games of one pair to play: plain data, for any process."""

    config: MatchConfig
    pair: int
    numbers: tuple[int, ...]  # of the games; in even ones the first player has White
    run: RunName


class _Table(NamedTuple):
    """The state that a thread keeps from pair to pair."""

    openings: OpeningSource
    board: Board


def play_pair(task: PairTask) -> tuple[Game, ...]:
    """Play the games of a pair; none if its run has ended meanwhile. Raises the errors of boards and openings."""
    with at_work(task.run) as run:
        if run is None:
            return ()
        table = run.kept(lambda: _set_up(task.config, run))
        opening = table.openings.opening(task.pair)
        games = []
        for number in task.numbers:
            game = None if run.is_stopped else table.board.play(number, opening, number % 2 == 0)
            if game is None:
                return ()
            games.append(game)
        return tuple(games)


def _set_up(config: MatchConfig, run: Run) -> _Table:
    table = _Table(config.source(), config.board(run.stop_flag))
    run.watch(table.board)
    return table


def play_match(
    config: MatchConfig, games: int, at_a_time: int, first: int = 0, executor: Executor | None = None
) -> Generator[Game, None, None]:
    """Yield the games of a match from number `first` on, in order. Closing the iterator stops the match.

    `executor` plays `at_a_time` pairs at a time; None for threads of this process. When the match is stopped, running
    games in this process end at once, and those in other processes are dropped. Raises the errors of boards and
    openings.
    """
    pairs = range(first // 2, (games + 1) // 2)
    hands = max(1, min(at_a_time, len(pairs)))
    with ExitStack() as stack:
        workers = executor or stack.enter_context(threads(hands))
        run = stack.enter_context(begun())
        tasks = (
            PairTask(config, pair, tuple(range(max(2 * pair, first), min(2 * pair + 2, games))), run) for pair in pairs
        )
        for played in stack.enter_context(closing(ordered(workers, play_pair, tasks, AHEAD * hands))):
            yield from played
