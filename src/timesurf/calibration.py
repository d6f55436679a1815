"""How sure a decision is: from votes or evidence to probabilities that can be relied on.

Each output event votes for a class or, in a network with a temperature, adds evidence for every class. Summed over the
events of a recording, as if they were independent, evidence is far too sure: neighbouring events say much the same. So
probabilities come from the mean over events, times one number, the scale::

    p_c = softmax_c(scale e_c / n)       e_c: votes, or evidence, of class c; n: output events

The scale is fitted on recordings that the network did not learn from: it maximises the likelihood of their labels. The
mean is also what makes one scale serve for parts of recordings: the sum, or the sum over the square root of n, fitted
on whole recordings, is too sure of long ones and not sure enough of short ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
UNCALIBRATED = 1.0  # scale of a network that was never calibrated
BINS = 10  # of a reliability diagram
_SCALES = 1e-9, 1e9  # between which the best one is looked for


def scores(evidence: Array, events: Array) -> Array:
    """e_c / n, 0 for a recording without output events."""
    scaled: Array = evidence / np.maximum(events, 1e-300)[..., None]
    return scaled


def probabilities(evidence: Array, events: Array, scale: float) -> Array:
    """Probability of each class: ``softmax(scale e / n)``; all classes are equal without output events.

    Parameters
    ----------
    evidence : array, shape (..., classes)
        Votes, or evidence, of each class.
    events : array, shape (...)
        Output events.
    scale : float
        As `fit` gives it.

    Returns
    -------
    array, shape (..., classes)
        Sums of 1.

    Examples
    --------
    >>> probabilities(np.array([[4, 0], [0, 0]]), np.array([4, 0]), scale=2.0).round(2)
    array([[0.88, 0.12],
           [0.5 , 0.5 ]])

    """
    z = scale * scores(evidence, events)
    weight = np.exp(z - z.max(axis=-1, keepdims=True))
    shares: Array = weight / weight.sum(axis=-1, keepdims=True)
    return shares


def fit(evidence: Array, events: Array, label: Array) -> float:
    """The scale under which these labels are likeliest.

    So that a few recordings, all classified correctly, do not make it infinite, each label is believed with
    probability (n + 1) / (n + 2), n being the number of recordings (Platt 1999).

    Parameters
    ----------
    evidence, events
        As for `probabilities`, of recordings that were not learned from.
    label : array of int, shape (recordings,)
        Numbers of the right classes, -1 where unknown.

    Returns
    -------
    float
        The scale; `UNCALIBRATED` if no recording has a label and output events, or there is a single class.

    Examples
    --------
    >>> surer = fit(np.array([[9, 1], [2, 8], [7, 3]]), np.full(3, 10), np.array([0, 1, 0]))
    >>> less_sure = fit(np.array([[9, 1], [2, 8], [7, 3]]), np.full(3, 10), np.array([0, 1, 1]))
    >>> bool(surer > less_sure)
    True

    """
    known = (label >= 0) & (events > 0)
    z, right = scores(evidence[known], events[known]), label[known]
    number, classes = z.shape
    if number == 0 or classes < 2:
        return UNCALIBRATED
    believed = np.full(z.shape, 1 / (number + 2) / (classes - 1))
    believed[np.arange(number), right] = (number + 1) / (number + 2)
    expected = float((believed * z).sum())
    low, high = np.log(_SCALES)
    for _ in range(60):  # the likelihood is concave in the scale: its slope changes sign once
        middle = (low + high) / 2
        shares = probabilities(evidence[known], events[known], float(np.exp(middle)))
        if float((shares * z).sum()) < expected:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


class Reliability(NamedTuple):
    """How often decisions of about the same confidence are right.

    Attributes
    ----------
    confidence, accuracy : array of float, shape (bins,)
        Mean confidence of the decisions in each bin, and the fraction of them that are right; NaN in an empty one.
    recordings : array of int, shape (bins,)
        How many there are.

    """

    confidence: Array
    accuracy: Array
    recordings: Array

    @property
    def error(self) -> float:
        """Expected calibration error: mean difference of confidence and accuracy; NaN of no recordings."""
        some = self.recordings > 0
        if not some.any():
            return float("nan")
        return float(np.average(np.abs(self.confidence - self.accuracy)[some], weights=self.recordings[some]))


def reliability(confidence: Array, right: Array, bins: int = BINS) -> Reliability:
    """Compare confidence with accuracy, in bins of equal width.

    Parameters
    ----------
    confidence : array of float, shape (recordings,)
        From 0 to 1.
    right : array of bool, shape (recordings,)
        Which decisions are right.
    bins : int
        How many.

    Returns
    -------
    Reliability
        Of each bin.

    Examples
    --------
    >>> round(reliability(np.array([0.9, 0.92, 0.55]), np.array([True, False, True])).error, 3)
    0.423

    """
    number = np.minimum((np.asarray(confidence) * bins).astype(np.int64), bins - 1)
    recordings = np.bincount(number, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean, accuracy = (
            np.bincount(number, weights=of, minlength=bins) / recordings
            for of in (confidence, np.asarray(right, float))
        )
    return Reliability(mean, accuracy, recordings)
