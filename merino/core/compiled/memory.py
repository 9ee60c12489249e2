"""Memory as kernels use it: records, copied and cleared as a block, and atomic words at an address.

The transposition table and the stop flag are numpy arrays whose address travels in the search record, since a
record is one pointer and an array argument is seven words at every level of a recursion.
"""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from merino.core.compiled.jit import INTERPRETED, kernel, primitive

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
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(pointer, "monotonic", 8)

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


@intrinsic
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


def aligned_record(dtype: np.dtype) -> np.ndarray:
    """One zeroed record of `dtype`, as an array of length 1 that starts on a cache line."""
    return aligned_bytes(dtype.itemsize).view(dtype)


def aligned_bytes(size: int) -> np.ndarray:
    """`size` zeroed bytes, uint8, that start on a cache line."""
    block = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -block.ctypes.data % CACHE_LINE
    return block[start : start + size]
