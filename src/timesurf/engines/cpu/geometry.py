"""Neighbourhoods as tables, so that a kernel needs to know neither dimensions nor kinds of layer.

A layer keeps the last time of its inputs in a flat context. An event of polarity `p` at location `l` writes its time to
`context[own[l] + p]`. Its surface is `rows` runs of `row` consecutive entries; run `q` begins at
`context[start[l] + runs[q]]`. What the layer emits goes to location `out[l]` of the layer above.

All of it follows from `corner`, `box`, `output` and `output_field` of the layer, so an option of a layer that changes
only these needs no change here. What differs is how the context is laid out:

- Neighbourhoods overlap (`Window`): the field, with a border that never fires where a neighbourhood reaches beyond it.
- They do not (`Tile`, `Full`): block after block, one per neighbourhood, each a single run. Location `l` lies in block
  `block[l]`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.layers import Place, Stage

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Tables of one layer; positions are entries of its flat context."""

    own: Array  # (locations,) where an event of polarity 0 writes its time
    start: Array  # (locations,) where its neighbourhood begins
    within: Array  # (locations,) which entry of the surface that is
    block: Array  # (locations,) number of its neighbourhood; 0 where neighbourhoods overlap
    out: Array  # (locations,) location of the event that the layer emits
    runs: Array  # (rows,) where each run of a surface begins, from `start`
    row: int  # entries per run
    context: int  # entries of the context


def geometry(stage: Stage) -> Geometry:
    """Tables of a layer in its place.

    Examples
    --------
    >>> from timesurf.layers import Tile, Window, stack
    >>> (window,) = stack([Window(3, units=2, tau=1)], (4,), 1)
    >>> geometry(window).start, geometry(window).own, geometry(window).context
    (array([0, 1, 2, 3]), array([1, 2, 3, 4]), 6)
    >>> (tile,) = stack([Tile(2, units=2, tau=1)], (4,), 1)
    >>> geometry(tile).start, geometry(tile).own, geometry(tile).out
    (array([0, 0, 2, 2]), array([0, 1, 2, 3]), array([0, 0, 1, 1]))

    """
    field, polarities = stage.field, stage.polarities
    x = np.indices(field).reshape(len(field), math.prod(field))  # coordinates of every location
    box = stage.layer.box(field)
    corner = _each(stage.layer.corner, x)
    out = flat(_each(stage.layer.output, x), stage.output_field)
    if stage.layer.overlaps:
        low = np.minimum(corner.min(axis=1, keepdims=True), 0)
        high = np.maximum((corner + _column(box)).max(axis=1, keepdims=True), _column(field))
        padded = tuple((high - low).ravel().tolist())
        start, own = flat(corner - low, padded) * polarities, flat(x - low, padded) * polarities
        ends = box[:-1]  # a run goes along the last dimension, so all others say where runs begin
        lines = np.indices((*ends, 1)[: len(box)]).reshape(len(box), math.prod(ends))
        row = math.prod(box[-1:]) * polarities
        runs = flat(lines, padded) * polarities
        line = np.searchsorted(runs, own - start, side="right") - 1
        within = line * row + own - start - runs[line]
        return Geometry(own, start, within, np.zeros_like(own), out, runs, row, math.prod(padded) * polarities)
    block = flat(corner // _column(box), tuple(-(-n // side) for n, side in zip(field, box, strict=True)))
    entries = math.prod(box) * polarities
    own = block * entries + flat(x - corner, box) * polarities
    within, size = own - block * entries, (int(block.max()) + 1) * entries
    return Geometry(own, block * entries, within, block, out, np.zeros(1, np.int64), entries, size)


def flat(x: Array, shape: Place) -> Array:
    """Row-major index of coordinates x (dimensions, points) in a box of that shape; 0 in a box of no dimensions."""
    index = np.zeros(x.shape[1], dtype=np.int64)
    for row, size in zip(x, shape, strict=True):
        index = index * size + row
    return index


def _each(function: Any, x: Array) -> Array:
    """A layer's function of one place, of all places x (dimensions, places) at once."""
    rows = [np.broadcast_to(row, x.shape[1]) for row in function(tuple(x))]
    return np.array(rows, dtype=np.int64).reshape(len(rows), x.shape[1])


def _column(sides: Place) -> Array:
    return np.array(sides, dtype=np.int64).reshape(-1, 1)
