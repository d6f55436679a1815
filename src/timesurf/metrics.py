"""Decisions and figures: from the votes of output events to classes, accuracies and the share of events kept.

`decide` is the only place where output events become a decision: by majority vote or, where the network gave evidence,
by the class with most of it. `timesurf.calibration` makes the confidence a probability.

All figures are fractions, computed from the counts in an `Outcome`. A recording without output events is silent: it has
no decision, and counts as wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import UNCALIBRATED, Calibration, probabilities, reliability
from timesurf.engines import Outcome, Trace
from timesurf.layers import Stage

Array = NDArray[Any]
_AT_ONCE = 1 << 18  # probabilities computed at one time: 2 MiB, and as much for each step of the arithmetic
SILENT = -1  # in place of a class number: no output event, so no decision


class Decisions(NamedTuple):
    """What a decision rule makes of some recordings.

    Attributes
    ----------
    classes : array of int, shape (recordings,)
        Number of the class, `SILENT` (-1) where no event was output.
    confidence : array of float, shape (recordings,)
        Probability of that class, or its share of the votes, from 0 (silent) to 1.

    """

    classes: Array
    confidence: Array


def decide(votes: Array, evidence: Array | None = None, by: Calibration | None = None) -> Decisions:
    """Decide by the largest evidence, or by majority: the class with most votes; of equals the lowest.

    Parameters
    ----------
    votes : array, shape (..., classes)
        Output events per class, or shares of them, weighted or fading counts: not negative.
    evidence : array, shape (..., classes), optional
        Evidence for each class, as in `Outcome`; None decides by majority.
    by : Calibration, optional
        Makes the confidence a probability, see `timesurf.calibration`. None: the share of the votes or, by evidence,
        an uncalibrated probability.

    Returns
    -------
    Decisions
        Class and confidence of each recording, of shape (...).

    Examples
    --------
    >>> decide(np.array([[1, 4], [3, 3], [0, 0]]))
    Decisions(classes=array([ 1,  0, -1]), confidence=array([0.8, 0.5, 0. ]))
    >>> decide(np.array([[1, 4]]), evidence=np.array([[-2.0, -3.0]])).classes
    array([0])

    """
    votes = np.asarray(votes)
    total = votes.sum(axis=-1)
    some, found = total > 0, votes if evidence is None else evidence
    if evidence is None and by is None:
        confidence = np.divide(votes.max(axis=-1), total, out=np.zeros(np.shape(total)), where=some)
    else:
        confidence = np.where(some, _highest(found, total, by or UNCALIBRATED), 0.0)
    return Decisions(np.where(some, found.argmax(axis=-1), SILENT), confidence)


def _highest(found: Array, total: Array, by: Calibration) -> Array:
    """The largest probability of each recording; of some recordings at a time, for those of many classes are large."""
    if found.ndim != 2:
        return np.asarray(probabilities(found, total, by).max(axis=-1))
    highest, step = np.empty(len(found)), max(_AT_ONCE // found.shape[1], 1)
    for a in range(0, len(found), step):
        highest[a : a + step] = probabilities(found[a : a + step], total[a : a + step], by).max(axis=-1)
    return highest


def event_shares(votes: Array, label: Array) -> Array:
    """Event accuracy of each recording: the fraction of its output events on the right class; 0 without any."""
    right = votes[np.arange(len(votes)), label]
    return np.asarray(right / np.maximum(votes.sum(axis=1), 1))


def event_accuracy(votes: Array, label: Array) -> float:
    """Fraction of output events on the right class, averaged over recordings: the accuracy that the paper reports.

    Parameters
    ----------
    votes : array of int, shape (recordings, classes)
        Output events per class.
    label : array of int, shape (recordings,)
        Numbers of the right classes.

    Returns
    -------
    float
        From 0 to 1; a silent recording counts as 0.

    Examples
    --------
    >>> event_accuracy(np.array([[8, 2], [0, 5], [0, 0]]), label=np.array([0, 1, 1]))
    0.6

    """
    return float(event_shares(votes, label).mean())


def labelled_event_accuracy(votes: Array, label: Array) -> float:
    """`event_accuracy` of the recordings with a label (-1: none), without a copy of their votes; NaN without any."""
    known = label >= 0
    return float(event_shares(votes, np.where(known, label, 0))[known].mean()) if known.any() else float("nan")


def on_label(outcome: Outcome, label: Array) -> Outcome:
    """An outcome with two columns of votes, those on the right class and all others: enough for event accuracy.

    Parameters
    ----------
    outcome : Outcome
        What came out of some recordings.
    label : array of int, shape (recordings,)
        Numbers of the right classes, -1 where unknown: all votes are then in the second column.

    Returns
    -------
    Outcome
        Its size depends neither on the number of classes nor on that of layers: the right class is now number 0, and of
        the events kept only those of the last layer are counted.

    Examples
    --------
    >>> outcome = Outcome(np.array([9]), np.array([[6]]), votes=np.array([[1, 0, 5]]))
    >>> on_label(outcome, np.array([2])).votes
    array([[5, 1]])

    """
    right = np.where(label >= 0, outcome.votes[np.arange(len(label)), label], 0)
    votes = np.stack([right, outcome.votes.sum(axis=1) - right], axis=1)
    return Outcome(outcome.events, outcome.kept[:, -1:], votes)


def recording_accuracy(votes: Array, label: Array) -> float:
    """Fraction of recordings classified correctly (see `decide`).

    Parameters
    ----------
    votes, label
        As for `event_accuracy`.

    Returns
    -------
    float
        From 0 to 1; a silent recording counts as wrong.

    Examples
    --------
    >>> recording_accuracy(np.array([[8, 2], [0, 5], [0, 0]]), label=np.array([0, 1, 0]))
    0.6666666666666666

    """
    return float((decide(votes).classes == label).mean())


def running_decisions(vote: Array, offsets: Array, after: Array, classes: int) -> Array:
    """Decide on each recording after its first events have come in.

    Parameters
    ----------
    vote : array of int, shape (events,)
        Class of each event of all recordings, -1 where it was rejected.
    offsets : array of int, shape (recordings + 1,)
        Recording i holds events offsets[i] to offsets[i + 1].
    after : array of int
        Numbers of input events, ascending; beyond the end of a recording its last decision stands.
    classes : int
        Number of classes.

    Returns
    -------
    array of int, shape (recordings, len(after))
        Numbers of classes; `SILENT` while no event was output.

    Examples
    --------
    >>> running_decisions(np.array([-1, 1, 0, 0]), np.array([0, 4]), np.array([1, 2, 4]), classes=2)
    array([[-1,  1,  0]])

    """
    decided = np.empty((len(offsets) - 1, len(after)), dtype=np.int64)
    for of_recording, (first, last) in zip(decided, itertools.pairwise(offsets), strict=True):
        votes = np.zeros((len(after), classes), dtype=np.int64)  # of one recording at a time: classes may be many
        ends = np.minimum(first + after, last)
        for counts, (a, b) in zip(votes, itertools.pairwise((first, *ends)), strict=True):
            some = vote[a:b]
            counts += np.bincount(some[some >= 0], minlength=classes)
        of_recording[:] = decide(votes.cumsum(axis=0)).classes
    return decided


def voted(trace: Trace, stages: Sequence[Stage]) -> Array:
    """The class that each event voted for; `SILENT` where it was not output."""
    classes: Array = np.where(trace.passed == len(stages), trace.winner[:, -1] // stages[-1].units_per_class, SILENT)
    return classes


def silent(votes: Array) -> int:
    """Count recordings without output events."""
    return int((votes.sum(axis=1) == 0).sum())


def kept(outcome: Outcome) -> float:
    """Output events / input events, averaged over recordings that have input events."""
    return float(kept_by_layer(outcome)[-1])


def kept_by_layer(outcome: Outcome) -> Array:
    """Events that each layer passed on / input events, averaged over recordings that have input events."""
    some = outcome.events > 0
    if not some.any():
        return np.zeros(outcome.kept.shape[1])
    return np.asarray((outcome.kept[some] / outcome.events[some, None]).mean(axis=0))


def sparsity(trace: Trace) -> Array:
    """Mean of ``|S|`` of each layer over the output events: 1 if one unit fires at a time, 0 if all fire together."""
    S = trace.S[~np.isnan(trace.S[:, -1])]
    return np.abs(S).mean(axis=0) if len(S) else np.full(trace.S.shape[1], np.nan)


def confusion_counts(votes: Array, label: Array, evidence: Array | None = None) -> Array:
    """Count recordings by true class and decision, only the pairs that occur: linear in recordings, not in classes^2.

    Parameters
    ----------
    votes : array of int, shape (recordings, classes)
        Output events per class.
    label : array of int, shape (recordings,)
        Numbers of the right classes; recordings with -1, no label, are left out.
    evidence : array, shape (recordings, classes), optional
        To decide by, in place of the votes.

    Returns
    -------
    array of int, shape (pairs, 3)
        True class, decision (`SILENT` for none) and number of recordings, in ascending order.

    Examples
    --------
    >>> confusion_counts(np.array([[8, 2], [0, 5], [3, 1], [0, 0]]), label=np.array([0, 1, 0, 1]))
    array([[ 0,  0,  2],
           [ 1, -1,  1],
           [ 1,  1,  1]])

    """
    known = label >= 0
    pairs = np.stack([label[known], decide(votes, evidence).classes[known]], axis=1)
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    return np.column_stack([pairs, counts])


def confusion(votes: Array, label: Array, evidence: Array | None = None) -> Array:
    """Count recordings by true class (rows) and decision (columns); the last column counts silent recordings.

    The table has classes x (classes + 1) numbers; for many classes `confusion_counts` has those that are not 0.
    """
    classes = votes.shape[1]
    table = np.zeros((classes, classes + 1), dtype=np.int64)
    true, decided, counts = confusion_counts(votes, label, evidence).T
    table[true, decided] = counts  # SILENT, -1, is the last column
    return table


# Learning task after task. Row i of `rows` holds the accuracy on tasks 0 to i after learning task i.


def average_accuracy(rows: Sequence[Sequence[float]]) -> float:
    """Mean accuracy on all tasks after the last.

    Examples
    --------
    >>> average_accuracy([[1.0], [0.5, 0.75]])
    0.625

    """
    return float(np.mean(rows[-1]))


def forgetting(rows: Sequence[Sequence[float]]) -> float:
    """Mean drop of each task but the last from its best accuracy before the last task.

    Examples
    --------
    >>> forgetting([[1.0], [0.5, 0.75]])
    0.5

    """
    best = [max(row[task] for row in rows[task:-1]) for task in range(len(rows) - 1)]
    return float(np.mean(np.subtract(best, rows[-1][:-1])))


def backward_transfer(rows: Sequence[Sequence[float]]) -> float:
    """Mean change of each task but the last since it was learned.

    Examples
    --------
    >>> backward_transfer([[1.0], [0.5, 0.75]])
    -0.5

    """
    learned = [rows[task][task] for task in range(len(rows) - 1)]
    return float(np.mean(np.subtract(rows[-1][:-1], learned)))


def summary(outcome: Outcome, label: Array | None = None, by: Calibration | None = None) -> dict[str, Any]:
    """Summarise an outcome in figures that are ready for JSON.

    Parameters
    ----------
    outcome : Outcome
        What came out of some recordings.
    label : array of int, shape (recordings,), optional
        Numbers of the right classes, -1 where unknown.
    by : Calibration, optional
        That of the network, see `decide`.

    Returns
    -------
    dict
        `kept`, `kept_by_layer`, `silent`, `recordings`, `events`; and over the recordings with a known label, if there
        are any, `event_accuracy`, `recording_accuracy` and, if calibrated, `calibration_error` (see
        `calibration.reliability`). Which classes are confused: `confusion_counts`.

    """
    result: dict[str, Any] = {
        "kept": kept(outcome),
        "kept_by_layer": kept_by_layer(outcome).tolist(),
        "silent": silent(outcome.votes),
        "recordings": len(outcome.events),
        "events": int(outcome.events.sum()),
    }
    if label is not None and not (len(label) and (label < 0).all()):
        decided, known = decide(outcome.votes, outcome.evidence, by), label >= 0
        right = decided.classes == label
        result |= {
            "event_accuracy": labelled_event_accuracy(outcome.votes, label),
            "recording_accuracy": float(right[known].mean()),
        }
        if by is not None:
            result["calibration_error"] = reliability(decided.confidence[known], right[known]).error
    return result


def early(vote: Array, offsets: Array, label: Array, classes: int) -> tuple[Array, Array]:
    """Measure how soon a network can decide.

    Parameters
    ----------
    vote, offsets : array of int
        As for `running_decisions`.
    label : array of int, shape (recordings,)
        Numbers of the right classes.
    classes : int
        As for `running_decisions`.

    Returns
    -------
    after : array of int
        Numbers of input events, up to the median length of a recording.
    accuracy : array of float
        Recording accuracy after that many events.

    """
    median = max(float(np.median(np.diff(offsets))), 2)
    after = np.unique(np.geomspace(min(10, median / 2), median, 16).astype(int))
    right = running_decisions(vote, offsets, after, classes) == label[:, None]
    return after, right.mean(axis=0)
