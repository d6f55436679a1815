"""Events in HDF5, through h5py (the extra `hdf5`): Prophesee's files, DSEC's, and others with the same structure.

Prophesee: a table CD/events with x, y, p and t (us). DSEC: arrays events/x, y, t and p, and t_offset, which all times
lack. Others: a group or table called events, or arrays at the root, by the usual names (`timesurf.events.names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import LATEST
from timesurf.events.names import UNITS, meaning, unit_of
from timesurf.io.columns import DTYPE
from timesurf.io.formats import AT_ONCE, Asked, Opened

Array = NDArray[Any]
_PLACES = ("CD/events", "events", "/")  # where the events are
_FIELDS_OF = ("geometry", "sensor_resolution", "resolution")  # attributes that state the field
_DSEC = (640, 480)
_PER_BYTE = 8  # events, at most: codecs of events need several bytes for each
_DAMAGED = (
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    UnicodeDecodeError,
)  # what h5py raises


def opened(path: Path, asked: Asked) -> Opened:
    """A file; its events are read packet by packet."""
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            place, held, unit = _events(file, h5py, path)
            field = _field(file)
            unit = unit_of(asked.unit) or unit or ("s" if _kind(file, place, held["t"]) == "f" else "us")
    except EventError:
        raise
    except _DAMAGED as error:
        raise _explained(path, error) from error
    return Opened(_packets(path, place, held, unit), field, 2 if "y" in held else 1, 2 if "p" in held else 1)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise EventError("HDF5 files need h5py: pip install 'timesurf[hdf5]'.") from error
    with suppress(ImportError):
        import hdf5plugin  # noqa: F401  DSEC's arrays are compressed by one of its codecs
    return h5py


def _events(file: Any, h5py: Any, path: Path) -> tuple[str, dict[str, str], str | None]:
    """Where the events are, what their arrays are called, and the unit that a name states."""
    for place in _PLACES:
        here = file.get(place)
        if isinstance(here, h5py.Dataset):
            names = list(here.dtype.names or ())
        elif isinstance(here, h5py.Group):
            names = [name for name in here if isinstance(here.get(name), h5py.Dataset) and here[name].ndim == 1]
        else:
            continue
        meanings = {name: meaning(name) for name in names}
        held = {ours: name for name, (ours, _) in meanings.items() if ours is not None}
        if {"t", "x"} <= set(held):
            return place, held, meanings[held["t"]][1]
    raise EventError(
        f"{path} holds {', '.join(list(file)[:8]) or 'nothing'}: events are needed at CD/events, events, or the root, "
        "with x, y, t and p."
    )


def _kind(file: Any, place: str, name: str) -> str:
    here = file[place]
    kind: str = (here.dtype[name] if here.dtype.names else here.dtype).kind if hasattr(here, "dtype") else ""
    return kind or str(here[name].dtype.kind)


def _field(file: Any) -> tuple[int, ...] | None:
    for name in _FIELDS_OF:
        if name in file.attrs:
            stated = file.attrs[name]
            if isinstance(stated, bytes | str):
                text = stated.decode() if isinstance(stated, bytes) else stated
                numbers = [int(n) for n in re.findall(r"\d{1,5}", text)]
            else:
                numbers = [int(n) for n in np.ravel(stated)[::-1]]  # sensor_resolution is (height, width)
            if len(numbers) == 2 and min(numbers) > 0:
                return numbers[0], numbers[1]
    return _DSEC if "ms_to_idx" in file and "t_offset" in file else None


def _packets(path: Path, place: str, held: dict[str, str], unit: str) -> Iterator[Array]:
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            here = file[place]
            offset = int(np.ravel(file["t_offset"][()])[0]) if "t_offset" in file else 0
            table = isinstance(here, h5py.Dataset)
            lengths = {len(here)} if table else {len(here[name]) for name in held.values()}
            if len(lengths) > 1:
                raise ValueError(f"arrays of {place} have different lengths: {sorted(lengths)}")
            number = lengths.pop()
            if number > _PER_BYTE * path.stat().st_size:  # HDF5 makes up what a file does not hold, for ever
                raise ValueError(f"{place} is said to have {number:,} events, more than such a file can hold")
            for i in range(0, number, AT_ONCE):
                part = slice(i, i + AT_ONCE)
                rows = here[part] if table else {name: here[name][part] for name in held.values()}
                yield _packet({ours: rows[name] for ours, name in held.items()}, unit, offset, path, i)
    except EventError:
        raise
    except _DAMAGED as error:
        raise _explained(path, error) from error


def _packet(values: dict[str, Array], unit: str, offset: int, path: Path, first: int) -> Array:
    packet = np.zeros(len(values["t"]), DTYPE)
    for name in ("x", "y"):
        if name in values:
            if len(values[name]) and not (values[name].min() >= 0 and values[name].max() < 1 << 16):
                raise EventError(f"{path}, event {first} and on: {name} is not from 0 to 65535.")
            packet[name] = values[name]
    if "p" in values:
        packet["p"] = values["p"] > 0
    t = values["t"]
    if t.dtype.kind == "f":
        t = np.rint(t * 10.0 ** UNITS[unit])
    if t.dtype.kind not in "iuf" or not (t.min() >= 0 and t.max() < LATEST):
        raise EventError(f"{path}, event {first} and on: times are not numbers from 0 to 2**62 us.")
    t = t.astype(np.int64)
    if values["t"].dtype.kind != "f" and UNITS[unit]:
        t = t // 1000 if unit == "ns" else t * 10 ** UNITS[unit]
    packet["t"] = t + offset
    if packet["t"].min() < 0 or packet["t"].max() >= LATEST:
        raise EventError(f"{path}, event {first} and on: times are not from 0 to 2**62 us.")
    return packet


def _explained(path: Path, error: Exception) -> EventError:
    """An error of h5py as ours, in one line."""
    why = " ".join(str(error).split()).rstrip(".")[:200]
    if "filter" in why or "plugin" in why:
        why += (
            ". It is compressed: DSEC's codec comes with pip install 'timesurf[hdf5]', Prophesee's with its SDK "
            "(HDF5_PLUGIN_PATH)"
        )
    return EventError(f"{path} cannot be read: {why}.")
