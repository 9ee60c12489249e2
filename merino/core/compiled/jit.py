"""Where code runs: the two decorators of the project, how numba assembles what they compile, and where it is kept.

`kernel`  compiled code calls it; part of the program of each entry that reaches it; never cached alone.
`entry`   Python calls it; cached on disk with all that it reaches; releases the GIL while it runs.

Nothing else in the project calls `njit` (a test holds this). The cache of each group of packages lives in a per-user
folder named by a hash of every source file that its code may come from and of the versions that compile it, because
numba itself checks only the file of the cached function: a changed callee would go unnoticed and stale code would run.
"""

import hashlib
import logging
import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaExperimentalFeatureWarning, NumbaTypeError
from numba.core.lowering import Lower
from numba.core.serialize import dumps
from numba.core.typed_passes import NopythonTypeInference
from numba.extending import intrinsic
from numba.np import arrayobj

from merino.core.common.files import writing_whole
from merino.core.compiled.cache import CACHE_GROUPS, folder_of, group_of, holds_code
from merino.core.compiled.compiling import WATCH

log = logging.getLogger(__name__)

# How numba assembles code here. By default it counts the users of every array, at each call and for each array in a
# tuple, so that the last one frees its memory. Passes over the rows of a sample spent three quarters of their time on
# that. An entry keeps the arrays it was called with until it returns, so a kernel borrows them and need not count. It
# must make no array and return none, which is checked here: the caller would free an array that nobody has counted.
#
# By default numba optimises every function with LLVM alone, and again inside each of its callers. Here a kernel is only
# translated, and LLVM sees it once, with the entry that reaches it. Nobody else calls into this program, so nothing has
# to be kept for other callers.
#
# By default numba also allows negative indices and tests the sign of every index. No kernel uses that, and a search
# spent a sixth of its time on it. A negative constant still counts from the end; with bounds checks any other negative
# index is an IndexError, whose message names file, line and function.

_place = [""]  # the line that is being compiled
_wrapped_index, _set_env = arrayobj.fix_integer_index, JITCPUCodegen.set_env


class BorrowingCompiler(CompilerBase):
    """Compiles what borrows its arrays."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, and the check of what is returned."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_RefuseArrays, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _RefuseArrays(AnalysisPass):
    """Refuses to compile a function that returns an array."""

    _name = "refuse_arrays"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if _has_array(state.return_type):
            name = state.func_id.func_qualname
            raise NumbaTypeError(f"{name} returns an array: declare it with @kernel(makes_arrays=True)")
        return False


def _has_array(kind: Any) -> bool:
    return isinstance(kind, types.Array) or isinstance(kind, types.BaseTuple) and any(map(_has_array, kind))


class ProgramLibrary(JITCodeLibrary):
    """The code of one function, which becomes a program with all that it reaches once its address is requested."""

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function of this library; 0 where it has none of this name: what only kernels call."""
        if not self._finalized:
            if name not in _defined(self._final_module):
                return 0
            self.finalize()
        return int(super().get_pointer_to_function(name))

    def finalize(self) -> None:
        """Link everything that is reached from here, hide it from all others, and run LLVM."""
        own = _defined(self._final_module)
        for library in self._reached():
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
        self._linking_libraries: list[Any] = []
        super().finalize()

    def _reached(self) -> list[Any]:
        """The libraries of all functions that are called from here, directly or not."""
        found: dict[Any, None] = {}
        waiting = list(self._linking_libraries)
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += library._linking_libraries
        return list(found)

    def _ensure_finalized(self) -> None:
        """Leave a function that is linked into a program unchanged."""

    def _optimize_functions(self, module: Any) -> None:
        """Optimise nothing ahead of the whole program."""
        module.data_layout = self._codegen._data_layout


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """The index unchanged, instead of numba's test for negative ones; constants still get that test."""
    if not kind.signed or isinstance(index, ir.Constant):
        return _wrapped_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


def _set_environment(self: Any, name: str, environment: Any) -> None:
    """Set the constants of a program; a kernel has none until it is part of one."""
    if self._engine.is_symbol_defined(name):
        _set_env(self, name, environment)


def install() -> None:
    """Change numba in this process."""
    JITCPUCodegen._library_class, JITCPUCodegen.set_env = ProgramLibrary, _set_environment
    arrayobj.fix_integer_index = _index


def name_lines() -> None:
    """Let every bounds check compiled from now on name its place, `make test-bounds`."""
    compile_statement = Lower.lower_inst

    def lower_inst(self: Any, statement: Any) -> Any:
        before = _place[0]
        _place[0] = f"{Path(statement.loc.filename).name}:{statement.loc.line}, {self.func_ir.func_id.func_name}"
        try:
            return compile_statement(self, statement)
        finally:
            _place[0] = before

    Lower.lower_inst = lower_inst
    cgutils.do_boundscheck = _check_bounds


def _check_bounds(context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
    """Raise IndexError unless 0 <= index < size; print both, since the message of compiled code is fixed."""
    is_wrong = builder.icmp_unsigned(">=", index, size)  # a negative index is a large one
    with cgutils.if_unlikely(builder, is_wrong):
        cgutils.printf(builder, f"{_place[0]}: index %ld is out of bounds for size %ld\n", index, size)
        context.call_conv.return_user_exc(builder, IndexError, (f"{_place[0]}: the index is out of bounds",))


# Compiled code on the disk: a file for each function and signature, with a checksum of its content. numba trusts what
# it reads back: a file that was cut short or overwritten then raises whatever unpickling comes upon, or hands LLVM
# machine code that ends the process. Here a damaged file counts as none, the log says so, and the compiler writes it
# again.

_HEAD = 4  # bytes of the checksum
_PACKAGE = Path(__file__).resolve().parents[2]


class CodeFiles:
    """The compiled versions of one function: what numba wants of its own index and data files, whose place it takes."""

    def __init__(self, folder: Path, name: str, stamp: object) -> None:
        """`stamp`: what the code was made from, in addition to what the keys say."""
        self._folder, self._name, self._stamp = folder, name, stamp
        self.in_use: list[Path] = []  # the files that have been read or written

    def load(self, key: object) -> Any:
        """What was saved under this key; None where there is nothing, or nothing that can be read."""
        path = self.path(key)
        try:
            content = memoryview(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cannot read the compiled code in %s (%s): compiling again", path, error.strerror)
            return None
        code = content[_HEAD:]
        if not code or _checksum(code) != content[:_HEAD]:
            log.warning("the compiled code in %s is damaged: compiling again", path)
            return None
        loaded = pickle.loads(code)
        self.in_use.append(path)
        return loaded

    def save(self, key: object, data: object) -> None:
        """Keep `data` for later starts; raises OSError."""
        code = dumps(data)
        path = self.path(key)
        with writing_whole(path) as file:
            file.write(_checksum(code))
            file.write(code)
        self.in_use.append(path)

    @property
    def is_empty(self) -> bool:
        """Whether there is no version."""
        return next(self._versions(), None) is None

    def flush(self) -> None:
        """Forget all versions."""
        for path in self._versions():
            path.unlink()

    def _versions(self) -> Iterator[Path]:
        return self._folder.glob(f"{self._name}.*.code")

    def path(self, key: object) -> Path:
        """Where the version of this key is kept. Keys are signature, processor and bytecode, as texts."""
        digest = hashlib.sha256(repr((key, self._stamp)).encode()).hexdigest()
        return self._folder / f"{self._name}.{digest[:16]}.code"


def _checksum(code: bytes | memoryview) -> bytes:
    """Against accidents only, since it is on the way to `readyok`: a digest takes eight times as long."""
    return zlib.crc32(code).to_bytes(_HEAD)


class _Readable(UserProvidedCacheLocator):
    """A folder may be used that can only be read, as on a full disk: numba would compile again what lies there.

    Code of our own modules is found wherever the package lies.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder inside the cache for the code of this source."""
        path = Path(py_file).resolve()
        if _PACKAGE in path.parents:
            return "_".join(path.relative_to(_PACKAGE).parent.parts)
        return str(super().get_suitable_cache_subpath(py_file))

    def ensure_cache_path(self) -> None:
        """Make the folder, and do not try to write there; raises OSError."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _InOurFolder(CompileResultCacheImpl):
    """Code goes where we say or nowhere: numba would go on to folders that no hash of the sources names."""

    _locator_classes = (_Readable,)


class CodeCache(FunctionCache):
    """numba's cache of one function, over files that are checked."""

    _impl_class = _InOurFolder

    def __init__(self, function: Any, of: str = "") -> None:
        """In the folder that numba is set to; raises RuntimeError where that cannot be used.

        `of` names what a function was made from that is made several times.
        """
        super().__init__(function)
        self._of = of
        locator = self._impl.locator
        name, stamp = self._impl.filename_base + (f".{of}" if of else ""), locator.get_source_stamp()
        self._cache_file = CodeFiles(Path(locator.get_cache_path()), name, stamp)

    @property
    def is_empty(self) -> bool:
        """Whether no version of the function is on the disk."""
        return self._cache_file.is_empty

    @property
    def in_use(self) -> list[Path]:
        """The files of the versions that this process has read or written."""
        return self._cache_file.in_use

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """The key of numba; `of` names the kernels that a made function holds, as numba's hash of them never recurs."""
        if not self._of:
            return super()._index_key(sig, codegen)
        return sig, codegen.magic_tuple(), hashlib.sha256(self._py_func.__code__.co_code).hexdigest(), self._of

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; where that cannot be, the log says so, and this start goes on without."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            log.warning("cannot keep compiled code in %s (%s): compiling again next time", self.cache_path, error)


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
event.Listener.register(type(WATCH))
event.register("numba:compile", WATCH)

# Kernels in a tuple to unroll, or as an argument whose address is taken, count as "first-class functions". Each use
# here is resolved to the one function when it is compiled, which is all that is asked of the feature.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)


def kernel(function: Callable[..., Any] | None = None, *, makes_arrays: bool = False) -> Any:
    """Compile `function` for callers that are compiled themselves; Python cannot call it.

    It borrows its arrays, see above. One that makes an array or returns one says `makes_arrays`.
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
    distinguishes them by that.
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
            log.warning("%s is compiled at each start, %s cannot be used: %s", function.__name__, folder, error)
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
