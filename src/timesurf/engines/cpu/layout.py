"""A network laid out for the CPU kernels: flat tables, made once and kept.

Layers differ in size, so what a kernel reads or writes lies in flat arrays, layer after layer, and a table says where
each layer's part begins. Rows of the table are layers, columns are the constants below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.geometry import geometry
from timesurf.engines.cpu.vector import LANE, SILENT, VECTOR
from timesurf.layers import Stage, Window

Array = NDArray[Any]

# sizes
HOW = 0  # a layer sees its surfaces: one of the three below
UNITS = 1
LANES = 2  # units, rounded up to whole vectors
ENTRIES = 3  # of a surface
POLARITIES = 4
ROWS = 5  # a surface is so many runs of its context ...
ROW = 6  # ... each so long
BLOCKS = 7  # neighbourhoods with a state of their own (Tile, Full)
RUNNING, WRITTEN, KEPT = 0, 1, 2  # not at all, its distances follow; written out anew; kept, and faded with time
# where the layer's part begins
LOCATION = 8  # tables over input locations
RUN = 9  # table of runs
CONTEXT = 10  # last time of every input
UNIT = 11  # one a unit
CENTROID = 12  # entries x lanes: units innermost
STATE = 13  # running dot products, blocks x lanes
BLOCK = 14  # one a block
UPDATE = 15  # what learning adds to: lanes x padded entries; in running layers as CENTROID
FEEDBACK = 16  # last time of every output, places x units
PLACE = 17  # one an output location
SURFACE = 18  # surfaces: of a block of events, EVENTS x entries; where kept, BLOCKS x padded entries
SCORE = 19  # a block's scores, EVENTS x lanes: ts c - ||c||^2 / 2, largest for the closest unit
COLUMNS = 20

_BLOCK_VALUES = 1 << 14  # surfaces of one block of events: as many as fit beside the centroids in a core's cache


@dataclass(frozen=True, slots=True, eq=False)  # one plan is one key: workspaces are kept under it
class Plan:
    """Tables of a network."""

    table: Array  # (layers + 1, COLUMNS); the last row holds totals
    own: Array  # geometry of all layers, see engines/cpu/geometry.py
    start: Array
    runs: Array  # where each run of a surface begins, from `start`
    out: Array
    events: int  # that go through the layers together
    gap: int  # us of silence after which everything has faded


@lru_cache(maxsize=64)
def plan(stages: tuple[Stage, ...], how: tuple[int, ...]) -> Plan:
    """Lay a network out; `how` says for each layer how it sees its surfaces."""
    tables = [geometry(stage) for stage in stages]
    widest = max([len(g.gather) for way, g in zip(how, tables, strict=True) if way == WRITTEN], default=1)
    events = int(np.clip(_BLOCK_VALUES // widest // VECTOR * VECTOR, VECTOR, 8 * VECTOR))
    table = np.zeros((len(stages) + 1, COLUMNS), dtype=np.int64)
    runs = []
    for k, (stage, g) in enumerate(zip(stages, tables, strict=True)):
        way, window = how[k], isinstance(stage.layer, Window)
        lanes = -(-stage.units // LANE) * LANE
        entries = len(g.gather)
        padded = -(-entries // VECTOR) * VECTOR
        row = stage.surface_shape[-2] * stage.polarities if window and stage.field else entries
        blocks = g.context // entries
        places = math.prod(stage.output_field)
        runs.append(g.gather[::row])
        table[k, :LOCATION] = way, stage.units, lanes, entries, stage.polarities, entries // row, row, blocks
        sizes = {
            LOCATION: len(g.own),
            RUN: entries // row,
            CONTEXT: g.context + VECTOR,
            UNIT: lanes,
            CENTROID: -(-entries * lanes // VECTOR) * VECTOR,  # every row in as few cache lines as can be
            STATE: blocks * lanes if way == RUNNING else 0,
            BLOCK: 0 if way == WRITTEN else blocks,
            UPDATE: (entries if way == RUNNING else padded) * lanes,
            FEEDBACK: places * stage.units,
            PLACE: places,
            SURFACE: {RUNNING: 0, WRITTEN: events * entries + VECTOR, KEPT: blocks * padded}[way],
            SCORE: events * lanes,
        }
        for column in range(LOCATION, COLUMNS):
            table[k + 1, column] = table[k, column] + sizes[column]
    slowest = max(max(stage.tau, stage.feedback_tau) for stage in stages)
    return Plan(
        table,
        np.concatenate([g.own for g in tables]),
        np.concatenate([g.start for g in tables]),
        np.concatenate(runs),
        np.concatenate([g.out for g in tables]),
        events,
        math.ceil(SILENT * slowest) + 1,
    )
