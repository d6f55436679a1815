"""Bags of ROS 1 and ROS 2, through rosbags (the extra `ros`): event_camera_msgs/EventPacket, dvs_msgs/EventArray.

A bag must hold one topic of events. prophesee_event_msgs/EventArray has the same layout as that of dvs_msgs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import LATEST
from timesurf.io.columns import DTYPE
from timesurf.io.formats import Asked, Opened, is_bag

Array = NDArray[Any]
_HEADER = "std_msgs/Header header\nuint32 height\nuint32 width\n"
_EVENT = "uint16 x\nuint16 y\nbuiltin_interfaces/Time ts\nbool polarity\n"
DEFINITIONS = {  # bags of ROS 2 need not hold them
    "event_camera_msgs/msg/EventPacket": _HEADER
    + "uint64 seq\nuint64 time_base\nstring encoding\nbool is_bigendian\nuint8[] events\n",
    "dvs_msgs/msg/EventArray": _HEADER + "dvs_msgs/Event[] events\n",
    "prophesee_event_msgs/msg/EventArray": _HEADER + "prophesee_event_msgs/Event[] events\n",
    "dvs_msgs/msg/Event": _EVENT,
    "prophesee_event_msgs/msg/Event": _EVENT,
}
_PACKET = "event_camera_msgs/msg/EventPacket"
_TYPES = [name for name in DEFINITIONS if not name.endswith("/Event")]
_ROS1_EVENT = np.dtype([("x", "<u2"), ("y", "<u2"), ("s", "<u4"), ("ns", "<u4"), ("p", "u1")])
_ROS2_EVENT = np.dtype(  # from the second event on: each part is aligned to its own size
    {"names": ["x", "y", "s", "ns", "p"], "formats": ["<u2", "<u2", "<u4", "<u4", "u1"], "offsets": [0, 2, 6, 10, 14],
     "itemsize": 16}
)  # fmt: skip
_LARGEST = 1 << 14  # pixels per side


def opened(path: Path, asked: Asked) -> Opened:
    """A bag; its field is that of the first message."""
    if path.suffix == ".db3" and is_bag(path.parent):
        path = path.parent  # where the description of the bag is
    first = next(_messages(path), None)
    if first is None:
        return Opened(iter(()))
    _, _, message = first
    field = (int(message.width), int(message.height))
    return Opened(_packets(path), field if min(field) > 0 and max(field) <= _LARGEST else None)


def _messages(path: Path) -> Iterator[tuple[str, bytes, Any]]:
    """Messages of events with their types: as bytes (of EventArray), and as an object without its events."""
    try:
        from rosbags.highlevel import AnyReader
    except ImportError as error:
        raise EventError("Bags of ROS need rosbags: pip install 'timesurf[ros]'.") from error
    try:
        with AnyReader([path], default_typestore=_types()) as bag:
            topics = {c.topic for c in bag.connections if c.msgtype in _TYPES}
            if len(topics) != 1:
                every = ", ".join(sorted(f"{c.topic} ({c.msgtype})" for c in bag.connections)) or "no topics"
                raise EventError(f"{path} holds {every}: one topic of {' or '.join(_TYPES)} is needed. Filter the bag.")
            wanted = [c for c in bag.connections if c.msgtype in _TYPES]
            for connection, _, raw in bag.messages(connections=wanted):
                if connection.msgtype == _PACKET:
                    yield connection.msgtype, b"", bag.deserialize(raw, connection.msgtype)
                else:
                    yield "ros2" if bag.is2 else "ros1", raw, _Size(raw, ros2=bag.is2)
    except (EventError, FileNotFoundError):
        raise
    except Exception as error:  # rosbags raises whatever its parsers do on damaged bytes
        why = " ".join(str(error).split()).rstrip(".")[:200]
        raise EventError(f"{path} cannot be read: {why or type(error).__name__}. Copy or record it again.") from error


@cache
def _types() -> Any:
    """The types of ROS 2, and those of events."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in DEFINITIONS.items():
        store.register(get_types_from_msg(text, name))
    return store


class _Size:
    """Height, width and the place of the events in an EventArray, without decoding each event."""

    def __init__(self, raw: bytes, *, ros2: bool) -> None:
        at = 4 + 8 if ros2 else 12  # what CDR begins with and the stamp; or number and stamp
        at += 4 + int.from_bytes(raw[at : at + 4], "little")  # the name of a frame
        if ros2:
            at += -at % 4
        self.height, self.width, self.number = (
            int.from_bytes(raw[at + 4 * i : at + 4 * i + 4], "little") for i in range(3)
        )
        self.begin = at + 12


def _packets(path: Path) -> Iterator[Array]:
    decoder = Evt3()
    for number, (kind, raw, message) in enumerate(_messages(path)):
        try:
            if kind != _PACKET:
                packet = _array(raw, message, kind)
            elif message.encoding == "evt3":
                packet = decoder(message.events)
            elif message.encoding == "mono":
                packet = _mono(message)
            else:
                raise ValueError(f"its encoding is {str(message.encoding)[:20]!r}; evt3 and mono are read")
        except (ValueError, OverflowError) as error:
            raise EventError(f"{path} cannot be read: message {number} of its events: {error}.") from error
        if len(packet) and packet["t"].max() >= LATEST:
            raise EventError(f"{path} cannot be read: message {number} of its events has a time beyond 2**62 us.")
        if len(packet):
            yield packet


def _array(raw: bytes, size: _Size, kind: str) -> Array:
    """The events of dvs_msgs/EventArray."""
    if kind == "ros1":
        events = np.frombuffer(raw, _ROS1_EVENT, size.number, size.begin)
    else:
        first = np.frombuffer(raw, _ROS1_EVENT, min(size.number, 1), size.begin)
        more = max(size.number - 1, 0)
        spare = raw + bytes(1)  # the last event is not filled up
        events = np.concatenate([first, np.frombuffer(spare, _ROS2_EVENT, more, size.begin + 14).astype(_ROS1_EVENT)])
    packet = np.empty(len(events), DTYPE)
    packet["x"], packet["y"], packet["p"] = events["x"], events["y"], events["p"] > 0
    packet["t"] = events["s"].astype(np.int64) * 1_000_000 + events["ns"] // 1000
    return packet


def _mono(message: Any) -> Array:
    """Events of 8 bytes: polarity, 15 bits of y, 16 of x, 32 of time after the message's, in ns."""
    words = np.frombuffer(np.asarray(message.events, np.uint8).tobytes(), "<u8")
    packet = np.empty(len(words), DTYPE)
    packet["p"], packet["y"], packet["x"] = words >> 63, words >> 48 & 0x7FFF, words >> 32 & 0xFFFF
    base = int(message.time_base)
    if base >= LATEST:
        raise ValueError("its time_base is beyond 2**62 ns")
    packet["t"] = (base + (words & 0xFFFFFFFF).astype(np.int64)) // 1000
    return packet


class Evt3:
    """A decoder that keeps row, column and clock from message to message."""

    def __init__(self) -> None:
        from timesurf.io import evt3  # here, as importing numba takes a while

        self._decode, self._state = evt3.decode, np.zeros(evt3.STATE, np.int64)

    def __call__(self, data: Any) -> Array:
        """The events of the next bytes."""
        words = np.frombuffer(np.asarray(data, np.uint8).tobytes()[: len(data) // 2 * 2], "<u2")
        out = np.empty((4, 12 * len(words)), np.int64)
        n = self._decode(words, self._state, *out)
        packet = np.empty(n, DTYPE)
        for name, values in zip(("t", "x", "y", "p"), out, strict=True):
            packet[name] = values[:n]
        return packet
