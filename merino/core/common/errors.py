"""The base of all errors that are not faults of the program."""

from __future__ import annotations

from typing import Any


class MerinoError(Exception):
    """Something cannot be done; the message is a sentence for the user that says what, where and why.

    Each package derives its own from this one. Only the parts that talk to the user catch and print it.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: what it says and holds, whatever it was made of."""
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[MerinoError], args: tuple[object, ...]) -> MerinoError:
    return kind.__new__(kind, *args)
