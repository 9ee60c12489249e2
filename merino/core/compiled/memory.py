"""Memory as kernels use it: records, copied and cleared as a block, atomic words, and calls by address.

The transposition table and the stop flag are numpy arrays whose address travels in the search record, since a
record is one pointer and an array argument is seven words at every level of a recursion.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from merino.core.compiled.cache import CHECKS_BOUNDS, INTERPRETED
from merino.core.compiled.jit import Later, kernel, primitive

ir: Any = Later("llvmlite.ir")
types: Any = Later("numba.core.types")
cgutils: Any = Later("numba.core.cgutils")
carray = Later("numba", "carray")

CACHE_LINE = 64


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype:
    """The dtype with these fields, laid out as C does. Where nothing is compiled, records have attributes, too."""
    dtype = np.dtype(list(fields), align=True)
    return np.dtype((np.record, dtype)) if INTERPRETED else dtype


def _load_word(address):
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


def _store_word(address, word):
    ctypes.c_uint64.from_address(int(address)).value = int(word)


def _array_in_python(address, dtype, shape):
    size = np.dtype(dtype).itemsize * math.prod(np.atleast_1d(shape).tolist())
    content = (ctypes.c_char * size).from_address(int(address))
    return np.frombuffer(memoryview(content), dtype=dtype).reshape(shape)


def _copy_record(target, source):
    for name in target.dtype.names:
        target[name] = source[name]


def _clear_record(target):
    _copy_record(target, np.zeros(1, dtype=target.dtype)[0])


@primitive(_load_word)
def load_word(typing, address):
    """The uint64 at `address` (uint64), read atomically without ordering; never hoisted out of a loop."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), "monotonic", 8)

    return types.uint64(types.uint64), generate


@primitive(_store_word)
def store_word(typing, address, word):
    """Write the uint64 `word` at `address`, atomically without ordering."""

    def generate(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store_atomic(args[1], pointer, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@primitive(lambda address: None)
def prefetch(typing, address):
    """Prefetch the cache line at `address`."""

    def generate(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word]), "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@primitive(lambda address, dtype: address)
def _pointer(typing, address, dtype):
    """The number `address`, uint64, as a pointer to elements of `dtype`, such as np.int16 or that of a record."""
    pointer = types.CPointer(dtype.dtype)

    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(types.uint64, dtype), generate


@kernel(makes_arrays=True)
def _compiled_array(address, dtype, shape):
    return carray(_pointer(address, dtype), shape)


# array_at(address, dtype, shape): the array that lies at `address`, uint64; its owner must keep it alive.
array_at = _array_in_python if INTERPRETED else _compiled_array


@primitive(_copy_record)
def copy_record(typing, target, source):
    """Copy the whole record `source` over `target`; both must have one dtype."""
    if not isinstance(target, types.Record) or target != source:
        raise TypeError("copy_record needs two records of one dtype")

    def generate(context, builder, signature, args):
        cgutils.raw_memcpy(builder, args[0], args[1], context.get_constant(types.intp, target.size), 1)
        return context.get_dummy_value()

    return types.void(target, source), generate


@primitive(_clear_record)
def clear_record(typing, target):
    """Zero the whole record `target`."""
    if not isinstance(target, types.Record):
        raise TypeError("clear_record needs a record")

    def generate(context, builder, signature, args):
        cgutils.memset(builder, args[0], context.get_constant(types.intp, target.size), 0)
        return context.get_dummy_value()

    return types.void(target), generate


@primitive(lambda number: number)
def now(typing, number):
    """The int64 `number`, computed here: of a long sum LLVM would keep all parts to add them up at its end."""

    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", args, False)

    return types.int64(types.int64), generate


@primitive(lambda dtype: np.zeros(1, dtype=dtype)[0])
def local_record(typing, dtype):
    """A record of `dtype`, not filled, for as long as the kernel runs that asks for it; nothing is allocated."""
    record = dtype.dtype

    def generate(context, builder, signature, args):
        with builder.goto_entry_block():
            content = builder.alloca(ir.ArrayType(ir.IntType(64), record.size // 8))
        return builder.bitcast(content, context.get_value_type(record))

    return record(dtype), generate


def aligned_record(dtype: np.dtype) -> np.ndarray:
    """One zeroed record of `dtype`, as an array of length 1 that starts on a cache line."""
    return aligned_bytes(dtype.itemsize).view(dtype)


def aligned_bytes(size: int) -> np.ndarray:
    """`size` zeroed bytes, uint8, that start on a cache line."""
    block = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -block.ctypes.data % CACHE_LINE
    return block[start : start + size]


# Calls by address. numba compiles mutual recursion, but code that it loads back from the cache then jumps to address 0
# (so does self-recursion first called with a literal). Called through an address, no kernel is recursive for numba, and
# the steps of a search can be separate functions that search deeper. An evaluation is called in the same way, so that
# another evaluation does not make the search compile again. Calls of Python are for what is rarely asked and takes
# long: they take the interpreter's lock.

_INTERPRETED: list[Any] = []  # functions; their index is their address where nothing is compiled
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


def _place_of(function, *_):
    if function not in _INTERPRETED:
        _INTERPRETED.append(function)
    return np.uint64(_INTERPRETED.index(function))


def _call_place(place, record, *others):
    return _INTERPRETED[int(place)](record, *others)


def _address(typing, function, arguments, given):
    """The type and the code of the address of the kernel `function` for these types; `given` come with it."""
    function.get_call_type(typing, arguments, {})  # compiles it for these types

    def generate(context, builder, signature, args):
        compiled = function.dispatcher.overloads[arguments]
        context.active_code_library.add_linking_library(compiled.library)
        return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), ir.IntType(64))

    return types.uint64(function, *given), generate


def _call(result, arguments):
    """The type and the code of a call of the kernel at the address that comes first, with arguments of these types."""

    def generate(context, builder, signature, args):
        convention = context.call_conv
        pointer = builder.inttoptr(args[0], convention.get_function_type(result, arguments).as_pointer())
        status, value = convention.call_function(builder, pointer, result, arguments, args[1:])
        if CHECKS_BOUNDS:  # else kernels raise nothing
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
        return value

    return result(types.uint64, *arguments), generate


@primitive(_place_of)
def address_of(typing, function, record):
    """The address, uint64, of the kernel function(record, int64, int64, int64, int64) -> int64."""
    return _address(typing, function, (record, *(types.int64,) * 4), (record,))


@primitive(_call_place)
def call_at(typing, address, record, first, second, third, fourth):
    """Call the kernel at `address` with a record and four int64; its int64."""
    return _call(types.int64, (record, *(types.int64,) * 4))


@primitive(_place_of)
def evaluation_address(typing, function, record):
    """The address, uint64, of the kernel function(record, int64) -> float64, such as an evaluation of a ply."""
    return _address(typing, function, (record, types.int64), (record,))


@primitive(_call_place)
def call_evaluation(typing, address, record, number):
    """Call the kernel at `address` with a record and an int64, such as a ply; its float64."""
    return _call(types.float64, (record, types.int64))


@primitive(_place_of)
def counts_address(typing, function, record, out):
    """The address, uint64, of the kernel function(record, int64, uint64, array) -> int64, which fills the array."""
    return _address(typing, function, (record, types.int64, types.uint64, out), (record, out))


@primitive(_call_place)
def call_counts(typing, address, record, number, squares, out):
    """Call the kernel at `address` with a record, an int64, a uint64 and an array to fill; its int64."""
    return _call(types.int64, (record, types.int64, types.uint64, out))


class Callback:
    """A function of Python that compiled code can call with a record; it must live as long as it may be called."""

    def __init__(self, function: Callable[[np.ndarray], int], dtype: np.dtype) -> None:
        """`function` takes the record as an array of length 1 and `dtype`, and must not raise."""

        def answer(address: int) -> int:
            content = (ctypes.c_char * dtype.itemsize).from_address(address)
            return function(np.frombuffer(memoryview(content), dtype=dtype))

        self._pointer = _PROTOTYPE(answer)
        self.address = np.uint64(ctypes.cast(self._pointer, ctypes.c_void_p).value or 0)


def _call_python(address, record):
    return _PROTOTYPE(int(address))(record.__array_interface__["data"][0])


@primitive(_call_python)
def call_python(typing, address, record):
    """Call the `Callback` at `address` with a record; its int64."""

    def generate(context, builder, signature, args):
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(word, [pointer]).as_pointer())
        return builder.call(function, [builder.bitcast(args[1], pointer)])

    return types.int64(types.uint64, record), generate
