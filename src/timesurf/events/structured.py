"""Structured arrays with tonic's names (x, y, z, t, p), one per recording, to flat arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events.checks import AXES, integers

Array = NDArray[Any]


def flat(recordings: Sequence[Array]) -> dict[str, Array]:
    """Every field of these arrays, one recording after another, by name; without a copy if there is one array."""
    if len(recordings) == 0:
        raise EventError("No recordings: from_structured needs at least one array of events.")
    names = recordings[0].dtype.names or ()
    for r, events in enumerate(recordings):
        if events.dtype.names is None or "t" not in events.dtype.names:
            raise EventError(f"recording {r}: events need named fields such as x, y, t, p, not {events.dtype}.")
        if set(events.dtype.names) != set(names):
            raise EventError(f"recording {r} has fields {events.dtype.names}, recording 0 has {names}.")
    return {name: _joined([events[name] for events in recordings], name) for name in (*AXES, "t", "p") if name in names}


def cut(fields: dict[str, Array], starts: Array, stops: Array) -> list[Array]:
    """One structured array per recording, out of flat arrays."""
    dtype = np.dtype([(name, values.dtype) for name, values in fields.items()])
    arrays = []
    for start, stop in zip(starts, stops, strict=True):
        events = np.empty(stop - start, dtype=dtype)
        for name, values in fields.items():
            events[name] = values[start:stop]
        arrays.append(events)
    return arrays


def _joined(parts: Sequence[Array], name: str) -> Array:
    """One field of all recordings; without a copy if there is one recording."""
    for r, part in enumerate(parts):
        try:
            integers(part, name)
        except EventError as error:
            raise EventError(f"recording {r}: {error}") from None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
