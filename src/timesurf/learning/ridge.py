"""A last layer from ridge regression: where few entries remain, it is found at once and needs no passes.

The classes are regressed on mean surfaces m, those of whole recordings and of their parts, so that short looks count as
well as long ones. With w_n, b_n the regression on class n, its centroid is the one whose evidence is that regression::

    minimise    sum over m of (w_n m + b_n - [m is of class n])^2 + penalty v |w_n|^2        v: variance of m
    c_n         such that  2 c_n m - |c_n|^2 = a (w_n m + b_n) + what all classes share      for every m

with a the mean squared distance between the mean surfaces of two classes (`timesurf.learning.means.apart`), so that the
temperature means the same as for a layer that starts from these means.

The delta rule weighs each moment by itself, and needs to see many things before it ignores what they happen to share.
The regression knows how mean surfaces of one class vary, and leaves these directions out: it learns from fewer.
"""

from __future__ import annotations

import math
from typing import Any

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

Array = NDArray[Any]
PARTS = (1, 4, 16)  # that each recording is cut into; all numbers of parts weigh the same
PENALTY = 1e-3  # in units of the variance of the mean surfaces, summed over their entries
MOST_ENTRIES = 1 << 12  # of the last layer: the regression takes their number cubed


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


def last_centroids(network: Trainee, recordings: Recordings) -> Array:
    """Centroids of the last layer, from what the layers below it pass on now.

    Parameters
    ----------
    network : Trainee
        With parameters of the layers below; those of the last are not read.
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
    engine, lower, known = choose(network.engine, stages), len(stages) - 1, recordings[recordings.labelled]
    label = network.class_numbers(known)
    if lower:
        below = Parameters(network.parameters[:lower])
        known = inference.emitted(engine, stages, below, known, network.options, lower - 1)
    if not known.counts.any():
        raise EventError("No event of a recording with a label reaches the last layer: there is nothing to learn from.")
    rows, labels, weights = [], [], []
    for parts in PARTS:
        cut, origin = in_parts(known, parts)
        rows.append(np.stack([mean_surfaces(engine, cut, tau) for tau in last.taus], axis=-1).reshape(len(cut), -1))
        labels.append(label[origin])
        weights.append(np.full(len(cut), 1 / max(len(cut), 1)))
    a = apart(rows[0].astype(np.float64), labels[0])
    means, target = np.concatenate(rows).astype(np.float64), np.eye(last.classes)[np.concatenate(labels)]
    w, b, middle = regression(means, target, np.concatenate(weights))
    return as_centroids(a * w, a * b, middle).reshape(last.classes, *last.surface_shape)


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
        at = np.searchsorted(recordings.source[a : a + n], inner)
        edges.append(a + np.concatenate([[0], at, [n]])[None])
    edge = np.concatenate(edges)
    cut = recordings.cut(edge[:, :-1].ravel(), edge[:, 1:].ravel())
    some = np.flatnonzero(cut.counts)
    return cut[some], np.repeat(np.arange(len(recordings)), parts)[some]


@one_blas_thread()  # the same bits for any number of cores
def regression(means: Array, target: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Ridge regression with an intercept on weighted rows: w (entries, classes), b (classes,), and the rows' mean.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> w, b, middle = regression(rows, np.eye(2), np.ones(2))
    >>> np.round(rows @ w + b, 2).tolist(), middle.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    """
    weight = weight / weight.sum()
    middle, share = weight @ means, weight @ target
    centred = means - middle
    covariance = (weight[:, None] * centred).T @ centred
    covariance += max(PENALTY * float(np.trace(covariance)), 1e-30) * np.eye(len(covariance))
    w: Array = np.linalg.solve(covariance, (weight[:, None] * centred).T @ (target - share))
    return w, share - middle @ w, middle


@one_blas_thread()
def as_centroids(w: Array, b: Array, middle: Array) -> Array:
    """Centroids c_n with 2 c_n m - |c_n|^2 = w_n m + b_n + what all classes share, the nearest such to `middle`.

    Moving all centroids by the same v leaves their linear terms as they are, but for what all share, and changes
    |c_n|^2: c_n = w_n / 2 + v, with v such that b_n comes out.

    Examples
    --------
    >>> c = as_centroids(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.0]), np.zeros(2))
    >>> score = 2 * c @ [3.0, 4.0] - (c**2).sum(axis=1)
    >>> round(score[1] - score[0], 9)  # w_1 m + b_1 - w_0 m - b_0
    4.5
    """
    u = w.T / 2
    wanted = -(b + (u**2).sum(axis=1)) / 2  # of u_n v, up to what all share
    across = u - u.mean(axis=0)
    found: Array = u + middle + np.linalg.lstsq(across, wanted - wanted.mean() - across @ middle, rcond=None)[0]
    return found
