"""How much a last layer could learn from a field, before it learns: cross-validated ridge regression on mean surfaces.

The evidence that a linear classifier sums over a recording is its score of the recording's mean surface. So the mean
surfaces, which the batch rule's adjoint computes in O(1) per event, tell which field separates the classes: with places
kept apart, pooled, or all places as one. Ridge regression needs one eigenvalue decomposition per fold, so a candidate
costs seconds where training costs minutes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.learning import split

Array = NDArray[Any]
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)  # of ridge regression, in units of the mean squared length of a surface


class Probed(NamedTuple):
    """How well the classes can be distinguished by mean surfaces."""

    accuracy: float  # fraction of recordings classified correctly when their fold was left out, at the best penalty
    error: float  # squared error of the same regression, 1 for one that knows nothing, at the best penalty


def cross_validated(surfaces: Array, label: Array, rng: np.random.Generator, folds: int = 5) -> Probed:
    """Accuracy and squared error of kernel ridge regression on held-out folds.

    Where several fields are perfect, the error still tells which separates the classes more widely.

    Parameters
    ----------
    surfaces : array, shape (recordings, entries)
        Mean surface of each recording.
    label : array of int, shape (recordings,)
        Number of its class.
    rng : numpy.random.Generator
        Draws the folds, each with its share of every class.
    folds : int
        How many.

    Returns
    -------
    Probed
        Both figures.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = np.arange(40) % 2
    >>> cross_validated(rng.normal(size=(40, 5)) + 9 * label[:, None], label, rng).accuracy
    1.0
    """
    centred = surfaces - surfaces.mean(axis=0)
    kernel = (centred @ centred.T).astype(np.float64)
    kernel /= max(np.trace(kernel) / len(kernel), 1e-30)
    classes, label = np.unique(label, return_inverse=True)
    target = np.eye(len(classes))[label] - 1 / len(classes)
    fold = split.folds(label, folds, rng)
    right, error = np.zeros(len(PENALTIES)), np.zeros(len(PENALTIES))
    for k in np.unique(fold):
        learn, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if len(learn) == 0:
            continue
        values, vectors = np.linalg.eigh(kernel[np.ix_(learn, learn)])
        towards, across = vectors.T @ target[learn], kernel[np.ix_(test, learn)] @ vectors
        for number, penalty in enumerate(PENALTIES):
            scores = (across / (values + penalty * len(learn))) @ towards
            right[number] += (scores.argmax(axis=1) == label[test]).sum()
            error[number] += ((scores - target[test]) ** 2).sum()
    return Probed(float(right.max() / len(label)), float(error.min() / max((target**2).sum(), 1e-30)))


def clearly_better(mine: float, other: float, recordings: int) -> bool:
    """Whether an accuracy lies above another by more than two standard errors of it.

    Examples
    --------
    >>> clearly_better(0.95, 0.90, recordings=100), clearly_better(0.95, 0.90, recordings=1000)
    (False, True)
    """
    doubt = 2 * (other * (1 - other) / recordings) ** 0.5 + 0.5 / recordings
    return bool(mine > other + doubt)
