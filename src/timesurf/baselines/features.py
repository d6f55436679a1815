"""A layer of features that another method than Sup3r has learned, on the same surfaces and run by the same engine.

HOTS and its relatives see an event as its time surface, and replace it by the unit whose centroid is closest. They
differ in how centroids come about::

    surfaces of events -> a learner -> centroids -> which unit wins each event -> how often each won -> a classifier

`online_hots`, `homeostasis`, `feast` and `restarts` are learners; `hots.fit_kmeans` is the plain one.

By cosine, the closest unit is the one with the largest ``ts . c_n / (|ts| |c_n|)``. Where all centroids have length 1
this is the one with the smallest ``|ts - c_n|``, since ``|ts - c_n|^2 = |ts|^2 - 2 ts . c_n + 1``. So a layer that was
learned by cosine is a layer like others, once its centroids are scaled to length 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines import linear
from timesurf.engines import Options, Parameters, load, pack
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.inference import emitted
from timesurf.layers import Stage, Window, stack
from timesurf.learning.start import kmeans_on_a_core

Array = NDArray[Any]
Decay = Literal["exponential", "linear"]
EVENTS = 300_000  # to learn from: with more, centroids of a hundred units hardly change
PER_UNIT = 100  # surfaces of k-means, as in a quick start
_NUMBERS = 1 << 21  # of the surfaces that are in memory at one time


class Learner(Protocol):
    """Learns centroids from surfaces, one after another."""

    @property
    def centroids(self) -> Array:
        """As learned so far, (units, entries)."""
        ...

    def learn(self, surfaces: Array) -> None:
        """Learn from these surfaces (events, entries), in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Features:
    """Centroids of a layer, and how its surfaces decay.

    Attributes
    ----------
    stage : Stage
        The layer in its place.
    centroids : array, shape (units, entries)
        One row per unit.
    decay : {"exponential", "linear"}
        Of its surfaces.
    """

    stage: Stage
    centroids: Array
    decay: Decay = "exponential"

    def emitted(self, recordings: Recordings, threads: int | None = None) -> Recordings:
        """Every event with the unit that won it as its polarity."""
        if self.decay == "linear":
            return linear.emitted(self.stage, self.centroids, recordings)
        units = Parameters().with_layer(self.centroids.reshape(-1, *self.stage.surface_shape))
        return emitted(load("cpu"), (self.stage,), units, recordings, Options("float32", threads), 0)


def surfaces(
    stage: Stage, recordings: Recordings, *, events: int = EVENTS, decay: Decay = "exponential", seed: int = 0
) -> Iterator[Array]:
    """Surfaces of about so many events of recordings in random order, in parts of a bounded size.

    Parameters
    ----------
    stage : Stage
        The layer that sees them.
    recordings : Recordings
        To draw from. Of one that is longer than a part, the beginning is used.
    events : int
        No further recording is drawn after so many.
    decay : {"exponential", "linear"}
        Of the surfaces.
    seed : int
        Draws the order.

    Yields
    ------
    array, shape (some events, entries)
        In the order of events.
    """
    alone = replace(stage, units=1)
    shape = (1, *alone.surface_shape)
    most = max(_NUMBERS // math.prod(shape), 1)
    order = np.random.default_rng(seed).permutation(len(recordings))
    counts = np.minimum(recordings.counts[order], most)
    order = order[: int(np.searchsorted(np.cumsum(counts), events)) + 1]
    drawn = recordings.cut(recordings.starts[order], recordings.starts[order] + counts[: len(order)])
    for part in drawn.parts(most + 1):
        some = pack(drawn[part])
        rows = load("cpu").surfaces((alone,), Parameters().with_layer(np.zeros(shape)), some, 0)
        rows = rows.reshape(len(rows), math.prod(shape))
        if len(rows):
            yield linear.from_exponential(rows) if decay == "linear" else rows


def placed(window: Window, recordings: Recordings) -> Stage:
    """The layer on the field of these recordings."""
    return stack([window], recordings.field, recordings.polarities)[0]


def learned(learner: Learner, stage: Stage, recordings: Recordings, *, events: int = EVENTS, seed: int = 0) -> Features:
    """Features that a learner finds in recordings.

    Parameters
    ----------
    learner : Learner
        With its first centroids; it is changed.
    stage : Stage
        The layer that it learns for.
    recordings : Recordings
        What to learn from; labels are not used.
    events, seed
        As in `surfaces`.

    Returns
    -------
    Features
        Its centroids.
    """
    for some in surfaces(stage, recordings, events=events, seed=seed):
        learner.learn(some)
    return Features(stage, learner.centroids)


def drawn(stage: Stage, recordings: Recordings, *, decay: Decay = "exponential", number: int, seed: int = 0) -> Array:
    """So many surfaces, drawn at random from the events of some recordings."""
    rows = np.concatenate(list(surfaces(stage, recordings, events=4 * number, decay=decay, seed=seed)))
    if len(rows) < stage.units:
        raise EventError(f"{stage.units} units need at least as many events to learn from, not {len(rows)}.")
    return rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:number])]


def clustered(
    stage: Stage, recordings: Recordings, *, decay: Decay = "exponential", cosine: bool = False, seed: int = 0
) -> Features:
    """Features by k-means, as HOTS has them, with one change: linear decay, or the cosine in place of the distance.

    By cosine, ``f = argmax_n ts . c_n / (|ts| |c_n|)``. Centroids come from plain k-means on surfaces of length 1,
    and are scaled to length 1 at its end; spherical k-means (Dhillon and Modha 2001, *Concept decompositions for large
    sparse text data using clustering*) scales them in every step.

    Parameters
    ----------
    stage : Stage
        The layer.
    recordings : Recordings
        What to take surfaces from.
    decay : {"exponential", "linear"}
        Of the surfaces.
    cosine : bool
        Whether surfaces are compared by their cosine.
    seed : int
        Draws surfaces, and first centroids.

    Returns
    -------
    Features
        Centroids of `PER_UNIT` surfaces per unit.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> few = sentences.make(5, seed=0)
    >>> found = clustered(placed(Window(5, units=4, tau="2 ms"), few), few, cosine=True)
    >>> np.linalg.norm(found.centroids, axis=1).round(6).tolist(), found.emitted(few).polarities
    ([1.0, 1.0, 1.0, 1.0], 4)
    """
    rows = drawn(stage, recordings, decay=decay, number=PER_UNIT * stage.units, seed=seed)
    if cosine:
        rows = unit_length(rows)
    found = kmeans_on_a_core(rows, stage.units, seed, quick=True)
    return Features(stage, unit_length(found) if cosine else found, decay)


def unit_length(rows: Array) -> Array:
    """Rows scaled to length 1."""
    scaled: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled
