"""Prophesee DAT: lines that begin with %, a byte each for the type and the size of an event, then 8 bytes per event.

4 bytes of time in us, then x, y and the polarity in 14, 14 and 4 bits (version 2) or 9, 8 and 1 (version 1), all
little-endian.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.columns import DTYPE
from timesurf.io.formats import AT_ONCE, Asked, Opened

Array = NDArray[Any]
_RECORD = np.dtype([("t", "<u4"), ("data", "<u4")])
_KINDS = (0x00, 0x0C)  # of change detection: the first is older
_HEADER, _LINE = 1 << 16, 4096  # bytes, at most


def opened(path: Path, asked: Asked) -> Opened:
    """A file; its field is in its header, or not stated."""
    with path.open("rb") as file:
        lines: list[bytes] = []
        while file.peek(1)[:1] == b"%" and file.tell() < _HEADER:
            lines.append(file.readline(_LINE))
        begin, about = file.tell(), file.read(2)
    if not lines or len(about) < 2 or about[0] not in _KINDS or about[1] != _RECORD.itemsize:
        raise EventError(
            f"{path} cannot be read: at byte {begin} there are no events of a DAT file, which has a header of lines "
            "that begin with % and then a type and a size. Copy or record it again."
        )
    header = b"".join(lines).decode("latin1")
    version, width, height = (_number(header, name) for name in ("Version", "Width", "Height"))
    return Opened(_packets(path, begin + 2, version or 1), (width, height) if width and height else None)


def _number(header: str, name: str) -> int:
    found = re.search(rf"%\s*{name}\s+(\d{{1,5}})\b", header, re.IGNORECASE)
    return int(found[1]) if found else 0


def _packets(path: Path, begin: int, version: int) -> Iterator[Array]:
    wide, high = (14, 14) if version > 1 else (9, 8)
    with path.open("rb") as file:
        file.seek(begin)
        while data := file.read(AT_ONCE * _RECORD.itemsize):
            records = np.frombuffer(data, _RECORD, len(data) // _RECORD.itemsize)  # a file has no end mark
            packet, where = np.empty(len(records), DTYPE), records["data"]
            packet["x"], packet["y"] = where & (1 << wide) - 1, where >> wide & (1 << high) - 1
            packet["p"], packet["t"] = where >> wide + high & 1, records["t"]
            if len(packet):
                yield packet
