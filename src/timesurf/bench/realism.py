"""How true the saccade simulator is: beside real recordings of the same digits, and networks that cross over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import nmnist, saccades
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.presets import nmnist as preset
from timesurf.results import machine
from timesurf.transforms import SACCADE

Array = NDArray[Any]
BIN = 5_000  # us
_BINS = 63
_INTERVALS = 1e3 * np.array([0, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, np.inf])  # us
DISTANCES = {
    "events": "events, as a share of the other's",
    "events_correlation": "events a recording, correlation",
    "polarity": "share of polarity 1",
    "rate": "difference over time, 5 ms at a time",
    "bursts": "difference in events of a pixel and saccade",
    "same": "difference in intervals at a pixel, same polarity",
    "other": "difference in intervals at a pixel, other polarity",
    "image": "difference by pixel, polarity and saccade",
    "correlation": "image of all events, correlation",
    "by_saccade": "image of a polarity and saccade, correlation",
}
_MOST = 10  # events of one pixel, polarity and saccade: more count as these


def run(
    real: Recordings,
    images: Array,
    labels: Array,
    seed: int = 0,
    *,
    train: int = 10_000,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Distances between real recordings and simulated ones, between two simulations, and accuracies across.

    real : recordings of the first of the images, in their order, as the camera gave them
    images, labels : stills; those after the real ones are simulated to learn from, `train` of them
    """
    n = len(real)
    if not np.array_equal(labels[:n], np.asarray(real.labels)):
        raise EventError("The recordings and the first images are of different digits: both must be in MNIST's order.")
    began = time.perf_counter()
    tell = progress or (lambda what: None)
    tell("simulating the same digits")
    seen = counts(real)
    once, twice = (counts(saccades.simulate(images[:n], seed=[seed, k])) for k in (0, 1))
    tell(f"simulating {train:,} other digits")
    others = slice(n, n + train)
    simulated = nmnist.prepared(saccades.simulate(images[others], labels[others], seed=[seed, 2]))
    true = nmnist.prepared(real)
    across = {}
    held = len(simulated) // 10  # tests networks trained on either
    for name, some in (("simulated", simulated[:-held]), ("real", true)):
        settings = preset(len(some))

        def news(heard: Any, name: str = name) -> None:
            tell(f"training on {name} recordings, {heard.done / heard.total:.0%}")

        network = settings.network(some, range(10), seed).fit(some, **settings.training(), progress=news)
        tests = {"simulated": simulated[-held:]} | ({"real": true} if name == "simulated" else {})
        figures = {on: network.evaluate(test) for on, test in tests.items()}
        across[name] = {"recordings": len(some)} | {
            on: {figure: of[figure] for figure in ("majority", "kept")} for on, of in figures.items()
        }
    return {
        "distances": distances(once, seen), "chance": distances(once, twice), "trained_on": across,
        "curves": {"intervals": (_INTERVALS[:-1] / 1e3).tolist()} | {
            which: {name: of[name].tolist() for name in ("rate", "same")}
            for which, of in (("real", seen), ("simulated", once))
        },
        "settings": {"real": n, "train": train, "seed": seed},
        "machine": machine.describe(), "seconds": time.perf_counter() - began,
    }  # fmt: skip


def counts(recordings: Recordings) -> dict[str, Array]:
    """What is compared, as events a recording.

    rate (polarity, 5 ms), image (polarity, saccade, recording, pixel), bursts (polarity, saccade, events of a pixel),
    same and other (intervals between two events of a pixel, of the same and of the other polarity), events (recording)
    """
    n, pixels = len(recordings), int(np.prod(recordings.field))
    t, p = recordings.t.astype(np.int64), recordings.p.astype(np.int64)
    x, y = recordings.coords
    pixel = y.astype(np.int64) * recordings.field[0] + x
    number = np.repeat(np.arange(n), recordings.counts)
    image = _histogram(p, 2, np.minimum(t // SACCADE, 2), 3, number, n, pixel, pixels)
    bursts = np.stack(
        [np.bincount(np.minimum(i.ravel(), _MOST), minlength=_MOST + 1)[1:] for i in image.reshape(6, -1)]
    )
    order = np.lexsort((t, pixel, number))
    t, p, place = t[order], p[order], (number * pixels + pixel)[order]
    follows, same = place[1:] == place[:-1], p[1:] == p[:-1]
    interval = np.searchsorted(_INTERVALS, np.diff(t), side="right") - 1
    return {
        "rate": _histogram(p, 2, np.minimum(t // BIN, _BINS - 1), _BINS) / n,
        "image": image,
        "bursts": bursts / n,
        "same": np.bincount(interval[follows & same], minlength=len(_INTERVALS) - 1) / n,
        "other": np.bincount(interval[follows & ~same], minlength=len(_INTERVALS) - 1) / n,
        "events": recordings.counts,
    }


def _histogram(*values_and_sizes: Any) -> Array:
    """Counts of combinations: values of each kind, and how many there may be."""
    values, sizes = values_and_sizes[::2], values_and_sizes[1::2]
    return np.bincount(np.ravel_multi_index(values, sizes), minlength=int(np.prod(sizes))).reshape(sizes)


def distances(these: dict[str, Array], real: dict[str, Array]) -> dict[str, float]:
    """How far counts lie apart. Over time, bursts, intervals, image: sum of differences, as a share of the real events.

    `image` goes by pixel, polarity and saccade of each recording, so that chance alone keeps it well above 0;
    `correlation` is that of the image of all events of a recording with the real one, `by_saccade` of its parts.
    """
    found = {name: _apart(these[name], real[name]) for name in ("rate", "bursts", "same", "other", "image")}
    whole, real_whole = (of["image"].sum(axis=(0, 1)) for of in (these, real))
    return {
        "events": float(these["events"].mean() / real["events"].mean()),
        "events_correlation": float(np.corrcoef(these["events"], real["events"])[0, 1]),
        "polarity": float(these["rate"][1].sum() / these["rate"].sum()),
        "other_polarity": float(real["rate"][1].sum() / real["rate"].sum()),
        **found,
        "correlation": _correlation(whole, real_whole),
        "by_saccade": _correlation(these["image"], real["image"]),
    }


def _apart(these: Array, real: Array) -> float:
    return float(np.abs(these - real).sum() / max(real.sum(), 1e-9))


def _correlation(a: Array, b: Array) -> float:
    """Mean correlation of images, those without any event left out."""
    a, b = (image - image.mean(axis=-1, keepdims=True) for image in (a, b))
    scale = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    return float(((a * b).sum(-1)[scale > 0] / scale[scale > 0]).mean())
