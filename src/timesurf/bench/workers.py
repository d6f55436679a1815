"""Many workers: what a batch costs on a Dask cluster of this machine's processes, and what stays the same.

Clusters of several sizes stand side by side and take turns, so that what else the machine does hits all of them. The
measured batches are what `bench/scaling.py` has to reproduce.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import cluster
from timesurf.bench import machine, scaling, workloads
from timesurf.engines import Options, cpu, pack
from timesurf.engines.exchange import ThinSums
from timesurf.engines.workers import Workers
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.model import Network
from timesurf.rule import Rule

WORKERS = (1, 2, 4)
BATCHES = (128, 512)
KILLS = 5
_RULE = Rule(alpha=1e-6, beta=1e-6, gamma=1e-6, delta=1e-6)  # learns, and stays sane however often it is repeated


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure all; `quick` takes fewer recordings and smaller clusters."""
    recordings, repeats, sizes, batches = (128, 1, (1, 2), (64,)) if quick else (4096, 3, WORKERS, BATCHES)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "strokes.npz"
        npz.write(file, workloads.strokes(recordings, spread=0.28))
        data = npz.read(file)
        progress("starting workers")
        clients = {n: stack.enter_context(cluster.connect("local", workers=n)) for n in sizes}
        rows = []
        for size in batches:
            progress(f"batches of {size}")
            rows += _batches(data[: 8 * size], size, clients, repeats)
        progress("touched entries")
        touched = _touched(data, (1, 4, 16, 64) if quick else (1, 4, 16, 64, 256, 1024))
        progress("killing workers")
        killed = _killed(data[:256], 1 if quick else KILLS)
    result = {
        "machine": machine.describe(),
        "events_a_recording": float(data.counts.mean()),
        "rows": rows,
        "touched": touched,
        "killed": killed,
    }
    return result | {"simulated": scaling.fit(result)}


def _batches(data: Recordings, size: int, clients: dict[int, Any], repeats: int) -> list[dict[str, Any]]:
    """Seconds and bytes of a batch, on one core here and on so many workers; and whether the bits are the same."""
    start = _network(data, "cpu").snapshot()

    def learnt(engine: Any) -> tuple[float, Network]:
        network = _network(data, engine).restore(start)
        began = time.perf_counter()
        network.partial_fit(data, batch_size=size)
        return time.perf_counter() - began, network

    here: dict[int, tuple[float, Network]] = {0: learnt("cpu")}
    engines = {n: Workers(client) for n, client in clients.items()}
    for engine in engines.values():
        learnt(engine)  # workers read what is compiled, and map the file
        engine.sent = engine.received = engine.batches = 0
    for _ in range(repeats):
        for n in (0, *engines):
            seconds, network = learnt(engines.get(n, "cpu"))
            here[n] = min(here.get(n, (np.inf, network)), (seconds, network), key=lambda pair: pair[0])
    number = -(-len(data) // size)
    return [
        {
            "batch": size, "workers": n, "seconds": seconds / number,
            **({} if n == 0 else _exchanged(engines[n])),
            "same_bits": network.parameters.same(here[0][1].parameters),
        }
        for n, (seconds, network) in here.items()
    ]  # fmt: skip


def _exchanged(engine: Workers) -> dict[str, float]:
    return {"sent": engine.sent / engine.batches, "received": engine.received / engine.batches}


def _network(data: Recordings, engine: Any) -> Network:
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10), rule=_RULE, threads=1).start(data[:20])
    network.engine = engine
    return network


def _touched(data: Recordings, sizes: tuple[int, ...]) -> list[dict[str, int]]:
    """Bytes of the sums of so many recordings."""
    network, options = _network(data, "cpu"), Options("float32")
    rows = []
    for size in sizes:
        some = data[:size]
        dealt = cpu.deal(network.stages, some.counts, options)
        batch = pack(some, network.class_numbers(some))
        whole = [(0, len(dealt))]
        (sums,) = cpu.learn_lanes(network.stages, network.parameters, _RULE, batch, options, dealt, whole)[1]
        rows.append({"recordings": size, "bytes": ThinSums.of(sums).nbytes, "of": sums.centroids.nbytes})
    return rows


def _killed(data: Recordings, kills: int) -> dict[str, Any]:
    """Train while workers are killed in the middle of a batch; whether the model is the one trained here."""
    killed: list[int] = []
    batches = 0
    with cluster.connect("local", workers=2) as client:

        def kill() -> None:
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid and nanny.pid not in killed]
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

        def told(_: Any) -> None:
            nonlocal batches
            batches += 1
            if batches % 4 == 1 and len(killed) < kills:
                threading.Timer(0.03, kill).start()  # a batch takes longer

        settings: dict[str, Any] = {"passes": 4 * kills, "batch_size": 64}
        spread = _network(data, Workers(client)).train(data, progress=told, **settings)
    alone = _network(data, "cpu").train(data, **settings)
    return {"workers_killed": len(killed), "batches": batches, "same_bits": spread.parameters.same(alone.parameters)}
