"""Candidates for the layers of a default network, compared on the same recordings with the same draws.

`timesurf.learning.law` says which candidates there are and which to take, `timesurf.learning.probe` how good one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Engine, Options, Parameters, pack
from timesurf.events import Recordings
from timesurf.inference import class_numbers, emitted
from timesurf.layers import Full, Window, stack
from timesurf.learning.means import mean_surfaces
from timesurf.learning.probe import PROBED_EVENTS, Probed, cross_validated, sampled
from timesurf.learning.start import centroids_of_many, first_centroids

Array = NDArray[Any]


class Hidden(NamedTuple):
    """A hidden layer, and what it makes of the recordings that candidates are compared on."""

    window: Window  # without a stride
    centroids: Array
    fine: Recordings


class Looked(NamedTuple):
    """A field of the last layer, and what a probe says of it."""

    coarse: Recordings
    taus: tuple[float, ...]  # of the last layer
    probed: Probed
    means: Array  # mean surface of each recording


class Comparison:
    """Recordings that candidates are compared on, each with the same draws."""

    def __init__(
        self,
        known: Recordings,
        engine: Engine,
        options: Options,
        rng: np.random.Generator,
        events: int = PROBED_EVENTS,
        origin: Array | None = None,
    ) -> None:
        numbers = sampled(known, rng, events)
        self.some, self.origin = known[numbers], None if origin is None else origin[numbers]
        self.label = class_numbers(known.classes, self.some)
        self.engine, self.options, self.classes = engine, options, len(known.classes)
        self.kmeans, self.folds = (int(seed) for seed in rng.integers(2**31, size=2))

    def hidden(self, window: Window) -> Hidden:
        """The layer from the k-means of its surfaces."""
        stages = stack([window, Full(tau=1)], self.some.field, self.some.polarities, self.classes)
        batch, rng = pack(self.some, self.label), np.random.default_rng(self.kmeans)
        units = range(stages[0].units)
        centroids = first_centroids(self.engine, stages, 0, Parameters(), batch, rng, "quick", units, 0.0)
        layer = Parameters().with_layer(centroids)
        return Hidden(window, centroids, emitted(self.engine, stages[:1], layer, self.some, self.options, 0))

    def place_free(self, window: Window) -> tuple[Array, Recordings]:
        """Centroids of a hidden layer from many recordings, and what it makes of them where all places are one."""
        stages = stack(
            [replace(window, stride="field"), Full(tau=1)], self.some.field, self.some.polarities, self.classes
        )
        centroids = centroids_of_many(self.engine, stages[0], pack(self.some), np.random.default_rng(self.kmeans))
        layer = Parameters().with_layer(centroids)
        return centroids, emitted(self.engine, stages[:1], layer, self.some, self.options, 0)

    def means(self, coarse: Recordings, taus: Sequence[float]) -> Array:
        """Mean surface of each recording, at all time constants."""
        return np.concatenate([mean_surfaces(self.engine, coarse, tau) for tau in taus], axis=1)

    def look(self, coarse: Recordings, taus: tuple[float, ...]) -> Looked:
        """What a probe says of time constants of the last layer."""
        means = self.means(coarse, taus)
        return Looked(coarse, taus, self._probed(means), means)

    def error_with(self, copies: Sequence[Array], looked: Looked) -> float:
        """Error of the probe that learns from altered copies as well."""
        return self._probed(looked.means, copies).error

    def _probed(self, means: Array, copies: Sequence[Array] = ()) -> Probed:
        rng = np.random.default_rng(self.folds)
        return cross_validated(means, self.label, rng, copies=copies, origin=self.origin)
