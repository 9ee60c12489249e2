"""Errors of studies."""

from merino.core.common.errors import MerinoError


class StudyError(MerinoError):
    """Something that cannot be studied, or a file that cannot be written; the message says what and why."""
