"""k-means on the card: Lloyd's iterations from k-means++ starts, as scikit-learn's, in a fraction of a second."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.data import Array

_ITERATIONS = 300
_TOLERANCE = 1e-4  # of the mean variance: a smaller move of all centroids together ends it


def kmeans(points: Array, units: int, seed: int, starts: int = 3) -> Array:
    """Centroids of points: the best of some starts.

    Parameters
    ----------
    points : array
        One per row; further dimensions are flattened.
    units : int
        Centroids.
    seed : int
        Of the starts.
    starts : int
        How many.

    Returns
    -------
    array
        (units, entries).
    """
    rng = np.random.default_rng(seed)
    x = cp.asarray(points.reshape(len(points), -1), dtype=np.float32)
    length = (x**2).sum(axis=1)
    least = _TOLERANCE * float(x.var(axis=0).mean())
    found = [_lloyd(x, length, _spread(x, length, units, rng), least) for _ in range(starts)]
    best: Array = min(found, key=lambda of: of[1])[0].get().astype(np.float64)
    return best


def _lloyd(x: Any, length: Any, c: Any, least: float) -> tuple[Any, float]:
    """Move centroids to the means of their points until they stay; and the sum of squared distances."""
    for _ in range(_ITERATIONS):
        nearest = _distances(x, length, c).argmin(axis=1)
        mine = (nearest[:, None] == cp.arange(len(c))).astype(np.float32)
        count = mine.sum(axis=0)
        moved = cp.where(count[:, None] > 0, mine.T @ x / cp.maximum(count, 1)[:, None], c)
        step, c = float(((moved - c) ** 2).sum()), moved
        if step <= least:
            break
    return c, float(_distances(x, length, c).min(axis=1).sum())


def _spread(x: Any, length: Any, units: int, rng: np.random.Generator) -> Any:
    """k-means++: each next centroid is a point drawn by its squared distance; the best of a few draws is taken."""
    draws = 2 + int(np.log(units))
    chosen = [int(rng.integers(len(x)))]
    closest = _distances(x, length, x[chosen])[:, 0]
    for _ in range(units - 1):
        cumulated = cp.cumsum(closest.astype(np.float64))
        some = cp.searchsorted(cumulated, cp.asarray(rng.random(draws)) * cumulated[-1])
        some = cp.minimum(some, len(x) - 1)
        candidates = cp.minimum(_distances(x, length, x[some]), closest[:, None])
        best = int(candidates.sum(axis=0).argmin())
        chosen.append(int(some[best]))
        closest = candidates[:, best]
    return x[cp.asarray(chosen)]


def _distances(x: Any, length: Any, c: Any) -> Any:
    """Squared distances, (points, centroids)."""
    return cp.maximum(length[:, None] - 2 * (x @ c.T) + (c**2).sum(axis=1), 0)
