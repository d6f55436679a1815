"""Figures of benchmarks, each drawn from the result of its benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.network import centroid
from timesurf.plots.running import early, matrix
from timesurf.plots.style import Array, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compare_features(sup3r: Network, kmeans: Network, use: Array, accuracy: tuple[float, float]) -> Figure:
    """Draw the layer-1 centroids of a k-means and a Sup3r network, as in the paper's figure.

    Parameters
    ----------
    sup3r, kmeans : Network
        The two networks.
    use : array
        Share of the Sup3r network's output events that passed through each of its layer-1 units.
    accuracy : tuple of float
        Event accuracy of the Sup3r and of the k-means network.

    Returns
    -------
    Figure
        One row per network.

    """
    units = sup3r.stages[0].units
    fig, axes = figure(2, units, (2.2 * units + 1, 5.4))
    for n in range(units):
        centroid(axes[0, n], kmeans, 0, n).set_title(f"unit {n + 1}")
        centroid(axes[1, n], sup3r, 0, n).set_title(
            f"unit {n + 1}: {use[n]:.0%} of output" if use[n] >= 0.01 else f"unit {n + 1}: unused"
        )
    for row, name, value in ((0, "k-means", accuracy[1]), (1, "Sup3r", accuracy[0])):
        axes[row, 0].set_ylabel(f"{name}\nevent accuracy {value:.1%}", fontsize=12)
    fig.suptitle("Layer-1 features: k-means blends characters, Sup3r finds the two that differ between the classes")
    return fig


def continual(result: dict[str, Any]) -> Figure:
    """Draw event accuracy while characters change places (`paper.continual.run`), and centroids before and after."""
    before, after = (np.array(result["first_layer"][name]) for name in ("before", "after"))
    fig, axes = figure(2, 1, (8, 5))
    ax = axes[0, 0]
    for n, name in enumerate(("adapting", "ablated")):
        curves = np.array(result[name]["recordings"])
        width = min(10, curves.shape[1])
        smooth = np.array([np.convolve(curve, np.ones(width) / width, mode="valid") for curve in curves])
        at = np.arange(smooth.shape[1]) + width
        ax.fill_between(at, smooth.min(axis=0), smooth.max(axis=0), color=style.COLOURS[n], alpha=0.25, linewidth=0)
        ax.plot(at, smooth.mean(axis=0), label=name, **style.line(n))
    for end in np.cumsum(result["settings"]["steps"])[:-1]:
        ax.axvline(end, color="grey", linewidth=0.8, linestyle=":")
    ax.set_xlabel("recordings; dotted: a pixel moves from x to /")
    ax.set_ylabel("event accuracy")
    ax.legend(loc="center right")
    images = [np.concatenate([c[:, :, 0], np.full((1, c.shape[1]), np.nan)]) for c in (*before, *after)]
    axes[1, 0].imshow(np.concatenate(images).T, vmin=0, vmax=1, cmap="viridis")
    axes[1, 0].set_title(f"first-layer units of one network: {len(before)} before, the same {len(after)} after")
    axes[1, 0].set_axis_off()
    return fig


def incremental(result: dict[str, Any]) -> Figure:
    """Draw the mean accuracy on every task (columns) after every task (rows), one panel per way of learning."""
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
        ax.set_title(f"{title}\n{np.mean(result[way]['average_accuracy']):.1%} at the end")
        ax.set_xticks(range(tasks), [_pair(*task) for task in result["settings"]["tasks"]])
        ax.set_yticks(range(len(image)), [f"after {i + 1}" for i in range(len(image))] if len(image) > 1 else [""])
        ax.set_xlabel("task: classes to distinguish")
    return fig


def _pair(a: Any, b: Any) -> str:
    """Name a task: two sentences by their second characters, two digits as they are."""
    return f"{a[1]} {b[1]}" if isinstance(a, str) else f"{a} {b}"


def digits(row: dict[str, Any]) -> Figure:
    """Draw a network for digits: features, thresholds, kept events, confusion matrix, accuracy over events seen.

    Parameters
    ----------
    row : dict
        What `paper.table3.sup3r` returns.

    Returns
    -------
    Figure
        Five panels.

    """
    fig, axes = figure(2, 3, (13, 8))
    order = np.argsort(row["thresholds"])
    features, thresholds = np.array(row["features"])[order, :, :, 0], np.array(row["thresholds"])[order]
    across = 8
    cells = [np.pad(c.T, 1, constant_values=np.nan) for c in features]
    cells += [np.full_like(cells[0], np.nan)] * (-len(cells) % across)
    lines = [np.concatenate(cells[k : k + across], axis=1) for k in range(0, len(cells), across)]
    axes[0, 0].imshow(np.concatenate(lines), vmin=0, vmax=1, cmap="viridis")
    axes[0, 0].set_axis_off()
    axes[0, 0].set_title("first-layer features, smallest threshold first")
    axes[0, 1].bar(range(1, len(thresholds) + 1), thresholds)
    axes[0, 1].set(title="thresholds", xlabel="feature", ylabel="distance beyond which an event is rejected")
    axes[0, 2].bar(range(len(row["kept_by_class"])), row["kept_by_class"])
    axes[0, 2].axhline(row["kept"], color="black", linewidth=0.8, linestyle=":")
    axes[0, 2].set(
        title=f"events kept: {row['kept']:.1%}", xlabel="digit", ylabel="share", xticks=range(10), ylim=(0, 1)
    )
    matrix(axes[1, 0], np.array(row["confusion"]))
    axes[1, 0].set_title(f"recording accuracy {row['recording_accuracy']:.2%}")
    early(row["early"], axes[1, 1])
    axes[1, 2].set_axis_off()
    return fig


def growth(measured: dict[str, list[dict[str, float]]]) -> Figure:
    """Draw the cost per event as one size of the network grows, one panel per size (`bench.speed.run`)."""
    fig, axes = figure(1, len(measured), (3.0 * len(measured), 3.0))
    for ax, (name, rows) in zip(axes[0], measured.items(), strict=True):
        ax.plot([row[name] for row in rows], [row["infer_ns"] for row in rows], "o-")
        ax.set_xlabel(name)
        ax.set_ylim(0, 1.1 * max(row["infer_ns"] for row in rows))
        if "field" in name or name == "events":
            ax.set_xscale("log")
    axes[0, 0].set_ylabel("ns per event, one core")
    return fig


def scaling(batches: list[dict[str, float]], curves: dict[str, dict[str, Any]]) -> Figure:
    """Draw measured and simulated batches, and the simulated speed with many more workers."""
    fig, axes = figure(1, 2, (9.0, 3.6))
    left, right = axes[0]
    for size in sorted({row["batch"] for row in batches}):
        rows = [row for row in batches if row["batch"] == size]
        workers = [row["workers"] for row in rows]
        (points,) = left.plot(workers, [1e3 * row["measured"] for row in rows], "o", label=f"batches of {size}")
        left.plot(workers, [1e3 * row["simulated"] for row in rows], "--", color=points.get_color())
    left.set(xlabel="workers on this machine", ylabel="ms per batch; dashed: simulated", ylim=(0, None))
    left.set_xticks(sorted({row["workers"] for row in batches}))
    left.legend()
    for name, curve in curves.items():
        (line,) = right.plot(curve["workers"], curve["faster"], label=name)
        at = curve["balance"]
        right.plot(at, np.interp(at, curve["workers"], curve["faster"]), "o", color=line.get_color())
    right.plot(curve["workers"], curve["workers"], ":", color="grey", label="no exchange")
    right.set(
        xlabel="workers", ylabel="times faster; dot: exchange = computing", xscale="log", yscale="log", ylim=(0.5, 300)
    )
    right.legend(fontsize="small")
    return fig


def prequential(result: dict[str, Any]) -> Figure:
    """Draw the accuracy of every learner over a stream that changes (`bench.online.run`)."""
    fig, axes = figure(1, 1, (9.0, 3.6))
    ax, phase = axes[0, 0], np.array(result["phase"])
    width = max(len(phase) // 20, 1)
    for name, row in result["learners"].items():
        mean = np.convolve(row["right"], np.ones(width) / width, mode="valid")
        ax.plot(np.arange(len(mean)) + width, mean, label=name)
    for n, name in enumerate(result["phases"]):
        begins = int(np.argmax(phase == n))
        ax.axvline(begins, color="grey", linewidth=0.8, linestyle=":")
        ax.text(begins + 0.005 * len(phase), 1.01, name, fontsize="small")
    ax.set(xlabel="recordings", ylabel=f"accuracy, mean of {width}", ylim=(0, 1))
    ax.legend(fontsize="small")
    return fig
