"""Where code runs: the two decorators of the project, and the compile cache they share.

`kernel`  compiled code calls it; part of the program of each entry that reaches it; never cached alone.
`entry`   Python calls it; cached on disk with all that it reaches; releases the GIL while it runs.

Nothing else in the project calls `njit` (a test holds this). The cache of each group of packages lives in a per-user
folder named by a hash of every source file that its code may come from and of the versions that compile it, because
numba itself checks only the file of the cached function: a changed callee would go unnoticed and stale code would run.
"""

import logging
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.extending import intrinsic

from merino.core.compiled.cache import CACHE_GROUPS, folder_of, group_of, holds_code
from merino.core.compiled.code_files import CodeCache
from merino.core.compiled.compiling import WATCH, NoCollections
from merino.core.compiled.program import BorrowingCompiler, install, name_lines

log = logging.getLogger(__name__)


INTERPRETED = bool(numba.config.DISABLE_JIT)  # whether kernels run as plain Python: `make test-python`
CHECKS_BOUNDS = bool(numba.config.BOUNDSCHECK)  # whether each index is checked: `make test-bounds`
# `_nrt` is numba's counting of users. Each says whether it counts, because what says nothing does as its caller.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": True}
_BORROWING = {**_OPTIONS, "_nrt": False, "pipeline_class": BorrowingCompiler}


def cache_of(group: str) -> Path | None:
    """The folder of this group's compiled code, or None if none can be written."""
    return folder_of(group, CHECKS_BOUNDS)


CACHE = cache_of(CACHE_GROUPS[0])  # of everything that play needs
ENTRIES: list[Any] = []  # all that have been declared

install()
if CHECKS_BOUNDS:
    name_lines()
for listener in (WATCH, NoCollections()):
    event.Listener.register(type(listener))
    event.register("numba:compile", listener)

# Kernels in a tuple to unroll, or as an argument whose address is taken, count as "first-class functions". Each use
# here is resolved to the one function when it is compiled, which is all that is asked of the feature.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)


def kernel(function: Callable[..., Any] | None = None, *, makes_arrays: bool = False) -> Any:
    """Compile `function` for callers that are compiled themselves; Python cannot call it.

    It borrows its arrays (`core.compiled.program`). One that makes an array or returns one says `makes_arrays`.
    """
    if function is None:
        return partial(kernel, makes_arrays=makes_arrays)
    options = _OPTIONS if makes_arrays else _BORROWING
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


def in_python(compiled: Any) -> Callable[..., Any]:
    """The Python function behind a kernel or entry."""
    return getattr(compiled, "py_func", compiled)


def primitive(meaning: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function an intrinsic of numba; without compiling, `meaning` runs instead."""
    return (lambda define: meaning) if INTERPRETED else intrinsic


def entry(function: Callable[..., Any] | None = None, *, of: str = "") -> Any:
    """Compile `function` for Python: cached if a folder can be written, and without the GIL.

    One that is made several times, from different kernels, says in `of` which of them it is made from: the cache
    tells them apart by that.
    """
    if function is None:
        return partial(entry, of=of)
    compiled = numba.njit(no_cfunc_wrapper=True, **_OPTIONS)(function)
    if INTERPRETED:
        return compiled
    folder = cache_of(group_of(function.__module__))
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        try:
            compiled._cache = CodeCache(function, of)
        except RuntimeError as error:
            log.warning("%s is compiled anew at each start, %s cannot be used: %s", function.__name__, folder, error)
    ENTRIES.append(compiled)
    return compiled


def must_compile(compiled: Any) -> bool:
    """Whether calling an entry begins with compiling it, as nothing of it is on the disk."""
    saved = getattr(compiled, "_cache", None)
    return isinstance(saved, CodeCache) and saved.is_empty


def has_code(group: str) -> bool:
    """Whether compiled code of this group is in the cache; also where nothing is kept."""
    folder = cache_of(group)
    return folder is None or holds_code(folder)


def code_in_use() -> list[Path] | None:
    """The files of the compiled code in use that lie in CACHE; None if some of its code is in no file."""
    found: list[Path] = []
    for compiled in ENTRIES:
        saved = getattr(compiled, "_cache", None)
        if isinstance(saved, CodeCache) and Path(saved.cache_path).parent == CACHE:
            if len(saved.in_use) < len(compiled.signatures):
                return None
            found += saved.in_use
    return found
