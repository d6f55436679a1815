"""The figure of a search for settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.plots import style
from timesurf.plots.style import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def search(result: dict[str, Any]) -> Figure:
    """Draw what each trial reached, the best trial so far, and the importance of settings.

    Parameters
    ----------
    result : dict
        What `timesurf.search.run` returns.

    Returns
    -------
    Figure
        Three panels.

    """
    fig, axes = figure(1, 3, (14, 4.4))
    _trade(axes[0, 0], result)
    _history(axes[0, 1], result["trials"])
    _importance(axes[0, 2], result)
    return fig


def _trade(ax: Axes, result: dict[str, Any]) -> None:
    """Draw recording accuracy over events kept: up and to the left is better."""
    rows = {row["number"]: row for row in result["trials"]}
    kinds = {"whole": ("complete", style.BLUE, "o"), "pruned": ("pruned", style.REJECTED, "x"),
             "diverged": ("diverged", style.VERMILLION, "v")}  # fmt: skip
    for ended, (name, colour, marker) in kinds.items():
        some = [row for row in rows.values() if row["ended"] == ended]
        if some:
            ax.scatter(*_points(some), s=22, color=colour, marker=marker, label=f"{name} ({len(some)})")
    front = [rows[number] for number in result["front"]]
    if front:
        kept, right = _points(sorted(front, key=lambda row: row["kept"][-1]))
        ax.step(kept, right, where="post", color=style.BLACK, linewidth=1, label="front")
    first = [row for row in rows.values() if row["values"] == result["defaults"]]
    if first:
        ax.scatter(
            *_points(first[:1]), s=130, facecolors="none", edgecolors=style.GREEN, linewidths=2, label="defaults"
        )
    found = [row for row in rows.values() if row["values"] == result.get("test", {}).get("values")]
    if found:
        ax.scatter(*_points(found[:1]), s=130, color=style.ORANGE, marker="*", label="chosen", zorder=3)
    ax.set(xlabel="events kept, %", ylabel="recording accuracy, %", title="trials")
    ax.ticklabel_format(useOffset=False, style="plain")
    ax.legend(fontsize=8)


def _points(rows: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Events kept and recording accuracy of trials, in percent."""
    return [100 * row["kept"][-1] for row in rows], [100 * row["recording_accuracy"][-1] for row in rows]


def _history(ax: Axes, rows: list[dict[str, Any]]) -> None:
    """Draw the best recording accuracy so far, and the fewest events kept among the trials that reach it."""
    best: list[tuple[float, float]] = []
    for row in rows:
        if row["marks"]:
            now = (row["marks"][0], -row["marks"][1])
            best.append(max(best[-1], now) if best else now)
        elif best:
            best.append(best[-1])
    if best:
        at = np.arange(1 + len(rows) - len(best), 1 + len(rows))
        for n, (axis, values, what) in enumerate(
            zip((ax, ax.twinx()), np.abs(best).T, ("recording accuracy", "events kept"), strict=True)
        ):
            axis.step(at, 100 * values, where="post", **style.line(n))
            axis.set_ylabel(f"{what}, %", color=style.COLOURS[n])
            axis.set_ymargin(0.2)
            axis.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.set(xlabel="trials", ylim=(-3, 103), title="the best so far")


def _importance(ax: Axes, result: dict[str, Any]) -> None:
    """Draw how much of the variance each setting explains."""
    titles = {"recording_accuracy": "recording accuracy", "kept": "events kept"}
    shares = {objective: result["importance"].get(objective, {}) for objective in titles}
    names = sorted(result["defaults"], key=lambda name: sum(of.get(name, 0) for of in shares.values()))
    for n, (objective, title) in enumerate(titles.items()):
        values = [100 * shares[objective].get(name, 0) for name in names]
        ax.barh(np.arange(len(names)) + 0.2 - 0.4 * n, values, 0.4, label=title, color=style.COLOURS[n])
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="share of the variance explained, %", title="importance of settings")
    ax.legend(fontsize=8, loc="lower right")
