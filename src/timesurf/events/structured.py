"""Events of recordings as other programs hold them, one array per recording, to flat arrays and back.

Structured arrays with tonic's names (x, y, z, t, p) or usual others, and plain ones with one column for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events.checks import AXES, LATEST, integers
from timesurf.events.names import UNITS, meaning, unit_of

Array = NDArray[Any]
COLUMNS = "x,y,t,p"  # of arrays without names


def flat(recordings: Sequence[Array], columns: str = COLUMNS, unit: str | None = None) -> dict[str, Array]:
    """Every field of these arrays, one recording after another, by name; without a copy if there is one array."""
    if len(recordings) == 0:
        raise EventError("No recordings: from_structured needs at least one array of events.")
    found = [_fields(events, r, columns, unit_of(unit)) for r, events in enumerate(recordings)]
    names = list(found[0])
    for r, fields in enumerate(found):
        if set(fields) != set(names):
            raise EventError(f"recording {r} has fields {tuple(fields)}, recording 0 has {tuple(names)}.")
    joined = {name: _joined([fields[name] for fields in found], name) for name in (*AXES, "t", "p") if name in names}
    p = joined.get("p")
    if p is not None and len(p) and p.dtype.kind == "i" and p.min() == -1 and p.max() <= 1:
        joined["p"] = (p > 0).view(np.uint8)  # -1 and 1 are how some programs write off and on
    return joined


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


def _fields(events: Any, r: int, columns: str, unit: str | None) -> dict[str, Array]:
    """The fields of one recording by our names."""
    events = np.asanyarray(events)
    names = events.dtype.names
    if names is None and events.ndim == 2:
        return _columns(events, r, columns, unit)
    meanings = [(name, *meaning(name)) for name in names or ()]
    fields = {ours: (events[name], stated) for name, ours, stated in meanings if ours is not None}
    if "t" not in fields or len(fields) < sum(ours is not None for _, ours, _ in meanings):
        raise EventError(f"recording {r}: events need named fields such as x, y, t, p, not {events.dtype}.")
    found = {ours: values for ours, (values, _) in fields.items()}
    unit = unit or fields["t"][1]
    if unit is not None:
        found["t"] = _in_microseconds(found["t"], unit, r)
    return found


def _columns(events: Array, r: int, columns: str, unit: str | None) -> dict[str, Array]:
    """The columns of a plain array by our names; whole numbers may be held as floats."""
    named = [meaning(name) for name in columns.split(",")]
    held = [ours for ours, _ in named]
    if events.shape[1] != len(held) or "t" not in held or len(set(held)) < len(held):
        raise EventError(
            f"recording {r}: an array of shape {events.shape} with the columns {columns!r}. As many are needed, "
            "each once, with a t among them: give columns='t,x,y,p', or as they are."
        )
    found = {}
    for (ours, stated), values in zip(named, events.T, strict=True):
        if ours == "t":
            fraction = values.dtype.kind == "f" and bool(np.any(np.remainder(values, 1) != 0))
            found["t"] = _in_microseconds(values, unit or stated or ("s" if fraction else "us"), r)
        elif ours is not None:
            found[ours] = _whole(values, ours, r)
    return found


def _whole(values: Array, name: str, r: int) -> Array:
    if values.dtype.kind != "f":
        return values
    if not np.all(np.abs(values) < LATEST) or np.any(values != np.rint(values)):  # also false of NaN
        raise EventError(f"recording {r}: {name} holds numbers that are not whole.")
    return values.astype(np.int64)


def _in_microseconds(t: Array, unit: str, r: int) -> Array:
    """Times in whole microseconds."""
    if t.dtype.kind not in "iuf" or t.ndim != 1:
        raise EventError(f"recording {r}: t has dtype {t.dtype}: numbers are needed.")
    power, real = UNITS[unit], t.dtype.kind == "f"
    if real:
        t = np.rint(t.astype(np.float64) * 10.0**power)
    limit = LATEST if real else LATEST // 10 ** max(power, 0)
    if len(t) and not (t.min() >= 0 and t.max() < limit):  # also false of NaN
        raise EventError(f"recording {r}: times in {unit} must be numbers from 0 to 2**62 us, and these are not.")
    t = t.astype(np.int64, copy=False)
    if real or power == 0:
        return t
    whole: Array = t // 10**-power if power < 0 else t * 10**power
    return whole


def _joined(parts: Sequence[Array], name: str) -> Array:
    """One field of all recordings; without a copy if there is one recording."""
    for r, part in enumerate(parts):
        try:
            integers(part, name)
        except EventError as error:
            raise EventError(f"recording {r}: {error}") from None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
