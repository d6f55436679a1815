"""Pictures. Each function draws into the `ax` it is given and returns it; matplotlib is the extra `plots`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import MissingEngineError
from timesurf.model import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]


def figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Array]:
    """A figure and its axes (always a 2-D array), drawn without a screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingEngineError("Pictures need matplotlib: pip install 'timesurf[plots]'.") from error
    fig = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(fig)
    return fig, fig.subplots(rows, columns, squeeze=False)


def centroid(ax: Axes, network: Network, layer: int, unit: int) -> Axes:
    """A centroid as an image: x to the right, y down; further dimensions and polarities side by side."""
    c = network.parameters.centroids[layer][unit]
    side_by_side = np.moveaxis(c.reshape(*c.shape[:2], -1), -1, 0)  # one image a polarity; one image if 1-D
    ax.imshow(np.concatenate(list(side_by_side)).T, vmin=0, vmax=1, cmap="viridis")
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def compare_features(sup3r: Network, kmeans: Network, use: Array, accuracy: tuple[float, float]) -> Figure:
    """Layer-1 centroids of a k-means and a Sup3r network side by side, as in the paper's figure.

    use : share of the Sup3r network's output events that went through each layer-1 unit
    """
    units = sup3r.stages[0].units
    fig, axes = figure(2, units, (2.2 * units + 1, 5.4))
    for n in range(units):
        centroid(axes[0, n], kmeans, 0, n).set_title(f"unit {n + 1}")
        centroid(axes[1, n], sup3r, 0, n).set_title(
            f"unit {n + 1}: {use[n]:.0%} of output" if use[n] >= 0.01 else f"unit {n + 1}: unused"
        )
    for row, name, value in ((0, "k-means", accuracy[1]), (1, "Sup3r", accuracy[0])):
        axes[row, 0].set_ylabel(f"{name}\n{value:.1%} of events right", fontsize=12)
    fig.suptitle("Layer-1 features: k-means blends characters, Sup3r finds the two that tell the class")
    return fig


def continual(result: dict[str, Any]) -> Figure:
    """Accuracy over recordings while characters change places, and first-layer centroids before and after."""
    before, after = (np.array(result["first_layer"][name]) for name in ("before", "after"))
    fig, axes = figure(2, 1, (8, 5))
    ax = axes[0, 0]
    for name, colour in (("adapting", "C0"), ("ablated", "C1")):
        curves = np.array(result[name]["recordings"])
        width = min(10, curves.shape[1])
        smooth = np.array([np.convolve(curve, np.ones(width) / width, mode="valid") for curve in curves])
        at = np.arange(smooth.shape[1]) + width
        ax.fill_between(at, smooth.min(axis=0), smooth.max(axis=0), color=colour, alpha=0.25, linewidth=0)
        ax.plot(at, smooth.mean(axis=0), color=colour, label=name)
    for end in np.cumsum(result["settings"]["steps"])[:-1]:
        ax.axvline(end, color="grey", linewidth=0.8, linestyle=":")
    ax.set_xlabel("recordings; dotted: a pixel moves from x to /")
    ax.set_ylabel("share of events right")
    ax.legend(loc="center right")
    images = [np.concatenate([c[:, :, 0], np.full((1, c.shape[1]), np.nan)]) for c in (*before, *after)]
    axes[1, 0].imshow(np.concatenate(images).T, vmin=0, vmax=1, cmap="viridis")
    axes[1, 0].set_title(f"first-layer units of one network: {len(before)} before, the same {len(after)} after")
    axes[1, 0].set_axis_off()
    return fig


def incremental(result: dict[str, Any]) -> Figure:
    """Accuracy on every task (columns) after every task (rows), mean over networks, one panel a way of learning."""
    ways = {"extended": "old units frozen", "unfrozen": "nothing frozen", "together": "all at once"}
    fig, axes = figure(1, len(ways), (3.4 * len(ways), 4.2))
    tasks = len(result["settings"]["tasks"])
    for ax, (way, title) in zip(axes[0], ways.items(), strict=True):
        every = result[way]["rows"]
        image = np.full((len(every[0]), tasks), np.nan)
        for i in range(len(image)):
            mean = np.mean([rows[i] for rows in every], axis=0)
            image[i, : len(mean)] = mean
            for j, value in enumerate(mean):
                ax.text(j, i, f"{value:.0%}", ha="center", va="center", color="black" if value > 0.6 else "white")
        ax.imshow(image, vmin=0, vmax=1, cmap="viridis")
        ax.set_title(f"{title}\n{np.mean(result[way]['average_accuracy']):.1%} in the end")
        ax.set_xticks(range(tasks), [_pair(*task) for task in result["settings"]["tasks"]])
        ax.set_yticks(range(len(image)), [f"after {i + 1}" for i in range(len(image))] if len(image) > 1 else [""])
        ax.set_xlabel("task: what to tell apart")
    return fig


def _pair(a: Any, b: Any) -> str:
    """Two sentences by their second characters, two digits as they are."""
    return f"{a[1]} {b[1]}" if isinstance(a, str) else f"{a} {b}"


def growth(measured: dict[str, list[dict[str, float]]]) -> Figure:
    """Cost of an event as one size of the network grows, a panel a size."""
    fig, axes = figure(1, len(measured), (3.0 * len(measured), 3.0))
    for ax, (name, rows) in zip(axes[0], measured.items(), strict=True):
        ax.plot([row[name] for row in rows], [row["infer_ns"] for row in rows], "o-")
        ax.set_xlabel(name)
        ax.set_ylim(0, 1.1 * max(row["infer_ns"] for row in rows))
        if "field" in name or name == "events":
            ax.set_xscale("log")
    axes[0, 0].set_ylabel("ns an event, one core")
    return fig
