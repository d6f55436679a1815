"""Vector instructions of online learning in float32: what an event does to one layer, in a few fused loops.

Written as LLVM's own vectors: numba's loops would load and store every sum at every entry. In a surface whose entries
are all compared, four entries of a unit lie side by side, then the same of the next unit: a vector has sums of four
units, and the copy of a centroid that moves is written four entries at a time. In a sparse one the units lie side by
side (`c[entry, unit]`), so that an entry which is 0 costs nothing.

All arrays must reach to the end of a vector: surfaces and centroids are padded with zeros, units to whole lanes.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from timesurf.engines.cpu import emit
from timesurf.engines.cpu.emit import F32, F64, I32, LOG2_E
from timesurf.engines.cpu.layout import SPARSE
from timesurf.engines.cpu.vector import FOUR, LANE, SILENT, VECTOR

# Runs and their length, of windows of one or two polarities: their rows are packed, by code for each of these shapes.
_PACKED = [(n, p * n) for n in (3, 5, 7, 9, 11) for p in (1, 2) if p * n * n <= SPARSE]


@intrinsic
def write_surface(typing_context, context, begin, runs, run0, rows, row, now, slope, sparse, ts, at, known, own):
    """exp(age slope) of every entry of a neighbourhood to ts[at:], zeros behind it: the sum of squares.

    The neighbourhood is `rows` runs of `row` entries; run q begins at context[begin + runs[run0 + q]]. Where `sparse`,
    vectors in which nothing fired lately are left out. The event's own entry is 1 where it is `known`; if not, it comes
    later: see `compare`.
    """

    def build(target, builder, signature, arguments):
        context, begin, runs, run0, rows, row, now, slope, sparse, ts, at, known, own = arguments
        args, index, bit = signature.args, row.type, ir.IntType(1)
        total = cgutils.alloca_once_value(builder, emit.zeros(VECTOR))
        slopes = emit.all(builder, builder.fmul(slope, F32(LOG2_E)), VECTOR)
        low = emit.full(-SILENT * LOG2_E, VECTOR)

        def run(q):
            """Where run q begins."""
            first = builder.load(emit.at(target, builder, args[2], runs, builder.add(run0, q)))
            return builder.add(begin, first)

        def store(value, place):
            builder.store(value, emit.vector(target, builder, args[9], ts, place), align=4)
            builder.store(emit.multiply_add(builder, value, value, builder.load(total)), total)

        def run_by_run():
            ages = emit.all(builder, now, VECTOR)
            chunks = builder.udiv(builder.add(row, index(VECTOR - 1)), index(VECTOR))
            with cgutils.for_range(builder, chunks) as chunk:  # the last of a run first: zeros behind are overwritten
                j = builder.mul(builder.sub(builder.sub(chunks, index(1)), chunk.index), index(VECTOR))
                left = builder.trunc(builder.sub(row, j), I32)
                lane = builder.icmp_signed("<", emit.count(VECTOR), emit.all(builder, left, VECTOR))
                with cgutils.for_range(builder, rows) as outer:
                    source = builder.add(run(outer.index), j)
                    times = builder.load(emit.vector(target, builder, args[0], context, source), align=4)
                    x = builder.fmul(builder.sitofp(builder.sub(ages, times), slopes.type), slopes)
                    alive = builder.and_(lane, builder.fcmp_ordered(">", x, low))
                    place = builder.add(builder.add(at, j), builder.mul(outer.index, row))
                    bits = ir.IntType(VECTOR)
                    some = builder.icmp_unsigned("!=", builder.bitcast(alive, bits), bits(0))
                    with builder.if_else(builder.or_(some, builder.not_(builder.trunc(sparse, bit)))) as (live, dead):
                        with live:
                            store(builder.select(alive, emit.power(builder, x, VECTOR), emit.zeros(VECTOR)), place)
                        with dead:
                            builder.store(emit.zeros(VECTOR), emit.vector(target, builder, args[9], ts, place), align=4)
            with builder.if_then(builder.trunc(known, bit)):
                mine = emit.at(target, builder, args[9], ts, builder.add(at, own))
                before = builder.load(mine)
                more = builder.fsub(F32(1.0), builder.fmul(before, before))
                builder.store(builder.insert_element(emit.zeros(VECTOR), more, I32(0)), rest)
                builder.store(F32(1.0), mine)

        def packed(rows, row):
            """No lane between runs is empty, and each vector is stored once, as `compare` loads it."""
            begins, entries = [run(index(q)) for q in range(rows)], rows * row
            ages, element = emit.all(builder, now, LANE), target.get_value_type(args[0].dtype)
            mine = builder.select(builder.trunc(known, bit), builder.trunc(own, I32), I32(-1))
            mine = emit.all(builder, mine, VECTOR)
            for j0 in range(0, entries, VECTOR):
                halves = []
                for j in range(j0, min(j0 + VECTOR, entries), LANE):
                    times = emit.full(0, LANE, element)
                    for q in range(j // row, min((j + LANE - 1) // row, rows - 1) + 1):
                        source = builder.add(begins[q], index(j - q * row))
                        here = [q * row <= j + n < (q + 1) * row for n in range(LANE)]
                        pointer = emit.vector(target, builder, args[0], context, source, LANE)
                        times = emit.masked_load(builder, pointer, here, times)
                    halves.append(builder.sitofp(builder.sub(ages, times), ir.VectorType(F32, LANE)))
                width = len(halves) * LANE
                age = halves[0] if width == LANE else builder.shuffle_vector(*halves, emit.count(VECTOR))
                part = slopes if width == VECTOR else emit.all(builder, builder.fmul(slope, F32(LOG2_E)), LANE)
                x = builder.fmul(age, part)
                alive = builder.fcmp_ordered(">", x, emit.full(-SILENT * LOG2_E, width))
                if j0 + width > entries:
                    alive = builder.and_(alive, emit.flags([j0 + n < entries for n in range(width)]))
                value = builder.select(alive, emit.power(builder, x, width), emit.zeros(width))
                if width < VECTOR:
                    value = builder.shuffle_vector(value, emit.zeros(width), emit.count(VECTOR))
                lanes = ir.Constant(ir.VectorType(I32, VECTOR), [j0 + n for n in range(VECTOR)])
                value = builder.select(builder.icmp_signed("==", lanes, mine), emit.full(1.0, VECTOR), value)
                store(value, builder.add(at, index(j0)))

        rest = cgutils.alloca_once_value(builder, emit.zeros(VECTOR))
        shape = builder.add(builder.mul(rows, index(1 << 16)), row)
        general, done = builder.append_basic_block("shape.any"), builder.append_basic_block("shape.done")
        choice = builder.switch(shape, general)
        for constants in _PACKED:
            block = builder.append_basic_block("shape.{}x{}".format(*constants))
            choice.add_case(index((constants[0] << 16) + constants[1]), block)
            builder.position_at_end(block)
            packed(*constants)
            builder.branch(done)
        builder.position_at_end(general)
        run_by_run()
        builder.branch(done)
        builder.position_at_end(done)
        return emit.sum(builder, builder.fadd(builder.load(total), builder.load(rest)), VECTOR)

    f, whole, flag = types.float32, types.intp, types.boolean
    signature = f(context, whole, runs, whole, whole, whole, context.dtype, f, flag, ts, whole, flag, whole)
    return signature, build


@intrinsic
def compare(typing_context, ts, at, entries, known, own, c, begin, lanes, norms, unit0, square, apart):
    """Squared distances of all units from the surface, in which the event's own entry is 1; returns ||ts||^2.

    apart[unit0 + u] = ||ts||^2 + norms[u] - 2 sum of ts[at + j] c[begin + (j // 4) 4 lanes + 4 u + j % 4]

    A vector holds four entries of four units: a surface of 81 entries takes 21 of them, and there is little to sum up.
    Where the entry is not `known` from the beginning, it is set here: what it adds is all that depends on the layer
    below, and it comes last, so that everything before can be computed while that layer still compares.
    """

    def build(target, builder, signature, arguments):
        ts, at, entries, known, own, c, begin, lanes, _, _, square, _ = arguments
        args, index = signature.args, lanes.type
        late = builder.not_(builder.trunc(known, ir.IntType(1)))
        mine = emit.at(target, builder, args[0], ts, builder.add(at, own))
        before = builder.load(mine)
        fresh = builder.fsub(F32(1.0), before)
        square = builder.fadd(square, builder.fsub(F32(1.0), builder.fmul(before, before)))
        row = builder.mul(lanes, index(FOUR))
        repeated = emit.constants([n % FOUR for n in range(VECTOR)])
        four = builder.udiv(own, index(FOUR))
        within = emit.all(builder, builder.trunc(builder.urem(own, index(FOUR)), I32), VECTOR)
        only = builder.icmp_signed("==", repeated, within)

        def some_units(first, width, vectors):
            """The next `vectors` vectors of distances of `width` units, each the sums of `width // 4` vectors."""
            of_vector = width // FOUR
            sums = [cgutils.alloca_once(builder, ir.VectorType(F32, VECTOR)) for _ in range(vectors * of_vector)]
            for total in sums:
                builder.store(emit.zeros(VECTOR), total)
            corner = builder.add(begin, builder.mul(first, index(FOUR)))

            def add(values, place):
                for n, total in enumerate(sums):
                    here = emit.vector(target, builder, args[5], c, builder.add(place, index(n * VECTOR)))
                    more = emit.multiply_add(builder, values, builder.load(here, align=4), builder.load(total))
                    builder.store(more, total)

            with cgutils.for_range_slice(builder, index(0), entries, index(FOUR)) as (j, turn):
                few = builder.load(emit.vector(target, builder, args[0], ts, builder.add(at, j), FOUR), align=4)
                values = builder.shuffle_vector(few, few, repeated)
                add(values, builder.add(corner, builder.mul(turn, row)))
            with builder.if_then(late):
                values = builder.select(only, emit.all(builder, fresh, VECTOR), emit.zeros(VECTOR))
                add(values, builder.add(corner, builder.mul(four, row)))
            for v in range(vectors):
                parts = [builder.load(total) for total in sums[v * of_vector : (v + 1) * of_vector]]
                u = builder.add(first, index(v * width))
                _store_distances(
                    target, builder, signature, arguments, u, width, emit.sums_of_fours(builder, parts), square
                )

        most = ((VECTOR, 2),) if emit.wide() else ()
        emit.over_lanes(builder, lanes, some_units, (*most, (VECTOR, 1), (LANE, 1)))
        with builder.if_then(late):
            builder.store(F32(1.0), mine)
        return square

    f, whole = types.float32, types.intp
    return f(ts, whole, whole, types.boolean, whole, c, whole, whole, norms, whole, f, apart), build


@intrinsic
def compare_sparse(typing_context, ts, at, entries, own, c, begin, lanes, scale, norms, unit0, square, apart):
    """As `compare`, without entries that are 0, for centroids whose units lie side by side and have a factor each.

    apart[unit0 + u] = ||ts||^2 + norms[u] - 2 scale[u] sum of ts[at + j] c[begin + j lanes + u]

    The event's own entry is not stored until everything is compared: a vector that is loaded just after one of its
    entries was stored has to wait until everything before it is done.
    """

    def build(target, builder, signature, arguments):
        ts, at, entries, own, c, begin, lanes, scale, _, unit0, square, _ = arguments
        args, index = signature.args, lanes.type
        mine = emit.at(target, builder, args[0], ts, builder.add(at, own))
        before = builder.load(mine)
        fresh = builder.fsub(F32(1.0), before)
        square = builder.fadd(square, builder.fsub(F32(1.0), builder.fmul(before, before)))

        def some_units(first, width, vectors):
            """The next `vectors` vectors of `width` units."""
            sums = [cgutils.alloca_once(builder, ir.VectorType(F32, width)) for _ in range(vectors)]
            for total in sums:
                builder.store(emit.zeros(width), total)

            def add(value, j):
                row = builder.add(builder.add(begin, first), builder.mul(j, lanes))
                for v, total in enumerate(sums):
                    here = emit.vector(target, builder, args[4], c, builder.add(row, index(v * width)), width)
                    more = emit.multiply_add(
                        builder, emit.all(builder, value, width), builder.load(here, align=4), builder.load(total)
                    )
                    builder.store(more, total)

            with emit.nonzero(target, builder, args[0], ts, at, entries) as j:
                add(builder.load(emit.at(target, builder, args[0], ts, builder.add(at, j))), j)
            add(fresh, own)
            for v, total in enumerate(sums):
                u = builder.add(first, index(v * width))
                units = builder.add(unit0, u)
                factor = builder.load(emit.vector(target, builder, args[7], scale, units, width), align=4)
                dot = builder.fmul(factor, builder.load(total))
                _store_distances(target, builder, signature, arguments, u, width, dot, square)

        emit.over_lanes(builder, lanes, some_units)
        builder.store(F32(1.0), mine)
        return square

    f, whole = types.float32, types.intp
    return f(ts, whole, whole, whole, c, whole, whole, scale, norms, whole, f, apart), build


def _store_distances(target, builder, signature, arguments, u, width, dot, square) -> None:
    """Store square + norms - 2 dot of the units from u on; the last arguments are norms, unit0, square and apart."""
    units = builder.add(arguments[-3], u)
    norm = builder.load(emit.vector(target, builder, signature.args[-4], arguments[-4], units, width), align=4)
    far = emit.multiply_add(builder, dot, emit.full(-2.0, width), builder.fadd(norm, emit.all(builder, square, width)))
    builder.store(far, emit.vector(target, builder, signature.args[-1], arguments[-1], units, width), align=4)


@intrinsic
def lowest(typing_context, values, begin, lanes):
    """Index of the lowest of values[begin : begin + lanes], the first of equals; 0 where all are NaN."""

    def build(target, builder, signature, arguments):
        values, begin, lanes = arguments
        index = lanes.type

        def load(u, width):
            place = builder.add(begin, u)
            return builder.load(emit.vector(target, builder, signature.args[0], values, place, width), align=4)

        def places(vector, low):
            """Bit n is set where the vector has this value in lane n."""
            width = vector.type.count
            return builder.zext(builder.bitcast(builder.fcmp_ordered("==", vector, low), ir.IntType(width)), index)

        def at_once(many):
            """Nothing to go through: one bit for each of so many units."""
            width = min(many, VECTOR)
            parts = [load(index(u), width) for u in range(0, many, width)]
            least = emit.full(float("inf"), width)
            for part in parts:
                least = emit.lower(builder, part, least)
            low, same = emit.least(builder, least), index(0)
            for n, part in enumerate(parts):
                same = builder.or_(same, builder.shl(places(part, low), index(n * width)))
            first = builder.cttz(same, ir.IntType(1)(0))
            builder.store(builder.and_(first, index(many - 1)), found)  # 0 where there is none

        def one_by_one():
            def each():
                return cgutils.for_range_slice(builder, index(0), lanes, index(LANE))

            least = cgutils.alloca_once_value(builder, emit.full(float("inf"), LANE))
            with each() as (u, _):
                builder.store(emit.lower(builder, load(u, LANE), builder.load(least)), least)
            low = emit.least(builder, builder.load(least))
            first = cgutils.alloca_once_value(builder, ir.IntType(1)(1))
            with each() as (u, _):
                same = places(load(u, LANE), low)
                is_here = builder.icmp_unsigned("!=", same, index(0))
                place = builder.add(u, builder.cttz(same, ir.IntType(1)(0)))
                take = builder.and_(is_here, builder.load(first))
                builder.store(builder.select(take, place, builder.load(found)), found)
                builder.store(builder.and_(builder.load(first), builder.not_(is_here)), first)

        found = cgutils.alloca_once_value(builder, index(0))
        general, done = builder.append_basic_block("lanes.any"), builder.append_basic_block("lanes.done")
        choice = builder.switch(lanes, general)
        for many in (8, 16, 32, 64):
            block = builder.append_basic_block(f"lanes.{many}")
            choice.add_case(index(many), block)
            builder.position_at_end(block)
            at_once(many)
            builder.branch(done)
        builder.position_at_end(general)
        one_by_one()
        builder.branch(done)
        builder.position_at_end(done)
        return builder.load(found)

    return types.intp(values, types.intp, types.intp), build


@intrinsic
def approach(typing_context, v, begin, gain, ts, at, vectors, c, first, lanes):
    """v[begin + j] += gain (ts[at + j] - v[begin + j]) in float64, and the same, rounded, to where `compare` reads it.

    c[first + (j // 4) 4 lanes + j % 4] = v[begin + j]
    """

    def build(target, builder, signature, arguments):
        v, begin, gain, ts, at, vectors, c, first, lanes = arguments
        args, index = signature.args, begin.type
        with cgutils.for_range_slice(builder, index(0), builder.mul(vectors, index(VECTOR)), index(VECTOR)) as (j0, _):
            here = emit.vector(target, builder, args[0], v, builder.add(begin, j0))
            old = builder.load(here, align=8)
            value = builder.load(emit.vector(target, builder, args[3], ts, builder.add(at, j0)), align=4)
            away = builder.fsub(builder.fpext(value, ir.VectorType(F64, VECTOR)), old)
            value = emit.multiply_add(builder, away, emit.all(builder, gain, VECTOR), old)
            builder.store(value, here, align=8)
            rounded = builder.fptrunc(value, ir.VectorType(F32, VECTOR))
            row = builder.add(first, builder.mul(j0, lanes))
            for n in range(0, VECTOR, FOUR):
                few = builder.shuffle_vector(rounded, rounded, emit.constants([n + m for m in range(FOUR)]))
                place = builder.add(row, builder.mul(lanes, index(n)))
                builder.store(few, emit.vector(target, builder, args[6], c, place, FOUR), align=4)
        return target.get_dummy_value()

    whole = types.intp
    return types.void(v, whole, types.float64, ts, whole, whole, c, whole, whole), build


@intrinsic
def approach_sparse(typing_context, v, begin, gain, ts, at, entries, c, column, lanes):
    """v[begin + j] += gain ts[at + j] in float64 where that is not 0, and the same, rounded, to c[column + j lanes]."""

    def build(target, builder, signature, arguments):
        v, begin, gain, ts, at, entries, c, column, lanes = arguments
        args = signature.args
        with emit.nonzero(target, builder, args[3], ts, at, entries) as j:
            here = emit.at(target, builder, args[0], v, builder.add(begin, j))
            value = builder.fpext(builder.load(emit.at(target, builder, args[3], ts, builder.add(at, j))), F64)
            value = emit.multiply_add(builder, value, gain, builder.load(here))
            builder.store(value, here)
            place = builder.add(column, builder.mul(j, lanes))
            builder.store(builder.fptrunc(value, F32), emit.at(target, builder, args[6], c, place))
        return target.get_dummy_value()

    whole = types.intp
    return types.void(v, whole, types.float64, ts, whole, whole, c, whole, whole), build


@intrinsic
def shift_thresholds(typing_context, th, apart, free, unit0, first, last, fired, gain, compete, border, width):
    """Th += gain near(th, dist) of the unit that fired and, if `compete`, -= of others with dist < th; at least 0.

    Of units first to last; dist^2 = apart, width = -1/d. Units that are not free stay as they are.
    """

    def build(target, builder, signature, arguments):
        th, apart, free, unit0, first, last, fired, gain, compete, border, slope = arguments
        args = signature.args

        def some_units(begin, width, _):
            u, wide = builder.add(first, begin), ir.VectorType(F64, width)
            units = builder.add(unit0, u)
            limit = emit.vector(target, builder, args[0], th, units, width)
            old = builder.load(limit, align=8)
            near = builder.fptrunc(old, ir.VectorType(F32, width))
            squared = builder.load(emit.vector(target, builder, args[1], apart, units, width), align=4)
            may = builder.load(emit.vector(target, builder, args[2], free, units, width), align=4)
            dist = emit.root(builder, squared, width)
            lane = emit.all(builder, builder.trunc(builder.sub(fired, u), I32), width)
            winner = builder.icmp_signed("==", emit.count(width), lane)
            rivals = emit.all(builder, builder.trunc(compete, ir.IntType(1)), width)
            moves = builder.or_(winner, builder.and_(rivals, builder.fcmp_ordered("<", dist, near)))
            away = builder.select(builder.trunc(border, ir.IntType(1)), builder.fsub(near, dist), dist)
            x = builder.fmul(away, emit.all(builder, builder.fmul(slope, F32(LOG2_E)), width))
            alive = builder.fcmp_ordered(">", x, emit.full(-SILENT * LOG2_E, width))
            alive = builder.and_(alive, builder.and_(moves, builder.fcmp_ordered(">", may, emit.zeros(width))))
            by = builder.fmul(builder.fpext(emit.power(builder, x, width), wide), emit.all(builder, gain, width))
            by = builder.select(winner, by, builder.fneg(by))
            least = builder.fneg(old)
            by = builder.select(builder.fcmp_ordered(">", by, least), by, least)
            builder.store(builder.fadd(old, builder.select(alive, by, emit.zeros(width, F64))), limit, align=8)

        emit.over_lanes(builder, builder.sub(last, first), some_units, ((VECTOR, 1), (LANE, 1)))
        return target.get_dummy_value()

    f, whole, flag = types.float64, types.intp, types.boolean
    return types.void(th, apart, free, whole, whole, whole, whole, f, flag, flag, types.float32), build


@intrinsic
def decayed_pair(typing_context, x, y):
    """exp(x), exp(y) for x, y <= 0, side by side."""

    def build(target, builder, signature, arguments):
        pair = emit.all(builder, arguments[0], 4)
        pair = builder.insert_element(pair, arguments[1], I32(1))
        pair = builder.fmul(pair, emit.full(LOG2_E, 4))
        alive = builder.fcmp_ordered(">", pair, emit.full(-SILENT * LOG2_E, 4))
        pair = builder.select(alive, emit.power(builder, pair, 4), emit.zeros(4))
        values = [builder.extract_element(pair, I32(n)) for n in range(2)]
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
            return emit.vector(target, builder, args[n], array, place, LANE)

        with cgutils.for_range_slice(builder, index(0), lanes, index(LANE)) as (u, _):
            here, unit, dot = (builder.add(begin, u) for begin in (row, unit0, dots0))
            now = builder.load(at(1, moved, unit), align=8)
            v = emit.multiply_add(builder, now, emit.all(builder, old, LANE), builder.load(at(0, z, here), align=8))
            builder.store(emit.multiply_add(builder, now, emit.all(builder, minus, LANE), v), at(0, z, here), align=8)
            factor = builder.fmul(builder.load(at(2, scale, unit), align=8), emit.all(builder, fresh, LANE))
            total = emit.multiply_add(builder, v, factor, builder.load(at(3, dots, dot), align=8))
            builder.store(total, at(3, dots, dot), align=8)
            norm = builder.fadd(builder.load(at(4, norms, unit), align=8), emit.all(builder, square, LANE))
            far = emit.multiply_add(builder, total, emit.all(builder, builder.fmul(decay, F64(-2.0)), LANE), norm)
            builder.store(builder.fptrunc(far, ir.VectorType(F32, LANE)), at(5, apart, unit), align=4)
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
            here = emit.vector(target, builder, signature.args[0], to, builder.add(at, u), LANE)
            more = builder.load(
                emit.vector(target, builder, signature.args[3], source, builder.add(begin, u), LANE), align=8
            )
            value = emit.multiply_add(builder, more, emit.all(builder, gain, LANE), builder.load(here, align=8))
            builder.store(value, here, align=8)
        return target.get_dummy_value()

    return types.void(to, types.intp, types.float64, source, types.intp, types.intp), build
