"""Recordings through a network that learns nothing: checks of the input, inference, the events that a layer emits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Emits, Engine, Options, Outcome, Parameters, TakesDataSet, Trace, pack
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage, Window

Array = NDArray[Any]
_EVENTS_AT_ONCE = 1 << 22  # packed for an engine at one time: bounds memory beyond the data
_RECORDINGS_AT_ONCE = 1 << 12  # each has votes for every class, of which there may be many
_TRACED_AT_ONCE = 1 << 19  # events: a trace is large
_MOST_NUMBERS = 1 << 27  # of all centroids, in float64: 1 GiB; engines work on copies of them
_MOST_VOTES = 1 << 28  # of all recordings that are run at one time: 2 GiB, and as much for evidence
_MOST_PER_EVENT = 1 << 23  # multiplications of a Window layer: a core then runs about a thousand events per second


def parts(recordings: Recordings, batch_size: int | None, events: int | None = None) -> Iterator[slice]:
    """Slices of recordings for an engine: of `batch_size` recordings, or of as many as a bounded memory allows."""
    if batch_size is not None:
        yield from (slice(r, r + batch_size) for r in range(0, len(recordings), batch_size))
        return
    for part in recordings.parts(events or _EVENTS_AT_ONCE):
        firsts = range(part.start, part.stop, _RECORDINGS_AT_ONCE)
        yield from (slice(r, min(r + _RECORDINGS_AT_ONCE, part.stop)) for r in firsts)


def check_input(stages: tuple[Stage, ...], recordings: Any) -> None:
    """Refuse what is not recordings on the field and with the polarities of these stages."""
    if not isinstance(recordings, Recordings):
        raise EventError(
            f"Recordings are needed, not {type(recordings).__name__}: "
            "Recordings.from_structured makes them from arrays with fields x, y, t, p."
        )
    if len(recordings) == 0:
        raise EventError("No recordings.")
    field, polarities = stages[0].field, stages[0].polarities
    if recordings.field != field or recordings.polarities != polarities:
        raise EventError(
            f"The recordings have field {recordings.field} and {recordings.polarities} polarities; "
            f"this network takes {field} and {polarities}."
        )


def check_size(stages: tuple[Stage, ...]) -> None:
    """Refuse a network that would take minutes or more memory than most machines have, before anything is allocated."""
    for k, stage in enumerate(stages, start=1):
        numbers = stage.units * math.prod(stage.surface_shape)
        layer = f"Layer {k}, {stage.units:,} units over {' x '.join(map(str, stage.surface_shape))}"
        if isinstance(stage.layer, Window) and numbers > _MOST_PER_EVENT:
            raise SettingError(
                f"{layer}, needs {numbers:,} multiplications per event; at most {_MOST_PER_EVENT:,} are accepted. "
                "Use a smaller window, fewer units, or fewer polarities (transforms.merge_polarities)."
            )
        if numbers > _MOST_NUMBERS:
            raise SettingError(
                f"{layer}, has {numbers:,} centroid entries, {8 * numbers / 2**30:,.1f} GiB; at most "
                f"{_MOST_NUMBERS:,} are accepted. Crop the events (transforms.crop), use fewer units "
                "in the layer below or fewer classes, or reduce the field by a Tile layer below."
            )


def check_votes(recordings: int, classes: int) -> None:
    """Refuse more recordings than there is memory for votes for every class, before any is run.

    Raises
    ------
    EventError
        If there are, with the number of recordings that may be run at a time.
    """
    if recordings * classes > _MOST_VOTES:
        raise EventError(
            f"Votes of {recordings:,} recordings for {classes:,} classes take {8 * recordings * classes / 2**30:,.1f} "
            f"GiB, and evidence as much again. Run at most {_MOST_VOTES // classes:,} recordings at a time, such as "
            f"recordings[:{_MOST_VOTES // classes}]."
        )


def layer_number(stages: tuple[Stage, ...], layer: int) -> int:
    """The number of a layer from 0 up; -1 is the last."""
    depth = len(stages)
    if not -depth <= layer < depth:
        raise SettingError(f"layer = {layer} does not exist: this network has layers 0 to {depth - 1}.")
    return layer % depth


def class_numbers(classes: Array, recordings: Recordings) -> Array:
    """The index in `classes` of each recording's label, -1 where it has none."""
    labels = recordings.labels
    if labels is None:
        return np.full(len(recordings), -1)
    order = np.argsort(classes)
    place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(order) - 1)
    label = order[place]
    unlabelled = ~recordings.labelled
    strange = (classes[label] != labels) & ~unlabelled
    if strange.any():
        r = int(np.argmax(strange))
        raise EventError(
            f"recording {r} has label {labels[r]}, which is none of {classes.tolist()}: leave such recordings out, or "
            "add the class to the network (`extend`)."
        )
    return np.where(unlabelled, -1, label)


def infer(
    engine: Engine, stages: tuple[Stage, ...], parameters: Parameters, recordings: Recordings, options: Options
) -> Outcome:
    """Run all recordings, as many at a time as the engine takes."""
    check_votes(len(recordings), stages[-1].classes)
    if isinstance(engine, TakesDataSet):
        return engine.infer_all(stages, parameters, recordings, options)
    whole = Outcome.blank(stages, recordings.counts)
    if options.temperature > 0:
        whole.evidence = np.zeros(whole.votes.shape)
    for part in parts(recordings, None):
        found = engine.infer(stages, parameters, pack(recordings[part]), options)
        whole.kept[part], whole.votes[part] = found.kept, found.votes
        if whole.evidence is not None and found.evidence is not None:
            whole.evidence[part] = found.evidence
    return whole


def trace(
    engine: Engine,
    stages: tuple[Stage, ...],
    parameters: Parameters,
    recordings: Recordings,
    options: Options,
    label: Array | None = None,
) -> Trace:
    """What happened to every event; `label` gives G, the sign of S."""
    found = engine.infer(stages, parameters, pack(recordings, label), options, trace=True).trace
    assert found is not None
    return found


def emitted(
    engine: Engine,
    stages: tuple[Stage, ...],
    parameters: Parameters,
    recordings: Recordings,
    options: Options,
    layer: int,
) -> Recordings:
    """The events that a layer (0: the first) emits: its output field, its units as polarities."""
    lower = stages[: layer + 1]
    if isinstance(engine, Emits):
        found_there = engine.emitted(lower, Parameters(parameters[: layer + 1]), recordings, options)
        if found_there is not None:
            return found_there
    field, units, most = lower[-1].output_field, lower[-1].units, int(recordings.counts.sum())
    limits = (*field, units)
    kinds = [*(np.min_scalar_type(limit - 1) for limit in limits), recordings.source.dtype]  # they may be gigabytes
    emits, counts, n = [np.empty(most, kind) for kind in kinds], [np.zeros(1, dtype=np.int64)], 0
    for part in parts(recordings, None, _TRACED_AT_ONCE):
        some = recordings[part]
        found = trace(engine, stages, parameters, some, options)
        passed = found.passed > layer
        x = tuple(v[passed] for v in some.coords)
        for stage in lower:
            x = stage.layer.output(x)  # type: ignore[arg-type, assignment]  # works on arrays as on numbers
        first, n = n, n + int(np.count_nonzero(passed))
        for array, values in zip(emits, (*x, found.winner[passed, layer], some.t[passed]), strict=True):
            array[first:n] = values
        counts.append(np.diff(np.concatenate([[0], np.cumsum(passed)])[some.offsets]))
        recordings.release()
    *coords, p, t = (array if n == most else array[:n].copy() for array in emits)
    return Recordings(
        coords, t, p, np.cumsum(np.concatenate(counts)), field=field, polarities=units, labels=recordings.labels
    )  # fmt: skip
