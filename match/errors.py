"""What a match cannot do, in words; each command puts its own name before them."""

from engine.common.errors import MerinoError


class MatchError(MerinoError):
    """A match that cannot be played, or not to its end."""


class PlayerError(MatchError):
    """The text of a player that can be none."""
