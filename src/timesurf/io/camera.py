"""Files and streams of event cameras, through faery (the extra `formats`): one recording per file.

AEDAT4, Prophesee RAW (EVT2, EVT3) and DAT, Event Stream, CSV; live, events over UDP and CSV on standard input, which
need no faery. It decodes and encodes files; where it cannot, the errors raised here name the file and what to do. It is
imported on first use.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings, sizes
from timesurf.io import aedat4
from timesurf.io.receive import DTYPE, Datagrams, Lines, Refuse, check_header
from timesurf.storage.atomic import put
from timesurf.storage.kinds import check_input, check_output

Array = NDArray[Any]
SUFFIXES = {".aedat4": "aedat", ".aedat": "aedat", ".raw": "evt", ".dat": "dat", ".es": "es", ".csv": "csv"}
_UNKNOWN = (65535, 65535)  # the field of a file that does not state one: larger than any camera's
_DAMAGED = " If it is cut short or damaged, copy or record it again; docs/formats.md lists what is read of each format."
_LAST = {  # us: beyond it a format drops high bits (DAT) or writes a byte for every 127 us of silence (Event Stream)
    "evt": 2**50,
    "dat": 2**32,
    "es": 2**36,
}


def read(path: str | Path, *, field: Sequence[int] | None = None) -> Recordings:
    """One recording, unlabelled, with polarities 0 (off) and 1 (on); times as in the file.

    Parameters
    ----------
    path : str or Path
        The file; its suffix determines the format.
    field : sequence of int, optional
        (width, height); None: as the file states. A CSV file does not: then the smallest that holds the events.

    Returns
    -------
    Recordings
        Of one recording.

    Raises
    ------
    EventError
        If the file is damaged, or holds no valid events.

    """
    stream, stated = _file(Path(path), field)
    parts = list(_packets(stream, str(path), _DAMAGED))
    if not parts:
        raise EventError(f"{path} holds no events.")
    events = np.concatenate(parts)
    if field is None:
        field = stated or sizes([events["x"], events["y"]])
    try:
        return Recordings.from_structured([events], field=field, polarities=2)
    except EventError as error:
        raise EventError(f"{path}: {error}") from error


def packets(source: str | Path, *, field: Sequence[int] | None = None, refuse: Refuse | None = None) -> Iterator[Array]:
    """Packets of events, of dtype `DTYPE`, as they arrive; of a file, at most one is in memory.

    Parameters
    ----------
    source : str or Path
        A file as for `read`; "udp://host:port", where datagrams (13 bytes per event: t, x, y, on, as faery sends them)
        are received until the iterator is closed; or "-", standard input, as CSV with the columns t,x,y,on.
    field : sequence of int, optional
        (width, height), needed only for a RAW or DAT file that does not state it.
    refuse : callable, optional
        For datagrams and standard input: called with a reason, and how many datagrams or lines were refused for it,
        and then reading goes on. None: raise EventError.

    Returns
    -------
    iterator of structured arrays
        Never empty; of a file, in time order. Those of `Datagrams` and `Lines` are as they came: `Session.push` checks
        their order.

    Examples
    --------
    >>> packets("udp://localhost")
    Traceback (most recent call last):
    timesurf.errors.EventError: udp://localhost names no host and port: udp://0.0.0.0:7777 listens on port 7777 of ...

    """
    name = str(source)
    if name.startswith("udp:"):
        return Datagrams(name, _address(name), refuse)
    if name == "-":
        return Lines(refuse=refuse)
    stream, _ = _file(Path(source), field)
    return _packets(stream, name, _DAMAGED)


def write(path: str | Path, recordings: Recordings) -> None:
    """Write one recording in the format of the path's suffix, completely or not at all. Labels are not written.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it exists.
    recordings : Recordings
        One recording of a camera: two dimensions, at most two polarities.

    Examples
    --------
    >>> write("two.es", Recordings([[0, 1], [0, 0]], t=[1, 2], offsets=[0, 1, 2], field=(2, 1)))
    Traceback (most recent call last):
    timesurf.errors.EventError: two.es takes one recording, not 2: write each to its own file, or all with io.npz.write.

    """
    path = Path(path)
    kind = _kind(path)
    if len(recordings) != 1:
        raise EventError(
            f"{path} takes one recording, not {len(recordings)}: write each to its own file, or all with io.npz.write."
        )
    if len(recordings.field) != 2 or recordings.polarities > 2:
        raise EventError(f"{path} takes events of a camera (x, y and at most 2 polarities): io.npz.write takes any.")
    t, last = recordings.t, _LAST.get(kind)
    if last is not None and len(t) and t[-1] >= last:
        raise EventError(
            f"{path} cannot hold the time {t[-1]} us ({path.suffix} ends at {last}): "
            "subtract the first time from all, or write .aedat4."
        )
    faery = _faery()
    events = np.empty(len(t), dtype=faery.EVENTS_DTYPE)
    events["x"], events["y"] = recordings.coords
    events["t"], events["on"] = t, recordings.p
    check_output(path)
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=f".{path.name}.") as folder:
        whole = Path(folder) / path.name
        with _explained(f"{path} cannot be written"):
            faery.events_stream_from_array(events, recordings.field).to_file(
                whole,
                file_type=kind,
                version="evt2" if kind == "evt" else None,  # EVT3's clock restarts every 17 s, which a silence hides
                zero_t0=False,
            )
        put(whole, path)


# ---------------------------------------------------------------------- what faery needs to know


def _faery() -> Any:
    try:
        import faery
    except ImportError as error:
        raise EventError(
            "Reading files and streams of cameras needs faery: pip install 'timesurf[formats]'."
        ) from error
    return faery


def _kind(path: Path) -> str:
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise EventError(f"{path} is of no known format; known are {', '.join(SUFFIXES)}.")
    return kind


def _file(path: Path, field: Sequence[int] | None) -> tuple[Iterable[Array], tuple[int, ...] | None]:
    """A file as a stream of faery's packets, and the field that it states."""
    kind = _kind(path)
    check_input(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} {'is a folder, not a file' if path.exists() else 'does not exist'}.")
    if path.stat().st_size == 0:
        raise EventError(f"{path} is empty (0 bytes).")
    faery = _faery()
    columns = faery.CsvProperties.default()
    if kind == "csv":
        columns.has_header = _has_header(path)
    with _explained(f"{path} cannot be read", _DAMAGED):
        if kind == "aedat":
            aedat4.check(path)
        stream = faery.events_stream_from_file(
            path,
            dimensions_fallback=_UNKNOWN if field is None or kind == "csv" else tuple(field),
            file_type=kind,
            csv_properties=columns,
        )
        stated = tuple(stream.dimensions())
    if stated != _UNKNOWN:
        return stream, stated
    if kind != "csv":
        raise EventError(
            f"{path} does not state the size of its field: give field=(width, height), if it is a {path.suffix} file."
        )
    return stream, None


def _has_header(path: Path) -> bool:
    """Whether a CSV file begins with names of columns; other columns than t, x, y and on (or p) are refused."""
    with path.open("rb") as file:
        first = file.readline(200).decode("ascii", "replace").strip()
    if first[:1].isdigit():
        return False
    check_header(first, path)
    return True


def _address(url: str) -> tuple[Any, ...]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise EventError(f"{url} names no host and port: udp://0.0.0.0:7777 listens on port 7777 of all addresses.")
    return (host, port, 0, 0) if ":" in host else (host, port)


def _packets(stream: Iterable[Array], name: str, advice: str = "") -> Iterator[Array]:
    """Packets of faery as ours, in time order; empty ones are left out."""
    last = -1
    with _explained(f"{name} cannot be read", advice):
        for theirs in stream:
            if not len(theirs):
                continue
            events = np.empty(len(theirs), dtype=DTYPE)
            for ours, other in (("x", "x"), ("y", "y"), ("t", "t"), ("p", "on")):
                events[ours] = theirs[other]
            before = np.concatenate([[last], events["t"][:-1]])
            back = np.flatnonzero(events["t"] < before)
            if len(back):
                i = int(back[0])
                raise EventError(f"{name}: time {events['t'][i]} us comes before {before[i]} us, out of order.")
            last = int(events["t"][-1])
            yield events


@contextmanager
def _explained(what: str, advice: str = "") -> Iterator[None]:
    """Errors of faery as ours; also panics of its compiled part, which are not of class Exception."""
    try:
        yield
    except EventError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise EventError(f"{what}: {str(error).strip().rstrip('.')}.{advice}") from error
