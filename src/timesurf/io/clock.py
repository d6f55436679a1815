"""Clocks of sensors, which count in few bits and begin again at 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Clock:
    """Times that a sensor counts in few bits, as times that never restart.

    Parameters
    ----------
    bits : int
        After 2**bits the sensor's clock is at 0 again.

    Examples
    --------
    >>> clock = Clock(8)
    >>> clock.whole(np.array([200, 250, 3])).tolist(), clock.whole(np.array([2, 9])).tolist()
    ([200, 250, 259], [258, 265])

    """

    def __init__(self, bits: int) -> None:
        self._period, self._latest = 1 << bits, -1

    def whole(self, t: Array) -> Array:
        """The next times; a step back by less than half of the period is one, not a restart."""
        t = t.astype(np.int64)
        if not len(t):
            return t
        if self._latest < 0:
            self._latest = int(t[0])
        half = self._period // 2
        steps = (np.diff(t, prepend=self._latest % self._period) + half) % self._period - half
        whole: Array = self._latest + np.cumsum(steps)
        self._latest = max(int(whole[-1]), 0)
        return whole
