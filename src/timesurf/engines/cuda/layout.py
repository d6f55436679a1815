"""How a layer lies on the card: its padded time map, its neighbourhoods on it, and where its output goes.

Everything follows from the layer's own geometry (`box`, `corner`, `output`, `output_field`), read off along each
dimension, so that a new option of a layer that only changes its geometry needs no change in the kernels:

    own place on the map    x + pad
    corner on the map       x - x % cell           (0 where cell is 0: one neighbourhood for the whole field)
    output place            x // out_stride
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from timesurf.engines.data import Array
from timesurf.errors import SettingError
from timesurf.layers import Place, Stage


@dataclass(frozen=True)
class Layout:
    """A layer on the card, one number per dimension of its field.

    Attributes
    ----------
    side : tuple of int
        Sides of a neighbourhood.
    pad : tuple of int
        From a place of the field to where it lies on the map.
    padded : tuple of int
        Sides of the map, padded so that a neighbourhood never leaves it.
    cell : tuple of int
        Places that share a neighbourhood; 0: all do.
    stride : tuple of int
        Entries of the map from a place to the next.
    out : tuple of int
        Sides of the output field; empty where the output has no place.
    out_stride : tuple of int
        Places that share an output place.
    polarities : int
        Of the input; entries per place of the map.
    """

    side: Place
    pad: Place
    padded: Place
    cell: Place
    stride: Place
    out: Place
    out_stride: Place
    polarities: int

    @property
    def size(self) -> int:
        """Entries of the map."""
        return math.prod(self.padded) * self.polarities

    @property
    def steps(self) -> Array:
        """Where the entries of a surface lie on the map, counted from the corner of the neighbourhood."""
        box = np.indices((*self.side, self.polarities)).reshape(len(self.side) + 1, -1)
        steps: Array = (np.array([*self.stride, 1]) @ box).astype(np.int32)
        return steps


def layout(stage: Stage) -> Layout:
    """The layout of a layer, from its geometry alone.

    Parameters
    ----------
    stage : Stage
        The layer in its place.

    Returns
    -------
    Layout
        What the kernels compile in.

    Raises
    ------
    SettingError
        If neighbourhoods or outputs do not follow each other at equal distances.

    Examples
    --------
    >>> from timesurf.layers import Tile, Window, stack
    >>> window, tile = stack([Window(3, units=4, tau=1), Tile((2, 4), units=3, tau=1)], (6, 8), 1)
    >>> layout(window).padded, layout(window).cell, layout(window).out_stride
    ((8, 10), (1, 1), (1, 1))
    >>> layout(tile).padded, layout(tile).cell, layout(tile).out_stride, layout(tile).out
    ((6, 8), (2, 4), (2, 4), (3, 2))
    """
    layer, field = stage.layer, stage.field
    side, out = layer.box(field), layer.output_field(field)
    along: Any = tuple(np.arange(n) for n in field)  # every place of each dimension: they do not depend on each other
    corners, outputs = layer.corner(along), layer.output(along)
    if len(out) not in (0, len(field)):
        raise _irregular(stage)
    pad, padded, cell, out_stride = [], [], [], []
    for d, (n, size) in enumerate(zip(field, side, strict=True)):
        corner = np.broadcast_to(corners[d], n)
        shared = _run(corner)
        pad.append(-int(corner[0]))
        padded.append(int(corner[-1]) + size + pad[-1])
        cell.append(shared if shared < n or n == 1 else 0)
        to = np.broadcast_to(outputs[d], n) if out else np.zeros(n, int)
        out_stride.append(_run(to))
        if (corner != along[d] // shared * shared - pad[-1]).any() or (to != along[d] // out_stride[-1]).any():
            raise _irregular(stage)
    stride = [stage.polarities * math.prod(padded[d + 1 :]) for d in range(len(padded))]
    return Layout(side, tuple(pad), tuple(padded), tuple(cell), tuple(stride), out, tuple(out_stride), stage.polarities)


def _run(values: Array) -> int:
    """How many values in a row equal the first."""
    others = np.flatnonzero(values != values[0])
    return int(others[0]) if len(others) else len(values)


def _irregular(stage: Stage) -> SettingError:
    return SettingError(
        f"The GPU kernels need neighbourhoods and outputs at equal distances, which {type(stage.layer).__name__} over "
        f"a field of {' x '.join(map(str, stage.field))} does not have."
    )
