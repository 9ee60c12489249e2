"""What compiles: numba, which is changed here so that an entry becomes one program. Loaded only to compile.

By default numba counts the users of every array, at each call and for each array in a tuple, so that the last one frees
its memory. Passes over the rows of a sample spent three quarters of their time on that. The caller of an entry keeps
its arrays until it returns, so a kernel borrows them and need not count. It must make no array and return none, which
is checked here: the caller would free an array that nobody has counted.

By default numba optimises every function with LLVM alone, and again inside each of its callers. Here a kernel is only
translated, and LLVM sees it once, with the entry that reaches it. Nobody else calls into this program, so nothing has
to be kept for other callers.

By default numba also allows negative indices and tests the sign of every index. No kernel uses that, and a search
spent a sixth of its time on it. A negative constant still counts from the end; with bounds checks any other negative
index is an IndexError, whose message names file, line and function.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba import extending, types
from numba.core import cgutils, compiler, event
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaError, NumbaExperimentalFeatureWarning, NumbaTypeError
from numba.core.lowering import Lower
from numba.core.registry import cpu_target
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.np import arrayobj
from numba.np.arrayobj import make_array, populate_array

from merino.core.common.errors import turning
from merino.core.compiled.cache import CHECKS_BOUNDS, target
from merino.core.compiled.code_files import IN_ONE_PIECE, SYMBOL
from merino.core.compiled.compiling import WATCH
from merino.core.compiled.jit import CompilationError


def replace(owner: Any, name: str, new: Any) -> Any:
    """Put `new` in place of a private part of numba, which must have as many parameters; returns the old one."""
    old = vars(owner).get(name)
    parts = [list(inspect.signature(each).parameters) for each in (old, new) if callable(each)]
    if old is None or len(parts) == 2 and len(parts[0]) != len(parts[1]):
        raise AttributeError(f"it has no {owner.__name__}.{name} as is expected")
    setattr(owner, name, new)
    return old


class BorrowingCompiler(compiler.CompilerBase):
    """Compiles what borrows its arrays."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, and the check of what is returned."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
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


class KernelLibrary(JITCodeLibrary):
    """The code of one function, only translated: LLVM optimises the programs that it becomes a part of."""

    def get_pointer_to_function(self, name: str) -> int:
        """There is none: only programs are called."""
        return 0

    def reached(self) -> list[Any]:
        """The libraries of all functions that are called from here, directly or not."""
        found: dict[Any, None] = {}
        waiting = list(self._linking_libraries)
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += library._linking_libraries
        return list(found)

    def object_code(self) -> bytes:
        """Link everything that is reached from here, hide it from all others, run LLVM, and return what it makes."""
        module = self._final_module
        own = {function.name for function in module.functions if not function.is_declaration}
        for part in (*(library._get_module_for_linking() for library in self.reached()), _memory()):
            module.link_in(part, preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
        self._optimize_final_module()
        module.verify()
        self._refuse_helpers()
        return bytes(self._codegen._tm.emit_object(module))

    def _refuse_helpers(self) -> None:
        """Refuse code that only runs in a process that has loaded numba."""
        parts = (*self._final_module.functions, *self._final_module.global_variables)
        needed = [each.name for each in parts if each.is_declaration]
        helpers = [name for name in needed if name.startswith(("NRT_", "numba_"))]
        if helpers:
            raise CompilationError(f"{self.name} needs {', '.join(helpers)} of numba: let it do that by loops")

    def _ensure_finalized(self) -> None:
        """Leave a function that is linked into a program unchanged."""

    def _optimize_functions(self, module: Any) -> None:
        """Optimise nothing ahead of the whole program."""
        module.data_layout = self._codegen._data_layout


# What numba's library does for arrays that a kernel makes, and for copies of slices: the word that counts users, the
# address, the array, on a line of its own. Programs bring this along, so that they run without numba; none gives an
# array away.
_MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
    %line = zext i32 %align to i64
    %more = add i64 %line, 16
    %all = add i64 %size, %more
    %block = call ptr @malloc(i64 %all)
    %failed = icmp eq ptr %block, null
    br i1 %failed, label %none, label %found
found:
    %number = ptrtoint ptr %block to i64
    %end = add i64 %number, %more
    %rest = urem i64 %end, %line
    %start = sub i64 %end, %rest
    %array = inttoptr i64 %start to ptr
    %place = getelementptr i64, ptr %block, i64 1
    store i64 1, ptr %block
    store ptr %array, ptr %place
    br label %none
none:
    ret ptr %block
}
define ptr @NRT_MemInfo_alloc(i64 %size) {
    %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
    ret ptr %block
}
define ptr @NRT_MemInfo_data_fast(ptr %block) {
    %place = getelementptr i64, ptr %block, i64 1
    %array = load ptr, ptr %place
    ret ptr %array
}
define void @NRT_MemInfo_call_dtor(ptr %block) {
    call void @free(ptr %block)
    ret void
}
define ptr @NRT_Allocate(i64 %size) {
    %block = call ptr @malloc(i64 %size)
    ret ptr %block
}
define void @NRT_Free(ptr %block) {
    call void @free(ptr %block)
    ret void
}
"""


def _memory() -> Any:
    module = binding.parse_assembly(_MEMORY)
    module.triple = binding.get_process_triple()
    return module


# The function that Python calls: it takes its arguments out of Python's objects, gives the interpreter's lock away
# while the entry runs, and makes an object of what that returns.

_OBJECT, _WORD, _INT = cgutils.voidptr_t, ir.IntType(64), ir.IntType(32)
_HEAD = object.__basicsize__  # bytes of an object before its content


def _ask(builder: Any, name: str, result: Any, *given: Any, is_variadic: bool = False) -> Any:
    """Call a function of Python's C library."""
    kind = ir.FunctionType(result, [each.type for each in given], var_arg=is_variadic)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


def _part(builder: Any, place: Any, offset: int, kind: Any) -> Any:
    """The `kind` in memory that lies so many bytes behind a place."""
    return builder.load(builder.bitcast(cgutils.pointer_add(builder, place, offset), kind.as_pointer()))


def _value(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    """The value of this type in an object."""
    if isinstance(kind, types.BaseTuple):
        items = [_ask(builder, "PyTuple_GetItem", _OBJECT, given, _WORD(place)) for place in range(len(kind))]
        values = [_value(context, builder, each, item) for each, item in zip(kind, items, strict=True)]
        return context.make_tuple(builder, kind, values)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, given)
    wanted = context.get_value_type(kind)
    if isinstance(kind, types.Boolean):
        return builder.icmp_signed("!=", _ask(builder, "PyObject_IsTrue", _INT, given), _INT(0))
    if isinstance(kind, types.Float):
        found = _ask(builder, "PyFloat_AsDouble", ir.DoubleType(), given)
        return found if found.type == wanted else builder.fptrunc(found, wanted)
    sign = "" if kind.signed else "Unsigned"
    found = _ask(builder, f"PyLong_As{sign}LongLong{'' if kind.signed else 'Mask'}", _WORD, given)
    return found if found.type == wanted else builder.trunc(found, wanted)


def _array(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    """An array that somebody else owns: data, number of dimensions, lengths and strides lie behind each other."""
    data, lengths, strides = (_part(builder, given, _HEAD + 8 * place, _OBJECT) for place in (0, 2, 3))
    found = make_array(kind)(context, builder)
    shape, steps = ([_part(builder, each, 8 * axis, _WORD) for axis in range(kind.ndim)] for each in (lengths, strides))
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    populate_array(found, builder.bitcast(data, found.data.type), tuple(shape), tuple(steps), size, None)
    return found._getvalue()


def _object(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The object of Python for a value that is returned."""
    if isinstance(kind, types.BaseTuple):
        made = _ask(builder, "PyTuple_New", _OBJECT, _WORD(len(kind)))
        for index, (each, part) in enumerate(zip(kind, cgutils.unpack_tuple(builder, value), strict=True)):
            _ask(builder, "PyTuple_SetItem", _INT, made, _WORD(index), _object(context, builder, each, part))
        return made
    if isinstance(kind, types.NoneType):
        nothing = context.insert_const_string(builder.module, "")
        return _ask(builder, "Py_BuildValue", _OBJECT, nothing, is_variadic=True)
    if isinstance(kind, types.Boolean):
        return _ask(builder, "PyBool_FromLong", _OBJECT, builder.zext(value, _WORD))
    if isinstance(kind, types.Float):
        return _ask(builder, "PyFloat_FromDouble", _OBJECT, context.cast(builder, value, kind, types.float64))
    if isinstance(kind, types.Integer):
        wide = types.int64 if kind.signed else types.uint64
        name = f"PyLong_From{'' if kind.signed else 'Unsigned'}LongLong"
        return _ask(builder, name, _OBJECT, context.cast(builder, value, kind, wide))
    raise NumbaTypeError(f"an entry returns numbers and tuples of them, not {kind}")


def _callable(context: Any, library: Any, made: Any) -> None:
    """Add to a library the function that Python calls: (what is raised, objects, their number) -> object."""
    kind, descriptor = made.signature, made.fndesc
    module = library.create_ir_module(SYMBOL)
    function = ir.Function(module, ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT, _WORD]), SYMBOL)
    builder = ir.IRBuilder(function.append_basic_block())
    error, objects, _ = function.args
    arguments = [
        _value(context, builder, each, _part(builder, objects, 8 * place, _OBJECT))
        for place, each in enumerate(kind.args)
    ]
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, _ask(builder, "PyErr_Occurred", _OBJECT))):
        builder.ret(cgutils.get_null_value(_OBJECT))
    lock = _ask(builder, "PyEval_SaveThread", _OBJECT)
    callee = context.declare_function(module, descriptor)
    status, value = context.call_conv.call_function(builder, callee, kind.return_type, kind.args, arguments)
    _ask(builder, "PyEval_RestoreThread", ir.VoidType(), lock)
    with cgutils.if_unlikely(builder, status.is_error):
        said = context.insert_const_string(module, f"{descriptor.qualname} of {descriptor.modname} has failed")
        _ask(builder, "PyErr_SetString", ir.VoidType(), error, said)
        builder.ret(cgutils.get_null_value(_OBJECT))
    builder.ret(_object(context, builder, kind.return_type, value))
    library.add_ir_module(module)
    library.add_linking_library(made.library)


class VectorType(types.Type):
    """The type for numba of `core.compiled.lanes`: some numbers as one value."""

    def __init__(self, name: str, vector: Any) -> None:
        super().__init__(name)
        self.vector = vector


@extending.register_model(VectorType)
class _VectorModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


def vector_type(name: str, vector: Any, operators: Mapping[Callable[..., Any], str]) -> VectorType:
    """The type of such values, and these operators between two of them, each an instruction of LLVM."""
    kind = VectorType(name, vector)
    for operation, instruction in operators.items():
        case = type(f"_{name}_{instruction}", (ConcreteTemplate,), {"cases": (signature(kind, kind, kind),)})
        infer_global(operation)(case)
        extending.lower_builtin(operation, kind, kind)(
            lambda context, builder, signature, args, does=instruction: getattr(builder, does)(*args)
        )
    for context in (cpu_target.typing_context, cpu_target.target_context):
        context.refresh()  # which finds them
    return kind


# What is asked of this module.

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def dispatcher_of(kernel: Any, borrows: bool) -> Any:
    """What numba makes of a kernel. `_nrt`: whether it counts; what says nothing does as its caller."""
    options = {"_nrt": False, "pipeline_class": BorrowingCompiler} if borrows else {"_nrt": True}
    made = numba.njit(**_OPTIONS, **options)(kernel.py_func)
    made.kernel = kernel
    return made


def intrinsic_type(definition: Callable[..., Any]) -> Any:
    """The type for numba of what a primitive defines."""
    made = extending.intrinsic(definition)
    cpu_target.typing_context.refresh()  # which finds it
    return cpu_target.typing_context.resolve_value_type(made)


def compile_entry(entry: Any, kinds: tuple[Any, ...], given: tuple[Any, ...]) -> bytes:
    """The object code of an entry for such arguments, of these kinds, with a function for Python.

    Raises CompilationError for what numba does not compile.
    """
    with turning(NumbaError, CompilationError):
        return _compiled(entry, tuple(map(_type_of, kinds, given)))


def _type_of(kind: Any, value: Any) -> Any:
    return getattr(types, kind) if isinstance(kind, str) else numba.typeof(value)


def _compiled(entry: Any, kinds: tuple[Any, ...]) -> bytes:
    with global_compiler_lock, event.trigger_event("numba:compile", data={"dispatcher": entry}):
        entry.dispatcher.compile(kinds)
        context = cpu_target.target_context
        library = context.codegen().create_library(entry.name)
        _callable(context, library, entry.dispatcher.overloads[kinds])
        return bytes(library.object_code())


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """The index unchanged, instead of numba's test for negative ones; constants still get that test."""
    if not kind.signed or isinstance(index, ir.Constant):
        return _wrapped_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


def _choose_model(self: Any, options: dict[str, Any]) -> None:
    """Let code reach its parts by short distances, which makes a search a hundredth faster than whole addresses do."""
    _usual_model(self, options)
    if IN_ONE_PIECE:
        options.update(reloc="pic", codemodel="small")


def _type_of_field(self: Any, name: str) -> Any:
    """The type of a field of a record, and not a KeyError for one that it does not have."""
    if name not in self.fields:
        raise NumbaTypeError(f"Unknown attribute {name!r}")
    return self.fields[name].type


def _name_lines() -> None:
    """Let every bounds check compiled from now on name its place, `make test-bounds`."""

    def lower_inst(self: Any, statement: Any) -> Any:
        before = _place[0]
        _place[0] = f"{Path(statement.loc.filename).name}:{statement.loc.line}, {self.func_ir.func_id.func_name}"
        try:
            return compile_statement(self, statement)
        finally:
            _place[0] = before

    compile_statement = replace(Lower, "lower_inst", lower_inst)
    replace(cgutils, "do_boundscheck", _check_bounds)


def _check_bounds(context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
    """Raise IndexError unless 0 <= index < size; print both, since the message of compiled code is fixed."""
    is_wrong = builder.icmp_unsigned(">=", index, size)  # a negative index is a large one
    with cgutils.if_unlikely(builder, is_wrong):
        cgutils.printf(builder, f"{_place[0]}: index %lld is out of bounds for size %lld\n", index, size)
        context.call_conv.return_user_exc(builder, IndexError, (f"{_place[0]}: the index is out of bounds",))


_place = [""]  # the line that is being compiled
numba.config.CPU_NAME, numba.config.CPU_FEATURES = target()
replace(JITCPUCodegen, "_library_class", KernelLibrary)
replace(types.Record, "typeof", _type_of_field)
replace(JITCPUCodegen, "set_env", lambda self, name, environment: None)  # the constants of what only programs call
_usual_model = replace(JITCPUCodegen, "_customize_tm_options", _choose_model)
_wrapped_index = replace(arrayobj, "fix_integer_index", _index)
if CHECKS_BOUNDS:
    _name_lines()
event.Listener.register(type(WATCH))
event.register("numba:compile", WATCH)

# Kernels in a tuple to unroll, or as an argument whose address is taken, count as "first-class functions". Each use
# here is resolved to the one function when it is compiled, which is all that is asked of the feature.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)
