"""Figures of comparisons over many senses: methods over recordings per class, settings changed one at a time."""

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
        Three panels in a row.
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


def settings(changes: dict[str, dict[str, float]]) -> Figure:
    """Draw how much accuracy changes with each setting (rows) on each data set (columns), in points.

    Parameters
    ----------
    changes : dict
        By setting and factor, then by data set, as `bench.settings.changes` gives them.

    Returns
    -------
    Figure
        One map.
    """
    names = list(changes)
    data = list(dict.fromkeys(name for of in changes.values() for name in of))
    values = np.array([[100 * changes[name].get(each, np.nan) for each in data] for name in names])
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
