"""Integrate-and-fire neurons beside time surfaces: sentences as in the paper's tables, and digits.

"classification": ten networks of each kind on the same recordings, as in Table 1. "continual": x and / change places
while the spiking networks adapt without labels. "incremental": they learn a second task with their old neurons frozen.
"digits": both kinds with 32 units over 9 x 9 pixels every 4 pixels, on simulated digits and, where a folder has them,
on folds of the real N-MNIST thousand. Settings of the spiking network for digits were chosen by hand on a hundred of
the real recordings, of another division into folds, and on none of the simulated ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import presets
from timesurf.bench.senses import SENSES, Split
from timesurf.datasets import nmnist, sentences
from timesurf.engines import Parameters
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Full, Layer, Window
from timesurf.metrics import event_shares
from timesurf.results import machine
from timesurf.rule import Rule
from timesurf.spiking import Neurons, SpikingNetwork

Report = Callable[[str], None]
PARTS = ("classification", "continual", "incremental", "digits")
# Characters, words, sentences, as in Table 1: as many units, and upper layers that see the present spike alone.
LAYERS = (
    Neurons((5, 5), units=3, tau="500 us", trace_tau="2 ms", refractory="500 us", inhibition=0.3),
    Neurons((3, 1), units=6, tau="1 us", feedback_tau="1 ms", ready=0.2),
    Neurons(tau="1 us", feedback_tau="100 us", ready=0),
)
PASSES = 6
SHIFT, LAST = (250, 250, 250, 1000), 50  # recordings of each step, as in the paper; those at its end that count
ADDED = (3, 6)  # neurons that a second task adds to the hidden layers, as for time surfaces
DIGITS = (
    Neurons((9, 9), step=(4, 4), units=32, tau="10 ms", inhibition=0.1),
    Neurons(tau="20 ms", ready=0.1),
)
DIGITS_RULE = Rule(alpha=1e-2, beta=0, gamma=0, delta=0)
DIGITS_PASSES = 8


def run(
    networks: int = 10,
    seed: int = 0,
    *,
    recordings: int = 1000,
    parts: Sequence[str] = PARTS,
    folder: Path | None = None,
    folds: int = 3,
    workers: int | None = None,
    report: Report = lambda text: None,
) -> dict[str, Any]:
    """Measure the parts that are asked for.

    Parameters
    ----------
    networks, seed : int
        How many networks learn sentences; seed of data and networks.
    recordings : int
        Of sentences: for training, and as many for testing.
    parts : sequence of str
        Of `PARTS`.
    folder : Path, optional
        Where `nmnist_train_1000.npz` is; without it, digits are simulated ones alone.
    folds : int
        How many folds of the digits.
    workers : int, optional
        Networks at a time, by default one per core.
    report : callable
        Called with what is being done.

    Returns
    -------
    dict
        One entry per part with one value per network or fold in each list; settings, machine and seconds.
    """
    if unknown := sorted(set(parts) - set(PARTS)):
        raise SettingError(f"unknown part {', '.join(unknown)}: there are {', '.join(PARTS)}.")
    began, about = time.perf_counter(), machine.describe()
    result: dict[str, Any] = {}
    with ThreadPoolExecutor(workers or about["cores"]) as pool:
        for part in (p for p in PARTS if p in parts and p != "digits"):
            done = iter(range(1, networks + 1))

            def one(number: int, part: str = part, done: Any = done) -> dict[str, Any]:
                found = _SENTENCES[part](seed, number, recordings)
                report(f"{part}: {next(done)} of {networks} networks")
                return found

            report(f"{part}: 0 of {networks} networks")
            rows = list(pool.map(one, range(networks)))
            result[part] = {name: [row[name] for row in rows] for name in rows[0]}
    if "digits" in parts:
        result["digits"] = _digits(folder, folds, seed, report)
    settings = {
        "networks": networks, "seed": seed, "recordings": recordings, "folds": folds, "passes": PASSES,
        "layers": [repr(layer) for layer in LAYERS], "rule": _untrained(0).rule.to_dict(), "added": ADDED,
        "digits": {"layers": [repr(layer) for layer in DIGITS], "rule": DIGITS_RULE.to_dict(), "passes": DIGITS_PASSES},
    }  # fmt: skip
    return {**result, "settings": settings, "machine": about, "seconds": time.perf_counter() - began}


def _data(seed: int, number: int, recordings: int) -> tuple[Recordings, Recordings, int]:
    """Recordings to train and to test on and the seed of a network: those of `paper.table1`."""
    *sources, for_network = np.random.SeedSequence([seed, number]).spawn(3)
    train, test = (sentences.make(recordings, np.random.default_rng(source)) for source in sources)
    return train, test, int(for_network.generate_state(1)[0])


def _untrained(seed: int) -> SpikingNetwork:
    return SpikingNetwork(LAYERS, sentences.FIELD, sentences.POLARITIES, sentences.TASK1, seed=seed)


@lru_cache(maxsize=100)  # the parts begin with the same networks
def _learned(seed: int, number: int, recordings: int) -> Parameters:
    train, _, network_seed = _data(seed, number, recordings)
    return _untrained(network_seed).fit(train, passes=PASSES).parameters


def _trained(seed: int, number: int, recordings: int) -> SpikingNetwork:
    network = _untrained(_data(seed, number, 2)[2])
    network.parameters = _learned(seed, number, recordings).copy()
    return network


def classification(seed: int, number: int, recordings: int) -> dict[str, Any]:
    """Table 1 by one spiking network and by one of time surfaces, on the same recordings."""
    train, test, network_seed = _data(seed, number, recordings)
    preset, spiking = presets.SENTENCES, _trained(seed, number, recordings)
    surfaces = preset.network(train, sentences.TASK1, network_seed, threads=1).fit(train, **preset.training())
    figures = {"spiking": spiking.evaluate(test), "surfaces": surfaces.evaluate(test)}
    names = ("event_accuracy", "recording_accuracy", "kept", "kept_by_layer", "silent")
    return {f"{kind}_{name}": found[name] for kind, found in figures.items() for name in names}


def shifting(seed: int, number: int, recordings: int) -> dict[str, Any]:
    """Event accuracy at the end of every step of the shift, of a network that adapts and of one that does not."""
    network = _trained(seed, number, recordings)
    steps = [max(count * recordings // 1000, 2) for count in SHIFT]
    sources = np.random.SeedSequence([seed, number, 1]).spawn(len(steps))
    shifts = [
        sentences.shifted(count, step, np.random.default_rng(source))
        for step, (count, source) in enumerate(zip(steps, sources, strict=True), start=1)
    ]
    found: dict[str, Any] = {}
    for name, votes in (("ablated", network.infer), ("adapting", network.adapt)):
        shares = [event_shares(votes(data).votes, network.class_numbers(data)) for data in shifts]
        found[name] = [float(np.mean(of[-LAST:])) for of in shares]
    return found


def growing(seed: int, number: int, recordings: int) -> dict[str, Any]:
    """Event accuracy on the first task, on the second, and on the first again."""
    _, test, _ = _data(seed, number, recordings)
    sources = np.random.SeedSequence([seed, number, 2]).spawn(2)
    train2, test2 = (sentences.make(recordings, np.random.default_rng(s), sentences=sentences.TASK2) for s in sources)
    network = _trained(seed, number, recordings)
    before = network.evaluate(test)["event_accuracy"]
    network.extend(train2, units=ADDED, classes=sentences.TASK2).train(train2, passes=PASSES)
    second, first = network.evaluate(test2), network.evaluate(test)
    return {
        "task1": before, "task2": second["event_accuracy"], "task1_after": first["event_accuracy"],
        "task2_recordings": second["recording_accuracy"], "task1_after_recordings": first["recording_accuracy"],
        "kept": second["kept"],
    }  # fmt: skip


_SENTENCES = {"classification": classification, "continual": shifting, "incremental": growing}


def fitted(train: Recordings, chosen: Sequence[Layer], seed: int) -> SpikingNetwork:
    """A trained spiking network for any recordings: that for sentences on their field, else one like that for digits.

    The latter has the window, the units, the places and the time constants of the default's layers, and otherwise the
    settings that were chosen for digits. Where the default keeps no places, boxes overlap by half.

    Parameters
    ----------
    train : Recordings
        To learn from.
    chosen : sequence of Layer
        Those of the default network.
    seed : int
        Of the network.
    """
    if train.field == sentences.FIELD and train.polarities == sentences.POLARITIES:
        return SpikingNetwork(LAYERS, train.field, train.polarities, train.classes, seed=seed).fit(train, passes=PASSES)
    if len(chosen) != 2:
        raise EventError("These events have no places for neurons to share.")
    window, last = chosen
    assert isinstance(window, Window)
    assert isinstance(last, Full)
    box = tuple(min(window.size, n) for n in train.field)
    pooled = tuple(-(-side // 2) for side in box) if window.stride == "field" else window.strides(len(box))
    hidden, top = DIGITS
    hidden = replace(hidden, box=box, step=pooled, units=window.units)
    layers = [
        replace(layer, tau=tau, trace_tau=tau, feedback_tau=tau)
        for layer, tau in zip((hidden, top), (max(of.taus) for of in chosen), strict=True)
    ]
    network = SpikingNetwork(layers, train.field, train.polarities, train.classes, rule=DIGITS_RULE, seed=seed)
    return network.fit(train, start="kmeans", sample=100, passes=DIGITS_PASSES, decay=True)


def _digits(folder: Path | None, folds: int, seed: int, report: Report) -> dict[str, Any]:
    """Recording accuracy, events kept and seconds of both kinds of network."""
    result: dict[str, Any] = {}
    for name in ("digits, simulated", "N-MNIST, real thousand"):
        for fold in range(seed + 1, seed + 1 + folds):
            try:
                train, test = (nmnist.prepared(some) for some in SENSES[name](folder, fold))
            except EventError as error:
                report(str(error))
                break
            for kind, learn in (("spiking", _spiking_digits), ("surfaces", _surface_digits)):
                report(f"{name}, fold {fold}: {kind}")
                began = time.perf_counter()
                figures = learn(Split(train, test), fold).evaluate(test)
                row = {key: figures[key] for key in ("recording_accuracy", "kept")}
                row["seconds"] = time.perf_counter() - began
                for key, value in row.items():
                    result.setdefault(name, {}).setdefault(f"{kind}_{key}", []).append(value)
    return result


def _spiking_digits(split: Split, seed: int) -> SpikingNetwork:
    train = split.train
    network = SpikingNetwork(DIGITS, train.field, train.polarities, train.classes, rule=DIGITS_RULE, seed=seed)
    return network.fit(train, start="kmeans", sample=100, passes=DIGITS_PASSES, decay=True)


def _surface_digits(split: Split, seed: int) -> Any:
    """The paper's preset, places pooled so that it has as many inputs of the last layer as the spiking network."""
    preset = presets.nmnist(len(split.train))
    window, full = preset.layers
    assert isinstance(window, Window)
    assert isinstance(full, Full)
    preset = replace(preset, layers=(replace(window, stride=4), full))
    network = preset.network(split.train, split.train.classes, seed)
    return network.fit(split.train, **preset.training())
