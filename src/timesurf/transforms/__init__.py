"""Events in, other events out: what a recording goes through before a network sees it.

Every function takes `Recordings` and returns new ones. Each also takes one structured array (x, y, t, p), as tonic
provides, and then returns one, so that `functools.partial` makes it a step of a tonic `Compose`::

    Compose([partial(transforms.crop, corner=(3, 3), size=(28, 28)), transforms.merge_polarities])

Those that treat each recording by itself work through a large data set part by part. What comes from a memory-mapped
file goes to a temporary one in the cache folder ($TIMESURF_CACHE), and is mapped as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import LATEST, Recordings
from timesurf.times import Time, first_microsecond, microseconds
from timesurf.transforms import bounds
from timesurf.transforms.arrays import also_arrays
from timesurf.transforms.bending import bend as bend
from timesurf.transforms.disturbances import add_hot_pixels as add_hot_pixels
from timesurf.transforms.disturbances import add_noise as add_noise
from timesurf.transforms.parts import in_parts

Array = NDArray[Any]
SACCADES = ((3.5, 7.0), (3.5, -7.0), (-7.0, 0.0))  # pixels that N-MNIST's images move by, (x, y), one after another
SACCADE = 105_000  # us that each of them takes
_MOST_DIMENSIONS = 8  # of a field without noise: all pixels around each event are looked at
_FARTHEST = 2**31  # pixels: fields are smaller, and sums of such numbers are exact


@also_arrays
@in_parts
def crop(recordings: Recordings, corner: Sequence[int], size: Sequence[int]) -> Recordings:
    """Events inside a box of the field; the corner of the box becomes the origin.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    corner : sequence of int
        The smallest coordinates of the box, one per dimension.
    size : sequence of int
        Size of the box, which is the new field.

    Examples
    --------
    >>> crop(Recordings([[0, 3, 5]], t=[1, 2, 3], field=(6,)), corner=[3], size=[2]).coords
    (array([0], dtype=uint8),)

    """
    if not len(corner) == len(size) == len(recordings.field):
        raise SettingError(f"corner = {corner} and size = {size} need {len(recordings.field)} numbers each.")
    if any(not abs(c) <= _FARTHEST for c in corner):
        raise SettingError(f"corner = {corner} must lie within {_FARTHEST} pixels of the field.")
    moved = [x.astype(np.int64) - c for x, c in zip(recordings.coords, corner, strict=True)]
    inside = _inside(moved, size, len(recordings.t))
    return _rebuilt(recordings, _narrow(moved, size), recordings.t, recordings.p, inside, field=size)


@also_arrays
def merge_polarities(recordings: Recordings) -> Recordings:
    """Every event under polarity 0. No event is copied.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.

    """
    return recordings.with_one_polarity()


@also_arrays
@in_parts
def stabilise(
    recordings: Recordings, saccades: Sequence[Sequence[float]] = SACCADES, duration: Time = SACCADE
) -> Recordings:
    """Undo the movement of the image, by default N-MNIST's three saccades. Events that leave the field are lost.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    saccades : sequence of sequences of float
        How far the image moves in each saccade, in pixels along each dimension; at constant speed, one after another.
    duration : Time
        How long each saccade takes.

    """
    us = microseconds(duration, "duration")
    path = np.concatenate([np.zeros((1, len(recordings.field))), np.cumsum(np.asarray(saccades, float), axis=0)])
    if not (np.abs(path) <= _FARTHEST).all():
        raise SettingError(f"saccades must stay within {_FARTHEST} pixels of the field.")
    at = np.arange(len(path)) * us
    coords = [
        np.rint(x - np.interp(recordings.t, at, along)).astype(np.int64)
        for x, along in zip(recordings.coords, path.T, strict=True)
    ]
    inside = _inside(coords, recordings.field, len(recordings.t))
    return _rebuilt(recordings, _narrow(coords, recordings.field), recordings.t, recordings.p, inside)


@also_arrays
@in_parts
def time_crop(recordings: Recordings, start: Time = 0, stop: Time | None = None) -> Recordings:
    """Events from `start` up to but without `stop`; times stay as they are.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    start, stop : Time
        On the clock of the recordings; None: no limit.

    """
    t = recordings.t
    keep = t >= (first_microsecond(start, "start") if start != 0 else 0)
    if stop is not None:
        keep &= t < first_microsecond(stop, "stop")
    return _rebuilt(recordings, recordings.coords, t, recordings.p, keep)


@also_arrays
@in_parts
def refractory(recordings: Recordings, period: Time) -> Recordings:
    """Without events that come sooner than `period` after the last remaining one of the same pixel and polarity.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    period : Time
        The shortest interval that remains.

    Examples
    --------
    >>> refractory(Recordings([[0, 0, 0]], t=[0, 4, 6], field=(1,)), period=5).t
    array([0, 6])

    """
    from timesurf.transforms import filters

    keep = np.zeros(int(recordings.counts.sum()), dtype=np.bool_)
    last = np.zeros(bounds.pixels(recordings.field, recordings.polarities), np.int64)
    us, t = microseconds(period, "period"), _signed(recordings.t)
    filters.refractory(recordings.entries(), t, recordings.offsets, us, last, keep)
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@also_arrays
@in_parts
def denoise(recordings: Recordings, period: Time) -> Recordings:
    """Without isolated events: those where no touching pixel, of either polarity, fired within `period` before.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    period : Time
        How long an event supports its neighbours.

    Examples
    --------
    >>> denoise(Recordings([[0, 1, 5]], t=[0, 4, 6], field=(6,)), period=5).t
    array([4])

    """
    return without_noise(recordings, microseconds(period, "period"))


def without_noise(recordings: Recordings, us: float, past: Array | None = None) -> Recordings:
    """As `denoise`; `past`, the latest time of every pixel (plus 1; 0 at first), goes on from call to call."""
    from timesurf.transforms import filters

    field = np.array(recordings.field, dtype=np.int64)
    if len(field) > _MOST_DIMENSIONS:
        raise SettingError(
            f"In {len(field)} dimensions a pixel touches {3 ** len(field) - 1:,} others; denoise takes at most "
            f"{_MOST_DIMENSIONS} dimensions."
        )
    place = recordings.with_one_polarity().entries()
    steps = np.array(list(product((-1, 0, 1), repeat=len(field))), dtype=np.int64)
    steps = steps[np.abs(steps).sum(axis=1) > 0]
    keep = np.zeros(len(place), dtype=np.bool_)
    coords = np.empty((len(place), len(field)), dtype=np.int64)
    for k, x in enumerate(recordings.coords):
        coords[:, k] = x
    last = np.zeros(bounds.pixels(recordings.field), np.int64) if past is None else past
    t = _signed(recordings.t)
    filters.supported(coords, place, t, recordings.offsets, field, steps, us, last, past is None, keep)
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@also_arrays
@in_parts
def hot_pixels(recordings: Recordings, rate: float) -> Recordings:
    """Without the events of a pixel, of either polarity, while it fires faster than `rate`.

    Its rate is a count that decays with a time constant of 100 ms, so that a burst is no hot pixel, and a pixel that
    turns hot is found after a few of its events.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    rate : float
        Events per second of one pixel, from 1 to 1 million.

    Examples
    --------
    >>> hot = Recordings([[0] * 50 + [1]], t=[*range(0, 50_000, 1000), 50_000], field=(2,))
    >>> hot_pixels(hot, rate=200).coords[0].tolist().count(0)
    22

    """
    return without_hot_pixels(recordings, rate)


def without_hot_pixels(recordings: Recordings, rate: float, past: tuple[Array, Array] | None = None) -> Recordings:
    """As `hot_pixels`; `past`, latest time (plus 1) and count of every pixel, goes on from call to call."""
    from timesurf.transforms import filters

    if not 1 <= rate <= 1e6:
        raise SettingError(f"rate = {rate!r} must lie between 1 and 1,000,000 events per second of one pixel.")
    place = recordings.with_one_polarity().entries()
    keep = np.zeros(len(place), dtype=np.bool_)
    last, count = past or (np.zeros(bounds.pixels(recordings.field), kind) for kind in (np.int64, np.float64))
    most = max(rate * filters.RATE_TAU / 1e6, 1.0)
    filters.not_hot(place, _signed(recordings.t), recordings.offsets, most, last, count, past is None, keep)
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@also_arrays
@in_parts
def downsample(recordings: Recordings, space: int | Sequence[int] = 1, time: Time | None = None) -> Recordings:
    """Fewer pixels, and coarser times.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    space : int or sequence of int
        Pixels that become one, along every dimension or along each. All events remain.
    time : Time, optional
        Times are rounded down to multiples of it, a whole number of microseconds; of the events of one pixel and
        polarity at one such time, the first remains. None: times stay as they are.

    Examples
    --------
    >>> downsample(Recordings([[0, 3, 5]], t=[1, 2, 3], field=(6,)), space=4).coords
    (array([0, 0, 1], dtype=uint8),)

    """
    factors = _whole_factors(space, recordings.field)
    field = [-(-n // by) for n, by in zip(recordings.field, factors, strict=True)]
    # a factor may not fit into the integers that coordinates are kept in
    coords = _narrow([x.astype(np.int64) // by for x, by in zip(recordings.coords, factors, strict=True)], field)
    keep = np.ones(int(recordings.counts.sum()), dtype=np.bool_)
    coarse = _rebuilt(recordings, coords, recordings.t, recordings.p, keep, field=field)
    if time is None:
        return coarse
    step = min(max(first_microsecond(time, "time"), 1), LATEST)
    t = _signed(coarse.t) // step * step
    rank = np.repeat(np.arange(len(coarse)), coarse.counts)
    first = np.unique(np.stack([rank, t, coarse.entries()]), axis=1, return_index=True)[1]
    keep[:] = False
    keep[first] = True
    return _rebuilt(coarse, coarse.coords, t, coarse.p, keep)


@also_arrays
@in_parts
def flip(recordings: Recordings, axis: int = 0) -> Recordings:
    """Mirrored along one dimension of the field: 0 is x, left and right; 1 is y.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    axis : int
        The dimension.

    Examples
    --------
    >>> flip(Recordings([[0, 3]], t=[1, 2], field=(6,))).coords
    (array([5, 2]),)

    """
    if not isinstance(axis, int | np.integer) or not 0 <= axis < len(recordings.field):
        raise SettingError(
            f"axis = {axis!r} must be the number of a dimension of the field, 0 to {len(recordings.field) - 1}."
        )
    coords = list(recordings.coords)
    coords[axis] = recordings.field[axis] - 1 - coords[axis].astype(np.int64)
    keep = np.ones(len(coords[axis]), dtype=np.bool_)
    return _rebuilt(recordings, coords, recordings.t, recordings.p, keep)


@also_arrays
@in_parts
def only_polarity(recordings: Recordings, p: int) -> Recordings:
    """Events of one polarity (of a camera 1 is on, 0 off), which becomes the only one.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    p : int
        The polarity.

    """
    if not isinstance(p, int | np.integer) or not 0 <= p < recordings.polarities:
        raise SettingError(f"p = {p!r}: the recordings have the polarities 0 to {recordings.polarities - 1}.")
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, recordings.p == p).with_one_polarity()


def _whole_factors(space: int | Sequence[int], field: Sequence[int]) -> tuple[int, ...]:
    """How many pixels become one along each dimension: at most all."""
    factors = tuple(space) if np.iterable(space) else (space,) * len(field)
    if len(factors) != len(field) or any(not isinstance(by, int | np.integer) or by < 1 for by in factors):
        raise SettingError(f"space = {space!r} must be whole numbers of at least 1, {len(field)} of them or one.")
    return tuple(min(int(by), n) for by, n in zip(factors, field, strict=True))


@also_arrays
def drop(recordings: Recordings, share: float, seed: int | np.random.Generator = 0) -> Recordings:
    """Without a random share of the events, for augmentation.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    share : float
        Probability of each event to be dropped.
    seed : int or Generator
        The same seed drops the same events.

    """
    if not 0 <= share <= 1:
        raise SettingError(f"share = {share!r} must lie between 0 and 1.")
    keep = np.random.default_rng(seed).random(int(recordings.counts.sum())) >= share
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@also_arrays
def jitter(
    recordings: Recordings, pixels: float = 0.0, time: Time | None = None, seed: int | np.random.Generator = 0
) -> Recordings:
    """Events moved at random, for augmentation; sorted by time again. Events that leave the field are lost.

    Parameters
    ----------
    recordings : Recordings or structured array
        Events.
    pixels : float
        Standard deviation along every dimension of the field.
    time : Time, optional
        Standard deviation in time; None: times stay as they are.
    seed : int or Generator
        The same seed moves events in the same way.

    """
    if not 0 <= pixels <= _FARTHEST:
        raise SettingError(f"pixels = {pixels!r} must lie between 0 and {_FARTHEST}.")
    rng = np.random.default_rng(seed)
    events = int(recordings.counts.sum())
    coords = [np.rint(x + rng.normal(0, pixels, events)).astype(np.int64) for x in recordings.coords]
    inside = _inside(coords, recordings.field, events)
    t, p = recordings.t, recordings.p
    if time is not None:
        # only the difference is rounded from a float, which would not hold a late time exactly
        by = np.rint(rng.normal(0, microseconds(time, "time"), events))
        t = np.clip(_signed(t) + np.clip(by, -LATEST, LATEST).astype(np.int64), 0, LATEST - 1)
        order = np.lexsort((t, np.repeat(np.arange(len(recordings)), recordings.counts)))
        coords, t, p, inside = [x[order] for x in coords], t[order], p[order], inside[order]
    return _rebuilt(recordings, coords, t, p, inside)


def _signed(t: Array) -> Array:
    """Times as signed integers: differences of unsigned 64-bit and signed ones would become floats."""
    return t.astype(np.int64, copy=False)


def _inside(coords: Sequence[Array], field: Sequence[int], events: int) -> Array:
    """Which events lie on the field."""
    inside = np.ones(events, dtype=np.bool_)
    for x, n in zip(coords, field, strict=True):
        inside &= (x >= 0) & (x < n)
    return inside


def _narrow(coords: Sequence[Array], field: Sequence[int]) -> list[Array]:
    """Coordinates in the smallest integers that hold those on the field; those off it become anything."""
    if min(field, default=0) < 1:
        return list(coords)  # refused later, with a message about the field
    return [x.astype(np.min_scalar_type(max(field) - 1)) for x in coords]


def _rebuilt(
    like: Recordings,
    coords: Sequence[Array],
    t: Array,
    p: Array,
    keep: Array,
    *,
    field: Sequence[int] | None = None,
) -> Recordings:
    """Recordings of the events marked in `keep`, with labels and whatever is not given as before."""
    offsets = np.concatenate([[0], np.cumsum(keep)])[like.offsets]
    return Recordings(
        [x[keep] for x in coords], t[keep], p[keep], offsets, field=like.field if field is None else field,
        polarities=like.polarities, labels=like.labels,
    )  # fmt: skip
