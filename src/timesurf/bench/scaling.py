"""A batch on many workers, on paper: what it computes, what it sends, and where the one outgrows the other.

With W workers a batch of B recordings of e events takes

    T(W, B) = B e / (v W)  +  a + b W  +  (W s(B) + W s(B / W)) / u

v events a second of a worker; a seconds a batch and b a task that Dask takes; s(n) bytes of the sums of n recordings,
which grow until every entry is touched; u bytes a second of the machine that adds up. Told are W s(B), the sums of the
batch before; come back W s(B / W), those of every worker. u is measured; `fit` finds v, a and b in measured batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a cluster."""

    events_per_s: float  # of a worker
    batch: float  # s
    task: float  # s
    bytes_per_s: float  # of the machine that adds up
    tree: bool = False  # workers add up among themselves, two and two: log2(W) + 1 steps take the place of W


@dataclass(frozen=True, slots=True)
class Work:
    """Of a data set and its network."""

    name: str
    recordings: int
    events: float  # a recording
    sizes: tuple[float, ...]  # recordings, rising,
    sums: tuple[float, ...]  # and bytes of the sums of so many; more touch no more
    batch: int  # recordings; what accuracy allows

    def sum_bytes(self, recordings: Array | float) -> Array:
        """Bytes of the sums of so many recordings."""
        found: Array = np.interp(np.log(recordings), np.log(self.sizes), self.sums)
        return found


def seconds(cost: Cost, work: Work, workers: Array | float) -> dict[str, Array]:
    """What a batch takes: computing, what Dask takes, and what travels."""
    batch = work.batch
    workers = np.asarray(workers, dtype=float)
    steps = np.log2(workers) + 1 if cost.tree else workers
    sent = steps * (work.sum_bytes(batch) + work.sum_bytes(np.maximum(batch / workers, 1)))
    return {
        "computing": batch * work.events / (cost.events_per_s * workers),
        "waiting": cost.batch + cost.task * steps,
        "travelling": sent / cost.bytes_per_s,
    }


def fit(measured: dict[str, Any]) -> dict[str, Any]:
    """The cost of the measured cluster; and of every measured batch, how far the simulated one is off.

    More workers than cores share the cores.
    """
    rows = [row for row in measured["rows"] if row["workers"]]
    work = digits(measured)
    cores = measured["machine"]["cores"]
    rate = measured["bytes_per_s"]
    times = np.array([row["seconds"] for row in rows])
    travelling = np.array([(row["sent"] + row["received"]) / rate for row in rows])
    terms = np.array([[row["batch"] * work.events / min(row["workers"], cores), 1.0, row["workers"]] for row in rows])
    found, _ = nnls(terms / times[:, None], 1 - travelling / times)  # relative: small batches count as large ones do
    told = terms @ found + travelling
    per_event, batch, task = map(float, found)
    return {
        "events_per_s": 1 / per_event, "batch": batch, "task": task, "bytes_per_s": rate,
        "batches": [
            {"batch": row["batch"], "workers": row["workers"], "measured": row["seconds"], "simulated": float(t),
             "off": float(t / row["seconds"] - 1)}
            for row, t in zip(rows, told, strict=True)
        ],
    }  # fmt: skip


def digits(measured: dict[str, Any]) -> Work:
    """N-MNIST: its training set, batches of 512, and the sums that were measured."""
    sizes = tuple(float(row["recordings"]) for row in measured["touched"])
    sums = tuple(float(row["bytes"]) for row in measured["touched"])
    return Work("N-MNIST", 60_000, measured["events_a_recording"], sizes, sums, 512)


def works(measured: dict[str, Any]) -> list[Work]:
    """Three sizes of data.

    DVS-Gesture: 1,176 recordings of about 360,000 events on 128 x 128 pixels and 2 polarities; 32 units, 11 classes, so
    its sums are 128 x 128 x 32 entries of 16 float32, all touched by any one recording. Of its few recordings 32 make a
    batch. A day of the internet: 10^12 events, like N-MNIST's.
    """
    small = digits(measured)
    gesture = 128 * 128 * 32 * 16 * 4.0
    day = 10**12
    return [
        small,
        Work("DVS-Gesture", 1176, 360_000, (1.0,), (gesture,), 32),
        Work("10^12 events a day", round(day / small.events), small.events, small.sizes, small.sums, small.batch),
    ]


def clusters(measured: dict[str, Any]) -> dict[str, Cost]:
    """The measured one, with as many cores as workers; and one whose workers add up among themselves, in a tree."""
    found = measured["simulated"]
    here = Cost(*(found[name] for name in ("events_per_s", "batch", "task", "bytes_per_s")))
    return {"as measured": here, "sums in a tree": replace(here, tree=True)}


def faster(cost: Cost, work: Work, workers: Array) -> Array:
    """How many times faster than one worker."""
    return total(cost, work, 1) / total(cost, work, workers)


def total(cost: Cost, work: Work, workers: Array | float) -> Array:
    """Seconds of a batch."""
    found: Array = np.sum(list(seconds(cost, work, workers).values()), axis=0)
    return found


def balance(cost: Cost, work: Work) -> int:
    """Workers from which on a batch takes longer to exchange than to compute."""
    workers = np.arange(1, 1025)
    parts = seconds(cost, work, workers)
    over = parts["waiting"] + parts["travelling"] > parts["computing"]
    return int(workers[over][0]) if over.any() else len(workers)


def epoch(cost: Cost, work: Work, workers: int) -> float:
    """Seconds of a pass over all recordings."""
    return float(total(cost, work, workers)) * work.recordings / work.batch


def curves(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """For a picture, by data set and cluster: how many times faster so many workers are, where exchange dominates."""
    workers = 2 ** np.arange(11)
    return {
        f"{work.name}, {place}": {
            "workers": workers.tolist(),
            "faster": faster(cost, work, workers).tolist(),
            "balance": balance(cost, work),
        }
        for place, cost in clusters(measured).items()
        for work in works(measured)[:2]
    }
