"""The rhythm of recordings: how long an entry of a field rests between two events.

Together with how long recordings last, all times that a network needs are multiples of it: nothing depends on a clock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def intervals(entry: Array, t: Array, counts: Array) -> Array:
    """Times between consecutive events of the same entry in the same recording, us; simultaneous ones left out.

    Parameters
    ----------
    entry : array of int, shape (events,)
        Place of each event in the flat field: coordinates and polarity.
    t : array of int, shape (events,)
        Times, us.
    counts : array of int, shape (recordings,)
        Events in each recording.

    Returns
    -------
    array of int
        One per pair of consecutive events.

    Examples
    --------
    >>> intervals(np.array([3, 5, 3, 3]), np.array([0, 1, 10, 14]), np.array([4]))
    array([10,  4])
    """
    recording = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((entry, recording))  # stable: events of one entry stay in the order of time
    same = (np.diff(entry[order]) == 0) & (np.diff(recording[order]) == 0)
    apart = np.diff(t[order])[same]
    found: Array = apart[apart > 0]
    return found
