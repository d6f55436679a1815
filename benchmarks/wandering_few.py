"""Few digits of ten classes that wander: the default network, the delta rule, and histograms of features.

Run: python benchmarks/wandering_few.py nmnist_train_1000.npz --each 6 --seeds 3 --json wandering_few.json

Each digit gives four pieces of 1 s; test digits are others. Three copies of a digit move among noise, as in
`timesurf.datasets.wandering`.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from timesurf import Network
from timesurf.baselines import hots
from timesurf.datasets import wandering
from timesurf.io import npz
from timesurf.results import machine
from timesurf.transforms.cutting import pieces

TESTED = 6  # digits of each class
PASSES = 30  # of the delta rule, in place of ridge regression


def split(recordings, each, seed):
    """So many digits of each class to learn from, and others to test on, as pieces of 1 s."""
    labels, order = np.asarray(recordings.labels), np.random.default_rng(seed).permutation(len(recordings))
    of_class = [order[labels[order] == c] for c in np.unique(labels)]
    chosen = [np.concatenate([of[a:b] for of in of_class]) for a, b in ((0, each), (each, each + TESTED))]
    return [
        pieces(wandering.wander(recordings[some], duration="4 s", seed=2 * seed + n), "1 s")
        for n, some in enumerate(chosen)
    ]


def measured(recordings, each, seed):
    """Recording accuracy of all three on the same pieces, and of the default on shorter ones."""
    train, test = split(recordings, each, seed)
    network = Network.for_data(train, seed=seed).fit(train)
    passes = Network.for_data(train, seed=seed).fit(train, start="quick", passes=PASSES)
    learned, seen = (hots.counts(network.transform(some, 0), places=False) for some in (train, test))
    classifier = hots.linear_classifier(seed).fit(learned, np.asarray(train.labels))
    return {
        "seed": seed,
        "recordings": [len(train), len(test)],
        "default": network.evaluate(test)["recording_accuracy"],
        "default_short": network.evaluate(pieces(test, "200 ms"))["recording_accuracy"],
        "delta": passes.evaluate(test)["recording_accuracy"],
        "hots": float(classifier.score(seen, np.asarray(test.labels))),
    }


def main():
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("digits", type=Path, help="real recordings of digits, as the first thousand of N-MNIST")
    parser.add_argument("--each", type=int, default=6, help="digits of each class to learn from")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    recordings, found = npz.read(given.digits), []
    for seed in range(given.seeds):
        found.append(measured(recordings, given.each, seed))
        print(found[-1], flush=True)
    if given.json:
        figures = {name: [of_seed[name] for of_seed in found] for name in found[0]}
        given.json.write_text(
            json.dumps({"each": given.each, "machine": machine.describe(), **figures}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
