"""A network that takes on a new task: more units in its layers, more classes in its last, the old ones frozen.

A layer whose lower neighbour grew sees more polarities. Its old units have never seen them: their centroids are 0
there. New units start like any others (`timesurf.init`), from a small batch of the new task.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Batch, Engine, Parameters
from timesurf.init import mean_start
from timesurf.layers import Stage

Array = NDArray[Any]


def grow(
    engine: Engine,
    stages: tuple[Stage, ...],
    old: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    *,
    zeta: float,
    margin: float,
) -> Parameters:
    """Parameters of the grown network `stages`: the old units, frozen, then the new ones."""
    grown = Parameters([], [])
    for k, stage in enumerate(stages):
        before, entries = old.centroids[k], stage.surface_shape
        padding = [(0, 0)] * (before.ndim - 1) + [(0, entries[-1] - before.shape[-1])]
        new = stage.units - len(before)
        centroids = np.concatenate(
            [np.pad(before, padding), mean_start(engine, stages[: k + 1], grown, batch, rng, new, zeta)]
        )
        grown = Parameters(
            [*grown.centroids, centroids],
            [*grown.thresholds, np.concatenate([old.thresholds[k], np.full(new, math.inf)])],
            [*grown.frozen, np.arange(stage.units) < len(before)],
        )
    trace = engine.infer(stages, grown, batch, trace=True).trace
    assert trace is not None
    for k in range(len(stages) - 1):
        by_new = ~grown.frozen[k][trace.winner[:, k]] & (trace.winner[:, k] >= 0)
        reach = trace.distance[by_new, k].max(initial=0) or np.nanmax(trace.distance[:, k], initial=1.0)
        grown.thresholds[k][~grown.frozen[k]] = margin * reach
    return grown
