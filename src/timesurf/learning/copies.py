"""Moved copies: what is shown at one place is learned beside it too.

A network that pools places coarsely learns from a few hundred recordings that a stroke lies in this block of pixels and
not in the next, where chance alone put it there. Copies of the recordings, moved by a pixel or so, take such chances
away. They help where the place of a whole recording says little of its class (digits before a camera), and hurt where
the place is what matters (tones along a cochlea); `timesurf.learning.law` tries which it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.events.joining import joined
from timesurf.transforms import crop


def with_moved(recordings: Recordings, by: Sequence[int]) -> Recordings:
    """The recordings, then copies moved by so many pixels, back and forth along each dimension in turn.

    Events that leave the field are lost. All copies are held in memory.

    Parameters
    ----------
    recordings : Recordings
        To learn from.
    by : sequence of int
        Pixels along each dimension of the field; 0: no copies along this one; empty: none at all.

    Returns
    -------
    Recordings
        As many times as many as `number` says.

    Examples
    --------
    >>> one = Recordings([[4], [5]], t=[0], field=(10, 9), labels=["a"])
    >>> copies = with_moved(one, (2, 1))
    >>> [x.tolist() for x in copies.coords], copies.labels.tolist()
    ([[4, 2, 6, 4, 4], [5, 5, 5, 4, 6]], ['a', 'a', 'a', 'a', 'a'])
    """
    if by and len(by) != len(recordings.field):
        raise SettingError(f"moved = {tuple(by)} must have one number per dimension of the field, {recordings.field}.")
    moved = [crop(recordings, corner, recordings.field) for corner in corners(by)]
    return joined([recordings, *moved])


def corners(by: Sequence[int]) -> list[list[int]]:
    """Where the field begins in each copy, without the recordings as they are.

    Examples
    --------
    >>> corners((2, 0, 1))
    [[2, 0, 0], [-2, 0, 0], [0, 0, 1], [0, 0, -1]]
    """
    axes = range(len(by))
    return [[sign * n if a == axis else 0 for a in axes] for axis, n in enumerate(by) if n for sign in (1, -1)]


def number(by: Sequence[int]) -> int:
    """How often each recording is there, copies and itself.

    Examples
    --------
    >>> number((1, 1)), number(())
    (5, 1)
    """
    return 1 + len(corners(by))
