"""A last layer from ridge regression: where few entries remain, it is found at once and needs no passes.

The classes are regressed on mean surfaces m, those of whole recordings and of their parts, so that short looks count as
well as long ones. With w_n, b_n the regression on class n, its centroid is the one whose evidence is that regression::

    minimise    mean over m of (w_n m + b_n - [m is of class n])^2 + penalty v |w_n|^2       v: variance of m
    c_n         such that  2 c_n m - |c_n|^2 = a (w_n m + b_n) + what all classes share      for every m

with a the mean squared distance between the mean surfaces of two classes (`timesurf.learning.means.apart`), so that the
temperature means the same as for a layer that starts from these means.

The delta rule weighs each moment by itself, and needs to see many things before it ignores what they happen to share.
The regression knows how mean surfaces of one class vary, and leaves these directions out: it learns from fewer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf import inference
from timesurf.engines import Parameters, choose
from timesurf.engines.cpu.threads import one_blas_thread
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.learning.means import apart, mean_surfaces
from timesurf.learning.state import Trainee
from timesurf.transforms.cutting import events_before

Array = NDArray[Any]
PARTS = (1, 4, 16)  # that each recording is cut into; all numbers of parts weigh the same
PENALTY = 1e-3  # in units of the variance of the mean surfaces, summed over their entries
MOST_ENTRIES = 1 << 11  # of the last layer: the regression takes their number cubed
_ROWS = 1 << 22  # numbers of the mean surfaces that are held at one time
_ROUNDING = 1e-6  # singular values below this share of the largest are 0


class Moments(NamedTuple):
    """Means over surfaces x, and over which class y each is of (0 or 1 for every class)."""

    y: Array  # (classes,) share of each class
    xy: Array  # (entries, classes)
    xx: Array  # (entries, entries)

    @property
    def x(self) -> Array:
        """(entries,) the mean surface."""
        total: Array = self.xy.sum(axis=1)
        return total


def suits(stage: Stage) -> bool:
    """Whether a last layer can be found so: one unit per class, more entries than classes, and not too many.

    Examples
    --------
    >>> from timesurf.layers import Full, stack
    >>> [suits(stack([Full(tau=1)], (n,), 1, classes=4)[0]) for n in (3, 100, 5000)]
    [False, True, False]
    """
    entries = math.prod(stage.surface_shape)
    return stage.units_per_class == 1 and stage.classes < entries <= MOST_ENTRIES


def last_centroids(network: Trainee, below: Parameters, recordings: Recordings) -> Array:
    """Centroids of the last layer, from what the layers below it pass on.

    Parameters
    ----------
    network : Trainee
        Its parameters are not read.
    below : Parameters
        Of the layers below the last.
    recordings : Recordings
        To learn from; those without a label are left out.

    Returns
    -------
    array, shape (classes, *surface shape)

    Raises
    ------
    SettingError
        If the last layer has several units per class, or too few or too many entries.
    EventError
        If the layers below reject everything.
    """
    stages, last = network.stages, network.stages[-1]
    if not suits(last):
        raise SettingError(
            f"start = 'ridge' needs one unit per class, and a last layer with more entries than classes and at most "
            f"{MOST_ENTRIES:,}; this one has {last.units_per_class} and {math.prod(last.surface_shape):,} entries for "
            f"{last.classes:,} classes: pool places (stride='field'), or use start = 'quick'."
        )
    engine, known = choose(network.engine, stages), recordings[recordings.labelled]
    label = network.class_numbers(known)
    if below:
        known = inference.emitted(engine, stages, below, known, network.options, len(below) - 1)
    if not known.counts.any():
        raise EventError("No event of a recording with a label reaches the last layer: there is nothing to learn from.")

    def surfaces(some: Recordings) -> Array:
        means = np.stack([mean_surfaces(engine, some, tau) for tau in last.taus], axis=-1)
        return means.reshape(len(some), -1).astype(np.float64)

    of_parts = [_moments(known, label, parts, surfaces, last) for parts in PARTS]
    whole, total = of_parts[0], Moments(*(np.mean(each, axis=0) for each in zip(*of_parts, strict=True)))
    of_class = (whole.xy / np.maximum(whole.y, 1e-30))[:, whole.y > 0]
    a = apart(of_class.T)
    w, b = regression(total)
    return as_centroids(a * w, a * b, total.x).reshape(last.classes, *last.surface_shape)


@one_blas_thread()  # the same bits for any number of cores
def _moments(recordings: Recordings, label: Array, parts: int, surfaces: Any, last: Stage) -> Moments:
    """Moments of the mean surfaces of recordings that are cut into so many parts, some recordings at a time."""
    entries, n = math.prod(last.surface_shape), np.zeros(last.classes)
    xy, xx = np.zeros((entries, last.classes)), np.zeros((entries, entries))
    at_once = max(_ROWS // (entries * parts), 1)
    for r in range(0, len(recordings), at_once):
        cut, origin = in_parts(recordings[r : r + at_once], parts)
        x, y = surfaces(cut), np.eye(last.classes)[label[r : r + at_once][origin]]
        n += y.sum(axis=0)
        xy += x.T @ y
        xx += x.T @ x
    return Moments(n / n.sum(), xy / n.sum(), xx / n.sum())


def in_parts(recordings: Recordings, parts: int) -> tuple[Recordings, Array]:
    """Each recording cut into so many parts of the same duration, and which it was; parts without events are left out.

    Examples
    --------
    >>> some = Recordings([[0, 0, 0]], t=[0, 5, 12], field=(1,))
    >>> cut, origin = in_parts(some, 4)
    >>> cut.counts.tolist(), origin.tolist()
    ([1, 1, 1], [0, 0, 0])
    """
    first, last = recordings.spans()
    edges = [np.zeros((0, parts + 1), np.int64)]
    for a, n, begin, end in zip(recordings.starts, recordings.counts, first, last, strict=True):
        inner = begin + (end + 1 - begin) * np.arange(1, parts) / parts
        at = events_before(recordings.source[a : a + n], inner)
        edges.append(a + np.concatenate([[0], at, [n]])[None])
    edge = np.concatenate(edges)
    cut = recordings.cut(edge[:, :-1].ravel(), edge[:, 1:].ravel())
    some = np.flatnonzero(cut.counts)
    return cut[some], np.repeat(np.arange(len(recordings)), parts)[some]


@one_blas_thread()
def regression(of: Moments) -> tuple[Array, Array]:
    """Ridge regression of classes on surfaces, with an intercept: w (entries, classes) and b (classes,).

    Examples
    --------
    >>> x, y = np.array([[0.0, 1.0], [2.0, 1.0]]), np.eye(2)
    >>> w, b = regression(Moments(y.mean(axis=0), x.T @ y / 2, x.T @ x / 2))
    >>> np.round(x @ w + b, 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    covariance = of.xx - np.outer(of.x, of.x)
    covariance += max(PENALTY * float(np.trace(covariance)), 1e-30) * np.eye(len(covariance))
    w: Array = np.linalg.solve(covariance, of.xy - np.outer(of.x, of.y))
    return w, of.y - of.x @ w


@one_blas_thread()
def as_centroids(w: Array, b: Array, middle: Array) -> Array:
    """Centroids c_n with 2 c_n m - |c_n|^2 = w_n m + b_n + what all classes share, the nearest such to `middle`.

    Moving all centroids by the same v leaves their linear terms as they are, but for what all share, and changes
    |c_n|^2: c_n = w_n / 2 + v, with v such that b_n comes out; where classes are regressed alike, as nearly as can be.

    Examples
    --------
    >>> c = as_centroids(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.0]), np.zeros(2))
    >>> score = 2 * c @ [3.0, 4.0] - (c**2).sum(axis=1)
    >>> round(float(score[1] - score[0]), 9)  # w_1 m + b_1 - w_0 m - b_0
    4.5
    """
    u = w.T / 2
    wanted = -(b + (u**2).sum(axis=1)) / 2  # of u_n v, up to what all share
    across = u - u.mean(axis=0)
    found: Array = u + middle + np.linalg.lstsq(across, wanted - wanted.mean() - across @ middle, _ROUNDING)[0]
    return found
