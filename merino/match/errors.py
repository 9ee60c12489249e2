"""Errors of matches; the shell puts the name of the command before their message."""

from merino.core.common.errors import MerinoError


class MatchError(MerinoError):
    """A match that cannot be played, or cannot be finished."""


class PlayerError(MatchError):
    """A text that does not describe a player."""


class GamesFileError(MatchError):
    """A file that games cannot be appended to, whatever it holds."""
