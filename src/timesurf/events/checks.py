"""What events must satisfy before anything indexes memory by them: integers, inside their bounds, in time order."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.storage.mapped import release

Array = NDArray[Any]
AXES = ("x", "y", "z")  # tonic's names; further dimensions are called x3, x4, ...
LATEST = 2**62  # us: far beyond any clock, and differences of two such times still fit in 64 bits
MOST_ENTRIES = 2**31 - 1  # of a field times its polarities: engines number them in 32 bits, and store 8 bytes for each
_CHECKED_AT_ONCE = 1 << 20  # events: checking a memory-mapped file needs no more memory than this


def axis_name(dimension: int) -> str:
    """x, y, z, then x3, x4, ..."""
    return AXES[dimension] if dimension < len(AXES) else f"x{dimension}"


def size(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        raise EventError(f"{name} = {value!r} must be whole numbers.") from None
    if number < 1:
        raise EventError(f"{name} = {value!r} must be at least 1.")
    return number


def field_size(field: Sequence[Any], polarities: Any) -> tuple[tuple[int, ...], int]:
    """Field and number of polarities as Python integers, together within the bound that everything relies on.

    Examples
    --------
    >>> field_size((2**32, 2**32), 2)
    Traceback (most recent call last):
    timesurf.errors.EventError: A field of 4294967296 x 4294967296 with 2 polarities has more than 2,147,483,647 ...

    """
    sizes, number = tuple(size(n, "field") for n in field), size(polarities, "polarities")
    if math.prod(sizes) * number > MOST_ENTRIES:  # Python integers: a product in 64 bits may overflow to a small one
        raise EventError(
            f"A field of {' x '.join(map(str, sizes))} with {number} polarities has more than {MOST_ENTRIES:,} "
            "entries. Give the true size of the sensor, or crop the events."
        )
    return sizes, number


def sizes(coords: Sequence[Array], names: Sequence[str] | None = None) -> tuple[int, ...]:
    """The smallest field that holds these coordinates.

    Parameters
    ----------
    coords : sequence of arrays
        One integer array per dimension.
    names : sequence of str, optional
        What error messages call them; x, y, z if not given.

    """
    flat = [integers(x, names[d] if names else axis_name(d)) for d, x in enumerate(coords)]
    return tuple(max(_largest(x) + 1, 1) for x in flat)


def _largest(values: Array) -> int:
    """The largest value, 0 of none; of a mapped file, little is in memory at a time."""
    largest = 0
    for start in range(0, len(values), _CHECKED_AT_ONCE):
        largest = max(largest, int(values[start : start + _CHECKED_AT_ONCE].max()))
        release(values)
    return largest


def integers(values: Any, name: str) -> Array:
    """A one-dimensional integer array, without a copy where it is one already."""
    array: Array
    try:
        array = np.asanyarray(values)
    except ValueError:
        raise EventError(f"{name} is not a flat array: its rows have mixed lengths.") from None
    if array.ndim != 1:
        raise EventError(f"{name} has shape {array.shape}: one flat array is needed.")
    if array.dtype == bool:
        return array.view(np.uint8)
    if array.size == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        nan = " and holds NaN" if array.dtype.kind == "f" and np.isnan(array).any() else ""
        raise EventError(f"{name} has dtype {array.dtype}{nan}: integers are needed ({name}.astype(int) makes them).")
    return array


def check_lengths(arrays: dict[str, Array], field: tuple[int, ...], offsets: Array) -> None:
    """One coordinate per dimension, one value per event in every array, and offsets that divide the events."""
    dimensions, events = len(arrays) - 2, len(arrays["t"])
    if dimensions != len(field):
        raise EventError(f"{dimensions} coordinates for a field {field}: give one size per coordinate.")
    for name, values in arrays.items():
        if len(values) != events:
            raise EventError(f"{name} has {len(values)} values but t has {events}: each needs one per event.")
    if len(offsets) < 2:
        raise EventError("No recordings: offsets need a start and an end, such as [0, events].")
    if offsets[0] != 0 or offsets[-1] != events:
        raise EventError(f"offsets run from {offsets[0]} to {offsets[-1]}, not from 0 to the {events} events.")
    back = offsets[1:] < offsets[:-1]  # compared, not subtracted: differences of numbers from a file may overflow
    if back.any():
        r = int(np.argmax(back))
        raise EventError(f"recording {r} ends (offset {offsets[r + 1]}) before it begins ({offsets[r]}).")


def check_events(arrays: dict[str, Array], limits: dict[str, int], starts: Array) -> None:
    """Every value from 0 to below its limit, and times that never decrease inside a recording.

    Parameters
    ----------
    arrays : dict of arrays
        Values of all events by name; "t" is among them.
    limits : dict of int
        The limit of each array, by the same names.
    starts : array
        Number of the first event of each recording, in increasing order.

    """
    t = arrays["t"]
    for start in range(0, len(t), _CHECKED_AT_ONCE):
        stop = min(start + _CHECKED_AT_ONCE, len(t))
        for name, values in arrays.items():
            part, limit = values[start:stop], limits[name]
            if part.min() < 0 or part.max() >= limit:
                i = start + int(np.argmax((part < 0) | (part >= limit)))
                raise EventError(f"{_where(i, starts)}: {refusal(name, int(values[i]), limit)}")
        since = max(start - 1, 0)  # time may decrease between two parts
        part = t[since:stop]
        back = part[1:] < part[:-1]
        begins = starts[slice(*np.searchsorted(starts, [since + 1, stop]))]
        back[begins - since - 1] = False  # a recording may begin earlier than the one before it ended
        if back.any():
            i = int(np.argmax(back)) + since + 1
            raise EventError(
                f"{_where(i, starts)}: time {t[i]} us comes before {t[i - 1]} us.\n"
                "Events must be in time order; Recordings(..., sort=True) sorts them."
            )
        release(*arrays.values())


def refusal(name: str, value: int, limit: int) -> str:
    """Why a coordinate (named by its axis), a polarity or a time is not accepted, and what to do."""
    if name == "t":
        return f"time {value} us is {'negative' if value < 0 else 'beyond 2**62 us'}; times count from 0 up."
    if name == "p":
        return f"polarity {value} is not one of the {limit} polarities (0 to {limit - 1})."
    return f"{name} = {value} is off the field (0 to {limit - 1}). Crop the events or give a larger field."


def _where(event: int, starts: Array) -> str:
    r = int(np.searchsorted(starts, event, side="right")) - 1
    return f"recording {r}, event {event - int(starts[r])}"
