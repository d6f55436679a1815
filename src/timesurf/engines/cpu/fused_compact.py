"""Vector instructions of `compact.py`: what an event does to a small layer, in registers.

A unit's entries lie side by side. Its products with the surface are a vector, and four or eight such vectors are summed
together; the last of them is the surface's own, so that ||ts||^2 comes with the dot products.

Surfaces are float32, distances float64: with distances in float32, some starts from which float64 learns the better of
two solutions ended in the worse (`benchmarks/precision_fork.py`).

Constants are read from the layer's record as everything else: compiled code that may lie anywhere in memory would
need an instruction more for the address of each.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from timesurf.engines.cpu import emit
from timesurf.engines.cpu.emit import F32, F64, FUSED, I32, LOG2_E
from timesurf.engines.cpu.vector import LANE, SILENT, VECTOR

ENTRIES = 2 * VECTOR  # of a surface, at most
UNITS = LANE - 1  # of a layer, at most
FORMS = tuple((vectors, lanes) for vectors in (1, 2) for lanes in (4, LANE))  # vectors of a surface, lanes of units
NUMBERS = (-SILENT * LOG2_E, *emit.POWERS, 0.0, -2.0, float("inf"), LOG2_E)  # constants of a record


class _Record:
    """Pointers to the fields of a layer's record."""

    def __init__(self, builder, kind, record, index):
        self.builder, self.kind, self.index = builder, kind, index
        self.base = builder.bitcast(record, ir.IntType(8).as_pointer())

    def at(self, name, number, skip=0):
        """A field as this type, `skip` bytes further on."""
        place = self.builder.gep(self.base, [self.index(self.kind.offset(name) + skip)], inbounds=True)
        return self.builder.bitcast(place, number.as_pointer())

    def load(self, name, number, skip=0):
        """What is there."""
        return self.builder.load(self.at(name, number, skip), align=4)

    def store(self, value, name, skip=0):
        """Write a value there."""
        self.builder.store(value, self.at(name, value.type, skip), align=4)

    def entry(self, name, number, place, skip=0):
        """A pointer to an entry of an array."""
        return self.builder.gep(self.at(name, number, skip), [place], inbounds=True)

    def full(self, value, width, kind=F32):
        """A vector of one of NUMBERS."""
        number = self.load("numbers", F32, 4 * NUMBERS.index(value))
        return emit.all(self.builder, number if kind == F32 else self.builder.fpext(number, kind), width)

    def is_lane(self, place, width, first=0):
        """Which of the lanes from `first` on this is."""
        lanes = self.load("lanes", ir.VectorType(I32, width), 4 * first)
        return self.builder.icmp_signed("==", lanes, emit.all(self.builder, self.builder.trunc(place, I32), width))

    def power(self, x):
        """2^x for x <= 0; 0 below -SILENT log2(e)."""
        return emit.power(self.builder, x, x.type.count, self.full)


@intrinsic
def write_first(typing_context, layer, context, begin, own, now):
    """The surface of an event of the first layer to `layer.next`: its own entry is known, so it need not wait."""

    def build(target, builder, signature, arguments):
        record, context, begin, own, now = arguments
        layer = _Record(builder, signature.args[0], record, own.type)

        def write(j):
            value, mine = _surface(target, builder, layer, signature.args[1], context, begin, own, now, j)
            layer.store(builder.select(mine, layer.full(1.0, VECTOR), value), "next", 4 * j * VECTOR)

        write(0)
        with builder.if_then(_two_vectors(builder, layer)):
            write(1)
        return target.get_dummy_value()

    return types.void(layer, context, types.intp, types.intp, context.dtype), build


@intrinsic
def see_first(typing_context, layer):
    """The closest unit, its squared distance and ||ts||^2 of the surface in `layer.next`.

    It goes to `layer.ts`, squared distances of all units to `layer.apart`.
    """

    def build(target, builder, signature, arguments):
        layer = _Record(builder, signature.args[0], arguments[0], ir.IntType(64))

        def look(vectors, lanes):
            values = [layer.load("next", ir.VectorType(F32, VECTOR), 4 * j * VECTOR) for j in range(vectors)]
            dot = _dots(builder, layer, values, lanes)
            for j, value in enumerate(values):
                layer.store(value, "ts", 4 * j * VECTOR)
            return dot

        return target.make_tuple(builder, signature.return_type, _closest(builder, layer, look))

    return _FOUND(layer), build


@intrinsic
def see_above(typing_context, layer, context, begin, own, now):
    """As `see_first`, of an event of an upper layer: its own entry depends on the layer below, and so it comes last.

    Everything before it can be computed while that layer still compares.
    """

    def build(target, builder, signature, arguments):
        record, context, begin, own, now = arguments
        layer = _Record(builder, signature.args[0], record, own.type)

        def look(vectors, lanes):
            surface = [
                _surface(target, builder, layer, signature.args[1], context, begin, own, now, j) for j in range(vectors)
            ]
            dot = _dots(builder, layer, [value for value, _ in surface], lanes)
            for j, (value, _) in enumerate(surface):
                layer.store(value, "ts", 4 * j * VECTOR)
            before = builder.fpext(builder.load(layer.entry("ts", F32, own)), F64)
            column = ir.Constant(ir.VectorType(F64, lanes), ir.Undefined)
            for n in range(lanes - 1):
                entry = builder.load(layer.entry("v", F64, own, 8 * n * ENTRIES))
                column = builder.insert_element(column, entry, I32(n))
            one = builder.fpext(layer.load("numbers", F32, 4 * NUMBERS.index(1.0)), F64)
            column = builder.insert_element(column, builder.fadd(before, one), I32(lanes - 1))
            for j, (value, mine) in enumerate(surface):
                layer.store(builder.select(mine, layer.full(1.0, VECTOR), value), "ts", 4 * j * VECTOR)
            return emit.multiply_add(builder, emit.all(builder, builder.fsub(one, before), lanes), column, dot)

        return target.make_tuple(builder, signature.return_type, _closest(builder, layer, look))

    return _FOUND(layer, context, types.intp, types.intp, context.dtype), build


_FOUND = types.Tuple([types.intp, types.float64, types.float64])


def _two_vectors(builder, layer):
    """Whether a surface of the layer has two vectors."""
    return builder.icmp_signed(">", layer.load("form", layer.index), layer.index(2))


def _surface(target, builder, layer, kind, context, begin, own, now, j):
    """Vector j of a surface, and which of its entries is the event's own."""
    place = builder.add(begin, layer.index(j * VECTOR))
    times = builder.load(emit.vector(target, builder, kind, context, place), align=8)
    gone = builder.sitofp(builder.sub(emit.all(builder, now, VECTOR), times), ir.VectorType(F32, VECTOR))
    x = builder.fmul(gone, emit.all(builder, layer.load("slope", F32), VECTOR))
    alive = builder.fcmp_ordered(">", x, layer.full(NUMBERS[0], VECTOR))
    return builder.select(alive, layer.power(x), emit.zeros(VECTOR)), layer.is_lane(own, VECTOR, j * VECTOR)


def _dots(builder, layer, values, lanes):
    """Dot products of a surface with all units and, in the last lane, with itself."""
    wide = ir.VectorType(F64, VECTOR)
    values = [builder.fpext(value, wide) for value in values]
    rows = [
        [layer.load("v", wide, 8 * (n * ENTRIES + j * VECTOR)) for j in range(len(values))] for n in range(lanes - 1)
    ]
    return emit.sums_of(builder, [_products(builder, values, row) for row in [*rows, values]])


def _closest(builder, layer, look):
    """The closest unit, its squared distance and ||ts||^2, by the dot products that `look(vectors, lanes)` returns."""
    results = [cgutils.alloca_once(builder, number) for number in (layer.index, F64, F64)]
    with emit.cases(builder, layer.load("form", layer.index), len(FORMS)) as case:
        for number in case:
            vectors, lanes = FORMS[number - 1]
            dot = look(vectors, lanes)
            squares = layer.load("squares", ir.VectorType(F64, lanes))
            far = emit.multiply_add(builder, dot, layer.full(-2.0, lanes, F64), squares)  # less ||ts||^2
            low = emit.least(builder, emit.lower(builder, far, layer.full(float("inf"), lanes, F64)))
            same = builder.bitcast(builder.fcmp_ordered("==", far, low), ir.IntType(lanes))
            some = builder.or_(builder.zext(same, layer.index), layer.index(1 << lanes))
            first = builder.and_(builder.cttz(some, ir.IntType(1)(1)), layer.index(lanes - 1))  # 0 where all are NaN
            square = builder.extract_element(dot, I32(lanes - 1))
            apart = builder.fadd(far, emit.all(builder, square, lanes))
            if lanes < LANE:  # stored whole, as it is loaded
                apart = builder.shuffle_vector(apart, apart, emit.constants([*range(lanes), *range(lanes)]))
            layer.store(apart, "apart")
            found = first, builder.fadd(builder.extract_element(low, I32(0)), square), square
            for value, result in zip(found, results, strict=True):
                builder.store(value, result)
    return [builder.load(result) for result in results]


def _products(builder, one, other):
    """One vector of products, added up over the vectors of a surface."""
    total = None
    for a, b in zip(one, other, strict=True):
        total = builder.fmul(a, b, flags=FUSED) if total is None else emit.multiply_add(builder, a, b, total)
    return total


@intrinsic
def move_unit(typing_context, layer, unit, gain):
    """C += gain (ts - c) of a unit, and its norm."""

    def build(target, builder, signature, arguments):
        record, unit, gain = arguments
        index = unit.type
        layer = _Record(builder, signature.args[0], record, index)

        def add(*terms):
            return builder.fadd(*terms, flags=FUSED)

        def product(*factors):
            return builder.fmul(*factors, flags=FUSED)

        left, square = builder.fsub(F64(1.0), gain), layer.load("square", F64)
        old, apart = (builder.load(layer.entry(name, F64, unit)) for name in ("squares", "apart"))
        twice = builder.fsub(add(old, square), apart)  # 2 ts c
        more = product(gain, add(product(left, twice), product(gain, square)))
        new = add(product(product(left, left), old), more)
        squares, fresh = layer.load("squares", ir.VectorType(F64, LANE)), emit.all(builder, new, LANE)
        layer.store(builder.select(layer.is_lane(unit, LANE), fresh, squares), "squares")  # whole, as it is loaded
        gains = emit.all(builder, gain, VECTOR)
        row = builder.mul(unit, index(ENTRIES))

        def approach(j):
            wide = ir.VectorType(F64, VECTOR)
            here = builder.bitcast(layer.entry("v", F64, row, 8 * j * VECTOR), wide.as_pointer())
            was = builder.load(here, align=8)
            ts = builder.fpext(layer.load("ts", ir.VectorType(F32, VECTOR), 4 * j * VECTOR), wide)
            builder.store(emit.multiply_add(builder, builder.fsub(ts, was), gains, was), here, align=8)

        approach(0)
        with builder.if_then(_two_vectors(builder, layer)):
            approach(1)
        return target.get_dummy_value()

    return types.void(layer, types.intp, types.float64), build


@intrinsic
def shift_all(typing_context, layer, fired, gain, compete, border):
    """Thresholds of a layer, as `shift_thresholds` changes them."""

    def build(target, builder, signature, arguments):
        record, fired, gain, compete, border = arguments
        layer = _Record(builder, signature.args[0], record, fired.type)
        flag, wide = ir.IntType(1), ir.VectorType(F64, LANE)
        old = layer.load("thresholds", wide)
        dist = emit.root(builder, layer.load("apart", wide), LANE)
        rivals = emit.all(builder, builder.trunc(compete, flag), LANE)
        winner = layer.is_lane(fired, LANE)
        moves = builder.or_(winner, builder.and_(rivals, builder.fcmp_ordered("<", dist, old)))
        moves = builder.and_(
            moves, builder.fcmp_ordered(">", layer.load("free", ir.VectorType(F32, LANE)), emit.zeros(LANE))
        )
        away = builder.select(builder.trunc(border, flag), builder.fsub(old, dist), dist)
        x = builder.fptrunc(away, ir.VectorType(F32, LANE))
        x = builder.fmul(x, emit.all(builder, layer.load("width", F32), LANE))
        moves = builder.and_(moves, builder.fcmp_ordered(">", x, layer.full(NUMBERS[0], LANE)))
        by = builder.fmul(builder.fpext(layer.power(x), wide), emit.all(builder, gain, LANE))
        none = emit.zeros(LANE, F64)
        by = builder.select(winner, by, builder.fsub(none, by))
        least = builder.fsub(none, old)
        by = builder.select(builder.fcmp_ordered(">", by, least), by, least)
        layer.store(builder.fadd(old, builder.select(moves, by, none)), "thresholds")
        return target.get_dummy_value()

    flag = types.boolean
    return types.void(layer, types.intp, types.float64, flag, flag), build


@intrinsic
def echo(typing_context, layer, feedback, begin, now):
    """Ftv of all units at a place, to `layer.ftv`, and their sum; their last times begin at feedback[begin]."""

    def build(target, builder, signature, arguments):
        record, feedback, begin, now = arguments
        layer = _Record(builder, signature.args[0], record, begin.type)
        times = builder.load(emit.vector(target, builder, signature.args[1], feedback, begin, LANE), align=8)
        gone = builder.sub(emit.all(builder, now, LANE), times)
        x = builder.fmul(
            builder.sitofp(gone, ir.VectorType(F32, LANE)), emit.all(builder, layer.load("fading", F32), LANE)
        )
        alive = builder.fcmp_ordered(">", x, layer.full(NUMBERS[0], LANE))
        ftv = builder.select(alive, layer.power(x), emit.zeros(LANE))
        layer.store(ftv, "ftv")
        return emit.sum(builder, ftv, LANE)

    return types.float32(layer, feedback, types.intp, feedback.dtype), build
