"""Where code runs: the two decorators of the project, and how what they compile is found and called.

`kernel`  compiled code calls it; part of the program of each entry that reaches it; never cached alone.
`entry`   Python calls it; cached on disk with all that it reaches; releases the GIL while it runs.

Nothing else in the project calls a compiler (a test holds this). Code is kept in a file that is named by a hash of
every source that it may come from (`core.compiled.cache`); what comes with the package lies in its folder `code`. numba
is imported only where something must be compiled (`core.compiled.program`): what is there is linked by LLVM and called
as it is.
"""

import hashlib
import logging
import re
import sys
import threading
from collections.abc import Callable, Hashable
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.errors import MerinoError
from merino.core.compiled import code_files
from merino.core.compiled.cache import CHECKS_BOUNDS, INTERPRETED, fingerprint, keeps_code, places
from merino.core.compiled.compiling import WATCH, reachable

log = logging.getLogger(__name__)


class CompilationError(MerinoError):
    """A function that numba does not compile, or a numba that Merino cannot work with; the message says why."""


KNOWN_NUMBA = "0.68.0 and 0.68.1"  # with which this has been tried
ENTRIES: list[Any] = []  # all that have been declared


def _compiler() -> Any:
    """The module that compiles; raises CompilationError where numba is another one than it was written for."""
    try:
        return import_module("merino.core.compiled.program")
    except (AttributeError, ImportError) as error:
        if isinstance(error, ImportError) and not str(error.name).startswith("numba."):
            raise
        numba = sys.modules["numba"].__version__
        raise CompilationError(f"Merino cannot compile with numba {numba}, only with {KNOWN_NUMBA}: {error}") from error


class Later:
    """A part of numba or LLVM that is imported when it is first used, which is when something is compiled."""

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    @property
    def found(self) -> Any:
        """What it stands for."""
        module = import_module(self._module)
        return getattr(module, self._name) if self._name else module

    def __getattr__(self, name: str) -> Any:
        if name == "py_func":  # which kernels have: the question is no use
            raise AttributeError(name)
        return getattr(self.found, name)

    def __call__(self, *given: Any) -> Any:
        """Call it, as code does that is not compiled."""
        return self.found(*given)


class Kernel:
    """A function for compiled code."""

    def __init__(self, function: Callable[..., Any], borrows: bool) -> None:
        self.py_func, self._borrows = function, borrows
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of it."""
        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            if isinstance(names.get(name), Later):
                names[name] = names[name].found  # numba knows it by its identity
        return _compiler().dispatcher_of(self, self._borrows)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks of every value that compiled code names."""
        return self.dispatcher._numba_type_


class Primitive:
    """What compiled code has an instruction for: its definition for numba, and what it means in Python."""

    def __init__(self, meaning: Callable[..., Any], definition: Callable[..., Any]) -> None:
        self._meaning, self._definition = meaning, definition
        self.__name__, self.__doc__ = definition.__name__, definition.__doc__

    def __call__(self, *given: Any) -> Any:
        """What it means."""
        return self._meaning(*given)

    @cached_property
    def _numba_type_(self) -> Any:
        return _compiler().intrinsic_type(self._definition)


class CompiledEntry(Kernel):
    """A function for Python. For each kind of arguments it has a version, from a file or compiled."""

    def __init__(self, function: Callable[..., Any], of: str) -> None:
        """`of` names what a function was made from that is made several times."""
        super().__init__(function, borrows=False)
        self._of, self._versions, self._lock = of, dict[Hashable, Callable[..., Any]](), threading.RLock()

    def __call__(self, *given: Any) -> Any:
        """Run it; raises CompilationError if it has to be compiled and cannot be."""
        version = self._versions.get(kinds := tuple([_kind_of(each) for each in given]))
        return (version or self._version(kinds, given))(*given)

    @property
    def signatures(self) -> list[Hashable]:
        """The kinds of arguments that it has been called with."""
        return list(self._versions)

    @cached_property
    def name(self) -> str:
        """The beginning of the names of its files."""
        function = self.py_func
        parts = function.__module__.removeprefix("merino."), function.__qualname__, self._of
        return re.sub(r"[^\w.-]+", "", ".".join(filter(None, parts)))

    @cached_property
    def modules(self) -> list[str]:
        """The modules that its code may come from, with what they import."""
        made = reachable(self) if self._of or not self.is_ours else {self}
        return sorted({each.py_func.__module__ for each in made if each.py_func.__module__})

    @property
    def is_ours(self) -> bool:
        """Whether it is part of Merino."""
        return self.py_func.__module__.startswith("merino.")

    @cached_property
    def _sources(self) -> str | None:
        """A digest of the sources that it may come from; None where there is none, as at a prompt."""
        own = Path(self.py_func.__code__.co_filename)
        if not self.is_ours and not own.exists():
            return None
        return fingerprint(*self.modules) + ("" if self.is_ours else hashlib.sha256(own.read_bytes()).hexdigest())

    def must_compile(self, *given: Any) -> bool:
        """Whether no place has code for such arguments."""
        file = self.file(tuple(map(_kind_of, given)))
        return file is None or not any((place / file.name).exists() for place in places())

    def file(self, kinds: Hashable) -> Path | None:
        """Where the user's folder has the code for arguments of these kinds, one of `signatures`; None for nowhere."""
        if self._sources is None:
            return None
        digest = hashlib.sha256(f"{_text_of(kinds)} {self._sources}".encode()).hexdigest()
        return places()[0] / f"{self.name}.{digest[:16]}.code"

    def _version(self, kinds: tuple[Hashable, ...], given: tuple[Any, ...]) -> Callable[..., Any]:
        with self._lock:
            if kinds not in self._versions:
                file, error = self.file(kinds), IndexError if CHECKS_BOUNDS else RuntimeError  # else kernels raise none
                found = (code_files.read_code(place / file.name) for place in places()) if file else ()
                code = next(filter(None, found), None) or self._compiled(file, kinds, given)
                self._versions[kinds] = code_files.link(self.__name__, code, error)
            return self._versions[kinds]

    def _compiled(self, file: Path | None, kinds: tuple[Hashable, ...], given: tuple[Any, ...]) -> bytes:
        """Compile a version and keep it; where it cannot be kept the log says so, and this start goes on without."""
        WATCH.on_begin()
        code: bytes = _compiler().compile_entry(self, kinds, given)
        if file is not None and keeps_code():
            try:
                code_files.write_code(file, code)
            except OSError as error:
                log.warning("cannot keep compiled code in %s (%s): compiling again next time", file.parent, error)
        return code


_LAYOUT, _IN_C = 0x503, 0x501  # of `flags.num`: contiguous in C or Fortran, aligned, writeable; a row is both
_NUMBERS: dict[type, str] = {bool: "boolean", np.bool_: "boolean", int: "int64", np.int64: "int64", float: "float64"}


def _kind_of(value: Any) -> Any:
    """What distinguishes arguments for which code differs: type, dtype, dimensions, layout."""
    if isinstance(value, np.ndarray):
        flags = value.flags.num
        return value.dtype, value.ndim, flags & (_IN_C if flags & 1 else _LAYOUT)
    kind = type(value)
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if isinstance(value, tuple):
        return kind, *[_kind_of(each) for each in value]
    return next((_NUMBERS[base] for base in (int, float) if isinstance(value, base)), kind)


@cache
def _text_of(kind: Any) -> str:
    """The same as a text that is equal in every process."""
    if isinstance(kind, tuple):
        return f"({', '.join(map(_text_of, kind))})"
    if isinstance(kind, np.dtype):
        return str(kind.descr)
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else str(kind)


def kernel(function: Callable[..., Any] | None = None, *, makes_arrays: bool = False) -> Any:
    """Compile `function` for callers that are compiled themselves; Python cannot call it.

    It borrows its arrays, see `core.compiled.program`. One that makes an array or returns one says `makes_arrays`.
    """
    if function is None:
        return partial(kernel, makes_arrays=makes_arrays)
    return function if INTERPRETED else Kernel(function, not makes_arrays)


def in_python(compiled: Any) -> Callable[..., Any]:
    """The Python function behind a kernel or entry."""
    return getattr(compiled, "py_func", compiled)


def primitive(meaning: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function an intrinsic of numba; without compiling, `meaning` runs instead."""
    return (lambda define: meaning) if INTERPRETED else partial(Primitive, meaning)


def entry(function: Callable[..., Any] | None = None, *, of: str = "") -> Any:
    """Compile `function` for Python: cached if a folder can be written, and without the GIL.

    It returns numbers and tuples of them. One that is made several times, from different kernels, says in `of` which of
    them it is made from: the cache distinguishes them by that.
    """
    if function is None:
        return partial(entry, of=of)
    if INTERPRETED:
        return function
    ENTRIES.append(CompiledEntry(function, of))
    return ENTRIES[-1]
