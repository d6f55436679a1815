"""How much a last layer could learn from a field, before it learns: cross-validated ridge regression on mean surfaces.

The evidence that a linear classifier sums over a recording is its score of the recording's mean surface. So the mean
surfaces, which the batch rule's adjoint computes in O(1) per event, tell which field separates the classes: with places
kept apart, pooled, or all places as one. Ridge regression needs one eigenvalue decomposition per fold, so a candidate
costs seconds where training costs minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.threads import one_blas_thread
from timesurf.events import Recordings
from timesurf.inference import class_numbers
from timesurf.layers import Window
from timesurf.learning import split

Array = NDArray[Any]
Strides = tuple[int, ...] | Literal["field"]
PROBED = 400  # recordings: ridge regression takes their number cubed
PROBED_EVENTS = 3_000_000  # as many recordings as hold so many events
POOLED_EVENTS = 8_000_000  # where all places are one, and only time constants are compared
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)  # of ridge regression, in units of the mean squared length of a surface


class Probed(NamedTuple):
    """How well the classes can be distinguished by mean surfaces."""

    accuracy: float  # fraction of recordings classified correctly when their fold was left out, at the best penalty
    error: float  # squared error of the same regression, 1 for one that knows nothing, at the best penalty


def sample(known: Recordings, rng: np.random.Generator, events: int = PROBED_EVENTS) -> Recordings:
    """Recordings to probe with, see `sampled`."""
    return known[sampled(known, rng, events)]


def sampled(known: Recordings, rng: np.random.Generator, events: int = PROBED_EVENTS) -> Array:
    """Numbers of the recordings to probe with, of all classes in turn, as many as take seconds."""
    label = class_numbers(known.classes, known)
    shuffled = rng.permutation(len(known))
    turn = np.empty(len(known), dtype=np.int64)
    for c in np.unique(label):
        mine = shuffled[label[shuffled] == c]
        turn[mine] = np.arange(len(mine))
    order = np.argsort(turn[shuffled], kind="stable")
    order = shuffled[order][:PROBED]
    enough = int(np.searchsorted(np.cumsum(known.counts[order]), events)) + 1
    least = min(2 * len(known.classes), len(order))
    numbers: Array = np.sort(order[: max(enough, least)])
    return numbers


def divided(fine: Recordings, stride: Strides) -> Recordings:
    """The same events on a coarser field."""
    layer = Window(1, tau=1, stride=stride)
    return Recordings(
        layer.output(fine.coords),  # type: ignore[arg-type]  # works on arrays as on numbers
        fine.t,
        fine.p,
        fine.offsets,
        field=layer.output_field(fine.field),
        polarities=fine.polarities,
        labels=fine.labels,
    )


@one_blas_thread()  # several wait for each other, busily, where a core is taken: up to twenty times as long
def cross_validated(
    surfaces: Array,
    label: Array,
    rng: np.random.Generator,
    folds: int = 5,
    copies: Sequence[Array] = (),
    origin: Array | None = None,
) -> Probed:
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
    copies : sequence of array, each of shape (recordings, entries)
        Mean surfaces of altered copies of the recordings: learned from with those of the other folds, never tested.
    origin : array of int, shape (recordings,), optional
        The number of what each recording was cut from: pieces of one long recording then stay in one fold,
        unless their class has no other recording.

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
    centred = np.concatenate([surfaces, *copies])
    centred -= centred.mean(axis=0)
    kernel = (centred @ centred.T).astype(np.float64)
    kernel /= max(np.trace(kernel) / len(kernel), 1e-30)
    classes, label = np.unique(label, return_inverse=True)
    if origin is None:
        fold = split.folds(label, folds, rng)
    else:
        whose = np.unique(origin, return_inverse=True)[1]
        pairs = np.unique(np.stack([whose, label], axis=1), axis=0)
        only = (np.bincount(pairs[:, 1]) == 1)[label]  # of its class: without it the class could not be known
        whose[only] = len(whose) + np.arange(only.sum())
        first, whose = np.unique(whose, return_index=True, return_inverse=True)[1:]
        fold = split.folds(label[first], folds, rng)[whose]
    target = np.tile(np.eye(len(classes))[label] - 1 / len(classes), (1 + len(copies), 1))
    of_fold = np.tile(fold, 1 + len(copies))
    right, error = np.zeros(len(PENALTIES)), np.zeros(len(PENALTIES))
    for k in np.unique(fold):
        learn, test = np.flatnonzero(of_fold != k), np.flatnonzero(fold == k)
        if len(learn) == 0:
            continue
        values, vectors = np.linalg.eigh(kernel[np.ix_(learn, learn)])
        towards, across = vectors.T @ target[learn], kernel[np.ix_(test, learn)] @ vectors
        for number, penalty in enumerate(PENALTIES):
            scores = (across / (values + penalty * len(learn))) @ towards
            right[number] += (scores.argmax(axis=1) == label[test]).sum()
            error[number] += ((scores - target[test]) ** 2).sum()
    return Probed(float(right.max() / len(label)), float(error.min() / max((target[: len(label)] ** 2).sum(), 1e-30)))


def clearly_better(mine: float, other: float, recordings: int) -> bool:
    """Whether an accuracy lies above another by more than two standard errors of it.

    Examples
    --------
    >>> clearly_better(0.95, 0.90, recordings=100), clearly_better(0.95, 0.90, recordings=1000)
    (False, True)
    """
    doubt = 2 * (other * (1 - other) / recordings) ** 0.5 + 0.5 / recordings
    return bool(mine > other + doubt)
