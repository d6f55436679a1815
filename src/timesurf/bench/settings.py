"""What matters: every setting that the data chooses is changed by itself, on every sense.

For each data set and each factor of the law (`timesurf.learning.knobs`), a network is chosen and trained on 70 % of
the training recordings and decides the other 30 %; the test recordings of the data set are not used. A setting whose
change costs nothing on any sense can be fixed once for all. One whose change costs something on every sense is
chosen well by the law. One that gains somewhere is worth trying (`timesurf.tuning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import inference, tuning
from timesurf.bench import processes, senses
from timesurf.events import Recordings
from timesurf.learning import split
from timesurf.learning.knobs import LAW
from timesurf.results import machine

HELD_OUT = 0.3  # of the training recordings: what changes are compared on
FACTORS: dict[str, tuple[float, ...]] = {
    "tau": (1 / 3, 3),
    "last_tau": (1 / 3, 3),
    "alpha": (1 / 3, 3),
    "temperature": (1 / 3, 3),
    "places": (1 / 2, 2),
    "window": (0.6, 1.7),
    "units": (1 / 4, 2),
    "passes": (1 / 3, 2),
    "copies": (4,),
    "units_per_class": (2, 3),
}


@dataclass(frozen=True)
class Job:
    """One data set, and one factor of what the law chooses; 1: the law itself."""

    data: str
    seed: int
    setting: str
    factor: float
    folder: Path | None
    small: int | None

    def __str__(self) -> str:
        changed = "as chosen" if self.factor == 1 else f"{self.setting} x {self.factor:.2g}"
        return f"{self.data}, seed {self.seed}: {changed}"


def measure(job: Job) -> dict[str, Any]:
    """On the recordings that are held out: recording accuracy, and the mean log probability of the right class."""
    fold = _fold(job.data, job.folder, job.seed, job.small)
    knobs = LAW if job.factor == 1 else replace(LAW, **{job.setting: job.factor})
    found = tuning.judged(fold.learn, fold.judge, fold.label, knobs, "cpu", 1, job.seed, fold.looked)
    return {
        "recording_accuracy": float(found.right.mean()),
        "log_probability": float(found.likely.mean()),
        "learned_from": len(fold.learn),
        "held_out": len(fold.judge),
    }


@lru_cache(maxsize=1)
def _fold(data: str, folder: Path | None, seed: int, small: int | None) -> tuning.Fold:
    """The training recordings of a split in two parts; the last are kept, as jobs of one split follow each other."""
    train = senses.split_of(data, folder, seed).train
    some = train if small is None else _of_all_classes(train, small, seed)
    label = inference.class_numbers(some.classes, some)
    learned, held = split.hold_out(label, HELD_OUT, np.random.default_rng(seed))
    return tuning.Fold(some[learned], some[held], label[held], {})


def _of_all_classes(train: Recordings, number: int, seed: int) -> Recordings:
    """So many recordings of a data set, all classes in turn."""
    rng, labels = np.random.default_rng(seed), np.asarray(train.labels)
    turn = np.empty(len(train), dtype=np.int64)
    for c in train.classes:
        mine = rng.permutation(np.flatnonzero(labels == c))
        turn[mine] = np.arange(len(mine))
    return train[np.sort(np.argsort(turn, kind="stable")[:number])]


def run(
    folder: Path | None,
    seeds: int,
    *,
    only: Sequence[str] = (),
    small: int | None = None,
    plan: processes.Plan = processes.ALONE,
) -> dict[str, Any]:
    """Train with the law and with each of its neighbours, on all data sets.

    Parameters
    ----------
    folder, seeds, only, small, plan
        As in `family.run`; by default on all data sets.

    Returns
    -------
    dict
        "settings": one row per data set, seed, setting and factor.
    """
    changed = [("law", 1.0), *((name, factor) for name, factors in FACTORS.items() for factor in factors)]
    jobs = [
        Job(data, seed, name, factor, folder, small)
        for seed in range(seeds)
        for data in senses.chosen(only)
        for name, factor in changed
    ]
    rows: list[dict[str, Any]] = []
    result = {"settings": rows, "seeds": seeds, "processes": plan.processes, "machine": machine.describe()}
    for job, found in processes.each(measure, jobs, plan):
        rows.append({"data": job.data, "seed": job.seed, "setting": job.setting, "factor": job.factor} | found)
        plan.save(result)
    return result


def changes(
    rows: Sequence[dict[str, Any]], figure: str = "recording_accuracy"
) -> dict[str, dict[str, tuple[float, float]]]:
    """Change of a figure by setting and factor, then by data set.

    Parameters
    ----------
    rows : sequence of dict
        Of "settings" in the result of `run`.
    figure : str
        "recording_accuracy", or "log_probability": the mean logarithm of the probability of the right class, which
        changes with every recording, where accuracy only changes with those whose decision does.

    Returns
    -------
    dict
        Each is the mean over the seeds that have both, and its standard error: NaN if there is only one.
    """
    law = {(row["data"], row["seed"]): row[figure] for row in rows if row["factor"] == 1}
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["factor"] != 1 and (row["data"], row["seed"]) in law:
            change = row[figure] - law[row["data"], row["seed"]]
            name = f"{row['setting']} x {row['factor']:.2g}"
            found.setdefault(name, {}).setdefault(row["data"], []).append(change)
    return {name: {data: senses.mean_and_error(each) for data, each in of.items()} for name, of in found.items()}
