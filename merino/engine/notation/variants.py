"""The variants of chess that Merino plays, by the tag `Variant` of a game."""

from __future__ import annotations

_STANDARD_CHESS = {"", "chess", "classical", "from position", "illegal", "normal", "standard"}
_SHUFFLED_CHESS = {"chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"}


def is_played(variant: str) -> bool:
    """Whether a variant is chess from any position, or Chess960."""
    name = variant.strip().lower()
    return name in _STANDARD_CHESS | _SHUFFLED_CHESS or name.startswith("wild/")
