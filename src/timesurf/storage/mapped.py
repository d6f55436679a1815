"""Arrays that are read from a file as they are needed: sent to other processes by name, written part by part."""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.storage import cache, remote

Array = NDArray[Any]
_CAN_RELEASE = hasattr(mmap, "MADV_DONTNEED")  # not on Windows


def release(*arrays: Array) -> None:
    """Take the pages of mapped files that were read out of this process's memory.

    The operating system keeps them as long as it has room, and the next access gets them from there. Without this, a
    pass through a mapped file counts as memory of the process, up to the whole size of the file.
    """
    if _CAN_RELEASE:
        maps = {id(values._mmap): values._mmap for values in arrays if isinstance(values, np.memmap) and _read(values)}  # type: ignore[attr-defined]
        for mapped in maps.values():
            mapped.madvise(mmap.MADV_DONTNEED)


def has_name(values: Array) -> bool:
    """Whether an array is mapped from a file that other processes can open."""
    return isinstance(values, np.memmap) and values.filename is not None


class Spool:
    """An array that is written part by part to an unnamed file in the cache folder, and then mapped from there.

    The file disappears with the array, also when the process is killed.

    Examples
    --------
    >>> spool = Spool()
    >>> spool.append(np.array([1, 2]))
    >>> spool.append(np.array([3]))
    >>> spool.array().tolist()
    [1, 2, 3]

    """

    def __init__(self) -> None:
        self._folder = _room()
        self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  open until the array is mapped
        self._dtype: np.dtype[Any] | None = None

    def append(self, values: Array) -> None:
        """Write values at the end; all parts must have the dtype of the first."""
        if self._dtype is None:
            self._dtype = values.dtype
        elif self._dtype != values.dtype:
            raise TypeError(f"A part of dtype {values.dtype} cannot follow parts of dtype {self._dtype}.")
        try:
            self._file.write(np.ascontiguousarray(values).data)
            self._file.flush()
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}: long recordings and prepared events are written to the cache folder. "
                "Set TIMESURF_CACHE to a folder with more room",
                str(self._folder),
            ) from error

    def array(self) -> Array:
        """All that was written, mapped; the spool takes no more."""
        with self._file as file:
            if file.tell() == 0:
                return np.empty(0, self._dtype)
            mapped = np.memmap(file, self._dtype or np.uint8, mode="r")
            mapped.filename = None  # on Windows the file has a name, but no other process can open it
            return mapped

    def __del__(self) -> None:
        with suppress(OSError):  # bytes for which there was no room
            self._file.close()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where an array lies in a file.

    Attributes
    ----------
    file : str
        Its path on the machine that mapped it.
    url : str or None
        The address that the file is a copy of.
    state : tuple of int
        Size of the file, and when it was last written to.
    dtype : str
        Of the array.
    offset : int
        Where the array begins, in bytes.
    size : int
        How many values it has.

    Examples
    --------
    >>> Stretch.of(np.broadcast_to(0, 1000))
    array([0])

    """

    file: str
    url: str | None
    state: tuple[int, int]
    dtype: str
    offset: int
    size: int

    @classmethod
    def of(cls, values: Array) -> Any:
        """Where it lies; the array itself if it is in no named file, one value of it if that is repeated."""
        if not has_name(values):
            return values[:1] if values.strides == (0,) else np.ascontiguousarray(values)
        begin = np.frombuffer(values._mmap, np.uint8).ctypes.data  # type: ignore[attr-defined]
        mapped_from = values.offset - values.offset % mmap.ALLOCATIONGRANULARITY  # type: ignore[attr-defined]
        file, offset = str(values.filename), mapped_from + values.ctypes.data - begin  # type: ignore[attr-defined]
        return cls(file, remote.origin(file), _state(file), values.dtype.str, offset, len(values))

    def open(self) -> Array:
        """The array, mapped by this process.

        Raises
        ------
        EventError
            If the file cannot be opened here, or is not the one that was mapped elsewhere.

        """
        file = self.file if self.url is None else str(remote.local(self.url))
        try:
            size, written = _state(file)
        except OSError as error:
            raise EventError(f"{file} cannot be opened here, though it can elsewhere: {error}.") from error
        same = written == self.state[1] if self.url is None else Path(file).name == Path(self.file).name
        if size != self.state[0] or not same:
            raise EventError(
                f"{self.url or file} differs from the file that was opened elsewhere, or has changed since."
            )
        return np.memmap(file, self.dtype, mode="r", offset=self.offset, shape=self.size)


def _room() -> Path:
    """The cache folder, or the folder for temporary files where that cannot be written to (a read-only home)."""
    try:
        folder = cache.folder()
    except OSError:
        folder = None
    return folder if folder and os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


def _read(values: Any) -> bool:
    """Whether a file is mapped for reading alone: pages of a copy-on-write map may hold changes."""
    return bool(values.mode == "r")


def _state(file: str) -> tuple[int, int]:
    about = os.stat(file)
    return about.st_size, about.st_mtime_ns
