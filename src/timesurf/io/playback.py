"""Recordings and files as a stream: one after another, again and again, and at the speed at which they happened."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import Recordings

Array = NDArray[Any]
_PACKET = 1000  # events of a packet of a recording, which has no packets
_STRETCH = 64 * _PACKET  # events of a recording that are in memory at a time
_STEP = 5000  # us of a packet that is played: often enough for the eye
_NAP = 0.1  # s, so that a signal is noticed


def in_turn(recordings: Recordings) -> Iterator[Array]:
    """Packets of recordings, each recording after the end of the one before.

    Parameters
    ----------
    recordings : Recordings
        What to play.

    Yields
    ------
    structured array
        Fields x, y, ..., t and p; never empty.

    """
    later = held = 0
    for start, stop in zip(recordings.starts.tolist(), recordings.stops.tolist(), strict=True):
        shift = None
        begins = np.arange(start, stop, _STRETCH)
        for stretch in recordings.cut(begins, np.minimum(begins + _STRETCH, stop)):
            (events,) = stretch.to_structured()
            names = events.dtype.names or ()  # times grow from recording to recording, all else stays as small as it is
            events = events.astype([(name, np.int64 if name == "t" else events.dtype[name]) for name in names])
            shift = later - int(events["t"][0]) if shift is None else shift
            events["t"] += shift
            for i in range(0, len(events), _PACKET):
                yield events[i : i + _PACKET]
            later, held = int(events["t"][-1]) + 1, held + len(events)
            if held >= _STRETCH:
                recordings.release()
                held = 0


def repeated(play: Callable[[], Iterable[Array]], times: int | None) -> Iterator[Array]:
    """Packets again and again, each time after the end of the one before; the first time as they are.

    Parameters
    ----------
    play : callable
        Opens the packets again.
    times : int or None
        How often; None: without end.

    Examples
    --------
    >>> packet = np.array([5, 8]).view([("t", "i8")])
    >>> [packet["t"].tolist() for packet in repeated(lambda: [packet.ravel()], 3)]
    [[5, 8], [9, 12], [13, 16]]

    """
    later, done = 0, 0
    while times is None or done < times:
        first = last = None
        for packet in play():
            first = int(packet["t"][0]) if first is None else first
            if done:
                packet = packet.copy()
                packet["t"] += later - first
            last = int(packet["t"][-1])
            yield packet
        if last is None:
            return
        later, done = last + 1, done + 1


def paced(
    packets: Iterable[Array],
    speed: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Array]:
    """The same events at the speed at which they happened, or a multiple of it, in packets of 5 ms at most.

    Parameters
    ----------
    packets : iterable of structured arrays
        In time order.
    speed : float
        1: as they happened; 2: twice as fast; 0: without waiting, and in the packets as they are.
    clock, sleep : callable
        What tells the time in seconds, and what waits.

    Yields
    ------
    structured array
        When its last event is due. If the receiver is slow, the next ones are not late because of it.

    Examples
    --------
    >>> now = [0.0]
    >>> def sleep(seconds):
    ...     now[0] += seconds
    >>> packet = np.arange(0, 20_000, 2_000).view([("t", "i8")])
    >>> [len(piece) for piece in paced([packet], 2.0, clock=lambda: now[0], sleep=sleep)], round(now[0], 3)
    ([3, 2, 3, 2], 0.009)

    """
    if not (math.isfinite(speed) and speed >= 0):
        raise SettingError(
            f"speed = {speed!r} must be 0 (without waiting), 1 (as it happened) or another number above."
        )
    if speed == 0:
        yield from packets
        return
    start, began = None, 0.0
    for packet in packets:
        t = packet["t"]
        if start is None:
            start, began = int(t[0]), clock()  # opening and reading the source took time as well
        steps = (t - start) // _STEP
        for piece in np.split(packet, np.flatnonzero(steps[1:] != steps[:-1]) + 1):
            due = began + (int(piece["t"][-1]) - start) / 1e6 / speed
            while (left := due - clock()) > 0:
                sleep(min(left, _NAP))
            yield piece
