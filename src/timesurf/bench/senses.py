"""The default on many senses: trained as `timesurf train` does, nothing tuned, beside simpler and older methods.

Data sets that are made on the spot (sentences, simulated digits, wandering digits) are always there. Recordings of real
sensors are read from a folder, where they are: the real N-MNIST thousand, POKER pips, spoken digits with one speaker
left out, tones of a cochlea below 10 dB learned from those above, braille touch. A split is made once per seed.

The methods: the default; logistic regression on plain counts in 1 and in 8 stretches of time; HOTS, that is histograms
of the default's k-means layer, by logistic regression; the paper's preset; and, if asked for, the default after tuning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf import presets, tuning
from timesurf.baselines import counts, hots
from timesurf.bench import processes
from timesurf.datasets import digits, sentences, wandering
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.learning import split as splitting
from timesurf.learning.knobs import LAW
from timesurf.network import Network
from timesurf.results import machine

Array = NDArray[Any]


class Split(NamedTuple):
    """What to learn from and what to test on."""

    train: Recordings
    test: Recordings


def _fold(recordings: Recordings, seed: int, folds: int) -> Split:
    """One of so many random folds, each with its share of every class."""
    fold = splitting.folds(np.asarray(recordings.labels), folds, np.random.default_rng(0))
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
    return Split(wandering.load("train", seed=seed), wandering.load("test", seed=seed))


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

SPLITS = {"N-MNIST, real thousand": 10, "POKER pips": 5, "spoken digits, new speaker": 4, "braille touch": 5}


@dataclass
class Measurement:
    """One split of one data set: what the methods are given, and the default network, which some of them share."""

    split: Split
    seed: int
    engine: str
    minutes: float  # of tuning
    trials: int | None = None  # of tuning, instead of minutes
    threads: int | None = None
    network: Network | None = None
    about: dict[str, Any] = field(default_factory=dict)  # further figures of the default


def _default(of: Measurement) -> float:
    """`timesurf train` without options."""
    began = time.perf_counter()
    of.network = Network.for_data(of.split.train, engine=of.engine, threads=of.threads, seed=of.seed).fit(
        of.split.train
    )
    of.about["seconds"] = time.perf_counter() - began
    figures = of.network.evaluate(of.split.test)
    of.about |= {"kept": figures["kept"], "why": [] if of.network.law is None else list(of.network.law.why)}
    return float(figures["recording_accuracy"])


def _tuned(of: Measurement) -> float:
    """`timesurf train --tune MINUTES`, or `--tune-trials N`."""
    train, options = of.split.train, {"engine": of.engine, "threads": of.threads, "seed": of.seed}
    minutes = of.minutes if of.trials is None else None
    found = tuning.tune(train, minutes=minutes, trials=of.trials, **options)  # type: ignore[arg-type]
    of.about |= {"tuning": found.why, "trials": found.to_dict()["trials"]}
    if found.knobs == LAW and of.network is not None:
        network = of.network  # the default
    else:
        network = Network.for_data(train, knobs=found.knobs, **options).fit(train)
    return float(network.evaluate(of.split.test)["recording_accuracy"])


def paper_preset(train: Recordings) -> presets.Preset:
    """The preset of the paper: that for sentences on their field, that for digits elsewhere."""
    fits = train.field == (30, 5) and train.polarities == 1
    return presets.named("sentences" if fits else "camera", len(train))


def _accuracy(preset: presets.Preset, of: Measurement) -> float:
    train, test = of.split
    network = preset.network(train, train.classes, of.seed, engine=of.engine, threads=of.threads)
    network.fit(train, **preset.training(), if_diverged="back")
    return float(network.evaluate(test)["recording_accuracy"])


def _hots(of: Measurement) -> float:
    """HOTS: how often each unit of the default's k-means layer won, by logistic regression."""
    if of.network is None:
        _default(of)
    assert of.network is not None
    if len(of.network.stages) == 1:
        return float("nan")  # there is no layer of k-means
    train, test = (hots.counts(of.network.transform(some, 0), places=False) for some in of.split)
    classifier = hots.linear_classifier(of.seed).fit(train, np.asarray(of.split.train.labels))
    return float(classifier.score(test, np.asarray(of.split.test.labels)))


METHODS: dict[str, Callable[[Measurement], float]] = {
    "default": _default,
    "counts_1": lambda of: counts.classified(*of.split, 1),
    "counts_8": lambda of: counts.classified(*of.split, 8),
    "hots": _hots,
    "preset": lambda of: _accuracy(paper_preset(of.split.train), of),
    "tuned": _tuned,
}
USUAL = tuple(name for name in METHODS if name != "tuned")


@dataclass(frozen=True)
class Job:
    """One split of one data set, and the methods to compare on it."""

    data: str
    seed: int
    folder: Path | None
    methods: tuple[str, ...]
    small: int | None
    minutes: float
    trials: int | None
    engine: str
    threads: int | None

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}"


def measure(job: Job) -> dict[str, Any]:
    """The recording accuracy of every method, and further figures of the default."""
    split = split_of(job.data, job.folder, job.seed, job.small)
    of = Measurement(split, job.seed, job.engine, job.minutes, job.trials, job.threads)
    accuracy = {method: METHODS[method](of) for method in job.methods}
    return {"recordings": [len(split.train), len(split.test)], **accuracy, **of.about}


def run(
    folder: Path | None,
    seeds: int | None = None,
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = USUAL,
    small: int | None = None,
    minutes: float = 5.0,
    trials: int | None = None,
    engine: str = "cpu",
    plan: processes.Plan = processes.ALONE,
) -> dict[str, Any]:
    """Compare methods on all data sets that are there, with the machine that they were measured on.

    Parameters
    ----------
    folder : Path, optional
        Where files of real recordings are.
    seeds : int, optional
        How many splits and networks per data set; None: each fold or speaker once, where there are those, else 3.
    only : sequence of str
        Data sets whose name has one of these in it; none means all.
    methods : sequence of str
        Of `METHODS`.
    small : int, optional
        Learn from so many recordings at most and test on half as many, for a quick look.
    minutes : float
        Of the method "tuned".
    trials : int, optional
        Of the method "tuned", instead of minutes: the same on every machine.
    engine : str
        What computes.
    plan : Plan
        How many splits side by side, on one core each, and who is told.

    Returns
    -------
    dict
        "senses": one row per data set with "data", "seeds" and "recordings"; per method one accuracy per seed; of the
        default "kept", "seconds" and "why"; of tuning "tuning", what it chose, and "trials".
    """
    check_methods(methods, METHODS)
    threads = 1 if plan.processes > 1 else None
    jobs = [
        Job(data, seed, folder, tuple(methods), small, minutes, trials, engine, threads)
        for data in chosen(only)
        for seed in range(seeds or SPLITS.get(data, 3))
    ]
    ended: dict[str, dict[int, dict[str, Any]]] = {}
    result: dict[str, Any] = {"senses": [], "processes": plan.processes, "machine": machine.describe(engine)}
    for job, found in processes.each(measure, jobs, plan):
        ended.setdefault(job.data, {})[job.seed] = found
        result["senses"] = [_row(data, of) for data, of in ended.items()]
        plan.save(result)
    return result


def _row(data: str, by_seed: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """All seeds of one data set: per figure one value per seed."""
    each = [by_seed[seed] for seed in sorted(by_seed)]
    figures = {name: [one[name] for one in each] for name in each[0] if name != "recordings"}
    return {"data": data, "seeds": sorted(by_seed), "recordings": each[0]["recordings"], **figures}


def chosen(only: Sequence[str]) -> list[str]:
    """Data sets whose name has one of these in it; all, if there are none."""
    found = [name for name in SENSES if not only or any(part.lower() in name.lower() for part in only)]
    if not found:
        raise SettingError(f"no data set is called {' or '.join(only)}: there are {', '.join(SENSES)}.")
    return found


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean over splits, and its standard error: NaN if there is only one."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def check_methods(methods: Sequence[str], known: Iterable[str]) -> None:
    """Refuse methods that do not exist."""
    if unknown := sorted(set(methods) - set(known)):
        raise SettingError(f"unknown method {', '.join(unknown)}: there are {', '.join(known)}.")


def split_of(data: str, folder: Path | None, seed: int, small: int | None = None) -> Split:
    """A split of a data set by its name, with at most so many recordings; `MissingError` where it cannot be read."""
    try:
        whole = SENSES[data](folder, seed)
    except EventError as error:
        raise processes.MissingError(str(error)) from error
    return _smaller(whole, small, seed)


def _smaller(whole: Split, most: int | None, seed: int) -> Split:
    """At most so many recordings to learn from, and half as many to test on."""
    if most is None:
        return whole
    rng = np.random.default_rng(seed)
    train, test = (
        some[np.sort(rng.permutation(len(some))[: max(number, 1)])]
        for some, number in zip(whole, (most, most // 2), strict=True)
    )
    return Split(train, test[np.flatnonzero(np.isin(np.asarray(test.labels), train.classes))])
