"""Vector instructions of online learning in float32: what an event does to one layer, in a few fused loops.

Values of all units lie side by side (`c[entry, unit]`), so that one instruction serves VECTOR units, and what a loop
adds up stays in registers. Written as LLVM's own vectors: numba's loops would load and store every sum at every entry.

All arrays must reach to the end of a vector: surfaces and centroids are padded with zeros, units to whole lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import factorial, log

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from timesurf.engines.cpu.vector import LANE, SILENT, VECTOR

_FUSED = ("contract", "reassoc", "nsz", "arcp")
_LOG2_E = 1.4426950408889634
_POWERS = tuple(log(2) ** n / factorial(n) for n in range(7))  # of 2^r: relative error 1.2e-7 for |r| <= 1/2
_UNROLL = 4  # entries whose sums run side by side: a sum waits four cycles for the one before
_F32, _F64, _I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)


@intrinsic
def write_surface(typing_context, context, begin, runs, run0, rows, row, now, slope, sparse, ts, at):
    """exp(age slope) of every entry of a neighbourhood to ts[at:], zeros behind it: the sum of squares.

    The neighbourhood is `rows` runs of `row` entries; run q begins at context[begin + runs[run0 + q]]. Where `sparse`,
    vectors in which nothing fired lately are left out. The event itself is not in it yet: see `compare`.
    """

    def build(target, builder, signature, arguments):
        context, begin, runs, run0, rows, row, now, slope, sparse, ts, at = arguments
        index = row.type
        total = cgutils.alloca_once_value(builder, _zeros(VECTOR))
        ages = _all(builder, now, VECTOR)
        slopes = _all(builder, builder.fmul(slope, _F32(_LOG2_E)), VECTOR)
        with cgutils.for_range(builder, rows) as outer:
            run = builder.load(_at(target, builder, signature.args[2], runs, builder.add(run0, outer.index)))
            source = builder.add(begin, run)
            to = builder.add(at, builder.mul(outer.index, row))
            with cgutils.for_range_slice(builder, index(0), row, index(VECTOR)) as (j, _):
                times = builder.load(
                    _vector(target, builder, signature.args[0], context, builder.add(source, j)), align=4
                )
                age = builder.sitofp(builder.sub(ages, times), ir.VectorType(_F32, VECTOR))
                x = builder.fmul(age, slopes)
                lane = builder.icmp_signed(
                    "<", _count(VECTOR), _all(builder, builder.trunc(builder.sub(row, j), _I32), VECTOR)
                )
                alive = builder.and_(lane, builder.fcmp_ordered(">", x, _full(-SILENT * _LOG2_E, VECTOR)))
                store = _vector(target, builder, signature.args[9], ts, builder.add(to, j))
                some = builder.icmp_unsigned("!=", builder.bitcast(alive, ir.IntType(VECTOR)), ir.IntType(VECTOR)(0))
                with builder.if_else(builder.or_(some, builder.not_(builder.trunc(sparse, ir.IntType(1))))) as (
                    live,
                    dead,
                ):
                    with live:
                        value = builder.select(alive, _power(builder, x, VECTOR), _zeros(VECTOR))
                        builder.store(value, store, align=4)
                        builder.store(_multiply_add(builder, value, value, builder.load(total)), total)
                    with dead:
                        builder.store(_zeros(VECTOR), store, align=4)
        return _sum(builder, builder.load(total), VECTOR)

    whole = types.intp
    signature = types.float32(
        context, whole, runs, whole, whole, whole, context.dtype, types.float32, types.boolean, ts, whole
    )
    return signature, build


@intrinsic
def compare(typing_context, ts, at, entries, sparse, own, c, begin, lanes, scale, norms, unit0, square, apart):
    """Squared distances of all units from the surface in which the event's own entry is set to 1; returns ||ts||^2.

    apart[unit0 + u] = ||ts||^2 + norms[u] - 2 scale[u] sum of ts[at + j] c[begin + j lanes + u]

    Where `sparse`, entries that are 0 are left out. Only what the entry adds depends on the layer below, and it comes
    last: all before it can be computed while that layer still compares. Nor is it stored until then: a vector that is
    loaded just after one of its entries was stored has to wait until everything before it is done.
    """

    def build(target, builder, signature, arguments):
        ts, at, entries, sparse, own, c, begin, lanes, scale, norms, unit0, square, apart = arguments
        args, index = signature.args, lanes.type
        mine = _at(target, builder, args[0], ts, builder.add(at, own))
        before = builder.load(mine)
        fresh = builder.fsub(_F32(1.0), before)
        square = builder.fadd(square, builder.fsub(_F32(1.0), builder.fmul(before, before)))
        last = builder.add(begin, builder.mul(own, lanes))

        def some_units(first, width, vectors):
            """The next `vectors` vectors of `width` units."""
            sums = [
                [cgutils.alloca_once(builder, ir.VectorType(_F32, width)) for _ in range(_UNROLL)]
                for _ in range(vectors)
            ]
            for v in range(vectors):
                for n in range(_UNROLL):
                    builder.store(_zeros(width), sums[v][n])

            def add(j, n):
                value = _all(builder, builder.load(_at(target, builder, args[0], ts, builder.add(at, j))), width)
                row = builder.add(builder.add(begin, first), builder.mul(j, lanes))
                for v in range(vectors):
                    here = _vector(target, builder, args[5], c, builder.add(row, index(v * width)), width)
                    more = _multiply_add(builder, value, builder.load(here, align=4), builder.load(sums[v][n]))
                    builder.store(more, sums[v][n])

            with builder.if_else(builder.trunc(sparse, ir.IntType(1))) as (few, all_of_them):
                with few, _nonzero(target, builder, args[0], ts, at, entries) as j:
                    add(j, 0)
                with all_of_them, cgutils.for_range_slice(builder, index(0), entries, index(_UNROLL)) as (j, _):
                    for n in range(_UNROLL):
                        add(builder.add(j, index(n)), n)
            for v in range(vectors):
                one, two, three, four = (builder.load(s) for s in sums[v])
                dot = builder.fadd(builder.fadd(one, two), builder.fadd(three, four))
                row = _vector(
                    target, builder, args[5], c, builder.add(last, builder.add(first, index(v * width))), width
                )
                dot = _multiply_add(builder, _all(builder, fresh, width), builder.load(row, align=4), dot)
                units = builder.add(builder.add(unit0, first), index(v * width))
                twice = builder.fmul(
                    builder.load(_vector(target, builder, args[8], scale, units, width), align=4), _full(-2.0, width)
                )
                norm = builder.load(_vector(target, builder, args[9], norms, units, width), align=4)
                norm = builder.fadd(norm, _all(builder, square, width))
                found = _multiply_add(builder, twice, dot, norm)
                builder.store(found, _vector(target, builder, args[12], apart, units, width), align=4)

        _over_lanes(builder, lanes, some_units)
        builder.store(_F32(1.0), mine)
        return square

    f, whole = types.float32, types.intp
    return f(ts, whole, whole, types.boolean, whole, c, whole, whole, scale, norms, whole, f, apart), build


@intrinsic
def lowest(typing_context, values, begin, lanes):
    """Index of the lowest of values[begin : begin + lanes], the first of equals; 0 where all are NaN."""

    def build(target, builder, signature, arguments):
        values, begin, lanes = arguments
        index = lanes.type

        def each():
            return cgutils.for_range_slice(builder, index(0), lanes, index(LANE))

        def load(u):
            return builder.load(
                _vector(target, builder, signature.args[0], values, builder.add(begin, u), LANE), align=4
            )

        least = cgutils.alloca_once_value(builder, _full(float("inf"), LANE))
        with each() as (u, _):
            here, so_far = load(u), builder.load(least)
            builder.store(builder.select(builder.fcmp_ordered("<", here, so_far), here, so_far), least)
        low = builder.load(least)
        for half in (4, 2, 1):  # halves against each other
            mask = ir.Constant(ir.VectorType(_I32, LANE), [(n + half) % LANE for n in range(LANE)])
            other = builder.shuffle_vector(low, low, mask)
            low = builder.select(builder.fcmp_ordered("<", other, low), other, low)
        found = cgutils.alloca_once_value(builder, index(0))
        first = cgutils.alloca_once_value(builder, ir.IntType(1)(1))
        with each() as (u, _):
            same = builder.bitcast(builder.fcmp_ordered("==", load(u), low), ir.IntType(LANE))
            is_here = builder.icmp_unsigned("!=", same, ir.IntType(LANE)(0))
            place = builder.add(u, builder.zext(builder.cttz(same, ir.IntType(1)(0)), index))
            take = builder.and_(is_here, builder.load(first))
            builder.store(builder.select(take, place, builder.load(found)), found)
            builder.store(builder.and_(builder.load(first), builder.not_(is_here)), first)
        return builder.load(found)

    return types.intp(values, types.intp, types.intp), build


@intrinsic
def approach(typing_context, v, begin, gain, ts, at, entries, c, column, lanes, sparse):
    """v[begin + j] += gain ts[at + j] in float64, and the same number, rounded, to c[column + j lanes]."""

    def build(target, builder, signature, arguments):
        v, begin, gain, ts, at, entries, c, column, lanes, sparse = arguments
        args, index = signature.args, lanes.type

        def copy(j, value):
            place = builder.add(column, builder.mul(j, lanes))
            builder.store(value, _at(target, builder, args[6], c, place))

        with builder.if_else(builder.trunc(sparse, ir.IntType(1))) as (few, all_of_them):
            with few, _nonzero(target, builder, args[3], ts, at, entries) as j:
                here = _at(target, builder, args[0], v, builder.add(begin, j))
                value = builder.fpext(builder.load(_at(target, builder, args[3], ts, builder.add(at, j))), _F64)
                value = _multiply_add(builder, value, gain, builder.load(here))
                builder.store(value, here)
                copy(j, builder.fptrunc(value, _F32))
            with all_of_them, cgutils.for_range_slice(builder, index(0), entries, index(LANE)) as (j, _):
                here = _vector(target, builder, args[0], v, builder.add(begin, j), LANE)
                value = builder.load(_vector(target, builder, args[3], ts, builder.add(at, j), LANE), align=4)
                value = builder.fpext(value, ir.VectorType(_F64, LANE))
                value = _multiply_add(builder, value, _all(builder, gain, LANE), builder.load(here, align=8))
                builder.store(value, here, align=8)
                rounded = builder.fptrunc(value, ir.VectorType(_F32, LANE))
                for n in range(LANE):
                    copy(builder.add(j, index(n)), builder.extract_element(rounded, _I32(n)))
        return target.get_dummy_value()

    whole = types.intp
    signature = types.void(v, whole, types.float64, ts, whole, whole, c, whole, whole, types.boolean)
    return signature, build


@intrinsic
def shift_thresholds(typing_context, th, apart, free, unit0, first, last, fired, gain, compete, border, width):
    """Th += gain near(th, dist) of the unit that fired and, if `compete`, -= of others with dist < th; at least 0.

    Of units first to last; dist^2 = apart, width = -1/d. Units that are not free stay as they are.
    """

    def build(target, builder, signature, arguments):
        th, apart, free, unit0, first, last, fired, gain, compete, border, width = arguments
        args, index, wide = signature.args, fired.type, ir.VectorType(_F64, LANE)
        slopes = _all(builder, builder.fmul(width, _F32(_LOG2_E)), LANE)
        rivals = _all(builder, builder.trunc(compete, ir.IntType(1)), LANE)
        gains, none = _all(builder, gain, LANE), _zeros(LANE, _F64)
        with cgutils.for_range_slice(builder, first, last, index(LANE)) as (u, _):
            units = builder.add(unit0, u)
            limit = _vector(target, builder, args[0], th, units, LANE)
            old = builder.load(limit, align=8)
            near = builder.fptrunc(old, ir.VectorType(_F32, LANE))
            squared = builder.load(_vector(target, builder, args[1], apart, units, LANE), align=4)
            may = builder.load(_vector(target, builder, args[2], free, units, LANE), align=4)
            dist = _root(builder, squared, LANE)
            lane = _all(builder, builder.trunc(builder.sub(fired, u), _I32), LANE)
            winner = builder.icmp_signed("==", _count(LANE), lane)
            moves = builder.or_(winner, builder.and_(rivals, builder.fcmp_ordered("<", dist, near)))
            away = builder.select(builder.trunc(border, ir.IntType(1)), builder.fsub(near, dist), dist)
            x = builder.fmul(away, slopes)
            alive = builder.fcmp_ordered(">", x, _full(-SILENT * _LOG2_E, LANE))
            alive = builder.and_(alive, builder.and_(moves, builder.fcmp_ordered(">", may, _zeros(LANE))))
            by = builder.fmul(builder.fpext(_power(builder, x, LANE), wide), gains)
            new = builder.fadd(old, builder.select(winner, by, builder.fsub(none, by)))
            new = builder.select(builder.fcmp_ordered(">", new, none), new, none)
            builder.store(builder.select(alive, new, old), limit, align=8)
        return target.get_dummy_value()

    f, whole, flag = types.float64, types.intp, types.boolean
    return types.void(th, apart, free, whole, whole, whole, whole, f, flag, flag, types.float32), build


@intrinsic
def decayed_pair(typing_context, x, y):
    """exp(x), exp(y) for x, y <= 0, side by side."""

    def build(target, builder, signature, arguments):
        pair = _all(builder, arguments[0], 4)
        pair = builder.insert_element(pair, arguments[1], _I32(1))
        pair = builder.fmul(pair, _full(_LOG2_E, 4))
        alive = builder.fcmp_ordered(">", pair, _full(-SILENT * _LOG2_E, 4))
        pair = builder.select(alive, _power(builder, pair, 4), _zeros(4))
        values = [builder.extract_element(pair, _I32(n)) for n in range(2)]
        return target.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.float32, 2)(types.float32, types.float32), build


@intrinsic
def enter_row(typing_context, z, moved, scale, dots, norms, apart, row, unit0, dots0, lanes, old, new, decay, square):
    """An entry of a `Full` layer is set, its amplitude goes from old to new: z, dot products and all distances.

    v = z + old moved, z = v - new moved, dots += (new - old) scale v, apart = square + norms - 2 decay dots
    """

    def build(target, builder, signature, arguments):
        z, moved, scale, dots, norms, apart, row, unit0, dots0, lanes, old, new, decay, square = arguments
        args, index = signature.args, lanes.type
        fresh, minus = builder.fsub(new, old), builder.fneg(new)

        def at(n, array, place):
            return _vector(target, builder, args[n], array, place, LANE)

        with cgutils.for_range_slice(builder, index(0), lanes, index(LANE)) as (u, _):
            here, unit, dot = (builder.add(begin, u) for begin in (row, unit0, dots0))
            now = builder.load(at(1, moved, unit), align=8)
            v = _multiply_add(builder, now, _all(builder, old, LANE), builder.load(at(0, z, here), align=8))
            builder.store(_multiply_add(builder, now, _all(builder, minus, LANE), v), at(0, z, here), align=8)
            factor = builder.fmul(builder.load(at(2, scale, unit), align=8), _all(builder, fresh, LANE))
            total = _multiply_add(builder, v, factor, builder.load(at(3, dots, dot), align=8))
            builder.store(total, at(3, dots, dot), align=8)
            norm = builder.fadd(builder.load(at(4, norms, unit), align=8), _all(builder, square, LANE))
            far = _multiply_add(builder, total, _all(builder, builder.fmul(decay, _F64(-2.0)), LANE), norm)
            builder.store(builder.fptrunc(far, ir.VectorType(_F32, LANE)), at(5, apart, unit), align=4)
        return target.get_dummy_value()

    f, whole = types.float64, types.intp
    return types.void(z, moved, scale, dots, norms, apart, whole, whole, whole, whole, f, f, f, f), build


@intrinsic
def add_scaled_row(typing_context, to, at, gain, source, begin, lanes):
    """to[at + u] += gain source[begin + u] for all lanes, in float64."""

    def build(target, builder, signature, arguments):
        to, at, gain, source, begin, lanes = arguments
        index = lanes.type
        with cgutils.for_range_slice(builder, index(0), lanes, index(LANE)) as (u, _):
            here = _vector(target, builder, signature.args[0], to, builder.add(at, u), LANE)
            more = builder.load(
                _vector(target, builder, signature.args[3], source, builder.add(begin, u), LANE), align=8
            )
            value = _multiply_add(builder, more, _all(builder, gain, LANE), builder.load(here, align=8))
            builder.store(value, here, align=8)
        return target.get_dummy_value()

    return types.void(to, types.intp, types.float64, source, types.intp, types.intp), build


def _over_lanes(builder, lanes, some_units) -> None:
    """All lanes: four vectors at once, then two, then one, then half a vector."""
    index = lanes.type
    done = cgutils.alloca_once_value(builder, index(0))
    for width, vectors in ((VECTOR, 4), (VECTOR, 2), (VECTOR, 1), (LANE, 1)):
        step = index(width * vectors)
        start = builder.load(done)
        left = builder.sub(lanes, start)
        end = builder.add(start, builder.mul(builder.udiv(left, step), step))
        with cgutils.for_range_slice(builder, start, end, step) as (first, _):
            some_units(first, width, vectors)
        builder.store(end, done)


@contextmanager
def _nonzero(target, builder, array_type, array, at, entries) -> Iterator[ir.Value]:
    """A loop over the entries that are not 0, lowest first."""
    index, bits = entries.type, ir.IntType(VECTOR)
    mask = cgutils.alloca_once(builder, bits)
    with cgutils.for_range_slice(builder, index(0), entries, index(VECTOR)) as (j0, _):
        values = builder.load(_vector(target, builder, array_type, array, builder.add(at, j0)), align=4)
        builder.store(builder.bitcast(builder.fcmp_unordered("!=", values, _zeros(VECTOR)), bits), mask)
        ask, inside, done = (builder.append_basic_block(name) for name in ("bits.any", "bits.one", "bits.none"))
        builder.branch(ask)
        builder.position_at_end(ask)
        left = builder.load(mask)
        builder.cbranch(builder.icmp_unsigned("!=", left, bits(0)), inside, done)
        builder.position_at_end(inside)
        builder.store(builder.and_(left, builder.sub(left, bits(1))), mask)
        yield builder.add(j0, builder.zext(builder.cttz(left, ir.IntType(1)(1)), index))
        builder.branch(ask)
        builder.position_at_end(done)


def _power(builder, x, width):
    """2^x for x <= 0; below -SILENT log2(e) anything."""
    ints, floats = ir.VectorType(_I32, width), ir.VectorType(_F32, width)
    low = _full(-SILENT * _LOG2_E, width)
    x = builder.select(builder.fcmp_ordered(">", x, low), x, low)
    whole = _call(builder, "llvm.rint", [x])
    rest = builder.fsub(x, whole)
    power = _full(_POWERS[-1], width)
    for factor in _POWERS[-2::-1]:
        power = _multiply_add(builder, power, rest, _full(factor, width))
    bits = builder.add(builder.fptosi(whole, ints), ir.Constant(ints, [127] * width))
    return builder.fmul(power, builder.bitcast(builder.shl(bits, ir.Constant(ints, [23] * width)), floats))


def _root(builder, x, width):
    """Square root of what is not below 0."""
    return _call(builder, "llvm.sqrt", [builder.select(builder.fcmp_ordered(">", x, _zeros(width)), x, _zeros(width))])


def _sum(builder, x, width):
    """Sum of a vector."""
    kind = ir.FunctionType(_F32, [_F32, x.type])
    reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{width}f32")
    return builder.call(reduce, [_F32(0.0), x], fastmath=("reassoc",))


def _call(builder, name, arguments):
    """One of LLVM's functions of vectors of float32."""
    (kind,) = {argument.type for argument in arguments}
    function = ir.FunctionType(kind, [kind] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"{name}.v{kind.count}f32"), arguments)


def _multiply_add(builder, a, b, c):
    """A b + c in one instruction where there is one."""
    return builder.fadd(builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)


def _at(target, builder, array_type, array, index):
    """A pointer to an entry of an array."""
    return cgutils.gep_inbounds(builder, target.make_array(array_type)(target, builder, array).data, index)


def _vector(target, builder, array_type, array, index, width=VECTOR):
    """A pointer to the entries of an array that begin at index, as a vector."""
    vector = ir.VectorType(target.get_value_type(array_type.dtype), width)
    return builder.bitcast(_at(target, builder, array_type, array, index), vector.as_pointer())


def _all(builder, value, width):
    """A vector that holds the value in every lane."""
    nothing = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(nothing, value, _I32(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_I32, width), [0] * width))


def _full(value, width, kind=_F32):
    """A vector of one constant."""
    return ir.Constant(ir.VectorType(kind, width), [value] * width)


def _zeros(width, kind=_F32):
    """A vector of zeros."""
    return _full(0.0, width, kind)


def _count(width):
    """0, 1, 2, ..."""
    return ir.Constant(ir.VectorType(_I32, width), list(range(width)))
