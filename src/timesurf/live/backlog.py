"""A bounded queue between a source of packets and its consumer, which may be slower for a while."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

from timesurf.errors import SettingError

IfBehind = Literal["block", "drop"]
_MOST_PACKETS = 1 << 18  # that wait: each takes some hundred bytes, also one of a single event
_PATIENCE = 0.2  # s: a signal may arrive just before the wait that it should end


class Backlog:
    """Packets of a source, read ahead in a separate thread.

    Events that are not dropped come out in their order, and `taken + dropped` is all that came in. Empty packets are
    left out. An error of the source is raised in the loop over the backlog.

    Parameters
    ----------
    packets : iterable of arrays
        The source.
    events : int
        How many events may wait at most, in at most 262,144 packets.
    if_behind : str
        What happens to a burst beyond that: "block" lets the source wait, which loses nothing if the source can wait;
        "drop" discards the oldest waiting events, and counts them in `dropped`.

    Attributes
    ----------
    taken, dropped, waiting : int
        Events that came out, were discarded, and wait now.
    newest : array or None
        The packet that came in last.

    Examples
    --------
    >>> import numpy as np
    >>> packets = [np.zeros(n, [("x", int), ("t", int)]) for n in (3, 4, 5)]
    >>> with Backlog(packets, events=8) as backlog:
    ...     [len(packet) for packet in backlog]
    [3, 4, 5]
    >>> backlog.taken, backlog.dropped
    (12, 0)

    """

    def __init__(self, packets: Iterable[Any], *, events: int = 1 << 22, if_behind: IfBehind = "block") -> None:
        if events < 1:
            raise SettingError(f"events = {events!r}: there must be room for at least one.")
        if if_behind not in get_args(IfBehind):
            raise SettingError(f"if_behind = {if_behind!r} must be one of {', '.join(get_args(IfBehind))}.")
        self.events, self.if_behind = events, if_behind
        self.taken = self.dropped = self.waiting = 0  # events
        self.newest: Any = None
        self._packets = packets
        self._queue: deque[Any] = deque()
        self._changed = threading.Condition()
        self._closed = self._ended = False
        self._error: BaseException | None = None
        self._reader = threading.Thread(target=self._read, daemon=True, name="timesurf backlog")

    def __enter__(self) -> Backlog:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop reading; packets that still wait are discarded."""
        self.stop()

    def stop(self) -> None:
        """End the loop over the backlog after the present packet. May be called by any thread or signal handler."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Any]:
        while not self.ended:
            packet = self.poll(_PATIENCE)
            if packet is not None:
                yield packet

    @property
    def ended(self) -> bool:
        """Whether no more packets will come."""
        return self._closed or (self._ended and not self._queue and self._error is None)

    def poll(self, seconds: float) -> Any:
        """The next packet, or None if none comes in this time."""
        with self._changed:
            if not (self._queue or self._ended or self._closed):
                self._changed.wait(seconds)
            if self._closed:
                return None
            if not self._queue:
                if self._error is not None:
                    raise self._error
                return None
            packet = self._queue.popleft()
            self.waiting -= len(packet)
            self.taken += len(packet)
            self._changed.notify_all()
        return packet

    @property
    def lost(self) -> int | None:
        """Datagrams that the system discarded before the source could read them; None where it does not count them."""
        lost: int | None = getattr(self._packets, "lost", None)
        return lost

    def _read(self) -> None:
        try:
            for packet in self._packets:
                if not len(packet):
                    continue
                with self._changed:
                    if self.if_behind == "block":
                        while not (self._closed or self._has_room(len(packet))):
                            self._changed.wait()
                    else:
                        packet = self._without_oldest(packet)
                    if self._closed:
                        return
                    self._queue.append(packet)
                    self.newest = packet
                    self.waiting += len(packet)
                    self._changed.notify_all()
        except BaseException as error:  # raised in the loop over the backlog, whatever it is
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _has_room(self, n: int) -> bool:
        return not self._queue or (self.waiting + n <= self.events and len(self._queue) < _MOST_PACKETS)

    def _without_oldest(self, packet: Any) -> Any:
        """Make room by dropping what has waited longest; of a packet that is itself too large the end remains."""
        while not self._has_room(len(packet)):
            oldest = self._queue.popleft()
            self.waiting -= len(oldest)
            self.dropped += len(oldest)
        beyond = max(len(packet) - self.events, 0)
        self.dropped += beyond
        return packet[beyond:]
