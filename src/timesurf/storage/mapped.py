"""Arrays that are read from a file as they are needed, told to another process by where they lie in it."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.storage import remote

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where an array lies in a file.

    >>> Stretch.of(np.broadcast_to(0, 1000))
    array([0])
    """

    file: str
    url: str | None  # that the file is a copy of
    state: tuple[int, int]  # of the file: its size and when it was last written to
    dtype: str
    offset: int
    size: int

    @classmethod
    def of(cls, values: Array) -> Any:
        """Where it lies; where it is one value repeated, or in no file, the array itself."""
        if not isinstance(values, np.memmap):
            return values[:1] if values.strides == (0,) else np.ascontiguousarray(values)
        begin = np.frombuffer(values._mmap, np.uint8).ctypes.data  # type: ignore[attr-defined]
        mapped_from = values.offset - values.offset % mmap.ALLOCATIONGRANULARITY
        file, offset = str(values.filename), mapped_from + values.ctypes.data - begin
        return cls(file, remote.origin(file), _state(file), values.dtype.str, offset, len(values))

    def open(self) -> Array:
        """The array, mapped here."""
        file = self.file if self.url is None else str(remote.local(self.url))
        try:
            size, written = _state(file)
        except OSError as error:
            raise EventError(f"{file} cannot be opened here, though it can elsewhere: {error}.") from error
        same = written == self.state[1] if self.url is None else Path(file).name == Path(self.file).name
        if size != self.state[0] or not same:
            raise EventError(f"{self.url or file} is another here than elsewhere, or was written to meanwhile.")
        return np.memmap(file, self.dtype, mode="r", offset=self.offset, shape=self.size)


def _state(file: str) -> tuple[int, int]:
    about = os.stat(file)
    return about.st_size, about.st_mtime_ns
