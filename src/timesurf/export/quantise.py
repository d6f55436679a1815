"""The numbers of a layer in fixed point: integers, and what 1 is in them.

A centroid's entry c is round(c scale), a surface's entry v is round(v 2^bits). Sums are exact: their type is wide
enough for the largest that these centroids can give, so no event can make them overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Units
from timesurf.errors import SettingError
from timesurf.export.plan import LayerPlan
from timesurf.export.weights import LANES, Weights, laid_out, padded

Array = NDArray[Any]
FINEST = 15  # bits after the point of a surface, at most: it must fit into 16
_ENOUGH = 12  # bits of running surfaces below which sums of 64 bits are worth their cost
_CLIPS = 2.0 ** (-np.arange(13) / 4)  # of the largest entry: what may be cut off, if that makes the rest finer


def quantised(plan: LayerPlan, units: Units, width: int, usage: Array | None) -> Weights:
    """The constants of a layer in integers of `width` bits.

    Parameters
    ----------
    plan, units : LayerPlan, Units
        The layer.
    width : {8, 16}
        Bits of a centroid's entry.
    usage : array, optional
        How much each entry matters. With it, the scale is the one with the smallest error; without, the largest that
        cuts nothing off.

    Returns
    -------
    Weights
        Integers.
    """
    centroids = units.centroids.reshape(plan.units, plan.entries)
    scale, whole = _scaled(plan, centroids, width, usage)
    sums, squares = np.abs(whole).sum(axis=1).max(), np.square(whole).sum(axis=1) / scale
    kind = np.int8 if width == 8 else np.int16
    return (_running if plan.running else _written)(plan, units, whole.astype(kind), scale, int(sums), squares, width)


def _scaled(plan: LayerPlan, centroids: Array, width: int, usage: Array | None) -> tuple[int, Array]:
    """What 1 becomes, and the centroids in units of that."""
    most = 2 ** (width - 1) - 1
    largest = float(np.abs(centroids).max())
    if largest > most:
        raise SettingError(
            f"Layer {plan.number} has centroids up to {largest:.3g}, which int{width} cannot hold: use float32."
        )
    best = None
    for clip in _CLIPS if usage is not None else _CLIPS[:1]:
        scale = int(min(most / max(largest * clip, 1e-6), 2**16 if not plan.running else 2**24))
        whole = np.clip(np.rint(centroids * scale), -most, most).astype(np.int64)
        error = float((np.square(whole / scale - centroids) * (1.0 if usage is None else usage)).sum())
        if best is None or error < best[0]:
            best = error, scale, whole
    assert best is not None
    return best[1], best[2]


def _written(plan: LayerPlan, units: Units, whole: Array, scale: int, sums: int, squares: Array, width: int) -> Weights:
    """Of a layer that writes its surfaces out."""
    bits = 8 if width == 8 else FINEST
    half = np.rint(squares * 2 ** (bits - 1)).astype(np.int64)
    narrow = int(half.max()) + (sums << bits) < 2**30
    kind, beyond = (np.int32, 2**30) if narrow else (np.int64, 2**61)
    limits = None
    if np.isfinite(units.thresholds).any():
        squared = np.square(units.thresholds) * scale * 4.0**bits
        limits = np.where(units.thresholds > 0, np.minimum(squared, 2.0**62), -(2.0**62)).astype(np.int64)
    lanes = LANES if narrow else LANES // 2  # a sum of 64 bits takes two registers
    half = padded(plan, half.astype(kind), beyond, lanes)
    return Weights(laid_out(plan, whole, lanes), half, limits, scale, bits, 0, "int32_t" if narrow else "int64_t")


def _running(plan: LayerPlan, units: Units, whole: Array, scale: int, sums: int, squares: Array, width: int) -> Weights:
    """Of a layer that keeps its dot products. A surface's entry is below 2, and halving may lose 4 of its units."""
    bits = next((b for b in range(FINEST, _ENOUGH - 1, -1) if (2 ** (b + 1) + 4) * sums < 2**31), 0)
    narrow = width == 8 and bits > 0
    finer = int(np.clip(31 - np.ceil(np.log2(max(float(squares.max()) / 2, 1.0) + 1)), 0, 20))
    half = np.rint(squares / 2 * 2.0**finer).astype(np.uint32)
    bits = bits if narrow else FINEST
    return Weights(laid_out(plan, whole), half, None, scale, bits, finer, "int32_t" if narrow else "int64_t")
