"""What was shown, as labelled recordings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings

Array = NDArray[Any]
MOST_EVENTS = 20_000_000


class Recorder:
    """Collects packets while it is on, up to `MOST_EVENTS`: one recording per stretch with the same label.

    Attributes
    ----------
    on : bool
        Whether packets are kept.
    events : int
        Events kept so far.
    full : bool
        Whether a packet was left out, for which there was no room. None is kept after it.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.on = True
    >>> packet = np.zeros(3, [(name, np.int64) for name in "xytp"])
    >>> for label in (1, 1, None): recorder.add(packet, label)
    >>> recorder.recordings((8, 8), 2)
    Recordings(2 recordings, 9 events, field 8 x 8, 2 polarities, 1 label)

    """

    def __init__(self) -> None:
        self.on, self.events, self.full = False, 0, False
        self._parts: list[tuple[Any, list[Array]]] = []

    def add(self, packet: Array, label: Any) -> None:
        """Keep a packet."""
        self.full = self.full or (self.on and self.events + len(packet) > MOST_EVENTS)
        if not self.on or self.full:
            return
        if not self._parts or self._parts[-1][0] != label:
            self._parts.append((label, []))
        self._parts[-1][1].append(packet.copy())
        self.events += len(packet)

    def clear(self) -> None:
        """Drop what was kept."""
        self.events, self.full = 0, False
        self._parts.clear()

    def recordings(self, field: tuple[int, ...], polarities: int) -> Recordings:
        """What was kept; recordings of nothing in particular have no label."""
        if not self._parts:
            raise EventError("Nothing was recorded yet.")
        labels = ["" if label is None else str(label) for label, _ in self._parts]
        return Recordings.from_structured(
            [np.concatenate(packets) for _, packets in self._parts], field=field, polarities=polarities, labels=labels
        )
