"""Where compiled code lies, and what names it: all that it was made from, and what it was made for; never a place.

A folder is named by what its code was made for, a file in it by its sources and by the arguments that it takes. Imports
nothing heavy.
"""

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from merino.core.common.errors import MerinoError
from merino.core.common.files import is_folder, names_in, user_folder

log = logging.getLogger(__name__)

# The parts of Merino that are compiled ahead together; lowest first: a group calls itself and those before it.
CACHE_GROUPS = ("core eval engine", "formats", "match", "learn", "study", "lab")
PLAY = "play"  # the part of the lowest group that every game needs
# A test checks it: editing these compiles nothing.
WITHOUT_COMPILED_CODE = ("core/common", "engine/notation", "engine/report", "engine/tables", "engine/uci")
_WITHOUT = (
    *(f"{folder}/" for folder in WITHOUT_COMPILED_CODE),
    *(f"core/compiled/{name}.py" for name in ("cache", "code_files", "compiling")),  # which keep and count it
)
_COMPILER = Path(__file__).resolve().parent
_ROOT = _COMPILER.parents[1]
_IMPORT = re.compile(rb"^(?:from (merino[.\w]*) import (\([^)]*\)|[^\n#]*)|import (merino[.\w]*))", re.MULTILINE)
PACKAGED = _ROOT / "code" / "cache"  # compiled code that has come with the package
STALE_AFTER_DAYS = 30
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # whether kernels run as plain Python
CHECKS_BOUNDS = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")  # whether each index is: `make test-bounds`
_NAME = re.compile("[0-9a-f]{16}")  # of a folder
_SETTING = re.compile(r"NUMBA_(?!\w*(CACHE|COLOR|CPU_|CUDA|THREAD|WARN))")  # of numba, which may change code
_LEVELS = {"x86-64-v3": "avx2 bmi bmi2 f16c fma lzcnt movbe", "x86-64-v2": "popcnt sse4.2"}  # and what they need
_LEAST = {"aarch64": "generic", "arm64": "apple-m1"}  # which all have, on Linux and on macOS


class CacheError(MerinoError):
    """A folder of compiled code that cannot be deleted; the message says which and why."""


@cache
def fingerprint(*modules: str) -> str:
    """A digest of the sources that the compiled code of these modules may come from.

    Those are the modules, all that they import when they are loaded, directly or not, and what compiles: an edit to the
    learner compiles no search, and no place of a file counts.
    """
    parts = sorted((_name_of(path), _source(path)[0]) for path in sources_of(modules))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def sources_of(modules: Iterable[str]) -> set[Path]:
    """These sources."""
    found, waiting = set[Path](), {*_COMPILER.glob("*.py"), *filter(None, map(_path_of, modules))}
    while waiting := {path for path in waiting - found if not _name_of(path).startswith(_WITHOUT)}:
        found |= waiting
        waiting = set().union(*(_source(path)[1] for path in waiting))
    return found


@cache
def _source(path: Path) -> tuple[bytes, frozenset[Path]]:
    """The digest of a source, and those of Merino that it imports when it is loaded."""
    content, found = path.read_bytes(), list[str]()
    for package, names, module in _IMPORT.findall(content):
        inside = {f"{package.decode()}.{name}" for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", names.decode())}
        modules = set(filter(_path_of, inside))
        found += [*modules, *([(package or module).decode()] if not modules or inside - modules else [])]
    paths = set(filter(None, map(_path_of, found)))
    if path.name == "__init__.py":  # a package may look for its modules by itself
        paths |= set(path.parent.glob("*.py"))
    return hashlib.sha256(content).digest(), frozenset(paths)


def _path_of(module: str) -> Path | None:
    """The source of a module of Merino by its dotted name, or of another one that is loaded."""
    place = _ROOT.parent / module.replace(".", "/")
    known = [place.with_suffix(".py"), place / "__init__.py"]
    file = getattr(sys.modules.get(module), "__file__", None)
    return next((path for path in [*known, *([Path(file)] if file else [])] if path.exists()), None)


def _name_of(path: Path) -> str:
    """The name of a source inside Merino, nothing for another one."""
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else ""


@cache
def places() -> tuple[Path, ...]:
    """The folders in which compiled code for this machine may lie; the first is the user's, where it is kept.

    What is compiled here is for this very processor, up to a thirtieth faster than code for its level, which travels.
    Where NUMBA_CPU_NAME names another processor, only code for that will do.
    """
    own, others = made_for(*target()), made_for(level(), "")
    travelled = () if "NUMBA_CPU_NAME" in os.environ else (user_folder("cache") / others, PACKAGED / others)
    return user_folder("cache") / own, *travelled


@cache
def made_for(processor: str, features: str) -> str:
    """Sixteen hex digits over what code is made for and by: a processor, the system, Python, numba, and its settings.

    An entry asks Python's objects by functions that stay, except for the content of an array, which lies behind the
    head of an object. Code calls other code as the minor version of numba does.
    """
    from llvmlite import binding  # noqa: PLC0415 (not on the way to uciok)

    numba = find_spec("numba")
    text = Path(numba.origin).with_name("_version.py").read_text() if numba and numba.origin else ""
    minor = re.findall(r'"version": "(\d+\.\d+)', text)
    settings = sorted(pair for pair in os.environ.items() if _SETTING.match(pair[0]))
    machine = binding.get_process_triple().partition("-")[0], sys.platform, object.__basicsize__, processor, features
    return hashlib.sha256(repr((machine, minor, settings)).encode()).hexdigest()[:16]


def target() -> tuple[str, str]:
    """The processor that code is compiled for, by its name and its features: this one, or that of NUMBA_CPU_NAME."""
    from llvmlite import binding  # noqa: PLC0415 (not on the way to uciok)

    if named := os.environ.get("NUMBA_CPU_NAME"):
        return named, os.environ.get("NUMBA_CPU_FEATURES", "")
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def level() -> str:
    """The name of the highest level of x86-64 that this processor has, else of what all of its kind have."""
    from llvmlite import binding  # noqa: PLC0415 (not on the way to uciok)

    found = binding.get_host_cpu_features()
    least = _LEAST.get(binding.get_process_triple().partition("-")[0], "")
    return next((name for name, needs in _LEVELS.items() if all(map(found.get, needs.split()))), least)


@cache
def keeps_code() -> bool:
    """Whether the user's folder can be written; without one the engine compiles at each start, and the log says so."""
    folder = places()[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
            probe.flush()  # which a full disk refuses
        return True
    except OSError as error:
        log.warning("no writable folder for compiled code (%s): Merino compiles at each start; set MERINO_HOME", error)
        return False


def remove_stale() -> int:
    """Delete the compiled code that nobody has used for a month; returns how many folders and files that were."""
    limit, own, removed = time.time() - STALE_AFTER_DAYS * 86400, places()[0], 0
    siblings = [own.with_name(name) for name in names_in(own.parent) if _NAME.fullmatch(name) and name != own.name]
    for path in (*siblings, *own.glob("*.code")):
        with suppress(OSError):  # another process may delete it meanwhile
            if path.stat().st_mtime < limit:
                (shutil.rmtree if is_folder(path) else Path.unlink)(path)
                removed += 1
    return removed


def remove_all() -> Iterator[Path]:
    """Delete the compiled code of every version of Merino, and nothing else; yields each folder that is gone.

    Raises CacheError at the end if there are folders that cannot be deleted.
    """
    faults = []
    parent = user_folder("cache")
    for folder in (parent / name for name in sorted(names_in(parent)) if _NAME.fullmatch(name)):
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
