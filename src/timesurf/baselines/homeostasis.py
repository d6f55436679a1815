"""HOTS with homeostasis: units that win often are handicapped while they learn, so that all of them are used.

Grimaldi, Boutin, Ieng, Benosman and Perrinet (2024), *A robust event-driven approach to always-on object recognition*,
Neural Networks 178; its code is `hotsline`. Surfaces and centroids are compared by their cosine. Of N units, unit n has
won w_n events so far, and its similarity is scaled by how far that is from a fair share 1/N::

    s_n  = ts . c_n / (|ts| |c_n|)
    g_n  = exp(lambda (1 - N w_n / sum of w))        lambda = 0.25
    f    = argmax_n g_n s_n
    c_f += alpha s_f (ts / |ts| - c_f)               alpha = 0.01 / (1 + w_f / 20000)

Once learning has ended there is no gain: the most similar unit wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines.online_hots import RATE, SLOWER
from timesurf.engines.cpu.vector import FASTMATH
from timesurf.storage.kernels import njit

Array = NDArray[Any]
STRENGTH = 0.25  # lambda


class Homeostasis:
    """Learns by HOTS's rule with a gain on the similarity of units.

    Parameters
    ----------
    centroids : array, shape (units, entries)
        The first ones, which are copied.
    strength : float
        lambda: 0 is no gain, and the same rule without homeostasis.

    Attributes
    ----------
    wins : array of int, shape (units,)
        How often each unit won, and once to begin with.

    Examples
    --------
    >>> fair = Homeostasis(np.eye(2))
    >>> fair.wins[:] = 9, 1
    >>> fair.learn(np.array([[1.0, 0.9]]))  # more like the first unit, which has won enough
    >>> fair.wins.tolist()
    [9, 2]
    """

    def __init__(self, centroids: Any, strength: float = STRENGTH) -> None:
        self._centroids = np.array(centroids, dtype=np.float64)
        self.wins = np.ones(len(self._centroids), dtype=np.int64)
        self.strength = float(strength)

    @property
    def centroids(self) -> Array:
        """As learned so far, scaled to length 1: the closest is then the most similar."""
        scaled: Array = self._centroids / np.linalg.norm(self._centroids, axis=1, keepdims=True)
        return scaled

    def learn(self, surfaces: Array) -> None:
        """Learn from these surfaces (events, entries), in their order."""
        lengths = np.linalg.norm(self._centroids, axis=1)
        _learn(np.ascontiguousarray(surfaces, dtype=np.float64), self.strength, self._centroids, lengths, self.wins)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _learn(
    surfaces,  # IN     (events, entries)
    strength,  # IN     lambda
    centroids,  # INOUT  (units, entries)
    lengths,  # INOUT  (units,) of the centroids
    wins,  # INOUT  (units,)
):
    """The rule on one surface after another."""
    units, entries = centroids.shape
    total = wins.sum()
    for i in range(len(surfaces)):
        ts, length = surfaces[i], 0.0
        for j in range(entries):
            length += ts[j] ** 2
        length = np.sqrt(length)
        f, most, similar = 0, -np.inf, 0.0
        for n in range(units):
            product = 0.0
            for j in range(entries):
                product += ts[j] * centroids[n, j]
            product /= length * lengths[n]
            gained = product * np.exp(strength * (1.0 - units * wins[n] / total))
            if gained > most:
                f, most, similar = n, gained, product
        alpha, squares = RATE / (1.0 + wins[f] / SLOWER), 0.0
        for j in range(entries):
            centroids[f, j] += alpha * similar * (ts[j] / length - centroids[f, j])
        for j in range(entries):
            squares += centroids[f, j] ** 2
        lengths[f] = np.sqrt(squares)
        wins[f] += 1
        total += 1
