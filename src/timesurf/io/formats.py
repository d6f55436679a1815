"""Which format a file has, by its suffix and its first bytes, and what reads it: one module per format.

A module of a format has a function `opened(path, asked)`. It is imported when the first such file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import sizes
from timesurf.storage.kinds import check_input

Array = NDArray[Any]
AT_ONCE = 1 << 14  # events of a packet, of formats that have no packets of their own


@dataclass(frozen=True)
class Asked:
    """What a caller says about a file that does not say it itself; formats that have no use for it ignore it.

    Parameters
    ----------
    field : sequence of int, optional
        Size along each dimension.
    unit : str, optional
        Of the times in CSV and HDF5: s, ms, us or ns.
    columns : str, optional
        Names of the columns of a CSV file without a line of names.
    sensor : str, optional
        Of AEDAT 2: what the bits of an address mean.

    """

    field: Sequence[int] | None = None
    unit: str | None = None
    columns: str | None = None
    sensor: str | None = None

    def otherwise(self, other: Asked) -> Asked:
        """These settings, and those of another where these say nothing."""
        return Asked(
            *(getattr(other, of.name) if (own := getattr(self, of.name)) is None else own for of in fields(self))
        )


_ASSUMED = ContextVar("_ASSUMED", default=Asked())  # noqa: B039  it is frozen


_MEASURED: ContextVar[list[str] | None] = ContextVar("_MEASURED", default=None)


class Opened(NamedTuple):
    """A file whose events are not read yet.

    Attributes
    ----------
    packets : iterator of arrays
        Of dtype `timesurf.io.columns.DTYPE`, none of them empty; errors are `EventError`.
    field : tuple of int or None
        As the file states it.
    places : int
        How many coordinates an event has; of one, y is 0 in the packets.
    polarities : int
        How many there are.

    """

    packets: Iterator[Array]
    field: tuple[int, ...] | None = None
    places: int = 2
    polarities: int = 2


class Format(NamedTuple):
    """A format: its name, its suffixes, how its files begin, and the module that reads it."""

    name: str
    suffixes: tuple[str, ...]
    begins: bytes
    module: str


FORMATS = (  # the first that fits
    Format("AEDAT 4", (".aedat4", ".aedat"), b"#!AER-DAT4.", "faery_files"),
    Format("AEDAT 3.1", (".aedat", ".aedat3"), b"#!AER-DAT3.", "aedat3"),
    Format("AEDAT 2", (".aedat", ".aedat2", ".dat"), b"#!AER-DAT2.", "aedat2"),
    Format("NAS", (".aedat", ".aer"), b"", "nas"),
    Format("Prophesee RAW", (".raw",), b"", "faery_files"),
    Format("Prophesee DAT", (".dat",), b"", "dat"),
    Format("Event Stream", (".es",), b"", "faery_files"),
    Format("CSV", (".csv",), b"", "csv"),
    Format("HDF5", (".h5", ".hdf5"), b"\x89HDF\r\n\x1a\n", "hdf5"),
    Format("ROS 1 bag", (".bag",), b"#ROSBAG V2.0", "ros"),
    Format("ROS 2 bag", (".db3",), b"SQLite format 3\0", "ros"),
    Format("ROS 2 bag", (".mcap",), b"\x89MCAP0\r\n", "ros"),
)
SUFFIXES = tuple(dict.fromkeys(suffix for known in FORMATS for suffix in known.suffixes))
_LONGEST = max(len(known.begins) for known in FORMATS)


def is_bag(folder: Path) -> bool:
    """Whether a folder is a ROS 2 bag."""
    return (folder / "metadata.yaml").is_file() and any(folder.glob("*.db3*")) | any(folder.glob("*.mcap*"))


def of(path: Path) -> Format:
    """The format of a file, or of a folder that is a ROS 2 bag.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    EventError
        If it is of no known format, or empty.

    """
    if path.is_dir() and is_bag(path):
        return Format("ROS 2 bag", (), b"", "ros")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise EventError(f"{path} is of no known format; known are {', '.join(SUFFIXES)}.")
    check_input(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} {'is a folder, not a file' if path.exists() else 'does not exist'}.")
    if path.stat().st_size == 0:
        raise EventError(f"{path} is empty (0 bytes).")
    with path.open("rb") as file:
        first = file.read(_LONGEST)
    named = [known for known in FORMATS if suffix in known.suffixes]
    for known in named:
        if first.startswith(known.begins):
            return known
    raise EventError(
        f"{path} cannot be read: at byte 0 it begins with {first[:12]!r}, not as "
        f"{' or '.join(dict.fromkeys(known.name for known in named))} does ({named[0].begins!r}). If it is damaged, "
        "copy or record it again."
    )


@contextmanager
def assuming(asked: Asked) -> Iterator[None]:
    """In this block, files that do not say it themselves are as these settings say, unless a call has its own.

    Examples
    --------
    >>> with assuming(Asked(unit="ms")):
    ...     assumed().unit
    'ms'

    """
    before = _ASSUMED.set(asked)
    try:
        yield
    finally:
        _ASSUMED.reset(before)


def assumed() -> Asked:
    """The settings of the present `assuming`."""
    return _ASSUMED.get()


@contextmanager
def measuring() -> Iterator[list[str]]:
    """Files that are read in this block without stating their size, so that their events had to say it."""
    files: list[str] = []
    before = _MEASURED.set(files)
    try:
        yield files
    finally:
        _MEASURED.reset(before)


def measured(path: Any, coords: Sequence[Array]) -> tuple[int, ...]:
    """The field of a file that does not state its own: of the present `assuming`, or the smallest with all its events.

    See `measuring`.
    """
    smallest, whole = tuple(sizes(coords)), assumed().field
    if whole is not None and len(whole) == len(smallest) and all(a <= b for a, b in zip(smallest, whole, strict=True)):
        return tuple(whole)
    files = _MEASURED.get()
    if files is not None:
        files.append(str(path))
    return smallest


def opened(path: Path, asked: Asked) -> Opened:
    """A file, with its events in time order as they are read."""
    asked = asked.otherwise(assumed())
    module = import_module(f"timesurf.io.{of(path).module}")
    file: Opened = module.opened(path, asked)
    return file._replace(packets=in_order(file.packets, path))


def in_order(packets: Iterator[Array], source: Any) -> Iterator[Array]:
    """The same packets; raise EventError where a time comes before the one before it."""
    last, done = -1, 0
    for events in packets:
        t = events["t"]
        if int(t[0]) < last or (t[1:] < t[:-1]).any():
            before = np.concatenate([[last], t[:-1]])
            i = int(np.argmax(t < before))
            raise EventError(
                f"{source}, event {done + i:,}: time {t[i]} us comes before {before[i]} us, out of order. "
                "Sort the events by time and write the file again."
            )
        last, done = int(t[-1]), done + len(t)
        yield events
