"""First weights and thresholds of a spiking network, layer by layer, from a small batch of recordings.

Weights of hidden layers, with u the directions of traces (`timesurf.spiking.rule`)::

    "mean"     w_n = (1 - zeta) mean(u) + zeta rms(mean(u)) U(0, 1): as the paper starts centroids
    "kmeans"   k-means of u; in the last layer the mean of u for each class

each divided by its length. Thresholds are `ready` times the median potential of neurons that never fire.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.data import Batch, Parameters, Units
from timesurf.errors import EventError, SettingError
from timesurf.spiking import cpu, kernel, tables
from timesurf.spiking.layers import Stage

Array = NDArray[Any]
Start = Literal["mean", "kmeans"]
_MOST_ROWS = 20_000  # directions to start a layer from
_MOST_NUMBERS = 1 << 23  # of all of them: fewer where neurons have many synapses


def begin(
    stages: Sequence[Stage],
    batch: Batch,
    rng: np.random.Generator,
    *,
    start: Start,
    zeta: float,
    old: Parameters | None = None,
) -> Parameters:
    """Parameters of these layers: the old neurons, frozen, if there are any, then new ones.

    Parameters
    ----------
    stages : sequence of Stage
        The network.
    batch : Batch
        Recordings to start from.
    rng : numpy.random.Generator
        Draws noise and samples.
    start, zeta
        See the equations of this module.
    old : Parameters, optional
        Of a network that grows: it has fewer neurons and hears fewer of those below, whose new weights are 0.
    """
    if start not in get_args(Start):
        raise SettingError(f"start = {start!r} must be one of {', '.join(get_args(Start))}.")
    if not 0 <= zeta <= 1:
        raise SettingError(f"zeta = {zeta!r} must lie between 0 and 1.")
    found = Parameters()
    for k, stage in enumerate(stages):
        heard = cpu.emitted(stages[:k], found, batch) if k else batch
        before = None if old is None else old[k]
        found.append(_layer(stage, heard, rng, start, zeta, before, last=k == len(stages) - 1))
    return found


def _layer(
    stage: Stage, heard: Batch, rng: np.random.Generator, start: str, zeta: float, old: Units | None, *, last: bool
) -> Units:
    """The neurons of one layer."""
    shape, first = stage.shape, 0 if old is None else len(old.thresholds)
    new = stage.units - first
    weights, thresholds = np.empty((0, *shape)), np.empty(0)
    if new:
        rows, label = _directions(stage, heard, rng)
        if start == "mean":
            mean = rows.mean(axis=0)
            noise = np.sqrt((mean**2).mean()) * rng.uniform(size=(new, len(mean)))
            flat = (1 - zeta) * mean + zeta * noise
        else:
            flat = _class_means(rows, label, range(first, stage.units)) if last else _kmeans(rows, new, rng)
        weights = (flat / np.linalg.norm(flat, axis=1, keepdims=True)).reshape(new, *shape)
        thresholds = np.full(new, _threshold(replace(stage, units=new), weights, heard))
    if old is not None:
        grown = [(0, 0)] * (old.centroids.ndim - 1) + [(0, shape[-1] - old.centroids.shape[-1])]
        weights = np.concatenate([np.pad(old.centroids, grown), weights])
        thresholds = np.concatenate([old.thresholds, thresholds])
    return Units(weights, thresholds, np.arange(stage.units) < first)


def _directions(stage: Stage, heard: Batch, rng: np.random.Generator) -> tuple[Array, Array]:
    """Directions of traces at some of the layer's inputs, and the labels of their recordings."""
    wires = tables.wiring((stage,))
    hearings = int(np.diff(wires.reach)[heard.entry].sum())
    if hearings == 0:
        raise EventError("No spikes reach a layer of the network: there is nothing to start from.")
    synapses = math.prod(stage.shape)
    number = min(hearings, _MOST_ROWS, max(_MOST_NUMBERS // synapses, 100))
    chosen = np.sort(rng.choice(hearings, number, replace=False))
    rows, recording = np.empty((number, synapses)), np.zeros(number, np.int64)
    kernel.directions(_events(heard), chosen, wires, tables.times((stage,)), tables.state(wires), rows, recording)
    return rows, heard.label[recording]


def _threshold(stage: Stage, weights: Array, heard: Batch) -> float:
    """`ready` times the median potential without firing; -infinity where ready is 0."""
    if stage.layer.ready == 0:
        return -math.inf
    wires = tables.wiring((stage,))
    highest = np.empty(int(np.diff(wires.reach)[heard.entry].sum()))
    silent = Parameters.of([weights], [np.full(stage.units, math.inf)])
    kernel.potentials(
        _events(heard), wires, tables.times((stage,)), tables.learned(silent), tables.state(wires), highest
    )
    return max(stage.layer.ready * float(np.median(highest)), 1e-6)  # steps are shares of a threshold: never 0


def _events(batch: Batch) -> tuple[Array, Array, Array]:
    return batch.entry.astype(np.int32), batch.t.astype(np.int64), batch.offsets


def _kmeans(rows: Array, units: int, rng: np.random.Generator) -> Array:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    if len(rows) < units:
        raise EventError(f"k-means needs at least {units} inputs for {units} neurons, not {len(rows)}.")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different inputs than neurons
        means = KMeans(units, n_init=1, max_iter=30, random_state=int(rng.integers(2**31))).fit(rows)
    centres: Array = means.cluster_centers_.astype(np.float64)
    return centres


def _class_means(rows: Array, label: Array, classes: range) -> Array:
    """The mean direction of each class."""
    missing = [c for c in classes if not (label == c).any()]
    if missing:
        raise EventError(f"start = 'kmeans' needs spikes from every class, but class number {missing[0]} has none.")
    return np.array([rows[label == c].mean(axis=0) for c in classes])
