"""Linear decay: a surface that falls to 0 in a straight line, as in implementations that avoid the exponential.

::

    ts = max(0, 1 - (t - T) / (2 tau))       0 where nothing has fired yet

Twice tau, so that an entry adds as much over time as under exponential decay: both have the area tau. An exponential
surface holds the same times, so it can be converted: ``1 - (t - T) / (2 tau) = 1 + ln(ts) / 2``.

The rule of HOTS with a linear kernel is that of Maro, Ieng and Benosman (2020), *Event-based gesture recognition with
dynamic background suppression using smartphone computational capabilities*, Frontiers in Neuroscience 14.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import pack
from timesurf.engines.cpu.geometry import geometry
from timesurf.engines.cpu.vector import FASTMATH
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.storage.kernels import njit

Array = NDArray[Any]
REACH = 2.0  # tau: the time in which a surface falls to 0
_NEVER = -(2**62)  # the time of an entry that has not fired


def from_exponential(surfaces: Array) -> Array:
    """The same surfaces with linear decay.

    Examples
    --------
    >>> from_exponential(np.array([1.0, np.exp(-0.5), np.exp(-3.0), 0.0]))
    array([1.  , 0.75, 0.  , 0.  ])
    """
    with np.errstate(divide="ignore"):
        straight: Array = np.maximum(1 + np.log(surfaces) / REACH, 0)
    return straight


def emitted(stage: Stage, centroids: Array, recordings: Recordings) -> Recordings:
    """Every event with the unit whose centroid is closest to its linear surface, as its polarity.

    Parameters
    ----------
    stage : Stage
        The layer.
    centroids : array, shape (units, entries)
        Of linear surfaces.
    recordings : Recordings
        Its input.

    Returns
    -------
    Recordings
        As many events, on the output field of the layer.
    """
    batch, table = pack(recordings), geometry(stage)
    winner, context = np.empty(len(batch.entry), dtype=np.int32), np.empty(table.context, dtype=np.int64)
    _closest(
        batch.entry, batch.t, batch.offsets, table.own, table.start, table.runs, table.row, stage.polarities,
        np.float32(REACH * stage.tau), np.ascontiguousarray(centroids, dtype=np.float32), context, winner,
    )  # fmt: skip
    return Recordings(
        stage.layer.output(recordings.coords),  # type: ignore[arg-type]  # works on arrays as on numbers
        recordings.t,
        winner,
        recordings.offsets,
        field=stage.output_field,
        polarities=stage.units,
        labels=recordings.labels,
    )


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _closest(
    entry,  # IN     (events,) place and polarity of each event in the flat field
    t,  # IN     (events,) us
    offsets,  # IN     (recordings + 1,)
    own,  # IN     (locations,) where an event of polarity 0 writes its time
    start,  # IN     (locations,) where its neighbourhood begins
    runs,  # IN     (rows,) where each run of a surface begins, from `start`
    row,  # IN     entries per run
    polarities,  # IN
    reach,  # IN     us until a surface is 0
    centroids,  # IN     (units, entries)
    context,  # WORK   last time of every entry
    winner,  # OUT    (events,) the closest unit
):
    """The closest unit of every event."""
    units, entries = centroids.shape
    ts, none = np.empty(entries, dtype=np.float32), np.float32(0)
    for r in range(len(offsets) - 1):
        context[:] = _NEVER
        for i in range(offsets[r], offsets[r + 1]):
            location, now = entry[i] // polarities, t[i]
            context[own[location] + entry[i] % polarities] = now
            for q in range(len(runs)):
                begin = start[location] + runs[q]
                for j in range(row):
                    ts[q * row + j] = max(np.float32(1) - np.float32(now - context[begin + j]) / reach, none)
            least = np.float32(np.inf)
            for n in range(units):
                apart = none
                for j in range(entries):
                    apart += (ts[j] - centroids[n, j]) ** 2
                if apart < least:
                    least, winner[i] = apart, n
