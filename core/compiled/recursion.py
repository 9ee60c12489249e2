"""Mutual recursion between kernels: a function calls itself through its address, kept in the search record.

numba compiles mutual recursion, but code that it loads back from the cache then jumps to address 0 (so does
self-recursion first called with a literal). Called through an address, no kernel is recursive for numba, and the steps
of a search can be separate functions that search deeper. An evaluation is called in the same way, so that another
evaluation does not make the search compile again.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from merino.inner.core.compiled.jit import CHECKS_BOUNDS, primitive

_INTEGERS = (types.int64,) * 4
_INTERPRETED: list[Any] = []  # functions; their index is their address where nothing is compiled


def _place_of(function, *_):
    if function not in _INTERPRETED:
        _INTERPRETED.append(function)
    return np.uint64(_INTERPRETED.index(function))


def _call_place(place, record, *others):
    return _INTERPRETED[int(place)](record, *others)


def _address(context, builder, function, arguments):
    """The address of the kernel `function`, compiled for these types; its library is linked to the caller's."""
    compiled = function.dispatcher.overloads[arguments]
    context.active_code_library.add_linking_library(compiled.library)
    return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), ir.IntType(64))


def _call(context, builder, result, arguments, args):
    """Call the kernel at the address args[0] with the rest of `args`."""
    convention = context.call_conv
    pointer = builder.inttoptr(args[0], convention.get_function_type(result, arguments).as_pointer())
    status, value = convention.call_function(builder, pointer, result, arguments, args[1:])
    if CHECKS_BOUNDS:  # else kernels raise nothing
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
    return value


@primitive(_place_of)
def address_of(typing, function, record):
    """The address, uint64, of the kernel function(record, int64, int64, int64, int64) -> int64."""
    arguments = (record, *_INTEGERS)
    function.get_call_type(typing, arguments, {})  # compiles it for these types

    def generate(context, builder, signature, args):
        return _address(context, builder, function, arguments)

    return types.uint64(function, record), generate


@primitive(_call_place)
def call_at(typing, address, record, first, second, third, fourth):
    """Call the kernel at `address` with a record and four int64; its int64."""
    arguments = (record, *_INTEGERS)

    def generate(context, builder, signature, args):
        return _call(context, builder, types.int64, arguments, args)

    return types.int64(types.uint64, record, *_INTEGERS), generate


@primitive(_place_of)
def evaluation_address(typing, function, record):
    """The address, uint64, of the kernel function(record, int64) -> float64, an evaluation of a ply."""
    arguments = (record, types.int64)
    function.get_call_type(typing, arguments, {})

    def generate(context, builder, signature, args):
        return _address(context, builder, function, arguments)

    return types.uint64(function, record), generate


@primitive(_call_place)
def call_evaluation(typing, address, record, ply):
    """Call the evaluation at `address` with a record and a ply; its float64."""
    arguments = (record, types.int64)

    def generate(context, builder, signature, args):
        return _call(context, builder, types.float64, arguments, args)

    return types.float64(types.uint64, record, types.int64), generate


@primitive(_place_of)
def sum_address(typing, function, record, weights):
    """The address, uint64, of the kernel function(record, array) -> float64."""
    arguments = (record, weights)
    function.get_call_type(typing, arguments, {})

    def generate(context, builder, signature, args):
        return _address(context, builder, function, arguments)

    return types.uint64(function, record, weights), generate


@primitive(_call_place)
def call_sum(typing, address, record, weights):
    """Call the kernel at `address` with a record and an array; its float64."""
    arguments = (record, weights)

    def generate(context, builder, signature, args):
        return _call(context, builder, types.float64, arguments, args)

    return types.float64(types.uint64, *arguments), generate


@primitive(_place_of)
def counts_address(typing, function, record, out):
    """The address, uint64, of the kernel function(record, int64, uint64, array) -> int64, which fills the array."""
    arguments = (record, types.int64, types.uint64, out)
    function.get_call_type(typing, arguments, {})

    def generate(context, builder, signature, args):
        return _address(context, builder, function, arguments)

    return types.uint64(function, record, out), generate


@primitive(_call_place)
def call_counts(typing, address, record, number, squares, out):
    """Call the kernel at `address` with a record, an int64, a uint64 and an array to fill; its int64."""
    arguments = (record, types.int64, types.uint64, out)

    def generate(context, builder, signature, args):
        return _call(context, builder, types.int64, arguments, args)

    return types.int64(types.uint64, *arguments), generate
