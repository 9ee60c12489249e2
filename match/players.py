"""Who plays: a weights file, search parameters, or both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.command import UsageError
from engine.search.parameters import ParameterError, parameter_values
from eval.weights import WeightsError, active_file, defaults, load

DEFAULT = "default"


@dataclass(frozen=True)
class OwnPlayer:
    """Merino with these weights (order of the registry) and search parameters (order of theirs)."""

    label: str
    weights: np.ndarray = field(default_factory=defaults)
    parameters: tuple[int, ...] = field(default_factory=parameter_values)


def read_player(text: str) -> OwnPlayer:
    """Read `default`, a weights file, `name=value` parameters, or a file and parameters, separated by commas.

    Raises UsageError.
    """
    weights: np.ndarray | None = None
    changes: dict[str, int] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            changes[name.strip()] = _whole(name, value)
        elif weights is not None:
            raise UsageError(f"player '{text}': '{part}' would be a second weights file")
        else:
            weights = _weights(text, part.strip())
    try:
        return OwnPlayer(text, defaults() if weights is None else weights, parameter_values(changes))
    except ParameterError as error:
        raise UsageError(f"player '{text}': {error}") from error


def _weights(text: str, name: str) -> np.ndarray:
    if name == DEFAULT:
        return defaults()
    try:
        return load(Path(name).expanduser() if name else active_file())
    except WeightsError as error:
        raise UsageError(f"player '{text}': {error}") from error


def _whole(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise UsageError(f"{name} = {value!r}: it takes a whole number") from error
