"""What the C of a network is made of: for each layer its sizes, and where an event lies, as C expressions.

The coordinates of an event are the C variables `COORDINATES`, its polarity is `p`. Layers below the last write the
surface of each event out and compare it with every unit: O(units x surface). The last layer keeps its dot products
instead, where neighbourhoods do not overlap: O(units), however large the field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Parameters
from timesurf.engines.cpu.geometry import geometry
from timesurf.errors import SettingError
from timesurf.layers import Full, Stage, Tile, Window
from timesurf.times import readable

Array = NDArray[Any]
COORDINATES = ("x", "y", "z")
HALVINGS = 30  # after so many, a value counts as 0: 2^-30 is lost in a float32 beside 1
MOST_WRITTEN = 4096  # entries of a surface that is written out, which takes 10 bytes of stack each
MOST_LEARNED = 1024  # entries of a surface that is learned from: each event moves all of them
MOST_INPUTS = 2**24  # of a layer: 64 MiB of times
_LONGEST_CLOCK = 2**31 - 1  # us


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer in C."""

    number: int  # from 1
    stage: Stage
    running: bool  # whether dot products are kept; otherwise surfaces are written out
    entries: int  # of a surface
    blocks: int  # neighbourhoods with a context of their own
    context: int  # entries of all contexts
    runs: tuple[int, ...]  # where the rows of a surface begin in the context
    row: int  # entries of a row
    begin: str  # C: where the context of an event's neighbourhood begins
    own: str  # C: the event's own entry, from there
    block: str  # C: number of its neighbourhood
    outputs: tuple[str, ...]  # C: coordinates of what the layer emits
    place: str  # C: number of the place that it emits to
    places: int

    @property
    def units(self) -> int:
        """Units of the layer."""
        return self.stage.units

    @property
    def coordinates(self) -> tuple[str, ...]:
        """C variables of the coordinates that the layer takes."""
        return COORDINATES[: len(self.stage.field)]

    @property
    def arguments(self) -> str:
        """Parameters of a C function that takes an event of the layer."""
        return ", ".join(f"uint32_t {x}" for x in (*self.coordinates, "p"))

    @property
    def limit(self) -> int:
        """Microseconds after which a surface has decayed."""
        return limit(self.stage.tau)


def limit(tau: float) -> int:
    """Microseconds after which what decays with tau counts as 0."""
    return math.ceil(HALVINGS * math.log(2) * tau)


def point(tau: float) -> int:
    """Bits after the point of `rate`, so that it takes all of 32 bits."""
    return 32 - math.frexp(math.log2(math.e) / tau)[1]


def rate(tau: float) -> int:
    """Halvings per microsecond, in 32 bits of which `point` are after the point."""
    return min(round(math.log2(math.e) / tau * 2.0 ** point(tau)), 2**32 - 1)


def plans(stages: tuple[Stage, ...], parameters: Parameters, *, learn: bool = False) -> list[LayerPlan]:
    """The layers of a network in C.

    Parameters
    ----------
    stages, parameters : tuple of Stage, Parameters
        Of the network.
    learn : bool
        Whether the C is to learn; every layer then writes its surfaces out.

    Returns
    -------
    list of LayerPlan
        One per layer.

    Raises
    ------
    SettingError
        If the network has something that the C cannot do; the message says what.
    """
    if len(stages[0].field) > len(COORDINATES):
        raise SettingError(
            f"The field has {len(stages[0].field)} dimensions; C is written for at most {len(COORDINATES)}."
        )
    last = len(stages) - 1
    found = []
    for k, (stage, units) in enumerate(zip(stages, parameters, strict=True)):
        if stage.scales > 1:
            raise SettingError(f"Layer {k + 1} ({stage}) has several time constants: C is written for one per layer.")
        _check_inputs(k + 1, stage)
        runs = not learn and k == last and not stage.layer.overlaps and bool(np.isinf(units.thresholds).all())
        plan = _planned(k + 1, stage, running=runs)
        _check(plan, units.centroids, learn=learn)
        found.append(plan)
    return found


def _planned(number: int, stage: Stage, *, running: bool) -> LayerPlan:
    field, box, polarities = stage.field, stage.layer.box(stage.field), stage.polarities
    names = COORDINATES[: len(field)]
    table = geometry(stage)
    entries = len(table.runs) * table.row
    blocks = int(table.block.max()) + 1
    if isinstance(stage.layer, Window):
        padded = tuple(n + side - 1 for n, side in zip(field, box, strict=True))
        begin = _times(flat(names, padded), polarities)
        own = f"{int(table.own[0] - table.start[0])}u + p"
        block = "0u"
    else:
        grid = tuple(-(-n // side) for n, side in zip(field, box, strict=True))
        block = flat([_divided(x, side, n) for x, side, n in zip(names, box, grid, strict=True)], grid)
        begin = _times(block, entries)
        inside = [f"({x} % {side}u)" if n > 1 else x for x, side, n in zip(names, box, grid, strict=True)]
        own = f"{_times(flat(inside, box), polarities)} + p"
    outputs = tuple(_outputs(stage, names))
    emitted = COORDINATES[: len(stage.output_field)]
    return LayerPlan(
        number, stage, running, entries, blocks, table.context, tuple(table.runs.tolist()), table.row,
        begin, own, block, outputs, flat(emitted, stage.output_field), math.prod(stage.output_field),
    )  # fmt: skip


def _outputs(stage: Stage, names: tuple[str, ...]) -> list[str]:
    """Coordinates of the output event, as C."""
    if isinstance(stage.layer, Window) and stage.layer.stride == "field":
        return ["0u" for _ in names]
    if isinstance(stage.layer, Full):
        return []
    pixels = stage.layer.box(stage.field) if isinstance(stage.layer, Tile) else stage.layer.strides(len(names))
    return [_divided(x, side, n) for x, side, n in zip(names, pixels, stage.output_field, strict=True)]


def _divided(name: str, by: int, most: int) -> str:
    """C of name / by, where the result is below `most`."""
    return "0u" if most == 1 else name if by == 1 else f"({name} / {by}u)"


def flat(names: Any, shape: tuple[int, ...]) -> str:
    """C of the row-major index of coordinates in a box of that shape.

    Examples
    --------
    >>> flat(("x", "y"), (34, 20)), flat(("x",), (5,)), flat((), ())
    ('(x * 20u + y)', 'x', '0u')
    """
    index = ""
    for name, size in zip(names, shape, strict=True):
        index = f"({index} * {size}u + {name})" if index else name
    return index or "0u"


def _times(index: str, factor: int) -> str:
    return index if factor == 1 else "0u" if index == "0u" else f"{index} * {factor}u"


def _check_inputs(number: int, stage: Stage) -> None:
    """Refuse a field that is too large, before anything of its size is laid out."""
    inputs = math.prod(stage.field) * stage.polarities
    if inputs > MOST_INPUTS:
        raise SettingError(
            f"Layer {number} ({stage}) remembers a time for each of {inputs:,} inputs: C is written for at most "
            f"{MOST_INPUTS:,}. Crop or downsample the field."
        )


def _check(plan: LayerPlan, centroids: Array, *, learn: bool) -> None:
    """Refuse what the C cannot do, with the reason."""
    layer = f"Layer {plan.number} ({plan.stage})"
    if not np.isfinite(centroids).all():
        raise SettingError(f"{layer} has centroids that are not finite: the training diverged.")
    slowest = max(plan.stage.tau, plan.stage.feedback_tau if learn else 0.0)
    if limit(slowest) + 1 > _LONGEST_CLOCK:
        longest = readable(_LONGEST_CLOCK / HALVINGS / math.log(2))
        raise SettingError(f"{layer} decays too slowly for times of 32 bits: C is written for tau up to {longest}.")
    if plan.units > 2**15:
        raise SettingError(f"{layer}: C is written for at most {2**15:,} units per layer.")
    most = MOST_LEARNED if learn else MOST_WRITTEN
    if not plan.running and plan.entries > most:
        if learn:
            raise SettingError(
                f"{layer} has surfaces of {plan.entries:,} entries, and learning in C moves all of them with each "
                f"event: at most {most:,}. Pool its input by a stride, or export without learning."
            )
        raise SettingError(
            f"{layer} has surfaces of {plan.entries:,} entries that must be written out for each event, because it is "
            f"not a last Tile or Full layer without thresholds: at most {most:,}."
        )
