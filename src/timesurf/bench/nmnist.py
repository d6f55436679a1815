"""The paper's Table 3: digits of N-MNIST told by Sup3r and by what came before it, on the same folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines import hots
from timesurf.bench import machine
from timesurf.events import Recordings
from timesurf.layers import Full, Window
from timesurf.metrics import confusion, kept, majority_accuracy
from timesurf.model import Network
from timesurf.presets import NMNIST
from timesurf.training import Progress

Array = NDArray[Any]
CLASSES = range(10)
PAPER = {"sup3r": {"accuracy": 0.9498, "kept": 0.7261}, "hots_svm": {"accuracy": 0.9127}}
ROWS = {
    "sup3r": "Sup3r, 32 units",
    "hots_linear": "HOTS, 32 units; logistic regression on counts by place",
    "hots_svm": "HOTS, 32 and 96 units; polynomial SVM on histograms",
}
# Two layers of HOTS with time constants that grow upwards, as its authors have it.
HOTS = (Window(9, units=32, tau="10 ms"), Window(5, units=96, tau="50 ms"), Full(tau="50 ms"))


def run(
    recordings: Recordings,
    folds: int = 10,
    seed: int = 0,
    *,
    progress: Callable[[str, Progress | None], None] | None = None,
) -> dict[str, Any]:
    """Share of recordings told right over all folds, with a 95 % interval, and of events kept; by fold in the lists.

    recordings : as `datasets.nmnist.prepared` gives them
    progress : called with what is being done, and how far training has come
    """
    began = time.perf_counter()
    tell = progress or (lambda what, news: None)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ROWS}
    for number, (train, test) in enumerate(split(recordings, folds, seed), start=1):
        for name in ROWS:
            what = f"fold {number} of {folds}: {ROWS[name]}"
            tell(what, None)
            one = {"sup3r": sup3r, "hots_linear": hots_linear, "hots_svm": hots_svm}[name]
            start = time.perf_counter()
            figures = one(train, test, seed, partial(tell, what))
            found[name].append({**figures, "seconds": time.perf_counter() - start})
    settings = {
        "recordings": len(recordings), "events": int(recordings.counts.sum()), "folds": folds, "seed": seed,
        "preset": NMNIST.to_dict(),
    }  # fmt: skip
    about = machine.describe()
    return {
        **{name: summary(rows) for name, rows in found.items()},
        "settings": settings, "machine": about, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def split(recordings: Recordings, folds: int, seed: int) -> Iterator[tuple[Recordings, Recordings]]:
    """What to learn from and what to test on, fold after fold; each has its share of every digit."""
    from sklearn.model_selection import StratifiedKFold

    digits = np.asarray(recordings.labels)
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(digits, digits):
        yield recordings[train], recordings[test]


def sup3r(train: Recordings, test: Recordings, seed: int, told: Callable[[Progress], None]) -> dict[str, Any]:
    """The preset's network, trained end to end."""
    network = NMNIST.network(train, CLASSES, seed).fit(train, **NMNIST.training(), progress=told)
    start = time.perf_counter()
    outcome = network.infer(test)
    rate = outcome.events.sum() / (time.perf_counter() - start)
    label = network.class_numbers(test)
    return {
        "accuracy": majority_accuracy(outcome.votes, label), "tested": len(test), "kept": kept(outcome),
        "events_per_s": float(rate), "confusion": confusion(outcome.votes, label).tolist(),
    }  # fmt: skip


def hots_linear(train: Recordings, test: Recordings, seed: int, told: Callable[[Progress], None]) -> dict[str, Any]:
    """The same first layer, k-means alone, and a linear classifier on what won where."""
    network = hots.fit_kmeans(NMNIST.network(train, CLASSES, seed), train, sample=NMNIST.sample)
    return _classified(network, 0, hots.linear_classifier(seed), train, test, places=True)


def hots_svm(train: Recordings, test: Recordings, seed: int, told: Callable[[Progress], None]) -> dict[str, Any]:
    """HOTS as published: two layers of k-means, histograms of the second, a polynomial SVM."""
    network = replace(NMNIST, layers=HOTS).network(train, CLASSES, seed)
    return _classified(
        hots.fit_kmeans(network, train, sample=50), 1, hots.polynomial_svm(seed), train, test, places=False
    )


def _classified(
    network: Network, layer: int, classifier: Any, train: Recordings, test: Recordings, *, places: bool
) -> dict[str, Any]:
    features = [hots.counts(network.transform(some, layer), places=places) for some in (train, test)]
    classifier.fit(features[0], train.labels)
    return {"accuracy": float(classifier.score(features[1], test.labels)), "tested": len(test), "kept": 1.0}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Folds as one: accuracy over all recordings tested, with its interval, and the rest as means or sums."""
    tested = np.array([row["tested"] for row in rows])
    accuracy = np.array([row["accuracy"] for row in rows])
    right = int(np.rint(accuracy @ tested))
    result: dict[str, Any] = {
        "accuracy": right / int(tested.sum()), "interval": interval(right, int(tested.sum())),
        "folds": accuracy.tolist(), "kept": float(np.mean([row["kept"] for row in rows])),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }  # fmt: skip
    if "events_per_s" in rows[0]:
        result["events_per_s"] = float(np.mean([row["events_per_s"] for row in rows]))
        result["confusion"] = np.sum([row["confusion"] for row in rows], axis=0).tolist()
    return result


def interval(right: int, tested: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share.

    >>> [round(bound, 3) for bound in interval(950, 1000)]
    [0.935, 0.962]
    """
    share = right / tested
    centre = (share + z**2 / (2 * tested)) / (1 + z**2 / tested)
    half = z / (1 + z**2 / tested) * np.sqrt(share * (1 - share) / tested + z**2 / (4 * tested**2))
    return float(centre - half), float(centre + half)
