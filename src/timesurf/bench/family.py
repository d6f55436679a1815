"""The family: Sup3r beside HOTS and its relatives, on the same events and the same splits.

All relatives look at events through the window that the default chose (its size, units and time constant), and decide
by the same logistic regression on how often each unit won, wherever that was. So what differs is how their units came
about.

=================  ================================================================================
method             what it is
=================  ================================================================================
``default``        timesurf's default network, which `timesurf train` chooses from the data
``preset``         the paper's network: its preset for sentences on their field, for digits elsewhere
``spiking``        integrate-and-fire neurons: the network for sentences on their field, elsewhere one on the default's
                   window and places
``hots``           HOTS with k-means: the units of the default's hidden layer
``hots_places``    the same, counted at each of the places that the default's last layer sees
``cosine``         HOTS with k-means by the cosine in place of the distance
``linear``         HOTS with k-means of surfaces that decay linearly
``hots_online``    HOTS's own rule, from surfaces of the data
``hots_random``    HOTS's own rule, from random centroids, as the next four begin
``cosine_random``  the rule of `homeostasis` without its gain: what the gain is compared with
``restarts``       HOTS's own rule, with restarts of units that hardly win
``homeostasis``    by cosine, with a gain on units that win seldom
``feast``          by cosine, with selection thresholds that adapt
``hats``           averaged surfaces of a grid of cells, without units
=================  ================================================================================

Events per second are of one core, from events to decisions.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.baselines import counts, features, hats, hots
from timesurf.baselines.feast import Feast
from timesurf.baselines.features import Features
from timesurf.baselines.homeostasis import Homeostasis
from timesurf.baselines.online_hots import OnlineHots
from timesurf.baselines.restarts import Restarting
from timesurf.bench import processes, senses, spiking
from timesurf.errors import EventError, TimesurfError
from timesurf.events import Recordings
from timesurf.layers import Stage, Window
from timesurf.network import Network
from timesurf.results import machine
from timesurf.spiking import SpikingNetwork

Array = NDArray[Any]
DATA = ("sentences", "simulated", "N-MNIST", "POKER", "braille", "spoken")
LONG = 0.3  # seconds that a measurement of speed takes at least
SHOTS = (1, 3, 10, 30)  # recordings per class of the few-shot curve


class Fitted(NamedTuple):
    """A method that has learned."""

    score: Callable[[Recordings], tuple[float, float]]  # recording accuracy, and the share of events kept
    winners: Callable[[Recordings], Recordings] | None  # events by the unit that won them; None: there are no units


@dataclass
class Case:
    """What the methods learn from, and the default network, whose window they share."""

    train: Recordings
    seed: int

    @functools.cached_property
    def network(self) -> Network:
        """The default, not yet trained: its hidden layer is that of HOTS."""
        return Network.for_data(self.train, seed=self.seed, threads=1)

    @property
    def stage(self) -> Stage:
        """The hidden layer of the default."""
        if not isinstance(self.network.layers[0], Window):
            raise EventError("These events have no places, so there is no window to learn features for.")
        return features.placed(self.network.layers[0], self.train)

    @property
    def random(self) -> np.random.Generator:
        """Draws first centroids: the same for all methods."""
        return np.random.default_rng(self.seed)

    @property
    def uniform(self) -> Array:
        """Random first centroids."""
        return self.random.uniform(size=(self.stage.units, int(np.prod(self.stage.surface_shape))))


def _scored(network: Network | SpikingNetwork) -> Callable[[Recordings], tuple[float, float]]:
    """Recording accuracy of a trained network, and the share of events that it keeps."""

    def score(test: Recordings) -> tuple[float, float]:
        figures = network.evaluate(test)
        return float(figures["recording_accuracy"]), float(figures["kept"])

    return score


def _network(network: Network) -> Fitted:
    """A trained network."""
    return Fitted(_scored(network), (lambda test: network.transform(test, 0)) if len(network.stages) > 1 else None)


def _default(of: Case) -> Fitted:
    return _network(of.network.fit(of.train))


def _preset(of: Case) -> Fitted:
    preset = senses.paper_preset(of.train)
    network = preset.network(of.train, of.train.classes, of.seed, threads=1)
    return _network(network.fit(of.train, **preset.training(), if_diverged="back"))


def _spiking(of: Case) -> Fitted:
    network = spiking.fitted(of.train, of.network.layers, of.seed)
    return Fitted(_scored(network), lambda test: network.transform(test, 0))


def _histogram(of: Case, found: Features, *, places: bool = False) -> Fitted:
    """How often each unit won, anywhere or at each place, by logistic regression."""

    def won(some: Recordings) -> Recordings:
        return found.emitted(some, threads=1)

    def score(test: Recordings) -> tuple[float, float]:
        return classifier.score(hots.counts(won(test), places=places), np.asarray(test.labels)), 1.0

    classifier = hots.linear_classifier(of.seed)
    classifier.fit(hots.counts(won(of.train), places=places), np.asarray(of.train.labels))
    return Fitted(score, won)


def _kmeans(of: Case, *, places: bool = False) -> Fitted:
    assert of.network.law is not None
    found = Features(of.stage, of.network.law.hidden[0].reshape(of.stage.units, -1))
    return _histogram(of, found, places=places)


def _clustered(of: Case, **change: Any) -> Fitted:
    return _histogram(of, features.clustered(of.stage, of.train, seed=of.seed, **change))


def _learned(of: Case, learner: features.Learner) -> Fitted:
    return _histogram(of, features.learned(learner, of.stage, of.train, seed=of.seed))


def _online(of: Case) -> Fitted:
    return _learned(of, OnlineHots(features.drawn(of.stage, of.train, number=of.stage.units, seed=of.seed)))


def _hats(of: Case) -> Fitted:
    classifier, tau = counts.regression(of.train, scaled=True), of.stage.tau
    classifier.fit(hats.features(of.train, tau), np.asarray(of.train.labels))
    return Fitted(lambda test: (float(classifier.score(hats.features(test, tau), np.asarray(test.labels))), 1.0), None)


METHODS: dict[str, Callable[[Case], Fitted]] = {
    "default": _default,
    "preset": _preset,
    "spiking": _spiking,
    "hots": _kmeans,
    "hots_places": lambda of: _kmeans(of, places=True),
    "cosine": lambda of: _clustered(of, cosine=True),
    "linear": lambda of: _clustered(of, decay="linear"),
    "hots_online": _online,
    "hots_random": lambda of: _learned(of, OnlineHots(of.uniform)),
    "cosine_random": lambda of: _learned(of, Homeostasis(of.uniform, strength=0.0)),
    "restarts": lambda of: _learned(of, Restarting(of.uniform, seed=of.seed)),
    "homeostasis": lambda of: _learned(of, Homeostasis(of.uniform)),
    "feast": lambda of: _learned(of, Feast(of.uniform, of.random.uniform(size=of.stage.units))),
    "hats": _hats,
}


@dataclass(frozen=True)
class Job:
    """One split of one data set, with so many recordings per class, and methods to measure on it."""

    data: str
    seed: int
    shots: int | None
    methods: tuple[str, ...]
    folder: Path | None
    small: int | None

    def __str__(self) -> str:
        several = self.methods[0] if len(self.methods) == 1 else f"{len(self.methods)} methods"
        learned = "all recordings" if self.shots is None else f"{self.shots} per class"
        return f"{self.data}, seed {self.seed}, {learned}, {several}"


def measure(job: Job) -> list[dict[str, Any]]:
    """One row per method; none where the data has not so many recordings of each class."""
    whole = senses.split_of(job.data, job.folder, job.seed, job.small)
    train = whole.train if job.shots is None else few(whole.train, job.shots, job.seed)
    if train is None:
        return []
    of = Case(train, job.seed)
    about = {"data": job.data, "seed": job.seed, "per_class": job.shots, "learned_from": len(train)}
    return [about | {"method": method} | _figures(method, of, whole.test) for method in job.methods]


def few(train: Recordings, shots: int, seed: int) -> Recordings | None:
    """So many recordings of each class, drawn at random; None where a class has fewer."""
    labels, rng = np.asarray(train.labels), np.random.default_rng([seed, shots])
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:shots] for c in train.classes]
    return None if min(map(len, drawn)) < shots else train[np.sort(np.concatenate(drawn))]


def _figures(method: str, of: Case, test: Recordings) -> dict[str, Any]:
    """What is measured of one method."""
    try:
        _ = of.network if method != "preset" else None  # chosen before the clock starts: all but the preset share it
        began = time.perf_counter()
        fitted = METHODS[method](of)
        seconds = time.perf_counter() - began
        (accuracy, kept), rate = _timed(fitted, test)
        found = {"recording_accuracy": accuracy, "kept": kept, "seconds": seconds, "events_per_s": rate}
        return found | (_used(fitted.winners(test)) if fitted.winners else {})
    except (TimesurfError, ValueError) as error:  # too few recordings for a method: a result too
        return {"error": str(error)}


def _timed(fitted: Fitted, test: Recordings) -> tuple[tuple[float, float], float]:
    """Accuracy and share kept, and events per second: the fastest of several times where one is short."""
    fitted.score(test[:1])  # so that all is compiled and loaded before the clock starts
    fastest, spent = float("inf"), 0.0
    while spent < LONG:
        began = time.perf_counter()
        found = fitted.score(test)
        fastest = min(fastest, time.perf_counter() - began)
        spent += time.perf_counter() - began
    return found, float(test.counts.sum()) / fastest


def _used(events: Recordings) -> dict[str, Any]:
    """How many units there are, win at all, and would win as evenly if all won equally often."""
    wins = np.bincount(events.p, minlength=events.polarities)
    shares = wins[wins > 0] / max(wins.sum(), 1)
    even = float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 0.0
    return {"units": len(wins), "used": int((wins > 0).sum()), "evenly_used": even}


def run(
    folder: Path | None,
    seeds: int,
    *,
    only: Sequence[str] = DATA,
    methods: Sequence[str] = tuple(METHODS),
    shots: Sequence[int] = SHOTS,
    small: int | None = None,
    plan: processes.Plan = processes.ALONE,
) -> dict[str, Any]:
    """Measure the methods on the data sets: from all recordings, and from few per class.

    Parameters
    ----------
    folder : Path, optional
        Where files of real recordings are.
    seeds : int
        How many splits (folds, speakers) per data set.
    only : sequence of str
        Data sets of `senses.SENSES` whose name has one of these in it.
    methods : sequence of str
        Of `METHODS`.
    shots : sequence of int
        Recordings per class of the few-shot curve; none leaves it out.
    small : int, optional
        Learn from so many recordings at most, for a quick look.
    plan : processes.Plan
        How many measurements side by side, until when, and who is told.

    Returns
    -------
    dict
        "family": one row per data set, seed, number of recordings per class, and method.
    """
    senses.check_methods(methods, METHODS)
    names = senses.chosen(only)
    alone = ("default", "preset")  # the longest, and what changes of the default's settings change
    groups = [*((m,) for m in alone if m in methods), tuple(m for m in methods if m not in alone)]
    jobs = [
        Job(name, seed, number, group, folder, small)
        for number in (None, *sorted(shots, reverse=True))  # the most important, and longest, first
        for group in groups
        if group
        for name in names
        for seed in range(seeds)
    ]
    rows: list[dict[str, Any]] = []
    result = {"family": rows, "seeds": seeds, "processes": plan.processes, "machine": machine.describe()}
    for _, found in processes.each(measure, jobs, plan):
        rows += found
        plan.save(result)
    return result


def summary(rows: Sequence[dict[str, Any]], per_class: int | None = None) -> dict[str, dict[str, dict[str, float]]]:
    """Means over seeds, by data set and method: accuracy and its standard error, kept, units used, relative speed.

    Parameters
    ----------
    rows : sequence of dict
        Of "family" in the result of `run`.
    per_class : int, optional
        Which point of the few-shot curve; None: all recordings.

    Returns
    -------
    dict
        By data set, then by method. "speed" is events per second as a multiple of the default's in the same run,
        NaN where rows have no rate, as those that were added from another machine.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    chosen = [row for row in rows if row["per_class"] == per_class and "error" not in row]
    for data in dict.fromkeys(row["data"] for row in chosen):
        mine = [row for row in chosen if row["data"] == data]
        base = [row["events_per_s"] for row in mine if row["method"] == "default" and "events_per_s" in row]
        for method in (name for name in METHODS if any(row["method"] == name for row in mine)):
            of = [row for row in mine if row["method"] == method]
            right, error = senses.mean_and_error([row["recording_accuracy"] for row in of])
            means = {
                name: float(np.mean([row[name] for row in of]))
                for name in ("kept", "units", "used", "evenly_used", "seconds")
                if all(name in row for row in of)
            }
            rates = [row["events_per_s"] for row in of if "events_per_s" in row]
            speed = np.mean(rates) / np.mean(base) if base and rates else float("nan")
            found.setdefault(data, {})[method] = {
                "recording_accuracy": right, "standard_error": error, "speed": float(speed),
            } | means  # fmt: skip
    return found


def ahead(
    rows: Sequence[dict[str, Any]], method: str, control: str, per_class: int | None = None
) -> dict[str, tuple[float, float]]:
    """By how much one method's recording accuracy exceeds another's, by data set.

    Parameters
    ----------
    rows
        As in `summary`.
    method, control : str
        Of `METHODS`.
    per_class
        As in `summary`.

    Returns
    -------
    dict
        The mean over the splits that have both, and its standard error: NaN if there is only one.
    """
    right = {
        (row["method"], row["data"], row["seed"]): row["recording_accuracy"]
        for row in rows
        if row["per_class"] == per_class and "error" not in row
    }
    found: dict[str, list[float]] = {}
    for (name, data, seed), accuracy in right.items():
        if name == method and (control, data, seed) in right:
            found.setdefault(data, []).append(accuracy - right[control, data, seed])
    return {data: senses.mean_and_error(each) for data, each in found.items()}


def curves(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Recording accuracy by data set, method, and recordings per class ("all": all of them)."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for number in (*sorted({row["per_class"] for row in rows} - {None}), None):
        for data, of in summary(rows, number).items():
            for method, figures in of.items():
                points = found.setdefault(data, {}).setdefault(method, {})
                points["all" if number is None else str(number)] = figures["recording_accuracy"]
    return found
