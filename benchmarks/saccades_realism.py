"""How close the saccade simulator comes to a camera: real and simulated recordings of the same digits compared.

Run: python benchmarks/saccades_realism.py nmnist_train_1000.npz mnist.npz [JSON file] [PNG file]    (a few minutes)

Also trains networks on simulated recordings and tests them on real ones, and the reverse.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import plots
from timesurf.datasets import mnist, nmnist, saccades
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.plots import style
from timesurf.presets import nmnist as preset
from timesurf.results import machine
from timesurf.transforms import SACCADE

Array = NDArray[Any]
BIN = 5_000  # us
_BINS = 63
_INTERVALS = 1e3 * np.array([0, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, np.inf])  # us
DISTANCES = {
    "events": "number of events, ratio",
    "events_correlation": "events per recording, correlation",
    "polarity": "share of polarity 1",
    "rate": "difference over time, per 5 ms",
    "bursts": "difference in events per pixel and saccade",
    "same": "difference in intervals at a pixel, same polarity",
    "other": "difference in intervals at a pixel, other polarity",
    "image": "difference per pixel, polarity and saccade",
    "correlation": "image of all events, correlation",
    "by_saccade": "image per polarity and saccade, correlation",
}
_MOST = 10  # events per pixel, polarity and saccade; larger numbers are counted as this


def run(
    real: Recordings,
    images: Array,
    labels: Array,
    seed: int = 0,
    *,
    train: int = 10_000,
) -> dict[str, Any]:
    """Compare real with simulated recordings and two simulations with each other, and test networks on both kinds.

    Parameters
    ----------
    real : Recordings
        Recordings of the first of the images, in their order, as the camera gave them.
    images, labels : array
        Still images and their digits. Those after the real ones are simulated to learn from, `train` of them.
    seed : int
        Seed of simulations and networks.
    train : int
        Number of simulated recordings to learn from.

    Returns
    -------
    dict
        "distances" between real and simulated, "chance" between two simulations, "trained_on": accuracies.

    Raises
    ------
    EventError
        If recordings and images are not of the same digits.
    """
    n = len(real)
    if not np.array_equal(labels[:n], np.asarray(real.labels)):
        raise EventError("The recordings and the first images are of different digits: both must be in MNIST's order.")
    began = time.perf_counter()
    seen = counts(real)
    once, twice = (counts(saccades.simulate(images[:n], seed=[seed, k])) for k in (0, 1))
    others = slice(n, n + train)
    simulated = nmnist.prepared(saccades.simulate(images[others], labels[others], seed=[seed, 2]))
    true = nmnist.prepared(real)
    across = {}
    held = len(simulated) // 10  # recordings to test on, which neither network learns from
    for name, some in (("simulated", simulated[:-held]), ("real", true)):
        settings = preset(len(some))
        network = settings.network(some, range(10), seed).fit(some, **settings.training())
        tests = {"simulated": simulated[-held:]} | ({"real": true} if name == "simulated" else {})
        figures = {on: network.evaluate(test) for on, test in tests.items()}
        across[name] = {"recordings": len(some)} | {
            on: {figure: of[figure] for figure in ("recording_accuracy", "kept")} for on, of in figures.items()
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
    """Count what is compared, in events per recording.

    "rate" (polarity, 5 ms), "image" (polarity, saccade, recording, pixel), "bursts" (polarity, saccade, events of a
    pixel), "same" and "other" (intervals between two events of a pixel, of the same and of the other polarity),
    "events" (recording).
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
    """Count combinations: arguments are values of one kind and how many there may be, in turn."""
    values, sizes = values_and_sizes[::2], values_and_sizes[1::2]
    return np.bincount(np.ravel_multi_index(values, sizes), minlength=int(np.prod(sizes))).reshape(sizes)


def distances(these: dict[str, Array], real: dict[str, Array]) -> dict[str, float]:
    """Distances between counts. For rate, bursts, intervals and image: sum of differences / number of real events.

    `image` is per pixel, polarity and saccade of each recording, so chance alone makes it much larger than 0;
    `correlation` is that of the image of all events of a recording with the real one, `by_saccade` of its parts.
    """
    found = {name: _distance(these[name], real[name]) for name in ("rate", "bursts", "same", "other", "image")}
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


def _distance(these: Array, real: Array) -> float:
    return float(np.abs(these - real).sum() / max(real.sum(), 1e-9))


def _correlation(a: Array, b: Array) -> float:
    """Mean correlation of images, without those that have no events."""
    a, b = (image - image.mean(axis=-1, keepdims=True) for image in (a, b))
    scale = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    return float(((a * b).sum(-1)[scale > 0] / scale[scale > 0]).mean())


def draw(result: dict[str, Any]) -> Any:
    """Draw events over time and intervals at a pixel, real and simulated."""
    fig, axes = plots.figure(1, 2, (11, 3.6))
    for which, stroke in (("real", "-"), ("simulated", "--")):
        curves = result["curves"][which]
        for polarity, values in enumerate(curves["rate"]):
            ms = 5 * np.arange(len(values)) + 2.5
            name = f"{which}, {'brighter' if polarity else 'darker'}"
            axes[0, 0].plot(ms, values, stroke, color=style.COLOURS[polarity], label=name)
        axes[0, 1].plot(curves["same"], stroke, marker=".", color=style.GREEN, label=which)
    axes[0, 0].set(xlabel="ms", ylabel="events per recording and 5 ms", title="events over time: three saccades")
    edges = result["curves"]["intervals"]
    axes[0, 1].set_xticks(range(len(edges)), [f"{edge:g}" for edge in edges], fontsize=8)
    axes[0, 1].set(xlabel="ms, at least", ylabel="per recording", title="intervals at a pixel, same polarity")
    for ax in axes[0]:
        ax.legend(fontsize=8)
        ax.grid(alpha=0.3)
    return fig


def main(recordings_file: str, images_file: str, json_file: str | None = None, png_file: str | None = None) -> None:
    """Compare, print, and write the figures."""
    result = run(nmnist.read(recordings_file), *mnist.read(images_file))
    print(f"{'':50s} {'real, simulated':>16s} {'two simulations':>16s}")
    for name, title in DISTANCES.items():
        print(f"{title:50s} {result['distances'][name]:16.3f} {result['chance'][name]:16.3f}")
    for name, row in result["trained_on"].items():
        on = ", ".join(f"{row[on]['recording_accuracy']:.1%} on {on} ones" for on in ("real", "simulated") if on in row)
        print(f"Trained on {row['recordings']:,} {name} recordings: recording accuracy {on}.")
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if png_file:
        draw(result).savefig(png_file, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
