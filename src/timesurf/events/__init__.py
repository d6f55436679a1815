"""Recordings: many runs of events in flat arrays.

An event is `(x, p, t)`: coordinates of any number of dimensions, a polarity index, a time in integer microseconds.
A recording is a time-ordered run of events. A data set is many recordings in one array per field; recording `i` is the
stretch `starts[i]:stops[i]` of every array. Selecting recordings selects stretches and copies no event.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import checks, joining, structured
from timesurf.events.checks import AXES, LATEST, MOST_ENTRIES, axis_name, refusal, sizes
from timesurf.events.labels import as_labels, unlabelled
from timesurf.storage import mapped as files

__all__ = ["AXES", "LATEST", "MOST_ENTRIES", "Recordings", "axis_name", "refusal", "sizes"]

Array = NDArray[Any]
# A system may map many pages around one that is read. So what was read of a mapped file is given back after so many
_READ_AT_ONCE = 1 << 17  # events,
_TOUCHED_AT_ONCE = 64  # or recordings of which single events were read.


class Recordings:
    """Flat events of many recordings, with labels.

    Arrays are used as they are, without a copy; memory-mapped ones stay mapped.

    Parameters
    ----------
    coords : sequence of arrays
        One integer array per spatial dimension, in the order x, y, z; none for events without a place.
    t : array
        Times, integer microseconds, never decreasing inside a recording.
    p : array, optional
        Polarities; None where there is only one.
    offsets : array, optional
        Recording i holds events offsets[i] to offsets[i + 1]; None: all events are one recording.
    field : sequence of int
        Size of the field along each dimension: (width, height) for a camera, (channels,) for a cochlea.
    polarities : int
        How many polarities there are. Field times polarities must not exceed `MOST_ENTRIES`.
    labels : sequence, optional
        One label per recording, all integers or all text. A recording without a label has None, -1 among integers, or
        the empty text. None: no recording has a label.
    sort : bool
        Put the events of each recording in time order first (this copies); equal times keep their order.

    Attributes
    ----------
    field : tuple of int
        Size of the field along each dimension.
    polarities : int
        How many polarities there are.
    labels : array or None
        One label per recording.
    starts, stops : arrays
        The first event of each recording in the arrays that they are cut from, and the one after its last.

    Raises
    ------
    EventError
        If events or labels are not as described; the message names the recording and the event.

    Examples
    --------
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
        self.field, self.polarities = checks.field_size(field, polarities)
        self._t = checks.integers(t, "t")
        self._p = _zeros(len(self._t)) if p is None else checks.integers(p, "p")
        self._coords = tuple(checks.integers(x, axis_name(d)) for d, x in enumerate(coords))
        offsets = checks.integers([0, len(self._t)] if offsets is None else offsets, "offsets").astype(np.int64)
        checks.check_lengths(self._named, self.field, offsets)
        self.starts, self.stops = offsets[:-1], offsets[1:]
        self.labels = as_labels(labels, len(self))
        if sort:
            order = np.lexsort((self._t, np.repeat(np.arange(len(self)), self.counts)))
            self._t, self._p = self._t[order], self._p[order]
            self._coords = tuple(x[order] for x in self._coords)
        limits = dict(zip(self._named, (*self.field, LATEST, self.polarities), strict=True))
        checks.check_events(self._named, limits, self.starts)

    # ------------------------------------------------------------------ what is inside

    @property
    def t(self) -> Array:
        """Times of all events of these recordings, one recording after another."""
        return self.gather(self._t)

    @property
    def p(self) -> Array:
        """Polarities of all events of these recordings."""
        return self.gather(self._p)

    @property
    def coords(self) -> tuple[Array, ...]:
        """Coordinates of all events of these recordings, one array per dimension."""
        return tuple(self.gather(x) for x in self._coords)

    @property
    def counts(self) -> Array:
        """Events in each recording."""
        counts: Array = self.stops - self.starts
        return counts

    @property
    def labelled(self) -> Array:
        """Whether each recording has a label.

        Examples
        --------
        >>> Recordings([[0, 0, 0]], t=[1, 2, 3], offsets=[0, 1, 2, 3], field=(1,), labels=["a", None, "b"]).labelled
        array([ True, False,  True])

        """
        if self.labels is None:
            return np.zeros(len(self), dtype=np.bool_)
        known: Array = self.labels != unlabelled(self.labels)
        return known

    @property
    def known_labels(self) -> list[Any]:
        """The label of each recording as Python has it, None where it has none."""
        labels = [None] * len(self) if self.labels is None else self.labels.tolist()
        return [label if known else None for label, known in zip(labels, self.labelled.tolist(), strict=True)]

    @property
    def classes(self) -> Array:
        """The labels that occur, sorted."""
        return np.empty(0, np.int64) if self.labels is None else np.unique(self.labels[self.labelled])

    @property
    def mapped(self) -> bool:
        """Whether the events are read, as they are needed, from a file that other processes can open too."""
        return any(map(files.has_name, self.arrays))

    def fingerprint(self) -> str:
        """Short text that identifies these recordings: made from sizes, labels and some of the events."""
        digest = hashlib.sha256(repr((self.field, self.polarities)).encode())
        digest.update(self.counts.astype(np.int64).tobytes())
        digest.update(repr(None if self.labels is None else self.labels.tolist()).encode())
        for r in range(0, len(self), max(len(self) // 256, 1)):
            first, last = self.starts[r], self.stops[r] - 1
            if first <= last:
                for values in self.arrays:
                    digest.update(repr((int(values[first]), int(values[last]))).encode())
            self.release()
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
        """Equal for recordings cut from the same arrays on the same field, as long as these arrays exist."""
        return self.field, self.polarities, *map(id, self.arrays)

    @property
    def whole(self) -> Recordings:
        """All events that these recordings are cut from, as one stretch, in which time may decrease."""
        return self.cut(np.array([0]), np.array([len(self._t)]))

    def cut(self, starts: Array, stops: Array) -> Recordings:
        """Other recordings of the same events, unlabelled.

        Parameters
        ----------
        starts, stops : arrays
            The first event of each recording and the one after its last. Time must not decrease in between.

        """
        others = self[:0]
        others.starts, others.stops, others.labels = starts, stops, None
        return others

    @property
    def shape(self) -> tuple[int]:
        """`(recordings,)`: lets scikit-learn split recordings as it splits rows."""
        return (len(self.starts),)

    def __len__(self) -> int:
        return len(self.starts)

    def __add__(self, other: Any) -> Recordings:
        """These recordings and then others, see `timesurf.events.joining.joined`."""
        return joining.joined([self, other]) if isinstance(other, Recordings) else NotImplemented

    def __radd__(self, other: Any) -> Recordings:
        """The sum of a list of recordings begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

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
        chosen = self._of_same_events()
        chosen.field, chosen.polarities = self.field, self.polarities
        chosen.starts, chosen.stops = self.starts[key], self.stops[key]
        chosen.labels = None if self.labels is None else self.labels[key]
        return chosen

    def _of_same_events(self) -> Recordings:
        """Recordings cut from the same arrays, of which nothing else is known yet."""
        others = object.__new__(Recordings)
        others._coords, others._t, others._p = self._coords, self._t, self._p
        return others

    def parts(self, events: int) -> Iterator[slice]:
        """Slices of these recordings, one after another, each of fewer than so many events or of one recording.

        Examples
        --------
        >>> three = Recordings([[0, 0, 0, 0]], t=[1, 2, 3, 4], offsets=[0, 1, 2, 4], field=(1,))
        >>> list(three.parts(events=3))
        [slice(0, 2, None), slice(2, 3, None)]

        """
        ends = np.cumsum(self.counts)
        first = 0
        while first < len(self):
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + events)), first + 1)
            yield slice(first, last)
            first = last

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process: a mapped file is sent by its name and opened there; else only these events are sent."""
        if self.mapped:
            held, starts, stops = [files.Stretch.of(values) for values in self.arrays], self.starts, self.stops
        else:
            offsets = self.offsets
            held, starts, stops = [self.gather(values) for values in self.arrays], offsets[:-1], offsets[1:]
        return _arrived, (self.field, self.polarities, held, starts, stops, self.labels)

    def __repr__(self) -> str:
        field = " x ".join(map(str, self.field)) or "of one point"
        some = [(len(self), "recording"), (int(self.counts.sum()), "event")]
        counts = ", ".join(f"{number:,} {thing}{'s' * (number != 1)}" for number, thing in some)
        polarities = f"{self.polarities} polarit{'y' if self.polarities == 1 else 'ies'}"
        labels = "no labels" if self.labels is None else f"{len(self.classes)} label{'s' * (len(self.classes) != 1)}"
        return f"Recordings({counts}, field {field}, {polarities}, {labels})"

    def with_labels(self, labels: Any) -> Recordings:
        """The same recordings with other labels."""
        same = self[:]
        same.labels = as_labels(labels, len(self))
        return same

    def with_one_polarity(self) -> Recordings:
        """The same recordings with every event under polarity 0. No copy."""
        same = self[:]
        same._p, same.polarities = _zeros(len(self._t)), 1
        return same

    def on_field(self, field: Sequence[int], polarities: int) -> Recordings:
        """The same recordings on a field, and with a number of polarities, at least as large.

        Parameters
        ----------
        field : sequence of int
            Size along each dimension.
        polarities : int
            How many polarities there are.

        Examples
        --------
        >>> Recordings([[3, 2]], t=[0, 7], field=(4,)).on_field((10,), 2)
        Recordings(1 recording, 2 events, field 10, 2 polarities, no labels)

        """
        same = self[:]
        same.field, same.polarities = checks.field_size(field, polarities)
        if len(same.field) != len(self.field) or any(a > b for a, b in zip(self.field, same.field, strict=True)):
            raise EventError(f"A field of {self.field} does not fit into one of {tuple(field)}.")
        if same.polarities < self.polarities:
            raise EventError(f"{self.polarities} polarities do not fit into {polarities}.")
        return same

    def gather(self, values: Array) -> Array:
        """The stretches of these recordings out of a flat array; a view where they are adjacent."""
        if len(self) == 0:
            return values[:0]
        if np.array_equal(self.stops[:-1], self.starts[1:]):
            return values[self.starts[0] : self.stops[-1]]
        offsets = self.offsets
        gathered: Array = np.empty(int(offsets[-1]), values.dtype)
        for part in self.parts(_READ_AT_ONCE):
            stretches = [values[a:b] for a, b in zip(self.starts[part], self.stops[part], strict=True)]
            np.concatenate(stretches, out=gathered[offsets[part.start] : offsets[part.stop]])
            files.release(values)
        return gathered

    def spans(self) -> tuple[Array, Array]:
        """Times of the first and of the last event of each recording, int64; 0 where there is no event."""
        first, last = np.zeros((2, len(self)), np.int64)
        some = np.flatnonzero(self.counts)
        for a in range(0, len(some), _TOUCHED_AT_ONCE):
            part = some[a : a + _TOUCHED_AT_ONCE]
            first[part], last[part] = self._t[self.starts[part]], self._t[self.stops[part] - 1]
            files.release(self._t)
        return first, last

    def entries(self, out: Array | None = None) -> Array:
        """Each event's place in the flat field: coordinates and polarity ravelled, the polarity fastest.

        Parameters
        ----------
        out : array of int32, optional
            Where to write them.

        """
        flat: Array = np.empty(int(self.counts.sum()), np.int32) if out is None else out
        flat[:] = 0
        for size, values in zip((*self.field, self.polarities), (*self._coords, self._p), strict=True):
            if size > 1:
                flat *= size
                flat += self.gather(values).astype(flat.dtype, copy=False)
        return flat

    def release(self) -> None:
        """Take what was read of a mapped file out of this process's memory; it is read again when needed."""
        files.release(*self.arrays)

    # ------------------------------------------------------------------ from and to structured arrays

    @classmethod
    def from_structured(
        cls,
        recordings: Sequence[Array],
        *,
        field: Sequence[int] | None = None,
        polarities: int | None = None,
        labels: Any = None,
        columns: str = structured.COLUMNS,
        unit: str | None = None,
        sort: bool = False,
    ) -> Recordings:
        """From structured arrays with tonic's names (x, y, z, t, p) or usual others, or arrays of one row per event.

        Parameters
        ----------
        recordings : sequence of arrays
            One per recording, with the same fields (timestamp and polarity are known names); p = -1 becomes 0.
        field : sequence of int, optional
            Size along each dimension; None: the smallest that holds the events.
        polarities : int, optional
            How many there are; None: as many as the events need.
        labels : sequence, optional
            One per recording.
        columns : str
            What the columns of arrays without names are.
        unit : str, optional
            Of the times: s, ms, us or ns. None: us; in arrays without names, s if some times have a fraction.
        sort : bool
            Whether to sort the events of each recording by time, rather than refuse them out of order.

        Examples
        --------
        >>> dtype = [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]
        >>> Recordings.from_structured([np.array([(3, 1, 0, 1), (2, 0, 7, 0)], dtype=dtype)])
        Recordings(1 recording, 2 events, field 4 x 2, 2 polarities, no labels)

        """
        if isinstance(recordings, np.ndarray) and (recordings.dtype.names or recordings.ndim == 2):
            recordings = [recordings]
        flat = structured.flat(recordings, columns, unit)
        coords, p = [flat[axis] for axis in AXES if axis in flat], flat.get("p")
        return cls(
            coords,
            flat["t"],
            p,
            np.cumsum([0, *map(len, recordings)]),
            field=sizes(coords) if field is None else field,
            polarities=polarities or (1 if p is None else sizes([p], ["p"])[0]),
            labels=labels,
            sort=sort,
        )

    def to_structured(self) -> list[Array]:
        """One structured array per recording, with tonic's names (x, y, z, t, p).

        Examples
        --------
        >>> Recordings([[3, 2], [1, 0]], t=[0, 7], p=[1, 0], field=(4, 2), polarities=2).to_structured()
        [array([(3, 1, 0, 1), (2, 0, 7, 0)],
              dtype=[('x', '<i8'), ('y', '<i8'), ('t', '<i8'), ('p', '<i8')])]

        """
        return structured.cut(self._named, self.starts, self.stops)

    @property
    def _named(self) -> dict[str, Array]:
        """All arrays by the names of structured arrays, in their order."""
        return {**{axis_name(d): x for d, x in enumerate(self._coords)}, "t": self._t, "p": self._p}


def _zeros(events: int) -> Array:
    """Polarity 0 for every event, in one byte of memory."""
    return np.broadcast_to(np.uint8(0), (events,))


def _arrived(
    field: tuple[int, ...], polarities: int, arrays: list[Any], starts: Array, stops: Array, labels: Array | None
) -> Recordings:
    """Recordings that came from another process, which has checked them."""
    recordings = object.__new__(Recordings)
    recordings.field, recordings.polarities, recordings.labels = field, polarities, labels
    recordings.starts, recordings.stops = starts, stops
    t, *others = (values.open() if isinstance(values, files.Stretch) else values for values in arrays)
    p, *coords = (np.broadcast_to(values[0], t.shape) if len(values) < len(t) else values for values in others)
    recordings._t, recordings._p, recordings._coords = t, p, tuple(coords)
    return recordings
