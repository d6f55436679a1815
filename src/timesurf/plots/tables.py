"""The figures of the benchmarks, each from what its benchmark measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.network import centroid
from timesurf.plots.running import early, matrix
from timesurf.plots.style import Array, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def digits(row: dict[str, Any]) -> Figure:
    """A network for digits: its features by threshold, what it keeps, what it takes for what, how soon it decides.

    row : what `bench.nmnist.sup3r` gives
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
    axes[1, 0].set_title(f"recordings: {row['accuracy']:.2%} right")
    early(row["early"], axes[1, 1])
    axes[1, 2].set_axis_off()
    return fig


def realism(result: dict[str, Any]) -> Figure:
    """Events over time and intervals at a pixel, real beside simulated."""
    fig, axes = figure(1, 2, (11, 3.6))
    for which, stroke in (("real", "-"), ("simulated", "--")):
        curves = result["curves"][which]
        for polarity, values in enumerate(curves["rate"]):
            ms = 5 * np.arange(len(values)) + 2.5
            name = f"{which}, {'brighter' if polarity else 'darker'}"
            axes[0, 0].plot(ms, values, stroke, color=style.COLOURS[polarity], label=name)
        axes[0, 1].plot(curves["same"], stroke, marker=".", color=style.GREEN, label=which)
    axes[0, 0].set(xlabel="ms", ylabel="events a recording and 5 ms", title="events over time: three saccades")
    edges = result["curves"]["intervals"]
    axes[0, 1].set_xticks(range(len(edges)), [f"{edge:g}" for edge in edges], fontsize=8)
    axes[0, 1].set(xlabel="ms, at least", ylabel="a recording", title="intervals at a pixel, same polarity")
    for ax in axes[0]:
        ax.legend(fontsize=8)
        ax.grid(alpha=0.3)
    return fig


def sensitivity(studies: dict[str, Any]) -> Figure:
    """Accuracy as one setting at a time is multiplied, a row of panels a study, a panel a setting."""
    names = {study: list(dict.fromkeys(row["setting"] for row in about["changed"])) for study, about in studies.items()}
    columns = max(map(len, names.values()))
    fig, axes = figure(len(studies), columns, (1.5 * columns, 2.4 * len(studies)))
    for row_of_axes, (study, about) in zip(axes, studies.items(), strict=True):
        for ax in row_of_axes[len(names[study]) :]:
            ax.set_axis_off()
        for ax, name in zip(row_of_axes, names[study], strict=False):
            points = {row["factor"]: row["accuracy"] for row in about["changed"] if row["setting"] == name}
            points.setdefault(1, about["as_preset"]["accuracy"])
            ax.plot(*zip(*sorted(points.items()), strict=True), marker=".", markersize=8)
            ax.axvline(1, color="grey", linewidth=0.8, linestyle=":")
            ax.set(xscale="log", ylim=(0, 1.02), xlim=(0.08, 12.5), xticks=(0.1, 1, 10), title=name)
            ax.set_xticklabels(("/10", "1", "x10"))
            ax.title.set_fontsize(9)
            ax.label_outer()
        row_of_axes[0].set_ylabel(study)
    return fig


def study(figures: dict[str, list[dict[str, Any]]]) -> Figure:
    """Share of recordings right as settings change: a map for two at a time, a line for one."""
    columns = min(3, len(figures))
    lines = -(-len(figures) // columns)
    fig, axes = figure(lines, columns, (3.4 * columns, 3.0 * lines))
    for ax in axes.flat[len(figures) :]:
        ax.set_axis_off()
    for ax, (name, rows) in zip(axes.flat, figures.items(), strict=False):
        first, *second = [key for key in rows[0] if key not in ("accuracy", "kept", "recordings")]
        if second and name != "batch size":
            _map(ax, rows, first, second[0])
        else:
            _lines(ax, rows, first, second)
        ax.set_title(name, fontsize=9)
    return fig


def _map(ax: Axes, rows: list[dict[str, Any]], down: str, across: str) -> None:
    ys, xs = ([*dict.fromkeys(row[key] for row in rows)] for key in (down, across))
    found = {(row[down], row[across]): 100 * row["accuracy"] for row in rows}
    values = np.array([[found[y, x] for x in xs] for y in ys])
    ax.imshow(values, cmap="viridis", vmin=max(values.max() - 10, 0), vmax=values.max(), aspect="auto")
    middle = values.max() - 5
    for (i, j), value in np.ndenumerate(values):
        ax.text(
            j, i, f"{value:.1f}", ha="center", va="center", fontsize=7, color="white" if value < middle else "black"
        )
    ax.set(xticks=range(len(xs)), yticks=range(len(ys)), xlabel=across, ylabel=down)
    ax.set_xticklabels(xs)
    ax.set_yticklabels(ys)


def _lines(ax: Axes, rows: list[dict[str, Any]], along: str, by: list[str]) -> None:
    for value in dict.fromkeys(row[by[0]] for row in rows) if by else [None]:
        mine = [row for row in rows if not by or row[by[0]] == value]
        label = f"{by[0]} x {value}" if by else None
        ax.plot(
            [str(row[along]).replace(", ", ",\n") for row in mine],
            [100 * row["accuracy"] for row in mine],
            "o-",
            label=label,
        )
    if by:
        ax.legend(fontsize=7)
    ax.set(xlabel=along, ylabel="recordings right, %")
    ax.tick_params(axis="x", labelsize=7)


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


def scaling(batches: list[dict[str, float]], curves: dict[str, dict[str, Any]]) -> Figure:
    """Measured batches beside simulated ones; and how time would fall with many more workers."""
    fig, axes = figure(1, 2, (9.0, 3.6))
    left, right = axes[0]
    for size in sorted({row["batch"] for row in batches}):
        rows = [row for row in batches if row["batch"] == size]
        workers = [row["workers"] for row in rows]
        (points,) = left.plot(workers, [1e3 * row["measured"] for row in rows], "o", label=f"batches of {size}")
        left.plot(workers, [1e3 * row["simulated"] for row in rows], "--", color=points.get_color())
    left.set(xlabel="workers on this machine", ylabel="ms a batch; dashed: simulated", ylim=(0, None))
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
