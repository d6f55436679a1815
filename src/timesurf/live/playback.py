"""Recordings shown as a camera would have sent them: at any speed, in steps, one after another, in a loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import Recordings

Array = NDArray[Any]
STEP = 10_000  # us of a recording: what a step shows
SLOWEST, FASTEST = 0.01, 1000.0
_MOST = 20_000  # events per packet


class Playback:
    """Recordings, packet by packet.

    Parameters
    ----------
    recordings : Recordings
        To show.
    clock : callable
        Seconds now.

    Attributes
    ----------
    speed : float
        1: as fast as they were recorded.
    paused, loop : bool
        Whether time stands still, and whether the first recording follows the last.
    number : int
        Which recording is shown.

    Examples
    --------
    >>> from timesurf.bench import workloads
    >>> shown = Playback(workloads.strokes(2, events=300, field=(8, 8)))
    >>> shown.paused = True
    >>> shown.step()
    >>> len(shown.read()) > 0, len(shown.read())
    (True, 0)

    """

    def __init__(self, recordings: Recordings, clock: Callable[[], float] = time.perf_counter) -> None:
        if len(recordings) == 0 or not recordings.counts.any():
            raise SettingError("There are no events to show.")
        self.recordings, self._clock = recordings, clock
        self.speed, self.paused, self.loop = 1.0, False, True
        self.number = -1
        self.next()

    def next(self, by: int = 1) -> None:
        """Begin the next recording, after the last one the first; by=0 begins this one again."""
        self.number = (self.number + by) % len(self.recordings)
        (self._events,) = self.recordings[self.number].to_structured()
        self._done, self._reached = 0, float(self._events["t"][0]) if len(self._events) else 0.0
        self._last = self._clock()
        self.began = True  # until it is read

    def go_at(self, speed: float) -> None:
        """Show recordings faster or slower."""
        if not SLOWEST <= speed <= FASTEST:
            raise SettingError(f"speed = {speed!r} must lie between {SLOWEST:g} and {FASTEST:g}.")
        self.speed = float(speed)

    def step(self) -> None:
        """Show the next 10 ms, and pause."""
        self.paused = True
        self._reached += STEP

    @property
    def label(self) -> Any:
        """What the recording shows, if that is known."""
        labels = self.recordings.labels
        return labels[self.number] if labels is not None and self.recordings.labelled[self.number] else None

    @property
    def ended(self) -> bool:
        """Whether the last recording was shown to its end, and none follows."""
        return not self.loop and self.number == len(self.recordings) - 1 and self._done >= len(self._events)

    @property
    def progress(self) -> float:
        """The share of the recording that was shown."""
        return self._done / max(len(self._events), 1)

    def read(self) -> Array:
        """The events that are due now."""
        now = self._clock()
        if not self.paused:
            self._reached += 1e6 * (now - self._last) * self.speed
        self._last = now
        if self._done >= len(self._events) and not self.paused and not self.ended:
            self.next()
        end = int(np.searchsorted(self._events["t"], self._reached, side="right"))
        end = min(end, self._done + _MOST)
        packet = self._events[self._done : end]
        self._done = end
        return packet
