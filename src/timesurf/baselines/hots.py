"""HOTS as it was before Sup3r: layers of k-means centroids that pass every event on.

The centroids know nothing of the class; in the last layer each unit is the mean surface of one class.
"""

from __future__ import annotations

import math

from timesurf.events import Recordings
from timesurf.model import Network


def fit_kmeans(network: Network, recordings: Recordings, *, sample: int = 20) -> Network:
    """Give the network k-means centroids and no thresholds.

    >>> from timesurf import Full, Network, Tile
    >>> from timesurf.datasets import sentences
    >>> layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    >>> network = Network(layers, field=(30, 5), polarities=1, classes=sentences.TASK1)
    >>> fit_kmeans(network, sentences.make(20)).evaluate(sentences.make(10, seed=1))["kept"]
    1.0
    """
    return network.start(recordings, start="kmeans", margin=math.inf, sample=sample)
