"""HOTS as it was published: centroids follow the surfaces that they are closest to, event by event.

Lagorce, Orchard, Galluppi, Shi and Benosman (2017), *HOTS: a hierarchy of event-based time-surfaces for pattern
recognition*, IEEE Transactions on Pattern Analysis and Machine Intelligence 39. With f the closest unit and w_f how
often it has won::

    c_f += alpha (ts - beta c_f)        alpha = 0.01 / (1 + w_f / 20000),  beta = ts . c_f / (|ts| |c_f|)

First centroids are surfaces of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.vector import FASTMATH
from timesurf.storage.kernels import njit

Array = NDArray[Any]
RATE, SLOWER = 0.01, 20_000.0  # alpha of a new unit, and after how many wins it is half of that


class OnlineHots:
    """Learns by HOTS's own rule.

    Parameters
    ----------
    centroids : array, shape (units, entries)
        The first ones, which are copied.

    Attributes
    ----------
    centroids : array, shape (units, entries)
        As learned so far.
    wins : array of int, shape (units,)
        How often each unit was the closest.

    Examples
    --------
    >>> learner = OnlineHots([[1.0, 0.0], [0.0, 1.0]])
    >>> learner.learn(np.array([[1.0, 0.5]]))
    >>> learner.centroids.round(4).tolist(), learner.wins.tolist()
    ([[1.0011, 0.005], [0.0, 1.0]], [1, 0])
    """

    def __init__(self, centroids: Any) -> None:
        self.centroids = np.array(centroids, dtype=np.float64)
        self.wins = np.zeros(len(self.centroids), dtype=np.int64)

    def learn(self, surfaces: Array) -> None:
        """Learn from these surfaces (events, entries), in their order."""
        _learn(np.ascontiguousarray(surfaces, dtype=np.float64), self.centroids, self.wins)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _learn(
    surfaces,  # IN     (events, entries)
    centroids,  # INOUT  (units, entries)
    wins,  # INOUT  (units,)
):
    """HOTS's rule on one surface after another."""
    units, entries = centroids.shape
    for i in range(len(surfaces)):
        ts, f, least = surfaces[i], 0, np.inf
        for n in range(units):
            apart = 0.0
            for j in range(entries):
                apart += (ts[j] - centroids[n, j]) ** 2
            if apart < least:
                f, least = n, apart
        product, mine, other = 0.0, 0.0, 0.0
        for j in range(entries):
            product += ts[j] * centroids[f, j]
            mine += centroids[f, j] ** 2
            other += ts[j] ** 2
        beta = product / np.sqrt(mine * other) if mine * other > 0 else 0.0
        alpha = RATE / (1.0 + wins[f] / SLOWER)
        for j in range(entries):
            centroids[f, j] += alpha * (ts[j] - beta * centroids[f, j])
        wins[f] += 1
