"""timesurf compared with other software that a user could choose, on the same events, in one run, on one core.

The task: time surfaces of 9 x 9 around every event of N-MNIST-like recordings, and the closest of 32 centroids.

Run: pip install tonic; python benchmarks/peers.py [JSON file]
"""

import json
import sys
import time

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from timesurf import Full, Network, Rule, Window
from timesurf.bench import workloads
from timesurf.engines import Options, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.results import machine

SIZE, UNITS, TAU = 9, 32, 100_000


def rate(call, amount: int, seconds: float = 2.0) -> float:
    """Amount per second: the best of as many calls as fit, at least two; the first is not counted."""
    call()
    best, end = np.inf, time.perf_counter() + seconds
    repeats = 0
    while repeats < 2 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
        repeats += 1
    return amount / best


def numpy_layer(x, y, t, centroids, learn: float = 0.0) -> None:
    """HOTS's first layer as its paper describes it: a loop over events, NumPy inside."""
    half = SIZE // 2
    last = np.full((28 + 2 * half, 28 + 2 * half), -np.inf)
    for xi, yi, ti in zip(x, y, t, strict=True):
        last[xi + half, yi + half] = ti
        surface = np.exp((last[xi : xi + SIZE, yi : yi + SIZE] - ti) / TAU).ravel()
        f = np.argmin(((centroids - surface) ** 2).sum(axis=1))
        if learn:
            centroids[f] += learn * (surface - centroids[f])


def main(path: str | None = None) -> None:
    """Measure, print, and write the figures."""
    data = workloads.strokes(100)
    layer = Network([Window(SIZE, units=UNITS, tau=TAU)], data.field, 1, range(UNITS)).start(data[:5], start="mean")
    whole = Network([Window(SIZE, units=UNITS, tau=TAU), Full(tau="1 ms")], data.field, 1, range(10)).start(data[:20])
    batch, options = pack(data, whole.class_numbers(data)), Options("float32", 1)
    unlabelled = pack(data)
    slow = Rule(1e-12, 1e-12, 1e-12, 1e-12)
    events = len(batch.entry)
    one = data[0]
    (x, y), t = one.coords, one.t
    surfaces = layer.surfaces(data[:10]).reshape(-1, SIZE * SIZE).astype(np.float32)
    kmeans = MiniBatchKMeans(UNITS, n_init=1, random_state=0).fit(surfaces)
    centroids = kmeans.cluster_centers_.astype(np.float64)
    rows: dict[str, float] = {}
    with threadpool_limits(1):
        rows["timesurf: surfaces + closest unit"] = rate(
            lambda: cpu.infer(layer.stages, layer.parameters, batch, options), events
        )
        rows["timesurf: same + class layer over 28 x 28 x 32"] = rate(
            lambda: cpu.infer(whole.stages, whole.parameters, batch, options), events
        )
        rows["timesurf: learn one layer, batch"] = rate(
            lambda: cpu.learn_batch(layer.stages, layer.parameters, slow, unlabelled, options), events
        )
        rows["timesurf: learn both layers, batch"] = rate(
            lambda: cpu.learn_batch(whole.stages, whole.parameters, slow, batch, options), events
        )
        rows["timesurf: learn both layers, online"] = rate(
            lambda: cpu.learn_online(whole.stages, whole.parameters, slow, batch, options), events
        )
        rows["NumPy loop: surfaces + closest unit"] = rate(lambda: numpy_layer(x, y, t, centroids), len(t))
        rows["NumPy loop: learn one layer, online"] = rate(lambda: numpy_layer(x, y, t, centroids, 1e-6), len(t))
        rows["scikit-learn MiniBatchKMeans: closest unit, surfaces given"] = rate(
            lambda: kmeans.predict(surfaces), len(surfaces)
        )
        rows["scikit-learn MiniBatchKMeans: learn one layer, surfaces given"] = rate(
            lambda: kmeans.partial_fit(surfaces), len(surfaces)
        )
        try:
            from tonic.transforms import ToTimesurface
        except ImportError:
            print("tonic is not installed: its row is left out (pip install tonic)")
        else:
            dtype = [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]
            structured = np.array(list(zip(x, y, t, np.zeros_like(x), strict=True)), dtype=dtype)
            transform = ToTimesurface(sensor_size=(28, 28, 1), dt=1000, tau=TAU)
            made = len(transform(structured))
            rows["tonic ToTimesurface: surfaces of the whole field, one per millisecond"] = rate(
                lambda: transform(structured), made
            )
    base = rows["timesurf: surfaces + closest unit"]
    print(f"{'on one core':68s} {'per second':>12s} {'timesurf is':>12s}")
    for name, value in rows.items():
        ours = rows["timesurf: learn one layer, batch"] if "learn" in name else base
        ratio = (
            ""
            if name.startswith("timesurf")
            else f"{ours / value:.0f} x"
            if ours > 10 * value
            else f"{ours / value:.1f} x"
        )
        print(f"{name:68s} {value:12,.0f} {ratio:>12s}")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"machine": machine.describe(), "per_second": rows}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
