"""HATS: averaged time surfaces of the cells of a grid, and a linear classifier on all of them.

Sironi, Brambilla, Bourdis, Lagorce and Benosman (2018), *HATS: histograms of averaged time surfaces for robust
event-based object classification*, CVPR. An event i of polarity p at x_i sees all earlier events of its polarity in its
neighbourhood, not only the last of each pixel; a cell C averages what its events see::

    T_i(z, p) = sum over j < i with x_j = x_i + z and p_j = p of exp(-(t_i - t_j) / tau)
    h_C(z, p) = sum over i in C of T_i(z, p) / (events in C)

Two simplifications: memory fades by tau alone, without a limit on its age, and events of neighbouring cells are seen
too. A cell is a quarter of the field along each dimension, so there are at most four per dimension whatever the sensor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import pack
from timesurf.engines.cpu.geometry import geometry
from timesurf.engines.cpu.vector import FASTMATH, decayed
from timesurf.events import Recordings
from timesurf.layers import Tile, Window, stack
from timesurf.storage.kernels import njit
from timesurf.times import Time

Array = NDArray[Any]
CELLS, RADIUS = 4, 3  # cells per dimension; pixels that a surface reaches in each direction


def features(recordings: Recordings, tau: Time, *, cells: int = CELLS, radius: int = RADIUS) -> Array:
    """Averaged surfaces of all cells, one row per recording.

    Parameters
    ----------
    recordings : Recordings
        Of any field.
    tau : float or str
        Decay: us, or text such as "2 ms".
    cells : int
        Cells along each dimension.
    radius : int
        Pixels that a surface reaches in each direction.

    Returns
    -------
    array of float32, shape (recordings, cells * polarities * entries)

    Examples
    --------
    >>> one = Recordings([[0, 1]], t=[0, 0], field=(2,))
    >>> features(one, tau=1, cells=1, radius=1).tolist()  # the second event sees the first, to its left
    [[0.5, 0.0, 0.0]]
    """
    field, polarities = recordings.field, recordings.polarities
    (stage,) = stack([Window(2 * radius + 1, units=1, tau=tau)], field, polarities)
    grid = stack([Tile([-(-n // cells) for n in field], units=1, tau=1)], field, 1)[0]
    table, batch = geometry(stage), pack(recordings)
    places = math.prod(stage.surface_shape[:-1])
    rows = np.zeros((len(recordings), math.prod(grid.output_field), polarities, places), dtype=np.float32)
    _average(
        batch.entry, batch.t, batch.offsets, table.own, table.start, table.runs, table.row, geometry(grid).out,
        stage.tau, np.empty(table.context), np.empty(table.context, np.int64), rows,
    )  # fmt: skip
    return rows.reshape(len(recordings), -1)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _average(
    entry,  # IN     (events,) place and polarity of each event in the flat field
    t,  # IN     (events,) us
    offsets,  # IN     (recordings + 1,)
    own,  # IN     (locations,) where an event of polarity 0 is counted
    start,  # IN     (locations,) where its neighbourhood begins
    runs,  # IN     (rows,) where each run of a surface begins, from `start`
    row,  # IN     entries per run
    cell,  # IN     (locations,) cell of each location
    tau,  # IN     us
    count,  # WORK   fading count of every entry, as it was at its last event
    last,  # WORK   time of that event
    sums,  # OUT    (recordings, cells, polarities, places) zeros at first
):
    """Averaged surfaces of every cell of every recording."""
    polarities = sums.shape[2]
    events = np.empty(sums.shape[1], dtype=np.int64)
    for r in range(len(offsets) - 1):
        count[:] = 0.0
        last[:] = 0
        events[:] = 0
        for i in range(offsets[r], offsets[r + 1]):
            location, p, now = entry[i] // polarities, entry[i] % polarities, t[i]
            c, z = cell[location], 0
            for q in range(len(runs)):
                begin = start[location] + runs[q] + p
                for j in range(0, row, polarities):
                    if count[begin + j] > 0.0:
                        sums[r, c, p, z] += count[begin + j] * decayed(-(now - last[begin + j]) / tau)
                    z += 1
            mine = own[location] + p
            count[mine] = count[mine] * decayed(-(now - last[mine]) / tau) + 1.0
            last[mine] = now
            events[c] += 1
        for c in range(sums.shape[1]):
            if events[c] > 0:
                sums[r, c] /= events[c]
