"""What the host and the kernels share, described once: structs, flags and constants.

NumPy's record types and the C declarations are both made from this description. The generated C also states the size
and alignment of every member, so that a compiler that lays a struct out differently refuses it instead of reading
wrong numbers. Needs no card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from timesurf.engines.data import KEPT_WEIGHT
from timesurf.rule import DOUBT, SLACK

COMPETITION, CENTRE, DELTA = 1, 2, 4  # flags of Rates
WARPS = 4  # per block of threads, on the general path
LAST_WARPS = 4  # per block of threads, in the last layer of the path layer by layer
UPDATE_BLOCKS, UPDATE_THREADS = 256, 256  # that apply a batch's sums to one layer, and threads in each
ENTRY_BITS = 26  # of the entry that fired in the last layer; the unit is packed into the bits above
LAST_UNITS = 16  # of the last layer at most, where a lane holds all of them in registers
FIXED = 2.0**40  # what a deterministic sum is counted in: 1 / FIXED
_SUMS = {False: ("float", np.float32), True: ("unsigned long long", np.int64)}  # by whether sums are deterministic


@dataclass(frozen=True)
class Member:
    """A member of a struct; `count` names the constant that gives an array's length."""

    ctype: str
    name: str
    about: str
    count: str = ""


@dataclass(frozen=True)
class Struct:
    """A struct as both sides know it."""

    name: str
    members: tuple[Member, ...]

    def dtype(self, **counts: int) -> np.dtype[Any]:
        """NumPy's record type with C's alignment.

        Parameters
        ----------
        **counts : int
            The constants that give the lengths of arrays, such as `LAYERS`.

        Returns
        -------
        numpy.dtype
            One field per member.
        """
        fields = []
        for member in self.members:
            of = _dtype(member.ctype)
            fields.append((member.name, of, (counts[member.count],)) if member.count else (member.name, of))
        return np.dtype(fields, align=True)

    def declaration(self) -> str:
        """The struct in C."""
        lines = []
        for m in self.members:
            lines.append(f"  {m.ctype} {m.name}{f'[{m.count}]' if m.count else ''};  // {m.about}")
        return "\n".join([f"struct {self.name} {{", *lines, "};"])

    def checks(self, **counts: int) -> str:
        """Assertions in C that the compiler lays the struct out as `dtype` does.

        Members follow each other at the next aligned place on both sides, so sizes and alignments settle it. Offsets
        are asserted too, where the compiler can: NVRTC, which CuPy compiles with, has no offsetof before 13.4.
        """
        of = self.dtype(**counts)
        assert of.fields is not None
        sizes, offsets = [f'static_assert(sizeof({self.name}) == {of.itemsize}, "size of {self.name}");'], []
        for name, (field, offset, *_) in of.fields.items():
            place = f"{self.name}::{name}"
            fits = f"sizeof({place}) == {field.itemsize} && alignof(decltype({place})) == {field.base.alignment}"
            sizes.append(f'static_assert({fits}, "layout of {place}");')
            offsets.append(
                f'static_assert(__builtin_offsetof({self.name}, {name}) == {offset}, "offset of {self.name}::{name}");'
            )
        return "\n".join([*sizes, "#ifndef __CUDACC_RTC__", *offsets, "#endif"])

    def value(self, values: Mapping[str, int | Sequence[int]], **counts: int) -> str:
        """An initialiser in C; short arrays are filled up with 1."""
        parts = []
        for member in self.members:
            value = values[member.name]
            if isinstance(value, Sequence):
                filled = [*value, *[1] * (counts[member.count] - len(value))]
                parts.append("{" + ", ".join(map(str, filled)) + "}")
            else:
                parts.append(str(int(value)))
        return "{" + ", ".join(parts) + "}"


def struct(name: str, table: str) -> Struct:
    """From lines `type name | meaning`, with `name[COUNT]` for an array."""
    members = []
    for line in table.strip().splitlines():
        left, about = line.split("|")
        ctype, place = left.rsplit(maxsplit=1)
        own, _, count = place.partition("[")
        members.append(Member(" ".join(ctype.split()), own, about.strip(), count.rstrip("]")))
    return Struct(name, tuple(members))


RATES = struct("Rates", """
    float fade       | log2(e) / tau
    float feedback   | log2(e) / feedback_tau
    float alpha      | centroids, weight of dS
    float beta       | centroids, weight of S
    float gamma      | thresholds, weight of dS
    float delta      | thresholds, weight of S
    float d          | log2(e) / d
    float temperature | log2(e) temperature, of the shares of the last layer's units
    int   flags      | COMPETITION, CENTRE, DELTA
""")  # fmt: skip

LAYER = struct("Layer", """
    double*     c64    | centroids as they are stored: [network][entry of the surface][unit], rows padded to Shape::row
    double*     th64   | thresholds as they are stored: [network][unit]
    float*      c      | centroids as the kernels read them
    float*      th     | thresholds as the kernels read them
    float*      cc     | squared lengths of centroids: [network][unit]
    Sum*        dc     | sums of gain x surface, as c
    Sum*        dg     | sums of gain: [network][unit]
    Sum*        dth    | sums of threshold steps: [network][unit]
    const bool* frozen | units that never change: [network][unit]
    const int*  step   | where each entry of a surface lies on the map, counted from its corner
""")  # fmt: skip

ARGS = struct("Args", """
    const int*       entry    | of all events: entry of the first layer's input field
    const int*       t        | of all events: time, modulo 2^32
    const long long* start    | [network][recording] first event
    const long long* stop     | [network][recording] behind the last event
    const int*       label    | [network][recording] class, -1 if unknown
    const int*       bounds   | batch b is recordings bounds[b] to bounds[b + 1]
    const float*     events   | [batch][network] input events
    const Rates*     rates    | [batch][network][layer]
    int*             batch    | the current batch
    int*             next     | [network] recordings of it that are taken
    int              networks | side by side
    int              recordings | of each network
    int*             kept     | [network][recording][layer] events that the layer let pass
    int*             votes    | [network][recording][class] output events
    double*          evidence | [network][recording][class] sum of log(share of the class + DOUBT), if asked for
    int*             output   | [network] output events of the batch
    float*           share    | [network] running share of events that are output
    float            keep     | thresholds compete while the share is above this
    int*             scratch  | general: maps, [slot][SCRATCH]; layer by layer: maps of upper layers
    float4*          log      | general: [slot][wide layer][event] entry, w, gain, time
    int*             log_unit | general: [slot][wide layer][event] unit that fired; -1: log_gain has gains of all units
    float*           log_gain | general, delta rule in a wide last layer: [slot][event][unit] gain
    long long        log_stride | events that a slot has room for
    int*             winner   | trace: [event][layer]
    int*             passed   | trace: [event]
    float*           distance | trace: [event][layer]
    float*           S        | trace: [event][layer]
    const long long* trace_at | trace: [recording] its first event
    float*           surfaces | trace: [row][entry] surfaces of one layer
    const long long* row      | trace: [event] row of its surface
    int              surface_layer | trace: layer of the surfaces
    int*             map      | blocks, layer by layer: [slot][entry] last times in the last layer
    int*             base     | blocks, layer by layer: [slot] when the recording began, on the clock of that map
    float2*          gain     | blocks: [slot][event] gain and w
    unsigned*        fired    | blocks: [slot][event] entry and unit; layer by layer: [layer][slot][event] unit
    int              chunk    | layer by layer: recordings per chunk; a slot is one of them
    int              segment  | layer by layer: events per segment
    int2*            list     | layer by layer: [layer above][slot][event] events that reach it {which, entry}
    int*             listed   | layer by layer: [layer above][slot][segment] how many
    unsigned short*  lines    | layer by layer: [layer][slot][event] surface and nearness to thresholds, halves
    float2*          judged   | layer by layer: [layer above][slot][event] S and dS
    float*           apart    | layer by layer: [hidden layer above][slot][event] S without its sign
    double*          partial  | update: [network][layer][block][unit] parts of squared lengths
    int*             done     | update: [network][layer] blocks that are done, then layers that are
    Layer            layer[LAYERS] | of all networks
""")  # fmt: skip

SHAPE = struct("Shape", """
    int dimensions     | of the field
    int out_dimensions | of the output field: as many, or 0 where the output has no place
    int units          | centroids
    int per_class      | units that vote for the same class, in the last layer
    int row            | units as arrays have room for them: fours are read at once
    int lanes          | units per lane of a warp
    int polarities     | of the input
    int entries        | of a surface
    int wide           | whether dot products are kept running and no surface is written out
    int map_near       | whether the time map lies in shared memory
    int map_at         | where it begins there, or in the scratch memory
    int written_at     | where its surface is listed
    int sums_at        | where its sums begin in shared memory; -1: they do not fit
    int wide_at        | its number among the wide layers
    int feedback_at    | last times of outputs, in the scratch memory
    int previous_at    | previous S, in the scratch memory
    int field[MAX_DIMENSIONS]      | places
    int side[MAX_DIMENSIONS]       | of a neighbourhood
    int pad[MAX_DIMENSIONS]        | from a place to where it lies on the map
    int cell[MAX_DIMENSIONS]       | places that share a neighbourhood; 0: all do
    int stride[MAX_DIMENSIONS]     | entries of the map from a place to the next
    int out[MAX_DIMENSIONS]        | places of the output field
    int out_stride[MAX_DIMENSIONS] | places that share an output place
""")  # fmt: skip

_STRUCTS = {struct.name: struct for struct in (RATES, LAYER)}
_SCALARS = {"int": np.int32, "float": np.float32, "long long": np.int64}


def _dtype(ctype: str) -> np.dtype[Any]:
    """NumPy's type for a type of C; pointers are numbers."""
    if ctype.endswith("*"):
        return np.dtype(np.uint64)
    return _STRUCTS[ctype].dtype() if ctype in _STRUCTS else np.dtype(_SCALARS[ctype])


@lru_cache(maxsize=16)
def args(layers: int) -> np.dtype[Any]:
    """NumPy's record type of Args, which every kernel is given.

    Examples
    --------
    >>> args(2).fields["layer"][0].shape
    (2,)
    """
    return ARGS.dtype(LAYERS=layers)


def sum_type(deterministic: bool) -> type[Any]:
    """NumPy's type of a sum of updates."""
    return _SUMS[deterministic][1]


def head(shapes: Sequence[Mapping[str, Any]], *, deterministic: bool) -> str:
    """The C text that every kernel of a network begins with.

    Parameters
    ----------
    shapes : sequence of mappings
        Values of Shape by name, one per layer.
    deterministic : bool
        Whether sums are made in fixed point.

    Returns
    -------
    str
        Constants, structs with their checks, and the sizes of every layer.
    """
    layers, dimensions = len(shapes), max(1, *(len(shape["field"]) for shape in shapes))
    rows = ",\n".join("  " + SHAPE.value(shape, MAX_DIMENSIONS=dimensions) for shape in shapes)
    return f"""
#define LAYERS {layers}
#define MAX_DIMENSIONS {dimensions}
#define DETERMINISTIC {int(deterministic)}
constexpr float SLACK = {SLACK!r}f, DOUBT = {DOUBT!r}f;
constexpr float KEPT_WEIGHT = {KEPT_WEIGHT!r}f;
constexpr double FIXED = {FIXED!r};
enum {{ COMPETITION = {COMPETITION}, CENTRE = {CENTRE}, DELTA = {DELTA} }};
constexpr int GENERAL_WARPS = {WARPS}, LAST_WARPS = {LAST_WARPS}, ENTRY_BITS = {ENTRY_BITS};
constexpr int UPDATE_BLOCKS = {UPDATE_BLOCKS}, UPDATE_THREADS = {UPDATE_THREADS};
constexpr int MAX_ROW = {max(shape["row"] for shape in shapes)};
typedef {_SUMS[deterministic][0]} Sum;
{RATES.declaration()}
{LAYER.declaration()}
{ARGS.declaration()}
{RATES.checks()}
{LAYER.checks()}
{ARGS.checks(LAYERS=layers)}
{SHAPE.declaration()}
constexpr Shape SHAPE[LAYERS] = {{
{rows}
}};
"""
