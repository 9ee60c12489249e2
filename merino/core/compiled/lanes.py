"""Thirty-two numbers of 16 bits, or sixteen sums of 32, as one value, which the processor takes in whole registers.

LLVM turns a plain loop over a row of a network into such instructions too, but takes smaller registers for its
products and asks at every row whether it overlaps another. These say what is meant. Twice as many numbers would fit
the largest registers of some processors, which then slow down all the rest: a score of a net took 1.8 times as long.
"""

import ctypes
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from merino.core.compiled.jit import primitive

LANES = 32
LANES_SIZE = 2 * LANES  # bytes


class LanesType(types.Type):  # type: ignore[misc]
    """The type of some numbers as one value; `vector` is the type for LLVM, `number` that of ctypes."""

    def __init__(self, name: str, vector: Any, number: Any) -> None:
        super().__init__(name)
        self.vector, self.number = vector, number

    def at(self, address: Any) -> np.ndarray:
        """The numbers at an address, for code that runs without the compiler."""
        return np.ctypeslib.as_array((self.number * self.vector.count).from_address(int(address)))


_WORD, _SUM = ir.IntType(16), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, LANES)
_SUMS, _WIDE_SUMS = (ir.VectorType(ir.IntType(bits), LANES // 2) for bits in (32, 64))
lanes = LanesType("lanes", _VECTOR, ctypes.c_int16)
sum_lanes = LanesType("sum_lanes", _SUMS, ctypes.c_int32)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


@infer_global(operator.add)
@infer_global(operator.mul)
class _Operators(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(lanes, lanes, lanes),)


@infer_global(operator.add)
class _Sum(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(sum_lanes, sum_lanes, sum_lanes),)


@infer_global(operator.sub)
class _Difference(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(lanes, lanes, lanes),)


@lower_builtin(operator.add, lanes, lanes)
@lower_builtin(operator.add, sum_lanes, sum_lanes)
def _add(context, builder, signature, args):
    return builder.add(*args)


@lower_builtin(operator.sub, lanes, lanes)
def _subtract(context, builder, signature, args):
    return builder.sub(*args)


@lower_builtin(operator.mul, lanes, lanes)
def _multiply(context, builder, signature, args):
    return builder.mul(*args)


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

    return types.void(types.uint64, kind), generate


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
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(_SUM, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_SUM, vector.count), [0] * vector.count))


@primitive(lambda row, low, high: np.clip(row, np.int16(low), np.int16(high)))
def clipped_lanes(typing, row, low, high):
    """Each number of int16[32] raised to `low` and cut at `high`."""

    def generate(context, builder, signature, args):
        row, (least, most) = args[0], (spread(builder, builder.trunc(number, _WORD), _VECTOR) for number in args[1:])
        raised = builder.select(builder.icmp_signed(">", row, least), row, least)
        return builder.select(builder.icmp_signed("<", raised, most), raised, most)

    return lanes(lanes, types.int64, types.int64), generate


def _in_pairs(first, second):
    return (first.astype(np.int32) * second).reshape(-1, 2).sum(axis=1, dtype=np.int32)


@primitive(lambda: np.zeros(LANES // 2, dtype=np.int32))
def no_sums(typing):
    """int32[16] of zeros."""
    return sum_lanes(), lambda context, builder, signature, args: ir.Constant(_SUMS, None)


@primitive(_in_pairs)
def products_of_lanes(typing, first, second):
    """The products of int16[32] `first` with `second`, neighbours added up: int32[16]."""
    wide = ir.VectorType(_SUM, LANES)

    def generate(context, builder, signature, args):
        products = builder.mul(*(builder.sext(factor, wide) for factor in args))
        even, odd = (ir.Constant(_SUMS, list(range(start, LANES, 2))) for start in (0, 1))
        return builder.add(*(builder.shuffle_vector(products, products, places) for places in (even, odd)))

    return sum_lanes(lanes, lanes), generate


@primitive(lambda row, factor: (row * np.int16(factor)).astype(np.int32) * row >> 16)
def squared_lanes(typing, row, factor):
    """The upper halves of the products of int16[32] times `factor` with itself: squares in 16 bits, rounded down."""
    wide = ir.VectorType(_SUM, LANES)

    def generate(context, builder, signature, args):
        factors = builder.mul(args[0], spread(builder, builder.trunc(args[1], _WORD), _VECTOR))
        products = builder.mul(*(builder.sext(numbers, wide) for numbers in (factors, args[0])))
        return builder.trunc(builder.ashr(products, ir.Constant(wide, [16] * LANES)), _VECTOR)

    return lanes(lanes, types.int64), generate


@primitive(lambda sums: sums.sum(dtype=np.int64))
def total_of(typing, sums):
    """The sum of int32[16], int64."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(_WIDE_SUMS.element, (_WIDE_SUMS,))
        name = f"llvm.vector.reduce.add.v{LANES // 2}i64"
        total = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(total, (builder.sext(args[0], _WIDE_SUMS),))

    return types.int64(sum_lanes), generate


@primitive(lambda address: int(np.ctypeslib.as_array((ctypes.c_int32 * LANES).from_address(int(address))).max()))
def greatest_at(typing, address):
    """The greatest of the int32[32] at `address`, uint64: int64."""
    numbers = ir.VectorType(_SUM, LANES)

    def generate(context, builder, signature, args):
        loaded = builder.load(builder.inttoptr(args[0], numbers.as_pointer()))
        loaded.align = ctypes.sizeof(ctypes.c_int32)
        kind, name = ir.FunctionType(_SUM, (numbers,)), f"llvm.vector.reduce.smax.v{LANES}i32"
        greatest = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), (loaded,))
        return builder.sext(greatest, ir.IntType(64))

    return types.int64(types.uint64), generate
