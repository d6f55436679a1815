"""What a batch sends between machines: sums of steps, without the blocks of them that are 0.

A batch touches only a part of a large field, so many of the last layer's sums stay 0. The sums travel as one bit per
block of 8 values, set where any of them is not 0, and the values of these blocks::

    bytes = values / 64 + (values sent) x (bytes per value)

The weights themselves travel once. From then on, a worker that has them receives the sums of every batch and applies
them itself, with bit-identical weights as the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesurf.engines.cpu.sums import Sums, apply
from timesurf.engines.cpu.vector import LANE as BLOCK  # the sums of every layer are padded to whole blocks
from timesurf.engines.data import Array, Parameters
from timesurf.layers import Stage

Stages = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Sparse:
    """A flat array without the blocks that are 0.

    Attributes
    ----------
    size : int
        Values of the dense array.
    blocks : array
        One bit per block of the dense array: whether its values are stored.
    values : array
        The values of these blocks.

    Examples
    --------
    >>> dense = np.zeros(64)
    >>> dense[5] = 1
    >>> sparse = Sparse.of(dense)
    >>> sparse.values
    array([0., 0., 0., 0., 0., 1., 0., 0.])
    >>> bool((sparse.dense() == dense).all())
    True
    """

    size: int
    blocks: Array
    values: Array

    @classmethod
    def of(cls, dense: Array) -> Sparse:
        """Leave out the blocks whose bits are all 0; -0.0 has its sign bit set, so its block is stored."""
        stored = dense.view(f"u{dense.itemsize}").reshape(-1, BLOCK).any(axis=1)
        return cls(dense.size, np.packbits(stored), dense.reshape(-1, BLOCK)[stored].reshape(-1))

    def dense(self) -> Array:
        """The whole array again."""
        dense = np.zeros((self.size // BLOCK, BLOCK), self.values.dtype)
        dense[np.unpackbits(self.blocks, count=len(dense)).view(np.bool_)] = self.values.reshape(-1, BLOCK)
        return dense.reshape(-1)

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.blocks.nbytes + self.values.nbytes)


@dataclass(frozen=True, slots=True)
class SparseSums:
    """The sums of some lanes, as they travel: centroid steps sparse, the small arrays as they are."""

    centroids: Sparse
    gains: Array
    thresholds: Array

    @classmethod
    def of(cls, sums: Sums) -> SparseSums:
        """Compress sums."""
        return cls(Sparse.of(sums.centroids), sums.gains, sums.thresholds)

    def dense(self) -> Sums:
        """The sums again, in arrays that may be changed."""
        return Sums(self.centroids.dense(), self.gains.copy(), self.thresholds.copy())

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.centroids.nbytes + self.gains.nbytes + self.thresholds.nbytes)


@dataclass(frozen=True, slots=True)
class Update:
    """One version of a network's weights, as it is sent to a worker.

    Attributes
    ----------
    network : str
        Which network, by a name that is unique in the cluster.
    version : int
        Which version; it grows by 1 with every batch.
    content : Parameters or SparseSums
        All weights, or the sums that lead here from the version before.
    """

    network: str
    version: int
    content: Parameters | SparseSums

    def applied_to(self, stages: Stages, version: int, weights: Parameters | None) -> Parameters | None:
        """The weights of this version.

        Parameters
        ----------
        stages : tuple of Stage
            The layers in their places.
        version : int
            Version of the weights that the worker has.
        weights : Parameters or None
            Those weights; None if it has none.

        Returns
        -------
        Parameters or None
            None if this update holds sums, and the worker's weights are not of the version before.
        """
        if weights is not None and version == self.version:
            return weights
        if isinstance(self.content, Parameters):
            return self.content
        if weights is None or version != self.version - 1:
            return None
        updated = weights.copy()
        apply(stages, updated, self.content.dense())
        return updated

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        if isinstance(self.content, SparseSums):
            return self.content.nbytes
        return sum(array.nbytes for array in self.content.arrays)
