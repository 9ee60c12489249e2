"""JSON from a file or a client, which may be anything."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """What JSON says; raises ValueError if it is none, or nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
