"""How sure, how soon, and from how few events: the default network on one of ten folds of a data set.

Prints, for the recordings of the fold: accuracy and expected calibration error by evidence and by votes; the mean
negative log likelihood of whole recordings and of their beginnings if probabilities came from the sum over events, from
the sum over the square root of their number, or from the mean; early decisions; accuracy over the share of events kept.

Run: python benchmarks/decisions.py nmnist_train_1000.npz [JSON file]
"""

import json
import sys

import numpy as np

from timesurf import Network, calibration
from timesurf.datasets import sources
from timesurf.learning import split
from timesurf.live.early import early
from timesurf.results import machine

FIGURES = ("recording_accuracy", "event_accuracy", "kept", "calibration_error")
LEVELS = (0.8, 0.9, 0.95, 0.99)


def main(file, json_file=None):
    recordings = sources.load(file)
    fold = split.folds(np.asarray(recordings.labels), 10, np.random.default_rng(0))
    test = recordings[np.flatnonzero(fold == 0)]
    parts = split.split(recordings[np.flatnonzero(fold != 0)], 0.15, 0, 0)
    network = Network.for_data(parts.learn).fit(parts.learn, validation=parts.validation)
    result = {"machine": machine.describe(), "powers": powers(network, parts.validation, test), "decisions": {}}
    for name, value in result["powers"].items():
        print(f"mean negative log likelihood by {name}: {value:.2f}", flush=True)
    for how in ("votes", "evidence"):
        network.decides = how
        result["decisions"][how] = decided(network, test, how)
    result["kept"] = list(kept(network, parts, test))
    if json_file:
        with open(json_file, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=1)


def powers(network, validation, test):
    """Negative log likelihood by how evidence is divided: scale fitted on whole recordings, measured on parts too."""
    found = {}
    for power, name in ((0, "the sum"), (0.5, "the sum over the square root"), (1, "the mean")):
        whole = network.outcome(validation, evidence=True)
        n = whole.votes.sum(axis=1)
        by = calibration.fit(whole.evidence * n[:, None] ** (1.0 - power), n, network.class_numbers(validation))
        surprise = []
        for share in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1):
            ends = test.starts + np.maximum((test.counts * share).astype(int), 1)
            outcome, label = network.outcome(test.cut(test.starts, ends), evidence=True), network.class_numbers(test)
            n = outcome.votes.sum(axis=1)
            p = calibration.probabilities(outcome.evidence * n[:, None] ** (1.0 - power), n, by)
            surprise.append(-np.log(np.maximum(p[np.arange(len(p)), label], 1e-300)).mean())
        found[name] = float(np.mean(surprise))
    return found


def decided(network, test, how):
    """Accuracy and calibration of decisions at the end of recordings, and of early ones."""
    figures, label = network.evaluate(test), network.class_numbers(test)
    rows = {"at the end": {name: figures[name] for name in FIGURES}}
    print(f"by {how}: " + ", ".join(f"{name} {value:.1%}" for name, value in rows["at the end"].items()), flush=True)
    for level in LEVELS:
        found = early(network, test, level)
        right = found.classes == label
        rows[f"sure {level}"] = row = {
            "recording_accuracy": float(right.mean()),
            "share_of_events": float(found.share.mean()),
            "sure": float(found.sure.mean()),
            "accuracy_of_sure": float(right[found.sure].mean()) if found.sure.any() else None,
        }
        print(f"by {how}, sure {level}: {row}", flush=True)
    return rows


def kept(network, parts, test):
    """Accuracy over events kept: by thresholds alone, and after the last layer has learned again."""
    start = network.snapshot()
    for keep in (0.5, 0.3, 0.1):
        for passes in (0, 7):
            other = network.twin(start.copy())
            how = {"passes": passes, "batch_size": 16, "decay": True, "if_diverged": "back"}
            other.tighten(parts.learn, keep=keep, **how, validation=parts.validation)
            figures = other.evaluate(test)
            row = {"keep": keep, "passes": passes} | {name: figures[name] for name in FIGURES[:3]}
            print(row, flush=True)
            yield row


if __name__ == "__main__":
    main(*sys.argv[1:])
