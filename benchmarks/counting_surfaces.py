"""Counting surfaces: what a last layer could decide from leaky counts, and from last times, on the same events.

A surface says of every entry when it last fired, v = exp(-(t - T) / tau). A counting surface says how often it fired of
late: v = v exp(-dt / tau) + 1 at the entry that fires, divided by the sum of all entries. Both are taken of what the
default's hidden layer emits, at the places of the default and at several multiples of its time constant. Ridge
regression on them, with the penalty and the time constant that err least on a fifth of the training recordings,
decides single moments of test recordings, and whole ones by their mean surface.

Run: python -m benchmarks.counting_surfaces FOLDER --json counting_surfaces.json
"""

import argparse
import json
from pathlib import Path

import numpy as np

from timesurf import Network
from timesurf.bench import senses
from timesurf.inference import class_numbers
from timesurf.learning import split
from timesurf.learning.probe import PENALTIES
from timesurf.results import machine
from timesurf.storage.kernels import njit

FACTORS = (4, 1, 1 / 4, 1 / 16)  # of the time constant of the default, the longest if it has several
MOMENTS = 4  # per recording, after the same number of events each
MOST = 1500  # rows that ridge regression learns from


@njit(cache=True)
def seen(entry, t, offsets, n, tau, count, moments, means):
    """Surfaces at moments (recordings, moments, n), and their mean over the events of each recording."""
    when, value = np.zeros(n, np.int64), np.zeros(n)
    for r in range(len(offsets) - 1):
        first, last = offsets[r], offsets[r + 1]
        value[:], when[:] = 0.0, t[first] if last > first else 0
        total, before, k, often = 0.0, t[first] if last > first else 0, 0, 0
        for i in range(first, last):
            e = entry[i]
            total = total * np.exp(-(t[i] - before) / tau) + 1.0  # of all counts
            before = t[i]
            value[e] = value[e] * np.exp(-(t[i] - when[e]) / tau) + 1.0 if count else 1.0
            when[e] = t[i]
            some = (i - first + 1) * MOMENTS // (last - first)
            if some > k or (i - first) % 64 == 63:  # the mean is of some moments: all would cost n per event
                often += 1
                for j in range(n):
                    v = value[j] * np.exp(-(t[i] - when[j]) / tau)
                    v = v / total if count else v
                    means[r, j] += v
                    if some > k:
                        moments[r, k, j] = v
                k = max(k, some)
        means[r] /= max(often, 1)


def surfaces(recordings, tau, count):
    """At moments and on average."""
    n = int(np.prod(recordings.field)) * recordings.polarities
    moments = np.zeros((len(recordings), MOMENTS, n), np.float32)
    means = np.zeros((len(recordings), n), np.float32)
    seen(recordings.entries(), recordings.t, recordings.offsets, n, tau, count, moments, means)
    return {"moments": moments, "whole": means}


def rows(x, label, rng):
    """One row per moment or recording, at most `MOST`, and the class of each."""
    label = np.repeat(label, x.shape[1]) if x.ndim == 3 else label
    x = x.reshape(-1, x.shape[-1])
    some = rng.permutation(len(x))[:MOST]
    return x[some], label[some]


def scores(x, label, tests, classes):
    """Scores of ridge regression for several sets of rows, one per penalty."""
    middle = x.mean(axis=0)
    x = x - middle
    kernel = (x @ x.T).astype(float)
    values, vectors = np.linalg.eigh(kernel)
    towards = vectors.T @ (np.eye(classes)[label] - 1 / classes)
    for penalty in PENALTIES:
        weights = x.T @ (vectors @ (towards / (values + penalty * values.sum())[:, None]))
        yield [(each - middle) @ weights for each in tests]


def right(found, x, label):
    """Share of rows that are decided correctly, and their squared error."""
    label = np.repeat(label, x.shape[1]) if x.ndim == 3 else label
    found = found.reshape(len(label), -1)
    target = np.eye(found.shape[1])[label] - 1 / found.shape[1]
    return float((found.argmax(axis=1) == label).mean()), float(((found - target) ** 2).sum())


def measured(data, folder, seed):
    """Accuracy of both kinds on one split of a data set."""
    train, test = senses.split_of(data, folder, seed)
    network = Network.for_data(train, seed=seed)
    label, of_test = (class_numbers(train.classes, some) for some in (train, test))
    learn, judge = split.hold_out(label, 0.2, np.random.default_rng(seed))
    network.fit(train, passes=0)
    train, test = (network.transform(some, 0) for some in (train, test))
    tau = network.stages[-1].tau
    result = {"data": data, "seed": seed, "entries": int(np.prod(train.field)) * train.polarities}
    for count in (False, True):
        best = {}
        for factor in FACTORS:
            known, unknown = surfaces(train, factor * tau, count), surfaces(test, factor * tau, count)
            for what in ("moments", "whole"):
                x, rng = known[what], np.random.default_rng(seed)
                chosen = scores(*rows(x[learn], label[learn], rng), [x[judge], unknown[what]], len(network.classes))
                for of_judge, of_others in chosen:
                    error = right(of_judge, x[judge], label[judge])[1]
                    if what not in best or error < best[what][0]:
                        best[what] = error, right(of_others, unknown[what], of_test)[0], factor
        result["counts" if count else "last_times"] = {
            what: {"accuracy": accuracy, "tau": factor} for what, (_, accuracy, factor) in best.items()
        }
    return result


def main():
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where recordings of real sensors are")
    parser.add_argument("--only", action="append", help="data sets; by default all of `timesurf bench senses`")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {"counting": [], "machine": machine.describe()}
    for data in senses.chosen(given.only or ()):
        for seed in range(given.seeds):
            found["counting"].append(measured(data, given.folder, seed))
            print(found["counting"][-1], flush=True)
            if given.json:
                given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
