"""A network: what its units look for, and how closely."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from timesurf.layers import Full, Tile, Window
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.style import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.22  # inches between small images: room for a name
_SIDE_BY_SIDE = 4  # polarities; of more, only the strongest at each place


def picture(values: Array) -> Array:
    """A surface or a centroid (box, then polarities) as an image: x to the right, y down; NaN between its parts.

    Up to four polarities, and further dimensions, lie side by side; of more polarities the strongest at each place is
    shown. A box that is a line or a point becomes place (to the right) by polarity (down).

    >>> picture(np.zeros((5, 5, 2))).shape, picture(np.zeros((30, 1, 8))).shape
    ((5, 11), (8, 30))
    """
    *box, polarities = values.shape
    if math.prod(box) == max(box, default=1):
        return values.reshape(-1, polarities).T
    if polarities > _SIDE_BY_SIDE:
        values = values.max(axis=-1)
    parts = np.moveaxis(values.reshape(*box[:2], -1), -1, 0)
    padded = np.pad(parts, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
    return np.concatenate(list(padded))[:-1].T


def draw(ax: Axes, values: Array, most: float = 1) -> Axes:
    """A surface or a centroid as an image, dark 0 and bright `most`, without ticks."""
    ax.imshow(picture(values), vmin=0, vmax=most, cmap="viridis", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    return ax


def centroid(ax: Axes, network: Network, layer: int, unit: int) -> Axes:
    """A centroid as an image: x to the right, y down; further dimensions and polarities side by side."""
    return draw(ax, network.parameters[layer].centroids[unit])


def centroids(network: Network, layer: int = 0, *, back_to_pixels: bool = False, ax: Axes | None = None) -> Axes:
    """All units of a layer, a small image each: the surface to which the unit is closest, bright where events are new.

    Colours run from 0 to the brightest entry of all units, which the title names.
    x to the right, y down; polarities as in `picture`: those of an upper layer are the units of the layer below. A unit
    whose threshold fell to 0 no longer fires and is called silent. Units of the last layer bear their class's name.

    back_to_pixels : draw an upper unit as what it responds to in the input: the centroids of the layer below, each
        placed where the unit looks for it and weighted by how much, and so on down; the brightest pixel of a unit is 1
    """
    k = network.layer_number(layer)
    every = pixels(network, k) if back_to_pixels else network.parameters[k].centroids
    most = max(float(every.max()), 1e-12)
    rows, columns, width, height = _grid(len(every), picture(every[0]).shape)
    ax = style.given(ax, (max(columns * (width + _GAP), 2.4), rows * (height + _GAP) + 0.4))
    ax.set_axis_off()
    ax.set_title(f"layer {k + 1}{' in pixels' if back_to_pixels else ''}, brightest: {most:.2g}", fontsize=10)
    for n, (values, name) in enumerate(zip(every, _names(network, k), strict=True)):
        row, column = divmod(n, columns)
        part = width / (width + _GAP), height / (height + _GAP)
        cell = ax.inset_axes((column / columns, 1 - (row + 1) / rows, part[0] / columns, part[1] / rows))
        draw(cell, values, most).set_title(name, fontsize=8, pad=2)
    return ax


def _grid(units: int, shape: tuple[int, ...]) -> tuple[int, int, float, float]:
    """Rows and columns of small images of this shape, and the width and height of each in inches."""
    tall, wide = shape
    columns = min(max(round(math.sqrt(1.6 * units * tall / wide)), 1), units)
    inches = min(7 / columns / wide, 1.3 / tall, 1.3 / math.sqrt(tall * wide))
    return math.ceil(units / columns), columns, max(inches * wide, 0.6), max(inches * tall, 0.2)


def pixels(network: Network, layer: int) -> Array:
    """What each unit of a layer responds to, in pixels (units, box, polarities): weighted sums of lower centroids."""
    image = network.parameters[0].centroids
    step = np.ones(len(network.field), dtype=int)  # pixels from one place of a layer's input to the next
    margin = np.zeros(len(network.field), dtype=int)  # pixels that the image of place 0 reaches back before pixel 0
    for k in range(1, layer + 1):
        below, above = network.stages[k - 1].layer, network.stages[k].layer
        if isinstance(below, Window):
            margin = margin + step * (below.size // 2)
        if isinstance(below, Tile):
            step = step * np.array(below.shape)
        image = _placed(np.maximum(network.parameters[k].centroids, 0), image, step)
        if isinstance(above, Full) and not isinstance(below, Full):
            inside = (slice(a, a + size) for a, size in zip(margin, network.field, strict=True))
            image = image[(slice(None), *inside)]
    if layer:
        image = image / np.maximum(image.reshape(len(image), -1).max(axis=1), 1e-12).reshape(-1, *[1] * step.size, 1)
    return image


def _placed(weights: Array, image: Array, step: Array) -> Array:
    """The images of the units below, added up at every place of the box with the weights that a unit has there."""
    box, size = weights.shape[1:-1], image.shape[1:-1]
    reach = size if not box else [s * (b - 1) + n for s, b, n in zip(step, box, size, strict=True)]
    total = np.zeros((len(weights), *reach, image.shape[-1]))
    for place in np.ndindex(*box):
        corner = place and tuple(slice(s * v, s * v + n) for s, v, n in zip(step, place, size, strict=True))
        total[(slice(None), *corner)] += np.tensordot(weights[(slice(None), *place)], image, axes=1)
    return total


def thresholds(network: Network, layer: int = 0, ax: Axes | None = None) -> Axes:
    """How far from each unit of a layer a surface may lie before its event is rejected: a low bar is a choosy unit.

    A cross at 0 marks a unit that fell silent, an empty bar to the top one without a threshold; hatched: frozen.
    """
    k = network.layer_number(layer)
    th, frozen = network.parameters[k].thresholds, network.parameters[k].frozen
    ax = style.given(ax, (max(4, min(0.28 * len(th) + 1.5, 12)), 3))
    at, open_, silent = np.arange(1, len(th) + 1), np.isinf(th), th == 0
    top = 1.1 * th[~open_].max(initial=0) or 1.0
    bars = ax.bar(at[~open_], th[~open_], color=style.BLUE, edgecolor="white")
    for bar, is_frozen in zip(bars, frozen[~open_], strict=True):
        bar.set_hatch("///" if is_frozen else "")
    if open_.any():
        ax.bar(at[open_], top, color="none", edgecolor=style.BLUE, linestyle="--", label="no threshold")
    if silent.any():
        ax.plot(at[silent], np.zeros(silent.sum()), "x", color=style.VERMILLION, label="silent", clip_on=False)
    if open_.any() or silent.any():
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    names = _names(network, k) if k == len(network.stages) - 1 else list(map(str, at))
    every = max(len(th) // 16, 1)
    ax.set_xticks(at[::every], [name.removesuffix(" (silent)") for name in names[::every]])
    ax.set(xlabel="class" if k == len(network.stages) - 1 else "unit", ylabel="distance", ylim=(0, top))
    if open_.all():
        ax.set_yticks([])
    ax.set_title(f"thresholds of layer {k + 1}", fontsize=10)
    return ax


def _names(network: Network, k: int) -> list[str]:
    """A name for each unit of a layer: its number from 1 up, or its class."""
    last = k == len(network.stages) - 1
    names = map(str, network.classes.tolist() if last else range(1, network.stages[k].units + 1))
    th = network.parameters[k].thresholds
    return [name if threshold > 0 else f"{name} (silent)" for name, threshold in zip(names, th, strict=True)]
