"""Learning while predicting, over a stream that changes: test on every recording, then train on it.

The stream has four phases: some classes; the same, shifted on the sensor (drift); only classes that are new; the first
ones again. The network meets a class for the first time by a recording that it cannot classify, and then grows a unit
for it (`Network.extend`). Beside it: the same network, frozen after the first phase, and k-nearest neighbours of river
on counts; without river that row is left out, and the result says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import digits
from timesurf.events import Recordings
from timesurf.layers import Full, Window
from timesurf.network import Network
from timesurf.results import machine
from timesurf.rule import Rule

Array = NDArray[Any]
Learner = Callable[
    [Recordings], Any
]  # predicts the class of one recording, None if it has no idea, then learns from it
PHASES = ("first classes", "drift", "new classes", "return")
SHIFT = 3  # pixels of drift
POOLED = 4  # pixels per side of a count
LAYERS = (Window(7, units=16, tau="10 ms"), Full(tau="5 ms"))
RIVER = "river, k-NN on counts"
RULE = Rule(alpha=(2e-5, 3e-4), beta=0, gamma=0, delta=0, last="delta")


class Stream(NamedTuple):
    """Recordings in the order in which they come."""

    recordings: Recordings
    phase: Array  # (recordings,) number of the phase of each


def stream(recordings: Recordings, each: int, seed: int = 0) -> Stream:
    """So many recordings of each phase, drawn without repetition.

    Parameters
    ----------
    recordings : Recordings
        Labelled, of two coordinates; the lower half of the classes comes first.
    each : int
        Recordings per phase, or all that there are.
    seed : int
        Seed of the order.
    """
    rng, labels = np.random.default_rng(seed), np.asarray(recordings.labels)
    first = np.isin(labels, recordings.classes[: len(recordings.classes) // 2])
    old, new = (rng.permutation(np.flatnonzero(which)) for which in (first, ~first))
    parts = [*np.array_split(old[: 3 * each], 3), new[:each]]
    order = np.concatenate([parts[0], parts[1], parts[3], parts[2]])
    phase = np.repeat(np.arange(4), [len(parts[n]) for n in (0, 1, 3, 2)])
    some = recordings[order]
    x = some.coords[0] + SHIFT * np.repeat(phase == 1, some.counts)
    moved = [np.asarray(x % some.field[0], some.coords[0].dtype), *some.coords[1:]]
    drifted = Recordings(
        moved, some.t, some.p, some.offsets, field=some.field, polarities=some.polarities, labels=some.labels
    )
    return Stream(drifted, phase)


def run(
    recordings: Recordings | None = None,
    *,
    each: int = 200,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run every learner over the same stream.

    Parameters
    ----------
    recordings : Recordings, optional
        Labelled; by default the digits of scikit-learn, seen by a simulated sensor.
    each : int
        Recordings per phase.
    seed : int
        Seed of the order and of the network.
    progress : callable
        Called with what is measured next.

    Returns
    -------
    dict
        For every learner "right", whether each recording was classified correctly before it was learned from, and its
        mean per phase; "phase" of each recording, settings and machine; "left_out", learners that are not installed.
    """
    found = stream(digits.load() if recordings is None else recordings, each, seed)
    truth = np.asarray(found.recordings.labels)
    result: dict[str, Any] = {
        "machine": machine.describe(), "each": each, "seed": seed, "phases": PHASES, "phase": found.phase.tolist(),
        "learners": {}, "left_out": [RIVER] if find_spec("river") is None else [],
    }  # fmt: skip
    for name, learner in _learners(found, seed):
        progress(name)
        began = time.perf_counter()
        right = np.array([learner(one) == label for one, label in zip(found.recordings, truth, strict=True)])
        result["learners"][name] = {
            "right": right.astype(int).tolist(),
            "phases": [float(right[found.phase == n].mean()) for n in range(len(PHASES))],
            "recording_accuracy": float(right.mean()),
            "seconds": time.perf_counter() - began,
        }
    return result


def _learners(found: Stream, seed: int) -> Iterator[tuple[str, Learner]]:
    """Learners by name, each new."""
    last = int(np.count_nonzero(found.phase == 0))
    yield "timesurf, online", growing(seed)
    yield "timesurf, frozen after the first phase", growing(seed, until=last)
    if find_spec("river") is not None:
        from river import neighbors

        yield RIVER, neighbours(neighbors.KNNClassifier(n_neighbors=5))


def growing(seed: int, until: int | None = None) -> Learner:
    """A network that learns online and grows a unit for each new class; from recording `until` on it only predicts."""
    network: Network | None = None
    seen = 0

    def learn(one: Recordings) -> Any:
        nonlocal network, seen
        (label,), guess = np.asarray(one.labels), None
        if network is not None:
            votes = network.infer(one).votes[0]
            guess = network.classes[int(votes.argmax())] if votes.any() else None
        seen += 1
        if until is not None and seen > until:
            return guess
        if network is None:
            network = Network(LAYERS, one.field, one.polarities, [label], rule=RULE, precision="float32", seed=seed)
            network.start(one, start="kmeans", margin=np.inf)
        elif label not in network.classes:
            network.extend(one, units=[0] * (len(LAYERS) - 1), classes=[label], start="kmeans", margin=np.inf)
            network.freeze(frozen=False)
        network.partial_fit(one)
        return guess

    return learn


def neighbours(model: Any) -> Learner:
    """A classifier of river's on counts of events in squares of pixels."""

    def learn(one: Recordings) -> Any:
        x, y = (np.asarray(c) // POOLED for c in one.coords)
        places = np.bincount(x * (-(-one.field[1] // POOLED)) + y)
        counts = {int(place): float(np.sqrt(places[place])) for place in np.flatnonzero(places)}
        guess = model.predict_one(counts)
        model.learn_one(counts, np.asarray(one.labels)[0])
        return guess

    return learn
