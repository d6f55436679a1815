"""The default on many senses: trained as `timesurf train` does, nothing tuned, beside plain counts.

Data sets that are made on the spot (sentences, simulated digits, wandering digits) are always there. Recordings of real
sensors are read from a folder, where they are: the real N-MNIST thousand, POKER pips, spoken digits with one speaker
left out, tones of a cochlea below 10 dB learned from those above, braille touch. A split is made once per seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines import counts
from timesurf.datasets import digits, sentences, wandering
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.learning import split
from timesurf.network import Network
from timesurf.results import machine

Array = NDArray[Any]
Report = Callable[[str], None]


class Split(NamedTuple):
    """What to learn from and what to test on."""

    train: Recordings
    test: Recordings


def _fold(recordings: Recordings, seed: int, folds: int) -> Split:
    """One of so many random folds, each with its share of every class."""
    fold = split.folds(np.asarray(recordings.labels), folds, np.random.default_rng(0))
    return _by(recordings, fold == seed % folds)


def _by(recordings: Recordings, held: Array) -> Split:
    """Train on all recordings but these, test on these."""
    return Split(recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)])


def _read(folder: Path | None, name: str, *more: str) -> tuple[Recordings, dict[str, Array]]:
    """Recordings of a file in the folder, and further arrays of it."""
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        raise EventError(f"{name} is not in {folder or 'a folder that was named (--data)'}.")
    return npz.read(path), npz.arrays(path, list(more), [])


def _sentences(folder: Path | None, seed: int) -> Split:
    return Split(sentences.make(600, seed=2 * seed), sentences.make(200, seed=2 * seed + 1))


def _digits(folder: Path | None, seed: int) -> Split:
    train, test = digits.load("train"), digits.load("test")
    rng = np.random.default_rng(seed)
    return Split(train[np.sort(rng.permutation(len(train))[:600])], test[np.sort(rng.permutation(len(test))[:300])])


def _wandering(folder: Path | None, seed: int) -> Split:
    return Split(wandering.load("train"), wandering.load("test"))


def _spoken(folder: Path | None, seed: int) -> Split:
    recordings, more = _read(folder, "spoken_digits_320.npz", "speaker")
    speakers = np.unique(more["speaker"])
    return _by(recordings, more["speaker"] == speakers[seed % len(speakers)])


def _tones(folder: Path | None, seed: int) -> Split:
    recordings, more = _read(folder, "cochlea_tones_104.npz", "snr_db")
    return _by(recordings, more["snr_db"] < 10)


SENSES: dict[str, Callable[[Path | None, int], Split]] = {
    "sentences": _sentences,
    "digits, simulated": _digits,
    "digits, wandering": _wandering,
    "N-MNIST, real thousand": lambda folder, seed: _fold(_read(folder, "nmnist_train_1000.npz")[0], seed, 10),
    "POKER pips": lambda folder, seed: _fold(_read(folder, "poker_dvs_100.npz")[0], seed, 5),
    "spoken digits, new speaker": _spoken,
    "cochlea tones below 10 dB": _tones,
    "braille touch": lambda folder, seed: _fold(_read(folder, "braille_touch_1348.npz")[0], seed, 5),
}


def rows(
    folder: Path | None, seeds: int, *, engine: str = "cpu", report: Report = lambda text: None
) -> Iterator[dict[str, Any]]:
    """One row per data set that is there: accuracy of the default and of plain counts, for every seed.

    Parameters
    ----------
    folder : Path, optional
        Where files of real recordings are.
    seeds : int
        How many splits and networks per data set.
    engine : str
        What computes.
    report : callable
        Called with what is being done.

    Yields
    ------
    dict
        "data", "recordings", "default", "counts_1", "counts_8" (one accuracy per seed each), "seconds", "why".
    """
    for name, make in SENSES.items():
        row: dict[str, Any] = {"data": name, "default": [], "kept": [], "counts_1": [], "counts_8": [], "seconds": []}
        try:
            for seed in range(seeds):
                train, test = make(folder, seed)
                report(f"{name}, seed {seed}: training")
                began = time.perf_counter()
                network = Network.for_data(train, engine=engine, seed=seed).fit(train)
                row["seconds"].append(time.perf_counter() - began)
                figures = network.evaluate(test)
                row["default"].append(figures["recording_accuracy"])
                row["kept"].append(figures["kept"])
                row["recordings"] = [len(train), len(test)]
                row["why"] = [] if network.law is None else list(network.law.why)
                for stretches in (1, 8):
                    report(f"{name}, seed {seed}: counts in {stretches} stretches")
                    row[f"counts_{stretches}"].append(counts.classified(train, test, stretches))
        except EventError as error:
            report(str(error))
            continue
        yield row


def run(folder: Path | None, seeds: int, *, engine: str = "cpu", report: Report = lambda text: None) -> dict[str, Any]:
    """All rows, with the machine that they were measured on."""
    return {"senses": list(rows(folder, seeds, engine=engine, report=report)), "machine": machine.describe(engine)}
