"""Long recordings cut into short ones."""

from __future__ import annotations

import numpy as np

from timesurf.events import Recordings
from timesurf.times import Time, microseconds


def pieces(recordings: Recordings, every: Time) -> Recordings:
    """Cut recordings into pieces of this length; what is left over at the end makes no piece.

    Examples
    --------
    >>> long = Recordings([[0, 0, 0]], t=[0, 5, 12], field=(1,), labels=["a"])
    >>> pieces(long, 10).counts
    array([2])
    """
    step = round(microseconds(every, "every"))
    starts, stops, whose = [], [], []
    for r in range(len(recordings)):
        t = recordings[r].t
        if len(t) == 0:
            continue
        first = int(t[0]) - int(t[0]) % step
        cuts = int(recordings.starts[r]) + np.searchsorted(t, np.arange(first, int(t[-1]) + 1, step))
        starts.append(cuts[:-1])
        stops.append(cuts[1:])
        whose += [r] * (len(cuts) - 1)
    cut = recordings.cut(np.concatenate(starts), np.concatenate(stops))
    return cut if recordings.labels is None else cut.with_labels(np.asarray(recordings.labels)[whose])
