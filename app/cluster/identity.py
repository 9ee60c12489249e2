"""The identity of an installation, equal on all machines if the same seed is to give the same games."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

import numba
import numpy as np

from merino.inner.core.common.about import __version__
from merino.inner.core.compiled.cache import CACHE_GROUPS
from merino.inner.eval.linear.weights import DEFAULT_FILE


@cache
def identity() -> dict[str, str]:
    """Version, digests of all code and of the default weights, and the versions of Python, numba and NumPy."""
    root, digest = Path(__file__).resolve().parents[2], hashlib.sha256()
    for folder in " ".join(CACHE_GROUPS).split():
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return {
        "Merino": __version__,
        "code": digest.hexdigest()[:12],
        "weights": hashlib.sha256(DEFAULT_FILE.read_bytes()).hexdigest()[:12],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numba": numba.__version__,
        "NumPy": np.__version__,
    }


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """The difference between there and here in words; "" if there is none."""
    names = [name for name in here if here[name] != there.get(name)]
    return ", ".join(f"{name} {there.get(name, 'unknown')} instead of {here[name]}" for name in names)
