"""How fast the engines are: events/s beside the plain engine and beside the machine's multiply-add peak, in one run.

Machines are shared and noisy, so figures are compared only within one run, where they are measured one after another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from timesurf.bench import workloads
from timesurf.datasets import sentences
from timesurf.engines import Options, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import yardstick
from timesurf.events import Recordings
from timesurf.layers import Full, Layer, Window
from timesurf.network import Network
from timesurf.presets import SENTENCES
from timesurf.results import machine

JOBS = ("infer", "batch", "online", "online32")  # the last: online learning with precision="float32"


def run(
    *, digits: Recordings | None = None, quick: bool = False, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure all networks and jobs.

    Parameters
    ----------
    digits : Recordings, optional
        Of one polarity, with labels from 0 to 9, for the networks of digits: the first 120 of them. By default
        generated pen strokes.
    quick : bool
        Use less data and fewer repeats.
    progress : callable
        Called with what is measured next.

    Returns
    -------
    dict
        The machine, its multiply-add peak, rates per network and job, and time per event by size.

    """
    about = machine.describe()
    seconds = 0.05 if quick else 1.0
    progress("multiply-add peak")
    peak = multiply_add_peak(seconds)
    result: dict[str, Any] = {"machine": about, "multiply_adds_per_s": peak, "networks": {}, "growth": {}}
    recordings, events = (2, 100) if quick else (120, 4050)
    data = workloads.strokes(recordings, events=events) if digits is None else digits[:recordings]
    result["digits"] = "generated pen strokes" if digits is None else "recordings"
    for name, network, some in _networks(data):
        progress(name)
        result["networks"][name] = _measure(network, some, about["cores"], seconds, peak)
    for name, rows in _growth(quick):
        progress(f"growth with {name}")
        result["growth"][name] = [
            {name: size, "infer_ns": 1e9 * _one_more(network, data, seconds / 3)} for size, network, data in rows
        ]
    return result


def multiply_add_peak(seconds: float) -> float:
    """Multiply-adds per second of one core in float32: a large matrix product, the densest arithmetic there is."""
    n = 1024
    a = np.random.default_rng(0).random((n, n), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):
        return n**3 * _per_second(lambda: a @ a, seconds)


def _measure(network: Network, data: Recordings, cores: int, seconds: float, peak: float) -> dict[str, Any]:
    """Events/s of every job: one thread, all threads, the plain engine; and the share of the peak."""
    products = sum(math.prod(s.surface_shape) * s.units for s in network.stages if s.layer.overlaps)
    few = data[: max(1, len(data) // 60)]
    row: dict[str, Any] = {"multiply_adds_per_event": products}
    for job in JOBS:
        one = _rate(network, data, job, 1, seconds)
        slow = _rate(network, few, job, 1, seconds, engine=yardstick)
        row[job] = {"events_per_s": one, "plain_events_per_s": slow, "times_plain": one / slow}
        if job == "online32":
            row[job]["times_infer"] = one / row["infer"]["events_per_s"]
        elif job != "online":
            every = _rate(network, data, job, cores, seconds)
            row[job] |= {"all_cores_events_per_s": every, "times_one_core": every / one}
            if products:
                row[job]["share_of_peak"] = one * products / peak
    return row


def _rate(network: Network, data: Recordings, job: str, threads: int, seconds: float, *, engine: Any = cpu) -> float:
    """Events per second of one job, the best of several repeats."""
    options = Options("float32", threads, precision="float32" if job == "online32" else "float64")
    batch, parameters, stages = pack(data, network.class_numbers(data)), network.parameters.copy(), network.stages
    calls: dict[str, Callable[[], Any]] = {
        "infer": lambda: engine.infer(stages, parameters, batch, options),
        "batch": lambda: engine.learn_batch(stages, parameters, workloads.STILL, batch, options),
        "online": lambda: engine.learn_online(stages, parameters, workloads.STILL, batch, options),
    }
    return len(batch.entry) * _per_second(calls[job.removesuffix("32")], seconds)


def _one_more(network: Network, data: Recordings, seconds: float) -> float:
    """Seconds per additional event on one core, without what a call costs before its first event."""
    few = data[: max(1, len(data) // 10)]
    events = [int(some.counts.sum()) for some in (few, data)]
    times = [n / _rate(network, some, "infer", 1, seconds) for n, some in zip(events, (few, data), strict=True)]
    return (times[1] - times[0]) / (events[1] - events[0])


def _per_second(call: Callable[[], Any], seconds: float) -> float:
    """Calls per second: the fastest of as many as fit in the time, at least three, after one that warms up."""
    call()
    best, end, repeats = math.inf, time.perf_counter() + seconds, 0
    while repeats < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
        repeats += 1
    return 1 / best


def _networks(data: Recordings) -> Iterator[tuple[str, Network, Recordings]]:
    alone = workloads.NMNIST[:1]  # every unit a class of its own, so that nothing else has to be computed
    yield "window", Network(alone, data.field, data.polarities, range(32)).start(data[:20]), data
    yield "nmnist", workloads.started(workloads.NMNIST, data), data
    yield "deeper", workloads.started(workloads.DEEPER, data), data[: max(1, len(data) // 4)]
    words = sentences.make(len(data))
    yield "sentences", workloads.started(SENTENCES.layers, words), words


def _growth(quick: bool) -> Iterator[tuple[str, Iterator[tuple[int, Network, Recordings]]]]:
    """One size changed at a time from the N-MNIST network."""
    first, last = workloads.NMNIST
    recordings = 10 if quick else 40
    data = workloads.strokes(recordings)

    def vary(sizes: list[int], layers: Callable[[int], tuple[Layer, ...]]) -> Iterator[tuple[int, Network, Recordings]]:
        return ((size, workloads.started(layers(size), data), data) for size in sizes)

    def lengths(sizes: list[int]) -> Iterator[tuple[int, Network, Recordings]]:
        for size in sizes:
            longer = workloads.strokes(recordings, events=size)
            yield size, workloads.started(workloads.NMNIST, longer), longer

    def fields(*, anywhere: bool) -> Iterator[tuple[int, Network, Recordings]]:
        for size in ((28, 28), (64, 64), (128, 128), (240, 180)):
            wider = workloads.strokes(2 * recordings, field=size, polarities=32, anywhere=anywhere)
            yield math.prod(size), workloads.started((Full(tau="1 ms"),), wider), wider

    yield "events", lengths([1000, 4000, 16000])
    yield "units", vary([8, 16, 32, 64, 128], lambda n: (replace(first, units=n), last))
    yield "window", vary([3, 5, 9, 13, 17], lambda n: (Window(n, units=32, tau="100 ms"), last))
    yield "field", fields(anywhere=False)
    yield "scattered field", fields(anywhere=True)
    yield "layers", vary([1, 2, 3, 4], lambda n: (first, *[Window(3, units=32, tau="20 ms")] * (n - 1), last))
