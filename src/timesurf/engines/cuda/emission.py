"""What Window layers whose weights stay emit, computed on the card and kept there for the layers above (winners.cu)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.cuda import events as cudaevents
from timesurf.engines.cuda import launch
from timesurf.engines.cuda.blocks import LONGEST
from timesurf.engines.cuda.events import Events
from timesurf.engines.cuda.held import HeldRecordings, Store, coordinates, on_clock
from timesurf.engines.cuda.winners import GIVEN, fragments, winners
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
    first = 0
    for events, _ in cudaevents.stretches([recordings], [label]):
        for some in emissions(stages, parameters, events):
            yield replace(some, part=slice(first + some.part.start, first + some.part.stop))
        first += events.label.shape[1]


def emissions(stages: Stages, parameters: Parameters, events: Events) -> Iterator[Emitted]:
    """The same for events of one network that are on the card."""
    for part in _parts(events.counts[0], max(cudaevents.room() // _BYTES, 1)):
        now, kept = events.cut(part), []
        for stage, units in zip(stages, parameters, strict=True):
            now = _layer(stage, units, now)
            kept.append(now.counts[0])
        yield Emitted(now, part, np.array(kept))


def emitted(stages: Stages, parameters: Parameters, recordings: Recordings) -> Recordings:
    """The events that the last of these layers emits.

    Where there is room they stay on the card. If nothing was rejected they come to the host only when they are read:
    who learns from them on the card never does.
    """
    stage = stages[-1]
    rejects = any(_measured(of) for of in parameters)
    stay = 2 * cudaevents.BYTES * int(recordings.counts.sum()) <= cudaevents.room()
    counts, here, on_host = [np.zeros(1, np.int64)], [], []
    for some in through(stages, parameters, recordings, np.full(len(recordings), -1)):
        counts.append(some.kept[-1])
        if stay:
            here.append((some.events.entry, some.events.t))
        if rejects or not stay:
            units, coords = coordinates(some.events.entry, stage.output_field, stage.units)
            on_host.append((*coords, units, *([_times(some, recordings)] if rejects else [])))
    offsets = np.cumsum(np.concatenate(counts))
    about: dict[str, Any] = {"field": stage.output_field, "polarities": stage.units, "labels": recordings.labels}
    entry, t = (_joined(of, cp) for of in zip(*here, strict=True)) if here else (None, None)
    there: dict[str, Any] = {"entry": entry, "t": t, "narrow": cudaevents.narrow(recordings)}
    if stay and not rejects and offsets[-1]:

        def arrays() -> tuple[Array, Array, tuple[Array, ...]]:
            return (recordings.t, *coordinates(entry, stage.output_field, stage.units))

        held = HeldRecordings(Store(arrays), offsets, **about)
        cudaevents.keep(held, **there, owners=[held.store])
        return held
    *places, units = (_joined(of) for of in list(zip(*on_host, strict=True))[: len(stage.output_field) + 1])
    times = _joined([of[-1] for of in on_host]).astype(recordings.source.dtype, copy=False) if rejects else recordings.t
    found = Recordings(places, times, units, offsets, **about)
    if stay and offsets[-1]:
        cudaevents.keep(found, **there)
    return found


def _times(some: Emitted, recordings: Recordings) -> Array:
    """Times of outputs as the recordings have them."""
    origin, _ = recordings[some.part].spans()
    return on_clock(some.events.t.get(), origin, some.kept[-1])


def outputs(stage: Stage, units: Units, events: Events) -> tuple[Any, Any]:
    """Entries of the layer above and times, of all events of the recordings, one after another; -1: rejected."""
    counts = events.counts[0]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    out, times = (cp.empty(int(offsets[-1]), np.int32) for _ in range(2))
    if not len(out):
        return out, times
    kernel = winners(stage, launch.device(), measured=_measured(units), short=events.span < LONGEST)
    assert kernel is not None
    width, parts, segment = kernel.grid(launch.device(), len(counts), int(counts.max()), cudaevents.room() // 4)
    (order,) = cudaevents.longest_first(counts[None])
    centroids, lengths, rows, slack = fragments(stage, units.centroids)
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
    given["fade"], given["slack"] = math.log2(math.e) / stage.tau, slack
    function = launch.compiled(kernel.source).get_function("winners")
    function.max_dynamic_shared_size_bytes = kernel.memory
    function((width,), (kernel.threads,), (given,), shared_mem=kernel.memory)
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


def _joined(arrays: Sequence[Any], of: Any = np) -> Any:
    """One array, of NumPy or CuPy; a copy only where there are several."""
    return arrays[0] if len(arrays) == 1 else of.concatenate(arrays)
