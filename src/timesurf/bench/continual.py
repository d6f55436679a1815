"""The paper's continual-learning figure: x and / change places, pixel by pixel, under a network without labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.bench import classification, machine
from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.metrics import event_shares
from timesurf.model import Progress
from timesurf.presets import SENTENCES

Array = NDArray[Any]
RECORDINGS = (250, 250, 250, 1000)  # of each step, as in the paper
LAST = 50  # recordings of a step that its figure is the mean of


def run(
    networks: int = 10,
    seed: int = 0,
    *,
    recordings: int = 1000,
    steps: tuple[int, ...] = RECORDINGS,
    workers: int | None = None,
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Train on task 1, then shift; one row a network, accuracies of every recording and at the end of every step."""
    began = time.perf_counter()
    about = machine.describe()
    with ThreadPoolExecutor(workers or about["cores"]) as pool:
        rows = list(pool.map(lambda n: one(seed, n, recordings, steps, progress), range(networks)))
    ends = np.cumsum(steps)
    result: dict[str, Any] = {}
    for name in ("adapting", "ablated"):
        curves = [np.round(row[name], 4).tolist() for row in rows]
        means = [[float(np.mean(curve[max(end - LAST, 0) : end])) for end in ends] for curve in curves]
        result[name] = {"steps": means, "recordings": curves}
    settings = {
        "networks": networks, "seed": seed, "recordings": recordings, "steps": list(steps),
        "preset": SENTENCES.to_dict(), "adapting_rule": SENTENCES.rule.for_adapting().to_dict(),
    }  # fmt: skip
    centroids = {name: rows[0][name].centroids[0].tolist() for name in ("before", "after")}
    seconds = time.perf_counter() - began
    return {**result, "first_layer": centroids, "settings": settings, "machine": about, "seconds": seconds}


def one(
    seed: int,
    number: int,
    recordings: int,
    steps: tuple[int, ...],
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Share of right events of every recording of one network, adapting and not, and its parameters on both ends."""
    network = classification.train(seed, number, recordings, progress)[0]
    before: Parameters = network.snapshot()
    curves: dict[str, list[Array]] = {"ablated": [], "adapting": []}
    sources = np.random.SeedSequence([seed, number, 1]).spawn(len(steps))
    for step, (count, source) in enumerate(zip(steps, sources, strict=True), start=1):
        data = sentences.shifted(count, step, np.random.default_rng(source))
        label = network.class_numbers(data)
        now = network.snapshot()
        curves["ablated"].append(event_shares(network.restore(before).infer(data).votes, label))
        curves["adapting"].append(event_shares(network.restore(now).adapt(data).votes, label))
    joined = {name: np.concatenate(parts) for name, parts in curves.items()}
    return {**joined, "before": before, "after": network.snapshot()}
