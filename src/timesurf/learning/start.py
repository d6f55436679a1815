"""First centroids and thresholds, layer by layer, from a small batch of recordings.

Starts::

    "mean"     c_j = (1 - zeta) mean(ts) + zeta mean(mean(ts)) U(0, 1): the paper's start
    "kmeans"   k-means of the surfaces in hidden layers, the mean surface of each class in the last; with several units
               per class, k-means of the mean surfaces of the class's recordings
    "quick"    the same from fewer surfaces and one draw: seconds instead of a minute, as accurate in the end
    "ridge"    "quick" in hidden layers, the last by ridge regression on all recordings: `timesurf.learning.ridge`

Thresholds of hidden layers start at `margin` times the largest distance to a closest centroid in that batch, so that
all events pass at first. An infinite margin means no thresholds: plain HOTS.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Batch, Clusters, Engine, Options, Parameters, Trace, choose, pack
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.learning import ridge
from timesurf.learning.means import mean_surface
from timesurf.learning.state import Trainee

Array = NDArray[Any]
Start = Literal["mean", "kmeans", "quick", "ridge"]

_KMEANS_SAMPLES = 50_000  # surfaces: more do not change the centroids of k-means
_QUICK_SAMPLES = 100  # surfaces per unit of a quick start
_STRETCHES = 100  # recordings that `centroids_of_many` draws surfaces from, if there are so many
_STRETCH = 10_000  # events of each, at most
_AT_ONCE = 1 << 15  # events whose surfaces are in memory at one time
_KMEANS_ENTRIES = 1 << 24  # of all surfaces: fewer where they are large, or k-means takes minutes
_APART = 0.02  # of a quick start: how far several units of a class begin from its mean surface, relative to that
_PER_UNIT = 4  # recordings to find each of a class's several units from
_one_at_a_time = threading.Lock()  # k-means on several threads sums in no fixed order


class Starting(TypedDict, total=False):
    """Keyword arguments of `Network.start`, which describes them."""

    start: Start
    zeta: float
    margin: float
    sample: int


class Beginning(Starting, total=False):
    """Keyword arguments of `begin`."""

    hidden: Sequence[Array]  # centroids of the lowest layers, where they are known already


def begin(
    network: Trainee,
    recordings: Recordings,
    *,
    start: Start = "mean",
    zeta: float = 0.1,
    margin: float = 1.4,
    sample: int = 20,
    hidden: Sequence[Array] = (),
) -> None:
    """Give a network its first parameters, and forget its history."""
    label, rng = network.class_numbers(recordings), np.random.default_rng(network.seed)
    batch = sample_of(recordings, label, sample, rng, network.stages[-1].units_per_class)
    engine, stages = choose(network.engine, network.stages), network.stages
    first: Start = "quick" if start == "ridge" else start
    parameters = initialise(
        engine, stages, batch, rng, start=first, zeta=zeta, margin=margin, hidden=() if start == "mean" else hidden
    )
    if start == "ridge":
        parameters[-1].centroids[:] = ridge.last_centroids(network, Parameters(parameters[:-1]), recordings)
    network.parameters, network.history = parameters, []


def begin_last(
    network: Trainee, recordings: Recordings, *, start: Start = "mean", zeta: float = 0.1, sample: int = 20
) -> None:
    """Give the last layer new first centroids, from what the layers below it pass on now."""
    below = Parameters(network.parameters[:-1])
    if start == "ridge":
        network.parameters[-1].centroids[:] = ridge.last_centroids(network, below, recordings)
        return
    label, rng, stages = network.class_numbers(recordings), np.random.default_rng(network.seed), network.stages
    batch = sample_of(recordings, label, sample, rng, stages[-1].units_per_class)
    units = range(stages[-1].units)
    engine, last = choose(network.engine, stages), len(stages) - 1
    network.parameters[-1].centroids[:] = first_centroids(engine, stages, last, below, batch, rng, start, units, zeta)


def initialise(
    engine: Engine,
    stages: tuple[Stage, ...],
    batch: Batch,
    rng: np.random.Generator,
    *,
    start: Start,
    zeta: float,
    margin: float,
    hidden: Sequence[Array] = (),
) -> Parameters:
    """First parameters of a network.

    Parameters
    ----------
    engine, stages
        What computes, and the network.
    batch : Batch
        The recordings to start from.
    rng : numpy.random.Generator
        Draws the noise of "mean" and the surfaces of "kmeans".
    start, zeta, margin
        See the equations of this module.
    hidden : sequence of array
        Centroids of the lowest layers, where they are known already.

    Returns
    -------
    first : Parameters
        Of all layers.
    """
    check(batch, start, zeta, margin)
    parameters = Parameters()
    for k, stage in enumerate(stages):
        units = range(stage.units)
        known = k < len(hidden)
        parameters = parameters.with_layer(
            hidden[k].copy()
            if known
            else first_centroids(engine, stages, k, parameters, batch, rng, start, units, zeta),
        )
    if margin < math.inf and len(stages) > 1:
        trace = hidden_trace(engine, stages, parameters, batch)
        for k in range(len(stages) - 1):
            parameters[k].thresholds[:] = margin * trace.distance[:, k].max()
    return parameters


def hidden_trace(
    engine: Engine, stages: tuple[Stage, ...], parameters: Parameters, batch: Batch, options: Options | None = None
) -> Trace:
    """What happened to every event in the hidden layers: the last, which may be large, is left out."""
    trace = engine.infer(stages[:-1], Parameters(parameters[:-1]), batch, options or Options(), trace=True).trace
    assert trace is not None
    return trace


def sample_of(
    recordings: Recordings, label: Array, sample: int, rng: np.random.Generator, units_per_class: int = 1
) -> Batch:
    """`sample` recordings drawn at random, and more for each class that is missing among them.

    With several units per class, each class gets `_PER_UNIT` recordings per unit if it has that many.
    """
    order = rng.permutation(len(label))
    drawn, rest = order[:sample], order[sample:]
    enough = 1 if units_per_class == 1 else _PER_UNIT * units_per_class
    classes = np.unique(label[label >= 0])
    more = [rest[label[rest] == c][: max(enough - np.count_nonzero(label[drawn] == c), 0)] for c in classes]
    chosen = np.sort(np.concatenate([drawn, *more]))
    return pack(recordings[chosen], label[chosen])


def check(batch: Batch, start: str, zeta: float, margin: float) -> None:
    """Refuse settings outside their range, and a batch without events."""
    if start not in get_args(Start):
        raise SettingError(f"start = {start!r} must be one of {', '.join(get_args(Start))}.")
    if not 0 <= zeta <= 1:
        raise SettingError(f"zeta = {zeta!r} must lie between 0 and 1.")
    if not margin > 0:
        raise SettingError(f"margin = {margin!r} must be positive (infinity: no thresholds).")
    if len(batch.entry) == 0:
        raise EventError("The recordings contain no events: there is nothing to start from.")


def first_centroids(
    engine: Engine,
    stages: Sequence[Stage],
    k: int,
    below: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    start: Start,
    units: range,
    zeta: float,
) -> Array:
    """Centroids for these units of layer k, given the layers below it."""
    if start == "ridge":
        raise SettingError("start = 'ridge' finds all classes at once: units are added by 'mean', 'kmeans' or 'quick'.")
    if start == "mean":
        return mean_start(engine, stages[: k + 1], below, batch, rng, len(units), zeta)
    if k < len(stages) - 1:
        return _kmeans(engine, stages[: k + 1], below, batch, rng, len(units), quick=start == "quick")
    return _class_centroids(engine, stages, below, batch, rng, units, quick=start == "quick")


def mean_start(
    engine: Engine,
    stages: Sequence[Stage],
    below: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    units: int,
    zeta: float,
) -> Array:
    """Centroids for the last of these stages: c_j = (1 - zeta) mean(ts) + zeta mean(mean(ts)) U(0, 1)."""
    mean = mean_surface(engine, stages, below, batch)
    noise = rng.uniform(size=(units, *stages[-1].surface_shape))
    centroids: Array = (1 - zeta) * mean + zeta * mean.mean() * noise
    return centroids


def _class_centroids(
    engine: Engine,
    stages: Sequence[Stage],
    below: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    units: range,
    *,
    quick: bool,
) -> Array:
    """Centroids for these units of the last layer, class after class: from the mean surfaces of its recordings.

    Several units of a class begin at the k-means of its recordings; of a quick start all at their mean, a little apart,
    from where the delta rule takes each to other moments of the recordings.
    """
    each, shape = stages[-1].units_per_class, stages[-1].surface_shape
    centroids = np.empty((len(units) // each, each, *shape))
    for place, label in enumerate(range(units.start // each, units.stop // each)):
        chosen = np.flatnonzero(batch.label == label)
        if len(chosen) < (1 if quick else each):
            needed, found = "" if each == 1 else f"{each} ", len(chosen) or "none"
            raise EventError(
                f"This start needs {needed}recordings of every class, but class number {label} has {found} in the "
                "starting batch: give more starting recordings."
            )
        if each == 1 or quick:
            apart = _APART * rng.standard_normal((each, *shape)) if each > 1 else 0.0
            centroids[place] = mean_surface(engine, stages, below, _subset(batch, chosen)) * (1 + apart)
            continue
        means = np.array([mean_surface(engine, stages, below, _subset(batch, np.array([r]))) for r in chosen])
        looks = kmeans_on_a_core(means.reshape(len(means), -1), each, int(rng.integers(2**31)), quick=False)
        centroids[place] = looks.reshape(each, *shape)
    return centroids.reshape(len(units), *shape)


def _kmeans(
    engine: Engine,
    stages: Sequence[Stage],
    below: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    units: int,
    *,
    quick: bool,
) -> Array:
    """Centroids of the surfaces that reach the last of these stages."""
    stage = stages[-1]
    if units == 0:
        return np.empty((0, *stage.surface_shape))
    samples = min(_KMEANS_SAMPLES, max(_KMEANS_ENTRIES // math.prod(stage.surface_shape), 50 * units))
    samples = min(samples, _QUICK_SAMPLES * units) if quick else samples
    few = 1 + int(np.searchsorted(batch.offsets[1:], 2 * samples))  # recordings that contain enough events to draw from
    batch = _subset(batch, np.arange(min(few, len(batch))))
    zeros = below.with_layer(np.zeros((stage.units, *stage.surface_shape)))
    ts = engine.surfaces(tuple(stages), zeros, batch, len(stages) - 1)  # of events that no unit below rejects
    ts = ts.reshape(len(ts), math.prod(stage.surface_shape))
    if len(ts) > samples:
        ts = ts[rng.choice(len(ts), samples, replace=False)]
    return _clustered(engine, stage, ts, rng, units, quick)


def _clustered(engine: Engine, stage: Stage, ts: Array, rng: np.random.Generator, units: int, quick: bool) -> Array:
    """Centroids of surfaces by the engine's k-means, or that of the CPU."""
    if len(ts) < units:
        raise EventError(f"k-means needs at least {units} events for {units} units, not {len(ts)}.")
    seed = int(rng.integers(2**31))
    found = engine.kmeans(ts, units, seed) if isinstance(engine, Clusters) else kmeans_on_a_core(ts, units, seed, quick)
    centroids: Array = found.reshape(units, *stage.surface_shape)
    return centroids


def centroids_of_many(engine: Engine, stage: Stage, batch: Batch, rng: np.random.Generator) -> Array:
    """Centroids of a first layer, as a quick start finds them, but from stretches of many recordings.

    A quick start draws from as few recordings as have enough events. Where these are long that is one of them, which
    shows one thing only.
    """
    counts = np.diff(batch.offsets)
    order = rng.permutation(len(counts))
    samples = min(_QUICK_SAMPLES * stage.units, max(_KMEANS_ENTRIES // math.prod(stage.surface_shape), 1))
    enough = 1 + int(np.searchsorted(np.cumsum(counts[order]), samples))  # of short ones, more are needed
    chosen = np.sort(order[: max(enough, _STRETCHES)])
    lengths = np.minimum(counts[chosen], _STRETCH)
    starts = batch.offsets[chosen] + rng.integers(0, counts[chosen] - lengths + 1)
    share = min(samples / max(int(lengths.sum()), 1), 1.0)
    zeros = Parameters().with_layer(np.zeros((stage.units, *stage.surface_shape)))
    found, group = [], np.cumsum(lengths) // _AT_ONCE
    for number in np.unique(group):
        some = np.flatnonzero(group == number)
        ts = engine.surfaces((stage,), zeros, _stretches(batch, starts[some], lengths[some]), 0)
        drawn = np.sort(rng.permutation(len(ts))[: math.ceil(share * len(ts))])
        found.append(ts[drawn].reshape(len(drawn), math.prod(stage.surface_shape)))
    return _clustered(engine, stage, np.concatenate(found), rng, stage.units, quick=True)


def kmeans_on_a_core(points: Array, units: int, seed: int, quick: bool) -> Array:
    """Centroids of points (points, entries) by scikit-learn, on one core: the same bits every time."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with _one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
        if quick:  # fewer different surfaces than units: those left over never win
            warnings.simplefilter("ignore", ConvergenceWarning)
        draws = {"n_init": 1, "max_iter": 30} if quick else {"n_init": 3}
        means = KMeans(units, **draws, random_state=seed).fit(points)
    centroids: Array = means.cluster_centers_.astype(np.float64)
    return centroids


def _subset(batch: Batch, chosen: Array) -> Batch:
    """Some recordings of a batch."""
    some = _stretches(batch, batch.offsets[chosen], np.diff(batch.offsets)[chosen])
    return replace(some, label=batch.label[chosen])


def _stretches(batch: Batch, starts: Array, lengths: Array) -> Batch:
    """So many events from each of these on, as recordings without a label."""
    parts = [slice(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    return Batch(
        np.concatenate([batch.entry[part] for part in parts]),
        np.concatenate([batch.t[part] for part in parts]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.full(len(parts), -1, dtype=batch.label.dtype),
    )
