"""One trial: a network trained with some settings, evaluated after every pass, pruned if it falls behind.

A trial carries its bars: what the median of the earlier trials reached after each pass. So a thread or a worker on
another machine can run it without the study and without Optuna.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from timesurf.errors import DivergedError
from timesurf.events import Recordings
from timesurf.learning.schedule import Schedule
from timesurf.learning.trainer import Report, passes, shuffler
from timesurf.presets import Preset

Ended = Literal["whole", "pruned", "diverged"]
_TRIALS_FOR_A_BAR = 5  # a median of fewer says little
_DOUBT = 2.0  # standard errors of a share: a network further below the bar is worse, and not just unlucky


@dataclass(frozen=True)
class Task:
    """What every trial does.

    Attributes
    ----------
    learn : Recordings
        To learn from.
    judge : Recordings
        To evaluate on; labelled.
    engine : str
        What computes.
    threads : int, optional
        Cores to use; None uses all.
    """

    learn: Recordings
    judge: Recordings
    engine: str = "cpu"
    threads: int | None = None

    @property
    def chance(self) -> float:
        """Recording accuracy of always predicting the most frequent class."""
        return float(np.unique(np.asarray(self.judge.labels), return_counts=True)[1].max() / len(self.judge))


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a trial; a tuple has one value per pass."""

    recording_accuracy: tuple[float, ...]
    kept: tuple[float, ...]
    event_accuracy: float
    ended: Ended
    seconds: float

    def marks(self, chance: float) -> tuple[float, float]:
        """The two objectives: recording accuracy, to be high, and events kept, to be few.

        A network no better than chance counts as keeping all events, however few it keeps. Else one that rejects
        everything could not be beaten.
        """
        accuracy, kept = self.recording_accuracy[-1], self.kept[-1]
        return accuracy, kept if accuracy > chance else 1.0


def measure(
    task: Task,
    preset: Preset,
    seed: int,
    bars: Sequence[float] = (),
    progress: Report | None = None,
) -> Measured:
    """Train a network and evaluate it after each pass; bit-identical to `Network.fit(task.learn, **preset.training())`.

    Parameters
    ----------
    task : Task
        Recordings, and what computes.
    preset : Preset
        The settings.
    seed : int
        Of the network.
    bars : sequence of float
        Recording accuracy to reach after each pass, or the trial is pruned; see `fallen_behind`.
    progress : callable, optional
        Called with a `Progress` after each part of a pass.

    Returns
    -------
    Measured
        The figures.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> from timesurf.presets import SENTENCES
    >>> few = Task(sentences.make(20, seed=0), sentences.make(10, seed=1), threads=1)
    >>> measured = measure(few, SENTENCES, seed=0, bars=[1.0])
    >>> measured.ended, len(measured.recording_accuracy)
    ('pruned', 1)
    """
    began = time.perf_counter()
    network = preset.network(task.learn, task.learn.classes, seed, engine=task.engine, threads=task.threads)
    schedule, accuracy, kept = Schedule(**preset.learning()), list[float](), list[float]()
    figures: dict[str, Any] = {}
    ended: Ended = "whole"
    try:
        network.start(task.learn, **preset.starting())
        for done in passes(network, task.learn, schedule, shuffler(network), progress=progress):
            figures = network.evaluate(task.judge)
            accuracy.append(figures["recording_accuracy"])
            kept.append(figures["kept"])
            if done.number < schedule.passes and fallen_behind(accuracy, bars, len(task.judge)):
                ended = "pruned"
                break
    except DivergedError:  # a result like others: the worst that settings can have
        ended, figures = "diverged", {"event_accuracy": 0.0}
        accuracy.append(0.0)
        kept.append(1.0)
    return Measured(tuple(accuracy), tuple(kept), figures["event_accuracy"], ended, time.perf_counter() - began)


def bars(curves: Sequence[Sequence[float]], passes: int) -> list[float]:
    """What a trial must reach after each pass: the median of the best values so far of all complete trials.

    The first quarter of the passes has a bar of 0, since a network that learns slowly may end well. A few
    trials give no bars.

    Examples
    --------
    >>> bars([[0.5, 0.9], [0.6, 0.4], [0.5, 0.5], [0.7, 0.8], [0.9, 1.0]], passes=2)
    [0.6, 0.8]
    """
    best = [np.maximum.accumulate(curve) for curve in curves if len(curve) == passes]
    if len(best) < _TRIALS_FOR_A_BAR:
        return []
    median, free = np.median(best, axis=0), passes // 4
    return [0.0] * free + [float(bar) for bar in median[free:]]


def fallen_behind(accuracy: Sequence[float], bars: Sequence[float], recordings: int) -> bool:
    """Whether the best so far lies below the bar of this pass, by more than the choice of recordings can explain.

    Optuna's pruners know one objective only. This is the median rule on the first, the recording accuracy: keeping few
    events does not save a network that classifies worse than most.

    Examples
    --------
    >>> fallen_behind([0.5, 0.6], bars=[0.5, 0.9], recordings=100), fallen_behind([0.99], bars=[1.0], recordings=100)
    (True, False)
    """
    if len(accuracy) > len(bars):
        return False
    best = max(accuracy)
    return best + _DOUBT * math.sqrt(best * (1 - best) / recordings) < bars[len(accuracy) - 1]
