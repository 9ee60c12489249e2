"""How numba puts code together here: whole programs at once, and indices that do not count from the end.

By itself numba takes every function through LLVM alone, and again inside each of its callers. Here a kernel is only
translated, and LLVM sees it once, together with the entry that reaches it: a program into which nobody else calls, so
that nothing has to be kept for callers that there are not.

By itself numba also lets every index be negative, as Python does, and finds out for each whether it is. No kernel makes
use of that, and a search spent a sixth of its time on it. A negative constant still counts from the end; with bounds
checks any other negative index is an IndexError.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.np import arrayobj

_wrapped_index, _set_env = arrayobj.fix_integer_index, JITCPUCodegen.set_env


class ProgramLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function, which becomes a program with all that it reaches once its address is asked for."""

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function of this library; 0 where it has none of this name: what only kernels call."""
        if not self._finalized:
            if name not in _defined(self._final_module):
                return 0
            self.finalize()
        return int(super().get_pointer_to_function(name))

    def finalize(self) -> None:
        """Link all that is reached from here, hide it from all others, and let LLVM do its work."""
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
        """Leave a function that is linked into a program as it is."""

    def _optimize_functions(self, module: Any) -> None:
        """Optimise nothing ahead of the whole program."""
        module.data_layout = self._codegen._data_layout


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it is, where numba's own function looks whether it is negative; that one still for constants."""
    if not kind.signed or isinstance(index, ir.Constant):
        return _wrapped_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


def _set_environment(self: Any, name: str, environment: Any) -> None:
    """Tell a program of its constants; a kernel has none until it is part of one."""
    if self._engine.is_symbol_defined(name):
        _set_env(self, name, environment)


def install() -> None:
    """Let numba work so from now on, in this process."""
    JITCPUCodegen._library_class, JITCPUCodegen.set_env = ProgramLibrary, _set_environment
    arrayobj.fix_integer_index = _index
