"""Kernels of the transforms that must see events one after another. Arrays in, marks out.

A pixel's latest time is remembered plus 1, so that 0 says that it has not fired: memory that the system hands out
zeroed is ready for use. Between recordings only what their events wrote is set back, for a field may be far larger.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.storage.kernels import njit

Array = NDArray[Any]
RATE_TAU = 100_000.0  # us over which the rate of a pixel is estimated


@njit(cache=True, nogil=True)
def refractory(entry: Array, t: Array, offsets: Array, period: float, last: Array, keep: Array) -> None:
    """Mark events at least `period` after the last marked one of their entry. `last` is 0 before and after."""
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            before = last[entry[i]]
            if before == 0 or t[i] + 1 - before >= period:
                keep[i] = True
                last[entry[i]] = t[i] + 1
        for i in range(offsets[r], offsets[r + 1]):
            last[entry[i]] = 0


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

    `last` holds the latest time of each place. `anew`: every recording begins without a past, and `last` is 0 before
    and after; else `last` has it, and a time later than the event's own, as after a clock was set back, supports
    nothing.
    """
    dimensions = len(field)
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            for s in range(len(steps)):
                there, inside = np.int64(0), True
                for k in range(dimensions):
                    x = coords[i, k] + steps[s, k]
                    inside = inside and 0 <= x < field[k]
                    there = there * field[k] + x
                if inside and last[there] > 0 and 0 <= t[i] + 1 - last[there] <= period:
                    keep[i] = True
                    break
            last[place[i]] = t[i] + 1
        if anew:
            for i in range(offsets[r], offsets[r + 1]):
                last[place[i]] = 0


@njit(cache=True, nogil=True)
def not_hot(
    place: Array, t: Array, offsets: Array, most: float, last: Array, count: Array, anew: bool, keep: Array
) -> None:
    """Mark events of pixels whose count, which decays with `RATE_TAU`, is at most `most` with the event itself.

    `last` and `count` hold the latest time of each place and its count then; `anew` as in `supported`.
    """
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            k = place[i]
            since = t[i] + 1 - last[k]
            # a clock that was set back would make the count grow
            count[k] = 1.0 + (count[k] * exp(-since / RATE_TAU) if since >= 0 else 0.0)
            last[k] = t[i] + 1
            keep[i] = count[k] <= most
        if anew:
            for i in range(offsets[r], offsets[r + 1]):
                last[place[i]], count[place[i]] = 0, 0.0
