"""Whether the code that a part of Merino needs is compiled, as it is known before numba is loaded.

Only numba knows which files of code a start will ask for. So a start that had everything leaves an inventory beside the
code: the files that it used and their sizes. The next start is warm if all of them are there; with a
cache that is half filled it is cold. Imports nothing heavy.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from merino.inner.core.common.files import write_whole
from merino.inner.core.compiled.cache import CACHE_GROUPS, PLAY, folder_of

_PROCESSOR_FACTS = ("model name", "flags", "Features", "CPU part")  # of /proc/cpuinfo, on several architectures


def is_play_compiled() -> bool:
    """Whether everything that a game needs is in the cache."""
    if _is_set("NUMBA_DISABLE_JIT"):
        return True  # nothing is ever compiled
    folder = folder_of(CACHE_GROUPS[0], checks_bounds=_is_set("NUMBA_BOUNDSCHECK"))
    return folder is not None and is_whole(folder, PLAY)


def is_whole(folder: Path, part: str) -> bool:
    """Whether `folder` has the inventory of `part` and every file in it."""
    try:
        sizes = json.loads(_inventory(folder, part).read_bytes())
        return bool(sizes) and all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False  # nothing there, or not what was written: the compiler is asked


def write_inventory(folder: Path, part: str, files: Iterable[Path]) -> None:
    """Note the files in `folder` that a start of `part` has used, unless they are noted; raises OSError."""
    if not is_whole(folder, part):
        sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(files)}
        write_whole(_inventory(folder, part), json.dumps(sizes, indent=0).encode())


def _inventory(folder: Path, part: str) -> Path:
    """Where the inventory lies. Code is for a place, a processor and settings of numba: the name tells them."""
    place = str(Path(__file__).resolve().parents[2])
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    digest = hashlib.sha256(repr((place, _processor(), settings)).encode()).hexdigest()
    return folder / f"{part}-{digest[:16]}.inventory"


def _processor() -> list[str]:
    """What tells apart the processors of machines that share a cache."""
    facts = Path("/proc/cpuinfo")
    if not facts.exists():
        return [platform.machine(), platform.processor()]
    with facts.open(encoding="utf-8", errors="replace") as file:
        first = iter(file.readline, "\n")  # up to the blank line after the first of them
        return [line for line in first if line and line.startswith(_PROCESSOR_FACTS)]


def _is_set(variable: str) -> bool:
    """Whether a switch of numba is on."""
    return os.environ.get(variable, "0") not in ("", "0")
