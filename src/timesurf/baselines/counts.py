"""Plain counts: logistic regression on how many events each entry had, in some stretches of time.

What a network must beat before its time surfaces are worth their cost::

    feature of (stretch, entry) = sqrt(number of events)

A stretch is an equal part of the recording's duration. Square roots make counts of different sizes comparable.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.events import Recordings

Array = NDArray[Any]
LARGEST = 1 << 14  # features: beyond, places are pooled


def features(recordings: Recordings, stretches: int = 1) -> Array:
    """Square roots of counts, one row per recording.

    Parameters
    ----------
    recordings : Recordings
        On any field; where it is large, pixels are pooled in equal blocks.
    stretches : int
        Equal parts of each recording's duration that are counted apart.

    Returns
    -------
    array of float, shape (recordings, stretches * entries)

    Examples
    --------
    >>> two = Recordings([[0, 1, 1]], t=[0, 5, 9], offsets=[0, 3], field=(2,))
    >>> features(two).tolist(), features(two, stretches=2).tolist()
    ([[1.0, 1.4142135623730951]], [[1.0, 0.0, 0.0, 1.4142135623730951]])
    """
    pooled = 1
    while math.prod(-(-n // pooled) for n in recordings.field) * recordings.polarities * stretches > LARGEST:
        pooled += 1
    field = [-(-n // pooled) for n in recordings.field]
    entry = np.zeros(int(recordings.counts.sum()), dtype=np.int64)
    for x, size in zip(recordings.coords, field, strict=True):
        entry = entry * size + x // pooled
    entry = entry * recordings.polarities + recordings.p
    size = math.prod(field) * recordings.polarities
    rows = np.zeros((len(recordings), stretches * size))
    t, offsets = recordings.t, recordings.offsets
    for r, (first, last) in enumerate(itertools.pairwise(offsets)):
        if last > first:
            since = t[first:last] - t[first]
            part = np.minimum(since * stretches // (int(since[-1]) + 1), stretches - 1)
            rows[r] = np.bincount(part * size + entry[first:last], minlength=stretches * size)
    return np.sqrt(rows)


def classified(train: Recordings, test: Recordings, stretches: int = 1) -> float:
    """Recording accuracy on `test` of logistic regression on the counts of `train`."""
    model = regression(train)
    model.fit(features(train, stretches), np.asarray(train.labels))
    return float(model.score(features(test, stretches), np.asarray(test.labels)))


def regression(train: Recordings, *, scaled: bool = False) -> Any:
    """Logistic regression on features around their mean, or `scaled` to variance 1 each.

    Counts are not scaled: that would make channels that hardly ever fire as important as all others. The strength of
    its penalty is chosen by cross-validation, where each class of `train` has three recordings.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(with_std=scaled), LogisticRegression(max_iter=300))
    fewest = int(np.unique(np.asarray(train.labels), return_counts=True)[1].min())
    if fewest < 3:
        return model
    return GridSearchCV(model, {"logisticregression__C": [1e-3, 1e-1, 10.0]}, cv=3)
