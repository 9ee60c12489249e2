"""Functions that are killed during a run, for tests of how it continues."""

from collections.abc import Callable
from itertools import count
from typing import Any


def dies_at(call: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """`real`, which at this call, counted from 1, does its work and is killed before anybody has it."""
    calls = count(1)

    def dies(*arguments: Any, **others: Any) -> Any:
        done = real(*arguments, **others)
        if next(calls) == call:
            raise RuntimeError("killed")
        return done

    return dies
