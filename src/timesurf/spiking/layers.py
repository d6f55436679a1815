"""What a spiking network is made of: places on a grid, and in each place neurons that hear the same box of inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Literal, get_args

from timesurf.errors import SettingError
from timesurf.events.checks import MOST_ENTRIES
from timesurf.layers import Place
from timesurf.times import Time, time_constant

Reset = Literal["zero", "subtract"]


@dataclass(frozen=True, slots=True)
class Neurons:
    """Leaky integrate-and-fire neurons over boxes of the input field; at most one of a place fires at a time.

    An input spike at synapse i of a place, dt after the one before it::

        v_n = v_n exp(-dt / tau) + w_ni                                     for all neurons n of the place
        f   = argmax_n (v_n - th_n)  fires  if  v_f >= th_f  and the refractory period is over
        v_n = 0   or   v_n - th_f                                           for all n, if f fired: the reset

    Weights of a neuron are a vector of length 1. Where there is no threshold, 0 is subtracted.

    Attributes
    ----------
    box : sequence of int, optional
        Sides of what a place hears; None: the whole field, heard by a single place without coordinates.
    step : sequence of int, optional
        From place to place. None: as `box`, so that every input has one place. Smaller steps make boxes overlap.
    units : int, optional
        Neurons per place; None in the last layer: one per class.
    tau : float or str
        Decay of the potential: us, or text such as "2 ms".
    trace_tau, feedback_tau : float or str, optional
        Decay of the synapses' traces, which weights learn from, and of the feedback vector ftv; None: as tau.
    refractory : float or str
        After a spike, and at the start of a recording: how long the neurons of a place integrate without firing.
    reset : {"zero", "subtract"}
        What a spike does to all potentials of its place.
    inhibition : float
        Subtracted from traces when weights learn, so that weights become negative where nothing fires.
    ready : float
        First thresholds, as a share of the median potential without firing; 0: no threshold, every input makes the
        strongest neuron fire.

    Examples
    --------
    >>> layer = Neurons((9, 9), step=(4, 4), units=32, tau="5 ms")
    >>> layer.output_field((28, 28)), layer.corner((0, 1)), list(layer.places((5, 3), (28, 28)))
    ((7, 7), (-2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)])
    """

    box: Sequence[int] | None = None
    _: KW_ONLY
    step: Sequence[int] | None = None
    units: int | None = None
    tau: Time
    trace_tau: Time | None = None
    feedback_tau: Time | None = None
    refractory: Time = 0.0
    reset: Reset = "zero"
    inhibition: float = 0.0
    ready: float = 0.3

    def __post_init__(self) -> None:
        """Convert times to microseconds and refuse what is out of range."""
        for name in ("box", "step"):
            sides = getattr(self, name)
            if sides is not None:
                if any(not isinstance(n, int) or n < 1 for n in sides):
                    raise SettingError(f"{name} = {sides!r} must be whole numbers of at least 1.")
                object.__setattr__(self, name, tuple(sides))
        if self.box is None and self.step is not None:
            raise SettingError(f"step = {self.step!r} needs a box: the whole field has one place.")
        if self.units is not None and (not isinstance(self.units, int) or self.units < 1):
            raise SettingError(f"units = {self.units!r} must be a whole number of at least 1.")
        object.__setattr__(self, "tau", time_constant(self.tau, "tau"))
        for name in ("trace_tau", "feedback_tau"):
            value = self.tau if getattr(self, name) is None else getattr(self, name)
            object.__setattr__(self, name, time_constant(value, name))
        if self.refractory != 0:
            object.__setattr__(self, "refractory", time_constant(self.refractory, "refractory"))
        if self.reset not in get_args(Reset):
            raise SettingError(f"reset = {self.reset!r} must be one of {', '.join(get_args(Reset))}.")
        if not 0 <= self.inhibition < 1:
            raise SettingError(f"inhibition = {self.inhibition!r} must lie between 0 and 1.")
        if not 0 <= self.ready < math.inf:
            raise SettingError(f"ready = {self.ready!r} must be a share of at least 0.")

    def sides(self, field: Place) -> Place:
        """Sides of the box."""
        return field if self.box is None else tuple(self.box)

    def steps(self) -> Place:
        """From place to place; none where the whole field has one place."""
        return () if self.box is None else tuple(self.step or self.box)

    def corner(self, place: Place) -> Place:
        """First corner of the box of a place, which is centred on its step; may lie outside the field."""
        if self.box is None:
            return ()
        return tuple(q * s + s // 2 - b // 2 for q, s, b in zip(place, self.steps(), self.box, strict=True))

    def output_field(self, field: Place) -> Place:
        """How many places cover the field."""
        return tuple(-(-size // s) for size, s in zip(field, self.steps(), strict=False))

    def places(self, x: Place, field: Place) -> Iterator[Place]:
        """The places that hear an input at x, in order."""
        for place in product(*map(range, self.output_field(field))):
            within = zip(x, self.corner(place), self.sides(field), strict=False)
            if all(0 <= v - c < n for v, c, n in within):
                yield place


@dataclass(frozen=True, slots=True)
class Stage:
    """A layer in its place in a network."""

    layer: Neurons
    units: int
    field: Place
    polarities: int

    @property
    def shape(self) -> Place:
        """Shape of the weights of one neuron: its box, then the polarities."""
        return (*self.layer.sides(self.field), self.polarities)

    @property
    def output_field(self) -> Place:
        """Places of the layer: the field of the one above."""
        return self.layer.output_field(self.field)

    @property
    def classes(self) -> int:
        """Of a last layer: one per neuron."""
        return self.units


def stack(layers: Sequence[Neurons], field: Sequence[int], polarities: int, classes: int) -> tuple[Stage, ...]:
    """The layers on top of each other: what each emits, the next receives.

    Examples
    --------
    >>> layers = [Neurons((5, 5), units=3, tau="500 us"), Neurons(tau=1)]
    >>> [(stage.shape, stage.units) for stage in stack(layers, (30, 5), polarities=1, classes=2)]
    [((5, 5, 1), 3), ((6, 1, 3), 2)]
    """
    if not layers or any(not isinstance(layer, Neurons) for layer in layers):
        raise SettingError("A spiking network is made of layers of Neurons; time surfaces belong in timesurf.Network.")
    stages, place = [], tuple(field)
    for k, layer in enumerate(layers, start=1):
        units = classes if layer.units is None and k == len(layers) else layer.units
        if units is None:
            raise SettingError(f"layer {k} needs units: only the last may leave them open.")
        if k == len(layers) and (layer.box is not None or units != classes):
            raise SettingError(
                f"the last layer hears the whole field (box=None) and has {classes} units, one per class."
            )
        if k < len(layers) and layer.box is None:
            raise SettingError(f"layer {k} needs a box: only the last hears the whole field.")
        if layer.box is not None and {len(layer.box), len(layer.steps())} != {len(place)}:
            raise SettingError(f"layer {k}: box and step need {len(place)} numbers, as its field {place} has.")
        stage = Stage(layer, units, place, polarities)
        if math.prod(stage.output_field) * math.prod(stage.shape) > MOST_ENTRIES:
            raise SettingError(f"layer {k} has more than {MOST_ENTRIES:,} synapses: use larger steps or smaller boxes.")
        stages.append(stage)
        place, polarities = stage.output_field, units
    return tuple(stages)
