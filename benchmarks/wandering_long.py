"""Real digits that wander for 20 s each, in pieces of 1 s: `timesurf train` as it comes, and HOTS on the same pieces.

Run: python benchmarks/wandering_long.py nmnist_train_1000.npz --each 8 --seeds 0 1 2 --json wandering_long.json

Three copies of a digit move over 346 x 260 pixels among noise. Test digits are others than those learned from. Training
is the command, in a process of its own, of which peak memory and time are noted. HOTS: histograms of the k-means layer
of the default, by logistic regression.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from timesurf import Network
from timesurf.baselines import hots
from timesurf.datasets import wandering
from timesurf.io import npz
from timesurf.results import machine
from timesurf.transforms.cutting import pieces

DURATION, PIECE = "20 s", "1s"
# The peak of the process itself: `ru_maxrss` would also have that of the process which started it.
PROGRAM = """
import json, pathlib, time
from timesurf.__main__ import main
try:
    main()
finally:
    status = pathlib.Path("/proc/self/status").read_text("utf-8").split("VmHWM:")[1]
    usage = {"busy": time.process_time(), "memory": 1024 * int(status.split()[0])}
    pathlib.Path("usage.json").write_text(json.dumps(usage), "utf-8")
"""


def split(recordings, each, tested, seed):
    """So many digits of each class to learn from, and others to test on, each as one long recording."""
    labels, order = np.asarray(recordings.labels), np.random.default_rng(seed).permutation(len(recordings))
    of_class = [order[labels[order] == c] for c in wandering.CLASSES]
    for n, (first, last) in enumerate(((0, each), (each, each + tested))):
        some = recordings[np.concatenate([of[first:last] for of in of_class])]
        yield wandering.wander(some, duration=DURATION, seed=2 * seed + n)


def trained(folder, seed):
    """Train by the command: seconds, seconds of processor time, and bytes of memory at most."""
    command = ["train", "train.npz", "--every", PIECE, "--held-out", "0", "--seed", str(seed), "--model", "m.tsf"]
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM, *command], cwd=folder, check=True)
    usage = json.loads((Path(folder) / "usage.json").read_text("utf-8"))
    return time.perf_counter() - began, usage["busy"], usage["memory"]


def measured(recordings, each, tested, seed):
    """Recording accuracy of both on the same pieces, and what training took."""
    with tempfile.TemporaryDirectory() as folder:
        for name, some in zip(("train", "test"), split(recordings, each, tested, seed), strict=True):
            npz.write(Path(folder) / f"{name}.npz", some)
        seconds, busy, memory = trained(folder, seed)
        network = Network.load(Path(folder) / "m.tsf")
        learn, test = (pieces(npz.read(Path(folder) / f"{name}.npz"), PIECE) for name in ("train", "test"))
        learned, seen = (hots.counts(network.transform(some, 0), places=False) for some in (learn, test))
        classifier = hots.linear_classifier(seed).fit(learned, np.asarray(learn.labels))
        return {
            "seed": seed,
            "pieces": [len(learn), len(test)],
            "events": [int(some.counts.sum()) for some in (learn, test)],
            "default": network.evaluate(test)["recording_accuracy"],
            "hots": float(classifier.score(seen, np.asarray(test.labels))),
            "seconds": seconds,
            "busy_seconds": busy,
            "memory": memory,
        }


def main():
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("digits", type=Path, help="real recordings of digits, as the first thousand of N-MNIST")
    parser.add_argument("--each", type=int, default=8, help="digits of each class to learn from")
    parser.add_argument("--tested", type=int, default=5, help="digits of each class to test on")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    recordings, found = npz.read(given.digits), []
    for seed in given.seeds:
        found.append(measured(recordings, given.each, given.tested, seed))
        print(found[-1], flush=True)
        if given.json:
            figures = {name: [of_seed[name] for of_seed in found] for name in found[0]}
            about = {"each": given.each, "tested": given.tested, "machine": machine.describe(), **figures}
            given.json.write_text(json.dumps(about, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
