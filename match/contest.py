"""A match from its terms to its result: played, counted, shown, tested, kept on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from engine.board.fen import FenError
from formats.openings import OpeningError
from match.errors import MatchError
from match.games import Game, Tally
from match.keeping import Keeper
from match.pgn import write_game
from match.report import Pace, live_line
from match.runner import play_match
from match.statistics import Sprt
from match.terms import Terms

SHOW_EVERY = 0.5  # seconds
SAVE_EVERY = 2.0


@dataclass(frozen=True)
class Outlets:
    """Where a match goes besides its result."""

    show: Callable[[str], object] | None = None  # gets the live line, several times a second
    pgn: Path | None = None  # to the end of which games are written
    state: Path | None = None  # to go on from after an interruption
    event: str = "Merino match"
    line: Callable[[Tally, int, float | None, Sprt | None], str] = live_line  # what is shown
    say: Callable[[str], object] | None = None  # gets what else there is to know, in sentences


@dataclass
class Result:
    """A match as far as it was played."""

    tally: Tally
    seconds: float = 0.0
    interrupted: bool = False


class BrokenOffError(MatchError):
    """A match that cannot go on; `result` is what there is of it."""

    def __init__(self, reason: str, result: Result) -> None:
        super().__init__(reason)
        self.result = result


def hold(
    terms: Terms,
    threads: int,
    sprt: Sprt | None = None,
    outlets: Outlets | None = None,
    executor: Executor | None = None,
) -> Result:
    """Play until the games are played, the test is settled, or Ctrl-C; `threads` pairs at a time.

    `executor` plays them, None for threads of this process. Goes on where the state file stops, if there is one.
    Raises MatchError, and BrokenOffError once games are played.
    """
    return _Contest(terms, sprt, outlets or Outlets()).run(threads, executor)


class _Contest:
    """A match under way."""

    def __init__(self, terms: Terms, sprt: Sprt | None, outlets: Outlets) -> None:
        self._terms, self._sprt, self._outlets = terms, sprt, outlets
        self._day = date.today()
        self._keeper = Keeper(outlets.pgn, outlets.state, terms.identity())
        self._result = Result(*self._keeper.load())
        self._first = self._result.tally.games
        self._say(self._keeper.catch_up(self._is_over()))
        if self._first and not self._is_over():
            self._say(f"{self._first} of {terms.games} games are played; going on.")
        self._saved = self._shown = time.monotonic()
        self._began = self._saved - self._result.seconds

    def run(self, threads: int, executor: Executor | None) -> Result:
        """Play."""
        games = play_match(self._terms, self._terms.games, threads, self._first, executor)
        try:
            self._play(games, Pace(threads))
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

    def _play(self, games: Generator[Game, None, None], pace: Pace) -> None:
        """Count the games, and from time to time save and show what there is."""
        while not self._is_over():
            game = next(games)
            now = time.monotonic()
            pace.note(now)
            self._take(game)
            if now - self._saved >= SAVE_EVERY:
                self._save()
            if self._outlets.show is not None and now - self._shown >= SHOW_EVERY:
                self._shown = now
                self._outlets.show(self._outlets.line(self._result.tally, self._terms.games, pace.speed, self._sprt))

    def _is_over(self) -> bool:
        """Whether all games are played, or the test is settled, which is looked at after whole pairs."""
        tally = self._result.tally
        if tally.games >= self._terms.games:
            return True
        return self._sprt is not None and tally.games % 2 == 0 and bool(self._sprt.verdict(tally.counts))

    def _take(self, game: Game) -> None:
        first, second = self._terms.players
        if self._outlets.pgn is not None:
            self._keeper.add(write_game(game, (first.label, second.label), self._outlets.event, self._day))
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
        if sentence and self._outlets.say is not None:
            self._outlets.say(sentence)
