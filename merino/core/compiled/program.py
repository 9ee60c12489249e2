"""How numba assembles code here: borrowed arrays, whole programs, and indices that do not count from the end.

By default numba counts the users of every array, at each call and for each array in a tuple, so that the last one
frees its memory. Passes over the rows of a sample spent three quarters of their time on that, and the PGN scanner two
thirds. An entry keeps the arrays it was called with until it returns, so a kernel borrows them and need not count. It
must then make no array and return none, which is checked here: the caller would give up an array nobody has counted.

By default numba optimises every function with LLVM alone, and again inside each of its callers. Here a kernel is only
translated, and LLVM sees it once, together with the entry that reaches it. Nobody else calls into this program, so
nothing has to be kept for other callers.

By default numba also allows negative indices, as Python does, and tests the sign of every index. No kernel uses that,
and a search spent a sixth of its time on it. A negative constant still counts from the end; with bounds checks any
other negative index is an IndexError. numba's own does not say where: here it names file, line and function.
"""

from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaTypeError
from numba.core.lowering import Lower
from numba.core.typed_passes import NopythonTypeInference
from numba.np import arrayobj

_place = [""]  # the line that is being compiled
_wrapped_index, _set_env = arrayobj.fix_integer_index, JITCPUCodegen.set_env


class BorrowingCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles what borrows its arrays."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, and the check of what is returned."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_RefuseArrays, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _RefuseArrays(AnalysisPass):  # type: ignore[misc]
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


class ProgramLibrary(JITCodeLibrary):  # type: ignore[misc]
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
