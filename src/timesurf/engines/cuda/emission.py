"""What Window layers whose weights stay emit, computed on the card and kept there for the layers above (winners.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.cuda import events as cudaevents
from timesurf.engines.cuda import launch
from timesurf.engines.cuda.events import Events
from timesurf.engines.cuda.winners import GIVEN, THREADS, fragments, winners
from timesurf.engines.data import Array, Parameters, Units
from timesurf.events import Recordings
from timesurf.layers import Stage

Stages = tuple[Stage, ...]
_BYTES = 32  # of the card's memory per event, while it goes through a layer


@dataclass(frozen=True)
class Emitted:
    """Outputs of layers on the card, for some recordings one after another."""

    events: Events  # as the layer above them receives
    part: slice  # which recordings
    kept: Array  # (layers, recordings) events that each layer let pass


def covers(stages: Stages, parameters: Parameters) -> bool:
    """Whether these layers can run here."""
    return bool(stages) and all(
        winners(stage, launch.device(), measured=_measured(units))
        for stage, units in zip(stages, parameters, strict=True)
    )


def through(stages: Stages, parameters: Parameters, recordings: Recordings, label: Array) -> Iterator[Emitted]:
    """Recordings through these layers, as many at a time as the card has room for.

    Parameters
    ----------
    stages, parameters : tuple of Stage, Parameters
        The layers, which `covers` accepts.
    recordings : Recordings
        What they run on.
    label : array
        Classes of the recordings, which their outputs keep.

    Yields
    ------
    Emitted
        Consecutive recordings.
    """
    alone = [slice(r, r + 1) for r in range(len(recordings))]
    first = 0
    for events, _ in cudaevents.stretches([recordings], [label], alone):
        most = max(cudaevents.room() // _BYTES, 1)
        for part in _parts(events.counts[0], most):
            now, kept = events.cut(part), []
            for stage, units in zip(stages, parameters, strict=True):
                now = _layer(stage, units, now)
                kept.append(now.counts[0])
            yield Emitted(now, slice(first + part.start, first + part.stop), np.array(kept))
        first += events.label.shape[1]


def emitted(stages: Stages, parameters: Parameters, recordings: Recordings) -> Recordings:
    """The events that the last of these layers emits; where there is room they also stay on the card."""
    field, units = stages[-1].output_field, stages[-1].units
    coords: list[list[Array]] = [[] for _ in field]
    times, unit, counts, here = [], [], [], []
    rejects = any(_measured(of) for of in parameters)
    stay = 2 * cudaevents.BYTES * int(recordings.counts.sum()) <= cudaevents.room()
    origin, _ = recordings.spans()
    for some in through(stages, parameters, recordings, np.full(len(recordings), -1)):
        rest = some.events.entry
        unit.append((rest % units).astype(_small(units)).get())
        rest = rest // units
        for d in reversed(range(len(field))):
            coords[d].append((rest % field[d]).astype(_small(field[d])).get())
            rest = rest // field[d]
        counts.append(some.kept[-1])
        if rejects:
            times.append(_on_clock(some.events.t.get(), origin[some.part], some.kept[-1]))
        if stay:
            here.append((some.events.entry, some.events.t))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts]))])
    t = _joined(times).astype(recordings.source.dtype, copy=False) if rejects else recordings.t
    found = Recordings(
        [_joined(x) for x in coords], t, _joined(unit), offsets, field=field, polarities=units, labels=recordings.labels
    )  # fmt: skip
    if here and len(t):
        cudaevents.keep(found, *(of[0] if len(of) == 1 else cp.concatenate(of) for of in zip(*here, strict=True)))
    return found


def outputs(stage: Stage, units: Units, events: Events) -> tuple[Any, Any]:
    """Entries of the layer above and times, of all events of the recordings, one after another; -1: rejected."""
    counts = events.counts[0]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    out, times = (cp.empty(int(offsets[-1]), np.int32) for _ in range(2))
    if not len(out):
        return out, times
    kernel = winners(stage, launch.device(), measured=_measured(units))
    assert kernel is not None
    width, parts, segment = kernel.grid(launch.device(), len(counts), int(counts.max()), cudaevents.room() // 4)
    order = np.argsort(-counts, kind="stable")  # the longest first, so that no long one is left over at the end
    centroids, lengths, rows = fragments(stage, units.centroids)
    arrays = {
        "entry": events.entry, "t": events.t, "out": out, "out_t": times,
        "start": cp.asarray(events.start[0][order]), "stop": cp.asarray(events.stop[0][order]),
        "to": cp.asarray(offsets[order]), "thresholds": cp.asarray(units.thresholds.astype(np.float32)),
        "centroids": cp.asarray(centroids), "lengths": cp.asarray(lengths), "rows": cp.asarray(rows),
        "next": cp.zeros(1, np.int32), "scratch": cp.empty(max(width * kernel.map, 1), np.int32),
    }  # fmt: skip
    given = np.zeros((), GIVEN.dtype())
    for name, array in arrays.items():
        given[name] = array.data.ptr
    given["items"], given["parts"], given["segment"] = len(counts) * parts, parts, segment
    given["fade"] = math.log2(math.e) / stage.tau
    function = launch.compiled(kernel.source).get_function("winners")
    function.max_dynamic_shared_size_bytes = kernel.memory
    function((width,), (THREADS,), (given,), shared_mem=kernel.memory)
    return out, times


def _layer(stage: Stage, units: Units, events: Events) -> Events:
    """Events through one layer: what it emits."""
    out, times = outputs(stage, units, events)
    offsets = np.concatenate([[0], np.cumsum(events.counts[0])])
    if _measured(units):
        passed = out >= 0
        ends = cp.zeros(len(out) + 1, np.int64)
        ends[1:] = cp.cumsum(passed, dtype=np.int64)
        offsets = ends[cp.asarray(offsets)].get()
        out, times = out[passed], times[passed]
    return Events(out, times, offsets[None, :-1], offsets[None, 1:], events.label, events.span)


def _measured(units: Units) -> bool:
    """Whether a layer may reject events."""
    return bool(np.isfinite(units.thresholds).any())


def _parts(counts: Array, most: int) -> Iterator[slice]:
    """Consecutive recordings of at most so many events together, or one."""
    ends, first = np.cumsum(counts), 0
    while first < len(counts):
        before = ends[first - 1] if first else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield slice(first, stop)
        first = stop


def _small(values: int) -> Any:
    """The smallest type for so many values."""
    return np.min_scalar_type(values - 1)


def _joined(arrays: Sequence[Array]) -> Array:
    """One array; a copy only where there are several."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _on_clock(t: Array, origin: Array, counts: Array) -> Array:
    """Times as the recordings have them, from times modulo 2^32."""
    begins = np.repeat(origin, counts)
    found: Array = begins + (t - begins.astype(np.uint32).view(np.int32)).astype(np.int64)
    return found
