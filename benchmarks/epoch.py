"""An N-MNIST-sized data set: 60,000 recordings, 248 million events on 34 x 34 pixels, in a memory-mapped file.

Measures one epoch in Python (speed, memory of the process beside the mapped file), and the peak memory of the real
command `timesurf train --preset nmnist --passes 1`, which crops the events and holds recordings out on the way.
Real recordings, repeated with jitter, where TIMESURF_DATA has nmnist_train_1000.npz; otherwise simulated strokes.

Run: python benchmarks/epoch.py FOLDER [recordings] [JSON file] [command]

FOLDER gets a file of 1.7 GB, kept for next time. The last word, `command`, leaves out the epoch in Python: memory alone
can be measured where other programs run.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from timesurf import Full, Network, Recordings, Rule, Window
from timesurf.bench import workloads
from timesurf.datasets import nmnist
from timesurf.io import npz
from timesurf.results import machine


def source() -> tuple[str, Recordings]:
    """A thousand recordings as N-MNIST's camera records them: 34 x 34 pixels, both polarities."""
    path = Path(os.environ.get("TIMESURF_DATA", "")) / nmnist.SAMPLE
    if path.is_file():
        return "N-MNIST", nmnist.read(path)
    made = workloads.strokes(1000)
    polarity = np.random.default_rng(0).integers(0, 2, len(made.t), dtype=np.uint8)
    coords = [(x + 3).astype(np.uint8) for x in made.coords]
    return "strokes", Recordings(
        coords, made.t, polarity, made.offsets, field=nmnist.FIELD, polarities=2, labels=made.labels
    )


def write(path: Path, recordings: int) -> None:
    """The source again and again, each copy shifted by up to a pixel and by some microseconds."""
    _, data = source()
    rng = np.random.default_rng(0)
    copies, n = -(-recordings // len(data)), len(data.t)
    x, y, p = (np.empty(copies * n, np.uint8) for _ in range(3))
    t = np.empty(copies * n, np.int32)
    for copy in range(copies):
        part = slice(copy * n, (copy + 1) * n)
        for into, values in zip((x, y), data.coords, strict=True):
            into[part] = np.clip(values.astype(np.int16) + rng.integers(-1, 2), 0, 33)
        t[part], p[part] = data.t + rng.integers(0, 20), data.p
    offsets = np.concatenate([[0], np.cumsum(np.tile(data.counts, copies))])
    labels = np.tile(data.labels, copies)
    every = Recordings([x, y], t, p, offsets, field=nmnist.FIELD, polarities=2, labels=labels)
    npz.write(path, every[:recordings])


def private_memory() -> int:
    """Bytes of this process that are its own: not the mapped file."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def command(path: Path) -> dict[str, float]:
    """Seconds and peak resident memory of a training from the command line; mapped pages count too."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        train = ["train", path, "--preset", "nmnist", "--passes", "1", "--model", Path(folder) / "digits.tsf"]
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "timesurf", *map(str, train)])
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"timesurf train ended with status {status}.")
    return {"seconds": time.perf_counter() - began, "peak_bytes": usage.ru_maxrss * 1024}


def epoch(path: Path) -> dict[str, object]:
    """Speed and memory of one epoch in this process."""
    began = time.perf_counter()
    whole = npz.read(path)
    opened = time.perf_counter() - began
    data = nmnist.prepared(whole)
    prepared = time.perf_counter() - began - opened
    layers = [Window(9, units=32, tau="10 ms"), Full(tau="1 ms")]
    rule = Rule(alpha=2.3e-5, beta=0, gamma=1e-7, delta=1e-8, d=0.3)
    network = Network(layers, data.field, 1, range(10), rule=rule, seed=0)
    network.start(data, start="kmeans", margin=1.2, sample=60)
    network.partial_fit(data[:256], batch_size=128)  # compiled and warm
    before, most = private_memory(), 0

    def watch(_progress) -> None:
        nonlocal most
        most = max(most, private_memory())

    order = np.random.default_rng(0).permutation(len(data))
    began = time.perf_counter()
    network.partial_fit(data[order], batch_size=128, progress=watch)
    seconds = time.perf_counter() - began
    events = int(data.counts.sum())
    return {
        "recordings": len(data), "events": events, "seconds": seconds,
        "events_per_s": events / seconds, "open_and_check_s": opened, "prepare_s": prepared,
        "private_bytes_before": before, "private_bytes_most": most, "history": network.history,
    }  # fmt: skip


def main(folder: str, recordings: str = "60000", out: str | None = None, what: str = "both") -> None:
    path = Path(folder) / f"whole_{recordings}.npz"
    if not path.is_file():
        child = os.fork()  # a process of its own, so that its memory is not counted
        if child == 0:
            write(path, int(recordings))
            os._exit(0)
        os.waitpid(child, 0)
    trained = command(path)  # first: a child's peak starts from the memory of its parent
    file = {"source": source()[0], "events_in_file": len(npz.read(path).source), "bytes": path.stat().st_size}
    result = {**file, "command": trained, **({} if what == "command" else epoch(path)), "machine": machine.describe()}
    print(json.dumps(result, indent=1))
    if out:
        Path(out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
