"""The per-user folder of compiled code, named by what it was compiled from.

Only numba knows which files of code a start will ask for. So a start that had everything leaves an inventory next to
the code: the files that it used and their sizes. The next start is warm if all of them are there; with a cache that is
half filled it is cold.

Imports nothing heavy, so that all this is known before numba is loaded.
"""

import hashlib
import json
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

from merino.core.common.errors import MerinoError
from merino.core.common.files import is_folder, names_in, user_folder, write_whole

log = logging.getLogger(__name__)

# Packages that share a cache; lowest first: a group calls itself and those before it.
CACHE_GROUPS = ("core eval engine", "formats", "match", "learn", "study", "lab")
PLAY = "play"  # the part of the lowest group that every game needs
WITHOUT_COMPILED_CODE = ("core/common", "engine/notation", "engine/report", "engine/tables", "engine/uci")
# A test checks it: editing these folders compiles nothing.
STALE_AFTER_DAYS = 30
_NAME = re.compile("[0-9a-f]{16}")  # of a folder, as of `fingerprint`
_PROCESSOR_FACTS = ("model name", "flags", "Features", "CPU part")  # of /proc/cpuinfo, on several architectures


class CacheError(MerinoError):
    """A folder of compiled code that cannot be deleted; the message says which and why."""


def group_of(module: str) -> str:
    """The group of CACHE_GROUPS that a module belongs to, by its dotted name; the lowest for one of somebody else's."""
    package = module.removeprefix("merino.").partition(".")[0]
    return next((group for group in CACHE_GROUPS if package in group.split()), CACHE_GROUPS[0])


def fingerprint(group: str, *versions: str) -> str:
    """Sixteen hex digits over the sources that compiled code of `group` may come from, Python's version and `versions`.

    Those are the sources of the group and of all groups before it: an edit to the learner compiles no search.
    """
    digest = hashlib.sha256(repr((sys.version_info, versions)).encode())
    root = Path(__file__).resolve().parents[2]
    for folder in " ".join(CACHE_GROUPS[: CACHE_GROUPS.index(group) + 1]).split():
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if not name.startswith(tuple(f"{without}/" for without in WITHOUT_COMPILED_CODE)):
                digest.update(name.encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def folder_of(group: str, checks_bounds: bool) -> Path | None:
    """The folder of this group's compiled code with or without bounds checks, or None if there can be none."""
    return compile_cache(group, *_versions(checks_bounds))


def _versions(checks_bounds: bool) -> list[str]:
    return [version("numba"), *(["bounds"] if checks_bounds else [])]


def compile_cache(group: str, *versions: str) -> Path | None:
    """A folder for code of `group` compiled from these sources, or None where there is none; its use is noted.

    It holds such code, or can be written. Without one the engine compiles at each start; that is said in the log.
    """
    folder = user_folder("cache") / fingerprint(group, *versions)
    if holds_code(folder) or _writable(folder):
        _note_use(folder)
        return folder
    log.warning("no writable folder for compiled code: Merino compiles at each start; MERINO_HOME can name one")
    return None


def holds_code(folder: Path) -> bool:
    """Whether compiled code lies in a folder; it can be read even where the disk is full."""
    try:
        return next(folder.rglob("*.code"), None) is not None
    except OSError:
        return False  # in a folder that we may not enter


def _note_use(folder: Path) -> None:
    """Let a folder be as new as if it were written now: by that `remove_stale` judges."""
    with suppress(OSError):  # it may belong to somebody else
        os.utime(folder)


def remove_stale(folder: Path) -> int:
    """Delete the sibling caches of `folder` that nobody has used for a month; returns how many."""
    limit = time.time() - STALE_AFTER_DAYS * 86400
    siblings = [folder.with_name(name) for name in names_in(folder.parent) if _NAME.fullmatch(name)]
    unused = [sibling for sibling in siblings if sibling != folder and _is_unused(sibling, limit)]
    for sibling in unused:
        shutil.rmtree(sibling, ignore_errors=True)
    return len(unused)


def _is_unused(folder: Path, since: float) -> bool:
    try:
        return is_folder(folder) and folder.stat().st_mtime < since
    except OSError:
        return False  # another process has just deleted it


def remove_all() -> Iterator[Path]:
    """Delete the compiled code of every version of Merino, and nothing else; yields each folder that is gone.

    Raises CacheError at the end if there are folders that cannot be deleted.
    """
    faults = []
    parent = user_folder("cache")
    for folder in (parent / name for name in sorted(names_in(parent)) if _NAME.fullmatch(name)):
        if not is_folder(folder):
            continue
        shutil.rmtree(folder, ignore_errors=True)  # another process may be deleting or writing the same
        try:
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)  # what is left has a reason
        except OSError as error:
            faults.append(f"cannot delete '{folder}': {error.strerror or error}")
        else:
            yield folder
    if faults:
        raise CacheError("; ".join(faults))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return True
    except OSError as error:
        log.info("%s cannot hold compiled code: %s", folder, error)
        return False


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
    """Where the inventory lies. Code is for a processor and settings of numba: the name depends on them."""
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    digest = hashlib.sha256(repr((_processor(), settings)).encode()).hexdigest()
    return folder / f"{part}-{digest[:16]}.inventory"


def _processor() -> list[str]:
    """What distinguishes the processors of machines that share a cache."""
    if {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"} <= os.environ.keys():
        return [platform.machine()]  # code is for the one that is named, and not for this one
    facts = Path("/proc/cpuinfo")
    if not facts.exists():
        return [platform.machine(), platform.processor()]
    with facts.open(encoding="utf-8", errors="replace") as file:
        first = takewhile(str.strip, file)  # up to the blank line after the first of them
        return [line for line in first if line.startswith(_PROCESSOR_FACTS)]


def _is_set(variable: str) -> bool:
    """Whether a switch of numba is on."""
    return os.environ.get(variable, "0") not in ("", "0")
