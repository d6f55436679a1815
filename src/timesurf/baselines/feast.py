"""FEAST: units with selection thresholds that close while they win and open when no unit takes an event.

Afshar, Ralph, Xu, Tapson, van Schaik and Cohen (2020), *Event-based feature extraction using adaptive selection
thresholds*, Sensors 20(6), 1600. Surfaces and centroids have length 1. Of the units whose similarity reaches their
threshold, the most similar wins::

    s_n  = ts . c_n / |ts|
    f    = argmax of s_n over all n with s_n >= th_n
    c_f  = (1 - eta) c_f + eta ts / |ts|,  scaled to length 1;      th_f += closing
    th_n -= opening   for all n, if no unit reaches its threshold

with eta = 0.001, closing = 0.001, opening = 0.003. In balance every unit wins equally often.

Once learning has ended there are no thresholds: the most similar unit wins every event, as with the other methods here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.vector import FASTMATH
from timesurf.storage.kernels import njit

Array = NDArray[Any]
ETA, CLOSING, OPENING = 0.001, 0.001, 0.003


class Feast:
    """Learns with adaptive selection thresholds.

    Parameters
    ----------
    centroids : array, shape (units, entries)
        The first ones; they are copied and scaled to length 1.
    thresholds : array, shape (units,)
        The first ones, between 0 and 1.
    eta, closing, opening : float
        Rates of centroids, of the threshold that won, and of all thresholds after an event that no unit took.

    Attributes
    ----------
    wins : array of int, shape (units,)
        How often each unit won.
    missed : int
        Events that no unit took.

    Examples
    --------
    >>> one = Feast([[1.0, 0.0]], [0.9])
    >>> one.learn(np.array([[0.5, 0.0], [0.0, 1.0]]))  # one that it takes, one that it misses
    >>> one.wins.tolist(), one.missed, one.thresholds.round(3).tolist()
    ([1], 1, [0.898])
    """

    def __init__(
        self, centroids: Any, thresholds: Any, *, eta: float = ETA, closing: float = CLOSING, opening: float = OPENING
    ) -> None:
        first = np.array(centroids, dtype=np.float64)
        self.centroids: Array = first / np.linalg.norm(first, axis=1, keepdims=True)
        self.thresholds = np.array(thresholds, dtype=np.float64)
        self.wins = np.zeros(len(first), dtype=np.int64)
        self.missed = 0
        self.rates = (float(eta), float(closing), float(opening))

    def learn(self, surfaces: Array) -> None:
        """Learn from these surfaces (events, entries), in their order."""
        rows = np.ascontiguousarray(surfaces, dtype=np.float64)
        self.missed += int(_learn(rows, *self.rates, self.centroids, self.thresholds, self.wins))


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _learn(
    surfaces,  # IN     (events, entries)
    eta,  # IN     rate of centroids
    closing,  # IN     of the threshold that won
    opening,  # IN     of all thresholds after a missed event
    centroids,  # INOUT  (units, entries) of length 1
    thresholds,  # INOUT  (units,)
    wins,  # INOUT  (units,)
):
    """The rule on one surface after another; how many were missed."""
    units, entries = centroids.shape
    missed = 0
    for i in range(len(surfaces)):
        ts, length = surfaces[i], 0.0
        for j in range(entries):
            length += ts[j] ** 2
        length = np.sqrt(length)
        f, most = -1, -np.inf
        for n in range(units):
            similar = 0.0
            for j in range(entries):
                similar += ts[j] * centroids[n, j]
            similar /= length
            if similar >= thresholds[n] and similar > most:
                f, most = n, similar
        if f < 0:
            missed += 1
            for n in range(units):
                thresholds[n] -= opening
            continue
        squares = 0.0
        for j in range(entries):
            centroids[f, j] += eta * (ts[j] / length - centroids[f, j])
        for j in range(entries):
            squares += centroids[f, j] ** 2
        scale = 1.0 / np.sqrt(squares)
        for j in range(entries):
            centroids[f, j] *= scale
        thresholds[f] += closing
        wins[f] += 1
    return missed
