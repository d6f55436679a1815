"""What goes into an engine and what comes out: arrays with names."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.events.moving import moved
from timesurf.layers import Stage

Array = NDArray[Any]
_PACKED_AT_ONCE = 1 << 17  # events: bounds the memory that packing needs beyond its result


@dataclass(frozen=True, slots=True)
class Options:
    """How an engine computes. No option changes a result beyond rounding."""

    dtype: str = "float64"  # of surfaces, distances and sums: "float32" is faster
    threads: int | None = None  # cores to use; None: all
    deterministic: bool = False  # same bits from run to run, even where it costs time (cuda; other engines: always)
    precision: str = "float64"  # of online learning's surfaces and distances: "float32" is several times as fast
    temperature: float = 0.0  # of the shares that evidence is summed from (see `timesurf.rule`); 0: no evidence


DEFAULT = Options()
KEPT_WEIGHT = 0.2  # of the latest batch in the running share of events kept, by which `keep` decides


@dataclass(slots=True, eq=False)
class Units:
    """What one layer learns, in float64.

    A threshold of infinity lets everything pass: the last layer, which always fires, has only those.
    """

    centroids: Array  # (units, *surface shape)
    thresholds: Array  # (units,)
    frozen: Array  # (units,) True: this unit never changes

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Centroids, thresholds, which units are frozen."""
        return self.centroids, self.thresholds, self.frozen


class Parameters(list[Units]):
    """What a network learns: the units of every layer, from the input up."""

    @classmethod
    def of(
        cls, centroids: Sequence[Array], thresholds: Sequence[Array], frozen: Sequence[Array] | None = None
    ) -> Parameters:
        """From one array per layer each; no unit is frozen unless `frozen` says so."""
        frozen = [np.zeros(len(th), dtype=np.bool_) for th in thresholds] if frozen is None else frozen
        return cls(Units(*of) for of in zip(centroids, thresholds, frozen, strict=True))

    @property
    def arrays(self) -> list[Array]:
        """Centroids, thresholds and masks of every layer, one after another."""
        return [array for units in self for array in units.arrays]

    def with_layer(self, centroids: Array) -> Parameters:
        """With one more layer on top, without thresholds."""
        units = len(centroids)
        return Parameters([*self, Units(centroids, np.full(units, np.inf), np.zeros(units, np.bool_))])

    def digest(self) -> str:
        """A short text that is the same only where every bit of the parameters is."""
        return hashlib.sha256(b"".join(array.tobytes() for array in self.arrays)).hexdigest()[:16]

    def copy(self) -> Parameters:
        """An independent copy."""
        return Parameters(Units(*(array.copy() for array in units.arrays)) for units in self)

    def contiguous(self) -> Parameters:
        """The same in contiguous float64 arrays, as engines take them; masks are copied."""
        return Parameters(
            Units(
                np.ascontiguousarray(units.centroids, dtype=np.float64),
                np.ascontiguousarray(units.thresholds, dtype=np.float64),
                np.array(units.frozen, dtype=np.bool_),
            )
            for units in self
        )

    def same(self, other: Parameters) -> bool:
        """Whether every bit is the same."""
        mine, theirs = self.arrays, other.arrays
        return len(mine) == len(theirs) and all(
            a.shape == b.shape and np.array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))
            for a, b in zip(mine, theirs, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Some recordings in the form that engines take."""

    entry: Array  # (events,) place in the flat input field: coordinates and polarity, ravelled
    t: Array  # (events,) us since the recording's first event; int32 where that is enough, else int64
    offsets: Array  # (recordings + 1,) events offsets[r] to offsets[r + 1] are recording r
    label: Array  # (recordings,) index of the class, -1 if unknown

    def __len__(self) -> int:
        return len(self.label)


def pack(recordings: Recordings, label: Array | None = None) -> Batch:
    """Recordings as a batch. Only differences of time matter, so each recording's clock starts at 0.

    Parameters
    ----------
    recordings : Recordings
        What to pack.
    label : array, optional
        Index of the class of each recording; None: all are unknown.

    Returns
    -------
    Batch
        8 bytes per event (12 if a recording takes longer than 2^29 us); packing needs little memory beyond that.

    """
    offsets = recordings.offsets
    origin, last = recordings.spans()
    longest = (last - origin).max(initial=0)
    label = np.full(len(recordings), -1) if label is None else label
    t: Array = np.empty(int(offsets[-1]), np.int32 if longest < 2**29 else np.int64)
    batch = Batch(np.empty(len(t), np.int32), t, offsets, np.asarray(label, dtype=np.int64))
    for part in recordings.parts(_PACKED_AT_ONCE):
        begin = int(offsets[part.start])
        for some in _short(recordings[part]):
            events = slice(begin, begin := begin + int(some.counts.sum()))
            some.entries(out=batch.entry[events])
            t[events] = some.t  # may wrap around in 32 bits, which the subtraction undoes
            t[events] -= np.repeat(origin[part].astype(t.dtype), some.counts)
            recordings.release()
        if recordings.mapped:  # checked when it was opened, but the file may have been written to since
            _check_again(batch, part, math.prod(recordings.field) * recordings.polarities)
    return batch


def _short(recordings: Recordings) -> Iterator[Recordings]:
    """Recordings that hold few events; a longer one alone, in stretches."""
    first, stop = int(recordings.starts[0]), int(recordings.stops[0])
    if len(recordings) > 1 or stop - first <= _PACKED_AT_ONCE:
        yield recordings
        return
    for a in range(first, stop, _PACKED_AT_ONCE):
        yield recordings.cut(np.array([a]), np.array([min(a + _PACKED_AT_ONCE, stop)]))


def _check_again(batch: Batch, part: slice, size: int) -> None:
    """Refuse events of these recordings that would make an engine, which checks no index, access other memory."""
    offsets = batch.offsets[part.start : part.stop + 1]
    t, entry = batch.t[offsets[0] : offsets[-1]], batch.entry[offsets[0] : offsets[-1]]
    late = t[1:] < t[:-1]
    begins = offsets[1:-1] - offsets[0]
    late[begins[(begins > 0) & (begins < len(t))] - 1] = False
    if late.any() or (len(entry) and not 0 <= entry.min() <= entry.max() < size):
        raise EventError("The recordings' file was written to while it was in use: it no longer contains valid events.")


@dataclass(frozen=True, slots=True)
class Learner:
    """A network that learns from recordings of its own."""

    stages: tuple[Stage, ...]
    parameters: Parameters  # change as it learns
    recordings: Recordings
    label: Array  # (recordings,) index of the class, -1 if unknown
    kept: float = 1.0  # share of recent input events that it output
    moved: Array | None = None  # (recordings, dimensions) pixels by which each is moved before the network sees it
    pooled: tuple[int, ...] = ()  # and pixels per place of the network's field; empty: 1
    given: Array | None = None  # (recordings,) events before layers below rejected some; None: those of the recordings

    def shown(self, part: slice) -> Recordings:
        """Some of the recordings as the network sees them."""
        some = self.recordings[part]
        return some if self.moved is None else moved(some, self.moved[part], self.pooled)

    def counted(self, part: slice, outcome: Outcome) -> Outcome:
        """What the network output for some of the recordings, with the events that were given as its input."""
        return outcome if self.given is None else replace(outcome, events=self.given[part])


class Trace(NamedTuple):
    """What happened to every event of a batch; columns are layers. An event stops where it is rejected."""

    winner: Array  # (events, layers) closest unit; -1 where the event did not arrive
    distance: Array  # (events, layers) to that unit; NaN where the event did not arrive
    S: Array  # (events, layers) separability; NaN for events that the network did not output
    passed: Array  # (events,) how many layers let the event pass; all of them: an output event


@dataclass(slots=True)
class Outcome:
    """What a network output, counted per recording."""

    events: Array  # (recordings,) input events
    kept: Array  # (recordings, layers) events that each layer let pass
    votes: Array  # (recordings, classes) output events
    trace: Trace | None = None
    evidence: Array | None = None  # (recordings, classes) sum over output events of log(share of the class + DOUBT)

    @classmethod
    def blank(cls, stages: Sequence[Stage], events: Array) -> Outcome:
        """Counts of 0, for recordings with so many events each."""
        n = len(events)
        return cls(events, np.zeros((n, len(stages)), np.int64), np.zeros((n, stages[-1].classes), np.int64))

    @classmethod
    def empty(cls, stages: Sequence[Stage], batch: Batch, options: Options = DEFAULT, *, trace: bool) -> Outcome:
        """Arrays for an engine to fill; those of the trace are empty unless it is wanted."""
        events, layers = (len(batch.entry) if trace else 0), len(stages)
        record = Trace(
            np.full((events, layers), -1, dtype=np.int32),
            np.full((events, layers), np.nan),
            np.full((events, layers), np.nan),
            np.zeros(events, dtype=np.int32),
        )
        outcome = cls.blank(stages, np.diff(batch.offsets))
        outcome.trace = record
        if options.temperature > 0:
            outcome.evidence = np.zeros(outcome.votes.shape)
        return outcome

    @classmethod
    def joined(cls, parts: Sequence[Outcome]) -> Outcome:
        """Outcomes of consecutive batches as one."""
        if len(parts) == 1:
            return replace(parts[0], trace=None)
        return cls(
            np.concatenate([part.events for part in parts]),
            np.concatenate([part.kept for part in parts]),
            np.concatenate([part.votes for part in parts]),
            evidence=None if parts[0].evidence is None else np.concatenate([part.evidence for part in parts]),
        )
