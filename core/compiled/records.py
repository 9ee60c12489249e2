"""The dtype of a record that kernels read and write as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.inner.core.compiled.jit import INTERPRETED


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype:
    """The dtype with these fields, laid out as C does. Where nothing is compiled, records have attributes, too."""
    dtype = np.dtype(list(fields), align=True)
    return np.dtype((np.record, dtype)) if INTERPRETED else dtype
