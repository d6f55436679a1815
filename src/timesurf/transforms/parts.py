"""Transforms applied to some recordings at a time, so that they need little memory beyond the data and the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from timesurf.events import Recordings
from timesurf.storage.mapped import Spool

Array = NDArray[Any]
P = ParamSpec("P")
AT_ONCE = 1 << 19  # events transformed at a time, unless one recording has more: bounds the memory of a transform


def in_parts(transform: Callable[Concatenate[Recordings, P], Recordings]) -> Callable[..., Recordings]:
    """Let a transform that treats each recording by itself work through them part by part.

    The result of recordings that are mapped from a file is written to a temporary file and mapped too: it need not fit
    into memory either.
    """

    @functools.wraps(transform)
    def by_parts(recordings: Recordings, *args: P.args, **kwargs: P.kwargs) -> Recordings:
        parts = list(recordings.parts(AT_ONCE))
        if len(parts) < 2:
            return transform(recordings, *args, **kwargs)

        def changed(part: slice) -> Recordings:
            some = transform(recordings[part], *args, **kwargs)
            recordings.release()
            return some

        return joined(map(changed, parts), recordings.labels, on_disk=_on_disk(recordings))

    return by_parts


def in_stretches(
    recordings: Recordings, begin: Callable[[], Callable[[Recordings], Recordings]], events: int = AT_ONCE
) -> Recordings:
    """Recordings through a transform that takes one stretch of a recording after another.

    Parameters
    ----------
    recordings : Recordings
        Of any length.
    begin : callable
        Makes the transform of one recording, which may remember what it has seen.
    events : int
        Of a stretch, at most.

    Returns
    -------
    Recordings
        Mapped from a temporary file where the others are mapped.

    """
    remaining = np.zeros(len(recordings), dtype=np.int64)

    def stretches() -> Iterator[Recordings]:
        for r, (first, stop) in enumerate(zip(recordings.starts, recordings.stops, strict=True)):
            transform = begin()
            for a in range(first, max(stop, first + 1), events):
                some = transform(recordings.cut(np.array([a]), np.array([min(a + events, stop)])))
                remaining[r] += int(some.counts[0])
                yield some
                recordings.release()

    flat = joined(stretches(), None, on_disk=_on_disk(recordings))
    ends = np.cumsum(remaining)
    return flat.cut(ends - remaining, ends).with_labels(recordings.labels)


def _on_disk(recordings: Recordings) -> bool:
    return any(isinstance(values, np.memmap) for values in recordings.arrays)


class _InMemory(list[Array]):
    """Parts of an array, appended as to a `Spool`."""

    def array(self) -> Array:
        """The parts as one array; they are given up."""
        whole = np.concatenate(self)
        self.clear()
        return whole


def joined(parts: Iterable[Recordings], labels: Any, *, on_disk: bool) -> Recordings:
    """Recordings one after another, all on the field of the first, of which one part is in memory at a time.

    Parameters
    ----------
    parts : iterable of Recordings
        At least one; their labels are not used.
    labels : sequence or None
        One per recording.
    on_disk : bool
        Whether to write them to an unnamed file that is mapped, see `timesurf.storage.mapped.Spool`; else to memory.

    Examples
    --------
    >>> one = Recordings([[3, 2]], t=[0, 7], field=(4,))
    >>> joined(iter([one, one]), ["a", "b"], on_disk=True)
    Recordings(2 recordings, 4 events, field 4, 1 polarity, 2 labels)
    """
    fields: list[Any] = []
    counts: list[Array] = [np.array([0])]
    one_polarity = True
    for some in parts:
        field, polarities = some.field, some.polarities
        one_polarity = polarities == 1
        arrays = [some.t, *some.coords, *([] if one_polarity else [some.p])]
        if not fields:
            fields = [Spool() if on_disk else _InMemory() for _ in arrays]
        for collected, values in zip(fields, arrays, strict=True):
            collected.append(values)
        counts.append(some.counts)
    flat = [fields.pop(0).array() for _ in arrays]  # one after another: parts and whole of one array at a time
    t, coords, p = flat[0], flat[1 : 1 + len(field)], None if one_polarity else flat[-1]
    offsets = np.cumsum(np.concatenate(counts))
    return Recordings(coords, t, p, offsets, field=field, polarities=polarities, labels=labels)
