"""What a match cannot do, in words; each command puts its own name before them."""

from engine.common.command import CommandError


class MatchError(CommandError):
    """A match that cannot be played, or not to its end."""
