"""Packets as they arrive: datagrams over UDP, and lines of CSV on standard input.

Anybody can send to a port, and any program may write to a pipe. What holds no events is refused: reported to a
function, or raised as an error. Places and times are checked where packets go, such as by a session.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.columns import DTYPE, Columns

Array = NDArray[Any]
Refuse = Callable[[str, int], None]  # called with a reason, and how many datagrams or lines were refused for it
WIRE = np.dtype({"names": ["x", "y", "t", "p"], "formats": ["<u2", "<u2", "<i8", "u1"], "offsets": [8, 10, 0, 12]})
_DATAGRAM = 1 << 16  # bytes, at most
_QUEUE = 4 << 20  # bytes that the system may hold for a socket, if it lets us: what a burst fills before any is lost
_COUNT_LOST = 40  # SO_RXQ_OVFL, which Python does not name: Linux then reports how many datagrams it has lost
_PATIENCE = 0.1  # s between two looks at whether the socket was closed
_CHUNK = 1 << 16  # bytes read from a pipe at a time
_LONGEST = 200  # bytes of a line


class Datagrams:
    """Packets of events that arrive at a UDP port, until it is closed: an iterator of arrays of dtype `DTYPE`.

    A datagram holds 13 bytes per event, little-endian: t (8, us), x (2), y (2), on (1).

    Parameters
    ----------
    name : str
        What error messages call it.
    address : tuple
        Host and port.
    refuse : callable, optional
        Called with a reason for each datagram that holds no whole events; None: raise EventError.

    Attributes
    ----------
    lost : int or None
        Datagrams that the system has discarded because they came faster than they were read; None where it does not
        count them.

    """

    def __init__(self, name: str, address: tuple[Any, ...], refuse: Refuse | None = None) -> None:
        self.lost: int | None = None
        self._name, self._refuse = name, refuse or _raise
        self._buffer, self._open, self._reading = bytearray(_DATAGRAM), True, threading.Lock()
        self._socket = socket.socket(socket.AF_INET6 if len(address) == 4 else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            with suppress(OSError):  # Linux takes what it can of it, others refuse what is too much
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUEUE)
            if sys.platform == "linux":
                self._socket.setsockopt(socket.SOL_SOCKET, _COUNT_LOST, 1)
                self.lost = 0
            self._socket.settimeout(_PATIENCE)
            self._socket.bind(address)
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise EventError(f"{name} cannot be read: {error}.") from error

    def __iter__(self) -> Datagrams:
        return self

    def __next__(self) -> Array:
        while self._open:
            try:
                with self._reading:
                    size, sender = self._receive()
            except TimeoutError:
                continue
            except OSError as error:
                if not self._open:
                    break
                raise EventError(f"{self._name} cannot be read: {error}.") from error
            if size % WIRE.itemsize:
                self._refuse(
                    f"{self._name}: a datagram of {size} bytes from {sender[0]}, and an event has {WIRE.itemsize}.", 1
                )
            elif size:
                return np.frombuffer(self._buffer, WIRE, size // WIRE.itemsize).astype(DTYPE)
        raise StopIteration

    def _receive(self) -> tuple[int, Any]:
        """Wait for a datagram: its size, and who sent it."""
        if self.lost is None:
            return self._socket.recvfrom_into(self._buffer)
        size, about, _, sender = self._socket.recvmsg_into([self._buffer], socket.CMSG_SPACE(4))
        for level, kind, data in about:
            if level == socket.SOL_SOCKET and kind == _COUNT_LOST:
                self.lost += (struct.unpack("=I", data[:4])[0] - self.lost) % (1 << 32)  # the system counts in 32 bits
        return size, sender

    def close(self) -> None:
        """Stop receiving."""
        self._open = False
        with self._reading:
            self._socket.close()

    def __enter__(self) -> Datagrams:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lines:
    """Packets of events read as CSV from a pipe as they are written, until it ends: an iterator as `Datagrams`.

    The first line may name the columns (`timesurf.io.columns`); without names they are t (us), x, y, on (0 or 1).

    Parameters
    ----------
    file : int
        Descriptor of the pipe; 0 is standard input.
    name : str
        What error messages call it.
    refuse : callable, optional
        Called with a reason for lines that hold no event, and their number; None: raise EventError.
    columns, unit : str, optional
        Names of the columns where the first line has none, and the unit of the times where no name states it.

    """

    def __init__(
        self,
        file: int = 0,
        name: str = "standard input",
        refuse: Refuse | None = None,
        *,
        columns: str | None = None,
        unit: str | None = None,
    ) -> None:
        self._file, self._name, self._refuse = file, name, refuse or _raise
        self._rest, self._line, self._skip, self._ended = b"", 0, False, False
        self._names, self._unit, self._start = columns, unit, b""
        self._columns: Columns | None = None

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> Array:
        while not self._ended:
            text = os.read(self._file, _CHUNK)
            self._ended = not text
            events = self._events(self._whole_lines(text or b"\n"))
            if len(events):
                return events
        raise StopIteration

    def _whole_lines(self, text: bytes) -> bytes:
        """The lines that are complete with this text; the beginning of the next is kept."""
        if self._skip:  # the end of a line that is too long
            end = text.find(b"\n")
            if end < 0:
                return b""
            text, self._skip = text[end + 1 :], False
        whole, feed, self._rest = (self._rest + text).rpartition(b"\n")
        if len(self._rest) > _LONGEST:
            number = self._line + whole.count(b"\n") + len(feed) + 1
            self._rest, self._skip = b"", True
            self._refuse(f"{self._name}, line {number} has more than {_LONGEST} bytes.", 1)
        return whole + feed

    def _events(self, text: bytes) -> Array:
        if self._columns is None:
            text, self._start = self._start + text, b""
            columns = Columns.of(text, self._name, names=self._names, unit=self._unit)
            events = b"".join(text.split(b"\n", columns.header)[columns.header :])
            if not events.strip():
                self._start = text  # what is below the names may tell the unit of the times
                return np.empty(0, DTYPE)
            self._columns, text, self._line = columns, events, self._line + columns.header
        packet, number, (refused, begin, at) = self._columns.events(text)
        at, self._line = self._line + at + 1, self._line + number
        if refused:
            self._refuse(f"{self._name}, line {at} is {self._columns.refusal(text, begin)}.", refused)
        return packet


def _raise(reason: str, _: int) -> None:
    raise EventError(reason)
