"""A network laid out for the CPU kernels: flat tables, made once and reused.

Layers differ in size, so what a kernel reads or writes lies in flat arrays, layer after layer. One record per layer,
`Layer`, holds the layer's sizes and where its part of each array begins; kernels read it as `layer.units`,
`layer.context0` and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.geometry import Geometry, geometry
from timesurf.engines.cpu.vector import LANE, SILENT, VECTOR
from timesurf.layers import Stage

Array = NDArray[Any]
Stages = tuple[Stage, ...]

# How a layer computes the distances of a surface to its units:
RUNNING = 0  # the surface is never written out: its dot products with the units are updated by each event
WRITTEN = 1  # the surface is written out anew for each event
HELD = 2  # the surface of every block is held in memory, and decays with time

SMALL = 64  # entries: up to here holding a surface takes less time than updating its dot products
SPARSE = 128  # entries: of larger surfaces that are written out, those of upper layers, most entries are 0
_BLOCK_VALUES = 1 << 14  # surfaces of one block of events: as many as fit beside the centroids in a core's cache


class Layer(NamedTuple):
    """Sizes of a layer, and where its part of each flat array begins."""

    way: int  # RUNNING, WRITTEN or HELD
    units: int
    lanes: int  # units, rounded up to whole vectors
    entries: int  # of a surface: inputs x time constants, these innermost
    vectors: int  # that hold these entries
    polarities: int
    rows: int  # a surface is so many runs of its context ...
    row: int  # ... each so long
    blocks: int  # neighbourhoods with a state of their own; 1 where neighbourhoods overlap
    scales: int  # time constants that a surface has every input at; several in `Full` layers, which have one block
    # where the layer's part begins, of arrays with
    location0: int  # one value per input location
    run0: int  # one value per run
    context0: int  # inputs x time constants; of what an input has once, such as its last time, the first are used
    unit0: int  # one value per lane
    centroid0: int  # entries x lanes: units innermost
    dots0: int  # blocks x time constants x lanes
    block0: int  # one value per block and time constant
    update0: int  # what learning adds to: lanes x padded entries; in RUNNING layers as `centroid0`
    feedback0: int  # output locations x units
    place0: int  # one value per output location
    surface0: int  # WRITTEN: events of a block x entries; HELD: blocks x padded entries
    score0: int  # events of a block x lanes


LAYER = np.dtype([(name, np.int64) for name in Layer._fields], align=True)
_BEGINS = tuple(name for name in Layer._fields if name.endswith("0"))


class Layout(NamedTuple):
    """What the kernels know of a network's shape. Tables of all layers, see `engines/cpu/geometry.py`."""

    layers: Array  # (layers,) records as `Layer`
    own: Array
    start: Array
    within: Array
    block: Array
    runs: Array
    out: Array
    voted: Array  # (lanes of the last layer,) class that each unit votes for; -1 beyond the last unit


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: workspaces are kept under their plan
class Plan:
    """Layout of a network, and what is computed from it outside the kernels."""

    layers: tuple[Layer, ...]
    total: Layer  # of each flat array, its length
    layout: Layout
    events: int  # that go through the layers together
    gap: int  # us of silence after which everything has decayed

    def units(self, k: int, flat: Array) -> Array:
        """Layer k's part of an array with one value per lane, without the padding."""
        return flat[self.layers[k].unit0 :][: self.layers[k].units]

    def rows(self, k: int, flat: Array) -> Array:
        """Layer k's part of an array that learning adds to, as a view (lanes, entries)."""
        layer = self.layers[k]
        if layer.way == RUNNING:
            return flat[layer.update0 :][: layer.entries * layer.lanes].reshape(-1, layer.lanes).T
        part = flat[layer.update0 :][: layer.lanes * layer.vectors * VECTOR].reshape(layer.lanes, -1)
        return part[:, : layer.entries]


def frozen_plan(stages: Stages) -> Plan:
    """Layout while the weights do not change."""
    return _plan(stages, tuple(WRITTEN if stage.layer.overlaps else RUNNING for stage in stages))


def online_plan(stages: Stages) -> Plan:
    """Layout while every event changes the weights."""
    return _plan(stages, tuple(_online_way(stage) for stage in stages))


def online32_plan(stages: Stages) -> Plan:
    """Layout while every event changes the weights, for distances in float32: no surface is held."""
    ways = map(_online_way, stages)
    return _plan(stages, tuple(RUNNING if way == RUNNING else WRITTEN for way in ways))


def written_plan(stages: Stages) -> Plan:
    """Layout with every surface written out."""
    return _plan(stages, (WRITTEN,) * len(stages))


def _online_way(stage: Stage) -> int:
    """Dot products follow moving centroids only where one block is the whole field."""
    if stage.layer.overlaps:
        return WRITTEN
    whole = stage.layer.box(stage.field) == stage.field and not stage.output_field
    return RUNNING if whole and (math.prod(stage.surface_shape) > SMALL or stage.scales > 1) else HELD


@lru_cache(maxsize=64)
def _plan(stages: Stages, ways: tuple[int, ...]) -> Plan:
    tables = [geometry(stage) for stage in stages]
    widest = max([len(g.runs) * g.row for way, g in zip(ways, tables, strict=True) if way == WRITTEN], default=1)
    events = int(np.clip(_BLOCK_VALUES // widest // VECTOR * VECTOR, VECTOR, 8 * VECTOR))
    layers, begins = [], dict.fromkeys(_BEGINS, 0)
    for stage, way, table in zip(stages, ways, tables, strict=True):
        sizes, lengths = _layer(stage, way, table, events)
        layers.append(Layer(*sizes, **begins))
        begins = {name: begins[name] + lengths[name] for name in _BEGINS}
    slowest = max(max(stage.tau, stage.feedback_tau) for stage in stages)
    columns = zip(*((g.own, g.start, g.within, g.block, g.runs, g.out) for g in tables), strict=True)
    top = stages[-1]
    voted = np.full(layers[-1].lanes, -1)
    voted[: top.units] = np.arange(top.units) // top.units_per_class
    layout = Layout(np.array(layers, dtype=LAYER), *(np.concatenate(column) for column in columns), voted)
    total = Layer(*(0,) * (len(Layer._fields) - len(_BEGINS)), **begins)
    return Plan(tuple(layers), total, layout, events, math.ceil(SILENT * slowest) + 1)


def _layer(stage: Stage, way: int, table: Geometry, events: int) -> tuple[tuple[int, ...], dict[str, int]]:
    """Sizes of a layer, in the order of `Layer`, and the length of its part of each array."""
    rows, entries, scales = len(table.runs), len(table.runs) * table.row * stage.scales, stage.scales
    lanes, vectors = -(-stage.units // LANE) * LANE, -(-entries // VECTOR)
    blocks, places = int(table.block.max()) + 1, math.prod(stage.output_field)
    surfaces = {RUNNING: 0, WRITTEN: events * entries + VECTOR, HELD: blocks * vectors * VECTOR}
    return (way, stage.units, lanes, entries, vectors, stage.polarities, rows, table.row, blocks, scales), {
        "location0": len(table.own),
        "run0": rows,
        "context0": table.context * scales + VECTOR,
        "unit0": lanes,
        "centroid0": -(-entries * lanes // VECTOR) * VECTOR,  # every row in as few cache lines as possible
        "dots0": blocks * scales * lanes if way == RUNNING else 0,
        "block0": 0 if way == WRITTEN else blocks * scales,
        "update0": (entries if way == RUNNING else vectors * VECTOR) * lanes,
        "feedback0": places * stage.units,
        "place0": places,
        "surface0": surfaces[way],
        "score0": events * lanes,
    }
