"""The paper's Table 3: digits of N-MNIST told by Sup3r, by backpropagation and by HOTS, on the same recordings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.baselines import ann, hots
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Full, Window
from timesurf.learning.trainer import Progress
from timesurf.metrics import confusion, kept, recording_accuracy
from timesurf.network import Network
from timesurf.presets import Preset, nmnist
from timesurf.results import machine

Array = NDArray[Any]
Told = Callable[[str], None]
CLASSES = range(10)
PAPER = {
    "sup3r": {"accuracy": 0.9498, "kept": 0.7261},
    "ann_mnist": {"accuracy": 0.9561},
    "hots_svm": {"accuracy": 0.9127},
}
ROWS = {
    "sup3r": "Sup3r, 32 units",
    "sup3r_printed": "Sup3r at the paper's time constants",
    "ann_mnist": "ANN, 32 units, on still images",
    "ann_events": "ANN, 32 units, on counts of events",
    "hots_linear": "HOTS, 32 units; logistic regression on counts by place",
    "hots_svm": "HOTS, 32 and 96 units; polynomial SVM on histograms",
}
# Two layers of HOTS with time constants that grow upwards, as its authors have it.
HOTS = (Window(9, units=32, tau="10 ms"), Window(5, units=96, tau="50 ms"), Full(tau="50 ms"))
PRINTED = ("100 ms", "1 ms")  # time constants
_LOOKED_AT = 1000  # recordings, for what happens on the way to a decision


@dataclass(frozen=True, slots=True)
class Split:
    """What to learn from and what to test on; with the still images of the same digits where they are known."""

    train: Recordings
    test: Recordings
    images: tuple[Array, Array] | None = None


def run(
    splits: Sequence[Split],
    data: str,
    seed: int = 0,
    *,
    rows: Sequence[str] = tuple(ROWS),
    engine: str = "cpu",
    progress: Told | None = None,
    finished: Told | None = None,
) -> dict[str, Any]:
    """Share of recordings told right over all splits, with a 95 % interval, and of events kept; by split in the lists.

    splits : of recordings as `datasets.nmnist.prepared` gives them
    data : what they are, in words
    engine : of the networks; backpropagation and classifiers stay on the CPU
    progress, finished : called with what is being done, and with what has come of it
    """
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise SettingError(f"No row {', '.join(unknown)}: rows are {', '.join(ROWS)}.")
    began = time.perf_counter()
    tell = progress or (lambda what: None)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in rows}
    for number, split in enumerate(splits, start=1):
        for name in rows:
            if name == "ann_mnist" and split.images is None:
                continue
            what = f"{f'fold {number} of {len(splits)}: ' if len(splits) > 1 else ''}{ROWS[name]}"
            tell(what)
            row = _ROWS[name](split, seed, lambda news, what=what: tell(f"{what}: {news}"), engine)  # type: ignore[misc]
            found[name].append(row)
            if finished:
                finished(
                    f"{what}: {row['accuracy']:.2%}" + (f", {row['kept']:.1%} of events kept" if "kept" in row else "")
                )
    first = splits[0]
    settings = {
        "train": len(first.train), "test": len(first.test), "splits": len(splits), "seed": seed, "engine": engine,
        "events": int(first.train.counts.sum() + first.test.counts.sum()),
        "preset": nmnist(len(first.train)).to_dict(),
    }  # fmt: skip
    return {
        "data": data, **{name: summary(of) for name, of in found.items() if of},
        "settings": settings, "machine": machine.describe(engine), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def folds(recordings: Recordings, number: int, seed: int, images: Array | None = None) -> Iterator[Split]:
    """A cross-validation; every fold has its share of every digit."""
    from sklearn.model_selection import StratifiedKFold

    digits = np.asarray(recordings.labels)
    for train, test in StratifiedKFold(number, shuffle=True, random_state=seed).split(digits, digits):
        pictures = None if images is None else (images[train], images[test])
        yield Split(recordings[train], recordings[test], pictures)


def sup3r(split: Split, seed: int, told: Told, engine: str = "cpu", preset: Preset | None = None) -> dict[str, Any]:
    """The preset's network, trained end to end."""
    preset = preset or nmnist(len(split.train))

    def news(heard: Progress) -> None:
        told(f"{heard.done / heard.total:.0%}, {heard.event_accuracy:.0%} of events right, {heard.kept:.0%} kept")

    start = time.perf_counter()
    network = preset.network(split.train, CLASSES, seed, engine=engine).fit(
        split.train, **preset.training(), progress=news
    )
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    outcome = network.infer(split.test)
    rate = outcome.events.sum() / (time.perf_counter() - start)
    label = network.class_numbers(split.test)
    of_class = [label == c for c in range(len(network.classes))]
    return {
        "accuracy": recording_accuracy(outcome.votes, label), "tested": len(split.test), "kept": kept(outcome),
        "seconds": seconds, "events_per_s": float(rate),
        "training_events_per_s": float(preset.passes * split.train.counts.sum() / seconds),
        "confusion": confusion(outcome.votes, label).tolist(),
        "kept_by_class": [float(outcome.votes[of].sum() / max(outcome.events[of].sum(), 1)) for of in of_class],
        "early": early(network, split.test[:_LOOKED_AT]),
        "features": network.parameters[0].centroids.tolist(), "thresholds": network.parameters[0].thresholds.tolist(),
    }  # fmt: skip


def early(network: Network, recordings: Recordings) -> dict[str, list[float]]:
    """How soon it can decide: share of recordings whose majority so far is right, after so many events have come in."""
    trace, label = network.trace(recordings), network.class_numbers(recordings)
    vote = np.where(trace.passed == len(network.stages), trace.winner[:, -1], -1)
    after, right = metrics.early(vote, recordings.offsets, label, len(network.classes))
    return {"events": after.tolist(), "accuracy": right.tolist()}


def sup3r_printed(split: Split, seed: int, told: Told, engine: str = "cpu") -> dict[str, Any]:
    """The same at the time constants that the paper prints."""
    return sup3r(split, seed, told, engine, nmnist(len(split.train), taus=PRINTED))


def ann_mnist(split: Split, seed: int, told: Told, engine: str = "cpu") -> dict[str, Any]:
    """As the paper has it, on the still images of the digits."""
    assert split.images is not None
    train, test = (images / np.float32(255) for images in split.images)
    return _backpropagated(train, test, split, seed, told)


def ann_events(split: Split, seed: int, told: Told, engine: str = "cpu") -> dict[str, Any]:
    """The same on what the recordings look like when time is forgotten."""
    return _backpropagated(ann.event_images(split.train), ann.event_images(split.test), split, seed, told)


def _backpropagated(train: Array, test: Array, split: Split, seed: int, told: Told) -> dict[str, Any]:
    start = time.perf_counter()
    passes, batch_size = (20, 32) if len(train) > 10_000 else (40, 8)  # small data sets need more steps
    predict = ann.fit(
        train, np.asarray(split.train.labels), passes=passes, batch_size=batch_size, seed=seed,
        progress=lambda done, total: told(f"pass {done} of at most {total}"),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    right = predict(test) == np.asarray(split.test.labels)
    return {"accuracy": float(right.mean()), "tested": len(test), "seconds": seconds}


def hots_linear(split: Split, seed: int, told: Told, engine: str = "cpu") -> dict[str, Any]:
    """The same first layer, k-means alone, and a linear classifier on what won where."""
    preset = nmnist(len(split.train))
    start = time.perf_counter()
    network = hots.fit_kmeans(
        preset.network(split.train, CLASSES, seed, engine=engine), split.train, sample=preset.sample
    )
    return _classified(network, 0, hots.linear_classifier(seed), split, start, told, places=True)


def hots_svm(split: Split, seed: int, told: Told, engine: str = "cpu") -> dict[str, Any]:
    """HOTS as published: two layers of k-means, histograms of the second, a polynomial SVM."""
    start = time.perf_counter()
    network = replace(nmnist(len(split.train)), layers=HOTS).network(split.train, CLASSES, seed, engine=engine)
    network = hots.fit_kmeans(network, split.train, sample=50)
    return _classified(network, 1, hots.polynomial_svm(seed), split, start, told, places=False)


def _classified(
    network: Network, layer: int, classifier: Any, split: Split, start: float, told: Told, *, places: bool
) -> dict[str, Any]:
    told("counting")
    train, test = (hots.counts(network.transform(some, layer), places=places) for some in (split.train, split.test))
    told("fitting the classifier")
    classifier.fit(train, split.train.labels)
    seconds = time.perf_counter() - start
    accuracy = float(classifier.score(test, split.test.labels))
    return {"accuracy": accuracy, "tested": len(split.test), "kept": 1.0, "seconds": seconds}


_ROWS: dict[str, Callable[[Split, int, Told, str], dict[str, Any]]] = {
    "sup3r": sup3r, "sup3r_printed": sup3r_printed, "ann_mnist": ann_mnist, "ann_events": ann_events,
    "hots_linear": hots_linear, "hots_svm": hots_svm,
}  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Splits as one: accuracy over all recordings tested, with its interval, and the rest as means or sums."""
    tested = np.array([row["tested"] for row in rows])
    accuracy = np.array([row["accuracy"] for row in rows])
    right = int(np.rint(accuracy @ tested))
    result: dict[str, Any] = {
        "accuracy": right / int(tested.sum()), "interval": interval(right, int(tested.sum())),
        "splits": accuracy.tolist(),
    }  # fmt: skip
    means = ("kept", "seconds", "events_per_s", "training_events_per_s", "kept_by_class")
    result |= {name: np.mean([row[name] for row in rows], axis=0).tolist() for name in means if name in rows[0]}
    if "confusion" in rows[0]:
        result["confusion"] = np.sum([row["confusion"] for row in rows], axis=0).tolist()
        result |= {name: rows[0][name] for name in ("early", "features", "thresholds")}
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
