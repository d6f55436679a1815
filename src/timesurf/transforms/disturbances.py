"""What a worse sensor would add: noise events anywhere, and pixels that never stop firing.

Added events come at random times (a Poisson process) from the first to the last event of each recording. A recording
of fewer than two events has no duration, and stays as it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.transforms import bounds
from timesurf.transforms.arrays import also_arrays

Array = NDArray[Any]
_FASTEST = 1e6  # events per second of one pixel: one per microsecond
_MOST = 1 << 28  # events that are added: they take 5 GiB


@also_arrays
def add_noise(recordings: Recordings, rate: float, seed: int | np.random.Generator = 0) -> Recordings:
    """With noise: further events at random times, pixels and polarities.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events. The field of an array is the smallest that holds its events.
    rate : float
        Noise events per second of one pixel, on average, at most 1 million.
    seed : int or Generator
        The same seed adds the same events.

    Examples
    --------
    >>> still = Recordings([[0, 0]], t=[0, 1_000_000], field=(10,))
    >>> len(add_noise(still, rate=100).t)
    1014

    """
    return _with_more(recordings, math.prod(recordings.field), None, rate, np.random.default_rng(seed))


@also_arrays
def add_hot_pixels(
    recordings: Recordings, pixels: int, rate: float = 1000.0, seed: int | np.random.Generator = 0
) -> Recordings:
    """With hot pixels: the same in all recordings, each firing at random times under one polarity.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events. The field of an array is the smallest that holds its events.
    pixels : int
        How many pixels are hot. Those of a smaller number are among those of a larger one, if the seed is the same.
    rate : float
        Events per second of one hot pixel, on average, at most 1 million.
    seed : int or Generator
        The same seed adds the same events.

    Examples
    --------
    >>> still = Recordings([[0, 0]], t=[0, 1_000_000], field=(10,))
    >>> sorted(set(add_hot_pixels(still, 2, rate=50).coords[0].tolist()))
    [0, 4, 6]

    """
    size, rng = math.prod(recordings.field), np.random.default_rng(seed)
    if isinstance(pixels, bool) or not isinstance(pixels, int | np.integer) or not 0 <= pixels <= size:
        raise SettingError(f"pixels = {pixels!r} must be a whole number from 0 to {size:,}, the pixels of the field.")
    bounds.pixels(recordings.field)
    hot = rng.permutation(size)[:pixels], rng.integers(recordings.polarities, size=size)[:pixels]
    return _with_more(recordings, int(pixels), hot, rate, rng)


def _with_more(
    recordings: Recordings, pixels: int, hot: tuple[Array, Array] | None, rate: float, rng: np.random.Generator
) -> Recordings:
    """With events of so many pixels at this rate each: those in `hot`, each with its polarity, or all, of any."""
    if not 0 <= rate <= _FASTEST:
        raise SettingError(f"rate = {rate!r} must lie between 0 and {_FASTEST:,.0f} events per second of one pixel.")
    t, number, (first, last) = recordings.t, np.arange(len(recordings)), recordings.spans()
    expected = float(rate) * pixels * (last - first) / 1e6  # a product of integers may leave 64 bits
    if expected.sum() > _MOST:
        raise SettingError(f"rate = {rate!r} would add {expected.sum():,.0f} events, more than {_MOST:,}.")
    added = rng.poisson(expected)
    which = rng.integers(max(pixels, 1), size=int(added.sum()))
    at = which if hot is None else hot[0][which]
    p = rng.integers(recordings.polarities, size=len(which)) if hot is None else hot[1][which]
    places = np.unravel_index(at, recordings.field) if recordings.field else ()
    when = rng.integers(np.repeat(first, added), np.repeat(last, added), endpoint=True).astype(t.dtype)
    order = np.argsort(np.concatenate([np.repeat(number, recordings.counts), np.repeat(number, added)]), kind="stable")
    coords = [
        np.concatenate([x, place.astype(np.min_scalar_type(n - 1))])[order]
        for x, place, n in zip(recordings.coords, places, recordings.field, strict=True)
    ]
    polarities = np.concatenate([recordings.p, p.astype(np.min_scalar_type(recordings.polarities - 1))])
    return Recordings(
        coords, np.concatenate([t, when])[order], polarities[order], np.append(0, np.cumsum(recordings.counts + added)),
        field=recordings.field, polarities=recordings.polarities, labels=recordings.labels, sort=True,
    )  # fmt: skip
