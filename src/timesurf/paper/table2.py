"""Incremental learning: sentences, task after task, testing old tasks again. Two tasks make the paper's Table 2."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from timesurf.datasets import sentences
from timesurf.events import Recordings
from timesurf.learning.trainer import Progress
from timesurf.metrics import average_accuracy, backward_transfer, forgetting
from timesurf.network import Network
from timesurf.presets import SENTENCES
from timesurf.results import machine

# Upper layers must see the current event alone. With Table 1's 1 us they also see the previous event: a character that
# all sentences share then often repeats the right class of the character before it, and new units settle between both.
PRESET = replace(
    SENTENCES, layers=(SENTENCES.layers[0], *(replace(layer, tau="0.3 us") for layer in SENTENCES.layers[1:]))
)
PAPER = {"task1": 0.9992, "task2": 0.9999, "task1_after": 0.9996}
UNITS = (3, 6)  # added to the hidden layers by each further task: for two new characters and one they share
WAYS = {
    "extended": "extended, old units frozen",
    "unfrozen": "extended, nothing frozen",
    "together": "all tasks at once",
}
Rows = list[list[float]]  # row i, after task i: accuracy on tasks 0 to i


def run(
    networks: int = 10,
    seed: int = 0,
    *,
    tasks: int = 2,
    recordings: int = 1000,
    workers: int | None = None,
    precision: str = "float64",
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Event accuracy on every task after every task, for each network and each of three ways of learning.

    Parameters
    ----------
    networks, seed : int
        As for `table1.run`.
    tasks : int
        How many tasks, from 2 to 5.
    recordings : int
        Recordings of each task for training, and as many for testing.
    workers : int, optional
        As for `table1.run`.
    precision : {"float64", "float32"}
        Of online learning, see `Network`.
    progress : callable, optional
        As for `table1.run`.

    Returns
    -------
    dict
        "extended": units and classes added for each task, the old ones tightened and frozen; "unfrozen": the same, but
        the old ones continue to learn; "together": as many units from the start, all tasks at once, a single row per
        network. Also "task1", "task2", "task1_after" of the first way, settings, machine and seconds.

    """
    began = time.perf_counter()
    about = machine.describe()
    with ThreadPoolExecutor(workers or about["cores"]) as pool:
        jobs = [pool.submit(one, seed, n, tasks, recordings, precision, progress) for n in range(networks)]
        found = [job.result() for job in jobs]
    result: dict[str, Any] = {
        "task1": [rows["extended"][0][0] for rows in found],
        "task2": [rows["extended"][1][1] for rows in found],
        "task1_after": [rows["extended"][-1][0] for rows in found],
    }
    result |= compared({way: [rows[way] for rows in found] for way in WAYS})
    settings = {
        "networks": networks, "seed": seed, "tasks": sentences.TASKS[:tasks], "recordings": recordings,
        "units": UNITS, "precision": precision, "preset": PRESET.to_dict(),
    }  # fmt: skip
    return {**result, "settings": settings, "machine": about, "seconds": time.perf_counter() - began}


def one(
    seed: int,
    number: int,
    tasks: int,
    recordings: int,
    precision: str = "float64",
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Rows]:
    """Accuracies of one network of each way, on the same data."""
    for_training, for_test, for_network = np.random.SeedSequence([seed, number, 2]).spawn(3)
    pairs = sentences.TASKS[:tasks]
    words = [word for pair in pairs for word in pair]
    together = sentences.make(tasks * recordings, np.random.default_rng(for_training), sentences=words)
    train = _split(together, pairs)
    test = _split(sentences.make(tasks * recordings, np.random.default_rng(for_test), sentences=words), pairs)
    network_seed = int(for_network.generate_state(1)[0])
    report = _joined(PRESET.passes * recordings * (3 * tasks - 1), number, progress)

    first = PRESET.network(train[0], pairs[0], network_seed, threads=1, precision=precision)
    first.fit(train[0], **PRESET.training(), progress=report)
    rows = {
        way: one_after_another(copy.deepcopy(first), train, test, frozen=way == "extended", progress=report)
        for way in ("extended", "unfrozen")
    }
    layers = [
        replace(layer, units=(layer.units or 0) + (tasks - 1) * more)
        for layer, more in zip(PRESET.layers, UNITS, strict=False)
    ]
    whole = replace(SENTENCES, layers=(*layers, PRESET.layers[-1]))
    network = whole.network(together, words, network_seed, threads=1, precision=precision)
    network.fit(together, **whole.training(), progress=report)
    return {**rows, "together": [[network.evaluate(data)["event_accuracy"] for data in test]]}


def one_after_another(
    network: Network,
    train: Sequence[Recordings],
    test: Sequence[Recordings],
    *,
    frozen: bool,
    progress: Callable[[Progress], None] | None = None,
) -> Rows:
    """Train a network that has learned the first task on all further tasks; accuracies after each."""
    rows = []
    for task, data in enumerate(train):
        if task > 0:
            network.extend(data, units=UNITS, classes=sentences.TASKS[task])
            if not frozen:
                network.freeze(frozen=False)
            network.train(data, passes=PRESET.passes, progress=progress)
        if frozen:
            network.tighten(data)
        rows.append([network.evaluate(known)["event_accuracy"] for known in test[: task + 1]])
    return rows


def compared(found: dict[str, list[Rows]]) -> dict[str, Any]:
    """Figures of each way of learning, one value per network; forgetting only where there are several rows."""
    result: dict[str, Any] = {}
    for way, every in found.items():
        result[way] = {"rows": every, "average_accuracy": [average_accuracy(rows) for rows in every]}
        if len(every[0]) > 1:
            result[way]["forgetting"] = [forgetting(rows) for rows in every]
            result[way]["backward_transfer"] = [backward_transfer(rows) for rows in every]
    return result


def _split(recordings: Recordings, pairs: Sequence[tuple[str, str]]) -> list[Recordings]:
    """The recordings of each task."""
    labels = np.asarray(recordings.labels)
    return [recordings[np.flatnonzero(np.isin(labels, pair))] for pair in pairs]


def _joined(
    total: int, number: int, progress: Callable[[int, Progress], None] | None
) -> Callable[[Progress], None] | None:
    """Report the progress of several trainings, one after another, as that of a single one."""
    if progress is None:
        return None
    before = last = 0

    def report(now: Progress) -> None:
        nonlocal before, last
        if now.done < last:
            before += last
        last = now.done
        progress(number, replace(now, done=before + last, total=total))

    return report
