"""How well a network decides and how little it keeps. All figures are fractions, from counts in an `Outcome`.

A recording without an output event counts as wrong, and `silent` counts such recordings by themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Outcome, Trace

Array = NDArray[Any]


def event_shares(votes: Array, label: Array) -> Array:
    """Of each recording's output events, the share on the right class; 0 where there are none."""
    right = votes[np.arange(len(votes)), label]
    return np.asarray(right / np.maximum(votes.sum(axis=1), 1))


def event_accuracy(votes: Array, label: Array) -> float:
    """The paper's accuracy: the share of output events on the right class, averaged over recordings.

    >>> event_accuracy(np.array([[8, 2], [0, 5], [0, 0]]), label=np.array([0, 1, 1]))
    0.6
    """
    return float(event_shares(votes, label).mean())


def recording_accuracy(votes: Array, label: Array) -> float:
    """Share of recordings whose most frequent output is the right class; ties go to the lowest class.

    >>> recording_accuracy(np.array([[8, 2], [0, 5], [0, 0]]), label=np.array([0, 1, 0]))
    0.6666666666666666
    """
    return float(((votes.argmax(axis=1) == label) & (votes.sum(axis=1) > 0)).mean())


def running_majority(vote: Array, offsets: Array, after: Array, classes: int) -> Array:
    """What the majority says after so many events of each recording have come in, -1 while none has come out.

    vote : class of each event of all recordings, -1 where it was rejected
    offsets : recording i holds events offsets[i] to offsets[i + 1]
    after : numbers of input events, ascending; beyond a recording's end it is the last word

    >>> running_majority(np.array([-1, 1, 0, 0]), np.array([0, 4]), np.array([1, 2, 4]), classes=2)
    array([[-1,  1,  0]])
    """
    said = np.empty((len(offsets) - 1, len(after)), dtype=np.int64)
    for r, (first, last) in enumerate(itertools.pairwise(offsets)):
        votes = np.zeros(classes, dtype=np.int64)
        ends = np.minimum(first + after, last)
        for k, (a, b) in enumerate(zip((first, *ends[:-1]), ends, strict=True)):
            some = vote[a:b]
            votes += np.bincount(some[some >= 0], minlength=classes)
            said[r, k] = votes.argmax() if votes.any() else -1
    return said


def silent(votes: Array) -> int:
    """Recordings without any output event."""
    return int((votes.sum(axis=1) == 0).sum())


def kept(outcome: Outcome) -> float:
    """Output events / input events, averaged over recordings (those without input events aside)."""
    return float(kept_by_layer(outcome)[-1])


def kept_by_layer(outcome: Outcome) -> Array:
    """Events that each layer let pass / input events, averaged over recordings."""
    some = outcome.events > 0
    if not some.any():
        return np.zeros(outcome.kept.shape[1])
    return np.asarray((outcome.kept[some] / outcome.events[some, None]).mean(axis=0))


def sparsity(trace: Trace) -> Array:
    """Mean |S| of every layer over the output events: 1 one unit at a time, 0 all at once."""
    S = trace.S[~np.isnan(trace.S[:, -1])]
    return np.abs(S).mean(axis=0) if len(S) else np.full(trace.S.shape[1], np.nan)


def confusion(votes: Array, label: Array) -> Array:
    """Recordings by true class (rows) and most frequent output (columns); a last column counts the silent."""
    classes = votes.shape[1]
    said = np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), classes)
    table = np.zeros((classes, classes + 1), dtype=np.int64)
    np.add.at(table, (label, said), 1)
    return table


# One task after another. Row i of `rows` holds the accuracy on tasks 0 to i after learning task i.


def average_accuracy(rows: Sequence[Sequence[float]]) -> float:
    """Mean accuracy on all tasks after the last.

    >>> average_accuracy([[1.0], [0.5, 0.75]])
    0.625
    """
    return float(np.mean(rows[-1]))


def forgetting(rows: Sequence[Sequence[float]]) -> float:
    """How far each task but the last fell from the best it had been before the last task, on average.

    >>> forgetting([[1.0], [0.5, 0.75]])
    0.5
    """
    best = [max(row[task] for row in rows[task:-1]) for task in range(len(rows) - 1)]
    return float(np.mean(np.subtract(best, rows[-1][:-1])))


def backward_transfer(rows: Sequence[Sequence[float]]) -> float:
    """How far each task but the last rose since it was learnt, on average.

    >>> backward_transfer([[1.0], [0.5, 0.75]])
    -0.5
    """
    learnt = [rows[task][task] for task in range(len(rows) - 1)]
    return float(np.mean(np.subtract(rows[-1][:-1], learnt)))


def summary(outcome: Outcome, label: Array | None = None) -> dict[str, Any]:
    """An outcome in figures, ready for JSON; those about right and wrong only where labels (-1: unknown) are given."""
    result: dict[str, Any] = {
        "kept": kept(outcome),
        "kept_by_layer": kept_by_layer(outcome).tolist(),
        "silent": silent(outcome.votes),
        "recordings": len(outcome.events),
        "events": int(outcome.events.sum()),
    }
    if label is not None:
        votes, label = outcome.votes[label >= 0], label[label >= 0]
        result |= {
            "event_accuracy": event_accuracy(votes, label),
            "recording_accuracy": recording_accuracy(votes, label),
            "confusion": confusion(votes, label).tolist(),
        }
    return result


def early(vote: Array, offsets: Array, label: Array, classes: int) -> tuple[Array, Array]:
    """How soon it can be decided: numbers of events, and the share of recordings whose majority is right after so many.

    vote, offsets : as of `running_majority`
    """
    median = max(float(np.median(np.diff(offsets))), 2)
    after = np.unique(np.geomspace(min(10, median / 2), median, 16).astype(int))
    right = running_majority(vote, offsets, after, classes) == label[:, None]
    return after, right.mean(axis=0)
