"""How fast a GPU is: events per second of the paper's network for digits, of a deeper one, and of many side by side.

The recordings are as long as N-MNIST's, and as many as in an epoch. Two clocks: `card`, from the start of the first
kernel to the end of the last, and `call`, the whole call including the host's work, with events already on the card.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from timesurf.bench import workloads
from timesurf.engines import Batch, Learner, Options, Parameters, Trace, pack
from timesurf.engines.data import Array
from timesurf.engines.reference import neighbourhood
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.results import machine
from timesurf.rule import Rule

RECORDINGS, DIFFERENT = 60_000, 4096  # in an epoch; different ones, more than the card's caches hold
BATCHES = (60_000, 8192, 2048, 512, 128, 32)
_GAPS = 100  # near-ties that are measured
RESTING = (128, 512)  # units of a hidden layer that rests
SIDE_BY_SIDE = (1, 4, 16, 64)  # networks, at a batch of 128


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure inference and training.

    Parameters
    ----------
    quick : bool
        Fewer recordings, for a test of the benchmark itself.
    progress : callable
        Called with the name of each measurement before it begins.

    Returns
    -------
    dict
        The machine, and one row per measurement.
    """
    from timesurf.engines.cuda import engine as cuda

    different, n = (128, 1024) if quick else (DIFFERENT, RECORDINGS)
    some = workloads.strokes(different, spread=0.28)
    epoch = some[np.arange(n) % different]
    network = workloads.started(workloads.NMNIST, some, "cuda")
    result: dict[str, Any] = {
        "machine": machine.describe("cuda"),
        "recordings": n, "events": int(epoch.counts.sum()), "rows": [],
    }  # fmt: skip

    def measure(what: str, events: int, card: Any, call: Callable[[], Any], **about: Any) -> None:
        progress(what)
        seconds = _seconds(card, call)
        rates = {f"{clock}_events_per_s": events / s for clock, s in seconds.items()}
        result["rows"].append({"what": what, **about, **rates})

    def inference(what: str, network: Network) -> None:
        card, total = cuda.card_of(network.stages, 1, False), int(epoch.counts.sum())
        measure(what, total, card, lambda: cuda.infer_all(network.stages, network.parameters, epoch))

    def training(what: str, network: Network, size: int, *, networks: int = 1, deterministic: bool = False) -> None:
        parts = [slice(a, min(a + size, len(epoch))) for a in range(0, len(epoch), size)]
        label, total = network.class_numbers(epoch), networks * int(epoch.counts.sum())
        learners = [Learner(network.stages, network.parameters.copy(), epoch, label) for _ in range(networks)]
        rules, options = [[workloads.STILL] * len(parts)] * networks, Options(deterministic=deterministic)
        card = cuda.card_of(network.stages, networks, deterministic)
        about = {"batch": size, "networks": networks, "deterministic": deterministic}
        measure(what, total, card, lambda: cuda.learn_pass(learners, parts, rules, options), **about)

    inference("inference", network)
    for size in BATCHES:
        training(f"training, batches of {size:,}", network, size)
    for size in (2048, 512, 128):
        training(f"training, batches of {size:,}, deterministic", network, size, deterministic=True)
    epoch = epoch[: n // 4]
    for count in SIDE_BY_SIDE[: 2 if quick else None]:
        training(f"training, batches of 128, {count} side by side", network, 128, networks=count)
    epoch = epoch[: n // 8]
    deeper = workloads.started(workloads.DEEPER, some, "cuda")
    inference("three layers, inference", deeper)
    training("three layers, training, batches of 2,048", deeper, 2048)
    both = workloads.strokes(different // 4, field=(34, 34), polarities=2, spread=0.28)
    epoch = both[np.arange(n // 4) % len(both)]
    two = workloads.started(workloads.NMNIST, both, "cuda")
    inference("both polarities, inference", two)
    training("both polarities, training, batches of 2,048", two, 2048)
    for units in RESTING:
        result["rows"] += _resting(units, epoch, progress)
    return result


def _resting(units: int, epoch: Recordings, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """Rows of a network whose hidden layer rests: what it emits, the last layer on that, inference with evidence."""
    from timesurf.engines.cuda import emission
    from timesurf.engines.cuda import engine as cuda
    from timesurf.engines.cuda import events as cudaevents

    network = workloads.resting(units, epoch[:200], "cuda")
    (hidden, last), (below, top) = network.stages, network.parameters
    label, total, rows = network.class_numbers(epoch), int(epoch.counts.sum()), []
    seen: list[Recordings] = []

    def emit() -> None:
        found = cuda.emitted((hidden,), Parameters([below]), epoch)
        assert found is not None
        seen[:] = [found]

    def row(what: str, card: Any, call: Callable[[], Any]) -> None:
        progress(f"{units} units that rest, {what}")
        seconds = _seconds(card, call)
        rates = {f"{clock}_events_per_s": total / s for clock, s in seconds.items()}
        rows.append({"what": f"{units} units that rest, {what}", "units": units, **rates})

    with cuda.resting_stream():
        ((events, _),) = cudaevents.stretches([epoch], [label], [slice(0, len(epoch))])
        kernel = _Clock(lambda: emission.outputs(hidden, below, events))
        kernel()
        kernel()
    row("winners", kernel, emit)
    card, learner = cuda.card_of((last,), 1, False), Learner((last,), Parameters([top]), seen[0], label)
    for size in (2048, 256, 16):
        parts = [slice(a, min(a + size, len(epoch))) for a in range(0, len(epoch), size)]
        learn = partial(cuda.learn_pass, [learner], parts, [[workloads.STILL_DELTA] * len(parts)])
        row(f"last layer by the delta rule, batches of {size:,}", card, learn)
    whole = _Clock(lambda: cuda.infer_all(network.stages, network.parameters, epoch, Options(temperature=5.0)))
    row("inference with evidence", whole, whole)
    return rows


class _Clock:
    """Times a call from the first to the last of what it starts on the card, on the current stream."""

    def __init__(self, call: Callable[[], Any]) -> None:
        import cupy as cp

        self._call, self._began, self._ended = call, cp.cuda.Event(), cp.cuda.Event()

    def __call__(self) -> None:
        self._began.record()
        self._call()
        self._ended.record()

    def seconds(self) -> float:
        """How long it took."""
        import cupy as cp

        self._ended.synchronize()
        return float(cp.cuda.get_elapsed_time(self._began, self._ended) / 1e3)


def agreement(network: Network, recordings: Recordings) -> dict[str, Any]:
    """Compare the card's results with those of the CPU engine in float64, which is held to the reference.

    Winners of every event come from the general path, votes and updates from the path that the network takes.

    Parameters
    ----------
    network : Network
        The network, at the start of a step.
    recordings : Recordings
        What it runs on and learns from.

    Returns
    -------
    dict
        How many winners and votes differ, and by how much the steps of parameters do, relative to the CPU's.
    """
    from timesurf.engines.cpu import engine as cpu
    from timesurf.engines.cuda import engine as cuda

    batch = pack(recordings, network.class_numbers(recordings))
    rule, double = Rule(alpha=1e-6, beta=1e-6, gamma=1e-6, delta=1e-6), Options("float64")
    stages, start = network.stages, network.parameters
    ours, right = (engine.infer(stages, start, batch, double, trace=True).trace for engine in (cuda, cpu))
    assert ours is not None and right is not None  # noqa: PT018
    learned = [start.copy(), start.copy()]
    votes = [
        engine.learn_batch(stages, parameters, rule, batch, double).votes
        for engine, parameters in zip((cuda, cpu), learned, strict=True)
    ]

    def apart(before: Array, *after: Array) -> float:
        mine, theirs = (a - before for a in after)
        return float(np.linalg.norm(mine - theirs) / np.linalg.norm(theirs))

    other = (ours.winner != right.winner) & (ours.winner >= 0) & (right.winner >= 0)
    gaps = [gap(network, batch, right, i, k, ours.winner[i, k]) for i, k in np.argwhere(other)[:_GAPS]]
    return {
        "events": len(batch.entry),
        "winners_differ": other.sum(axis=0).tolist(),
        "largest_gap": max(gaps, default=0.0),
        "votes_differ": int(np.abs(votes[0] - votes[1]).sum()) // 2,
        "centroid_steps_differ": [
            apart(units.centroids, *(of[k].centroids for of in learned)) for k, units in enumerate(start)
        ],
        "threshold_steps_differ": apart(start[0].thresholds, *(of[0].thresholds for of in learned)),
    }


def gap(network: Network, batch: Batch, trace: Trace, event: int, layer: int, unit: int) -> float:
    """How much further than the closest unit this one is from an event's surface in a layer, in float64."""
    begin = batch.offsets[np.searchsorted(batch.offsets, event, side="right") - 1]
    so_far = np.arange(begin, event + 1)
    so_far = so_far[trace.passed[so_far] >= layer]
    first, stage = network.stages[0], network.stages[layer]
    place: Any = np.unravel_index(batch.entry[so_far], (*first.field, first.polarities))
    x, p = place[:-1], place[-1]
    for k in range(layer):
        x, p = network.stages[k].layer.output(x), trace.winner[so_far, k]
    T = np.full((*stage.field, stage.polarities), -np.inf)
    T[(*x, p)] = batch.t[so_far]  # of equal places the last stays
    cut = neighbourhood(stage, T, tuple(int(v[-1]) for v in x))
    ts = np.exp(-(batch.t[event] - cut) / stage.tau)
    distance = np.linalg.norm((ts - network.parameters[layer].centroids).reshape(stage.units, -1), axis=1)
    return float(distance[unit] - distance.min())


def _seconds(card: Any, call: Callable[[], Any], repeats: int = 3) -> dict[str, float]:
    """Seconds of the fastest of some calls by both clocks, after one that warms up."""
    call()
    best = {"card": np.inf, "call": np.inf}
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        best["call"] = min(best["call"], time.perf_counter() - began)
        best["card"] = min(best["card"], card.seconds())
    return best
