"""Recordings whose events are on the card, and come to the host only where somebody reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from timesurf.engines.data import Array
from timesurf.events import Recordings

Arrays = tuple[Array, Array, tuple[Array, ...]]  # times, polarities, coordinates


class Store:
    """Arrays of events that are made when they are first asked for.

    Parameters
    ----------
    make : callable
        Gives times, polarities and coordinates.
    """

    def __init__(self, make: Callable[[], Arrays]) -> None:
        self._make: Callable[[], Arrays] | None = make
        self._arrays: Arrays | None = None

    @property
    def arrays(self) -> Arrays:
        """The arrays, the same ones every time."""
        if self._arrays is None:
            assert self._make is not None
            self._arrays, self._make = self._make(), None
        return self._arrays


class HeldRecordings(Recordings):
    """As `Recordings`, with the arrays of a store; selections share it.

    Parameters
    ----------
    store : Store
        Where the arrays are.
    counts : array
        Events in each recording; one recording follows the other.
    field, polarities, labels
        As of `Recordings`.
    """

    __slots__ = ("store",)

    def __init__(
        self, store: Store, offsets: Array, *, field: tuple[int, ...], polarities: int, labels: Array | None
    ) -> None:
        self.store, self.field, self.polarities, self.labels = store, field, polarities, labels
        self.starts, self.stops = offsets[:-1], offsets[1:]

    _t = property(lambda self: self.store.arrays[0])
    _p = property(lambda self: self.store.arrays[1])
    _coords = property(lambda self: self.store.arrays[2])

    @property
    def origin(self) -> tuple[Any, ...]:
        """Equal for recordings of the same store on the same field."""
        return self.field, self.polarities, id(self.store)

    def with_one_polarity(self) -> Recordings:
        """The same recordings with every event under polarity 0, on the host."""
        return self._on_host().with_one_polarity()

    def _of_same_events(self) -> Recordings:
        others = object.__new__(HeldRecordings)
        others.store = self.store
        return others

    def _on_host(self) -> Recordings:
        """The same recordings with arrays of their own."""
        same = object.__new__(Recordings)
        same.field, same.polarities, same.labels = self.field, self.polarities, self.labels
        same.starts, same.stops = self.starts, self.stops
        same._t, same._p, same._coords = self.store.arrays
        return same


def coordinates(entry: Any, field: tuple[int, ...], polarities: int) -> tuple[Array, tuple[Array, ...]]:
    """Polarities and coordinates of entries that are on the card, on the host."""
    p, entry, coords = (entry % polarities).astype(_small(polarities)).get(), entry // polarities, []
    for size in reversed(field):
        coords.append((entry % size).astype(_small(size)).get())
        entry = entry // size
    return p, tuple(reversed(coords))


def on_clock(t: Array, origin: Array, counts: Array) -> Array:
    """Times as recordings have them that begin at `origin`, from times modulo 2^32; counts: events of each."""
    begins = np.repeat(origin, counts)
    found: Array = begins + (t - begins.astype(np.uint32).view(np.int32)).astype(np.int64)
    return found


def _small(values: int) -> Any:
    """The smallest type for so many values."""
    return np.min_scalar_type(values - 1)
