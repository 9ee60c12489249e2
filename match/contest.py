"""A match from its terms to its result: played, counted, shown, tested, kept on disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from engine.command import CommandError
from engine.fen import FenError
from engine.files import write_whole
from match.board import OwnBoard
from match.books import FileOpenings
from match.driven import DrivenBoard
from match.effort import NO_VARIETY, Adjudication, Effort, Variety
from match.games import Game, Tally
from match.openings import PLIES, OpeningError, RandomOpenings
from match.pgn import write_game
from match.players import OwnPlayer, Player
from match.report import live_line
from match.runner import Board, OpeningSource, Setup, play_match
from match.statistics import Sprt

SHOW_EVERY = 0.5  # seconds
SAVE_EVERY = 2.0


@dataclass(frozen=True)
class Terms:
    """All that decides what is played."""

    players: tuple[Player, Player]
    effort: Effort
    games: int = 1000
    seed: int = 1
    openings: str | None = None  # a file; None for random ones
    plies: int | None = None  # of an opening; None for what is usual
    adjudication: Adjudication = field(default_factory=Adjudication)
    variety: Variety = NO_VARIETY
    margin: int = 0  # milliseconds a move may be late

    @property
    def is_compiled(self) -> bool:
        """Whether whole games run as compiled code."""
        return not self.effort.is_timed and all(isinstance(p, OwnPlayer) and p.threads == 1 for p in self.players)

    def board(self, stop_flag: np.ndarray) -> Board:
        """A board with the players at it; raises CommandError."""
        first, second = self.players
        if self.is_compiled and isinstance(first, OwnPlayer) and isinstance(second, OwnPlayer):
            return OwnBoard((first, second), self.effort, self.adjudication, stop_flag, self.variety)
        return DrivenBoard(self.players, self.effort, self.adjudication, stop_flag, self.margin)

    def source(self) -> OpeningSource:
        """Where the openings come from; raises OpeningError."""
        if self.openings is not None:
            return FileOpenings(Path(self.openings).expanduser(), self.seed, self.plies)
        return RandomOpenings(self.seed, PLIES if self.plies is None else self.plies)

    def identity(self) -> dict[str, Any]:
        """What must be the same for a match to be gone on with; not the number of games."""
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in ("players", "games")}
        found["players"] = [player.identity() for player in self.players]
        return json.loads(json.dumps(found, default=asdict))

    def __str__(self) -> str:
        words = [str(self.effort), f"openings {self.openings}" if self.openings else "random openings"]
        return ", ".join([*words, f"seed {self.seed}"])


@dataclass(frozen=True)
class Outlets:
    """Where a match goes besides its result."""

    show: Callable[[str], object] | None = None  # gets the live line, several times a second
    pgn: Path | None = None  # to the end of which games are written
    state: Path | None = None  # to go on from after an interruption
    event: str = "Merino match"


@dataclass
class Result:
    """A match as far as it was played."""

    tally: Tally
    seconds: float = 0.0
    interrupted: bool = False


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hold(terms: Terms, threads: int, sprt: Sprt | None = None, outlets: Outlets | None = None) -> Result:
    """Play until the games are played, the test is settled, or Ctrl-C.

    Goes on where the state file stops, if there is one. Raises CommandError.
    """
    return _Contest(terms, sprt, outlets or Outlets()).run(threads)


class _Contest:
    """A match under way."""

    def __init__(self, terms: Terms, sprt: Sprt | None, outlets: Outlets) -> None:
        self._terms, self._sprt, self._outlets = terms, sprt, outlets
        self._day = date.today()
        self._texts: list[str] = []  # of games not yet written
        self._result, size = self._load()
        self._first = self._result.tally.games
        self._pgn_size = self._cut_pgn(size)
        self._mark = self._result.tally.as_json(), self._pgn_size  # after the last whole pair
        self._saved = self._shown = time.monotonic()
        self._began = self._saved - self._result.seconds

    def run(self, threads: int) -> Result:
        """Play."""
        setup = Setup(board=self._terms.board, openings=self._terms.source)
        games = play_match(setup, self._terms.games, threads, self._first)
        try:
            while not self._is_over():
                self._take(next(games))
        except KeyboardInterrupt:
            self._result.interrupted = True
        except (OpeningError, FenError) as error:
            raise CommandError(f"match: {error}") from error
        finally:
            games.close()
            self._save()
        return self._result

    def _is_over(self) -> bool:
        """Whether all games are played, or the test is settled, which is looked at after whole pairs."""
        tally = self._result.tally
        if tally.games >= self._terms.games:
            return True
        return self._sprt is not None and tally.games % 2 == 0 and bool(self._sprt.verdict(tally.counts))

    def _take(self, game: Game) -> None:
        """Count a game, and from time to time show and save what there is."""
        tally, now = self._result.tally, time.monotonic()
        tally.add(game)
        if self._outlets.pgn is not None:
            first, second = self._terms.players
            self._texts.append(write_game(game, (first.label, second.label), self._outlets.event, self._day))
            self._pgn_size += len(self._texts[-1].encode())
        if game.number % 2:
            self._mark = tally.as_json(), self._pgn_size
            if now - self._saved >= SAVE_EVERY:
                self._save()
        if self._outlets.show is not None and now - self._shown >= SHOW_EVERY:
            self._shown = now
            self._outlets.show(live_line(tally, self._terms.games, now - self._began, self._sprt))

    def _save(self) -> None:
        """Write the games and the state; raises CommandError."""
        self._saved = time.monotonic()
        self._result.seconds = self._saved - self._began
        try:
            if self._outlets.pgn is not None:
                with self._outlets.pgn.open("ab") as file:
                    file.write("".join(self._texts).encode())
                self._texts = []
            if self._outlets.state is not None:
                tally, size = self._mark
                state = {"terms": self._terms.identity(), "tally": tally, "pgn_size": size}
                state["seconds"] = self._result.seconds
                write_whole(self._outlets.state, json.dumps(state, indent=1).encode())
        except OSError as error:
            raise CommandError(f"match: cannot write '{error.filename}': {error.strerror}") from error

    def _load(self) -> tuple[Result, int | None]:
        """The result to go on from, and the size of the PGN then; raises CommandError."""
        path = self._outlets.state
        if path is None or not path.exists():
            return Result(Tally()), None
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            result, terms = Result(Tally.from_json(state["tally"]), float(state["seconds"])), dict(state["terms"])
            size = int(state["pgn_size"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(f"match: '{path}' is not the state of a match ({error})") from error
        wanted = self._terms.identity()
        changed = [name for name in wanted if terms.get(name) != wanted[name]]
        if changed:
            raise CommandError(f"match: '{path}' is of a match with other {', '.join(changed)}; take another file")
        return result, size

    def _cut_pgn(self, size: int | None) -> int:
        """Cut the PGN where the state was saved, and so off what will be played again; its size then."""
        path = self._outlets.pgn
        if path is None or not path.exists():
            return 0
        there = path.stat().st_size
        if size is None or self._is_over():
            return there  # games of other matches may follow
        if there < size:
            raise CommandError(f"match: '{path}' is shorter than '{self._outlets.state}' says; take other files")
        with path.open("r+b") as file:
            file.truncate(size)
        return size
