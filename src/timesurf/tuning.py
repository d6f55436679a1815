"""Tuning: neighbours of what the data chose are tried by cross-validation, within a time or a number of trials.

The settings that `timesurf.learning.law` chooses are the first trial. Each further trial changes one factor of the best
settings so far (`timesurf.learning.knobs`). It trains a network with them on two thirds of the recordings and decides
the third, for each of three folds in turn, but stops after a fold where the right classes have become less likely: most
trials cost a third. A trial becomes the best if more recordings are decided correctly over all folds, and if the
logarithm of the probability of the right class is larger by more than two standard errors, recording by recording:
counts alone change too much by chance. A factor that helped is changed further in the same direction next.

So the result is never worse than the law on the recordings that it was compared on, and mere luck seldom changes it.
Where the law decides all of them correctly, nothing can be better, and tuning ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timesurf import calibration, inference
from timesurf.engines import Engine
from timesurf.errors import DivergedError, EventError, SettingError
from timesurf.events import Recordings
from timesurf.learning import split
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.law import Structure, law
from timesurf.network import Network

Array = NDArray[Any]
FOLDS = 3
_SHARE = 1 / 2  # of the time that the law may take on all folds; else trials are compared on one
_LEAST = 1e-6  # probability of a class that is counted: a single recording shall not decide
STEPS: tuple[tuple[str, float], ...] = (
    ("copies", 4), ("units", 2), ("last_tau", 0.25), ("passes", 2), ("temperature", 2.5), ("last_tau", 4), ("alpha", 2),
    ("tau", 0.5), ("places", 0.5), ("units_per_class", 2), ("tau", 2), ("places", 2), ("temperature", 0.4),
    ("window", 1.5), ("window", 0.67), ("alpha", 0.5), ("units", 0.5),
)  # fmt: skip


class Judged(NamedTuple):
    """How networks decide recordings that they did not learn from.

    Attributes
    ----------
    right : array of bool
        Which of them correctly.
    likely : array of float
        Logarithm of the probability that they give to the right class.
    """

    right: Array
    likely: Array

    def before(self, other: Judged) -> Judged:
        """These recordings and then others."""
        return Judged(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def first(self, number: int) -> Judged:
        """So many of the recordings."""
        return Judged(self.right[:number], self.likely[:number])


class Fold(NamedTuple):
    """What one network per trial learns from, and what it decides."""

    learn: Recordings
    judge: Recordings
    label: Array  # of the recordings to judge by
    looked: dict[Knobs, Structure]  # what the law has found of those to learn from
    origin: Array | None = None  # what each of those was cut from


@dataclass(frozen=True, slots=True)
class Trial:
    """Some settings, and how networks with them did on recordings that they did not learn from.

    Attributes
    ----------
    number : int
        From 0, the law itself, up.
    knobs : Knobs
        Factors of what the law chooses.
    recordings : int
        That were decided: all, or those of the first folds if these were enough to see that it is no better.
    recording_accuracy : float
        On these recordings.
    gain : float
        By how much it is higher than that of the best settings before, on the same recordings.
    best : bool
        Better than all before.
    seconds : float
        That it took.
    """

    number: int
    knobs: Knobs
    recordings: int
    recording_accuracy: float
    gain: float
    best: bool
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self) | {"knobs": self.knobs.changed}


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found.

    Attributes
    ----------
    knobs : Knobs
        Factors of the law to train with.
    trials : tuple of Trial
        In the order in which they ran.
    """

    knobs: Knobs
    trials: tuple[Trial, ...]

    @property
    def why(self) -> str:
        """What was chosen and why, in a line."""
        first, best = self.trials[0], [trial for trial in self.trials if trial.best][-1]
        n = len(self.trials)
        tried = f"{n} trial{'s' * (n > 1)}, cross-validated on {first.recordings:,} recordings"
        if best is first:
            reason = "the settings make no mistake" if first.recording_accuracy == 1 else "nothing was clearly better"
            return f"tuning: {reason} ({first.recording_accuracy:.1%}; {tried})"
        chosen = ", ".join(f"{name} x {value:g}" for name, value in self.knobs.changed.items())
        return f"tuning: {chosen}: {first.recording_accuracy:.1%} -> {best.recording_accuracy:.1%} ({tried})"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"knobs": self.knobs.changed, "trials": [trial.to_dict() for trial in self.trials]}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Tuned:
        """The same again from what `to_dict` gave.

        Examples
        --------
        >>> found = Tuned(Knobs(tau=2), (Trial(0, LAW, 9, 0.5, 0.0, True, 1.5),))
        >>> Tuned.from_dict(found.to_dict()) == found
        True
        """
        trials = (Trial(**(trial | {"knobs": Knobs(**trial["knobs"])})) for trial in about["trials"])
        return cls(Knobs(**about["knobs"]), tuple(trials))


def tune(
    recordings: Recordings,
    *,
    minutes: float | None = None,
    trials: int | None = None,
    engine: str | Engine = "cpu",
    threads: int | None = None,
    seed: int | None = 0,
    origin: ArrayLike | None = None,
    report: Callable[[Trial], None] = lambda trial: None,
) -> Tuned:
    """Try neighbours of what the data chose, and keep the best.

    Parameters
    ----------
    recordings : Recordings
        To learn from, and to compare trials on.
    minutes : float, optional
        Start no trial, and no further fold of one, that would end after this time, going by the longest so far. The
        law itself always runs; where three folds of it would take more than half of the time, there is one.
    trials : int, optional
        How many in all, the law among them. Given alone, the same seed gives the same result on any machine.
    engine, threads
        What computes, on how many cores.
    seed : int, optional
        Of the folds and of every network.
    origin : array of int, optional
        The number of what each recording was cut from: pieces of one long recording, which resemble each other, then
        stay in one fold.
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
    (1, True)
    >>> found.why
    'tuning: the settings make no mistake (100.0%; 1 trial, cross-validated on 40 recordings)'
    """
    if minutes is None and trials is None:
        raise SettingError("Tuning needs minutes, or a number of trials, to end by.")
    if (minutes is not None and not minutes > 0) or (trials is not None and trials < 1):
        raise SettingError("Tuning needs a positive number of minutes, and at least one trial.")
    folds = divided(recordings, np.random.default_rng(seed), origin)
    if not folds:
        pieces = "" if origin is None else ", of which pieces of one count as one"
        raise EventError(f"No class has two labelled recordings with events{pieces}: tuning has nothing to compare on.")
    clock = _Clock(60 * minutes if minutes is not None else math.inf)

    def on(fold: Fold, knobs: Knobs) -> Judged:
        with clock.step():
            return judged(fold.learn, fold.judge, fold.label, knobs, engine, threads, seed, fold.looked, fold.origin)

    found = on(folds[0], LAW)
    if FOLDS * clock.longest > _SHARE * clock.seconds:
        del folds[1:]
    for fold in folds[1:]:
        found = found.before(on(fold, LAW))
    best, steps = LAW, _Steps()
    accuracy, everything = float(found.right.mean()), len(found.right)
    ended = [Trial(0, LAW, everything, accuracy, 0.0, True, clock.lap())]
    report(ended[-1])
    while len(ended) != trials and not found.right.all() and clock.has_time() and (knobs := steps.next(best)):
        if alike(folds[0], knobs, best, engine, threads, seed):
            steps.ended(False)
            continue
        mine = Judged(found.right[:0], found.likely[:0])
        for fold in folds:
            mine = mine.before(on(fold, knobs))
            before = found.first(len(mine.right))
            if not (mine.likely.mean() > before.likely.mean() and clock.has_time()):
                break
        better = len(mine.right) == everything and clearly_better(mine, found)
        gain = float(mine.right.mean() - before.right.mean())
        if better:
            best, found = knobs, mine
        steps.ended(better)
        ended.append(Trial(len(ended), knobs, len(mine.right), float(mine.right.mean()), gain, better, clock.lap()))
        report(ended[-1])
    return Tuned(best, tuple(ended))


def divided(recordings: Recordings, rng: np.random.Generator, origin: ArrayLike | None = None) -> list[Fold]:
    """Folds to compare trials on: origins stay whole, and what is decided has a class that can be learned beside it.

    What has no label or no event, or is alone of its class, is decided in no fold, and learned from in each unless it
    has the origin of others that are decided there.

    Examples
    --------
    >>> some = Recordings([[0] * 5], t=range(5), offsets=range(6), field=(1,), labels=["a", "a", "b", "b", "c"])
    >>> sorted(len(fold.judge) for fold in divided(some, np.random.default_rng(0)))
    [1, 1, 2]
    """
    label = inference.class_numbers(recordings.classes, recordings)
    whole = np.arange(len(label)) if origin is None else np.asarray(origin)
    if whole.shape != label.shape:
        raise SettingError(f"There are {len(label):,} recordings, but origin has shape {whole.shape}: one number each.")
    whose = np.unique(whole, return_inverse=True)[1]
    shown = (label >= 0) & (recordings.counts > 0)
    pairs = np.unique(np.stack([whose, label], axis=1)[shown], axis=0)  # of origins and classes
    several = pairs[np.bincount(pairs[:, 1])[pairs[:, 1]] > 1]
    origins, first = np.unique(several[:, 0], return_index=True)
    fold = np.full(whose.max(initial=-1) + 1, -1)
    fold[origins] = split.folds(several[first, 1], FOLDS, rng)
    fold = fold[whose]
    found = []
    for k in np.unique(fold[fold >= 0]):
        learned = np.flatnonzero(fold != k)
        decided = np.flatnonzero((fold == k) & shown & np.isin(label, label[(fold != k) & shown]))
        if len(decided):
            learn, judge = recordings[learned], recordings[decided]
            cut_from = None if origin is None else whole[learned]
            found.append(Fold(learn, judge, inference.class_numbers(learn.classes, judge), {}, cut_from))
    return found


def alike(fold: Fold, knobs: Knobs, other: Knobs, engine: str | Engine, threads: int | None, seed: int | None) -> bool:
    """Whether both lead to the same network: twice the places, for example, where each pixel is one already."""
    mine, theirs = (
        law(fold.learn, engine=engine, threads=threads, seed=seed, knobs=each, looked=fold.looked, origin=fold.origin)
        for each in (knobs, other)
    )
    rule = mine.rule if mine.fitting["passes"] else replace(mine.rule, alpha=theirs.rule.alpha)
    return (mine.layers, mine.fitting, rule) == (theirs.layers, theirs.fitting, theirs.rule)


class _Clock:
    """How long steps take, and whether there is time for another one."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.longest = seconds, 0.0
        self.began = self.since = time.perf_counter()

    @contextmanager
    def step(self) -> Iterator[None]:
        """One training."""
        began = time.perf_counter()
        yield
        self.longest = max(self.longest, time.perf_counter() - began)

    def has_time(self) -> bool:
        """Whether a step as long as the longest would end in time."""
        return time.perf_counter() + self.longest - self.began <= self.seconds

    def lap(self) -> float:
        """Seconds since the last lap."""
        since, self.since = self.since, time.perf_counter()
        return self.since - since


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
    """Whether more is right here than there, and the right class likelier by more than two standard errors.

    Examples
    --------
    >>> other = Judged(np.array([True, False, False]), np.log([0.5, 0.3, 0.3]))
    >>> clearly_better(Judged(np.array([True, True, False]), np.log([0.9, 0.6, 0.5])), other)
    True
    >>> clearly_better(Judged(np.array([True, True, False]), np.log([0.9, 0.9, 0.1])), other)
    False
    """
    gain = mine.likely - other.likely
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    return bool(mine.right.sum() > other.right.sum()) and float(gain.mean()) > 2 * error


def judged(
    learn: Recordings,
    judge: Recordings,
    label: Array,
    knobs: Knobs,
    engine: str | Engine,
    threads: int | None,
    seed: int | None,
    looked: dict[Knobs, Structure] | None = None,
    origin: Array | None = None,
) -> Judged:
    """How a network with these settings, trained and calibrated, decides the recordings to judge by."""
    found = law(learn, engine=engine, threads=threads, seed=seed, knobs=knobs, looked=looked, origin=origin)
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
    right = (evidence.argmax(axis=1) == label) & (events > 0)  # without output events nothing is decided
    return Judged(right, np.log(np.maximum(probability, _LEAST)))
