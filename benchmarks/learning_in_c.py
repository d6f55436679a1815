"""Exported C that learns, beside the online engine: how far apart their parameters end after recordings of sentences.

Run: python benchmarks/learning_in_c.py [RECORDINGS]

Once from an untrained start, once from a network that has learned for six passes; in float32 and in float64. The last
row is the engine beside itself, from a start that differs by 1e-7.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from timesurf import export, presets
from timesurf.datasets import sentences
from timesurf.export import compiled


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


def by_engine(network, recordings):
    """The same by the online engine."""
    for units in network.twin(network.snapshot()).partial_fit(recordings).parameters:
        yield units.centroids.ravel()
        yield units.thresholds


def apart(one, other):
    """The largest difference of what is finite in both."""
    pairs = [(a, b, np.isfinite(b) & (np.abs(a) < 1e30)) for a, b in zip(one, other, strict=True)]
    return max(float(np.abs(a[both] - b[both]).max(initial=0)) for a, b, both in pairs)


def main(number=1000):
    recordings, preset = sentences.make(number, seed=0), presets.SENTENCES
    fresh = preset.network(recordings, recordings.classes, 0).start(recordings, **preset.starting())
    trained = preset.network(recordings, recordings.classes, 0).fit(recordings, **preset.training())
    for what, network in (("untrained", fresh), ("trained", trained)):
        right = list(by_engine(network, recordings))
        for numbers in ("float32", "float64"):
            print(f"{what}, {numbers}: {apart(in_c(network, recordings, numbers), right):.1e}", flush=True)
    right = list(by_engine(fresh, recordings))
    rng = np.random.default_rng(0)
    for units in fresh.parameters:
        units.centroids *= 1 + 1e-7 * rng.standard_normal(units.centroids.shape)
    print(f"untrained, the engine from a start that differs by 1e-7: {apart(by_engine(fresh, recordings), right):.1e}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
