"""Many workers: what a batch costs on a Dask cluster of processes on this machine, and that results are identical.

Clusters of several sizes take turns, so that other load on the machine affects all of them. Only one exists at a time,
because idle workers use some percent of a core each. `bench/scaling.py` fits its cost model to the measured batches.
"""

from __future__ import annotations

import operator
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from timesurf.bench import scaling, workloads
from timesurf.engines import Options, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.dask import cluster
from timesurf.engines.dask.exchange import SparseSums
from timesurf.engines.dask.workers import Workers
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.network import Network
from timesurf.results import machine
from timesurf.rule import Rule

WORKERS = (1, 2, 4)
BATCHES = (128, 512)
KILLS = 5
_RULE = Rule(alpha=1e-6, beta=1e-6, gamma=1e-6, delta=1e-6)  # so small that repeated training does not diverge


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure batches, exchanged bytes, and training while workers are killed.

    Parameters
    ----------
    quick : bool
        Use fewer recordings and smaller clusters.
    progress : callable
        Called with a description of each step.

    Returns
    -------
    dict
        Measured batches, bytes, results of the killing, and the fitted cost model.

    """
    recordings, repeats, sizes, batches = (128, 1, (1, 2), (64,)) if quick else (4096, 3, WORKERS, BATCHES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "strokes.npz"
        npz.write(file, workloads.strokes(recordings, spread=0.28))
        data = npz.read(file)
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for turn in range(repeats):
            for n in (0, *sizes):
                progress(f"{n} workers, turn {turn + 1} of {repeats}")
                for row in _turn(data, batches, n):
                    key = row["batch"], n
                    rows[key] = min(rows.get(key, row), row, key=operator.itemgetter("seconds"))
        for (size, _), row in rows.items():
            row["same_bits"] = row["bits"] == rows[size, 0]["bits"]
        progress("sizes of sums")
        touched = _touched(data, (1, 4, 16, 64) if quick else (1, 4, 16, 64, 256, 1024))
        progress("bytes per second")
        rate = _byte_rate()
        progress("killing workers")
        killed = _killed(data[:256], 1 if quick else KILLS)
    result = {
        "machine": machine.describe(),
        "events_per_recording": float(data.counts.mean()),
        "rows": list(rows.values()),
        "touched": touched,
        "bytes_per_s": rate,
        "killed": killed,
    }
    return result | {"simulated": scaling.fit(result)}


def _turn(data: Recordings, batches: tuple[int, ...], workers: int) -> list[dict[str, Any]]:
    """Batches of every size on this number of workers; 0: on one core of this process, without Dask."""
    if not workers:
        return [_batches(data[: 8 * size], size, 0, "cpu") for size in batches]
    with cluster.connect("local", workers=workers) as client:
        return [_batches(data[: 8 * size], size, workers, Workers(client)) for size in batches]


def _batches(data: Recordings, size: int, workers: int, engine: Any) -> dict[str, Any]:
    """Seconds and bytes per batch, and a digest of the parameters after all batches."""
    network = _network(data, engine)
    start = network.snapshot()
    network.partial_fit(
        data, batch_size=size
    )  # so that workers load compiled code and map the file before the clock starts
    network.restore(start)
    exchanged = {}
    if workers:
        engine.sent = engine.received = engine.batches = 0
    began = time.perf_counter()
    network.partial_fit(data, batch_size=size)
    seconds = (time.perf_counter() - began) * size / len(data)
    if workers:
        exchanged = {way: getattr(engine, way) / engine.batches for way in ("sent", "received")}
    bits = network.parameters.digest()
    return {"batch": size, "workers": workers, "seconds": seconds, **exchanged, "bits": bits}


def _network(data: Recordings, engine: Any) -> Network:
    """The network for digits, started on a few recordings."""
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10), rule=_RULE, threads=1).start(data[:20])
    network.engine = engine
    return network


def _touched(data: Recordings, sizes: tuple[int, ...]) -> list[dict[str, int]]:
    """Size in bytes of the sums of each number of recordings."""
    network, options = _network(data, "cpu"), Options("float32")
    rows = []
    for size in sizes:
        some = data[:size]
        dealt = cpu.deal(network.stages, some.counts, options)
        batch = pack(some, network.class_numbers(some))
        whole = [(0, len(dealt))]
        (sums,) = cpu.learn_lanes(network.stages, network.parameters, _RULE, batch, options, dealt, whole)[1]
        rows.append({"recordings": size, "bytes": SparseSums.of(sums).nbytes, "of": sums.centroids.nbytes})
    return rows


def _byte_rate(small: int = 1 << 20, large: int = 9 << 20, repeats: int = 5) -> float:
    """Bytes per second to a worker and back, from the difference of two sizes, which cancels constant overhead."""
    fastest = {}
    with cluster.connect("local", workers=1) as client:
        for size in (small, large):
            there = np.random.default_rng(0).integers(0, 256, size, np.uint8)
            times = []
            for _ in range(repeats):
                began = time.perf_counter()
                client.submit(np.copy, there, pure=False).result()
                times.append(time.perf_counter() - began)
            fastest[size] = min(times)
    return 2 * (large - small) / (fastest[large] - fastest[small])


def _killed(data: Recordings, kills: int) -> dict[str, Any]:
    """Train while workers are killed during a batch, and compare the model bit by bit with one trained locally."""
    killed: list[int] = []
    batches = 0
    with cluster.connect("local", workers=2) as client:

        def kill() -> None:
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid and nanny.pid not in killed]
            killed.append(pids[0])
            os.kill(pids[0], getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has one way to end a process

        def count(_: Any) -> None:
            nonlocal batches
            batches += 1
            if batches % 4 == 1 and len(killed) < kills:
                threading.Timer(0.03, kill).start()  # a batch takes longer than this

        settings: dict[str, Any] = {"passes": 4 * kills, "batch_size": 64}
        spread = _network(data, Workers(client)).train(data, progress=count, **settings)
    alone = _network(data, "cpu").train(data, **settings)
    return {"workers_killed": len(killed), "batches": batches, "same_bits": spread.parameters.same(alone.parameters)}
