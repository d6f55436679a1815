"""How sure a decision is: from votes or evidence to probabilities that can be relied on.

Each output event votes for a class or, in a network with a temperature, adds evidence for every class. Summed over the
events of a recording, as if they were independent, evidence is far too sure: neighbouring events say much the same. So
probabilities come from the mean over events, times a scale; and as a few events prove little, it is as if some events
without any evidence had come before them::

    p_c = softmax_c(scale e_c / (n + prior))       e_c: votes, or evidence, of class c; n: output events

Both numbers are fitted on recordings that the network did not learn from, so that the probability of the class decided
on tells how likely the decision is right: the scale on whole recordings, the prior on their beginnings too, so that
early decisions are as reliable as late ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BINS = 10  # of a reliability diagram
BEGINNINGS = (1, 4, 16, 64, 256, 1024)  # events
_PRIORS = (0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)  # events
_SCALES = 1e-6, 1e6  # between which the best one is looked for
_NUMBERS, _FEW = 1 << 18, 100  # of evidence to fit by, at most; but so many recordings


class Calibration(NamedTuple):
    """How evidence becomes probabilities, see the equation of this module.

    Attributes
    ----------
    scale : float
        Of the mean evidence, positive.
    prior : float
        Events without evidence that are counted beside the output events.

    """

    scale: float = 1.0
    prior: float = 0.0


UNCALIBRATED = Calibration()


def probabilities(evidence: Array, events: Array, by: Calibration) -> Array:
    """Probability of each class; all classes are equal without output events.

    Parameters
    ----------
    evidence : array, shape (..., classes)
        Votes, or evidence, of each class.
    events : array, shape (...)
        Output events.
    by : Calibration
        As `fit` gives it.

    Returns
    -------
    array, shape (..., classes)
        Sums of 1.

    Examples
    --------
    >>> probabilities(np.array([[4, 0], [0, 0]]), np.array([4, 0]), Calibration(scale=2.0)).round(2)
    array([[0.88, 0.12],
           [0.5 , 0.5 ]])

    """
    z = by.scale * _scores(evidence, events, by.prior)
    weight = np.exp(z - z.max(axis=-1, keepdims=True))
    shares: Array = weight / weight.sum(axis=-1, keepdims=True)
    return shares


def _scores(evidence: Array, events: Array, prior: float) -> Array:
    """e_c / (n + prior), 0 where there are no events."""
    scores: Array = evidence / np.maximum(np.asarray(events) + prior, 1e-300)[..., None]
    return scores


def fit(evidence: Array, events: Array, label: Array, beginnings: Sequence[tuple[Array, Array]] = ()) -> Calibration:
    """The calibration under which it is likeliest that these decisions are right and wrong as they are.

    Only the probability of the class decided on is fitted: with many classes, a few labels that a network finds all but
    impossible would otherwise make it too cautious about all others. So that a few recordings, all classified
    correctly, do not make the scale infinite, a right decision counts as one with probability (R + 1) / (R + 2), a
    wrong one with 1 / (W + 2), R and W being their numbers (Platt 1999).

    Parameters
    ----------
    evidence, events
        As for `probabilities`, of recordings that were not learned from.
    label : array of int, shape (recordings,)
        Numbers of the right classes, -1 where unknown.
    beginnings : sequence of pairs of arrays
        Evidence and output events of the first events of the same recordings; without any the prior is 0.

    Returns
    -------
    Calibration
        `UNCALIBRATED` if no recording has a label and output events, or there is a single class.

    Examples
    --------
    >>> surer = fit(np.array([[9, 1], [2, 8], [7, 3]]), np.full(3, 10), np.array([0, 1, 0]))
    >>> less_sure = fit(np.array([[9, 1], [2, 8], [7, 3]]), np.full(3, 10), np.array([0, 1, 1]))
    >>> surer.scale > less_sure.scale
    True

    """
    if not ((label >= 0) & (events > 0)).any() or evidence.shape[1] < 2:
        return UNCALIBRATED
    some = np.unique(np.linspace(0, len(label) - 1, max(_NUMBERS // evidence.shape[1], _FEW)).astype(int))
    every = [(e[some], n[some], label[some]) for e, n in ((evidence, events), *beginnings)]
    best, least = UNCALIBRATED, np.inf
    for prior in _PRIORS if beginnings else (0.0,):
        whole, *others = [_judged(*of, prior) for of in every]
        scale = _scale(*whole)
        surprise = sum(_surprise(*of, scale) for of in (whole, *others))
        if surprise < least:
            best, least = Calibration(scale, prior), surprise
    return best


def _judged(evidence: Array, events: Array, label: Array, prior: float) -> tuple[Array, Array]:
    """How far each class is behind the leading one, and whether that is right, where there is something to judge."""
    known = (label >= 0) & (events > 0)
    z = _scores(evidence[known], events[known], prior)
    return z - z.max(axis=1, keepdims=True), z.argmax(axis=1) == label[known]


def _surprise(behind: Array, right: Array, scale: float) -> float:
    """Mean of minus the logarithm of the probability that decisions are right or wrong as they are; 0 of none."""
    if not len(right):
        return 0.0
    confidence = np.clip(1 / np.exp(scale * behind).sum(axis=1), 1e-12, 1 - 1e-12)
    rights = int(right.sum())
    believed = np.where(right, (rights + 1) / (rights + 2), 1 / (len(right) - rights + 2))
    return -float((believed * np.log(confidence) + (1 - believed) * np.log1p(-confidence)).mean())


def _scale(behind: Array, right: Array) -> float:
    """The scale of least surprise: on a grid, then on a finer one between its neighbours."""
    scales = np.geomspace(*_SCALES, 81)
    for _ in range(3):
        at = int(np.argmin([_surprise(behind, right, float(scale)) for scale in scales]))
        best, low, high = float(scales[at]), scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)]
        scales = np.geomspace(low, high, 15)
    return best


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
