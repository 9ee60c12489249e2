"""JSON: what comes from a file or a client, which may be anything, and numbers that it cannot hold."""

from __future__ import annotations

import json
import math
from typing import Any


def parsed(text: str | bytes) -> Any:
    """What JSON says; raises ValueError if it is none, or nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def finite(value: float | None) -> float | None:
    """The number, None for infinity and no number, which JSON has not."""
    return float(value) if value is not None and math.isfinite(value) else None
