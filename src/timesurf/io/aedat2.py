"""AEDAT 2, as jAER writes it: lines that begin with #, then 4 bytes of address and 4 of time per event, big-endian.

What the bits of an address mean depends on the sensor, which newer files name. jAER counts x from the right and y from
below for retinas; here x counts from the left and y from above, as in other formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.clock import Clock
from timesurf.io.columns import DTYPE
from timesurf.io.formats import AT_ONCE, Asked, Opened

Array = NDArray[Any]
_RECORD = np.dtype([("address", ">u4"), ("t", ">u4")])
_HEADER = 1 << 20  # bytes: preferences of a camera may be among its lines
_TRIGGER_128, _NO_EVENT, _TRIGGER = 1 << 15, 1 << 31, 1 << 10  # bits of addresses that are no events of a pixel


class _Sensor(NamedTuple):
    """What the bits of an address mean: a function to x, y, p, and the bits that no event of it has."""

    field: tuple[int, ...]
    split: Callable[[Array], tuple[Any, Any, Any]]
    others: int


def _davis(width: int, height: int) -> _Sensor:
    def split(address: Array) -> tuple[Any, Any, Any]:
        return width - 1 - (address >> 12 & 0x3FF), height - 1 - (address >> 22 & 0x1FF), address >> 11 & 1

    return _Sensor((width, height), split, _NO_EVENT | _TRIGGER)


SENSORS = {
    "dvs128": _Sensor(
        (128, 128), lambda a: (127 - (a >> 1 & 0x7F), 127 - (a >> 8 & 0x7F), 1 - (a & 1)), ~0x7FFF & 0xFFFFFFFF
    ),
    "davis240": _davis(240, 180),
    "davis346": _davis(346, 260),
    # the polarity is the ear: which of the ganglion cells and filters it was is left out
    "cochlea": _Sensor((64,), lambda a: (a >> 2 & 0x3F, 0, a >> 1 & 1), 0xFFFFFC00),
}


def opened(path: Path, asked: Asked) -> Opened:
    """A file; its sensor is the one asked for, or named, or known from its addresses."""
    with path.open("rb") as file:
        header = _header(file, path)
        begin = file.tell()
        sample = np.frombuffer(file.read(AT_ONCE * _RECORD.itemsize // 8 * 8), np.uint8)
    sample = sample[: len(sample) // _RECORD.itemsize * _RECORD.itemsize].view(_RECORD)["address"].astype(np.int64)
    name = asked.sensor or _named(header) or _guessed(sample)
    if name not in SENSORS:
        raise EventError(
            f"{path}: {'no sensor is called ' + repr(name) if name else 'it does not name its sensor'}; "
            f"give sensor, one of {', '.join(SENSORS)}."
        )
    sensor = SENSORS[name]
    return Opened(_packets(path, begin, sensor), sensor.field, len(sensor.field))


def _header(file: BinaryIO, path: Path) -> str:
    lines: list[bytes] = []
    while file.peek(1)[:1] == b"#":  # type: ignore[attr-defined]
        lines.append(file.readline(_HEADER))
        if file.tell() > _HEADER:
            raise EventError(f"{path} cannot be read: its header has over {_HEADER:,} bytes, beyond byte {_HEADER}.")
    return b"".join(lines).decode("latin1")


def _named(header: str) -> str | None:
    """The sensor that lines such as `# AEChip: eu.seebetter.ini.chips.davis.Davis346B` name."""
    for line in re.findall(r"#[^\n]*(?:AEChip|HardwareInterface|chip)[^\n]*", header, re.IGNORECASE):
        found = re.search(r"dvs128|davis240|davis346|cochlea", line, re.IGNORECASE)
        if found:
            return found[0].lower()
    return None


def _guessed(addresses: Array) -> str | None:
    """The sensor of a file that names none: 10 bits are a cochlea's, 15 or 16 those of a DVS128."""
    used = int(np.bitwise_or.reduce(addresses, initial=0))
    return "cochlea" if used < 1 << 10 else "dvs128" if used < 1 << 16 else None


def _packets(path: Path, begin: int, sensor: _Sensor) -> Iterator[Array]:
    clock = Clock(32)
    with path.open("rb") as file:
        file.seek(begin)
        while data := file.read(AT_ONCE * _RECORD.itemsize):
            if len(data) % _RECORD.itemsize:
                at = file.tell() - len(data) % _RECORD.itemsize
                raise EventError(f"{path} cannot be read: the event at byte {at} is cut short. Copy it again.")
            records = np.frombuffer(data, _RECORD)
            t = clock.whole(records["t"])
            address = records["address"].astype(np.int64)
            events = address & sensor.others == 0
            packet = np.empty(int(events.sum()), DTYPE)
            x, y, p = sensor.split(address[events])
            off = np.zeros(len(packet), bool)
            for values, size in zip((x, y), sensor.field, strict=False):
                off |= (values < 0) | (values >= size)
            if off.any():
                i = int(np.flatnonzero(events)[np.argmax(off)])
                raise EventError(
                    f"{path} cannot be read: the address {address[i]:#x} at byte {file.tell() - len(data) + 8 * i} is "
                    f"off the field of {' x '.join(map(str, sensor.field))}. Give its true sensor."
                )
            packet["x"], packet["y"], packet["p"], packet["t"] = x, y, p, t[events]
            if len(packet):
                yield packet
