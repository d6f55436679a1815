"""Kernels of the transforms that must see events one after another. Arrays in, marks out."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.storage.kernels import njit

Array = NDArray[Any]
NEVER = -(1 << 62)  # us: when an entry fired last that has not fired yet
RATE_TAU = 100_000.0  # us over which the rate of a pixel is estimated


@njit(cache=True, nogil=True)
def refractory(entry: Array, t: Array, offsets: Array, period: float, last: Array, keep: Array) -> None:
    """Mark events at least `period` after the last marked one of their entry. `last` is work space."""
    for r in range(len(offsets) - 1):
        last[:] = NEVER
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
    anew: bool,
    keep: Array,
) -> None:
    """Mark events with an event at one of the `steps` around them at most `period` before.

    `last` holds the latest time of each place. `anew`: every recording begins without a past; else `last` has it, and
    a time later than the event's own, as after a clock was set back, supports nothing.
    """
    dimensions = len(field)
    for r in range(len(offsets) - 1):
        if anew:
            last[:] = NEVER
        for i in range(offsets[r], offsets[r + 1]):
            for s in range(len(steps)):
                there, inside = np.int64(0), True
                for k in range(dimensions):
                    x = coords[i, k] + steps[s, k]
                    inside = inside and 0 <= x < field[k]
                    there = there * field[k] + x
                if inside and 0 <= t[i] - last[there] <= period:
                    keep[i] = True
                    break
            last[place[i]] = t[i]


@njit(cache=True, nogil=True)
def not_hot(
    place: Array, t: Array, offsets: Array, most: float, last: Array, count: Array, anew: bool, keep: Array
) -> None:
    """Mark events of pixels whose count, which decays with `RATE_TAU`, is at most `most` with the event itself.

    `last` and `count` hold the latest time of each place and its count then; `anew` as in `supported`.
    """
    for r in range(len(offsets) - 1):
        if anew:
            last[:] = NEVER
            count[:] = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            k = place[i]
            since = t[i] - last[k]
            # a clock that was set back would make the count grow
            count[k] = 1.0 + (count[k] * exp(-since / RATE_TAU) if since >= 0 else 0.0)
            last[k] = t[i]
            keep[i] = count[k] <= most
