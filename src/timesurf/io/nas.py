"""Spikes of the cochlea NAS: 2 bytes of address and 4 of time for each, big-endian; the time in fifths of a us.

An address is twice the channel plus the polarity. The file states nothing else, so the channels are as many as the
addresses need, rounded up to a power of two, since a NAS has 32, 64, 128 or 256 of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.clock import Clock
from timesurf.io.columns import DTYPE
from timesurf.io.formats import AT_ONCE, Asked, Opened

Array = NDArray[Any]
_RECORD = np.dtype([("address", ">u2"), ("t", ">u4")])
_TICKS = 5  # per us
_FEWEST, _MOST = 32, 512  # channels; 512: two ears of 256


def opened(path: Path, asked: Asked) -> Opened:
    """A file; its channels are as many as its addresses need."""
    size = path.stat().st_size
    if size % _RECORD.itemsize:
        raise EventError(
            f"{path} cannot be read: it does not begin as AEDAT does, and its {size:,} bytes are no whole number of "
            f"NAS's records of {_RECORD.itemsize}; the last begins at byte {size - size % _RECORD.itemsize}."
        )
    channels = _FEWEST
    for i, records in _records(path):
        highest = int(records["address"].max()) >> 1
        while channels <= highest:
            channels *= 2
        if channels > _MOST:
            at = 6 * (i + int(np.argmax(records["address"])))
            raise EventError(
                f"{path} cannot be read: the address at byte {at} is of channel {highest}, and a NAS has at most "
                f"{_MOST}. Is it a file of NAS's records of 6 bytes?"
            )
    return Opened(_packets(path), (channels,), 1)


def _records(path: Path) -> Iterator[tuple[int, Array]]:
    """Records, many at a time, and the number of the first."""
    done = 0
    with path.open("rb") as file:
        while data := file.read(AT_ONCE * _RECORD.itemsize):
            yield done, np.frombuffer(data[: len(data) // 6 * 6], _RECORD)
            done += len(data) // _RECORD.itemsize


def _packets(path: Path) -> Iterator[Array]:
    clock = Clock(32)
    for _, records in _records(path):
        packet = np.zeros(len(records), DTYPE)
        packet["x"], packet["p"] = records["address"] >> 1, records["address"] & 1
        packet["t"] = clock.whole(records["t"]) // _TICKS
        yield packet
