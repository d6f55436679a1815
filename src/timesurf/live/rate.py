"""How many events per second pass now."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_SPAN = 1.0  # s
_STEP = 0.05  # s between two notes


class Rate:
    """Events per second over the latest second.

    Parameters
    ----------
    clock : callable
        What tells the time in seconds.

    Examples
    --------
    >>> now = iter([0.0, 0.5, 1.0, 1.5, 2.0])
    >>> rate = Rate(lambda: next(now))
    >>> [round(rate.now(total)) for total in (100, 200, 200, 200)]
    [200, 200, 100, 0]

    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._notes = deque([(clock(), 0)])

    def now(self, total: int) -> float:
        """The rate now that so many events have passed since the beginning."""
        time_now = self._clock()
        while len(self._notes) > 1 and self._notes[1][0] <= time_now - _SPAN:
            self._notes.popleft()
        since, before = self._notes[0]
        if time_now - self._notes[-1][0] >= _STEP:
            self._notes.append((time_now, total))
        return (total - before) / max(time_now - since, 1e-9)
