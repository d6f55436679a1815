"""Exported C that learns, beside the online engine: how far apart their parameters end after recordings of sentences.

Run: python benchmarks/learning_in_c.py [--recordings 1000] [--networks 4] [--json FILE]

From an untrained start, and from a network that has learned for six passes: C in float32 and in float64, and the engine
with precision float32, all beside the engine in float64; then that engine beside itself, from a start that differs by
1e-7. Networks have the seeds 0, 1 and so on.
`python -m benchmarks.microcontroller_tables` writes the figures into docs/howto/microcontroller.md.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from timesurf import export, presets
from timesurf.datasets import sentences
from timesurf.export import compiled
from timesurf.results import machine

SEED = 0  # of the recordings, and of the first network


def in_c(network, recordings, numbers):
    """Centroids and thresholds, after learning in C with labels."""
    model = export.prepared(network, "net", learn=True, numbers=numbers)
    with tempfile.TemporaryDirectory() as place:
        export.write(model, place)
        table, _ = compiled.commands(recordings, network.class_numbers(recordings), compiled.LABELLED)
        learned = compiled.build(model, Path(place)).run(table).learned
    values, at = np.frombuffer(learned[4:-4], numbers), 0
    for name, size in model.learning.learned(model):
        if not name.startswith("lost"):
            yield values[at : at + size]
        at += size


def by_engine(network, recordings, precision="float64"):
    """The same by the online engine."""
    twin = network.twin(network.snapshot())
    twin.precision = precision
    for units in twin.partial_fit(recordings).parameters:
        yield units.centroids.ravel()
        yield units.thresholds


def apart(one, other):
    """The largest difference of what is finite in both."""
    pairs = [(a, b, np.isfinite(b) & (np.abs(a) < 1e30)) for a, b in zip(one, other, strict=True)]
    return max(float(np.abs(a[both] - b[both]).max(initial=0)) for a, b, both in pairs)


def shifted(network):
    """The same network, each of its centroids by 1e-7 away."""
    twin, rng = network.twin(network.snapshot()), np.random.default_rng(0)
    for units in twin.parameters:
        units.centroids *= 1 + 1e-7 * rng.standard_normal(units.centroids.shape)
    return twin


def ends(network, recordings):
    """How far parameters end from those of the online engine in float64."""
    right = list(by_engine(network, recordings))
    return {
        "c_float32": apart(in_c(network, recordings, "float32"), right),
        "c_float64": apart(in_c(network, recordings, "float64"), right),
        "engine_float32": apart(by_engine(network, recordings, "float32"), right),
        "engine_shifted": apart(by_engine(shifted(network), recordings), right),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=1000)
    parser.add_argument("--networks", type=int, default=4)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    recordings, preset = sentences.make(args.recordings, seed=SEED), presets.SENTENCES
    rows = []
    print("network             C float32  C float64  engine float32  engine, start 1e-7 away")
    for seed in range(SEED, SEED + args.networks):
        fresh = preset.network(recordings, recordings.classes, seed).start(recordings, **preset.starting())
        trained = preset.network(recordings, recordings.classes, seed).fit(recordings, **preset.training())
        for start, network in (("untrained", fresh), ("trained", trained)):
            rows.append({"seed": seed, "start": start} | ends(network, recordings))
            c32, c64, engine32, beside = list(rows[-1].values())[2:]
            print(f"{seed}, {start:<9}       {c32:10.1e} {c64:10.1e} {engine32:15.1e} {beside:24.1e}", flush=True)
    if args.json:
        result = {"apart": rows, "recordings": args.recordings, "seed": SEED, "machine": machine.describe()}
        args.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
