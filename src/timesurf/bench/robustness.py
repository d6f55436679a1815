"""Robustness: how accuracy falls as test recordings are disturbed, for networks that learned from clean ones.

Three methods learn once per split, from recordings as they are: the default network of Sup3r, HOTS (k-means units of
the same layer, logistic regression on how often each won), and logistic regression on plain counts per pixel and
polarity. The same disturbed test recordings go through all three.

================  ======================================================================================
disturbance       what its level is
================  ======================================================================================
jitter in time    standard deviation of every event's time, ms
jitter in place   standard deviation of every event's place along each dimension, pixels
dropped events    share of the events that are missing, %
noise events      further events anywhere, per second of one pixel
hot pixels        pixels that fire a thousand times per second, the same in all recordings of a split
================  ======================================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from timesurf import transforms
from timesurf.baselines import counts
from timesurf.bench import family, processes, senses
from timesurf.bench.family import Case, Fitted
from timesurf.events import Recordings
from timesurf.results import machine

DATA = ("simulated", "N-MNIST")


class Disturbance(NamedTuple):
    """One way to disturb recordings."""

    levels: tuple[float, ...]  # beside none
    apply: Callable[[Recordings, float, int], Recordings]  # recordings, level, seed


DISTURBANCES: dict[str, Disturbance] = {
    "jitter in time, ms": Disturbance(
        (1, 3, 10, 30), lambda some, level, seed: transforms.jitter(some, time=1000 * level, seed=seed)
    ),
    "jitter in place, pixels": Disturbance(
        (0.5, 1, 2, 3), lambda some, level, seed: transforms.jitter(some, pixels=level, seed=seed)
    ),
    "dropped events, %": Disturbance(
        (25, 50, 75, 90), lambda some, level, seed: transforms.drop(some, level / 100, seed=seed)
    ),
    "noise events per s and pixel": Disturbance((1, 3, 10, 30), transforms.add_noise),
    "hot pixels": Disturbance(
        (1, 3, 10, 30), lambda some, level, seed: transforms.add_hot_pixels(some, int(level), seed=seed)
    ),
}


def _counts(of: Case) -> Fitted:
    """Plain counts of whole recordings, by logistic regression."""
    model = counts.regression(of.train)
    model.fit(counts.features(of.train), np.asarray(of.train.labels))
    return Fitted(lambda test: (float(model.score(counts.features(test), np.asarray(test.labels))), 1.0), None)


METHODS: dict[str, Callable[[Case], Fitted]] = {
    "default": family.METHODS["default"],
    "hots": family.METHODS["hots"],
    "counts": _counts,
}


@dataclass(frozen=True)
class Job:
    """One method on one split of one data set."""

    data: str
    seed: int
    method: str
    folder: Path | None
    small: int | None

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}, {self.method}"


_split_of = functools.lru_cache(maxsize=1)(senses.split_of)  # the methods of a split come one after another


def measure(job: Job) -> list[dict[str, Any]]:
    """One row per disturbance and level, the first of each without it."""
    train, test = _split_of(job.data, job.folder, job.seed, job.small)
    fitted = METHODS[job.method](Case(train, job.seed))
    about = {"data": job.data, "seed": job.seed, "method": job.method, "learned_from": len(train), "tested": len(test)}
    clean = fitted.score(test)[0]
    rows = []
    for name, of in DISTURBANCES.items():
        for level in (0, *of.levels):
            right = clean if level == 0 else fitted.score(of.apply(test, level, job.seed))[0]
            rows.append(about | {"disturbance": name, "level": level, "recording_accuracy": right})
    return rows


def run(
    folder: Path | None,
    seeds: int,
    *,
    only: Sequence[str] = DATA,
    small: int | None = None,
    plan: processes.Plan = processes.ALONE,
) -> dict[str, Any]:
    """Measure all methods, disturbances and levels.

    Parameters
    ----------
    folder : Path, optional
        Where files of real recordings are.
    seeds : int
        How many splits per data set; a seed also draws the disturbances.
    only : sequence of str
        Data sets of `senses.SENSES` whose name has one of these in it.
    small : int, optional
        Learn from so many recordings at most and test on half as many, for a quick look.
    plan : processes.Plan
        How many measurements side by side, until when, and who is told.

    Returns
    -------
    dict
        "robustness": one row per data set, seed, method, disturbance and level, with its recording accuracy.
    """
    names = senses.chosen(only)
    jobs = [Job(name, seed, method, folder, small) for name in names for seed in range(seeds) for method in METHODS]
    rows: list[dict[str, Any]] = []
    result = {"robustness": rows, "seeds": seeds, "processes": plan.processes, "machine": machine.describe()}
    for _, found in processes.each(measure, jobs, plan):
        rows += found
        plan.save(result)
    return result


Curve = dict[float, tuple[float, float]]


def curves(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Curve]]]:
    """Mean recording accuracy over seeds and its standard error, by data set, disturbance, method and level.

    The standard error of a single seed is NaN.
    """
    values: dict[tuple[str, str, str, float], list[float]] = {}
    for row in rows:
        key = row["data"], row["disturbance"], row["method"], row["level"]
        values.setdefault(key, []).append(row["recording_accuracy"])
    found: dict[str, dict[str, dict[str, Curve]]] = {}
    for (data, disturbance, method, level), right in values.items():
        curve = found.setdefault(data, {}).setdefault(disturbance, {}).setdefault(method, {})
        curve[level] = senses.mean_and_error(right)
    return found
