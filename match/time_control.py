"""What a move may cost, when a game ends before its rules end it, and how games are made to differ."""

from __future__ import annotations

import re
from dataclasses import dataclass

from match.compiled_game import LONGEST_GAME

NODES_PER_MEGABYTE = 1000  # a move, of a table that a game of usual length about fills
HASH_MB = 16
LARGEST_HASH_MB = 64
_SECONDS = r"(\d{1,7}(?:\.\d*)?|\.\d+)"
_CLOCK = re.compile(rf"(?:(\d{{1,4}})/)?(?:(\d{{1,5}}):)?{_SECONDS}(?:\+{_SECONDS})?", re.ASCII)


@dataclass(frozen=True)
class Clock:
    """Milliseconds for so many moves, 0 for the whole game, and what each move adds, the first one too.

    When the moves have been made the same time is added again, as in classical chess.
    """

    base: int
    increment: int = 0
    moves: int = 0

    @classmethod
    def read(cls, text: str) -> Clock:
        """The clock written as cutechess has it, `[MOVES/][MINUTES:]SECONDS[+SECONDS]`; raises ValueError."""
        found = _CLOCK.fullmatch(text)
        if found is None:
            raise ValueError(f"no clock: {text!r}")
        moves, minutes, seconds, increment = (float(part or 0) for part in found.groups())
        clock = cls(round(1000 * (60 * minutes + seconds)), round(1000 * increment), int(moves))
        if clock.base < 1:
            raise ValueError(f"a clock without time: {text!r}")
        return clock

    def moves_to_go(self, made: int) -> int | None:
        """How many moves are left until time is added, for a side that has made so many; None where it never is."""
        return self.moves - made % self.moves if self.moves else None

    def added_after(self, made: int) -> int:
        """What is added to the clock of a side that has just made its move of this number, counted from 1."""
        return self.base if self.moves and made % self.moves == 0 else 0

    def __str__(self) -> str:
        moves = f"{self.moves}/" if self.moves else ""
        return f"{moves}{self.base / 1000:g}+{self.increment / 1000:g} s"


@dataclass(frozen=True)
class TimeControl:
    """How much a move may cost: any of these together."""

    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None  # milliseconds
    clock: Clock | None = None
    hash: int | None = None  # MiB for each player that names none; None for what suits

    @property
    def is_timed(self) -> bool:
        """Whether the speed of the machine decides what is played."""
        return self.movetime is not None or self.clock is not None

    @property
    def hash_mb(self) -> int:
        """The size of our tables: small ones are quicker to clear and stay in the cache."""
        if self.hash is not None:
            return self.hash
        if self.nodes is None:
            return HASH_MB
        return max(1, min(LARGEST_HASH_MB, self.nodes // NODES_PER_MEGABYTE))

    def __str__(self) -> str:
        parts = [f"{value} {what}" for value, what in ((self.nodes, "nodes"), (self.depth, "plies")) if value]
        if self.movetime is not None:
            parts.append(f"{self.movetime} ms a move")
        if self.clock is not None:
            parts.append(str(self.clock))
        if self.hash is not None:
            parts.append(f"hash {self.hash} MiB")
        return ", ".join(parts)


@dataclass(frozen=True)
class Adjudication:
    """When a game ends before its rules end it. Scores in centipawns; numbers of moves are of each side, 0 for never.

    Both sides must agree: a side that misjudges its game should lose it on the board.
    """

    win_score: int = 0
    win_moves: int = 0
    draw_score: int = 0
    draw_moves: int = 0
    draw_from: int = 0  # move number
    longest: int = LONGEST_GAME  # plies


@dataclass(frozen=True)
class Variety:
    """How games from one opening are made to differ: at so many plies any move is played that loses little."""

    early: int = 0  # plies after the opening
    early_loss: int = 100  # centipawns
    seed: int = 0


NO_VARIETY = Variety()
