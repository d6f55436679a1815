"""What a network is made of: layers of centroids, each over a neighbourhood of its input field.

| neighbourhood  | surface of an event                          | output coordinates    |
|----------------|----------------------------------------------|-----------------------|
| `Window(size)` | the box of side `size` centred on the event  | the event's own       |
| `Tile(shape)`  | the block, of a fixed grid, that it falls in | the block's           |
| `Full()`       | the whole field                              | none                  |

A layer says where a neighbourhood lies (`corner`, `box`) and where its output goes (`output`); engines do the rest.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from timesurf.errors import SettingError
from timesurf.times import Time, microseconds, readable

Place = tuple[int, ...]  # coordinates of an event, or sizes of a field: one number a dimension


@dataclass(frozen=True, slots=True)
class _Centroids:
    """What every layer has: units, and how fast what it sees and what it says fade."""

    _: KW_ONLY
    units: int | None = None  # centroids; None in the last layer: one a class
    tau: Time  # decay of the surface, us
    feedback_tau: Time | None = None  # decay of the feedback vector ftv, us; None: as tau

    def __post_init__(self) -> None:
        """Times become microseconds; sizes become whole numbers."""
        if self.units is not None:
            object.__setattr__(self, "units", _whole(self.units, "units"))
        object.__setattr__(self, "tau", microseconds(self.tau, "tau"))
        feedback = self.tau if self.feedback_tau is None else self.feedback_tau
        object.__setattr__(self, "feedback_tau", microseconds(feedback, "feedback_tau"))


@dataclass(frozen=True, slots=True)
class Window(_Centroids):
    """Units over the box of side `size` centred on each event; output keeps the event's coordinates.

    ts = exp(-(t - T) / tau) on the box, 0 where nothing fired yet or outside the field

    >>> Window(9, units=32, tau="100 ms").box(field=(28, 28))
    (9, 9)
    """

    overlaps: ClassVar[bool] = True  # whether neighbourhoods of different events can share some of their entries
    size: int  # side of the box, odd

    def __post_init__(self) -> None:
        """The centre of the box must be an entry."""
        _Centroids.__post_init__(self)
        object.__setattr__(self, "size", _whole(self.size, "size"))
        if self.size % 2 == 0:
            raise SettingError(f"Window size = {self.size} must be odd: the event sits in the middle.")

    def box(self, field: Place) -> Place:
        """Sides of the neighbourhood."""
        return (self.size,) * len(field)

    def corner(self, x: Place) -> Place:
        """Where the neighbourhood of an event at x begins; may lie outside the field, where nothing ever fires."""
        return tuple(v - self.size // 2 for v in x)

    def output(self, x: Place) -> Place:
        """Coordinates of the event that the layer emits for one at x."""
        return x

    def output_field(self, field: Place) -> Place:
        """Size of the field that the layer emits into."""
        return field


@dataclass(frozen=True, slots=True)
class Tile(_Centroids):
    """Units over the blocks of a grid; output is the index of the block that the event falls into.

    ts = exp(-(t - T) / tau) on the block, 0 where nothing fired yet or outside the field

    >>> Tile((5, 5), units=3, tau="2 ms").output_field((30, 5))
    (6, 1)
    """

    overlaps: ClassVar[bool] = False
    shape: Sequence[int]  # sides of a block, one a dimension

    def __post_init__(self) -> None:
        """Sides become a tuple."""
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
        """Where the block of an event at x begins."""
        return tuple(v - v % n for v, n in zip(x, self.shape, strict=True))

    def output(self, x: Place) -> Place:
        """Index of the block that x falls into."""
        return tuple(v // n for v, n in zip(x, self.shape, strict=True))

    def output_field(self, field: Place) -> Place:
        """How many blocks cover the field; the last may reach beyond it."""
        return tuple(-(-v // n) for v, n in zip(field, self.box(field), strict=True))


@dataclass(frozen=True, slots=True)
class Full(_Centroids):
    """Units over the whole field; output has no coordinates. The last layer of a classifier: one unit a class.

    ts = exp(-(t - T) / tau) on the field, 0 where nothing fired yet

    >>> Full(tau="1 ms").output_field((28, 28))
    ()
    """

    overlaps: ClassVar[bool] = False

    def box(self, field: Place) -> Place:
        """Sides of the neighbourhood: the field itself."""
        return field

    def corner(self, x: Place) -> Place:
        """The field begins at 0."""
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
    """A layer in its place: the field and the polarities that reach it, hence the shape of its centroids."""

    layer: Layer
    units: int
    tau: float
    feedback_tau: float
    field: Place
    polarities: int

    @property
    def surface_shape(self) -> Place:
        """Shape of one surface and of one centroid: the box, then the polarities."""
        return (*self.layer.box(self.field), self.polarities)

    @property
    def output_field(self) -> Place:
        """Field of the layer above."""
        return self.layer.output_field(self.field)

    def __str__(self) -> str:
        name = type(self.layer).__name__
        box = " x ".join(map(str, self.surface_shape))
        return f"{name}: {self.units} units over {box}, tau {readable(self.tau)}"


def stack(
    layers: Sequence[Layer], field: Sequence[int], polarities: int, classes: int | None = None
) -> tuple[Stage, ...]:
    """The layers one upon another: what each emits, the next receives. `classes` sizes a last layer without units.

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
        units = classes if last and layer.units is None else layer.units
        if units is None:
            raise SettingError(
                f"layer {k + 1} ({type(layer).__name__}) needs units: only the last may leave them open."
            )
        if last and classes is not None and units != classes:
            raise SettingError(f"the last layer has {units} units for {classes} classes: it needs one a class.")
        stages.append(Stage(layer, units, float(layer.tau), float(layer.feedback_tau or layer.tau), place, polarities))
        place, polarities = layer.output_field(place), units
        stages[-1].surface_shape  # noqa: B018  a Tile of other dimensions than its field speaks up here
    return tuple(stages)


def _whole(value: Any, name: str) -> int:
    try:
        number = int(operator.index(value))  # True is no size
    except TypeError:
        raise SettingError(f"{name} = {value!r} must be a whole number.") from None
    if number < 1:
        raise SettingError(f"{name} = {value!r} must be at least 1.")
    return number
