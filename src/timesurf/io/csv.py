"""Events as CSV: columns by their names, in any order; times in s, ms, us or ns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io.columns import Columns
from timesurf.io.formats import Asked, Opened
from timesurf.storage.atomic import replacing

Array = NDArray[Any]
_BLOCK = 1 << 18  # bytes read at a time: some ten thousand events
_LONGEST = 4096  # bytes of a line
_WRITTEN_AT_ONCE = 1 << 16  # events


def opened(path: Path, asked: Asked) -> Opened:
    """A file of lines; its columns are known from the first ones."""
    with path.open("rb") as file:
        start = file.read(_BLOCK)
    whole = start.rpartition(b"\n")[0] if len(start) == _BLOCK else start
    columns = Columns.of(whole, path, names=asked.columns, unit=asked.unit)
    return Opened(_packets(path, columns), None, columns.places, columns.polarities)


def _packets(path: Path, columns: Columns) -> Iterator[Array]:
    line = 1 + columns.header
    with path.open("rb") as file:
        for _ in range(columns.header):
            file.readline()
        for text in _blocks(file, path):
            packet, lines, (refused, begin, number) = columns.events(text)
            if refused:
                raise EventError(f"{path}, line {line + number} is {columns.refusal(text, begin)}.")
            line += lines
            if len(packet):
                yield packet


def _blocks(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Whole lines, many at a time."""
    rest = b""
    while block := file.read(_BLOCK):
        whole, feed, rest = (rest + block).rpartition(b"\n")
        if len(rest) > _LONGEST:
            raise EventError(
                f"{path} cannot be read: the line at byte {file.tell() - len(rest)} has over {_LONGEST} bytes. "
                "Is it CSV?"
            )
        if feed:
            yield whole + feed
    if rest.strip():
        yield rest + b"\n"


def write(path: Path, recordings: Recordings) -> None:
    """One recording with the columns t,x,y,on (t,x,on of one dimension), times in microseconds."""
    t, p, *coords = (recordings.gather(values) for values in recordings.arrays)
    with replacing(path) as file:
        file.write(b"t,x,y,on\n" if len(coords) == 2 else b"t,x,on\n")
        for i in range(0, len(t), _WRITTEN_AT_ONCE):
            part = slice(i, i + _WRITTEN_AT_ONCE)
            rows = np.stack([t[part], *(x[part] for x in coords), p[part]], axis=1)
            file.write("".join(f"{','.join(map(str, row))}\n" for row in rows.tolist()).encode())
