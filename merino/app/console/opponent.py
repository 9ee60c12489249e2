"""Who the engine is in a game: its strength, in words and as a tag of a kept game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import FULL_LEVEL, Strength, at_elo, at_level


@dataclass(frozen=True)
class Opponent:
    """A strength, None for full strength."""

    strength: Strength | None = None

    @classmethod
    def of(cls, searcher: Searcher) -> Opponent:
        """How this searcher plays."""
        return cls(searcher.strength)

    def put_into(self, searcher: Searcher) -> None:
        """Let this searcher play so."""
        searcher.strength = self.strength

    @property
    def remark(self) -> str:
        """What to say, after a space, where a game begins or goes on: nothing of play at full strength."""
        return f" {self}" if self.strength is not None else ""

    def __str__(self) -> str:
        """The level with its Elo; the Elo alone where it lies between two levels."""
        if self.strength is None:
            return "Full strength."
        level = next((level for level in range(FULL_LEVEL) if at_level(level) == self.strength), None)
        elo = f"{self.strength.elo} Elo."
        return f"About {elo}" if level is None else f"Level {level}, about {elo}"

    def tags(self) -> dict[str, str]:
        """The tag `Elo` of a kept game."""
        return {} if self.strength is None else {"Elo": str(self.strength.elo)}

    @classmethod
    def from_tags(cls, tags: Mapping[str, str]) -> Opponent:
        """Who a kept game is against; raises ValueError."""
        return cls(at_elo(int(tags["Elo"])) if "Elo" in tags else None)
