"""Recordings at other places: each moved by some pixels of its own, and places pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from timesurf.events import Recordings

Array = NDArray[Any]


def moved(recordings: Recordings, by: Array, stride: Sequence[int] = ()) -> Recordings:
    """Each recording moved by its own distance, then places divided by a stride.

    Events that would leave the field stay at its edge.

    Parameters
    ----------
    recordings : Recordings
        As they are.
    by : array of int, shape (recordings, dimensions)
        Pixels.
    stride : sequence of int
        Pixels per place along each dimension; empty: 1.

    Returns
    -------
    Recordings
        As many events, at the same times.

    Examples
    --------
    >>> from timesurf import Recordings
    >>> two = Recordings([[0, 4, 4]], t=[1, 2, 0], offsets=[0, 2, 3], field=(6,))
    >>> moved(two, np.array([[1], [-1]])).coords
    (array([1, 5, 3], dtype=uint8),)
    >>> moved(two, np.array([[9], [0]]), stride=[4]).coords
    (array([1, 1, 1], dtype=uint8),)
    """
    from timesurf.events import Recordings

    coords, field = [], []
    for d, (x, size) in enumerate(zip(recordings.coords, recordings.field, strict=True)):
        pixels, far = int(stride[d]) if len(stride) else 1, int(np.abs(by[:, d]).max(initial=0))
        places = np.clip(np.arange(-far, size + far), 0, size - 1) // pixels
        field.append(-(-size // pixels))
        index = x + np.repeat(by[:, d].astype(np.int32) + far, recordings.counts)
        coords.append(places.astype(np.min_scalar_type(field[-1] - 1))[index])
    return Recordings(
        coords, recordings.t, recordings.p, recordings.offsets,
        field=field, polarities=recordings.polarities, labels=recordings.labels,
    )  # fmt: skip
