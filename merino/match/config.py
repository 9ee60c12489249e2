"""The configuration of a match: everything that decides what is played, as plain data for any process."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from merino.core.common.user_files import user_path
from merino.formats.openings import FileOpenings, Opening
from merino.match.boards import CompiledBoard, PythonBoard
from merino.match.games import Game
from merino.match.openings import PLIES, RandomOpenings
from merino.match.players import HASH_OPTIONS, THREAD_OPTIONS, OtherPlayer, OwnPlayer, Player
from merino.match.time_control import NO_RANDOM_MOVES, Adjudication, RandomMoves, TimeControl, seconds_text


class Board(Protocol):
    """A board for two players, one game at a time."""

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped."""

    def stop(self) -> None:
        """End the current game soon; the stop flag is already set. Called from another thread."""

    def close(self) -> None:
        """Release all resources; no game follows."""


class OpeningSource(Protocol):
    """Openings by number."""

    def opening(self, number: int) -> Opening:
        """The opening of this number, always the same."""


NAMES_IN_FILES = {"time_control": "effort", "random_moves": "variety"}  # as they have always been written


@dataclass(frozen=True)
class MatchConfig:
    """Everything that decides what is played."""

    players: tuple[Player, Player]
    time_control: TimeControl
    games: int = 1000
    seed: int = 1
    openings: str | None = None  # a file; None for random openings
    plies: int | None = None  # of an opening; None for the default
    adjudication: Adjudication = field(default_factory=Adjudication)
    random_moves: RandomMoves = NO_RANDOM_MOVES
    margin: int = 0  # milliseconds by which a move may be late

    @property
    def is_compiled(self) -> bool:
        """Whether whole games run as compiled code: one thread each, no clock, and no options of the search."""
        return not self.time_control.is_timed and all(
            isinstance(player, OwnPlayer) and player.is_plain for player in self.players
        )

    @property
    def is_repeatable(self) -> bool:
        """Whether an opening says all about the game that is played from it."""
        return self.is_compiled and not self.random_moves.early

    def different_games(self, source: OpeningSource | None) -> int | None:
        """How many games from these openings are not the same once more, where they come again; None for all."""
        if not self.is_repeatable or not isinstance(source, FileOpenings):
            return None
        return 2 * len(source) or None  # a book is no list, and never at its end

    def board(self, stop_flag: np.ndarray) -> Board:
        """A board with the players at it; `stop_flag`, uint64[1], ends its games. Raises MatchError."""
        first, second = self.players
        if self.is_compiled and isinstance(first, OwnPlayer) and isinstance(second, OwnPlayer):
            return CompiledBoard((first, second), self.time_control, self.adjudication, stop_flag, self.random_moves)
        return PythonBoard(self.players, self.time_control, self.adjudication, stop_flag, self.margin)

    @property
    def files(self) -> list[Path]:
        """The files that say what is played: openings, evaluations and styles."""
        own = [player for player in self.players if isinstance(player, OwnPlayer)]
        names = [name for player in own for name in (player.evaluation.name, player.style_file)]
        found = []
        for name in filter(None, (self.openings, *names)):
            with suppress(OSError):  # for a name that no file has, such as that of a missing home: reading it says so
                found.append(user_path(name))
        return found

    def source(self) -> OpeningSource:
        """Where the openings come from; raises OpeningError."""
        if self.openings is not None:
            return FileOpenings(Path(self.openings), self.seed, self.plies)
        return RandomOpenings(self.seed, PLIES if self.plies is None else self.plies)

    @property
    def conditions(self) -> str:
        """Time control, threads and hash as OpenBench writes them: "10.0+0.10s Threads=1 Hash=16MB"."""
        control = self.time_control
        limits = [
            f"{sign}={value}" for sign, value in (("N", control.nodes), ("D", control.depth)) if value is not None
        ]
        if control.movetime is not None:
            limits.append(f"MoveTime={control.movetime}ms")
        if control.clock is not None:
            moves = f"{control.clock.moves}/" if control.clock.moves else ""
            limits.append(f"{moves}{seconds_text(control.clock.base, 1)}+{seconds_text(control.clock.increment, 2)}s")
        threads = {_given(player, THREAD_OPTIONS) or str(player.threads or 1): None for player in self.players}
        usual = [control.hash_mb if isinstance(player, OwnPlayer) else control.other_hash_mb for player in self.players]
        hashes = {
            _given(player, HASH_OPTIONS) or str(player.hash_mb or size): None
            for player, size in zip(self.players, usual, strict=True)
        }
        return f"{' '.join(limits)} Threads={'/'.join(threads)} Hash={'/'.join(hashes)}MB"

    def identity(self) -> dict[str, Any]:
        """What must stay the same when a match is resumed (not the number of games); stored in the state file."""
        names = [item.name for item in fields(self) if item.name not in ("players", "games")]
        found = {NAMES_IN_FILES.get(name, name): getattr(self, name) for name in names}
        found["players"] = [player.identity() for player in self.players]
        plain: dict[str, Any] = json.loads(json.dumps(found, default=_plain))
        clock = plain["effort"]["clock"]
        if clock and not clock["moves"]:
            del clock["moves"]  # so that matches saved by versions without it can be resumed
        return plain

    def __str__(self) -> str:
        words = [str(self.time_control), f"openings {self.openings}" if self.openings else "random openings"]
        return ", ".join([*words, f"seed {self.seed}"])


def _given(player: Player, names: Sequence[str]) -> str | None:
    """What another engine is given by an option of one of these names, which counts more than a setting."""
    return player.option(names) if isinstance(player, OtherPlayer) else None


def _plain(value: Any) -> Any:
    """A dataclass, or a whole number of NumPy, as JSON has it."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else operator.index(value)
