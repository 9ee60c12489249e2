"""Errors of domain code as errors of the command that the user gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from merino.inner.core.common.command import CommandError
from merino.inner.core.common.errors import MerinoError


@contextmanager
def errors_named(command: str, *kinds: type[MerinoError]) -> Iterator[None]:
    """Make errors of these kinds a CommandError that begins with the name of the command."""
    try:
        yield
    except kinds as error:
        raise CommandError(f"{command}: {error}") from error
