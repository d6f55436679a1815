"""Neighbourhoods as tables, so that a kernel needs to know neither dimensions nor kinds of layer.

A layer keeps the last time of its inputs in a flat context, laid out so that the surface of an event at location `l`
is `context[start[l] + gather]` and its own entry is `context[own[l] + p]`. What the layer emits goes to `out[l]`.

`Window`: the context is the field with a border that never fires, `gather` steps through a box of it.
`Tile`, `Full`: the context is block after block, and `gather` is 0, 1, 2, ...
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.layers import Stage, Window

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Tables of one layer; all positions are entries of its flat context."""

    own: Array  # (locations,) where an event of polarity 0 writes its time
    start: Array  # (locations,) where its neighbourhood begins
    gather: Array  # (entries,) steps from there to the entries of the surface
    out: Array  # (locations,) location of the event that the layer emits
    context: int  # entries of the context


def geometry(stage: Stage) -> Geometry:
    """Tables of a layer in its place."""
    x = np.indices(stage.field).reshape(len(stage.field), math.prod(stage.field))  # coordinates of every location
    box, polarities = stage.surface_shape[:-1], stage.polarities
    if isinstance(stage.layer, Window):
        border = stage.layer.size // 2
        padded = tuple(n + 2 * border for n in stage.field)
        start = flat(x, padded) * polarities
        own = flat(x + border, padded) * polarities
        corner = np.indices(box).reshape(len(box), math.prod(box))
        gather = (flat(corner, padded)[:, None] * polarities + np.arange(polarities)).ravel()
        out = np.arange(x.shape[1])
        return Geometry(own, start, gather, out, math.prod(padded) * polarities)
    sides = np.array(box, dtype=np.int64).reshape(-1, 1)
    blocks = tuple(-(-n // side) for n, side in zip(stage.field, box, strict=True))
    block, entries = flat(x // sides, blocks), math.prod(box) * polarities
    own = block * entries + flat(x % sides, box) * polarities
    return Geometry(own, block * entries, np.arange(entries), block, math.prod(blocks) * entries)


def flat(x: Array, shape: tuple[int, ...]) -> Array:
    """Row-major index of coordinates x (dimensions, points) in a box of that shape; 0 in a box of no dimensions."""
    index = np.zeros(x.shape[1], dtype=np.int64)
    for row, size in zip(x, shape, strict=True):
        index = index * size + row
    return index
