"""Pictures of a network: the centroids of its units and their thresholds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from timesurf.display import unit_names
from timesurf.inference import layer_number
from timesurf.layers import Full, Stage, Tile, Window
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.style import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.22  # inches between small images, for their names
_SIDE_BY_SIDE = 4  # polarities at most; of more, only the largest value at each place is shown


def surface_at_once(stage: Stage, values: Array) -> Array:
    """Surfaces or centroids (..., box, polarities): the mean over the layer's time constants, if it has several."""
    mean: Array = values.mean(axis=-1) if stage.scales > 1 else values
    return mean


def picture(values: Array) -> Array:
    """Lay out a surface or a centroid as an image: x to the right, y down.

    Up to four polarities, and further dimensions, are put side by side; of more polarities the largest value at each
    place is shown. A box that is a line or a point becomes place (to the right) by polarity (down).

    Parameters
    ----------
    values : array, shape (box..., polarities)
        A surface or a centroid.

    Returns
    -------
    array, shape (rows, columns)
        The image, NaN between its parts.

    Examples
    --------
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
    """Draw a surface or a centroid as an image without ticks; 0 is dark, `most` is bright."""
    ax.imshow(picture(values), vmin=0, vmax=most, cmap="viridis", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    return ax


def centroid(ax: Axes, network: Network, layer: int, unit: int) -> Axes:
    """Draw one centroid as an image: x to the right, y down; further dimensions and polarities side by side."""
    return draw(ax, surface_at_once(network.stages[layer], network.parameters[layer].centroids[unit]))


def centroids(network: Network, layer: int = 0, *, back_to_pixels: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the centroids of all units of a layer as small images, bright where recent events are expected.

    Colours range from 0 to the largest entry of all units, which the title states. x is to the right, y down;
    polarities as in `picture`: those of an upper layer are the units of the layer below. A unit whose threshold fell to
    0 no longer fires and is called silent. Units of the last layer have the names of their classes.

    Parameters
    ----------
    network, layer
        As for `plots.kept`.
    back_to_pixels : bool
        Draw a unit of an upper layer as what it responds to in the input: the centroids of the layer below, each at the
        place where the unit expects it and weighted accordingly, and so on down; the brightest pixel of a unit is 1.
    ax
        As for `plots.kept`.

    """
    k = layer_number(network.stages, layer)
    own = surface_at_once(network.stages[k], network.parameters[k].centroids)
    every = pixels(network, k) if back_to_pixels else own
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
    """Rows and columns for small images of this shape, and the width and height of each in inches."""
    tall, wide = shape
    columns = min(max(round(math.sqrt(1.6 * units * tall / wide)), 1), units)
    inches = min(7 / columns / wide, 1.3 / tall, 1.3 / math.sqrt(tall * wide))
    return math.ceil(units / columns), columns, max(inches * wide, 0.6), max(inches * tall, 0.2)


def pixels(network: Network, layer: int) -> Array:
    """What each unit of a layer responds to, in pixels (units, box, polarities): weighted sums of lower centroids."""
    image = surface_at_once(network.stages[0], network.parameters[0].centroids)
    step = np.ones(len(network.field), dtype=int)  # pixels from one place of a layer's input to the next
    margin = np.zeros(len(network.field), dtype=int)  # pixels by which the image of place 0 extends before pixel 0
    for k in range(1, layer + 1):
        below, above = network.stages[k - 1].layer, network.stages[k].layer
        if isinstance(below, Window):
            margin = margin + step * (below.size // 2)
        if isinstance(below, Tile):
            step = step * np.array(below.shape)
        centroids = surface_at_once(network.stages[k], network.parameters[k].centroids)
        image = _placed(np.maximum(centroids, 0), image, step)
        if isinstance(above, Full) and not isinstance(below, Full):
            inside = (slice(a, a + size) for a, size in zip(margin, network.field, strict=True))
            image = image[(slice(None), *inside)]
    if layer:
        image = image / np.maximum(image.reshape(len(image), -1).max(axis=1), 1e-12).reshape(-1, *[1] * step.size, 1)
    return image


def _placed(weights: Array, image: Array, step: Array) -> Array:
    """Sum of the images of the units below at every place of the box, with the weights that a unit has there."""
    box, size = weights.shape[1:-1], image.shape[1:-1]
    reach = size if not box else [s * (b - 1) + n for s, b, n in zip(step, box, size, strict=True)]
    total = np.zeros((len(weights), *reach, image.shape[-1]))
    for place in np.ndindex(*box):
        corner = place and tuple(slice(s * v, s * v + n) for s, v, n in zip(step, place, size, strict=True))
        total[(slice(None), *corner)] += np.tensordot(weights[(slice(None), *place)], image, axes=1)
    return total


def thresholds(network: Network, layer: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the thresholds of a layer: the distance from each centroid beyond which an event is rejected.

    A cross at 0 marks a silent unit, an empty bar to the top a unit without a threshold, hatching a frozen unit.

    Parameters
    ----------
    network, layer, ax
        As for `plots.kept`.

    """
    k = layer_number(network.stages, layer)
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
    """Names of the units of a layer: numbers from 1, or classes."""
    names, th = unit_names(network, k), network.parameters[k].thresholds
    return [name if threshold > 0 else f"{name} (silent)" for name, threshold in zip(names, th, strict=True)]
