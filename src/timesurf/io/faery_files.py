"""Formats that faery (the extra `formats`) decodes and encodes: AEDAT4, Prophesee RAW (EVT2, EVT3), Event Stream.

DAT is only written by it. Where it cannot, the errors raised here name the file and what to do. It is imported on
first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import aedat4
from timesurf.io.columns import DTYPE
from timesurf.io.formats import Asked, Opened

Array = NDArray[Any]
KINDS = {".aedat4": "aedat", ".aedat": "aedat", ".raw": "evt", ".dat": "dat", ".es": "es"}
_UNKNOWN = (65535, 65535)  # the field of a file that does not state one: larger than any camera's
_SENSORS = {  # by what their plugins are called
    b"genx320": (320, 320),
    b"gen31": (640, 480),
    b"gen3_": (640, 480),
    b"gen41": (1280, 720),
    b"gen4_": (1280, 720),
    b"imx636": (1280, 720),
}
_HEADER = 4096  # bytes in which it is looked for
_DAMAGED = " If it is cut short or damaged, copy or record it again; docs/formats.md lists what is read of each format."
_LAST = {  # us: beyond it a format drops high bits (DAT) or writes a byte for every 127 us of silence (Event Stream)
    "evt": 2**50,
    "dat": 2**32,
    "es": 2**36,
}


def opened(path: Path, asked: Asked) -> Opened:
    """A file as a stream of faery's packets."""
    kind, faery = KINDS[path.suffix.lower()], _faery()
    with _explained(f"{path} cannot be read", _DAMAGED):
        if kind == "aedat":
            aedat4.check(path)
        stream = faery.events_stream_from_file(
            path, dimensions_fallback=_UNKNOWN if asked.field is None else tuple(asked.field), file_type=kind
        )
        stated: tuple[int, int] | None = tuple(stream.dimensions())
    if stated == _UNKNOWN:
        stated = _field_of_sensor(path)
    if stated is None:
        raise EventError(
            f"{path} does not state the size of its field: give field=(width, height), if it is a {path.suffix} file."
        )
    return Opened(_packets(stream, path), stated)


def _field_of_sensor(path: Path) -> tuple[int, int] | None:
    """The field of the sensor that the header of a RAW file names, of those that state no field."""
    with path.open("rb") as file:
        header = file.read(_HEADER).partition(b"\x00")[0].lower()
    return next((field for name, field in _SENSORS.items() if name in header), None)


def _packets(stream: Iterable[Array], path: Path) -> Iterator[Array]:
    """Packets of faery as ours; empty ones are left out."""
    with _explained(f"{path} cannot be read", _DAMAGED):
        for theirs in stream:
            if not len(theirs):
                continue
            events = np.empty(len(theirs), dtype=DTYPE)
            for ours, other in (("x", "x"), ("y", "y"), ("t", "t"), ("p", "on")):
                events[ours] = theirs[other]
            yield events


def write(path: Path, recordings: Recordings, out: Path) -> None:
    """Write one recording of a camera to `out`, in the format of the suffix of `path`."""
    kind, t = KINDS[path.suffix.lower()], recordings.t
    last = _LAST.get(kind)
    if last is not None and len(t) and t[-1] >= last:
        raise EventError(
            f"{path} cannot hold the time {t[-1]} us ({path.suffix} ends at {last}): "
            "subtract the first time from all, or write .aedat4."
        )
    faery = _faery()
    events = np.empty(len(t), dtype=faery.EVENTS_DTYPE)
    events["x"], events["y"] = recordings.coords
    events["t"], events["on"] = t, recordings.p
    with _explained(f"{path} cannot be written"):
        faery.events_stream_from_array(events, recordings.field).to_file(
            out,
            file_type=kind,
            version="evt2" if kind == "evt" else None,  # EVT3's clock restarts every 17 s, which a silence hides
            zero_t0=False,
        )


def _faery() -> Any:
    try:
        import faery
    except ImportError as error:
        raise EventError(
            "Files of AEDAT4, Prophesee and Event Stream need faery: pip install 'timesurf[formats]'."
        ) from error
    return faery


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
