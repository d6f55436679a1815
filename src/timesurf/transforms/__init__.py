"""Events in, other events out: what a recording goes through before a network sees it.

Every function takes `Recordings` and returns new ones. Each also takes one structured array (x, y, t, p), as tonic
hands out, and then returns one, so that `functools.partial` makes it a step of a tonic `Compose`:

    Compose([partial(transforms.crop, corner=(3, 3), size=(28, 28)), transforms.merge_polarities])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.times import Time, microseconds

Array = NDArray[Any]
P = ParamSpec("P")
SACCADES = ((3.5, 7.0), (3.5, -7.0), (-7.0, 0.0))  # pixels that N-MNIST's images move by, (x, y), one after another
SACCADE = 105_000  # us that each of them takes


def _also_arrays(
    transform: Callable[Concatenate[Recordings, P], Recordings],
) -> Callable[Concatenate[Any, P], Any]:
    """Let a transform of recordings take one structured array as well."""

    @functools.wraps(transform)
    def either(events: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(events, Recordings):
            return transform(events, *args, **kwargs)
        if not isinstance(events, np.ndarray):
            raise EventError(f"Recordings or a structured array of events are needed, not {type(events).__name__}.")
        changed = transform(Recordings.from_structured([events]), *args, **kwargs)
        return changed.to_structured()[0].astype(events.dtype, copy=False)

    return cast("Callable[Concatenate[Any, P], Any]", either)


@_also_arrays
def crop(recordings: Recordings, corner: Sequence[int], size: Sequence[int]) -> Recordings:
    """Events inside the box of this size at this corner, which becomes the origin.

    >>> crop(Recordings([[0, 3, 5]], t=[1, 2, 3], field=(6,)), corner=[3], size=[2]).coords
    (array([0], dtype=uint8),)
    """
    if not len(corner) == len(size) == len(recordings.field):
        raise SettingError(f"corner = {corner} and size = {size} need {len(recordings.field)} numbers each.")
    moved = [x.astype(np.int64) - c for x, c in zip(recordings.coords, corner, strict=True)]
    inside = _inside(moved, size)
    narrow = [np.asarray(x, dtype=np.min_scalar_type(max(size) - 1)) for x in moved] if min(size) > 0 else moved
    return _rebuilt(recordings, narrow, recordings.t, recordings.p, inside, field=size)


@_also_arrays
def merge_polarities(recordings: Recordings) -> Recordings:
    """Every event under polarity 0."""
    return _rebuilt(recordings, recordings.coords, recordings.t, None, None, polarities=1)


@_also_arrays
def stabilise(
    recordings: Recordings, saccades: Sequence[Sequence[float]] = SACCADES, duration: Time = SACCADE
) -> Recordings:
    """Undo the movement of the image: three saccades in a triangle for N-MNIST. What leaves the field is lost.

    saccades : how far the image moves in each, pixels along each dimension; at constant speed, one after another
    duration : of each
    """
    us = microseconds(duration, "duration")
    path = np.concatenate([np.zeros((1, len(recordings.field))), np.cumsum(saccades, axis=0)])
    at = np.arange(len(path)) * us
    coords = [
        np.rint(x - np.interp(recordings.t, at, along)).astype(np.int64)
        for x, along in zip(recordings.coords, path.T, strict=True)
    ]
    inside = _inside(coords, recordings.field)
    return _rebuilt(recordings, coords, recordings.t, recordings.p, inside)


@_also_arrays
def time_crop(recordings: Recordings, start: Time = 0, stop: Time | None = None) -> Recordings:
    """Events from `start` up to but without `stop`, on the recordings' own clock, which stays as it is."""
    t = recordings.t
    keep = t >= (microseconds(start, "start") if start != 0 else 0)
    if stop is not None:
        keep &= t < microseconds(stop, "stop")
    return _rebuilt(recordings, recordings.coords, t, recordings.p, keep)


@_also_arrays
def refractory(recordings: Recordings, period: Time) -> Recordings:
    """Without events that come sooner than `period` after the last kept one of the same pixel and polarity.

    >>> refractory(Recordings([[0, 0, 0]], t=[0, 4, 6], field=(1,)), period=5).t
    array([0, 6])
    """
    from timesurf.transforms import filters

    keep = np.zeros(int(recordings.counts.sum()), dtype=np.bool_)
    places = int(np.prod(recordings.field)) * recordings.polarities
    us = microseconds(period, "period")
    filters.refractory(recordings.entries(), recordings.t, recordings.offsets, us, np.empty(places, np.int64), keep)
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@_also_arrays
def denoise(recordings: Recordings, period: Time) -> Recordings:
    """Without isolated events: those where no touching pixel, of either polarity, fired within `period` before.

    >>> denoise(Recordings([[0, 1, 5]], t=[0, 4, 6], field=(6,)), period=5).t
    array([4])
    """
    from timesurf.transforms import filters

    field = np.array(recordings.field)
    place = np.ravel_multi_index(recordings.coords, recordings.field).astype(np.int64)
    steps = np.stack(np.meshgrid(*[(-1, 0, 1)] * len(field), indexing="ij"), axis=-1).reshape(-1, len(field))
    steps = steps[np.abs(steps).sum(axis=1) > 0]
    keep = np.zeros(len(place), dtype=np.bool_)
    coords = np.stack([np.asarray(x, dtype=np.int64) for x in recordings.coords], axis=1)
    last = np.empty(int(np.prod(field)), np.int64)
    us = microseconds(period, "period")
    filters.supported(coords, place, recordings.t, recordings.offsets, field, steps, us, last, keep)
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@_also_arrays
def drop(recordings: Recordings, share: float, seed: int | np.random.Generator = 0) -> Recordings:
    """Without a random share of the events, for augmentation."""
    if not 0 <= share <= 1:
        raise SettingError(f"share = {share!r} must lie between 0 and 1.")
    keep = np.random.default_rng(seed).random(int(recordings.counts.sum())) >= share
    return _rebuilt(recordings, recordings.coords, recordings.t, recordings.p, keep)


@_also_arrays
def jitter(
    recordings: Recordings, pixels: float = 0.0, time: Time | None = None, seed: int | np.random.Generator = 0
) -> Recordings:
    """Events moved at random, for augmentation: normally distributed, in order of time again; what leaves is lost.

    pixels, time : standard deviations along every dimension of the field and in time
    """
    if not pixels >= 0:
        raise SettingError(f"pixels = {pixels!r} must not be negative.")
    rng = np.random.default_rng(seed)
    events = int(recordings.counts.sum())
    coords = [np.rint(x + rng.normal(0, pixels, events)).astype(np.int64) for x in recordings.coords]
    inside = _inside(coords, recordings.field)
    t, p = recordings.t, recordings.p
    if time is not None:
        t = np.maximum(np.rint(t + rng.normal(0, microseconds(time, "time"), events)).astype(np.int64), 0)
        order = np.lexsort((t, np.repeat(np.arange(len(recordings)), recordings.counts)))
        coords, t, p, inside = [x[order] for x in coords], t[order], p[order], inside[order]
    return _rebuilt(recordings, coords, t, p, inside)


def _inside(coords: Sequence[Array], field: Sequence[int]) -> Array:
    """Which events lie on the field."""
    inside: Array = np.logical_and.reduce([(x >= 0) & (x < n) for x, n in zip(coords, field, strict=True)])
    return inside


def _rebuilt(
    like: Recordings,
    coords: Sequence[Array],
    t: Array,
    p: Array | None,
    keep: Array | None,
    *,
    field: Sequence[int] | None = None,
    polarities: int | None = None,
) -> Recordings:
    """Recordings of the events marked in `keep`, with labels and whatever is not given as before."""
    offsets = like.offsets
    if keep is not None:
        offsets = np.concatenate([[0], np.cumsum(keep)])[offsets]
        coords, t, p = [x[keep] for x in coords], t[keep], None if p is None else p[keep]
    return Recordings(
        coords, t, p, offsets, field=like.field if field is None else field,
        polarities=like.polarities if polarities is None else polarities, labels=like.labels,
    )  # fmt: skip
