"""Events on the card: they stay there while their arrays live and there is room, else they are streamed."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from timesurf.engines.data import Array, Batch
from timesurf.errors import EventError, MissingEngineError
from timesurf.events import Recordings

LONGEST = 1 << 29  # us: times within a recording are 32 bits on the card
SHARE = 0.6  # of the card's free memory that events may take
BYTES = 8  # per event: its place and its time
_SENT_AT_ONCE = 1 << 24  # events: bounds what sending takes beside them


@dataclass(frozen=True, slots=True)
class Events:
    """Places and times on the card; where each recording begins and ends among them, and its label, on the host.

    Times count from anywhere, modulo 2^32: only differences within a recording are used.
    """

    entry: Any
    t: Any
    start: Array  # (networks, recordings)
    stop: Array
    label: Array
    span: int  # us, of the longest recording

    @property
    def counts(self) -> Array:
        """Events in each recording, (networks, recordings)."""
        counts: Array = self.stop - self.start
        return counts

    def cut(self, part: slice) -> Events:
        """Some of the recordings."""
        return Events(self.entry, self.t, self.start[:, part], self.stop[:, part], self.label[:, part], self.span)


def of_batch(batch: Batch) -> Events:
    """A batch, sent to the card."""
    offsets = batch.offsets.astype(np.int64)
    span = _checked(int(batch.t.max(initial=0)))
    entry, t = (cp.asarray(a.astype(np.int32, copy=False)) for a in (batch.entry, batch.t))
    return Events(entry, t, offsets[None, :-1], offsets[None, 1:], batch.label[None], span)


def of_lanes(batch: Batch, dealt: Sequence[Array]) -> Events:
    """A batch, sent to the card: each lane is a network with recordings of its own; short lanes end in empty ones."""
    whole, most = of_batch(batch), max(map(len, dealt))
    numbers = np.zeros((len(dealt), most), np.int64)
    there = np.arange(most) < np.array([len(lane) for lane in dealt])[:, None]
    numbers[there] = np.concatenate(dealt)
    start, stop, label = (values[0][numbers] for values in (whole.start, whole.stop, whole.label))
    return Events(whole.entry, whole.t, start, np.where(there, stop, start), label, whole.span)


def longest_first(counts: Array, parts: Sequence[slice] | None = None) -> Array:
    """The order in which recordings are run: of every part the longest first, so that none is left over at the end.

    Parameters
    ----------
    counts : array
        Events in each recording, (networks, recordings).
    parts : sequence of slices, optional
        Batches, one after another; None: all recordings are one.

    Returns
    -------
    array
        Numbers of recordings, (networks, recordings).

    Examples
    --------
    >>> longest_first(np.array([[3, 5, 4, 1, 2]]), [slice(0, 3), slice(3, 5)])
    array([[1, 2, 0, 4, 3]])
    """
    beyond = max(
        int(counts.max(initial=0)).bit_length() - 16, 0
    )  # 16 bits are sorted digit by digit, in a tenth of the time
    order = np.argsort((0xFFFF - (counts >> beyond)).astype(np.uint16), axis=1, kind="stable")
    if parts is not None and len(parts) > 1:
        sizes = [len(range(*part.indices(counts.shape[1]))) for part in parts]
        number = np.repeat(np.arange(len(parts)).astype(np.min_scalar_type(len(parts))), sizes)
        order = np.take_along_axis(order, np.argsort(number[order], axis=1, kind="stable"), axis=1)
    return order


def stretches(
    recordings: Sequence[Recordings],
    label: Sequence[Array],
    parts: Sequence[slice] | None = None,
    *,
    longest: int | None = None,
) -> Iterator[tuple[Events, Sequence[slice]]]:
    """Recordings on the card with the parts that are there: all of them if they fit, else as many as fit at a time.

    Parameters
    ----------
    recordings : sequence of Recordings
        Those of every network, equally many, all selected from the same arrays.
    label : sequence of arrays
        Their classes, -1 if unknown.
    parts : sequence of slices, optional
        Batches, none of which is split; None: each recording is one.
    longest : int, optional
        What `longest` says of them, where it was asked already.

    Yields
    ------
    Events
        Recordings on the card.
    sequence of slices
        The parts that are there, counted from the first of these recordings; none if none were given and all fit.

    Raises
    ------
    EventError
        If the networks' recordings do not match, or one lasts too long.
    MissingEngineError
        If there is not enough room on the card.
    """
    if any(some.origin != recordings[0].origin or len(some) != len(recordings[0]) for some in recordings):
        raise EventError(
            "Networks that learn side by side need equally many recordings, all selected from one Recordings."
        )
    held = resident(recordings[0])
    longest_ = _longest(recordings, held) if longest is None else longest
    if held:
        starts, stops = (np.stack(a) for a in ([r.starts for r in recordings], [r.stops for r in recordings]))
        yield Events(held.entry, held.t, starts, stops, np.stack(label), longest_), parts or ()
    elif len(recordings) > 1:
        raise MissingEngineError(
            f"{len(recordings[0].source):,} events do not fit on the card, and can only be streamed to one network at "
            "a time. Train the networks one after another."
        )
    else:
        each = [slice(r, r + 1) for r in range(len(recordings[0]))] if parts is None else parts
        yield from _streamed(recordings[0], label[0], each, longest_)


def _fits(recordings: Recordings) -> bool:
    """Whether the events are on the card, or there is room for them."""
    return recordings.origin in _on_card or BYTES * len(recordings.source) <= room()


def resident(recordings: Recordings) -> Held | None:
    """All events that the recordings are selected from, on the card; None: there is no room."""
    return _resident(recordings) if _fits(recordings) else None


def longest_of(recordings: Sequence[Recordings]) -> int:
    """How long the longest recording lasts, us; events that have room on the card are there afterwards.

    Raises
    ------
    EventError
        If it lasts too long.
    """
    return _longest(recordings, resident(recordings[0]))


def _longest(recordings: Sequence[Recordings], held: Held | None) -> int:
    if held is None or not held.narrow:
        return _checked(max(map(span, recordings)))
    starts, stops = (np.concatenate(a) for a in zip(*((some.starts, some.stops) for some in recordings), strict=True))
    return _checked(_span_there(held.t, starts, stops))


def _span_there(t: Any, starts: Array, stops: Array) -> int:
    """How long the longest recording lasts, by times on the card; the host's memory would be read all over for it."""
    if not len(t) or not starts.size:
        return 0
    first, last = cp.asarray(starts), cp.asarray(stops)
    lasts = t[cp.maximum(last - 1, 0)] - t[cp.minimum(first, len(t) - 1)]
    return int((lasts * (last > first)).max())


def _streamed(
    recordings: Recordings, label: Array, parts: Sequence[slice], span: int
) -> Iterator[tuple[Events, Sequence[slice]]]:
    """Two halves of the room take turns: one is filled, from pinned memory, while the card works on the other."""
    most = room() // (2 * BYTES)
    copying, working = cp.cuda.Stream(non_blocking=True), cp.cuda.get_current_stream()
    halves = [_Half() for _ in range(2)]
    for turn, some in enumerate(_grouped(recordings.counts, parts, most)):
        half, first = halves[turn % 2], some[0].start
        chosen = recordings[first : some[-1].stop]
        half.fill(chosen, copying, working)
        offsets = chosen.offsets
        numbers = label[first : some[-1].stop]
        yield (
            Events(half.entry, half.t, offsets[None, :-1], offsets[None, 1:], numbers[None], span),
            [slice(part.start - first, part.stop - first) for part in some],
        )
        half.used.record(working)


class _Half:
    """Room for a stretch of events, on the host and on the card."""

    def __init__(self) -> None:
        self.entry = self.t = cp.empty(0, np.int32)
        self.pinned = np.empty(0, np.int32)
        self.sent, self.used = cp.cuda.Event(), cp.cuda.Event()

    def fill(self, chosen: Recordings, copying: Any, working: Any) -> None:
        """Gather on the host and send; only the card waits for it, and the host goes on."""
        n = int(chosen.counts.sum())
        if 2 * n > len(self.pinned):
            self.used.synchronize()
            self.pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(8 * n), np.int32, 2 * n)
            self.entry, self.t = cp.empty(n, np.int32), cp.empty(n, np.int32)
            working.synchronize()  # the memory may come from something that is still in use
        self.sent.synchronize()  # until what was gathered here before has been sent
        self.pinned[:n] = chosen.entries()
        self.pinned[n : 2 * n] = _wrapped(chosen.t)
        copying.wait_event(self.used)
        self.entry[:n].set(self.pinned[:n], stream=copying)
        self.t[:n].set(self.pinned[n : 2 * n], stream=copying)
        self.sent.record(copying)
        working.wait_event(self.sent)


def _grouped(counts: Array, parts: Sequence[slice], most: int) -> Iterator[list[slice]]:
    """Consecutive parts that hold at most so many events together."""
    some: list[slice] = []
    events = 0
    for part in parts:
        size = int(counts[part].sum())
        if size > most:
            raise MissingEngineError(
                f"A batch of {size:,} events does not fit on the card, which has room for {most:,}. "
                "Use a smaller batch_size, or engine='cpu'."
            )
        if some and events + size > most:
            yield some
            some, events = [], 0
        some.append(part)
        events += size
    if some:
        yield some


class Held(NamedTuple):
    """All events that some recordings are selected from, on the card."""

    entry: Any
    t: Any
    narrow: (
        bool  # whether all times lie within 2^31 us of each other, so that differences of them are right on the card
    )


_on_card: dict[tuple[Any, ...], Held] = {}


def _resident(recordings: Recordings) -> Held:
    """All events that the recordings are selected from."""
    key = recordings.origin
    if key not in _on_card:
        whole, n = recordings.whole, len(recordings.source)
        entry, t = cp.zeros(n, np.int32), cp.empty(n, np.int32)
        low, high = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        for a in range(0, n, _SENT_AT_ONCE):
            part = slice(a, min(a + _SENT_AT_ONCE, n))
            for size, x in zip((*whole.field, whole.polarities), (*whole.coords, whole.p), strict=True):
                if size > 1:
                    entry[part] = entry[part] * np.int32(size) + cp.asarray(np.ascontiguousarray(x[part])).astype(
                        np.int32
                    )
            times = whole.t[part]
            t[part] = cp.asarray(_wrapped(times))
            low, high = min(low, int(times.min())), max(high, int(times.max()))
        keep(recordings, entry, t, narrow=high - low < 1 << 31)
    return _on_card[key]


def narrow(recordings: Recordings) -> bool:
    """Whether the recordings are on the card and all their times lie within 2^31 us of each other."""
    return recordings.origin in _on_card and _on_card[recordings.origin].narrow


def keep(recordings: Recordings, entry: Any, t: Any, *, narrow: bool, owners: Sequence[Any] | None = None) -> None:
    """Hold all events that recordings are selected from on the card, while the owners live: by default their arrays."""
    key = recordings.origin
    cp.cuda.get_current_stream().synchronize()  # others may use them from now on
    _on_card[key] = Held(entry, t, narrow)
    for owner in recordings.arrays if owners is None else owners:
        weakref.finalize(owner, _on_card.pop, key, None)


def _wrapped(t: Array) -> Array:
    """Times modulo 2^32."""
    return t if t.dtype == np.int32 else t.astype(np.int64).astype(np.uint32).view(np.int32)


def room() -> int:
    """Bytes that events may take."""
    pool = cp.get_default_memory_pool()
    return int(SHARE * (cp.cuda.Device().mem_info[0] + pool.free_bytes()))


def span(recordings: Recordings) -> int:
    """How long the longest recording lasts, us."""
    some = recordings.counts > 0
    if not some.any():
        return 0
    t = recordings.source
    first, last = t[recordings.starts[some]], t[recordings.stops[some] - 1]
    return int((last.astype(np.int64) - first.astype(np.int64)).max())


def _checked(span: int) -> int:
    if span >= LONGEST:
        raise EventError(
            f"A recording lasts over {LONGEST / 6e7:.0f} minutes, too long for the card. Cut it, or use engine='cpu'."
        )
    return span
