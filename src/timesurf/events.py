"""Recordings: many runs of events, kept flat.

An event is `(x, p, t)`: coordinates of any number of dimensions, a polarity index, a time in integer microseconds.
A recording is a time-ordered run of events. A data set is many recordings in one array a field; recording `i` is the
stretch `starts[i]:stops[i]` of every array. Selecting recordings selects stretches and copies no event.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.storage.mapped import Stretch

Array = NDArray[Any]
AXES = ("x", "y", "z")  # tonic's names; further dimensions have no name, only a place
LATEST = 2**62  # us: far beyond any clock, and differences of two such times still fit in 64 bits
_CHECKED_AT_ONCE = 1 << 22  # events: validation of a memory-mapped file needs no more memory than this


class Recordings:
    """Flat events of many recordings, with labels.

    Parameters
    ----------
    coords : one integer array a spatial dimension, in the order x, y, z; none for events without a place
    t : times, integer microseconds, never decreasing inside a recording
    p : polarities, or None where there is only one
    offsets : recording i holds events offsets[i] to offsets[i + 1]; None: all events are one recording
    field : size of the field along each dimension: (width, height) for a camera, (channels,) for a cochlea
    polarities : how many polarities there are
    labels : one per recording, integers or text; None where there are none. A recording without a label has None,
        -1 among integers, or the empty text
    sort : put the events of each recording in time order first (this copies); equal times keep their order

    Arrays are taken as they are, without a copy; memory-mapped ones stay so.

    >>> two = Recordings([[0, 1, 4]], t=[10, 20, 5], offsets=[0, 2, 3], field=(5,), labels=["a", "b"])
    >>> two
    Recordings(2 recordings, 3 events, field 5, 1 polarity, 2 labels)
    >>> two[1].t
    array([5])

    """

    __slots__ = ("_coords", "_p", "_t", "field", "labels", "polarities", "starts", "stops")

    def __init__(
        self,
        coords: Sequence[Any],
        t: Any,
        p: Any = None,
        offsets: Any = None,
        *,
        field: Sequence[int],
        polarities: int = 1,
        labels: Any = None,
        sort: bool = False,
    ) -> None:
        self.field = tuple(_size(n, "field") for n in field)
        self.polarities = _size(polarities, "polarities")
        self._t = _integers(t, "t")
        if p is None:
            p = np.broadcast_to(np.uint8(0), self._t.shape)
        self._p = _integers(p, "p")
        self._coords = tuple(_integers(x, axis_name(d)) for d, x in enumerate(coords))
        offsets = _integers([0, len(self._t)] if offsets is None else offsets, "offsets").astype(np.int64)
        self.starts, self.stops = offsets[:-1], offsets[1:]
        self.labels = _labels(labels)
        self._check_lengths(offsets)
        if sort:
            order = np.lexsort((self._t, np.repeat(np.arange(len(self)), self.counts)))
            self._t, self._p = self._t[order], self._p[order]
            self._coords = tuple(x[order] for x in self._coords)
        self._check_events()

    # ------------------------------------------------------------------ what is inside

    @property
    def t(self) -> Array:
        """Times of all events of these recordings, one after another."""
        return self.gather(self._t)

    @property
    def p(self) -> Array:
        """Polarities of all events of these recordings."""
        return self.gather(self._p)

    @property
    def coords(self) -> tuple[Array, ...]:
        """Coordinates of all events of these recordings, one array a dimension."""
        return tuple(self.gather(x) for x in self._coords)

    @property
    def counts(self) -> Array:
        """Events in each recording."""
        counts: Array = self.stops - self.starts
        return counts

    @property
    def labelled(self) -> Array:
        """Whether each recording has a label.

        >>> Recordings([[0, 0, 0]], t=[1, 2, 3], offsets=[0, 1, 2, 3], field=(1,), labels=["a", None, "b"]).labelled
        array([ True, False,  True])
        """
        if self.labels is None:
            return np.zeros(len(self), dtype=np.bool_)
        known: Array = self.labels != _unlabelled(self.labels)
        return known

    @property
    def classes(self) -> Array:
        """The labels that occur, sorted."""
        return np.empty(0, np.int64) if self.labels is None else np.unique(self.labels[self.labelled])

    @property
    def mapped(self) -> bool:
        """Whether the events are read from a file as they are needed."""
        return any(isinstance(values, np.memmap) for values in self.arrays)

    def fingerprint(self) -> str:
        """Short for these recordings, to tell whether others are the same: sizes, labels, some of the events."""
        digest = hashlib.sha256(repr((self.field, self.polarities)).encode())
        digest.update(self.counts.astype(np.int64).tobytes())
        digest.update(repr(None if self.labels is None else self.labels.tolist()).encode())
        for r in range(0, len(self), max(len(self) // 256, 1)):
            first, last = self.starts[r], self.stops[r] - 1
            if first <= last:
                for values in (self._t, self._p, *self._coords):
                    digest.update(repr((int(values[first]), int(values[last]))).encode())
        return digest.hexdigest()[:16]

    @property
    def offsets(self) -> Array:
        """Where each recording begins in `t`, `p` and `coords`, and where the last ends."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def source(self) -> Array:
        """The array of times that these recordings are cut from: one object for all selections of a data set."""
        return self._t

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays that these recordings are cut from: times, polarities, coordinates."""
        return self._t, self._p, *self._coords

    @property
    def origin(self) -> tuple[Any, ...]:
        """Equal for recordings of the same events on the same field, as long as the arrays live: who they are."""
        return self.field, self.polarities, *map(id, self.arrays)

    @property
    def whole(self) -> Recordings:
        """All events that these recordings are cut from, as one stretch, in which time may step back."""
        return self.cut(np.array([0]), np.array([len(self._t)]))

    def cut(self, starts: Array, stops: Array) -> Recordings:
        """Other recordings of the same events, unlabelled: from these to before those. In each, time must rise."""
        others = self[:0]
        others.starts, others.stops, others.labels = starts, stops, None
        return others

    @property
    def shape(self) -> tuple[int]:
        """`(recordings,)`: lets scikit-learn split recordings as it splits rows."""
        return (len(self.starts),)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Recordings]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Recordings:
        """Some of the recordings, in the order asked for: by number, slice, list of numbers or mask. No copy."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn asks for rows
        if not isinstance(key, slice | list | np.ndarray):
            key = [operator.index(key)]
        if isinstance(key, list):
            key = np.asarray(key, dtype=None if key else np.intp)
        chosen = object.__new__(Recordings)
        chosen.field, chosen.polarities = self.field, self.polarities
        chosen._coords, chosen._t, chosen._p = self._coords, self._t, self._p
        chosen.starts, chosen.stops = self.starts[key], self.stops[key]
        chosen.labels = None if self.labels is None else self.labels[key]
        return chosen

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process: a mapped file travels by its name, and is opened there; else these events alone do."""
        if self.mapped:
            kept, starts, stops = [Stretch.of(values) for values in self.arrays], self.starts, self.stops
        else:
            offsets = self.offsets
            kept, starts, stops = [self.gather(values) for values in self.arrays], offsets[:-1], offsets[1:]
        return _arrived, (self.field, self.polarities, kept, starts, stops, self.labels)

    def __repr__(self) -> str:
        field = " x ".join(map(str, self.field)) or "of one point"
        labels = "no labels" if self.labels is None else f"{len(self.classes)} labels"
        return (
            f"Recordings({len(self):,} recordings, {int(self.counts.sum()):,} events, field {field}, "
            f"{self.polarities} polarit{'y' if self.polarities == 1 else 'ies'}, {labels})"
        )

    def with_labels(self, labels: Any) -> Recordings:
        """The same recordings under other labels."""
        same = self[:]
        same.labels = _labels(labels)
        same._check_labels()
        return same

    def on_field(self, field: Sequence[int], polarities: int) -> Recordings:
        """The same recordings on a field, and of polarities, that are at least as many.

        >>> Recordings([[3, 2]], t=[0, 7], field=(4,)).on_field((10,), 2)
        Recordings(1 recordings, 2 events, field 10, 2 polarities, no labels)
        """
        sizes = [_size(n, "field") for n in field]
        if len(sizes) != len(self.field) or any(a > b for a, b in zip(self.field, sizes, strict=True)):
            raise EventError(f"A field of {self.field} does not fit into one of {tuple(field)}.")
        if polarities < self.polarities:
            raise EventError(f"{self.polarities} polarities do not fit into {polarities}.")
        same = self[:]
        same.field, same.polarities = tuple(sizes), _size(polarities, "polarities")
        return same

    def gather(self, values: Array) -> Array:
        """The stretches of these recordings out of a flat array; a view where they lie end to end."""
        if len(self) == 0:
            return values[:0]
        if np.array_equal(self.stops[:-1], self.starts[1:]):
            return values[self.starts[0] : self.stops[-1]]
        return np.concatenate([values[a:b] for a, b in zip(self.starts, self.stops, strict=True)])

    def entries(self) -> Array:
        """Each event's place in the flat field: coordinates and polarity ravelled, the polarity fastest."""
        entries = math.prod(self.field) * self.polarities
        flat: Array = np.zeros(int(self.counts.sum()), dtype=np.int32 if entries < 2**31 else np.int64)
        for size, x in zip((*self.field, self.polarities), (*self.coords, self.p), strict=True):
            if size > 1:
                flat *= size
                flat += x.astype(flat.dtype, copy=False)
        return flat

    # ------------------------------------------------------------------ from and to others

    @classmethod
    def from_structured(
        cls,
        recordings: Sequence[Array],
        *,
        field: Sequence[int] | None = None,
        polarities: int | None = None,
        labels: Any = None,
    ) -> Recordings:
        """From structured arrays with tonic's names: any of x, y, z, then t and p. One array is used without a copy.

        Field and polarities not given are read off the events.

        >>> dtype = [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]
        >>> Recordings.from_structured([np.array([(3, 1, 0, 1), (2, 0, 7, 0)], dtype=dtype)])
        Recordings(1 recordings, 2 events, field 4 x 2, 2 polarities, no labels)
        """
        if isinstance(recordings, np.ndarray) and recordings.dtype.names:
            recordings = [recordings]
        if len(recordings) == 0:
            raise EventError("No recordings: from_structured needs at least one array of events.")
        names = recordings[0].dtype.names or ()
        for r, events in enumerate(recordings):
            if events.dtype.names is None or "t" not in events.dtype.names:
                raise EventError(f"recording {r}: events need named fields such as x, y, t, p, not {events.dtype}.")
            if set(events.dtype.names) != set(names):
                raise EventError(f"recording {r} has fields {events.dtype.names}, recording 0 has {names}.")
        flat = {
            name: _joined([events[name] for events in recordings], name) for name in (*AXES, "t", "p") if name in names
        }
        coords = [flat[axis] for axis in AXES if axis in flat]
        p = flat.get("p")
        return cls(
            coords,
            flat["t"],
            p,
            np.cumsum([0, *map(len, recordings)]),
            field=sizes(coords) if field is None else field,
            polarities=polarities or (1 if p is None else sizes([p], ["p"])[0]),
            labels=labels,
        )

    def to_structured(self) -> list[Array]:
        """One structured array a recording, with tonic's names (x, y, z, t, p).

        >>> Recordings([[3, 2], [1, 0]], t=[0, 7], p=[1, 0], field=(4, 2), polarities=2).to_structured()
        [array([(3, 1, 0, 1), (2, 0, 7, 0)],
              dtype=[('x', '<i8'), ('y', '<i8'), ('t', '<i8'), ('p', '<i8')])]
        """
        fields = [(axis_name(d), x) for d, x in enumerate(self._coords)] + [("t", self._t), ("p", self._p)]
        dtype = np.dtype([(name, values.dtype) for name, values in fields])
        arrays = []
        for start, stop in zip(self.starts, self.stops, strict=True):
            events = np.empty(stop - start, dtype=dtype)
            for name, values in fields:
                events[name] = values[start:stop]
            arrays.append(events)
        return arrays

    # ------------------------------------------------------------------ validation

    def _check_lengths(self, offsets: Array) -> None:
        if len(self._coords) != len(self.field):
            raise EventError(
                f"{len(self._coords)} coordinates for a field of {len(self.field)} dimensions {self.field}."
            )
        events = len(self._t)
        for name, values in [("p", self._p), *((axis_name(d), x) for d, x in enumerate(self._coords))]:
            if len(values) != events:
                raise EventError(f"{name} has {len(values)} values but t has {events}: one a event, all equally long.")
        if len(offsets) < 2:
            raise EventError("No recordings: offsets need a begin and an end, such as [0, events].")
        if offsets[0] != 0 or offsets[-1] != events:
            raise EventError(f"offsets run from {offsets[0]} to {offsets[-1]}, not from 0 to the {events} events.")
        if np.any(self.stops < self.starts):  # compared, not subtracted: differences of a file's numbers may run over
            r = int(np.argmax(self.stops < self.starts))
            raise EventError(f"recording {r} ends (offset {offsets[r + 1]}) before it begins ({offsets[r]}).")
        self._check_labels()

    def _check_labels(self) -> None:
        if self.labels is not None:
            if self.labels.ndim != 1 or len(self.labels) != len(self):
                raise EventError(f"{self.labels.shape} labels for {len(self)} recordings: one a recording is needed.")
            if self.labels.dtype.kind == "f":
                raise EventError("labels are floating-point numbers: use integers or text.")
            if self.labels.dtype.kind == "O":
                raise EventError("labels are of several kinds: use integers or text, and None where one is unknown.")

    def _check_events(self) -> None:
        bounds = [(axis_name(d), x, n) for d, (x, n) in enumerate(zip(self._coords, self.field, strict=True))]
        bounds += [("p", self._p, self.polarities), ("t", self._t, LATEST)]
        for start in range(0, len(self._t), _CHECKED_AT_ONCE):
            stop = min(start + _CHECKED_AT_ONCE, len(self._t))
            for name, values, limit in bounds:
                part = values[start:stop]
                if part.min() >= 0 and part.max() < limit:
                    continue
                i = start + int(np.argmax((part < 0) | (part >= limit)))
                self._refuse(i, refusal(name, int(values[i]), limit))
            since = max(start - 1, 0)  # a step back may fall between two parts
            part = self._t[since:stop]
            back = part[1:] < part[:-1]
            begins = self.starts[slice(*np.searchsorted(self.starts, [since + 1, stop]))]
            back[begins - since - 1] = False  # a recording may begin earlier than the one before it ended
            if back.any():
                i = int(np.argmax(back)) + since + 1
                self._refuse(
                    i,
                    f"time {self._t[i]} us comes before {self._t[i - 1]} us.\n"
                    "Events must be in time order; Recordings(..., sort=True) sorts them.",
                )

    def _refuse(self, event: int, why: str) -> None:
        r = int(np.searchsorted(self.starts, event, side="right")) - 1
        raise EventError(f"recording {r}, event {event - int(self.starts[r])}: {why}")


def _labels(labels: Any) -> Array | None:
    """Labels as one array, a copy: a file that they came from may change. An unknown one among them gets one form."""
    if labels is None:
        return None
    array = np.array(labels)
    if array.dtype.kind == "O" and array.ndim == 1:
        unknown = np.array([label is None for label in array], dtype=np.bool_)
        if unknown.all():
            return None
        known = np.array(array[~unknown].tolist())
        known = known.astype(np.int64) if known.dtype.kind == "u" else known
        if known.dtype.kind in "iU":
            array = np.full(len(array), _unlabelled(known), known.dtype)
            array[~unknown] = known
    return array


def _unlabelled(labels: Array) -> Any:
    """What stands for an unknown label among these."""
    return "" if labels.dtype.kind == "U" else -1


def _arrived(
    field: tuple[int, ...], polarities: int, arrays: list[Any], starts: Array, stops: Array, labels: Array | None
) -> Recordings:
    """Recordings that came from another process, which has checked them."""
    recordings = object.__new__(Recordings)
    recordings.field, recordings.polarities, recordings.labels = field, polarities, labels
    recordings.starts, recordings.stops = starts, stops
    t, *others = (values.open() if isinstance(values, Stretch) else values for values in arrays)
    p, *coords = (np.broadcast_to(values[0], t.shape) if len(values) < len(t) else values for values in others)
    recordings._t, recordings._p, recordings._coords = t, p, tuple(coords)
    return recordings


def axis_name(dimension: int) -> str:
    """x, y, z, then x3, x4, ..."""
    return AXES[dimension] if dimension < len(AXES) else f"x{dimension}"


def sizes(coords: Sequence[Array], names: Sequence[str] | None = None) -> tuple[int, ...]:
    """The smallest field that holds these coordinates; names : what errors call them, x, y, z if not said."""
    flat = [_integers(x, names[d] if names else axis_name(d)) for d, x in enumerate(coords)]
    return tuple(max(int(x.max()) + 1, 1) if len(x) else 1 for x in flat)


def refusal(name: str, value: int, limit: int) -> str:
    """Why a coordinate (by its axis), a polarity or a time is not accepted, and what to do."""
    if name == "t":
        return f"time {value} us is {'negative' if value < 0 else 'beyond 2**62 us'}; times count from 0 up."
    if name == "p":
        return f"polarity {value} is not one of the {limit} polarities (0 to {limit - 1})."
    return f"{name} = {value} is off the field (0 to {limit - 1}). Crop the events or give a larger field."


def _integers(values: Any, name: str) -> Array:
    """A one-dimensional integer array, without a copy where it is one already."""
    array: Array
    try:
        array = np.asanyarray(values)
    except ValueError:
        raise EventError(f"{name} is not a flat array: its rows have mixed lengths.") from None
    if array.ndim != 1:
        raise EventError(f"{name} has shape {array.shape}: one flat array is needed.")
    if array.dtype == bool:
        return array.view(np.uint8)
    if array.size == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        nan = " and holds NaN" if array.dtype.kind == "f" and np.isnan(array).any() else ""
        raise EventError(f"{name} has dtype {array.dtype}{nan}: integers are needed ({name}.astype(int) makes them).")
    return array


def _joined(parts: Sequence[Array], name: str) -> Array:
    """One field of all recordings, one after another; without a copy if there is one."""
    for r, part in enumerate(parts):
        try:
            _integers(part, name)
        except EventError as error:
            raise EventError(f"recording {r}: {error}") from None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _size(value: Any, name: str) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        raise EventError(f"{name} = {value!r} must be whole numbers.") from None
    if size < 1:
        raise EventError(f"{name} = {value!r} must be at least 1.")
    return size
