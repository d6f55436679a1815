"""From simulated digits to real ones: a network that learned from the simulator alone, then adapted to a real camera.

The real recordings are those of MNIST's first training images, so the network, `timesurf.presets.digits`, learns from
simulated recordings of the other images. It is tested on all real recordings as it is; then it goes on learning from a
few of them, as many of each digit as of the others, and is tested on the rest, before and after. Each number of
recordings begins with the same network, and fewer are among more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics, presets
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.paper.table3 import CLASSES, interval
from timesurf.presets import Preset
from timesurf.results import machine

Array = NDArray[Any]
SHOTS = (10, 30, 100, 300)  # real recordings to adapt on
PASSES, BATCH = 8, 16  # of adapting; rates are those of training, and fall again


def run(
    simulated: Recordings,
    real: Recordings,
    seed: int = 0,
    *,
    seeds: int = 1,
    shots: Sequence[int] = SHOTS,
    preset: Preset | None = None,
    test: Recordings | None = None,
    engine: str = "cpu",
    progress: Callable[[str], None] = lambda what: None,
) -> dict[str, Any]:
    """Recording accuracy on real recordings without any of them, and after adapting on a few.

    Parameters
    ----------
    simulated : Recordings
        To learn from, of other images than the real ones (`others`).
    real : Recordings
        To test and to adapt on, cropped as the simulated ones.
    seed : int
        Of the network, and of which real recordings it adapts on.
    seeds : int
        How many networks, of this seed and the next ones.
    shots : sequence of int
        How many real recordings to adapt on; those that would leave none to test on are left out.
    preset : Preset, optional
        The network; None: `timesurf.presets.digits`.
    test : Recordings, optional
        Simulated recordings of further images, to test on as well before any adapting.
    engine : str
        What computes.
    progress : callable
        Called with a description of the current step.

    Returns
    -------
    dict
        "zero_shot": recording accuracy on all real recordings with its 95 % interval, and "simulated" that on `test`,
        with the share of events kept. "adapted": one row per number of
        recordings, with the accuracy on the others "before" and after. Means over the seeds, and with several the
        accuracy of each. Settings, machine and seconds.
    """
    began = time.perf_counter()
    preset = preset or presets.digits(len(simulated))
    numbers = [n for n in shots if n < len(real)]
    zero_shot, before, after, training, on_test, kept = [], [], [], [], [], []
    for own in range(seed, seed + seeds):
        progress(f"learning from {len(simulated):,} simulated recordings")
        network, start = preset.network(simulated, CLASSES, own, engine=engine), time.perf_counter()
        network.fit(
            simulated, **preset.training(),
            progress=lambda now: progress(f"learning from simulated recordings: {now.done / now.total:.0%}"),
        )  # fmt: skip
        training.append(time.perf_counter() - start)
        learned, order = network.snapshot(), _in_turn(np.asarray(real.labels), own)
        zero_shot.append(_right(network, real))
        if test is not None:
            outcome = network.infer(test)
            on_test.append(network.decide(outcome).classes == network.class_numbers(test))
            kept.append(metrics.kept(outcome))
        for number in numbers:
            progress(f"adapting on {number} real recordings")
            few, rest = np.sort(order[:number]), np.sort(order[number:])
            network.restore(learned)
            network.train(real[few], passes=PASSES, batch_size=BATCH, decay=True)
            before.append(zero_shot[-1][rest])
            after.append(_right(network, real[rest]))
    rows = [
        {"recordings": number, "before": float(np.mean(before[k :: len(numbers)]))} | _figures(after[k :: len(numbers)])
        for k, number in enumerate(numbers)
    ]
    settings = {
        "seed": seed, "seeds": seeds, "simulated": len(simulated), "real": len(real), "passes": PASSES,
        "batch_size": BATCH, "engine": engine, "preset": preset.to_dict(),
    }  # fmt: skip
    simulated_too = {"simulated": _figures(on_test) | {"kept": float(np.mean(kept))}} if on_test else {}
    return {
        "zero_shot": _figures(zero_shot), **simulated_too, "adapted": rows, "settings": settings,
        "training_s": float(np.mean(training)), "machine": machine.describe(engine),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip


def others(simulated: Recordings, real: Recordings) -> Recordings:
    """Simulated recordings of images that no real recording shows.

    Parameters
    ----------
    simulated : Recordings
        Of MNIST's training images, in their order.
    real : Recordings
        Of the first of these images, in their order.

    Raises
    ------
    SettingError
        If the digits say that the real recordings are of other images, or none remains.
    """
    number = len(real)
    if not np.array_equal(np.asarray(real.labels), np.asarray(simulated.labels)[:number]):
        raise SettingError(
            f"These are not N-MNIST's first {number:,} training recordings in their order, so their digits cannot be "
            "left out of the simulated ones."
        )
    if len(simulated) == number:
        raise SettingError(f"There are real recordings of all {number:,} images: none remains to learn from.")
    return simulated[number:]


def _in_turn(labels: Array, seed: int) -> Array:
    """Recordings in random order, one of each digit after another: the first ten have ten digits."""
    order = np.random.default_rng(seed).permutation(len(labels))
    turn = np.empty(len(labels), np.int64)
    for digit in np.unique(labels):
        of = order[labels[order] == digit]
        turn[of] = np.arange(len(of))
    return order[np.argsort(turn[order], kind="stable")]


def _right(network: Network, recordings: Recordings) -> Array:
    """Which recordings are classified correctly."""
    right: Array = network.predict(recordings).classes == network.class_numbers(recordings)
    return right


def _figures(right: Sequence[Array]) -> dict[str, Any]:
    """Recording accuracy, with the interval of one network: each seed tests as many recordings."""
    accuracy, tested = float(np.mean(right)), len(right[0])
    of_seed = {"seeds": [float(of.mean()) for of in right]} if len(right) > 1 else {}
    return {"recording_accuracy": accuracy, "interval": interval(accuracy * tested, tested), "tested": tested} | of_seed
