"""Recordings turned, scaled and sheared a little, each in its own way: other handwriting, for augmentation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.cores import cores
from timesurf.errors import SettingError
from timesurf.events import Recordings

Array = NDArray[Any]
_AT_ONCE = 1 << 20  # events per task of a thread


def bend(
    recordings: Recordings,
    turn: float = 12.0,
    grow: float = 0.1,
    shear: float = 0.15,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> Recordings:
    """Each recording turned, scaled and sheared about the middle of its field, by amounts of its own.

    ``x' = A (x + u)`` with A drawn per recording and u within half a pixel, drawn per event: places between pixels go
    to either. Times and polarities stay, and events that would leave the field stay at its edge.

    Parameters
    ----------
    recordings : Recordings
        On a field of two dimensions.
    turn : float
        Degrees, at most, either way.
    grow : float
        Share by which sizes change at most, either way; less than 1.
    shear : float
        Pixels along the first dimension per pixel along the second, at most, either way.
    seed : int
        The same seed bends in the same way, for any number of threads.
    threads : int, optional
        None: one per core.

    Returns
    -------
    Recordings
        As many events, at the same times.

    Raises
    ------
    SettingError
        If the field has not two dimensions, or an amount is out of its range.

    Examples
    --------
    >>> line = Recordings([[4, 4, 4], [1, 4, 7]], t=[0, 1, 2], field=(9, 9))
    >>> bend(line, turn=0, grow=0, shear=0).coords
    (array([4, 4, 4], dtype=uint8), array([1, 4, 7], dtype=uint8))
    """
    if len(recordings.field) != 2:
        raise SettingError(f"A field of {len(recordings.field)} dimensions cannot be bent: it needs two.")
    if not (0 <= turn <= 180 and 0 <= grow < 1 and 0 <= shear <= 1):
        raise SettingError(
            f"turn = {turn!r} must lie between 0 and 180 degrees, grow = {grow!r} between 0 and 1, less than that, and "
            f"shear = {shear!r} between 0 and 1."
        )
    from timesurf.transforms.places import bend_places  # numba: not before it is needed

    rng = np.random.default_rng(seed)
    n = len(recordings)
    angle, size, slant = (rng.uniform(-most, most, n) for most in (np.deg2rad(turn), grow, shear))
    by = np.stack([np.cos(angle), slant - np.sin(angle), np.sin(angle), np.cos(angle)], axis=1)
    by *= (1 + size)[:, None]
    offsets, (x, y) = recordings.offsets, recordings.coords
    kind = np.min_scalar_type(max(recordings.field) - 1)
    out = np.empty((2, len(x)), kind)
    key, (width, height) = np.uint64(rng.integers(2**63)), recordings.field

    def some(part: slice) -> None:
        bend_places(x, y, offsets, by, part.start, part.stop, width, height, key, out[0], out[1])

    with ThreadPoolExecutor(threads or cores()) as pool:
        list(pool.map(some, recordings.parts(_AT_ONCE)))
    return Recordings(
        list(out), recordings.t, recordings.p, offsets,
        field=recordings.field, polarities=recordings.polarities, labels=recordings.labels,
    )  # fmt: skip
