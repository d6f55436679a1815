"""Tuning: neighbours of what the data chose are tried on recordings held out, within a time or a number of trials.

The settings that `timesurf.learning.law` chooses are the first trial. Each further trial changes one factor of the best
settings so far (`timesurf.learning.law.Knobs`), trains a network with them on the same recordings, and decides the same
recordings held out. It becomes the best where it decides more of them correctly, by more than one standard error of the
difference between two paired counts, and where the logarithm of the probability that it gives to the right class is
larger by more than two: counts alone change too much by chance, and surer is not yet more often right. A factor that
helped is changed further in the same direction next.
So the result is never worse than the law on the recordings held out, and mere luck seldom changes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf import calibration, inference
from timesurf.engines import Engine
from timesurf.errors import DivergedError, EventError, SettingError
from timesurf.events import Recordings
from timesurf.learning import split
from timesurf.learning.law import LAW, Knobs, law
from timesurf.network import Network

Array = NDArray[Any]
HELD_OUT = 0.3  # of the recordings: what trials are compared on
_LEAST = 1e-6  # probability of a class that is counted: a single recording shall not decide
STEPS: tuple[tuple[str, float], ...] = (
    ("last_tau", 0.25), ("temperature", 2.5), ("last_tau", 4), ("passes", 2), ("tau", 0.5), ("places", 0.5),
    ("alpha", 2), ("tau", 2), ("units", 2), ("places", 2), ("temperature", 0.4), ("window", 1.5), ("window", 0.67),
    ("units_per_class", 2), ("alpha", 0.5), ("units", 0.5),
)  # fmt: skip


class Judged(NamedTuple):
    """How a network decides the recordings held out.

    Attributes
    ----------
    right : array of bool
        Which of them correctly.
    likely : array of float
        Logarithm of the probability that it gives to the right class.
    """

    right: Array
    likely: Array


@dataclass(frozen=True, slots=True)
class Trial:
    """Some settings, and how a network with them did on the recordings held out."""

    number: int  # from 0, the law itself, up
    knobs: Knobs
    recording_accuracy: float
    best: bool  # better than all before
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "number": self.number, "knobs": self.knobs.changed, "recording_accuracy": self.recording_accuracy,
            "best": self.best, "seconds": self.seconds,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found.

    Attributes
    ----------
    knobs : Knobs
        Factors of the law to train with.
    trials : tuple of Trial
        In the order in which they ran.
    held_out : int
        Recordings that they were compared on.
    """

    knobs: Knobs
    trials: tuple[Trial, ...]
    held_out: int

    @property
    def why(self) -> str:
        """What was chosen and why, in a line."""
        first, best = self.trials[0], [trial for trial in self.trials if trial.best][-1]
        tried = f"{len(self.trials)} trials on {self.held_out:,} recordings held out"
        if best is first:
            return f"tuning: nothing was clearly better than the law ({first.recording_accuracy:.1%}; {tried})"
        chosen = ", ".join(f"{name} x {value:g}" for name, value in self.knobs.changed.items())
        return f"tuning: {chosen}: {first.recording_accuracy:.1%} -> {best.recording_accuracy:.1%} ({tried})"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        trials = [trial.to_dict() for trial in self.trials]
        return {"knobs": self.knobs.changed, "held_out": self.held_out, "trials": trials}


def tune(
    recordings: Recordings,
    *,
    minutes: float | None = None,
    trials: int | None = None,
    engine: str | Engine = "cpu",
    threads: int | None = None,
    seed: int | None = 0,
    report: Callable[[Trial], None] = lambda trial: None,
) -> Tuned:
    """Try neighbours of what the data chose, and keep the best.

    Parameters
    ----------
    recordings : Recordings
        To learn from; 30 % of each class are held out, to compare trials on.
    minutes : float, optional
        Start no trial that would end after this time, going by the longest so far. The law itself always runs.
    trials : int, optional
        How many in all, the law among them. Given alone, the same seed gives the same result on any machine.
    engine, threads
        What computes, on how many cores.
    seed : int, optional
        Of the split and of every network.
    report : callable
        Called with every trial that ends.

    Returns
    -------
    Tuned
        The best factors of the law, and all trials.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> found = tune(sentences.make(40, seed=0), trials=2)
    >>> len(found.trials), found.trials[0].knobs == Knobs()
    (2, True)
    """
    if minutes is None and trials is None:
        raise SettingError("Tuning needs minutes, or a number of trials, to end by.")
    if (minutes is not None and not minutes > 0) or (trials is not None and trials < 1):
        raise SettingError("Tuning needs a positive number of minutes, and at least one trial.")
    label = inference.class_numbers(recordings.classes, recordings)
    learned, held = split.hold_out(label, HELD_OUT, np.random.default_rng(seed))
    if len(held) == 0:
        raise EventError("No class has two labelled recordings: there is nothing to compare settings on.")
    learn, judge, label = recordings[learned], recordings[held], label[held]
    began, ended = time.perf_counter(), list[Trial]()
    best, found = LAW, Judged(np.zeros(len(held), np.bool_), np.full(len(held), math.log(_LEAST)))
    steps = _Steps()
    while True:
        since = time.perf_counter()
        longest = max((trial.seconds for trial in ended), default=0.0)
        late = minutes is not None and bool(ended) and since + longest - began > 60 * minutes
        knobs = LAW if not ended else steps.next(best)
        if late or knobs is None or len(ended) == trials:
            return Tuned(best, tuple(ended), len(held))
        mine = judged(learn, judge, label, knobs, engine, threads, seed)
        better = not ended or clearly_better(mine, found)
        if better:
            best, found = knobs, mine
        steps.ended(better)
        ended.append(Trial(len(ended), knobs, float(mine.right.mean()), better, time.perf_counter() - since))
        report(ended[-1])


class _Steps:
    """Which factor changes next: all in turn, and one that helped again at once."""

    def __init__(self) -> None:
        self.left: Iterator[tuple[str, float]] = iter(STEPS)
        self.last: tuple[str, float] | None = None
        self.again = False

    def next(self, best: Knobs) -> Knobs | None:
        """The best settings with one more step; None after the last."""
        self.last = self.last if self.again else next(self.left, None)
        if self.last is None:
            return None
        name, factor = self.last
        return replace(best, **{name: getattr(best, name) * factor})

    def ended(self, better: bool) -> None:
        """Whether the step helped."""
        self.again = better and self.last is not None


def clearly_better(mine: Judged, other: Judged) -> bool:
    """Whether more is right here than there by a standard error, and the right class likelier by more than two.

    Examples
    --------
    >>> other = Judged(np.array([True, False, False, False]), np.log([0.8, 0.1, 0.2, 0.3]))
    >>> clearly_better(Judged(np.array([True, True, True, False]), np.log([0.9, 0.6, 0.7, 0.4])), other)
    True
    >>> clearly_better(Judged(np.array([True, True, False, False]), np.log([0.9, 0.6, 0.4, 0.4])), other)
    False
    """
    gain = mine.likely - other.likely
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    gained, lost = int((mine.right & ~other.right).sum()), int((other.right & ~mine.right).sum())
    return gained - lost > math.sqrt(gained + lost) and float(gain.mean()) > 2 * error


def judged(
    learn: Recordings,
    judge: Recordings,
    label: Array,
    knobs: Knobs,
    engine: str | Engine,
    threads: int | None,
    seed: int | None,
) -> Judged:
    """How a network with these settings, trained and calibrated, decides the recordings to judge by."""
    found = law(learn, engine=engine, threads=threads, seed=seed, knobs=knobs)
    network = Network(
        found.layers, learn.field, learn.polarities, learn.classes, rule=found.rule, engine=engine, threads=threads,
        seed=seed,
    )  # fmt: skip
    network.law = found
    try:
        network.fit(learn)
    except DivergedError:  # a result like others: nothing is right
        return Judged(np.zeros(len(label), np.bool_), np.full(len(label), math.log(_LEAST)))
    outcome = network.outcome(judge, evidence=True)
    evidence, events = outcome.evidence, outcome.votes.sum(axis=1)
    assert evidence is not None
    by = calibration.fit(evidence, events, label)
    probability = calibration.probabilities(evidence, events, by)[np.arange(len(label)), label]
    return Judged(evidence.argmax(axis=1) == label, np.log(np.maximum(probability, _LEAST)))
