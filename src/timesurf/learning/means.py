"""Mean surfaces: of all events that reach a layer, or of each recording by itself.

The mean over a recording of what a linear classifier says of its moments is what it says of the mean surface. So mean
surfaces are what a last layer starts from, and what a probe judges a field by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Batch, Engine, Options, Parameters, pack
from timesurf.events import Recordings
from timesurf.layers import Full, Stage, stack
from timesurf.rule import Rule

Array = NDArray[Any]

_LARGE = 1 << 20  # entries of a surface: in larger ones most entries never fire
_EVENTS = 1 << 20  # of the recordings whose mean surfaces are found at one time, unless one has more


def mean_surface(engine: Engine, stages: Sequence[Stage], below: Parameters, batch: Batch) -> Array:
    """Mean of the surfaces that reach the last of these stages, which has no parameters yet."""
    large = isinstance(stages[-1].layer, Full) and math.prod(stages[-1].surface_shape) > _LARGE
    return (_mean_of_used if large else _mean_of_all)(engine, stages, below, batch)


def mean_surfaces(engine: Engine, recordings: Recordings, tau: float) -> Array:
    """The mean surface of each recording over its whole field.

    Parameters
    ----------
    engine : Engine
        What computes.
    recordings : Recordings
        Of any number; one without events has a mean of 0.
    tau : float
        Time constant, us; at least 1.

    Returns
    -------
    array of float32, shape (recordings, entries)
    """
    entries = math.prod(recordings.field) * recordings.polarities
    at_once = max(_LARGE // entries, 1)
    groups = [recordings[r : r + at_once] for r in range(0, len(recordings), at_once)]
    parts = (group[part] for group in groups for part in group.parts(_EVENTS))
    means = [_side_by_side(engine, some, entries, max(tau, 1.0)) for some in parts]
    return np.concatenate([np.empty((0, entries), np.float32), *means])


def apart(of_class: Array) -> float:
    """Mean squared distance between the mean surfaces (rows) of two classes, drawn at random: maybe the same one twice.

    Examples
    --------
    >>> apart(np.array([[1.0, 0.0], [5.0, 0.0]]))
    8.0
    """
    return 2 * float(((of_class - of_class.mean(axis=0)) ** 2).sum(axis=1).mean())


def _side_by_side(engine: Engine, some: Recordings, entries: int, tau: float) -> Array:
    """Mean surfaces of some recordings from one sum: each has a field of its own beside the others'."""
    (stage,) = stack([Full(units=1, tau=tau)], (len(some), *some.field), some.polarities)
    batch = pack(some)
    batch.entry[:] += np.repeat(np.arange(len(some), dtype=np.int32) * np.int32(entries), some.counts)
    found = mean_surface(engine, (stage,), Parameters(), batch).reshape(len(some), entries)
    share = some.counts / max(int(some.counts.sum()), 1)
    return (found / np.where(share > 0, share, 1)[:, None]).astype(np.float32)


def _mean_of_all(engine: Engine, stages: Sequence[Stage], below: Parameters, batch: Batch) -> Array:
    """`mean_surface` by the batch rule: a single unit at 0 with S = 1 moves by exactly the sum of the surfaces.

    So no surface of a `Full` layer, which may have a million entries, is ever stored.
    """
    alone = (*stages[:-1], replace(stages[-1], units=1, units_per_class=1))
    total = below.with_layer(np.zeros((1, *alone[-1].surface_shape)))
    unlabelled = replace(batch, label=np.full(len(batch), -1))
    add_up = Rule(alpha=0, beta=(*(0,) * (len(stages) - 1), 1), gamma=0, delta=0)
    outcome = engine.learn_batch(alone, total, add_up, unlabelled, Options(deterministic=True))
    mean: Array = total[-1].centroids[0] / max(int(outcome.votes.sum()), 1)
    return mean


def _mean_of_used(engine: Engine, stages: Sequence[Stage], below: Parameters, batch: Batch) -> Array:
    """`mean_surface` of a large `Full` layer: of the entries that occur only, since all others stay 0."""
    stage, lower = stages[-1], tuple(stages[:-1])
    *x, p = np.unravel_index(batch.entry, (*stages[0].field, stages[0].polarities))
    place, arrives = tuple(x), np.ones(len(batch.entry), dtype=np.bool_)
    if lower:
        trace = engine.infer(lower, below, batch, trace=True).trace
        assert trace is not None
        p, arrives = trace.winner[:, -1], trace.passed == len(lower)
        for below_it in lower:
            place = below_it.layer.output(place)  # type: ignore[arg-type, assignment]  # works on arrays as on numbers
    mean = np.zeros(stage.surface_shape)
    if arrives.any():
        entry = np.ravel_multi_index(tuple(v[arrives] for v in (*place, p)), (*stage.field, stage.polarities))
        used, entry = np.unique(entry, return_inverse=True)
        offsets = np.concatenate([[0], np.cumsum(arrives)])[batch.offsets]
        some = Batch(entry.astype(np.int32), batch.t[arrives], offsets, batch.label)
        narrow = replace(stage, field=(len(used),), polarities=1)
        found = _mean_of_all(engine, [narrow], Parameters(), some)
        mean.reshape(-1, stage.scales)[used] = found.reshape(-1, stage.scales)
    return mean
