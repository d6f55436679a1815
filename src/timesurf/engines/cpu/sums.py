"""What a batch adds to the parameters: sums of steps, one set per lane, added up and applied once."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from timesurf.engines.cpu import lanes
from timesurf.engines.cpu.layout import Plan, Stages, frozen_plan
from timesurf.engines.cpu.threads import pool
from timesurf.engines.cpu.workspace import zeros
from timesurf.engines.data import Array, Parameters


class Sums(NamedTuple):
    """What one lane has learned, or several together."""

    centroids: Array  # sum of g ts of every unit
    gains: Array  # sum of g of every unit
    thresholds: Array  # sum of steps of every threshold

    @classmethod
    def zeros(cls, plan: Plan, dtype: Any) -> Sums:
        """Nothing yet."""
        units = plan.total.unit0
        return cls(zeros(plan.total.update0, dtype), zeros(units, dtype), zeros(units, dtype))

    @classmethod
    def none(cls, dtype: Any) -> Sums:
        """For a kernel that does not learn."""
        return cls(np.empty(0, dtype), np.empty(0, dtype), np.empty(0, dtype))

    @classmethod
    def of_layers(cls, stages: Stages, layers: list[tuple[Array, ...]], dtype: Any = np.float32) -> Sums:
        """From sums of gain x surface (entries, units), of gain and of threshold steps (units) of every layer."""
        plan = frozen_plan(stages)
        sums = cls.zeros(plan, dtype)
        for k, (c, gains, thresholds) in enumerate(layers):
            plan.rows(k, sums.centroids)[: len(gains), : len(c)] = c.T
            plan.units(k, sums.gains)[:], plan.units(k, sums.thresholds)[:] = gains, thresholds
        return sums

    @classmethod
    def values(cls, stages: Stages) -> int:
        """Length of `centroids` for a network."""
        return frozen_plan(stages).total.update0


def added(sums: list[Sums], threads: int = 1) -> Sums:
    """All of these, in the order of the tree of lanes; the first of them holds the result."""
    each = map if threads == 1 else pool(threads).map
    list(each(partial(_add_up, sums, parts=threads), range(threads)))
    return sums[0]


def apply(stages: Stages, parameters: Parameters, sums: Sums) -> None:
    """Move centroids and thresholds by what a batch has summed; frozen units stay."""
    plan = frozen_plan(stages)
    for k, units in enumerate(parameters):
        free, gains, moved = ~units.frozen, plan.units(k, sums.gains), plan.rows(k, sums.centroids)
        flat = units.centroids.reshape(len(free), -1)
        for n in np.flatnonzero(free):  # in place and row by row: allocating memory would cost more than the step
            flat[n] *= 1 - gains[n]
            flat[n] += moved[n]
        th = units.thresholds
        th[free] = np.maximum(th + plan.units(k, sums.thresholds), 0)[free]


def _add_up(sums: list[Sums], part: int, parts: int) -> None:
    """Add the other lanes to the first: one of so many parts of the arrays."""
    for arrays in zip(*sums, strict=True):
        here = slice(*(len(arrays[0]) * n // parts for n in (part, part + 1)))
        lanes.add_up([array[here] for array in arrays])
