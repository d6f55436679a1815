"""The kernel of `bend`: places of events. Arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.storage.kernels import njit

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def bend_places(
    x: Array,  # IN   (events,) place of each event
    y: Array,  # IN   (events,)
    offsets: Array,  # IN   (recordings + 1,) where each recording begins
    by: Array,  # IN   (recordings, 4) matrix of each
    first: int,  # IN   recordings from this one
    stop: int,  # IN   up to before this one
    width: int,  # IN   of the field
    height: int,  # IN
    key: Any,  # IN   of the random numbers
    out_x: Array,  # OUT  (events,)
    out_y: Array,  # OUT  (events,)
) -> None:
    """Places of the events of some recordings."""
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    for r in range(first, stop):
        a, b, c, d = by[r, 0], by[r, 1], by[r, 2], by[r, 3]
        plain = a == 1 and b == 0 and c == 0 and d == 1
        for k in range(offsets[r], offsets[r + 1]):
            z = (np.uint64(k) + key) * np.uint64(0x9E3779B97F4A7C15)  # splitmix64: numbers by the event's own number
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            u = (z & np.uint64(0xFFFFFFFF)) / 4294967296.0 - 0.5
            v = (z >> np.uint64(32)) / 4294967296.0 - 0.5
            if plain:
                u, v = 0.0, 0.0
            across, down = x[k] - middle_x + u, y[k] - middle_y + v
            out_x[k] = min(max(int(np.floor(a * across + b * down + middle_x + 0.5)), 0), width - 1)
            out_y[k] = min(max(int(np.floor(c * across + d * down + middle_y + 0.5)), 0), height - 1)
