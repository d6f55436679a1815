"""What numba does not turn into vector instructions by itself.

`decayed(x)` is exp(x) for x <= 0. numba calls the C library's exp for one number at a time. Here 2^k is built from the
bits of an integer, and the rest, |r| <= ln(2)/2, is a Taylor sum: absolute error 2e-7 in float32, 4e-16 in float64.
Below -40 the result is 0, not 4e-18: an entry that never fired is exactly 0, and denormals, which would cost a factor
of five, never appear.

`logarithm(x)` is log(x) for x > 0 that is neither denormal nor infinite, likewise: relative error 4e-16 in float64.

`elapsed`, `add_scaled`, `squared_distance` and `copy_lane` work on whole vectors. A loop would first have to prove,
every time, that its two arrays do not overlap, and would process what does not fill a vector one by one.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import factorial

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

FASTMATH = {"contract", "reassoc", "nsz", "arcp"}  # not nnan, ninf: a threshold may be infinite
VECTOR = 16  # entries that go together
FAR = 1 << 18  # values: centroids of a layer that no longer fit in a core's own cache
LANE = 8  # units that go together: layers are padded to a multiple of this
FOUR = 4  # entries of a unit that go together where a vector holds several units
_FUSED = ("contract",)  # lets LLVM make one instruction of a product and a sum
SILENT = 40.0  # tau: anything older counts as never
_C32 = tuple(np.float32(1 / factorial(n)) for n in range(8))
_C64 = tuple(1 / factorial(n) for n in range(14))
_ARTANH = tuple(1 / (2 * n + 3) for n in range(10))  # artanh(s) = s + s^3 / 3 + s^5 / 5 + ...
_FRACTION = (1 << 52) - 1  # bits of a float64
_ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of sqrt(1/2)


def decayed(x):
    """exp(x) for x <= 0; 0 below -40. In kernels only."""
    raise NotImplementedError("decayed is compiled into kernels")


@intrinsic
def _as_float(typing_context, bits):
    """The float whose bits these are."""
    from llvmlite import ir

    to, llvm = (types.float32, ir.FloatType()) if bits == types.int32 else (types.float64, ir.DoubleType())

    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], llvm)

    return to(bits), build


# One function per precision: the constants and the length of the sum differ; `overload` below chooses by type.
@njit(fastmath=FASTMATH, error_model="numpy")
def _decayed32(x):
    y = max(x, np.float32(-SILENT)) * np.float32(1.4426950408889634)
    k = np.floor(y + np.float32(0.5))
    r = (y - k) * np.float32(0.6931471805599453)
    p = _C32[7] * r + _C32[6]
    p = p * r + _C32[5]
    p = p * r + _C32[4]
    p = p * r + _C32[3]
    p = p * r + _C32[2]
    p = p * r + _C32[1]
    p = p * r + _C32[0]
    p *= _as_float(np.int32((np.int32(k) + np.int32(127)) << np.int32(23)))
    return p if x > np.float32(-SILENT) else np.float32(0)


@njit(fastmath=FASTMATH, error_model="numpy")
def _decayed64(x):
    y = max(x, -SILENT) * 1.4426950408889634
    k = np.floor(y + 0.5)
    r = (y - k) * 0.6931471805599453
    p = _C64[13] * r + _C64[12]
    p = p * r + _C64[11]
    p = p * r + _C64[10]
    p = p * r + _C64[9]
    p = p * r + _C64[8]
    p = p * r + _C64[7]
    p = p * r + _C64[6]
    p = p * r + _C64[5]
    p = p * r + _C64[4]
    p = p * r + _C64[3]
    p = p * r + _C64[2]
    p = p * r + _C64[1]
    p = p * r + _C64[0]
    p *= _as_float(np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)))
    return p if x > -SILENT else 0.0


@overload(decayed)
def _decayed(x):
    if x == types.float32:
        return lambda x: _decayed32(x)
    return lambda x: _decayed64(x)


@intrinsic
def _as_bits(typing_context, number):
    """The bits of a float64."""
    from llvmlite import ir

    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), build


@njit(fastmath=FASTMATH, error_model="numpy")
def logarithm(x):
    """log(x) of a float64: x = 2^k m, m from 0.7 to 1.4, log(m) = 2 artanh((m - 1) / (m + 1)). In kernels only."""
    bits = _as_bits(x) - np.int64(_ROOT_HALF)
    k = bits >> np.int64(52)
    m = _as_float((bits & np.int64(_FRACTION)) + np.int64(_ROOT_HALF))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = _ARTANH[9] * z + _ARTANH[8]
    p = p * z + _ARTANH[7]
    p = p * z + _ARTANH[6]
    p = p * z + _ARTANH[5]
    p = p * z + _ARTANH[4]
    p = p * z + _ARTANH[3]
    p = p * z + _ARTANH[2]
    p = p * z + _ARTANH[1]
    p = p * z + _ARTANH[0]
    return np.float64(k) * 0.6931471805599453 + (s + s * z * p) * 2.0


@intrinsic
def elapsed(typing_context, last, begin, now, to, at):
    """to[at + j] = now - last[begin + j] for VECTOR entries j. Both arrays must reach that far."""

    def build(context, builder, signature, arguments):
        last, begin, now, to, at = arguments
        source, times = _vector_at(context, builder, signature.args[0], last, begin)
        target, numbers = _vector_at(context, builder, signature.args[3], to, at)
        gone = builder.sub(_all_lanes(builder, times, now), builder.load(source, align=4))
        builder.store(builder.sitofp(gone, numbers), target, align=4)
        return context.get_dummy_value()

    return types.void(last, types.intp, last.dtype, to, types.intp), build


@intrinsic
def add_scaled(typing_context, to, at, gain, source, begin, vectors):
    """to[at + j] += gain * source[begin + j] for this many VECTORs of entries. Both arrays must reach that far."""

    def build(context, builder, signature, arguments):
        to, at, gain, source, begin, vectors = arguments
        with _each(builder, vectors) as j:
            target, numbers = _vector_at(context, builder, signature.args[0], to, builder.add(at, j))
            values, _ = _vector_at(context, builder, signature.args[3], source, builder.add(begin, j))
            product = builder.fmul(_all_lanes(builder, numbers, gain), builder.load(values, align=4), flags=_FUSED)
            builder.store(builder.fadd(builder.load(target, align=4), product, flags=_FUSED), target, align=4)
        return context.get_dummy_value()

    return types.void(to, types.intp, to.dtype, source, types.intp, types.intp), build


@intrinsic
def squared_distance(typing_context, one, at, other, begin, vectors):
    """Sum of (one[at + j] - other[begin + j])^2 over this many VECTORs of entries."""

    def build(context, builder, signature, arguments):
        from llvmlite import ir

        one, at, other, begin, vectors = arguments
        number = context.get_value_type(signature.return_type)
        total = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(number, VECTOR), [0.0] * VECTOR))
        with _each(builder, vectors) as j:
            mine, _ = _vector_at(context, builder, signature.args[0], one, builder.add(at, j))
            theirs, _ = _vector_at(context, builder, signature.args[2], other, builder.add(begin, j))
            apart = builder.fsub(builder.load(mine, align=4), builder.load(theirs, align=4))
            square = builder.fmul(apart, apart, flags=_FUSED)
            builder.store(builder.fadd(builder.load(total), square, flags=_FUSED), total)
        name = f"llvm.vector.reduce.fadd.v{VECTOR}f{32 if signature.return_type == types.float32 else 64}"
        reduce = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [number, ir.VectorType(number, VECTOR)]), name
        )
        return builder.call(reduce, [number(0.0), builder.load(total)], fastmath=("reassoc",))

    return one.dtype(one, types.intp, other, types.intp, types.intp), build


@intrinsic
def copy_lane(typing_context, to, at, source, begin):
    """to[at + j] = source[begin + j] for LANE entries j."""

    def build(context, builder, signature, arguments):
        to, at, source, begin = arguments
        target, _ = _vector_at(context, builder, signature.args[0], to, at, LANE)
        values, _ = _vector_at(context, builder, signature.args[2], source, begin, LANE)
        builder.store(builder.load(values, align=4), target, align=4)
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), build


@intrinsic
def prefetch(typing_context, array, index):
    """Request the memory around array[index], which will be needed soon."""

    def build(context, builder, signature, arguments):
        from llvmlite import ir

        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(cgutils.gep_inbounds(builder, data, arguments[1]), byte)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        )
        builder.call(ask, [address, flag(0), flag(3), flag(1)])  # to read, into every cache, as data
        return context.get_dummy_value()

    return types.void(array, types.intp), build


@contextmanager
def _each(builder, vectors):
    """A loop over this many vectors; yields where each begins."""
    number = vectors.type
    end = builder.mul(vectors, number(VECTOR))
    with cgutils.for_range_slice(builder, number(0), end, number(VECTOR)) as (begin, _):
        yield begin


def _vector_at(context, builder, array_type, array, index, length=VECTOR):
    """A pointer to the entries of an array that begin at index, as a vector, and its type."""
    from llvmlite import ir

    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(context.get_value_type(array_type.dtype), length)
    return builder.bitcast(cgutils.gep_inbounds(builder, data, index), vector.as_pointer()), vector


def _all_lanes(builder, vector, value):
    """A vector that holds the value in every lane."""
    from llvmlite import ir

    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), [0] * VECTOR))
