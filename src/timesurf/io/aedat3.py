"""AEDAT 3.1, as cAER writes it: a header that ends with #!END-HEADER, then packets of one type of event each.

A packet has 28 bytes about it, little-endian, then events of equal size. Read are polarity events: 4 bytes of data and
4 of time. Data: bit 0 says whether it is valid, bit 1 is the polarity, then 15 bits of y and 15 of x.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.columns import DTYPE
from timesurf.io.formats import Asked, Opened

Array = NDArray[Any]
_ABOUT = struct.Struct("<hhiiiiii")  # type, source, size, where its time is, overflow, capacity, number, valid
_RECORD = np.dtype([("data", "<u4"), ("t", "<i4")])
_POLARITY = 1  # type of event
_END = b"#!END-HEADER"
_HEADER, _LINE = 1 << 16, 4096  # bytes, at most
_LARGEST = 1 << 26  # bytes of a packet; cAER's have some ten thousand
_FIELDS = {"DVS128": (128, 128), "DAVIS240": (240, 180), "DAVIS346": (346, 260), "DAVIS640": (640, 480)}


def opened(path: Path, asked: Asked) -> Opened:
    """A file; its field is that of the sensor that it names."""
    with path.open("rb") as file:
        lines = _header(file, path)
        begin = file.tell()
    form = re.search(r"#Format:\s*(\S+)", lines)
    if form and form[1] != "RAW":
        raise EventError(f"{path} cannot be read: its format is {form[1]}, and only RAW is. Export it uncompressed.")
    source = re.search(r"#Source\s+\d+:\s*([A-Z]+\d+)", lines)
    return Opened(_packets(path, begin), _FIELDS.get(source[1]) if source else None)


def _header(file: BinaryIO, path: Path) -> str:
    lines = []
    while file.tell() < _HEADER:
        lines.append(file.readline(_LINE))
        if lines[-1].startswith(_END):
            return b"".join(lines).decode("latin1")
        if not lines[-1].startswith(b"#"):
            break
    raise EventError(f"{path} cannot be read: its header does not end with {_END.decode()} by byte {file.tell()}.")


def _packets(path: Path, begin: int) -> Iterator[Array]:
    at, whole = begin, path.stat().st_size
    with path.open("rb") as file:
        file.seek(begin)
        while at < whole:
            about = file.read(_ABOUT.size)
            if len(about) < _ABOUT.size:
                raise EventError(f"{path} cannot be read: the packet at byte {at} is cut short. Copy it again.")
            kind, _, size, _, overflow, _, number, _ = _ABOUT.unpack(about)
            length = size * number
            if size < 1 or number < 0 or length > min(_LARGEST, whole - at - _ABOUT.size):
                raise EventError(
                    f"{path} cannot be read: the packet at byte {at} says {number} events of {size} bytes, which do "
                    "not fit in the file. Copy or record it again."
                )
            if kind == _POLARITY and (size != _RECORD.itemsize or overflow < 0):
                raise EventError(f"{path} cannot be read: the packet at byte {at} is no packet of polarity events.")
            if kind == _POLARITY:
                packet = _events(np.frombuffer(file.read(length), _RECORD), overflow)
                if len(packet):
                    yield packet
            else:
                file.seek(length, 1)
            at += _ABOUT.size + length


def _events(records: Array, overflow: int) -> Array:
    records = records[(records["data"] & 1 == 1) & (records["t"] >= 0)]
    packet, data = np.empty(len(records), DTYPE), records["data"]
    packet["x"], packet["y"], packet["p"] = data >> 17, data >> 2 & 0x7FFF, data >> 1 & 1
    packet["t"] = records["t"].astype(np.int64) + (overflow << 31)  # times are 31 bits
    return packet
