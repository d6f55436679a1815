"""Figures of comparisons: methods over recordings per class, under disturbances; settings changed one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from timesurf.plots import style
from timesurf.plots.style import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def family(curves: dict[str, dict[str, dict[str, float]]]) -> Figure:
    """Draw recording accuracy over recordings per class: one panel per data set, one line per method.

    Parameters
    ----------
    curves : dict
        By data set, method, and recordings per class, as `bench.family.curves` gives them.

    Returns
    -------
    Figure
        Up to three panels per row.
    """
    columns = min(3, len(curves))
    lines = -(-len(curves) // columns)
    fig, axes = figure(lines, columns, (4.2 * columns + 1.6, 3.2 * lines))
    methods = list(dict.fromkeys(method for of in curves.values() for method in of))
    for ax in axes.flat[len(curves) :]:
        ax.set_axis_off()
    for ax, (data, of) in zip(axes.flat, curves.items(), strict=False):
        at = list(dict.fromkeys(number for points in of.values() for number in points))
        at.sort(key=lambda number: float("inf") if number == "all" else int(number))
        for method, points in of.items():
            n = methods.index(method)
            heights = [100 * points.get(number, np.nan) for number in at]
            marker = style.MARKERS[n % len(style.MARKERS)]
            ax.plot(
                at, heights, label=method, marker=marker, markersize=4, linewidth=2 if n == 0 else 1, **style.line(n)
            )
        ax.set_title(data, fontsize=10)
        ax.set_xlabel("recordings per class")
        ax.grid(color=style.FAINT)
    for row in axes:
        row[0].set_ylabel("recording accuracy, %")
    fullest = max(axes.flat, key=lambda ax: len(ax.lines))
    fig.legend(*fullest.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    return fig


def robustness(curves: dict[str, dict[str, dict[str, dict[float, tuple[float, float]]]]]) -> Figure:
    """Draw recording accuracy over the level of a disturbance: a row per data set, a panel per disturbance.

    Parameters
    ----------
    curves : dict
        By data set, disturbance, method and level, as `bench.robustness.curves` gives them: accuracy and its standard
        error, which is drawn where it is known.

    Returns
    -------
    Figure
        One line per method in each panel.
    """
    panels = list(dict.fromkeys(name for of in curves.values() for name in of))
    fig, axes = figure(len(curves), len(panels), (2.6 * len(panels) + 0.6, 2.7 * len(curves) + 0.6))
    for row, (data, of) in zip(axes, curves.items(), strict=True):
        for ax, name in zip(row, panels, strict=True):
            for n, (method, points) in enumerate(of.get(name, {}).items()):
                levels = [f"{level:g}" if level else "none" for level in points]
                heights, errors = (100 * np.array(each) for each in zip(*points.values(), strict=True))
                look = style.line(n) | {"marker": style.MARKERS[n], "markersize": 4, "capsize": 2}
                ax.errorbar(levels, heights, errors, label=method, linewidth=2 if n == 0 else 1, **look)
            ax.set_ylim(0, 102)
            ax.grid(color=style.FAINT)
        row[0].set_ylabel(f"{data}\nrecording accuracy, %", fontsize=9)
    for ax, name in zip(axes[-1], panels, strict=True):
        ax.set_xlabel(name)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return fig


def settings(changes: dict[str, dict[str, tuple[float, float]]]) -> Figure:
    """Draw how much accuracy changes with each setting (rows) on each data set (columns), in points.

    Parameters
    ----------
    changes : dict
        By setting and factor, then by data set: mean and standard error, as `bench.settings.changes` gives it.

    Returns
    -------
    Figure
        One map.
    """
    names = list(changes)
    data = list(dict.fromkeys(name for of in changes.values() for name in of))
    values = np.array([[100 * changes[name].get(each, (np.nan,))[0] for each in data] for name in names])
    fig, axes = figure(1, 1, (1.1 * len(data) + 2.5, 0.32 * len(names) + 1.6))
    ax = axes[0, 0]
    ax.imshow(values, cmap="RdBu", vmin=-10, vmax=10, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = "white" if abs(value) > 7 else "black"
            ax.text(j, i, f"{value:+.1f}", ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(
        range(len(data)), [name.replace(", ", ",\n").replace(" below", "\nbelow") for name in data], fontsize=7
    )
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_title("change of recording accuracy, points", fontsize=10)
    return fig
