"""What a batch sends between machines: sums of steps, and of those what is not 0.

A batch touches a part of a large field, so of the last layer's sums many stay 0. What travels is one bit for every few
values, whether any of them is not, and those that are:

    bytes = values / 64 + (values that travel) x (bytes of one)

The weights themselves travel once. From then on whoever has them is told the sums of every batch, and takes the same
step, to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesurf.engines.cpu.sums import Sums, apply
from timesurf.engines.cpu.vector import LANE as FEW  # layers are padded to whole ones
from timesurf.engines.data import Array, Parameters
from timesurf.layers import Stage

Stages = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Thin:
    """What of a flat array is not 0.

    >>> whole = np.zeros(64)
    >>> whole[5] = 1
    >>> thin = Thin.of(whole)
    >>> thin.values
    array([0., 0., 0., 0., 0., 1., 0., 0.])
    >>> bool((thin.whole(64) == whole).all())
    True
    """

    some: Array  # a bit for every FEW values
    values: Array  # of those where it is set

    @classmethod
    def of(cls, whole: Array) -> Thin:
        """What is in it. Bits count: -0 is not 0."""
        some = whole.view(f"u{whole.itemsize}").reshape(-1, FEW).any(axis=1)
        return cls(np.packbits(some), whole.reshape(-1, FEW)[some].reshape(-1))

    def whole(self, size: int) -> Array:
        """The array again, of so many values."""
        whole = np.zeros((size // FEW, FEW), self.values.dtype)
        whole[np.unpackbits(self.some, count=len(whole)).view(np.bool_)] = self.values.reshape(-1, FEW)
        return whole.reshape(-1)

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.some.nbytes + self.values.nbytes)


@dataclass(frozen=True, slots=True)
class ThinSums:
    """What some lanes have learnt, on its way."""

    centroids: Thin
    gains: Array
    thresholds: Array

    @classmethod
    def of(cls, sums: Sums) -> ThinSums:
        """These sums."""
        return cls(Thin.of(sums.centroids), sums.gains, sums.thresholds)

    def whole(self, stages: Stages) -> Sums:
        """All sums again."""
        return Sums(self.centroids.whole(Sums.values(stages)), self.gains.copy(), self.thresholds.copy())

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.centroids.nbytes + self.gains.nbytes + self.thresholds.nbytes)


@dataclass(frozen=True, slots=True)
class News:
    """The weights of a network: all of them, or the sums that lead there from the version before."""

    network: str
    version: int
    told: Parameters | ThinSums

    def after(self, stages: Stages, version: int, before: Parameters | None) -> Parameters | None:
        """The weights, for someone who has these of that version; None where they are of no use."""
        if before is not None and version == self.version:
            return before
        if isinstance(self.told, Parameters):
            return self.told
        if before is None or version != self.version - 1:
            return None
        after = before.copy()
        apply(stages, after, self.told.whole(stages))
        return after

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        if isinstance(self.told, ThinSums):
            return self.told.nbytes
        return sum(array.nbytes for units in self.told for array in units.arrays)
