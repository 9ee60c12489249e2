"""The per-user folder of compiled code, named by what it was compiled from.

Imports nothing heavy, so that the folder can be found before numba is loaded.
"""

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from merino.inner.core.common.folders import user_folder

log = logging.getLogger(__name__)

CACHE_GROUPS = (
    "core eval engine",
    "formats",
    "match",
    "learn",
    "study",
    "tune",
)  # packages that share a cache; lowest first: a group calls itself and those before it
PLAY = "play"  # the part of the lowest group that every game needs
WITHOUT_COMPILED_CODE = ("core/common", "engine/notation", "engine/report", "engine/tables", "engine/uci")
# A test holds it: editing these folders compiles nothing anew.
STALE_AFTER_DAYS = 30


def group_of(module: str) -> str:
    """The group of CACHE_GROUPS that a module belongs to, by its dotted name; the lowest for one of somebody else's."""
    package = module.removeprefix("merino.inner.").partition(".")[0]
    return next((group for group in CACHE_GROUPS if package in group.split()), CACHE_GROUPS[0])


def fingerprint(group: str, *versions: str) -> str:
    """Sixteen hex digits over the sources that compiled code of `group` may come from, Python's version and `versions`.

    Those are the sources of the group and of all groups before it: an edit to the learner compiles no search anew.
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
    """The folder of this group's compiled code with or without bounds checks, or None if none can be written."""
    return compile_cache(group, version("numba"), *(["bounds"] if checks_bounds else []))


def compile_cache(group: str, *versions: str) -> Path | None:
    """A writable folder for code of `group` compiled from these sources, or None where there is none.

    The user's cache folder comes first, then a private folder among the temporary files. Without either
    the engine runs all the same and compiles at each start; that is said in the log.
    """
    name = fingerprint(group, *versions)
    for parent in (user_folder("cache"), _private_temporary_folder()):
        if parent and _writable(parent / name):
            return parent / name
    log.warning("no writable folder for compiled code: Merino compiles anew at each start")
    return None


def remove_stale(folder: Path) -> int:
    """Delete the sibling caches of `folder` that nobody has used for a month; returns how many."""
    removed = 0
    limit = time.time() - STALE_AFTER_DAYS * 86400
    for sibling in folder.parent.iterdir():
        if sibling != folder and len(sibling.name) == 16 and sibling.is_dir() and sibling.stat().st_mtime < limit:
            shutil.rmtree(sibling, ignore_errors=True)
            removed += 1
    return removed


def remove_all() -> Iterator[Path]:
    """Delete the compiled code of every version of Merino, and nothing else; yields each folder that is gone."""
    for parent in (user_folder("cache"), _private_temporary_folder()):
        for folder in sorted(parent.glob("*")) if parent else []:
            if folder.is_dir() and re.fullmatch("[0-9a-f]{16}", folder.name):
                shutil.rmtree(folder)
                yield folder


def _private_temporary_folder() -> Path | None:
    """A folder of ours alone among the temporary files: cached code is loaded, so nobody else may write it."""
    try:
        folder = Path(tempfile.gettempdir()) / f"merino-{os.getuid() if hasattr(os, 'getuid') else os.getlogin()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        log.info("no temporary folder can hold compiled code: %s", error)
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        log.warning("%s belongs to somebody else; not used for compiled code", folder)
        return None
    return folder


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return True
    except OSError as error:
        log.info("%s cannot hold compiled code: %s", folder, error)
        return False
