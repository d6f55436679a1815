"""Dead-unit restarts: a unit that hardly wins begins again where surfaces are badly represented.

As in Fritzke (1997), *The LBG-U method for vector quantization*, Neural Processing Letters 5: units of little use move
to where the error is largest. After some surfaces, of which unit n won w_n, every unit with::

    w_n < share (sum of w) / N        share = 0.1

is put on one of them, drawn with a probability in proportion to its squared distance to the closest unit (Arthur and
Vassilvitskii 2007, *k-means++*). In between, units learn by HOTS's own rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines.online_hots import OnlineHots

Array = NDArray[Any]
SHARE = 0.1  # of a fair share of the wins


class Restarting(OnlineHots):
    """Learns by HOTS's own rule; units that win too little begin again after each part of the surfaces.

    Parameters
    ----------
    centroids : array, shape (units, entries)
        The first ones, which are copied.
    share : float
        Of a fair share of the wins in a part: units below it begin again.
    seed : int
        Draws where.

    Attributes
    ----------
    restarts : int
        How many units have begun again.

    Examples
    --------
    >>> learner = Restarting([[0.0, 1.0], [9.0, 9.0]])  # the second is far from all surfaces
    >>> learner.learn(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> learner.restarts, learner.centroids[1].tolist()
    (1, [1.0, 0.0])
    """

    def __init__(self, centroids: Any, share: float = SHARE, seed: int = 0) -> None:
        super().__init__(centroids)
        self.share, self.restarts = share, 0
        self._rng = np.random.default_rng(seed)

    def learn(self, surfaces: Array) -> None:
        """Learn from these surfaces (events, entries), then restart units that won too few of them."""
        before = self.wins.copy()
        super().learn(surfaces)
        won = self.wins - before
        idle = np.flatnonzero(won < self.share * won.sum() / len(won))
        if not len(idle):
            return
        error = squared_distances(surfaces, self.centroids).min(axis=1)
        possible = int(np.count_nonzero(error > 0))
        idle = idle[np.argsort(won[idle], kind="stable")][:possible]
        if len(idle):
            chosen = self._rng.choice(len(surfaces), len(idle), replace=False, p=error / error.sum())
            self.centroids[idle], self.wins[idle] = surfaces[chosen], 0
            self.restarts += len(idle)


def squared_distances(surfaces: Array, centroids: Array) -> Array:
    """Squared distance of every surface (rows) to every centroid (columns)."""
    squares = (surfaces**2).sum(axis=1)[:, None] + (centroids**2).sum(axis=1)
    apart: Array = np.maximum(squares - 2 * surfaces @ centroids.T, 0)
    return apart
