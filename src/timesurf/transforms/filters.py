"""Kernels of the transforms that must see events one after another. Arrays in, marks out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.storage.kernels import njit

Array = NDArray[Any]
_NEVER = -(1 << 62)


@njit(cache=True, nogil=True)
def refractory(entry: Array, t: Array, offsets: Array, period: float, last: Array, keep: Array) -> None:
    """Mark events at least `period` after the last marked one of their entry. `last` is work space."""
    for r in range(len(offsets) - 1):
        last[:] = _NEVER
        for i in range(offsets[r], offsets[r + 1]):
            if t[i] - last[entry[i]] >= period:
                keep[i] = True
                last[entry[i]] = t[i]


@njit(cache=True, nogil=True)
def supported(
    coords: Array,
    place: Array,
    t: Array,
    offsets: Array,
    field: Array,
    steps: Array,
    period: float,
    last: Array,
    keep: Array,
) -> None:
    """Mark events with an event at one of the `steps` around them at most `period` before. `last` is work space."""
    dimensions = len(field)
    for r in range(len(offsets) - 1):
        last[:] = _NEVER
        for i in range(offsets[r], offsets[r + 1]):
            for s in range(len(steps)):
                there, inside = np.int64(0), True
                for k in range(dimensions):
                    x = coords[i, k] + steps[s, k]
                    inside = inside and 0 <= x < field[k]
                    there = there * field[k] + x
                if inside and t[i] - last[there] <= period:
                    keep[i] = True
                    break
            last[place[i]] = t[i]
