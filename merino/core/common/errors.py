"""The base of all errors that are not faults of the program, and checks of the arguments that the library takes."""

import math
import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeVar


class MerinoError(Exception):
    """Something cannot be done; the message is a sentence for the user that says what, where and why.

    Each package derives its own from this one. Only the parts that talk to the user catch and print it.
    """

    exit_code = 1  # of a command that it ends

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: what it says and holds, whatever it was made of."""
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[MerinoError], args: tuple[object, ...]) -> MerinoError:
    return kind.__new__(kind, *args)


@contextmanager
def turning(
    caught: type[Exception] | tuple[type[Exception], ...], into: type[Exception], before: str = "", after: str = ""
) -> Iterator[None]:
    """Make an error that is `caught` in this block one of another kind; its message stands between two texts."""
    try:
        yield
    except caught as error:
        raise into(f"{before}{error}{after}") from error


MAX_SHOWN = 60  # characters of what was given that an error shows
MAX_DIGITS = 18  # of a number that is read: no bound has more
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
Choice = TypeVar("Choice", bound=StrEnum)


def whole_number(name: str, value: object, low: int, high: int | None = None) -> int:
    """The whole number; raises TypeError for anything else, also for a float, and ValueError out of bounds."""
    wanted = f"a whole number from {low} " + ("on" if high is None else f"to {high}")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be {wanted}, not {_shown(value)}")
    number = operator.index(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {wanted}, not {_shown(value)}")
    return number


def real_number(name: str, value: Any, low: float, high: float) -> float:
    """The number; raises TypeError for anything else, and ValueError out of bounds and for NaN."""
    wanted = f"a number from {low:g} to {high:g}"
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be {wanted}, not {_shown(value)}")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"{name} must be {wanted}, not one beyond all floating-point numbers") from error
    if not low <= number <= high:
        raise ValueError(f"{name} must be {wanted}, not {_shown(value)}")
    return number


def instance(name: str, value: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Raise TypeError if the value is of none of these types; `wanted` says in words what is."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {wanted}, not {_shown(value)}")


def function(name: str, value: object, wanted: str) -> None:
    """Raise TypeError if the value is neither None nor can be called; `wanted` says in words what is."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be {wanted}, not {_shown(value)}")


def choice(name: str, value: Any, kind: type[Choice]) -> Choice:
    """The choice of this kind that the value is, or whose text it is; raises ValueError for anything else."""
    try:
        return kind(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one of {', '.join(kind)}, not {_shown(value)}") from error


def abridged(text: str, longest: int = MAX_SHOWN) -> str:
    """A text as an error shows it: of a longer one the beginning, with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _shown(value: object) -> str:
    try:
        return abridged(repr(value))
    except ValueError:  # Python writes no number of more than 4300 digits
        return "what has thousands of digits"


def number_in(text: str) -> float:
    """The number that a whole text is; raises ValueError for anything else, such as 0,5 or 3cp or 1_000 or nan."""
    if _NUMBER.fullmatch(text) is None or math.isinf(value := float(text)):
        raise ValueError(f"{abridged(text)!r} is no number")
    return value


def whole_in(text: str) -> int:
    """The whole number that a text is, as of `number_of`; raises ValueError for anything else."""
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{abridged(text)!r} is not a whole number")
    return number_of(text.removeprefix("+"))


def number_of(digits: str) -> int:
    """The whole number of decimal digits, perhaps after a minus; of one beyond all bounds its first MAX_DIGITS.

    Python reads no number of more than 4300.
    """
    size = int(digits.lstrip("-0")[:MAX_DIGITS] or "0")
    return -size if digits.startswith("-") else size
