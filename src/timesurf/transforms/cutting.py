"""Long recordings cut into short ones, and pieces as frames. No event is copied to cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import LATEST, Recordings
from timesurf.storage.mapped import release
from timesurf.times import Time, microseconds
from timesurf.transforms.parts import AT_ONCE

Array = NDArray[Any]
MOST_PIECES = 1 << 22  # each takes some tens of bytes, here and in tables
_MOST_COUNTS = 1 << 27  # entries of all frames: 512 MiB


@dataclass(frozen=True, slots=True)
class Pieces:
    """Recordings cut into pieces.

    Attributes
    ----------
    recordings : Recordings
        One per piece, with the label of the recording that it was cut from.
    origin : array of int
        The number of that recording.
    begin : array of int
        When each piece begins, in us on the clock of that recording.
    left : array of int
        How much of each recording comes after its last piece, and is in none: in us, or in events.
    """

    recordings: Recordings
    origin: Array
    begin: Array
    left: Array


def cut(
    recordings: Recordings,
    every: Time | None = None,
    *,
    events: int | None = None,
    overlap: float = 0.0,
    rest: bool = False,
    least: float = 1.0,
) -> Pieces:
    """Cut recordings into pieces of one length, and keep account of where each comes from.

    Parameters
    ----------
    recordings : Recordings
        To cut.
    every : Time, optional
        Length of a piece in time; pieces begin at multiples of it on the recording's clock.
    events : int, optional
        Length of a piece in events, in place of `every`.
    overlap : float
        Share of a piece that the next one repeats, from 0 to 0.99.
    rest : bool
        Whether what is left over at the end of a recording makes a piece too. In any case a recording that is shorter
        than a piece is one.
    least : float
        Share of its length that the last piece needs, where `rest` is False: below 1, one that is nearly whole remains.

    Returns
    -------
    Pieces

    Raises
    ------
    SettingError
        If the lengths are not valid, or there would be millions of pieces.
    """
    length = _length(every, events)
    if not 0 <= overlap <= 0.99:
        raise SettingError(f"overlap = {overlap!r} must be a share of a piece, from 0 to 0.99.")
    if not 0 < least <= 1:
        raise SettingError(f"least = {least!r} must be a share of a piece, above 0 and at most 1.")
    hop = max(round(length * (1 - overlap)), 1)
    starts, stops, begins, numbers, left = [], [], [], [], []
    most = MOST_PIECES
    for r, (first, last) in enumerate(zip(*recordings.spans(), strict=True)):
        a, n = int(recordings.starts[r]), int(recordings.counts[r])
        begin, end = (0, n) if every is None else (int(first) - int(first) % length, int(last) + 1)
        number = max((end - begin - length) // hop + 1, 0)
        over = end - begin > (number - 1) * hop + length
        number += number == 0 or (over and (rest or end - begin - number * hop >= least * length))
        most -= number
        if most < 0:
            raise SettingError(f"There would be more than {MOST_PIECES:,} pieces: cut recordings into longer ones.")
        at = begin + hop * np.arange(number)
        left.append(max(end - (begin + (number - 1) * hop + length), 0))
        if every is None:
            low, high = at, np.minimum(at + length, n)
            begins.append(recordings.source[a + low] if n else at)  # a piece never begins after the last event
        else:
            t = recordings.source[a : a + n]
            low, high = events_before(t, at), events_before(t, at + length)
            begins.append(at)
        starts.append(a + low)
        stops.append(a + high)
        numbers.append(number)
        recordings.release()
    origin = np.repeat(np.arange(len(recordings)), np.array(numbers, dtype=np.int64))
    short = recordings.cut(_joined(starts), _joined(stops))
    labelled = short if recordings.labels is None else short.with_labels(np.asarray(recordings.labels)[origin])
    return Pieces(labelled, origin, _joined(begins), np.array(left, dtype=np.int64))


def events_before(t: Array, at: Array) -> Array:
    """How many of the times come before each of these; both ascend. Of a mapped file little is in memory at a time.

    Examples
    --------
    >>> events_before(np.array([2, 4, 4, 7]), np.array([0, 4, 5, 9]))
    array([0, 1, 3, 4])
    """
    found, done = np.full(len(at), len(t), np.int64), 0
    for a in range(0, len(t), AT_ONCE):
        if done == len(at):
            break
        part = t[a : a + AT_ONCE].copy()  # a field of an array of events; NumPy would copy all of it to search
        before, done = done, int(np.searchsorted(at, part[-1], side="right"))
        found[before:done] = a + np.searchsorted(part, at[before:done])
        if len(t) > AT_ONCE:
            release(t)
    return found


def pieces(
    recordings: Recordings, every: Time | None = None, *, events: int | None = None, overlap: float = 0.0
) -> Recordings:
    """Cut recordings into pieces of this length; what is left over at the end makes no piece. See `cut`.

    Examples
    --------
    >>> long = Recordings([[0, 0, 0]], t=[0, 5, 12], field=(1,), labels=["a"])
    >>> pieces(long, 10).counts
    array([2])
    >>> pieces(long, events=2, overlap=0.5).counts
    array([2, 2])
    """
    return cut(recordings, every, events=events, overlap=overlap).recordings


def frames(
    recordings: Recordings, every: Time | None = None, *, events: int | None = None, overlap: float = 0.0
) -> Array:
    """Event frames: how many events each pixel and polarity has in each piece, see `cut`.

    Returns
    -------
    array of uint32
        Of shape ``(pieces, polarities, *field)``.

    Examples
    --------
    >>> frames(Recordings([[0, 2, 2]], t=[0, 5, 12], field=(3,)), events=2, overlap=0.5).tolist()
    [[[1, 0, 1]], [[0, 0, 2]]]
    """
    short = pieces(recordings, every, events=events, overlap=overlap)
    entries = math.prod(short.field) * short.polarities
    if len(short) * entries > _MOST_COUNTS:
        raise SettingError(
            f"{len(short):,} frames of {entries:,} counts are too many (at most {_MOST_COUNTS:,} counts): "
            "downsample first, or use longer pieces or fewer recordings."
        )
    counts = np.zeros((len(short), entries), np.uint32)
    for row, piece in zip(counts, short, strict=True):
        row[:] = np.bincount(piece.entries(), minlength=entries)
    return np.moveaxis(counts.reshape(len(short), *short.field, short.polarities), -1, 1)


def _length(every: Time | None, events: int | None) -> int:
    """Length of a piece, in us or in events."""
    if (every is None) == (events is None):
        raise SettingError("Give the length of a piece either as a time (every) or as a number of events.")
    if every is not None:
        return min(max(round(microseconds(every, "every")), 1), LATEST // 2)  # longer ones would leave 64 bits
    if not isinstance(events, int | np.integer) or events < 1:
        raise SettingError(f"events = {events!r} must be a whole number of at least 1.")
    return min(int(events), LATEST // 2)


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([*parts, np.empty(0, np.int64)]).astype(np.int64)
