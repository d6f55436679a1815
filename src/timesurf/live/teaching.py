"""What teaching a live network needs besides its state: marks to go back to, the latest events, its history."""

from __future__ import annotations

from array import array
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines.cpu.bundles import Counts
from timesurf.engines.data import Outcome, Parameters
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.live.checks import whole
from timesurf.network import Network

Array = NDArray[Any]
MOST_EVENTS = 1 << 20  # that `Recent` holds
_MOST_NUMBERS = 1 << 12  # of single events, before they become a packet: that takes some 10 us


class Marks:
    """Networks and parameters to go back to, the latest last.

    Parameters
    ----------
    most : int
        How many are remembered; the oldest are dropped.

    Attributes
    ----------
    count : int
        How many changes there were, without those undone.

    """

    def __init__(self, most: int) -> None:
        if whole(most, "marks") < 0:
            raise SettingError(f"marks = {most!r} must be 0 or more.")
        self._all: deque[tuple[Network, Parameters]] = deque(maxlen=most)
        self.count = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, network: Network, parameters: Parameters) -> None:
        """Mark the present: these parameters are never changed in place."""
        self._all.append((network, parameters))
        self.count += 1

    def back(self, changes: int) -> tuple[Network, Parameters]:
        """What was marked so many changes ago; later marks are dropped."""
        changes = whole(changes, "changes")
        if not 1 <= changes <= len(self._all):
            raise SettingError(f"undo {changes}: there are {len(self._all)} changes that can be undone.")
        self.count -= changes
        for _ in range(changes - 1):
            self._all.pop()
        return self._all.pop()

    def clear(self) -> None:
        """Drop all."""
        self._all.clear()
        self.count = 0


class Recent:
    """The latest events of a stream.

    Parameters
    ----------
    span : float
        How far back they go, us; 0: none are held.

    """

    def __init__(self, span: float) -> None:
        self.span, self._events = span, 0
        self._packets: deque[Array] = deque()
        self._ones, self._places = array("q"), 0  # single events, one after another; numbers of each

    def add_one(self, event: tuple[int, ...]) -> None:
        """Hold a single event: coordinates, polarity and time."""
        self._ones.extend(event)
        self._places = len(event)
        if len(self._ones) >= _MOST_NUMBERS:
            self._gather()

    def _gather(self) -> None:
        """Make a packet of the single events."""
        if self._ones:
            packet = np.array(self._ones).reshape(-1, self._places).T
            self._ones = array("q")
            self.add(packet)

    def add(self, packet: Array) -> None:
        """Hold a copy of a packet: rows of coordinates, polarities and times."""
        if packet.shape[1] == 0:
            return
        self._gather()
        self._packets.append(packet[:, -MOST_EVENTS:].copy())
        self._events += self._packets[-1].shape[1]
        since = packet[-1, -1] - self.span
        while self._packets[0][-1, -1] < since or self._events - self._packets[0].shape[1] > MOST_EVENTS:
            self._events -= self._packets.popleft().shape[1]

    def recordings(self, network: Network, label: Any, events: Array | None) -> Recordings:
        """These events, or else the latest, as one recording of a class on the network's field."""
        about: dict[str, Any] = {"field": network.field, "polarities": network.polarities, "labels": [label]}
        if events is not None:
            if isinstance(events, Recordings):
                if len(events) != 1:
                    raise EventError(f"Class {label!r} starts from one recording, not {len(events):,}: choose one.")
                (events,) = events.to_structured()
            return Recordings.from_structured([events], **about)
        self._gather()
        if not self._packets:
            hold = "Session(recent='1 s') holds them" if not self.span else "show it first"
            raise EventError(f"There are no recent events to start class {label!r} from: give some, or {hold}.")
        rows = np.concatenate(self._packets, axis=1)
        *coords, p, t = rows[:, rows[-1] >= rows[-1, -1] - self.span]
        return Recordings(coords, t, p, [0, len(t)], **about)

    def clear(self) -> None:
        """Hold none."""
        self._packets.clear()
        self._ones = array("q")
        self._events = 0


def figures(counts: Counts, number: int, events: int) -> dict[str, Any]:
    """The entry in a network's history for one recording of this class."""
    outcome = Outcome(np.array([events]), counts.kept, counts.votes)
    accuracy = metrics.labelled_event_accuracy(counts.votes, np.array([number]))
    return {"recordings": 1, "event_accuracy": accuracy, "kept": metrics.kept(outcome)}
