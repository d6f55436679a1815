"""Files and streams of event cameras and cochleas: one recording per file.

`timesurf.io.formats` lists the formats, docs/formats.md what is read of each. Live: events over UDP, and CSV on
standard input.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings, axis_name
from timesurf.io import csv, faery_files, formats
from timesurf.io.columns import DTYPE
from timesurf.io.formats import SUFFIXES, Asked
from timesurf.io.receive import Datagrams, Lines, Refuse
from timesurf.storage.atomic import put
from timesurf.storage.kinds import check_output
from timesurf.storage.mapped import Spool

__all__ = ["DTYPE", "SUFFIXES", "WRITTEN", "address", "packets", "read", "write"]

Array = NDArray[Any]
_IN_MEMORY = 1 << 20  # events of a recording, at most; 13 bytes each
WRITTEN = (*faery_files.KINDS, ".csv")


def read(
    path: str | Path,
    *,
    field: Sequence[int] | None = None,
    unit: str | None = None,
    columns: str | None = None,
    sensor: str | None = None,
) -> Recordings:
    """One recording, unlabelled; times as in the file, polarities 0 (off) and 1 (on).

    Parameters
    ----------
    path : str or Path
        The file, or the folder of a ROS 2 bag; its suffix and its first bytes determine the format.
    field : sequence of int, optional
        (width, height), or (channels,) of a cochlea; None: as the file states. CSV does not: then the smallest that
        holds the events.
    unit : str, optional
        Of times in CSV and HDF5 that do not state it: s, ms, us or ns.
    columns : str, optional
        Names of the columns of CSV without a line of names, such as "x,y,t,p"; None: t,x,y,on.
    sensor : str, optional
        Of AEDAT 2 that does not name it: dvs128, davis240, davis346 or cochlea.

    Returns
    -------
    Recordings
        Of one recording.

    Raises
    ------
    EventError
        If the file is damaged, or holds no valid events.

    """
    file = formats.opened(Path(path), Asked(field, unit, columns, sensor))
    events = _gathered(file.packets)
    if not len(events):
        raise EventError(f"{path} holds no events.")
    coords = [events[axis_name(d)] for d in range(file.places)]
    try:
        return Recordings(
            coords,
            events["t"],
            events["p"] if file.polarities > 1 else None,
            field=field or file.field or formats.measured(path, coords),
            polarities=file.polarities,
        )
    except EventError as error:
        raise EventError(f"{path}: {error}") from error


def _gathered(packets: Iterator[Array]) -> Array:
    """All packets as one array; of a long recording in an unnamed file that is mapped: it need not fit into memory."""
    events, n, spool = np.empty(1 << 16, DTYPE), 0, None
    for packet in packets:
        if n + len(packet) > _IN_MEMORY:
            spool = spool or Spool()
            spool.append(events[:n])
            n = 0
        if n + len(packet) > len(events):
            events.resize(max(len(events) * 9 // 8, n + len(packet)), refcheck=False)
        events[n : n + len(packet)] = packet
        n += len(packet)
    if spool is not None:
        spool.append(events[:n])
        return spool.array()
    events.resize(n, refcheck=False)
    return events


def packets(
    source: str | Path,
    *,
    field: Sequence[int] | None = None,
    refuse: Refuse | None = None,
    unit: str | None = None,
    columns: str | None = None,
    sensor: str | None = None,
) -> Iterator[Array]:
    """Packets of events, of dtype `DTYPE`, as they arrive; of a file, at most one is in memory.

    Parameters
    ----------
    source : str or Path
        A file as for `read`; "udp://host:port", where datagrams (13 bytes per event: t, x, y, on, as faery sends them)
        are received until the iterator is closed; or "-", standard input, as CSV.
    field : sequence of int, optional
        (width, height), needed only for a RAW or DAT file that does not state it.
    refuse : callable, optional
        For datagrams and standard input: called with a reason, and how many datagrams or lines were refused for it,
        and then reading goes on. None: raise EventError.
    unit, columns, sensor : str, optional
        As of `read`; unit and columns also for standard input.

    Returns
    -------
    iterator of structured arrays
        Never empty; of a file, in time order. Those of `Datagrams` and `Lines` are as they came: `Session.push` checks
        their order.

    Examples
    --------
    >>> packets("udp://localhost")
    Traceback (most recent call last):
    timesurf.errors.EventError: udp://localhost names no host and port (up to 65535): such as ...

    """
    name = str(source)
    if name.startswith("udp:"):
        return Datagrams(name, address(name), refuse)
    if name == "-":
        asked = Asked(unit=unit, columns=columns).otherwise(formats.assumed())
        return Lines(refuse=refuse, columns=asked.columns, unit=asked.unit)
    return formats.opened(Path(source), Asked(field, unit, columns, sensor)).packets


def write(path: str | Path, recordings: Recordings) -> None:
    """Write one recording in the format of the path's suffix, completely or not at all. Labels are not written.

    Parameters
    ----------
    path : str or Path
        The file, with one of the suffixes in `WRITTEN`; replaced if it exists.
    recordings : Recordings
        One recording of a camera: two dimensions, at most two polarities. CSV takes one dimension too.

    Examples
    --------
    >>> write("two.es", Recordings([[0, 1], [0, 0]], t=[1, 2], offsets=[0, 1, 2], field=(2, 1)))
    Traceback (most recent call last):
    timesurf.errors.EventError: two.es takes one recording, not 2: write each to its own file, or all to one .npz file.

    """
    path = Path(path)
    if path.suffix.lower() not in WRITTEN:
        raise EventError(f"{path} is of no known format to write; known are {', '.join(WRITTEN)}.")
    if len(recordings) != 1:
        raise EventError(
            f"{path} takes one recording, not {len(recordings)}: write each to its own file, or all to one .npz file."
        )
    dimensions = (1, 2) if path.suffix.lower() == ".csv" else (2,)
    if len(recordings.field) not in dimensions or recordings.polarities > 2:
        raise EventError(f"{path} takes events of a camera (x, y and at most 2 polarities): an .npz file takes any.")
    check_output(path)
    if path.suffix.lower() == ".csv":
        csv.write(path, recordings)
        return
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=f".{path.name}.") as folder:
        whole = Path(folder) / path.name
        faery_files.write(path, recordings, whole)
        put(whole, path)


def address(url: str) -> tuple[Any, ...]:
    """Host and port of udp://host:port, as a socket takes them."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise EventError(
            f"{url} names no host and port (up to 65535): such as udp://127.0.0.1:7777, or udp://0.0.0.0:7777 to "
            "listen on all addresses."
        )
    return (host, port, 0, 0) if ":" in host else (host, port)
