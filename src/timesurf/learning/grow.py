"""A network that takes on a new task: more units in its layers, more classes in its last, the old ones frozen.

A layer whose lower neighbour grew sees more polarities. Its old units have never seen them: their centroids are 0
there. New units start like any others (`timesurf.learning.start`), from a small batch of the new task.

The rule moves a threshold only by events near its border: where none came the border stays far out. And a unit that
nothing comes through still wins, and so rejects, what is closest to it. Frozen, such units would take the next task's
events. So `tighten` a network before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Batch, Engine, Parameters, Trace, Units
from timesurf.errors import EventError
from timesurf.layers import Stage
from timesurf.learning.start import Start, first_centroids

Array = NDArray[Any]


def grow(
    engine: Engine,
    stages: tuple[Stage, ...],
    old: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    *,
    start: Start,
    zeta: float,
    margin: float,
) -> Parameters:
    """Parameters of the grown network `stages`: the old units, frozen, then the new ones."""
    grown = Parameters()
    for k, stage in enumerate(stages):
        before, entries = old[k].centroids, stage.surface_shape
        padding = [(0, 0)] * (before.ndim - 1) + [(0, entries[-1] - before.shape[-1])]
        new = range(len(before), stage.units)
        centroids = np.concatenate(
            [np.pad(before, padding), first_centroids(engine, stages, k, grown, batch, rng, start, new, zeta)]
        )
        thresholds = np.concatenate([old[k].thresholds, np.full(len(new), math.inf)])
        grown.append(Units(centroids, thresholds, np.arange(stage.units) < len(before)))
    if margin == math.inf:
        return grown
    trace = engine.infer(stages, grown, batch, trace=True).trace
    assert trace is not None
    for k in range(len(stages) - 1):
        by_new = ~grown[k].frozen[trace.winner[:, k]] & (trace.winner[:, k] >= 0)
        reach = trace.distance[by_new, k].max(initial=0) or np.nanmax(trace.distance[:, k], initial=1.0)
        grown[k].thresholds[~grown[k].frozen] = margin * reach
    return grown


def tighten(parameters: Parameters, trace: Trace, label: Array, *, share: float, slack: float) -> Parameters:
    """Without hidden units that tell nothing, the others' thresholds closed around what came out right.

    A threshold falls to `slack` beyond the closest `share` of its unit's events that came out right. A unit goes if its
    output is right less often than halfway between chance and the whole network's. Frozen units stay as they are.
    `label` is the class of every event; without labels (-1) all output counts as right.
    """
    layers = trace.winner.shape[1]
    out = trace.passed == layers
    right = out & ((trace.winner[:, -1] == label) | (label == -1))
    chance = 1 / max(len(np.unique(label)), 1)
    enough = (chance + float(right.sum()) / max(int(out.sum()), 1)) / 2
    tight = parameters.copy()
    stay = [np.ones(len(units.thresholds), dtype=np.bool_) for units in tight]
    for k in range(layers - 1):
        for n in np.flatnonzero(~tight[k].frozen):
            mine = trace.winner[:, k] == n
            useful = trace.distance[right & mine, k]
            stay[k][n] = len(useful) > 0 and len(useful) >= enough * np.count_nonzero(out & mine)
            if stay[k][n]:
                tight[k].thresholds[n] = min(tight[k].thresholds[n], np.quantile(useful, share) + slack)
        if not stay[k].any():
            raise EventError(f"No unit of layer {k + 1} tells these recordings apart: train the network first.")
    below = [np.ones(parameters[0].centroids.shape[-1], dtype=np.bool_), *stay[:-1]]  # units below are polarities here
    return Parameters(
        Units(np.ascontiguousarray(units.centroids[own][..., seen]), units.thresholds[own], units.frozen[own])
        for units, own, seen in zip(tight, stay, below, strict=True)
    )
