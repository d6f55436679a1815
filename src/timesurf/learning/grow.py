"""A network for a new task: more units in its layers, more classes in the last, the old units frozen.

A layer above one that grew has more input polarities. Its old units have never seen them: their centroids are 0 there.
New units start like any others (`timesurf.learning.start`), from a small batch of the new task.

The rule moves a threshold only by events near its border: without such events the threshold stays large. And a unit
that passes nothing still wins, and so rejects, what is closest to it. Frozen, such units would take the events of the
next task. So `tighten` a network before it grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Batch, Engine, Parameters, Trace, Units, choose
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.learning.start import Start, check, first_centroids, hidden_trace, sample_of
from timesurf.learning.state import Trainee

Array = NDArray[Any]


class Growing(Trainee, Protocol):
    """A network whose layers may change."""

    def resized(self, units: Sequence[int], classes: Sequence[Any] | Array) -> Self:
        """A network like this one, without parameters, with so many hidden units and these classes."""

    def trace(self, recordings: Recordings) -> Trace:
        """What happened to every event."""


N = TypeVar("N", bound=Growing)


def extended(
    network: N,
    recordings: Recordings,
    units: Sequence[int],
    classes: Sequence[Any],
    *,
    start: Start = "mean",
    zeta: float = 0.1,
    margin: float = 1.4,
    sample: int = 20,
) -> N:
    """A network with more units and classes, the old units frozen; the parameters are those of `Network.extend`."""
    stages = network.stages
    if len(units) != len(stages) - 1 or min(units, default=0) < 0:
        raise SettingError(
            f"units = {units!r} must have a number to add for each of the {len(stages) - 1} hidden layers."
        )
    more = [stage.units + n for stage, n in zip(stages, units, strict=False)]
    grown = network.resized(more, [*network.classes.tolist(), *classes])
    rng = np.random.default_rng(None if network.seed is None else [network.seed, 2, len(network.history)])
    batch = sample_of(recordings, grown.class_numbers(recordings), sample, rng, stages[-1].units_per_class)
    check(batch, start, zeta, margin)
    grown.parameters = grow(
        choose(network.engine, grown.stages), grown.stages, network.parameters, batch, rng,
        start=start, zeta=zeta, margin=margin,
    )  # fmt: skip
    return grown


def tightened(network: N, recordings: Recordings, share: float, slack: float, sample: int) -> N:
    """A network with fewer units and lower thresholds; the parameters are those of `Network.tighten`."""
    if not 0 < share <= 1 or not slack >= 0:
        raise SettingError(f"share = {share!r} must lie between 0 and 1, slack = {slack!r} must not be negative.")
    some = recordings[np.sort(np.random.default_rng(network.seed).permutation(len(recordings))[:sample])]
    label = np.repeat(network.class_numbers(some), some.counts)
    stages = network.stages
    parameters = tighten(
        network.parameters, network.trace(some), label, share=share, slack=slack,
        units_per_class=stages[-1].units_per_class, scales=[stage.scales for stage in stages],
    )  # fmt: skip
    fewer = network.resized([len(units.thresholds) for units in parameters[:-1]], network.classes)
    fewer.parameters = parameters
    return fewer


def grow(
    engine: Engine,
    stages: tuple[Stage, ...],
    old: Parameters,
    batch: Batch,
    rng: np.random.Generator,
    *,
    start: Start,
    zeta: float,
    margin: float,
) -> Parameters:
    """Parameters of the grown network `stages`: the old units, frozen, then the new ones."""
    grown = Parameters()
    for k, stage in enumerate(stages):
        before, padding = old[k].centroids, [(0, 0)] * old[k].centroids.ndim
        axis = polarity_axis(before, stage.scales)
        padding[axis] = (0, stage.polarities - before.shape[axis])
        new = range(len(before), stage.units)
        centroids = np.concatenate(
            [np.pad(before, padding), first_centroids(engine, stages, k, grown, batch, rng, start, new, zeta)]
        )
        thresholds = np.concatenate([old[k].thresholds, np.full(len(new), math.inf)])
        grown.append(Units(centroids, thresholds, np.arange(stage.units) < len(before)))
    if margin == math.inf or len(stages) == 1:
        return grown
    trace = hidden_trace(engine, stages, grown, batch)
    for k in range(len(stages) - 1):
        by_new = ~grown[k].frozen[trace.winner[:, k]] & (trace.winner[:, k] >= 0)
        reach = trace.distance[by_new, k].max(initial=0) or np.nanmax(trace.distance[:, k], initial=1.0)
        grown[k].thresholds[~grown[k].frozen] = margin * reach
    return grown


def polarity_axis(centroids: Array, scales: int) -> int:
    """The axis of a layer's centroids (units, box, polarities) that is polarities; several time constants follow it."""
    return centroids.ndim - (1 if scales == 1 else 2)


def tighten(
    parameters: Parameters,
    trace: Trace,
    label: Array,
    *,
    share: float,
    slack: float,
    units_per_class: int = 1,
    scales: Sequence[int] | None = None,
) -> Parameters:
    """Parameters without the hidden units that do not help to classify, the other units' thresholds lowered.

    A threshold falls to `slack` beyond the closest `share` of its unit's events that were classified correctly. A unit
    is dropped if its event accuracy is below the mean of chance and that of the whole network. Frozen units stay.

    Parameters
    ----------
    parameters : Parameters
        Of the network; not changed.
    trace : Trace
        What happened to every event.
    label : array of int
        Class number of every event; without a label (-1) all output counts as right.
    share, slack : float
        See above.
    units_per_class : int
        Of the last layer.
    scales : sequence of int, optional
        Time constants of each layer; None: one.

    Returns
    -------
    tight : Parameters
        Of a network with fewer units.
    """
    layers = trace.winner.shape[1]
    out = trace.passed == layers
    right = out & ((trace.winner[:, -1] // units_per_class == label) | (label == -1))
    chance = 1 / max(len(np.unique(label[label >= 0])), 1)
    enough = (chance + float(right.sum()) / max(int(out.sum()), 1)) / 2
    tight = parameters.copy()
    stay = [np.ones(len(units.thresholds), dtype=np.bool_) for units in tight]
    for k in range(layers - 1):
        for n in np.flatnonzero(~tight[k].frozen):
            mine = trace.winner[:, k] == n
            useful = trace.distance[right & mine, k]
            stay[k][n] = len(useful) > 0 and len(useful) >= enough * np.count_nonzero(out & mine)
            if stay[k][n]:
                tight[k].thresholds[n] = min(tight[k].thresholds[n], np.quantile(useful, share) + slack)
        if not stay[k].any():
            raise EventError(f"No unit of layer {k + 1} helps to classify these recordings: train the network first.")
    fewer = Parameters()
    for k, (units, own) in enumerate(zip(tight, stay, strict=True)):
        centroids = units.centroids[own]
        if k:  # units below are polarities here
            axis = polarity_axis(centroids, scales[k] if scales else 1)
            centroids = np.compress(stay[k - 1], centroids, axis=axis)
        fewer.append(Units(np.ascontiguousarray(centroids), units.thresholds[own], units.frozen[own]))
    return fewer


def without(network: N, name: Any) -> N:
    """A network without a class and its units of the last layer; the hidden layers stay as they are."""
    rest = network.classes != name
    if rest.all() or not rest.any():
        raise SettingError(f"{name!r} is not one of several classes: {network.classes.tolist()}.")
    smaller = network.resized([stage.units for stage in network.stages[:-1]], network.classes[rest])
    own = np.repeat(rest, network.stages[-1].units_per_class)
    *hidden, last = network.parameters.copy()
    smaller.parameters = Parameters([*hidden, Units(*(array[own] for array in last.arrays))])
    return smaller
