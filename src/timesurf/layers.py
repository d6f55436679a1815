"""What a network is made of: layers of centroids, each over a neighbourhood of its input field.

==============  ===========================================  ===================
neighbourhood   surface of an event                          output coordinates
==============  ===========================================  ===================
`Window(size)`  the box of side `size` centred on the event  its own // `stride`
`Tile(shape)`   the block, of a fixed grid, that it is in    the block's
`Full()`        the whole field                              none
==============  ===========================================  ===================

A layer defines where a neighbourhood lies (`corner`, `box`) and where its output goes (`output`); engines do the rest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from timesurf.errors import SettingError
from timesurf.events.checks import MOST_ENTRIES
from timesurf.times import Time, readable_all, time_constant

Place = tuple[int, ...]  # coordinates of an event, or sizes of a field: one number per dimension
MOST_TAUS = 16  # time constants of one layer


@dataclass(frozen=True, slots=True)
class _Centroids:
    """What every layer has: units, and the time constants of its surfaces and of its feedback."""

    _: KW_ONLY
    units: int | None = None  # centroids; None in the last layer: one per class
    tau: Time | Sequence[Time]  # decay of the surface, us; several in `Full` alone
    feedback_tau: Time | None = None  # decay of the feedback vector ftv, us; None: as tau, the longest of several

    def __post_init__(self) -> None:
        """Convert times to microseconds and sizes to integers."""
        if self.units is not None:
            object.__setattr__(self, "units", _whole(self.units, "units"))
        taus = self._times()
        object.__setattr__(self, "tau", taus[0] if len(taus) == 1 else taus)
        feedback = max(taus) if self.feedback_tau is None else self.feedback_tau
        object.__setattr__(self, "feedback_tau", time_constant(feedback, "feedback_tau"))

    @property
    def taus(self) -> tuple[float, ...]:
        """The time constants of the surface in us: one, or those of a `Full` layer with several, in their order."""
        return self.tau if isinstance(self.tau, tuple) else (self.tau,)

    def _times(self) -> tuple[float, ...]:
        """Time constants as they were given, in us."""
        if isinstance(self.tau, tuple | list):
            raise SettingError(f"{type(self).__name__} takes one tau, not {self.tau!r}: only Full takes several.")
        return (time_constant(self.tau, "tau"),)  # type: ignore[arg-type]  # which refuses anything else


@dataclass(frozen=True, slots=True)
class Window(_Centroids):
    """Units over the box of side `size` centred on each event; output keeps the event's coordinates, // `stride`.

    ts = exp(-(t - T) / tau) on the box, 0 where nothing has fired yet and outside the field
    x' = x // stride

    A stride pools places: the layer above sees which unit fired in a block of `stride` pixels per dimension, not at
    which pixel. `stride="field"` makes all places one: the layer above sees units alone, wherever they fired.

    Attributes
    ----------
    size : int
        Side of the box, odd.
    units : int
        Centroids.
    tau : float or str
        Decay of the surface: us, or text such as "2 ms".
    feedback_tau : float or str, optional
        Decay of the feedback vector ftv; None: as tau.
    stride : int, tuple of int or "field"
        Pixels per output place: one number, one per dimension, or all of the field.

    Examples
    --------
    >>> layer = Window(9, units=32, tau="100 ms", stride=4)
    >>> layer.box((34, 34)), layer.output((33, 8)), layer.output_field((34, 34))
    ((9, 9), (8, 2), (9, 9))
    """

    overlaps: ClassVar[bool] = True  # whether neighbourhoods of different events can share some of their entries
    size: int  # side of the box, odd
    _: KW_ONLY
    tau: Time  # decay of the surface, us
    stride: int | tuple[int, ...] | Literal["field"] = 1  # pixels per output place

    def __post_init__(self) -> None:
        """Refuse an even size: the centre of the box must be an entry."""
        _Centroids.__post_init__(self)
        object.__setattr__(self, "size", _whole(self.size, "size"))
        if self.size % 2 == 0:
            raise SettingError(f"Window size = {self.size} must be odd: the event is in the middle.")
        if self.stride != "field":
            several = isinstance(self.stride, tuple | list)
            sides = tuple(_whole(n, "stride") for n in (self.stride if several else (self.stride,)))  # type: ignore[union-attr]
            object.__setattr__(self, "stride", sides if several else sides[0])

    def box(self, field: Place) -> Place:
        """Sides of the neighbourhood."""
        return (self.size,) * len(field)

    def corner(self, x: Place) -> Place:
        """First corner of the neighbourhood of an event at x; may lie outside the field, where nothing ever fires."""
        return tuple(v - self.size // 2 for v in x)

    def output(self, x: Place) -> Place:
        """Coordinates of the event that the layer emits for one at x."""
        if self.stride == "field":
            return tuple(0 * v for v in x)
        return tuple(v // n for v, n in zip(x, self.strides(len(x)), strict=True))

    def output_field(self, field: Place) -> Place:
        """Size of the field that the layer emits into."""
        if self.stride == "field":
            return (1,) * len(field)
        return tuple(-(-size // n) for size, n in zip(field, self.strides(len(field)), strict=True))

    def strides(self, dimensions: int) -> Place:
        """Pixels per output place in each dimension."""
        strides = self.stride if isinstance(self.stride, tuple) else (int(self.stride),) * dimensions
        if len(strides) != dimensions:
            raise SettingError(f"stride = {strides} has {len(strides)} numbers, the field has {dimensions} dimensions.")
        return strides


@dataclass(frozen=True, slots=True)
class Tile(_Centroids):
    """Units over the blocks of a grid; output is the index of the block that the event is in.

    ts = exp(-(t - T) / tau) on the block, 0 where nothing has fired yet and outside the field

    Attributes
    ----------
    shape : sequence of int
        Sides of a block, one per dimension.
    units : int
        Centroids.
    tau, feedback_tau : float or str
        As in `Window`.

    Examples
    --------
    >>> Tile((5, 5), units=3, tau="2 ms").output_field((30, 5))
    (6, 1)
    """

    overlaps: ClassVar[bool] = False
    shape: Sequence[int]  # sides of a block, one per dimension
    _: KW_ONLY
    tau: Time  # decay of the surface, us

    def __post_init__(self) -> None:
        """Convert the sides to a tuple."""
        _Centroids.__post_init__(self)
        sides = self.shape if isinstance(self.shape, Sequence) else (self.shape,)
        object.__setattr__(self, "shape", tuple(_whole(n, "Tile shape") for n in sides))

    def box(self, field: Place) -> Place:
        """Sides of the neighbourhood."""
        if len(self.shape) != len(field):
            raise SettingError(
                f"Tile{tuple(self.shape)} has {len(self.shape)} dimensions, its field {field} has {len(field)}."
            )
        return tuple(self.shape)

    def corner(self, x: Place) -> Place:
        """First corner of the block of an event at x."""
        return tuple(v - v % n for v, n in zip(x, self.shape, strict=True))

    def output(self, x: Place) -> Place:
        """Index of the block that x is in."""
        return tuple(v // n for v, n in zip(x, self.shape, strict=True))

    def output_field(self, field: Place) -> Place:
        """How many blocks cover the field; the last may extend beyond it."""
        return tuple(-(-v // n) for v, n in zip(field, self.box(field), strict=True))


@dataclass(frozen=True, slots=True)
class Full(_Centroids):
    """Units over the whole field; output has no coordinates. The last layer of a classifier.

    ts = exp(-(t - T) / tau) on the field, 0 where nothing has fired yet

    With several time constants the surface has every entry at each of them, ts[x, p, s] = exp(-(t - T[x, p]) / tau_s):
    short ones show what has just happened, long ones the context that it happened in.

    Unit u of the last layer votes for class u // units_per_class.

    Attributes
    ----------
    units : int, optional
        Centroids; None in the last layer: `units_per_class` per class.
    tau : float, str or sequence of those
        Decay of the surface as in `Window`: one time constant, or up to 16 different ones.
    feedback_tau : float or str, optional
        As in `Window`; None: the longest tau.
    units_per_class : int
        Of the last layer: how many looks of one class it can hold.

    Examples
    --------
    >>> Full(tau="1 ms").output_field((28, 28))
    ()
    >>> stack([Full(tau="1 ms", units_per_class=3)], (64,), polarities=1, classes=4)[0].units
    12
    >>> print(*stack([Full(tau=("40 ms", "10 ms", "2.5 ms"))], (64,), polarities=1, classes=4))
    Full: 4 units over 64 x 1 x 3, tau 40, 10 and 2.5 ms
    """

    overlaps: ClassVar[bool] = False
    _: KW_ONLY
    units_per_class: int = 1

    def __post_init__(self) -> None:
        """Convert the number of units per class to an integer."""
        _Centroids.__post_init__(self)
        object.__setattr__(self, "units_per_class", _whole(self.units_per_class, "units_per_class"))

    def _times(self) -> tuple[float, ...]:
        """Time constants as they were given, in us."""
        if not isinstance(self.tau, tuple | list):
            return (time_constant(self.tau, "tau"),)  # type: ignore[arg-type]  # which refuses anything else
        if not 1 <= len(self.tau) <= MOST_TAUS:
            raise SettingError(f"tau has {len(self.tau)} time constants: give 1 to {MOST_TAUS}.")
        taus = tuple(time_constant(each, "tau") for each in self.tau)
        if len(set(taus)) < len(taus):
            raise SettingError(f"tau = {self.tau!r} has a time constant twice: all must be different.")
        return taus

    def box(self, field: Place) -> Place:
        """Sides of the neighbourhood: the field itself."""
        return field

    def corner(self, x: Place) -> Place:
        """Zero: the first corner of the field."""
        return (0,) * len(x)

    def output(self, x: Place) -> Place:
        """No coordinates."""
        return ()

    def output_field(self, field: Place) -> Place:
        """A single point."""
        return ()


Layer = Window | Tile | Full


@dataclass(frozen=True, slots=True)
class Stage:
    """A layer in its place in a network: the field and the polarities of its input give the shape of its centroids."""

    layer: Layer
    units: int
    taus: tuple[float, ...]  # us; several in a `Full` layer alone
    feedback_tau: float
    field: Place
    polarities: int
    units_per_class: int = 1  # of the last layer

    @property
    def tau(self) -> float:
        """The time constant; the longest of several."""
        return max(self.taus)

    @property
    def scales(self) -> int:
        """How many time constants every entry of the surface is shown at."""
        return len(self.taus)

    @property
    def classes(self) -> int:
        """Classes that the units of a last layer vote for; unit u votes for class u // units_per_class."""
        return self.units // self.units_per_class

    @property
    def surface_shape(self) -> Place:
        """Shape of one surface and of one centroid: the box, the polarities, and the time constants if several."""
        shape = (*self.layer.box(self.field), self.polarities)
        return shape if self.scales == 1 else (*shape, self.scales)

    @property
    def output_field(self) -> Place:
        """Field of the layer above."""
        return self.layer.output_field(self.field)

    def __str__(self) -> str:
        name = type(self.layer).__name__
        box = " x ".join(map(str, self.surface_shape))
        return f"{name}: {self.units} unit{'s' * (self.units > 1)} over {box}, tau {readable_all(self.taus)}"


def stack(
    layers: Sequence[Layer], field: Sequence[int], polarities: int, classes: int | None = None
) -> tuple[Stage, ...]:
    """The layers on top of each other: what each emits, the next receives.

    Parameters
    ----------
    layers : sequence of Window, Tile or Full
        From the input up.
    field, polarities : sequence of int, int
        Of the input.
    classes : int, optional
        Classes of the last layer, if it leaves its units open.

    Returns
    -------
    tuple of Stage
        One per layer.

    Raises
    ------
    SettingError
        If a layer does not fit its input, or the last layer the classes.

    Examples
    --------
    >>> layers = [Window(9, units=32, tau="100 ms"), Full(tau="1 ms")]
    >>> for stage in stack(layers, field=(28, 28), polarities=1, classes=10): print(stage)
    Window: 32 units over 9 x 9 x 1, tau 100 ms
    Full: 10 units over 28 x 28 x 32, tau 1 ms
    """
    if not layers:
        raise SettingError("A network needs at least one layer.")
    stages = []
    place, polarities = tuple(_whole(n, "field") for n in field), _whole(polarities, "polarities")
    for k, layer in enumerate(layers):
        if not isinstance(layer, Layer):
            raise SettingError(f"layer {k + 1} is {layer!r}: use Window, Tile or Full.")
        last = k == len(layers) - 1
        per_class = layer.units_per_class if isinstance(layer, Full) and last else 1
        units = classes * per_class if last and layer.units is None and classes is not None else layer.units
        if units is None:
            raise SettingError(
                f"layer {k + 1} ({type(layer).__name__}) needs units: only the last may leave them open."
            )
        if units % per_class or (last and classes is not None and units != classes * per_class):
            needed = "one per class" if per_class == 1 else f"units_per_class = {per_class} times the classes"
            classes_ = "its" if classes is None else classes
            raise SettingError(f"the last layer has {units} units for {classes_} classes: it needs {needed}.")
        assert isinstance(layer.feedback_tau, float)  # a layer converts its times when it is made
        stages.append(Stage(layer, units, layer.taus, layer.feedback_tau, place, polarities, per_class))
        for what, sides in (("a field of", place), ("a neighbourhood of", layer.box(place))):
            if math.prod(sides) * polarities * len(layer.taus) > MOST_ENTRIES:
                size = f"{' x '.join(map(str, sides))} with {polarities} polarities"
                size += f" at {len(layer.taus)} time constants" if len(layer.taus) > 1 else ""
                raise SettingError(
                    f"layer {k + 1} ({type(layer).__name__}) has {what} {size}, more than {MOST_ENTRIES:,} entries: "
                    "use a smaller field or fewer units below it."
                )
        place, polarities = layer.output_field(place), units
    return tuple(stages)


def _whole(value: Any, name: str) -> int:
    try:
        number = int(operator.index(value))  # refuses floats, even whole ones
    except TypeError:
        raise SettingError(f"{name} = {value!r} must be a whole number.") from None
    if number < 1:
        raise SettingError(f"{name} = {value!r} must be at least 1.")
    return number
