"""Thirty-two numbers of 16 bits, or sixteen sums of 32, as one value, which the processor takes in whole registers.

LLVM turns a plain loop over a row of a network into such instructions too, but takes smaller registers for its
products and asks at every row whether it overlaps another. These say what is meant. Twice as many numbers would fit
the largest registers of some processors, which then slow down all the rest: a score of a net took 1.8 times as long.
"""

import ctypes
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from merino.core.compiled.jit import Later, primitive

ir: Any = Later("llvmlite.ir")
types: Any = Later("numba.core.types")
cgutils: Any = Later("numba.core.cgutils")

LANES = 32
LANES_SIZE = 2 * LANES  # bytes


class Lanes:
    """Some numbers as one value. It is called like a type of numba, for the signature of what returns it."""

    def __init__(self, name: str, count: int, number: Any, operators: Mapping[Callable[..., Any], str]) -> None:
        """`number` is the type of one of `count` for ctypes.

        Compiled code may use `operators` between two such values, each an instruction of LLVM as `IRBuilder` names it.
        """
        self.name, self.count, self.number, self._operators = name, count, number, operators

    @cached_property
    def vector(self) -> Any:
        """The type for LLVM."""
        is_real = self.number is ctypes.c_float
        return ir.VectorType(ir.FloatType() if is_real else ir.IntType(8 * ctypes.sizeof(self.number)), self.count)

    @cached_property
    def type(self) -> Any:
        """The type for numba."""
        from merino.core.compiled.program import vector_type  # noqa: PLC0415 (which imports numba)

        return vector_type(self.name, self.vector, self._operators)

    def __call__(self, *given: Any) -> Any:
        """The signature of what returns it and takes these types."""
        return self.type(*(each.type if isinstance(each, Lanes) else each for each in given))

    def at(self, address: Any) -> np.ndarray:
        """The numbers at an address, for code that runs without the compiler."""
        return np.ctypeslib.as_array((self.number * self.count).from_address(int(address)))


lanes = Lanes("lanes", LANES, ctypes.c_int16, {operator.add: "add", operator.sub: "sub", operator.mul: "mul"})
sum_lanes = Lanes("sum_lanes", LANES // 2, ctypes.c_int32, {operator.add: "add"})


def load(kind):
    """What numba asks of an intrinsic: a load of `kind` from an address, uint64."""

    def generate(context, builder, signature, args):
        loaded = builder.load(builder.inttoptr(args[0], kind.vector.as_pointer()))
        loaded.align = ctypes.sizeof(kind.number)
        return loaded

    return kind(types.uint64), generate


def store(kind):
    """The same for a store."""

    def generate(context, builder, signature, args):
        place = builder.inttoptr(args[0], kind.vector.as_pointer())
        builder.store(args[1], place, align=ctypes.sizeof(kind.number))
        return context.get_dummy_value()

    return types.void(types.uint64, kind.type), generate


@primitive(lambda address: lanes.at(address).copy())
def load_lanes(typing, address):
    """The int16[32] at `address`, uint64."""
    return load(lanes)


@primitive(lambda address, row: np.copyto(lanes.at(address), row))
def store_lanes(typing, address, row):
    """Write int16[32] to `address`, uint64."""
    return store(lanes)


def spread(builder, number, vector):
    """The vector of one number."""
    index = ir.IntType(32)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(index, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(index, vector.count), [0] * vector.count))


@primitive(lambda row, low, high: np.clip(row, np.int16(low), np.int16(high)))
def clipped_lanes(typing, row, low, high):
    """Each number of int16[32] raised to `low` and cut at `high`."""

    def generate(context, builder, signature, args):
        row, kind = args[0], lanes.vector
        least, most = (spread(builder, builder.trunc(number, kind.element), kind) for number in args[1:])
        raised = builder.select(builder.icmp_signed(">", row, least), row, least)
        return builder.select(builder.icmp_signed("<", raised, most), raised, most)

    return lanes(lanes, types.int64, types.int64), generate


def _in_pairs(first, second):
    return (first.astype(np.int32) * second).reshape(-1, 2).sum(axis=1, dtype=np.int32)


@primitive(lambda: np.zeros(LANES // 2, dtype=np.int32))
def no_sums(typing):
    """int32[16] of zeros."""
    return sum_lanes(), lambda context, builder, signature, args: ir.Constant(sum_lanes.vector, None)


@primitive(_in_pairs)
def products_of_lanes(typing, first, second):
    """The products of int16[32] `first` with `second`, neighbours added up: int32[16]."""
    wide = ir.VectorType(ir.IntType(32), LANES)

    def generate(context, builder, signature, args):
        products = builder.mul(*(builder.sext(factor, wide) for factor in args))
        even, odd = (ir.Constant(sum_lanes.vector, list(range(start, LANES, 2))) for start in (0, 1))
        return builder.add(*(builder.shuffle_vector(products, products, places) for places in (even, odd)))

    return sum_lanes(lanes, lanes), generate


@primitive(lambda row, factor: (row * np.int16(factor)).astype(np.int32) * row >> 16)
def squared_lanes(typing, row, factor):
    """The upper halves of the products of int16[32] times `factor` with itself: squares in 16 bits, rounded down."""
    wide, kind = ir.VectorType(ir.IntType(32), LANES), lanes.vector

    def generate(context, builder, signature, args):
        factors = builder.mul(args[0], spread(builder, builder.trunc(args[1], kind.element), kind))
        products = builder.mul(*(builder.sext(numbers, wide) for numbers in (factors, args[0])))
        return builder.trunc(builder.ashr(products, ir.Constant(wide, [16] * LANES)), kind)

    return lanes(lanes, types.int64), generate


@primitive(lambda sums: sums.sum(dtype=np.int64))
def total_of(typing, sums):
    """The sum of int32[16], int64."""

    def generate(context, builder, signature, args):
        wide = ir.VectorType(ir.IntType(64), LANES // 2)
        kind = ir.FunctionType(wide.element, (wide,))
        name = f"llvm.vector.reduce.add.v{LANES // 2}i64"
        total = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(total, (builder.sext(args[0], wide),))

    return types.int64(sum_lanes.type), generate


@primitive(lambda address: int(np.ctypeslib.as_array((ctypes.c_int32 * LANES).from_address(int(address))).max()))
def greatest_at(typing, address):
    """The greatest of the int32[32] at `address`, uint64: int64."""
    numbers = ir.VectorType(ir.IntType(32), LANES)

    def generate(context, builder, signature, args):
        loaded = builder.load(builder.inttoptr(args[0], numbers.as_pointer()))
        loaded.align = ctypes.sizeof(ctypes.c_int32)
        kind, name = ir.FunctionType(numbers.element, (numbers,)), f"llvm.vector.reduce.smax.v{LANES}i32"
        greatest = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), (loaded,))
        return builder.sext(greatest, ir.IntType(64))

    return types.int64(types.uint64), generate
