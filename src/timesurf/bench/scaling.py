"""A cost model of a batch on many workers: computing, overhead and exchange, and when exchange dominates.

With W workers a batch of B recordings of e events takes::

    T(W, B) = B e / (v W)  +  a + b W  +  (W s(B) + W s(B / W)) / u

where v is a worker's events per second, a and b are Dask's seconds per batch and per task, s(n) is the size in bytes of
the sums of n recordings, which grows until every entry is touched, and u the bytes per second of the machine that adds
them up. W s(B) bytes are sent, the sums of the previous batch; W s(B / W) come back, those of each worker. u is
measured; `fit` finds v, a and b from measured batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[Any]
_FASTEST = 1e-9  # seconds per event that no core can beat: keeps the fit to noisy times finite


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of work on a cluster.

    Attributes
    ----------
    events_per_s : float
        Events per second of one worker.
    batch, task : float
        Seconds of overhead per batch and per task.
    bytes_per_s : float
        Bytes per second of the machine that adds up the sums.
    tree : bool
        Whether workers add up sums among themselves in pairs: log2(W) + 1 steps instead of W.

    """

    events_per_s: float
    batch: float
    task: float
    bytes_per_s: float
    tree: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """A data set and its network.

    Attributes
    ----------
    name : str
        What it is called.
    recordings : int
        Recordings in the data set.
    events : float
        Events per recording.
    sizes, sums : tuple of float
        Numbers of recordings, ascending, and the bytes of their sums; larger numbers touch no more entries.
    batch : int
        Recordings per batch, as many as accuracy allows.

    """

    name: str
    recordings: int
    events: float
    sizes: tuple[float, ...]
    sums: tuple[float, ...]
    batch: int

    def sum_bytes(self, recordings: Array | float) -> Array:
        """Size in bytes of the sums of this number of recordings."""
        found: Array = np.interp(np.log(recordings), np.log(self.sizes), self.sums)
        return found


def seconds(cost: Cost, work: Work, workers: Array | float) -> dict[str, Array]:
    """Seconds of a batch by part: computing, overhead ("waiting"), and exchange ("travelling")."""
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
    """Fit the cost of a cluster to measured batches; more workers than cores share the cores.

    Parameters
    ----------
    measured : dict
        What `bench.workers.run` measured.

    Returns
    -------
    dict
        The fields of `Cost`, and for each measured batch the simulated time and its relative error, "off".

    """
    rows = [row for row in measured["rows"] if row["workers"]]
    work = digits(measured)
    cores = measured["machine"]["cores"]
    rate = measured["bytes_per_s"]
    times = np.array([row["seconds"] for row in rows])
    travelling = np.array([(row["sent"] + row["received"]) / rate for row in rows])
    terms = np.array([[row["batch"] * work.events / min(row["workers"], cores), 1.0, row["workers"]] for row in rows])
    least = np.array([_FASTEST, 0.0, 0.0])
    # relative errors, so that small batches count as much as large ones
    above, _ = nnls(terms / times[:, None], 1 - (travelling + terms @ least) / times)
    found = least + above
    simulated = terms @ found + travelling
    per_event, batch, task = map(float, found)
    return {
        "events_per_s": 1 / per_event, "batch": batch, "task": task, "bytes_per_s": rate,
        "batches": [
            {"batch": row["batch"], "workers": row["workers"], "measured": row["seconds"], "simulated": float(t),
             "off": float(t / row["seconds"] - 1)}
            for row, t in zip(rows, simulated, strict=True)
        ],
    }  # fmt: skip


def digits(measured: dict[str, Any]) -> Work:
    """N-MNIST: its training set, batches of 512, and the measured sizes of sums."""
    sizes = tuple(float(row["recordings"]) for row in measured["touched"])
    sums = tuple(float(row["bytes"]) for row in measured["touched"])
    return Work("N-MNIST", 60_000, measured["events_per_recording"], sizes, sums, 512)


def works(measured: dict[str, Any]) -> list[Work]:
    """Three sizes of data: N-MNIST, DVS-Gesture, and 10^12 events per day like those of N-MNIST.

    DVS-Gesture has 1,176 recordings of about 360,000 events on 128 x 128 pixels and 2 polarities. With 32 units and 11
    classes its sums are 128 x 128 x 32 entries of 16 float32, all touched by any one recording. Its batches are small,
    32 recordings, because there are few.
    """
    small = digits(measured)
    gesture = 128 * 128 * 32 * 16 * 4.0
    day = 10**12
    return [
        small,
        Work("DVS-Gesture", 1176, 360_000, (1.0,), (gesture,), 32),
        Work("10^12 events per day", round(day / small.events), small.events, small.sizes, small.sums, small.batch),
    ]


def clusters(measured: dict[str, Any]) -> dict[str, Cost]:
    """The measured cluster with one core per worker, and one whose workers add up sums in a tree."""
    found = measured["simulated"]
    here = Cost(*(found[name] for name in ("events_per_s", "batch", "task", "bytes_per_s")))
    return {"as measured": here, "sums in a tree": replace(here, tree=True)}


def faster(cost: Cost, work: Work, workers: Array) -> Array:
    """Speed relative to one worker."""
    return total(cost, work, 1) / total(cost, work, workers)


def total(cost: Cost, work: Work, workers: Array | float) -> Array:
    """Seconds of a batch."""
    found: Array = np.sum(list(seconds(cost, work, workers).values()), axis=0)
    return found


def balance(cost: Cost, work: Work) -> int:
    """The smallest number of workers with which a batch takes longer to exchange than to compute."""
    workers = np.arange(1, 1025)
    parts = seconds(cost, work, workers)
    over = parts["waiting"] + parts["travelling"] > parts["computing"]
    return int(workers[over][0]) if over.any() else len(workers)


def epoch(cost: Cost, work: Work, workers: int) -> float:
    """Seconds of a pass over all recordings."""
    return float(total(cost, work, workers)) * work.recordings / work.batch


def curves(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Curves to draw, by data set and cluster: speed relative to one worker, and where exchange dominates."""
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
