"""HOTS as it was before Sup3r: layers of k-means centroids that pass every event on, and a classifier behind them.

The centroids know nothing of the class. Where a network must decide by itself, each unit of its last layer is the mean
surface of one class; elsewhere a classifier looks at how often each unit won.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from timesurf.events import Recordings
from timesurf.model import Network


def fit_kmeans(network: Network, recordings: Recordings, *, sample: int = 20) -> Network:
    """Give the network k-means centroids and no thresholds.

    >>> from timesurf import Full, Network, Tile
    >>> from timesurf.datasets import sentences
    >>> layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    >>> network = Network(layers, field=(30, 5), polarities=1, classes=sentences.TASK1)
    >>> fit_kmeans(network, sentences.make(20)).evaluate(sentences.make(10, seed=1))["kept"]
    1.0
    """
    return network.start(recordings, start="kmeans", margin=math.inf, sample=sample)


def counts(events: Recordings, *, places: bool) -> Any:
    """How often each unit won in each recording, as a sparse matrix (recordings, columns).

    events : what a layer emits (`Network.transform`)
    places : count every unit at every place by itself, not over the whole field

    >>> two = Recordings([[0, 1, 1]], t=[0, 1, 2], p=[1, 0, 1], field=(2,), polarities=2)
    >>> counts(two, places=False).toarray(), counts(two, places=True).toarray()
    (array([[1., 2.]], dtype=float32), array([[0., 1., 1., 1.]], dtype=float32))
    """
    from scipy.sparse import coo_matrix

    column = events.entries() if places else events.p
    width = math.prod(events.field) * events.polarities if places else events.polarities
    row = np.repeat(np.arange(len(events)), events.counts)
    shape = (len(events), width)
    return coo_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape).tocsr()


def linear_classifier(seed: int = 0) -> Any:
    """Logistic regression on roots of counts, scaled to length 1."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer

    root = FunctionTransformer(np.sqrt, accept_sparse=True)  # tames a Poisson count's variance
    return make_pipeline(root, Normalizer(), LogisticRegression(C=30.0, max_iter=300, random_state=seed))


def polynomial_svm(seed: int = 0) -> Any:
    """A polynomial SVM on roots of counts, as in the paper's HOTS row; degree and C by cross-validation."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
    from sklearn.svm import SVC

    dense = FunctionTransformer(lambda x: np.sqrt(x.toarray()), accept_sparse=True)
    svm = make_pipeline(dense, Normalizer(), StandardScaler(), SVC(kernel="poly", coef0=1.0, random_state=seed))
    return GridSearchCV(svm, {"svc__degree": [2, 3], "svc__C": [0.01, 0.1, 1.0, 10.0]}, cv=3)
