"""The paper's Table 1: two sentences classified by Sup3r and by k-means, on independently made recordings."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from timesurf.baselines.hots import fit_kmeans
from timesurf.datasets import sentences
from timesurf.events import Recordings
from timesurf.learning.trainer import Progress
from timesurf.metrics import event_accuracy
from timesurf.network import Network
from timesurf.presets import SENTENCES, Preset
from timesurf.results import machine

PAPER = {"sup3r": {"event_accuracy": 0.9992, "kept": 0.1433}, "kmeans": {"event_accuracy": 0.5553, "kept": 1.0}}
CONVERGED = 0.99  # event accuracy of a network that has learned to distinguish x from /


def run(
    networks: int = 10,
    seed: int = 0,
    *,
    recordings: int = 1000,
    preset: Preset = SENTENCES,
    workers: int | None = None,
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Train and test networks.

    Parameters
    ----------
    networks : int
        How many independent networks.
    seed : int
        Seed of the data and of the networks.
    recordings : int
        Recordings for training, and as many more for testing.
    preset : Preset
        Layers and settings.
    workers : int, optional
        Networks trained at a time, by default one per core. The figures do not depend on it.
    progress : callable, optional
        Called with the network's number and the progress of its training.

    Returns
    -------
    dict
        For "sup3r" and "kmeans" one value per network in each list, as fractions; settings, machine and seconds.

    """
    began = time.perf_counter()
    about = machine.describe()
    with ThreadPoolExecutor(workers or about["cores"]) as pool:
        jobs = [pool.submit(one, seed, n, recordings, progress, preset) for n in range(networks)]
        rows = [job.result() for job in jobs]
    result: dict[str, Any] = {
        name: {
            figure: [row[name][figure] for row in rows] for figure in ("event_accuracy", "settled", "kept", "silent")
        }
        for name in ("sup3r", "kmeans")
    }
    settings = {"networks": networks, "seed": seed, "recordings": recordings, "preset": preset.to_dict()}
    return {**result, "settings": settings, "machine": about, "seconds": time.perf_counter() - began}


def one(
    seed: int,
    number: int,
    recordings: int,
    progress: Callable[[int, Progress], None] | None = None,
    preset: Preset = SENTENCES,
) -> dict[str, dict[str, Any]]:
    """Figures of one Sup3r and one k-means network on the same data."""
    sup3r, kmeans, test = train(seed, number, recordings, progress, preset)
    return {
        name: {**network.evaluate(test), "settled": settled(network, test)}
        for name, network in (("sup3r", sup3r), ("kmeans", kmeans))
    }


def settled(network: Network, test: Recordings, since: int = 1000) -> float:
    """Event accuracy after the first `since` us, when every lit pixel has fired and surfaces are complete."""
    out = network.transform(test)
    late = out.t >= since
    recording = np.repeat(np.arange(len(out)), out.counts)[late]
    votes = np.zeros((len(out), len(network.classes)), dtype=np.int64)
    np.add.at(votes, (recording, out.p[late]), 1)
    return event_accuracy(votes, network.class_numbers(test))


def train(
    seed: int,
    number: int,
    recordings: int,
    progress: Callable[[int, Progress], None] | None = None,
    preset: Preset = SENTENCES,
    precision: str = "float64",
) -> tuple[Network, Network, Recordings]:
    """A Sup3r and a k-means network trained on the same recordings, and recordings to test them on."""
    data, test, network_seed = drawn(seed, number, recordings)
    report = None if progress is None else lambda now: progress(number, now)
    sup3r = preset.network(data, sentences.TASK1, network_seed, threads=1, precision=precision)
    sup3r.fit(data, **preset.training(), progress=report)
    kmeans = fit_kmeans(preset.network(data, sentences.TASK1, network_seed, threads=1), data)
    return sup3r, kmeans, test


def drawn(seed: int, number: int, recordings: int) -> tuple[Recordings, Recordings, int]:
    """Recordings to train on and to test on, and the seed of the network, of one of the networks of a seed."""
    for_training, for_test, for_network = np.random.SeedSequence([seed, number]).spawn(3)
    train, test = (sentences.make(recordings, np.random.default_rng(each)) for each in (for_training, for_test))
    return train, test, int(for_network.generate_state(1)[0])
