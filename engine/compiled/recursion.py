"""Mutual recursion between kernels: a function calls itself through its address, kept in the search record.

numba compiles mutual recursion, but code that it loads back from the cache then jumps to address 0 (so does
self-recursion first called with a literal). Called through an address, no kernel is recursive in numba's eyes,
and the steps of a search can be functions of their own that search deeper.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_INTEGERS = (types.int64,) * 4


@intrinsic
def address_of(typing, function, record):
    """The address, uint64, of the kernel function(record, int64, int64, int64, int64) -> int64."""
    arguments = (record, *_INTEGERS)
    function.get_call_type(typing, arguments, {})  # compiles it for these types

    def generate(context, builder, signature, args):
        compiled = function.dispatcher.overloads[arguments]
        context.active_code_library.add_linking_library(compiled.library)
        return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), ir.IntType(64))

    return types.uint64(function, record), generate


@intrinsic
def call_at(typing, address, record, first, second, third, fourth):
    """Call the kernel at `address` with a record and four int64; its int64. Kernels raise nothing."""
    arguments = (record, *_INTEGERS)

    def generate(context, builder, signature, args):
        convention = context.call_conv
        pointer = builder.inttoptr(args[0], convention.get_function_type(types.int64, arguments).as_pointer())
        _, value = convention.call_function(builder, pointer, types.int64, arguments, args[1:])
        return value

    return types.int64(types.uint64, record, *_INTEGERS), generate
