"""Who the engine is in a game: its strength and its style, in words and as tags of a kept game."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from merino.core.common.json_text import parsed
from merino.engine.search.people import Style, style_of
from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import FULL_LEVEL, Strength, at_elo, at_level
from merino.formats.pgn_text import plain_value


@dataclass(frozen=True)
class Opponent:
    """A strength (None: full, or that of the style) and a style (None: nobody's)."""

    strength: Strength | None = None
    style: Style | None = None

    @classmethod
    def of(cls, searcher: Searcher) -> Opponent:
        """How this searcher plays."""
        return cls(searcher.strength, searcher.style)

    def put_into(self, searcher: Searcher) -> None:
        """Let this searcher play so."""
        searcher.strength, searcher.style = self.strength, self.style

    @property
    def remark(self) -> str:
        """What to say, after a space, where a game begins or goes on: nothing of play at full strength."""
        return f" {self}" if self.strength is not None or self.style is not None else ""

    def __str__(self) -> str:
        """The level with its Elo, and whose style it is; the Elo alone where it lies between two levels."""
        if self.style is not None:
            return f"As {self.style.player} plays{f', at about {self.strength.elo} Elo' if self.strength else ''}."
        if self.strength is None:
            return "Full strength."
        level = next((level for level in range(FULL_LEVEL) if at_level(level) == self.strength), None)
        elo = f"{self.strength.elo} Elo."
        return f"About {elo}" if level is None else f"Level {level}, about {elo}"

    def tags(self) -> dict[str, str]:
        """The tags `Elo`, `Style` (a name) and `StyleCoefficients` (JSON) of a kept game."""
        tags = {} if self.strength is None else {"Elo": str(self.strength.elo)}
        if self.style is not None:
            tags |= {"Style": self.style.player, "StyleCoefficients": json.dumps(self.style.named())}
        return tags

    @classmethod
    def from_tags(cls, tags: Mapping[str, str]) -> Opponent:
        """Who a kept game is against; raises ValueError or KeyError."""
        strength = at_elo(int(tags["Elo"])) if "Elo" in tags else None
        return cls(strength, _style_of_tags(tags) if "Style" in tags else None)


def _style_of_tags(tags: Mapping[str, str]) -> Style:
    named = parsed(plain_value(tags["StyleCoefficients"]))
    if not isinstance(named, dict):
        raise ValueError("the tag StyleCoefficients has no coefficients")
    return style_of(plain_value(tags["Style"]), named)
