"""Layers at the bottom that rest run once, not in every pass.

A layer that learns nothing turns the same events into the same events in every pass. So what the lowest layers emit is
computed once, and the layers above them learn from it: the same steps, since times, labels and the order of recordings
stay, at the price of the last layers alone.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from timesurf import inference
from timesurf.engines import Parameters, TakesPart, choose
from timesurf.events import Recordings
from timesurf.layers import Stage, Window
from timesurf.learning.schedule import Schedule
from timesurf.learning.state import Trainee
from timesurf.rule import RATES, Rule

Array = NDArray[Any]
_BYTES_PER_EVENT = 12  # of what a layer emits, while it is computed and after
_SHARE = 0.25  # of the machine's memory


class Upper:
    """The layers of a network above its lowest `below`, as something that learns. It shares the network's units."""

    def __init__(self, whole: Trainee, below: int) -> None:
        self.whole, self.below = whole, below
        self.history, self.engine, self.options, self.seed = whole.history, whole.engine, whole.options, whole.seed
        self.classes = whole.classes
        self.stages: tuple[Stage, ...] = whole.stages[below:]
        self.rule = above(whole.rule, below)

    @property
    def parameters(self) -> Parameters:
        """Those of the whole network, from layer `below` up."""
        return Parameters(self.whole.parameters[self.below :])

    @parameters.setter
    def parameters(self, value: Parameters) -> None:
        self.whole.parameters = Parameters([*self.whole.parameters[: self.below], *value])

    def class_numbers(self, recordings: Recordings) -> Array:
        """The class number of each recording, -1 if unknown."""
        return inference.class_numbers(self.whole.classes, recordings)


class Seen(NamedTuple):
    """What learns, and from what."""

    trainee: Trainee
    recordings: Recordings
    pooled: tuple[int, ...] = ()  # pixels of the recordings per place of the trainee's field, where it is not theirs
    given: Array | None = None  # (recordings,) events before layers below the trainee rejected some


def learns_from(trainee: Trainee, recordings: Recordings, schedule: Schedule) -> Seen:
    """What learns, and from what: the upper layers from what resting layers emit, or the network from the recordings.

    Where recordings are moved in each pass, only the lowest layer counts, and it emits at every pixel: what a `Window`
    emits for moved events is what it emits for the events themselves, moved, up to what lies at the edge of the field.

    Parameters
    ----------
    trainee : Trainee
        The network.
    recordings : Recordings
        To learn from.
    schedule : Schedule
        How; only the batch rule over several passes takes this way.

    Returns
    -------
    Seen
        Both as they are where no layer rests, or where memory does not suffice for what it emits.
    """
    below = 0 if schedule.online or schedule.passes < 2 else resting(trainee.stages, trainee.parameters, trainee.rule)
    lower: tuple[Stage, ...] = trainee.stages[:below]
    pooled: tuple[int, ...] = ()
    if below and any(schedule.moved):
        lower, pooled = _unpooled(trainee.stages[0])
    much = int(recordings.counts.sum()) * _BYTES_PER_EVENT > _SHARE * _memory()
    if not lower or much or isinstance(engine := choose(trainee.engine, trainee.stages), TakesPart):
        return Seen(trainee, recordings)
    parameters = Parameters(trainee.parameters[: len(lower)])
    emits = inference.emitted(engine, lower, parameters, recordings, trainee.options, len(lower) - 1)
    return Seen(Upper(trainee, len(lower)), emits, pooled, recordings.counts)


def _unpooled(stage: Stage) -> tuple[tuple[Stage, ...], tuple[int, ...]]:
    """A layer that emits at every pixel, and the stride that it had; nothing for one that cannot be moved so."""
    if not isinstance(stage.layer, Window) or stage.layer.stride == "field":
        return (), ()
    return (replace(stage, layer=replace(stage.layer, stride=1)),), stage.layer.strides(len(stage.field))


def resting(stages: tuple[Stage, ...], parameters: Parameters, rule: Rule) -> int:
    """How many layers at the bottom learn nothing; the last layer is never one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from timesurf.layers import Full, Window, stack
    >>> stages = stack([Window(3, units=2, tau=1), Full(units=2, tau=1)], (4,), 1)
    >>> parameters = Parameters.of([np.zeros((2, *s.surface_shape)) for s in stages], [np.full(2, np.inf)] * 2)
    >>> resting(stages, parameters, Rule(alpha=(0, 1e-3), beta=0, gamma=0, delta=0))
    1
    """
    rates = rule.per_layer(len(stages))[:, [RATES.index(name) for name in RATES if name != "d"]]
    for k, units in enumerate(parameters[:-1]):
        if rates[k].any() and not units.frozen.all():
            return k
    return len(stages) - 1


def above(rule: Rule, below: int) -> Rule:
    """The rule for the layers above the lowest `below`.

    Examples
    --------
    >>> above(Rule(alpha=(0.0, 1e-3)), 1).alpha
    (0.001,)
    """
    per_layer: dict[str, Any] = {name: rate for name in RATES if isinstance(rate := getattr(rule, name), tuple)}
    return replace(rule, **{name: rate[below:] for name, rate in per_layer.items()})


def _memory() -> float:
    """Bytes of the machine's memory; where the system does not say, as if there were 8 GiB."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float(8 << 30)
