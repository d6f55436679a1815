"""A network's sizes as constants for the CUDA compiler, and what memory it needs on the card. Needs no card itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from timesurf.engines.data import Array
from timesurf.errors import SettingError
from timesurf.layers import Full, Stage, Tile, Window

WIDE = 1024  # entries: a Full layer wider than this keeps dot products running and never writes its surface out
WARPS = 4  # a block
_NEAR = 2048  # entries of time maps that a warp has in shared memory
_SHARED_SUMS = 48 << 10  # bytes of shared memory for sums of updates; more leaves too little for the cache
_SHARED = 200 << 10  # bytes of shared memory in all


@dataclass(frozen=True)
class Plan:
    """A network for the card."""

    head: str  # constants that both paths have
    source: str  # of the general path
    steps: tuple[Array, ...]  # of each layer: where the entries of a surface lie, from its corner
    wide: tuple[bool, ...]
    scratch: int  # words a warp
    traced: int  # and where all is traced
    written: int  # entries of surfaces that are listed
    near: int  # entries of time maps in shared memory
    sums: int  # entries of updates in shared memory
    bytes_a_sum: int

    def memory(self, *, learn: bool) -> int:
        """Bytes of shared memory a block."""
        return WARPS * (8 * self.written + 4 * self.near + (self.bytes_a_sum * self.sums if learn else 0))


@lru_cache(maxsize=64)
def plan(stages: tuple[Stage, ...], deterministic: bool = False) -> Plan:
    """Sizes of a network as the kernels want them.

    >>> from timesurf.layers import Full, Window, stack
    >>> two = plan(stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10))
    >>> two.wide, two.written
    ((False, True), 84)
    """
    most = max(1, *(len(stage.field) for stage in stages))
    bytes_a_sum = 8 if deterministic else 4
    wides = [_wide(stage) for stage in stages]
    listed = sum(_up(_entries(stage)) for stage, wide in zip(stages, wides, strict=True) if not wide)
    room = _SHARED - WARPS * (8 * listed + 4 * _NEAR)
    if room < 0:
        raise SettingError(
            f"The neighbourhoods of this network hold {listed:,} entries, too many for engine='cuda' (at most "
            f"{(_SHARED // WARPS - 4 * _NEAR) // 8:,}, not counting Full layers of over {WIDE:,}): use engine='cpu'."
        )
    shapes, steps = [], []
    maps = near = written = sums = 0
    for k, stage in enumerate(stages):
        layer, field = stage.layer, stage.field
        kind = {Window: 0, Tile: 1, Full: 2}[type(layer)]
        side = layer.box(field)
        entries, wide = _entries(stage), wides[k]
        padded = [
            n + size - 1 if kind == 0 else math.ceil(n / size) * size for n, size in zip(field, side, strict=True)
        ]
        stride = [stage.polarities * math.prod(padded[d + 1 :]) for d in range(len(padded))]
        box = np.indices((*side, stage.polarities)).reshape(len(side) + 1, -1)
        steps.append((np.array([*stride, 1]) @ box).astype(np.int32))
        lanes = -(-stage.units // 32)
        size = math.prod(padded) * stage.polarities
        close = near + size <= _NEAR
        own = entries * stage.units
        summed = not wide and WARPS * (sums + own) * bytes_a_sum <= min(room, _SHARED_SUMS)
        numbers = [
            kind, len(field), stage.units, row(stage), lanes, stage.polarities, entries, int(wide), int(close),
            near if close else maps, written, sums if summed else -1, sum(wides[:k]),
        ]  # fmt: skip
        lists = [_braces(values, most) for values in (field, side, stride, stage.output_field)]
        shapes.append((numbers, lists))
        if close:
            near += size
        else:
            maps += size
        if summed:
            sums += own
        if not wide:
            written += _up(entries)
    # Behind the maps: last times of outputs, then previous S. Those of a first layer, for a trace alone, come last.
    places = [math.prod(stage.output_field) for stage in stages]
    outputs = [n * stage.units for n, stage in zip(places, stages, strict=True)]
    judged = range(min(1, len(stages) - 1), len(stages))
    previous_at = maps + sum(outputs[k] for k in judged)
    scratch = _up(previous_at + sum(places[k] for k in judged))
    for k, (numbers, _) in enumerate(shapes):
        if k in judged:
            numbers += [maps + sum(outputs[judged[0] : k]), previous_at + sum(places[judged[0] : k])]
        else:
            numbers += [scratch, scratch + outputs[k]]
    traced = scratch if 0 in judged else _up(scratch + outputs[0] + places[0])
    near = _up(near)
    rows = ",\n".join("  {" + ", ".join(map(str, numbers)) + ", " + ", ".join(lists) + "}" for numbers, lists in shapes)
    head = f"""
#define LAYERS {len(stages)}
#define MAX_DIMENSIONS {most}
#define DETERMINISTIC {int(deterministic)}
constexpr int MAX_ROW = {max(map(row, stages))};
struct Shape {{
  int kind, dimensions, units, row, lanes, polarities, entries, wide, map_near;
  int map_at, written_at, sums_at, wide_at, feedback_at, previous_at;
  int field[MAX_DIMENSIONS], side[MAX_DIMENSIONS], stride[MAX_DIMENSIONS], out[MAX_DIMENSIONS];
}};
constexpr Shape SHAPE[LAYERS] = {{
{rows}
}};
"""
    constants = f"""
#define WIDE {sum(wides)}
constexpr int SCRATCH = {scratch}, PREVIOUS_AT = {previous_at};
constexpr int TRACED = {traced}, TRACED_PREVIOUS_AT = {traced if 0 in judged else scratch + outputs[0]};
constexpr int WRITTEN = {written}, NEAR = {near}, SUMS = {sums};
constexpr int LANES = {max(-(-stage.units // 32) for stage in stages)};
"""
    return Plan(
        head, head + constants + kernels("card.cu", "general.cu"), tuple(steps), tuple(wides), scratch,
        traced, written, near, sums, bytes_a_sum,
    )  # fmt: skip


def row(stage: Stage) -> int:
    """Units of a layer as its arrays on the card have room for: fours are read at once."""
    return _up(stage.units)


def kernels(*names: str) -> str:
    """Source text of files beside this one, one after another."""
    return "\n".join(files("timesurf.engines.cuda").joinpath(name).read_text() for name in names)


def _braces(values: Sequence[int], size: int) -> str:
    return "{" + ", ".join(map(str, [*values, *[1] * (size - len(values))])) + "}"


def _entries(stage: Stage) -> int:
    return math.prod(stage.surface_shape)


def _wide(stage: Stage) -> bool:
    return isinstance(stage.layer, Full) and _entries(stage) > WIDE


def _up(size: int) -> int:
    """To whole fours, which are read and written at once."""
    return -(-size // 4) * 4
