"""What more units and one more layer gain on digits, and what they cost.

Run: python benchmarks/digits_size.py mnist.npz nmnist_train_1000.npz [recordings] [JSON file]

Networks learn from simulated recordings (10,000 by default) of digits other than the real thousand, in six passes,
fewer than any of them could use, and are tested on 3,000 more and on the real ones.
"""

import json
import sys
import time
from dataclasses import replace

from timesurf import Window
from timesurf.datasets import mnist, nmnist, saccades
from timesurf.presets import nmnist as preset
from timesurf.results import machine

PASSES = 6


def sizes(recordings):
    """Presets by name, which differ in layers and passes only."""
    base = replace(preset(recordings), passes=PASSES)
    first, last = base.layers
    deeper = (first, Window(5, units=64, tau=first.tau, feedback_tau="1 ms"), last)
    wider = {f"{units} units": replace(preset(recordings, units=units), passes=PASSES) for units in (32, 64, 128)}
    return wider | {"32 units, then 64 over 5 x 5": replace(base, layers=deeper)}


def main(images_file, recordings_file, recordings=10_000, json_file=None):
    """Train and test all sizes, print, and write the figures."""
    images, labels = mnist.read(images_file)
    real = nmnist.prepared(nmnist.read(recordings_file))
    some = slice(len(real), len(real) + int(recordings) + 3000)
    simulated = nmnist.prepared(saccades.simulate(images[some], labels[some]))
    train, test = simulated[: int(recordings)], simulated[int(recordings) :]
    rows = {}
    for name, settings in sizes(len(train)).items():
        start = time.perf_counter()
        network = settings.network(train, range(10), 0).fit(train, **settings.training())
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        figures, on_real = network.evaluate(test), network.evaluate(real)
        rate = (figures["events"] + on_real["events"]) / (time.perf_counter() - start)
        rows[name] = {
            "recording_accuracy_simulated": figures["recording_accuracy"],
            "recording_accuracy_real": on_real["recording_accuracy"], "kept": figures["kept"],
            "training_events_per_s": float(settings.passes * train.counts.sum() / seconds), "events_per_s": float(rate),
        }  # fmt: skip
        print(f"{name:30s}", ", ".join(f"{figure} {value:.4g}" for figure, value in rows[name].items()), flush=True)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump({"recordings": len(train), "rows": rows, "machine": machine.describe()}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
