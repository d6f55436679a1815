"""What numba does not turn into vector instructions by itself.

`decayed(x)` is exp(x) for x <= 0. numba calls the C library's exp one number at a time. Here 2^k is built from the bits of an integer and the rest,
|r| <= ln(2)/2, is a Taylor sum: absolute error 2e-7 in float32, 4e-16 in float64. Below -40 the result is 0, not
4e-18: an entry that never fired is exactly 0, and no denormal, which would cost a factor of five, ever appears.

`elapsed` reads a run of times and writes how long ago they were, VECTOR of them at once: a loop would first have to
prove, for every run, that the two arrays do not overlap.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

FASTMATH = {"contract", "reassoc", "nsz", "arcp"}  # not nnan, ninf: a threshold may be infinite
VECTOR = 16  # entries that `elapsed` copies at once
SILENT = 40.0  # decays longer than this many tau count as never
_C32 = tuple(np.float32(1 / factorial(n)) for n in range(8))
_C64 = tuple(1 / factorial(n) for n in range(14))


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
def elapsed(typing_context, last, begin, now, to, at):
    """to[at + j] = now - last[begin + j] for VECTOR entries j. Both arrays must reach that far."""
    signature = types.void(last, types.intp, last.dtype, to, types.intp)

    def build(context, builder, signature, arguments):
        from llvmlite import ir

        array_type, _, time_type, target_type, _ = signature.args
        last, begin, now, to, at = arguments
        time, number = context.get_value_type(time_type), context.get_value_type(target_type.dtype)
        times, numbers = ir.VectorType(time, VECTOR), ir.VectorType(number, VECTOR)
        source = cgutils.gep_inbounds(builder, context.make_array(array_type)(context, builder, last).data, begin)
        target = cgutils.gep_inbounds(builder, context.make_array(target_type)(context, builder, to).data, at)
        then = builder.load(builder.bitcast(source, times.as_pointer()), align=time.width // 8)
        splat = builder.insert_element(ir.Constant(times, ir.Undefined), now, ir.IntType(32)(0))
        splat = builder.shuffle_vector(
            splat, ir.Constant(times, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), [0] * VECTOR)
        )
        gone = builder.sitofp(builder.sub(splat, then), numbers)
        size = 4 if target_type.dtype == types.float32 else 8
        builder.store(gone, builder.bitcast(target, numbers.as_pointer()), align=size)
        return context.get_dummy_value()

    return signature, build
