"""The paper's Table 3: digits of N-MNIST classified by Sup3r, by backpropagation and by HOTS; and rows beyond it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.baselines import ann, hots
from timesurf.engines import Outcome
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Full, Window
from timesurf.learning.trainer import Progress
from timesurf.network import Network
from timesurf.paper import beyond
from timesurf.presets import Preset, nmnist
from timesurf.results import machine

Array = NDArray[Any]
Report = Callable[[str], None]
CLASSES = range(10)
PAPER = {
    "sup3r": {"recording_accuracy": 0.9498, "kept": 0.7261},
    "ann_mnist": {"recording_accuracy": 0.9561},
    "hots_svm": {"recording_accuracy": 0.9127},
}
ROWS = {
    "sup3r": "Sup3r, 32 units",
    "sup3r_printed": "Sup3r at the paper's time constants",
    "ann_mnist": "ANN, 32 units, on still images",
    "ann_events": "ANN, 32 units, on counts of events",
    "hots_linear": "HOTS, 32 units; logistic regression on counts by place",
    "hots_svm": "HOTS, 32 and 96 units; polynomial SVM on histograms",
}
ALL = ROWS | beyond.ROWS
# Two layers of HOTS with time constants that grow from layer to layer, as its authors recommend.
HOTS = (Window(9, units=32, tau="10 ms"), Window(5, units=96, tau="50 ms"), Full(tau="50 ms"))
PRINTED = ("100 ms", "1 ms")  # time constants as the paper prints them
_TRACED = 1000  # recordings from which the decision over time is computed


@dataclass(frozen=True, slots=True)
class Split:
    """Recordings to train and to test on.

    Attributes
    ----------
    train, test : Recordings
        The two parts, with both polarities for rows beyond the paper.
    images : tuple of array or None
        Still images of the same digits, for training and for testing, where they are known.

    """

    train: Recordings
    test: Recordings
    images: tuple[Array, Array] | None = None

    def merged(self) -> Split:
        """The same events under one polarity, as the paper has them; none is copied."""
        return replace(self, train=self.train.with_one_polarity(), test=self.test.with_one_polarity())


def run(
    splits: Sequence[Split],
    data: str,
    seed: int = 0,
    *,
    rows: Sequence[str] = tuple(ROWS),
    engine: str = "cpu",
    seeds: int = 1,
    progress: Report | None = None,
    finished: Report | None = None,
) -> dict[str, Any]:
    """Recording accuracy over all splits, with a 95 % interval, and the share of events kept.

    Parameters
    ----------
    splits : sequence of Split
        Recordings as `datasets.nmnist.prepared` gives them, or, for rows beyond the paper, `datasets.nmnist.cropped`;
        the paper's rows merge polarities.
    data : str
        A description of the data.
    seed : int
        Seed of networks and classifiers.
    rows : sequence of str
        Which rows of the table, names from `ALL`; by default those of the paper.
    engine : str
        Engine of the networks; backpropagation and classifiers run on the CPU.
    seeds : int
        How many networks per row and split, of this seed and the next ones.
    progress : callable, optional
        Called with a description of the current step.
    finished : callable, optional
        Called with the result of each row of each split.

    Returns
    -------
    dict
        One entry per row, see `summary`; data, settings, machine and seconds.

    Raises
    ------
    SettingError
        If a row is unknown.

    """
    unknown = [name for name in rows if name not in ALL]
    if unknown:
        raise SettingError(f"Unknown row {', '.join(unknown)}: rows are {', '.join(ALL)}.")
    began = time.perf_counter()
    report = progress or (lambda what: None)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in rows}
    for number, whole in enumerate(splits, start=1):
        for name in rows:
            split = whole if name in beyond.ROWS else whole.merged()
            if name == "ann_mnist" and split.images is None:
                continue
            for own in range(seed, seed + seeds):
                what = f"{f'fold {number} of {len(splits)}: ' if len(splits) > 1 else ''}{ALL[name]}"
                what += f", seed {own}" if seeds > 1 else ""
                report(what)
                row = _ROWS[name](split, own, lambda step, what=what: report(f"{what}: {step}"), engine)  # type: ignore[misc]
                found[name].append(row)
                if finished:
                    share = f", {row['kept']:.1%} of events kept" if "kept" in row else ""
                    finished(f"{what}: {row['recording_accuracy']:.2%}{share}")
    first = splits[0]
    settings = {
        "train": len(first.train), "test": len(first.test), "splits": len(splits), "seed": seed, "seeds": seeds,
        "engine": engine,
        "events": int(first.train.counts.sum() + first.test.counts.sum()),
        "preset": nmnist(len(first.train)).to_dict(),
        "beyond": {name: beyond.PRESETS[name](len(first.train)).to_dict() for name in rows if name in beyond.ROWS},
    }  # fmt: skip
    return {
        "data": data, **{name: summary(of, seeds) for name, of in found.items() if of},
        "settings": settings, "machine": machine.describe(engine), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def folds(recordings: Recordings, number: int, seed: int, images: Array | None = None) -> Iterator[Split]:
    """Folds of a stratified cross-validation."""
    from sklearn.model_selection import StratifiedKFold

    digits = np.asarray(recordings.labels)
    for train, test in StratifiedKFold(number, shuffle=True, random_state=seed).split(digits, digits):
        pictures = None if images is None else (images[train], images[test])
        yield Split(recordings[train], recordings[test], pictures)


def sup3r(split: Split, seed: int, report: Report, engine: str = "cpu", preset: Preset | None = None) -> dict[str, Any]:
    """Sup3r: the preset's network, trained end to end."""
    network, outcome, row = trained(split, seed, report, engine, preset or nmnist(len(split.train)))
    label = network.class_numbers(split.test)
    of_class = [label == c for c in range(len(network.classes))]
    return row | {
        "confusion": metrics.confusion(outcome.votes, label).tolist(),
        "kept_by_class": [float(outcome.votes[of].sum() / max(outcome.events[of].sum(), 1)) for of in of_class],
        "early": early(network, split.test[:_TRACED]),
        "features": network.parameters[0].centroids.tolist(), "thresholds": network.parameters[0].thresholds.tolist(),
    }  # fmt: skip


def trained(
    split: Split, seed: int, report: Report, engine: str, preset: Preset
) -> tuple[Network, Outcome, dict[str, Any]]:
    """A preset's network that has learned, what it makes of the test recordings, and its figures."""

    def step(now: Progress) -> None:
        report(f"{now.done / now.total:.0%}, event accuracy {now.event_accuracy:.0%}, {now.kept:.0%} kept")

    start = time.perf_counter()
    network = preset.network(split.train, CLASSES, seed, engine=engine).fit(
        split.train, **preset.training(), progress=step
    )
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    outcome = network.infer(split.test)
    rate = outcome.events.sum() / (time.perf_counter() - start)
    right = network.decide(outcome).classes == network.class_numbers(split.test)
    figures = {
        "recording_accuracy": float(right.mean()), "tested": len(split.test),
        "kept": metrics.kept(outcome), "seconds": seconds, "events_per_s": float(rate),
        "training_events_per_s": float(preset.passes * split.train.counts.sum() / seconds),
    }  # fmt: skip
    return network, outcome, figures


def further(name: str, split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """A row beyond the paper, by its name in `beyond.PRESETS`."""
    return trained(split, seed, report, engine, beyond.PRESETS[name](len(split.train)))[2]


def early(network: Network, recordings: Recordings) -> dict[str, list[float]]:
    """Recording accuracy after the first events of each recording: how soon the network can decide."""
    label = network.class_numbers(recordings)
    vote = metrics.voted(network.trace(recordings), network.stages)
    after, right = metrics.early(vote, recordings.offsets, label, len(network.classes))
    return {"events": after.tolist(), "recording_accuracy": right.tolist()}


def sup3r_printed(split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """Sup3r with the time constants that the paper prints."""
    return sup3r(split, seed, report, engine, nmnist(len(split.train), taus=PRINTED))


def ann_mnist(split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """Backpropagation on the still images of the digits, as in the paper."""
    assert split.images is not None
    train, test = (images / np.float32(255) for images in split.images)
    return _backpropagated(train, test, split, seed, report)


def ann_events(split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """Backpropagation on images of event counts, without their times."""
    return _backpropagated(ann.event_images(split.train), ann.event_images(split.test), split, seed, report)


def _backpropagated(train: Array, test: Array, split: Split, seed: int, report: Report) -> dict[str, Any]:
    """Train the ANN on images and test it."""
    start = time.perf_counter()
    passes, batch_size = (20, 32) if len(train) > 10_000 else (40, 8)  # small data sets need more steps
    predict = ann.fit(
        train, np.asarray(split.train.labels), passes=passes, batch_size=batch_size, seed=seed,
        progress=lambda done, total: report(f"pass {done} of at most {total}"),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    right = predict(test) == np.asarray(split.test.labels)
    return {"recording_accuracy": float(right.mean()), "tested": len(test), "seconds": seconds}


def hots_linear(split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """HOTS of one layer, k-means alone, and a linear classifier on counts of winning units by place."""
    preset = nmnist(len(split.train))
    start = time.perf_counter()
    network = hots.fit_kmeans(
        preset.network(split.train, CLASSES, seed, engine=engine), split.train, sample=preset.sample
    )
    return _classified(network, 0, hots.linear_classifier(seed), split, start, report, places=True)


def hots_svm(split: Split, seed: int, report: Report, engine: str = "cpu") -> dict[str, Any]:
    """HOTS as published: two layers of k-means, histograms of the second, a polynomial SVM."""
    start = time.perf_counter()
    network = replace(nmnist(len(split.train)), layers=HOTS).network(split.train, CLASSES, seed, engine=engine)
    network = hots.fit_kmeans(network, split.train, sample=50)
    return _classified(network, 1, hots.polynomial_svm(seed), split, start, report, places=False)


def _classified(
    network: Network, layer: int, classifier: Any, split: Split, start: float, report: Report, *, places: bool
) -> dict[str, Any]:
    """Train a classifier on counts of winning units and test it."""
    report("counting")
    train, test = (hots.counts(network.transform(some, layer), places=places) for some in (split.train, split.test))
    report("fitting the classifier")
    classifier.fit(train, split.train.labels)
    seconds = time.perf_counter() - start
    accuracy = float(classifier.score(test, split.test.labels))
    return {"recording_accuracy": accuracy, "tested": len(split.test), "kept": 1.0, "seconds": seconds}


_ROWS: dict[str, Callable[[Split, int, Report, str], dict[str, Any]]] = {
    "sup3r": sup3r, "sup3r_printed": sup3r_printed, "ann_mnist": ann_mnist, "ann_events": ann_events,
    "hots_linear": hots_linear, "hots_svm": hots_svm, **{name: partial(further, name) for name in beyond.ROWS},
}  # fmt: skip


def summary(rows: list[dict[str, Any]], seeds: int = 1) -> dict[str, Any]:
    """Combine splits and seeds: accuracy over all recordings tested, with its interval; the rest as means or sums.

    The interval is that of one network on these recordings: seeds test the same ones again, which adds nothing to it.
    """
    tested = np.array([row["tested"] for row in rows])
    accuracy = np.array([row["recording_accuracy"] for row in rows])
    right, each = int(np.rint(accuracy @ tested)), int(tested.sum()) // seeds
    result: dict[str, Any] = {
        "recording_accuracy": right / int(tested.sum()), "interval": interval(right / seeds, each),
        "splits": accuracy.reshape(-1, seeds).mean(axis=1).tolist(),
    }  # fmt: skip
    if seeds > 1:
        of_seed = (accuracy * tested).reshape(-1, seeds).sum(axis=0) / each
        result["seeds"] = of_seed.tolist()
    means = ("kept", "seconds", "events_per_s", "training_events_per_s", "kept_by_class")
    result |= {name: np.mean([row[name] for row in rows], axis=0).tolist() for name in means if name in rows[0]}
    if "confusion" in rows[0]:
        result["confusion"] = np.sum([row["confusion"] for row in rows], axis=0).tolist()
        result |= {name: rows[0][name] for name in ("early", "features", "thresholds")}
    return result


def interval(right: float, tested: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share.

    Examples
    --------
    >>> [round(bound, 3) for bound in interval(950, 1000)]
    [0.935, 0.962]

    """
    share = right / tested
    centre = (share + z**2 / (2 * tested)) / (1 + z**2 / tested)
    half = z / (1 + z**2 / tested) * np.sqrt(share * (1 - share) / tested + z**2 / (4 * tested**2))
    return float(centre - half), float(centre + half)
