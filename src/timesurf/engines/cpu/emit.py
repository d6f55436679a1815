"""Pieces of LLVM code that the vector instructions of `fused.py` are put together from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import factorial, log

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, config

from timesurf.engines.cpu.vector import FOUR, LANE, SILENT, VECTOR

FUSED = ("contract", "reassoc", "nsz", "arcp")
LOG2_E = 1.4426950408889634
F32, F64, I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)
POWERS = tuple(log(2) ** n / factorial(n) for n in range(7))  # of 2^r: relative error 1.2e-7 for |r| <= 1/2


def wide() -> bool:
    """Whether a vector of 16 is one register of this processor, which then has 32 of them: sums of 32 units fit."""
    return "+avx512f" in (getattr(config, "CPU_FEATURES", None) or get_host_cpu_features().flatten())


def over_lanes(builder, lanes, some_units, shapes=((VECTOR, 4), (VECTOR, 2), (VECTOR, 1), (LANE, 1))) -> None:
    """All lanes, as many vectors at once as there are: of each of these widths and numbers, the largest first."""
    index = lanes.type
    done = cgutils.alloca_once_value(builder, index(0))
    for width, vectors in shapes:
        step = index(width * vectors)
        start = builder.load(done)
        left = builder.sub(lanes, start)
        end = builder.add(start, builder.mul(builder.udiv(left, step), step))
        with cgutils.for_range_slice(builder, start, end, step) as (first, _):
            some_units(first, width, vectors)
        builder.store(end, done)


@contextmanager
def cases(builder, number, most) -> Iterator[Iterator[int]]:
    """Code for each number from 1 to `most`, in which it is a constant: what is emitted per turn of the iterator."""
    done = builder.append_basic_block("case.done")
    choice = builder.switch(number, done)

    def each() -> Iterator[int]:
        for constant in range(1, most + 1):
            block = builder.append_basic_block(f"case.{constant}")
            choice.add_case(number.type(constant), block)
            builder.position_at_end(block)
            yield constant
            builder.branch(done)

    yield each()
    builder.position_at_end(done)


@contextmanager
def nonzero(target, builder, array_type, array, at, entries) -> Iterator[ir.Value]:
    """A loop over the entries that are not 0, lowest first."""
    index, bits = entries.type, ir.IntType(VECTOR)
    mask = cgutils.alloca_once(builder, bits)
    with cgutils.for_range_slice(builder, index(0), entries, index(VECTOR)) as (j0, _):
        values = builder.load(vector(target, builder, array_type, array, builder.add(at, j0)), align=4)
        builder.store(builder.bitcast(builder.fcmp_unordered("!=", values, zeros(VECTOR)), bits), mask)
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


def power(builder, x, width, number=None):
    """2^x for x <= 0; below -SILENT log2(e) anything. `number(value, width)` is a vector of one constant."""
    number = number or full
    ints, floats = ir.VectorType(I32, width), ir.VectorType(F32, width)
    low = number(-SILENT * LOG2_E, width)
    x = builder.select(builder.fcmp_ordered(">", x, low), x, low)
    whole = call(builder, "llvm.rint", [x])
    rest = builder.fsub(x, whole)
    square = builder.fmul(rest, rest)
    power = number(POWERS[-1], width)
    for n in range(len(POWERS) - 3, -1, -2):  # two terms at once: half as many steps that wait for each other
        pair = multiply_add(builder, rest, number(POWERS[n + 1], width), number(POWERS[n], width))
        power = multiply_add(builder, power, square, pair)
    doubled = builder.shl(builder.fptosi(whole, ints), ir.Constant(ints, [23] * width))
    bits = builder.add(doubled, builder.bitcast(number(POWERS[0], width), ints))  # to the exponent of 1
    return builder.fmul(power, builder.bitcast(bits, floats))


def root(builder, x, width):
    """Square root of what is not below 0."""
    none = zeros(width, x.type.element)
    return call(builder, "llvm.sqrt", [builder.select(builder.fcmp_ordered(">", x, none), x, none)])


def lower(builder, one, other):
    """The lower number of each lane; the other's where one is NaN."""
    return builder.select(builder.fcmp_ordered("<", one, other), one, other)


def least(builder, x):
    """The lowest number of a vector in every lane."""
    width, half = x.type.count, x.type.count // 2
    while half:  # halves against each other
        x = lower(builder, builder.shuffle_vector(x, x, constants([(n + half) % width for n in range(width)])), x)
        half //= 2
    return x


def sum(builder, x, width):
    """Sum of a vector."""
    kind = ir.FunctionType(F32, [F32, x.type])
    reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{width}f32")
    return builder.call(reduce, [F32(0.0), x], fastmath=("reassoc",))


def sums_of(builder, vectors):
    """Sums of four or eight vectors of 16, as one vector: halves, quarters, pairs, numbers against each other."""

    def added(one, other, low, high):
        parts = (builder.shuffle_vector(one, other, constants(mask)) for mask in (low, high))
        return builder.fadd(*parts)

    def among(runs, length):
        """The runs of this length, by their numbers, of two vectors one behind the other."""
        return [run * length + n for run in runs for n in range(length)]

    def quarters(a, b, c, d):
        """In lanes of four: a, b, c, d, each to be summed."""
        ab, cd = (added(x, y, among((0, 2), 8), among((1, 3), 8)) for x, y in ((a, b), (c, d)))
        return added(ab, cd, among((0, 2, 4, 6), 4), among((1, 3, 5, 7), 4))

    abcd = quarters(*vectors[:4])
    if len(vectors) == 4:
        pairs = added(abcd, abcd, among((0, 2, 4, 6), 2), among((1, 3, 5, 7), 2))  # a a b b c c d d
        return added(pairs, pairs, [0, 2, 4, 6], [1, 3, 5, 7])
    low = among((0, 8, 2, 10, 4, 12, 6, 14), 2)
    both = added(abcd, quarters(*vectors[4:]), low, [n + 2 for n in low])  # a a e e, b b f f, c c g g, d d h h
    order = [0, 4, 8, 12, 2, 6, 10, 14]
    return added(both, both, order, [n + 1 for n in order])


def sums_of_fours(builder, vectors):
    """Sums of four lanes each of two or four vectors, as one vector of 8 or 16 in this order."""

    def added(one, other, lanes):
        """Of each four lanes: two of one, two of the other, and the two lanes beside each."""
        parts = [[FOUR * four + lane for four in range(FOUR) for lane in some] for some in lanes]
        return builder.fadd(*(builder.shuffle_vector(one, other, constants(part)) for part in parts))

    pairs = [
        added(one, other, ((0, 1, VECTOR, VECTOR + 1), (2, 3, VECTOR + 2, VECTOR + 3)))
        for one, other in zip(vectors[::2], vectors[1::2], strict=True)
    ]
    if len(pairs) == 1:
        first = [FOUR * (n % FOUR) + 2 * (n // FOUR) for n in range(LANE)]
        halves = [builder.shuffle_vector(*pairs * 2, constants([n + m for n in first])) for m in range(2)]
        return builder.fadd(*halves)
    mixed = added(*pairs, ((0, 2, VECTOR, VECTOR + 2), (1, 3, VECTOR + 1, VECTOR + 3)))
    order = [FOUR * (n % FOUR) + n // FOUR for n in range(VECTOR)]
    return builder.shuffle_vector(mixed, mixed, constants(order))


def call(builder, name, arguments):
    """One of LLVM's functions of vectors of float32 or float64."""
    (kind,) = {argument.type for argument in arguments}
    function, bits = ir.FunctionType(kind, [kind] * len(arguments)), 32 if kind.element == F32 else 64
    name = f"{name}.v{kind.count}f{bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), arguments)


def masked_load(builder, pointer, here, others):
    """A vector of which the lanes `here` are loaded: whatever lies at the others is not touched."""
    kind = others.type
    element = kind.element
    name = f"llvm.masked.load.v{kind.count}i{element.width}.p0"
    mask = flags(here)
    function = ir.FunctionType(kind, [pointer.type, I32, mask.type, kind])
    load = cgutils.get_or_insert_function(builder.module, function, name)
    return builder.call(load, [pointer, I32(element.width // 8), mask, others])


def flags(values):
    """A vector of these truth values."""
    return ir.Constant(ir.VectorType(ir.IntType(1), len(values)), [int(value) for value in values])


def multiply_add(builder, a, b, c):
    """A b + c in one instruction where there is one."""
    return builder.fadd(builder.fmul(a, b, flags=FUSED), c, flags=FUSED)


def at(target, builder, array_type, array, index):
    """A pointer to an entry of an array."""
    return cgutils.gep_inbounds(builder, target.make_array(array_type)(target, builder, array).data, index)


def vector(target, builder, array_type, array, index, width=VECTOR):
    """A pointer to the entries of an array that begin at index, as a vector."""
    vector = ir.VectorType(target.get_value_type(array_type.dtype), width)
    return builder.bitcast(at(target, builder, array_type, array, index), vector.as_pointer())


def all(builder, value, width):
    """A vector that holds the value in every lane."""
    nothing = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(nothing, value, I32(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(I32, width), [0] * width))


def full(value, width, kind=F32):
    """A vector of one constant."""
    return ir.Constant(ir.VectorType(kind, width), [value] * width)


def zeros(width, kind=F32):
    """A vector of zeros."""
    return full(0.0, width, kind)


def constants(numbers):
    """A vector of these integers."""
    return ir.Constant(ir.VectorType(I32, len(numbers)), numbers)


def count(width):
    """0, 1, 2, ..."""
    return ir.Constant(ir.VectorType(I32, width), list(range(width)))
