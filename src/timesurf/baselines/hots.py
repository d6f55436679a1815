"""HOTS without Sup3r: layers of k-means centroids that pass on every event, followed by a classifier.

Lagorce, Orchard, Galluppi, Shi and Benosman (2017), *HOTS: a hierarchy of event-based time-surfaces for pattern
recognition*, IEEE Transactions on Pattern Analysis and Machine Intelligence 39. Centroids do not depend on the classes;
a recording is described by how often each unit won::

    c_1 ... c_N = k-means of surfaces        the paper's own rule, event by event: `online_hots`
    f   = argmin_n |ts - c_n|
    h_n = sqrt(events with f = n),  h scaled to length 1, to a linear classifier

Where a network must decide by itself, each unit of its last layer is the mean surface of one class.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from timesurf.events import Recordings
from timesurf.network import Network


def fit_kmeans(network: Network, recordings: Recordings, *, sample: int = 20) -> Network:
    """Give the network k-means centroids and no thresholds.

    Parameters
    ----------
    network : Network
        An untrained network; it is changed.
    recordings : Recordings
        What to take surfaces from.
    sample : int
        How many of the recordings.

    Returns
    -------
    Network
        The same network.

    Examples
    --------
    >>> from timesurf import Full, Network, Tile
    >>> from timesurf.datasets import sentences
    >>> layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    >>> network = Network(layers, field=(30, 5), polarities=1, classes=sentences.TASK1)
    >>> fit_kmeans(network, sentences.make(20)).evaluate(sentences.make(10, seed=1))["kept"]
    1.0

    """
    return network.start(recordings, start="kmeans", margin=math.inf, sample=sample)


def counts(events: Recordings, *, places: bool) -> Any:
    """Count how often each unit won in each recording.

    Parameters
    ----------
    events : Recordings
        What a layer emits (`Network.transform`).
    places : bool
        Whether to count each unit at each place separately instead of over the whole field.

    Returns
    -------
    sparse matrix, shape (recordings, columns)
        Counts.

    Examples
    --------
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
    """Logistic regression on square roots of counts, scaled to length 1; C by cross-validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    regression = LogisticRegression(max_iter=300, random_state=seed)
    return _Tuned(
        make_pipeline(_roots(), Normalizer(), regression), {"logisticregression__C": [3.0, 30.0, 300.0]}, seed
    )


def polynomial_svm(seed: int = 0) -> Any:
    """Polynomial SVM on square roots of counts, as in the paper's HOTS row; degree and C by cross-validation."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler
    from sklearn.svm import SVC

    svm = SVC(kernel="poly", coef0=1.0, cache_size=1000, random_state=seed)
    grid: dict[str, list[Any]] = {"svc__degree": [2, 3], "svc__C": [0.01, 0.1, 1.0, 10.0]}
    return _Tuned(make_pipeline(_roots(dense=True), Normalizer(), StandardScaler(), svm), grid, seed)


def _roots(*, dense: bool = False) -> Any:
    """Square roots, which make the variance of counts independent of their size."""
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(lambda x: np.sqrt(x.toarray() if dense else x), accept_sparse=True)


class _Tuned:
    """A classifier whose settings are chosen by cross-validation on part of the data, before it is fitted to all."""

    def __init__(self, classifier: Any, grid: dict[str, list[Any]], seed: int, some: int = 5000) -> None:
        self.classifier, self.grid, self.seed, self.some = classifier, grid, seed, some

    def fit(self, x: Any, y: Any) -> _Tuned:
        """Choose the settings, then fit; with fewer than three samples of a class, the middle of each range."""
        from sklearn.model_selection import GridSearchCV

        some = np.random.default_rng(self.seed).permutation(x.shape[0])[: self.some]
        best = {name: values[len(values) // 2] for name, values in self.grid.items()}
        if np.unique(np.asarray(y)[some], return_counts=True)[1].min() >= 3:
            search = GridSearchCV(self.classifier, self.grid, cv=3, refit=False).fit(x[some], np.asarray(y)[some])
            best = search.best_params_
        self.classifier.set_params(**best).fit(x, y)
        return self

    def score(self, x: Any, y: Any) -> float:
        """Fraction classified correctly."""
        return float(self.classifier.score(x, y))
