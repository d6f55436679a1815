"""Class-incremental learning on real recordings: N-MNIST, two new digits at a time, tested on all digits so far.

Old digits are never shown again, so nothing teaches a new class not to respond to them. Little learning works best: the
features of the first task for all digits, a new class at the mean of its surfaces, and a small alpha from there.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.paper.table2 import WAYS, Rows, compared
from timesurf.presets import nmnist
from timesurf.results import machine

TASKS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
TESTED = 0.2  # share of the recordings to test on, drawn again for each split
TOGETHER = replace(
    nmnist(1000), margin=math.inf
)  # no thresholds, because classes are studied here, not the rejection of events
GENTLE = replace(TOGETHER, rule=replace(TOGETHER.rule, alpha=5e-6), passes=20)


def run(
    recordings: Recordings, splits: int = 3, seed: int = 0, *, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Recording accuracy on every task after every task, for each split of the data and each way of learning.

    Parameters
    ----------
    recordings : Recordings
        N-MNIST, as `datasets.nmnist.prepared` gives it.
    splits : int
        How many random splits into training and test recordings.
    seed : int
        Seed of the splits.
    progress : callable, optional
        Called with a description of the current step.

    Returns
    -------
    dict
        "extended": classes added for each task, the rest frozen; "unfrozen": the same, nothing frozen; "together": all
        digits at once, with settings of their own; settings, machine and seconds.

    """
    began = time.perf_counter()
    report = progress or (lambda _: None)
    found: dict[str, list[Rows]] = {way: [] for way in WAYS}
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(len(recordings))
        tested = round(TESTED * len(recordings))
        test, train = recordings[np.sort(order[:tested])], recordings[np.sort(order[tested:])]
        report(f"split {split + 1} of {splits}, task after task")
        first = GENTLE.network(train, TASKS[0], split).fit(_of(train, TASKS[0]), **GENTLE.training())
        for way in ("extended", "unfrozen"):
            found[way].append(one_after_another(copy.deepcopy(first), train, test, frozen=way == "extended"))
        report(f"split {split + 1} of {splits}, all digits at once")
        digits = [digit for task in TASKS for digit in task]
        network = TOGETHER.network(train, digits, split).fit(train, **TOGETHER.training())
        found["together"].append([[network.evaluate(_of(test, task))["recording_accuracy"] for task in TASKS]])
    settings = {
        "recordings": len(recordings), "splits": splits, "seed": seed, "tasks": TASKS,
        "task_after_task": GENTLE.to_dict(), "together": TOGETHER.to_dict(),
    }  # fmt: skip
    about = machine.describe()
    return {**compared(found), "settings": settings, "machine": about, "seconds": time.perf_counter() - began}


def one_after_another(network: Network, train: Recordings, test: Recordings, *, frozen: bool) -> Rows:
    """Train a network that has learned the first task on all further tasks; accuracies after each."""
    rows = []
    for number, task in enumerate(TASKS):
        if number > 0:
            network.extend(_of(train, task), units=[0], classes=task, **GENTLE.starting())
            if not frozen:
                network.freeze(frozen=False)
            network.train(_of(train, task), **GENTLE.learning())
        rows.append([network.evaluate(_of(test, known))["recording_accuracy"] for known in TASKS[: number + 1]])
    return rows


def _of(recordings: Recordings, digits: tuple[int, ...]) -> Recordings:
    """The recordings of these digits."""
    return recordings[np.flatnonzero(np.isin(np.asarray(recordings.labels), digits))]
