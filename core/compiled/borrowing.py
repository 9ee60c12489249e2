"""Kernels borrow the arrays they work on: they do not count who uses an array.

By default numba counts the users of every array, at each call and for each array in a tuple, so that the last one
frees its memory. Passes over the rows of a sample spent three quarters of their time on that, and the PGN scanner two
thirds. An entry keeps the arrays it was called with until it returns, so a kernel need not count. It must then make no
array and return none, which is checked here: the caller would give up an array that nobody has counted.
"""

from typing import Any

from numba import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaTypeError
from numba.core.typed_passes import NopythonTypeInference


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
