"""What the learner refuses."""

from formats.sources import SourceError


class LearnError(SourceError):
    """Something that cannot be learned from, or written; the message says what and where."""
