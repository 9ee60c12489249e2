"""Calls from compiled code into Python, for what is asked seldom and takes long: they take the interpreter's lock."""

import ctypes
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types

from merino.inner.core.compiled.jit import primitive

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


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
