"""One trial: a network trained with some settings, judged after every pass, given up where it falls behind.

A trial carries its bars with it: what the median of the trials before it reached after each pass. So whoever runs it, a
thread or a worker on another machine, needs neither the study nor Optuna.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from timesurf import engines
from timesurf.errors import DivergedError
from timesurf.events import Recordings
from timesurf.learning.trainer import Progress, Schedule, one_pass
from timesurf.presets import Preset

Ended = Literal["whole", "pruned", "diverged"]
_TRIALS_FOR_A_BAR = 5  # a median of fewer says little
_DOUBT = 2.0  # standard errors of a share: how far below the bar is no accident of who was held out


@dataclass(frozen=True)
class Task:
    """What every trial does: recordings to learn from, others to be judged by, and what computes."""

    train: Recordings
    held: Recordings
    engine: str = "cpu"
    threads: int | None = None

    @property
    def chance(self) -> float:
        """Share of held-out recordings that who always says the most frequent class gets right."""
        return float(np.unique(np.asarray(self.held.labels), return_counts=True)[1].max() / len(self.held))


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a trial. Shares; one a pass in a tuple."""

    recording_accuracy: tuple[float, ...]  # held-out recordings right
    kept: tuple[float, ...]  # of their events
    event_accuracy: float  # of their output events
    ended: Ended
    seconds: float

    def marks(self, chance: float) -> tuple[float, float]:
        """The two objectives: recordings right, events kept.

        A network that tells no more than chance spares nothing of use, however little it keeps: it is marked as keeping
        all. Else one that rejects everything could not be beaten.
        """
        right, kept = self.recording_accuracy[-1], self.kept[-1]
        return right, kept if right > chance else 1.0


def measure(
    task: Task,
    preset: Preset,
    seed: int,
    bars: Sequence[float] = (),
    told: Callable[[Progress], None] | None = None,
) -> Measured:
    """Train a network, to the bits of `Network.fit(task.train, **preset.training())`, and judge it after every pass.

    bars : share of held-out recordings to reach after each pass, to go on; see `fallen_behind`

    >>> from timesurf.datasets import sentences
    >>> from timesurf.presets import SENTENCES
    >>> few = Task(sentences.make(20, seed=0), sentences.make(10, seed=1), threads=1)
    >>> measured = measure(few, SENTENCES, seed=0, bars=[1.0])
    >>> measured.ended, len(measured.recording_accuracy)
    ('pruned', 1)
    """
    began = time.perf_counter()
    network = preset.network(task.train, task.train.classes, seed, engine=task.engine, threads=task.threads)
    right: list[float] = []
    kept: list[float] = []
    figures: dict[str, Any] = {}
    ended: Ended = "whole"
    try:
        network.start(task.train, **preset.starting())
        engine, order, size = engines.load(task.engine), network.shuffler(), len(task.train)
        for n in range(preset.passes):
            schedule = Schedule(n * size, preset.passes * size, preset.batch_size, preset.decay, preset.keep)
            learner = network.learner(task.train[order.permutation(size)])
            network.history.append(one_pass(engine, learner, network.rule, schedule, network.options, told))
            figures = network.evaluate(task.held)
            right.append(figures["recording_accuracy"])
            kept.append(figures["kept"])
            if n + 1 < preset.passes and fallen_behind(right, bars, len(task.held)):
                ended = "pruned"
                break
    except DivergedError:  # settings that lead nowhere: the worst there is, not an accident
        ended, figures = "diverged", {"event_accuracy": 0.0}
        right.append(0.0)
        kept.append(1.0)
    return Measured(tuple(right), tuple(kept), figures["event_accuracy"], ended, time.perf_counter() - began)


def bars(curves: Sequence[Sequence[float]], passes: int) -> list[float]:
    """Median, over trials that went to their end, of the best that each had reached after each pass; none for a few.

    The first quarter of the passes has a bar of 0: who learns slowly may end well.

    >>> bars([[0.5, 0.9], [0.6, 0.4], [0.5, 0.5], [0.7, 0.8], [0.9, 1.0]], passes=2)
    [0.6, 0.8]
    """
    best = [np.maximum.accumulate(curve) for curve in curves if len(curve) == passes]
    if len(best) < _TRIALS_FOR_A_BAR:
        return []
    median, free = np.median(best, axis=0), passes // 4
    return [0.0] * free + [float(bar) for bar in median[free:]]


def fallen_behind(right: Sequence[float], bars: Sequence[float], recordings: int) -> bool:
    """Whether the best so far lies below the bar of this pass, by more than the choice of recordings can explain.

    Optuna's pruners know one objective. This is the median rule on the first; how little is kept saves no network that
    tells recordings worse than most.

    >>> fallen_behind([0.5, 0.6], bars=[0.5, 0.9], recordings=100), fallen_behind([0.99], bars=[1.0], recordings=100)
    (True, False)
    """
    if len(right) > len(bars):
        return False
    best = max(right)
    return best + _DOUBT * math.sqrt(best * (1 - best) / recordings) < bars[len(right) - 1]
