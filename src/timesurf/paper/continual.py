"""The paper's continual-learning figure: x and / change places, pixel by pixel, while a network adapts without labels.

Two further questions: does adapting do harm where nothing changes, and what do its guards cost and gain?
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.learning.trainer import Progress
from timesurf.metrics import event_shares
from timesurf.paper import table1 as classification
from timesurf.presets import SENTENCES
from timesurf.results import machine

Array = NDArray[Any]
RECORDINGS = (250, 250, 250, 1000)  # of each step, as in the paper
LAST = 50  # recordings at the end of a step over which its figure is averaged
UNSHIFTED = 2000  # recordings without a change
STUCK = "3 s"  # duration of a recording that is 300 times too long, with one pixel of its x missing
GUARDS: dict[str, dict[str, Any]] = {
    "none": {}, "cap 0.01": {"cap": 0.01}, "cap 0.003": {"cap": 0.003}, "confidence 0.99": {"confidence": 0.99},
}  # fmt: skip


def run(
    networks: int = 10,
    seed: int = 0,
    *,
    recordings: int = 1000,
    steps: tuple[int, ...] = RECORDINGS,
    unshifted: int = UNSHIFTED,
    workers: int | None = None,
    precision: str = "float64",
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Train on task 1, then shift the characters.

    Parameters
    ----------
    networks, seed, recordings : int
        As for `table1.run`.
    steps : tuple of int
        Recordings per step of the shift.
    unshifted : int
        Recordings without a shift, to which the trained network adapts; event accuracy is measured before and after.
    workers : int, optional
        As for `table1.run`.
    precision : {"float64", "float32"}
        Of online learning, see `Network`.
    progress : callable, optional
        As for `table1.run`.

    Returns
    -------
    dict
        For "adapting" and "ablated" (not adapting), one entry per network: event accuracy of every recording and at
        the end of every step; "unshifted", "guards", first-layer centroids, settings, machine and seconds.

    """
    began = time.perf_counter()
    about = machine.describe()
    with ThreadPoolExecutor(workers or about["cores"]) as pool:
        rows = list(
            pool.map(lambda n: one(seed, n, recordings, steps, unshifted, precision, progress), range(networks))
        )
    ends = np.cumsum(steps)
    result: dict[str, Any] = {}
    for name in ("adapting", "ablated"):
        curves = [np.round(row[name], 4).tolist() for row in rows]
        means = [[float(np.mean(curve[max(end - LAST, 0) : end])) for end in ends] for curve in curves]
        result[name] = {"steps": means, "recordings": curves}
    result["unshifted"] = {name: [row["unshifted"][name] for row in rows] for name in ("before", "after")}
    result["guards"] = {
        guard: {figure: [row["guards"][guard][figure] for row in rows] for figure in ("last_step", "stuck_moves")}
        for guard in GUARDS
    }
    settings = {
        "networks": networks, "seed": seed, "recordings": recordings, "steps": list(steps), "unshifted": unshifted,
        "precision": precision,
        "preset": SENTENCES.to_dict(), "adapting_rule": SENTENCES.rule.for_adapting().to_dict(),
    }  # fmt: skip
    centroids = {name: rows[0][name][0].centroids.tolist() for name in ("before", "after")}
    seconds = time.perf_counter() - began
    return {**result, "first_layer": centroids, "settings": settings, "machine": about, "seconds": seconds}


def one(
    seed: int,
    number: int,
    recordings: int,
    steps: tuple[int, ...],
    unshifted: int,
    precision: str = "float64",
    progress: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """Event accuracy of every recording for one network, adapting and not, and its parameters before and after."""
    network, _, test = classification.train(seed, number, recordings, progress, precision=precision)
    before: Parameters = network.snapshot()
    *sources, for_calm, for_stuck = np.random.SeedSequence([seed, number, 1]).spawn(len(steps) + 2)
    shifts = [
        sentences.shifted(count, step, np.random.default_rng(source))
        for step, (count, source) in enumerate(zip(steps, sources, strict=True), start=1)
    ]
    label = [network.class_numbers(data) for data in shifts]
    ablated = [event_shares(network.infer(data).votes, true) for data, true in zip(shifts, label, strict=True)]
    stuck = sentences.shifted(2, 1, np.random.default_rng(for_stuck), duration=STUCK)[1:]

    guards = {}
    for name, guard in GUARDS.items():
        network.restore(before).adapt(stuck, **guard)
        moves = furthest_move(before, network.parameters)
        network.restore(before)
        curve = [event_shares(network.adapt(d, **guard).votes, true) for d, true in zip(shifts, label, strict=True)]
        guards[name] = {"last_step": float(curve[-1][-LAST:].mean()), "stuck_moves": moves}
        if not guard:
            adapting, after = np.concatenate(curve), network.snapshot()

    calm = {"before": network.restore(before).evaluate(test)["event_accuracy"]}
    network.adapt(sentences.make(unshifted, np.random.default_rng(for_calm)))
    calm["after"] = network.evaluate(test)["event_accuracy"]
    return {
        "adapting": adapting, "ablated": np.concatenate(ablated), "before": before, "after": after,
        "guards": guards, "unshifted": calm,
    }  # fmt: skip


def furthest_move(before: Parameters, after: Parameters) -> float:
    """The largest distance that a first-layer centroid has moved."""
    moved = after[0].centroids - before[0].centroids
    return float(np.linalg.norm(moved.reshape(len(moved), -1), axis=1).max())
