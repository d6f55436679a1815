"""Pictures of results on real recordings for the examples in `docs/gallery`: touch, speech and cards.

Left: the recording accuracy of each split, as `timesurf bench senses` saved it in `results/senses.json`. Right: the
default network of the first split decides from the beginning of each test recording alone, up to the time below.

Run: python benchmarks/gallery_pictures.py FOLDER [touch speech cards]    FOLDER holds the recordings
"""

import json
import sys
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
import numpy as np

from timesurf import Network, Recordings, transforms
from timesurf.bench import senses
from timesurf.plots import style

ROOT = Path(__file__).parents[1]
PICTURES = {"touch": "braille touch", "speech": "spoken digits, new speaker", "cards": "POKER pips"}
METHODS = {"default": "timesurf", "counts_8": "counts, 8 parts", "counts_1": "counts", "hots": "HOTS, histogram"}


def splits(ax, of):
    """A dot for the accuracy of every split, a line for their mean, by method."""
    for place, method in enumerate(METHODS):
        found = 100 * np.array(of[method])
        ax.plot(
            np.full(len(found), place) + np.linspace(-0.12, 0.12, len(found)), found, "o", color=style.BLUE, alpha=0.6
        )
        ax.plot([place - 0.25, place + 0.25], [mean(found)] * 2, color=style.BLACK)
        ax.annotate(f"{mean(found):.1f}", (place + 0.28, mean(found)), va="center", fontsize=8)
    ax.set_xticks(range(len(METHODS)), METHODS.values(), fontsize=8)
    ax.set(xlim=(-0.5, len(METHODS) - 0.2), ylim=(0, 105), ylabel="recording accuracy, %")
    ax.set_title(f"{len(of['seeds'])} splits", fontsize=10)


def from_zero(recordings):
    """The same recordings, each on a clock that begins with its first event."""
    t = recordings.t - np.repeat(recordings.t[recordings.offsets[:-1]], recordings.counts)
    about = {"field": recordings.field, "polarities": recordings.polarities, "labels": recordings.labels}
    return Recordings(recordings.coords, t, recordings.p, recordings.offsets, **about)


def sooner(ax, data, folder):
    """Accuracy of the default network when it has seen the beginning of every recording."""
    split = senses.split_of(data, folder, 0)
    network = Network.for_data(split.train, seed=0).fit(split.train)
    test = from_zero(split.test)
    longest = float(np.median(test.t[test.offsets[1:] - 1]))
    ms, found = longest * np.linspace(0.05, 1, 20) / 1e3, []
    for until in ms:
        seen = transforms.time_crop(test, 0, f"{until:.3f} ms")
        found.append(100 * network.evaluate(seen)["recording_accuracy"])
    whole = 100 * network.evaluate(split.test)["recording_accuracy"]
    ax.plot(ms, found, ".-", color=style.BLUE)
    ax.axhline(whole, color="grey", linewidth=1, linestyle=":")
    ax.set(xlabel="ms of each recording", ylim=(0, 105), xlim=(0, None))
    ax.set_title(f"first split, whole recordings: {whole:.1f} %", fontsize=10)
    print(f"{data}: {whole:.1f} % of {len(split.test)}", flush=True)


def main(folder, *only):
    measured = json.loads((ROOT / "benchmarks" / "results" / "senses.json").read_text("utf-8"))["senses"]
    for name in only or PICTURES:
        fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3), width_ratios=(1, 1), layout="constrained")
        splits(left, next(of for of in measured if of["data"] == PICTURES[name]))
        sooner(right, PICTURES[name], Path(folder))
        fig.savefig(ROOT / "docs" / "images" / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])
