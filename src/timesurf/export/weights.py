"""The numbers of a layer as the C holds them in float32: centroids, half of their squares, and limits.

With dist^2 = |ts|^2 + 2 (|c|^2 / 2 - ts c), the closest unit is the one with the least |c|^2 / 2 - ts c, and passes the
event if |ts|^2 + 2 (|c|^2 / 2 - ts c) < th^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Units
from timesurf.export.plan import LayerPlan

Array = NDArray[Any]
OPEN = 3.0e38  # the square of a threshold that everything passes; its negative: nothing
LANES = 8  # units that a surface is compared with at once: a microcontroller holds so many sums in registers


@dataclass(frozen=True, slots=True)
class Weights:
    """Constants of one layer.

    Attributes
    ----------
    centroids : array
        (groups, entries, lanes) where surfaces are written out, (entries, units) where dot products are kept.
    half : array
        |c|^2 / 2 of every unit, or of every lane.
    limits : array or None
        Squares of the thresholds; None where all are infinite.
    scale : int
        Fixed point: 1 in a centroid.
    bits : int
        Fixed point: bits after the point of surfaces.
    finer : int
        Fixed point: further bits of `half` after the point, in a layer that keeps dot products.
    sum : str
        C type of sums.
    """

    centroids: Array
    half: Array
    limits: Array | None
    scale: int = 1
    bits: int = 0
    finer: int = 0
    sum: str = "float"

    @property
    def bytes(self) -> int:
        """Flash that they take."""
        return sum(array.nbytes for array in (self.centroids, self.half, self.limits) if array is not None)


def laid_out(plan: LayerPlan, centroids: Array, lanes: int = LANES) -> Array:
    """Centroids (units, entries) in the order in which the C reads them."""
    if plan.running:
        return np.ascontiguousarray(centroids.T)
    width = min(lanes, plan.units)
    groups = -(-plan.units // width)
    padded = np.zeros((groups * width, plan.entries), centroids.dtype)
    padded[: plan.units] = centroids
    return np.ascontiguousarray(padded.reshape(groups, width, plan.entries).swapaxes(1, 2))


def padded(plan: LayerPlan, values: Array, beyond: Any, lanes: int = LANES) -> Array:
    """One value per unit, and `beyond` in lanes without a unit."""
    more = 0 if plan.running else -plan.units % min(lanes, plan.units)
    return np.concatenate([values, np.full(more, beyond, values.dtype)])


def in_float32(plan: LayerPlan, units: Units) -> Weights:
    """The constants of a layer in float32."""
    centroids = units.centroids.reshape(plan.units, plan.entries).astype(np.float32)
    half = (0.5 * np.square(centroids, dtype=np.float64).sum(axis=1)).astype(np.float32)
    limits = None
    if np.isfinite(units.thresholds).any():
        limits = np.clip(np.square(units.thresholds), 0, OPEN)
        limits = np.where(units.thresholds > 0, limits, -OPEN).astype(np.float32)
    lanes = 2 * LANES if plan.units % (2 * LANES) == 0 else LANES  # an FPU has 32 registers of its own
    return Weights(laid_out(plan, centroids, lanes), padded(plan, half, OPEN, lanes), limits)
