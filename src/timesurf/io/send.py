"""Packets of events as datagrams over UDP, as `timesurf.io.receive.Datagrams` and faery receive them."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.io.camera import address
from timesurf.io.receive import WIRE

Array = NDArray[Any]
_MOST = 1400 // WIRE.itemsize  # events of a datagram: one that fits in a packet of Ethernet arrives whole or not at all


class Sender:
    """Sends events to a UDP port: 13 bytes per event, little-endian: t (8, us), x (2), y (2), on (1).

    Nobody needs to listen: datagrams that nobody receives are lost.

    Parameters
    ----------
    url : str
        Such as "udp://127.0.0.1:7777".

    Attributes
    ----------
    events, datagrams : int
        How many were sent.

    Examples
    --------
    >>> import numpy as np
    >>> with Sender("udp://127.0.0.1:7777") as sender:
    ...     sender.send(np.zeros(250, [("x", int), ("y", int), ("t", int), ("p", int)]))
    >>> sender.events, sender.datagrams
    (250, 3)

    """

    def __init__(self, url: str) -> None:
        self.events = self.datagrams = 0
        self._url, self._to = url, address(url)
        self._socket = socket.socket(socket.AF_INET6 if len(self._to) == 4 else socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, packet: Array) -> None:
        """Send a packet with the fields x, t and, if it has them, y and p."""
        names = packet.dtype.names or ()
        events = _on_wire(packet, [name for name in ("x", "y", "t", "p") if name in names])
        for i in range(0, len(events), _MOST):
            part = events[i : i + _MOST]
            try:
                self._socket.sendto(part.tobytes(), self._to)
            except OSError as error:
                raise EventError(f"Cannot send to {self._url}: {error}.") from error
            self.events += len(part)
            self.datagrams += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _on_wire(packet: Array, names: list[str]) -> Array:
    events = np.zeros(len(packet), WIRE)
    for name in names:
        if name in ("x", "y") and len(packet) and int(packet[name].max()) > 0xFFFF:
            raise EventError(f"{name} = {packet[name].max()} does not fit in a datagram, which has 16 bits for it.")
        events[name] = packet[name]
    return events
