"""Recordings at other places and in other shapes: what is shown in one way is learned in others too.

A network that pools places coarsely learns from a few hundred recordings that a stroke lies in this block of pixels and
not in the next, where chance alone put it there. So each pass shows each recording moved by some pixels, drawn again:
no recording is shown twice in the same way, and none is copied. That helps where the place of a whole recording says
little of its class (digits before a camera), and hurts where the place is what matters (tones along a cochlea);
`timesurf.learning.law` tries which it is.

Copies that are turned, scaled and sheared a little do the same for shapes, such as handwriting. A hidden layer sees
them differently, so they are made once, before training, and held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.events.joining import joined
from timesurf.transforms.bending import bend

Array = NDArray[Any]


def with_bent(recordings: Recordings, copies: int, rng: np.random.Generator) -> Recordings:
    """The recordings, then so many copies of them, each recording bent in its own way by `transforms.bend`.

    Examples
    --------
    >>> one = Recordings([[4], [5]], t=[0], field=(10, 9), labels=["a"])
    >>> with_bent(one, 2, np.random.default_rng(0)).labels.tolist()
    ['a', 'a', 'a']
    """
    if not copies:
        return recordings
    return joined([recordings, *(bend(recordings, seed=int(rng.integers(2**31))) for _ in range(copies))])


def check(by: Sequence[int], recordings: Recordings) -> None:
    """Refuse distances that are not one per dimension of the field."""
    if by and len(by) != len(recordings.field):
        raise SettingError(f"moved = {tuple(by)} must have one number per dimension of the field, {recordings.field}.")


def displacements(by: Sequence[int], recordings: int, rng: np.random.Generator) -> Array:
    """How far each recording is moved in one pass: up to so many pixels either way, along each dimension.

    Parameters
    ----------
    by : sequence of int
        Pixels along each dimension of the field, at most.
    recordings : int
        How many.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    array of int8, int16 or int32, shape (recordings, dimensions)
        Pixels.

    Examples
    --------
    >>> displacements((1, 0), 4, np.random.default_rng(0)).tolist()
    [[1, 0], [0, 0], [0, 0], [-1, 0]]
    """
    far = np.asarray(by, dtype=np.int64)
    drawn: Array = rng.integers(-far, far + 1, (recordings, len(far)))
    return drawn.astype(np.min_scalar_type(-int(far.max()) - 1))


def corners(by: Sequence[int]) -> list[list[int]]:
    """Where the field begins in copies that are moved as far as possible along one dimension: what a probe is shown.

    Examples
    --------
    >>> corners((2, 0, 1))
    [[2, 0, 0], [-2, 0, 0], [0, 0, 1], [0, 0, -1]]
    """
    axes = range(len(by))
    return [[sign * n if a == axis else 0 for a in axes] for axis, n in enumerate(by) if n for sign in (1, -1)]
