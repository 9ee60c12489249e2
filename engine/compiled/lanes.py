"""Thirty-two numbers of 16 bits as one value, which the processor adds and multiplies in whole registers.

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

from engine.compiled.jit import primitive

LANES = 32
LANES_SIZE = 2 * LANES  # bytes


class LanesType(types.Type):  # type: ignore[misc]
    """The type of int16[32] as one value."""

    def __init__(self) -> None:
        super().__init__("lanes")


lanes = LanesType()
_WORD, _SUM = ir.IntType(16), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, LANES)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


@infer_global(operator.add)
@infer_global(operator.sub)
@infer_global(operator.mul)
class _Operators(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(lanes, lanes, lanes),)


@lower_builtin(operator.add, lanes, lanes)
def _add(context, builder, signature, args):
    return builder.add(*args)


@lower_builtin(operator.sub, lanes, lanes)
def _subtract(context, builder, signature, args):
    return builder.sub(*args)


@lower_builtin(operator.mul, lanes, lanes)
def _multiply(context, builder, signature, args):
    return builder.mul(*args)


def _row_at(address):
    return np.ctypeslib.as_array((ctypes.c_int16 * LANES).from_address(int(address)))


def _store_row(address, row):
    _row_at(address)[:] = row


@primitive(lambda address: _row_at(address).copy())
def load_lanes(typing, address):
    """The int16[32] at `address`, uint64."""

    def generate(context, builder, signature, args):
        loaded = builder.load(builder.inttoptr(args[0], _VECTOR.as_pointer()))
        loaded.align = 2
        return loaded

    return lanes(types.uint64), generate


@primitive(_store_row)
def store_lanes(typing, address, row):
    """Write int16[32] to `address`, uint64."""

    def generate(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], _VECTOR.as_pointer()), align=2)
        return context.get_dummy_value()

    return types.void(types.uint64, lanes), generate


def _everywhere(builder, number):
    """The vector of one number, int64."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), builder.trunc(number, _WORD), ir.Constant(_SUM, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_SUM, LANES), [0] * LANES))


@primitive(lambda row, low, high: np.clip(row, np.int16(low), np.int16(high)))
def clipped_lanes(typing, row, low, high):
    """Each number of int16[32] raised to `low` and cut at `high`."""

    def generate(context, builder, signature, args):
        row, (least, most) = args[0], (_everywhere(builder, number) for number in args[1:])
        raised = builder.select(builder.icmp_signed(">", row, least), row, least)
        return builder.select(builder.icmp_signed("<", raised, most), raised, most)

    return lanes(lanes, types.int64, types.int64), generate


def _dot(first, second):
    return int(np.dot(first.astype(np.int32), second.astype(np.int32)))


@primitive(lambda a, b, c, d: _dot(a, b) + _dot(c, d))
def dots_of_lanes(typing, a, b, c, d):
    """The sum of the products of int16[32] `a` with `b` and of `c` with `d`, int32."""
    wide, half = ir.VectorType(_SUM, LANES), ir.VectorType(_SUM, LANES // 2)

    def pairs(builder, factors):
        """Products summed two by two, neighbours first: one instruction does so for 16 bits."""
        products = builder.mul(*(builder.sext(factor, wide) for factor in factors))
        even, odd = (ir.Constant(half, list(range(start, LANES, 2))) for start in (0, 1))
        return builder.add(*(builder.shuffle_vector(products, products, places) for places in (even, odd)))

    def generate(context, builder, signature, args):
        total = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_SUM, (half,)), f"llvm.vector.reduce.add.v{LANES // 2}i32"
        )
        return builder.call(total, (builder.add(pairs(builder, args[:2]), pairs(builder, args[2:])),))

    return types.int32(lanes, lanes, lanes, lanes), generate
