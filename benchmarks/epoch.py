"""One epoch of an N-MNIST-sized data set: 60,000 recordings, 243 million events, from a memory-mapped file.

Real recordings, repeated with jitter, where TIMESURF_DATA has nmnist_train_1000.npz; otherwise simulated strokes.

Run: python benchmarks/epoch.py FOLDER [recordings] [JSON file]      FOLDER gets a file of 1.5 GB, kept for next time
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from timesurf import Full, Network, Recordings, Rule, Window
from timesurf.bench import workloads
from timesurf.io import npz
from timesurf.results import machine


def source() -> tuple[str, Recordings]:
    """A thousand recordings on 28 x 28 pixels, polarities merged."""
    path = Path(os.environ.get("TIMESURF_DATA", "")) / "nmnist_train_1000.npz"
    if not path.is_file():
        return "strokes", workloads.strokes(1000)
    data = npz.read(path, field=(34, 34))
    x, y = (v.astype(np.int16) - 3 for v in data.coords)
    inside = (x >= 0) & (x < 28) & (y >= 0) & (y < 28)
    offsets = np.concatenate([[0], np.cumsum(inside)])[data.offsets]
    about = {"offsets": offsets, "field": (28, 28), "labels": data.labels.astype(int)}
    return "N-MNIST", Recordings([x[inside].astype(np.uint8), y[inside].astype(np.uint8)], data.t[inside], **about)


def write(path: Path, recordings: int) -> None:
    """The source again and again, each copy shifted by up to a pixel and jittered by some microseconds."""
    _, data = source()
    rng = np.random.default_rng(0)
    copies = -(-recordings // len(data))
    x, y = data.coords
    parts = {"x": [], "y": [], "t": []}
    for _ in range(copies):
        dx, dy = rng.integers(-1, 2, 2)
        parts["x"].append(np.clip(x.astype(np.int16) + dx, 0, 27).astype(np.uint8))
        parts["y"].append(np.clip(y.astype(np.int16) + dy, 0, 27).astype(np.uint8))
        parts["t"].append((data.t + rng.integers(0, 20)).astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum(np.tile(data.counts, copies))])
    flat = {name: np.concatenate(values) for name, values in parts.items()}
    every = Recordings(
        [flat["x"], flat["y"]], flat["t"], offsets=offsets, field=(28, 28), labels=np.tile(data.labels, copies)
    )
    npz.write(path, every[:recordings])


def private_memory() -> int:
    """Bytes of this process that are its own: not the mapped file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def main(folder: str, recordings: str = "60000", out: str | None = None) -> None:
    path = Path(folder) / f"epoch_{recordings}.npz"
    if not path.is_file() and os.fork() == 0:  # a process of its own, so that its memory is not counted
        write(path, int(recordings))
        os._exit(0)
    while not path.is_file():
        time.sleep(1)
    began = time.perf_counter()
    data = npz.read(path)
    opened = time.perf_counter() - began
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
    result = {
        "source": source()[0], "recordings": len(data), "events": events, "seconds": seconds,
        "events_per_s": events / seconds, "open_and_check_s": opened,
        "private_bytes_before": before, "private_bytes_most": most, "history": network.history,
        "machine": machine.describe(),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if out:
        Path(out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
