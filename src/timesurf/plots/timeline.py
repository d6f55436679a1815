"""Decisions over time: what each piece of long recordings was classified as."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from timesurf.errors import SettingError
from timesurf.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 40  # recordings in one picture
_LATE = 1e5  # s: clocks of cameras count from 1970, times are then drawn from the first piece on


def timeline(table: dict[str, list[Any]], classes: Sequence[Any]) -> Figure:
    """Draw the decisions on pieces of recordings, one row per recording; the surer a decision, the stronger its colour.

    A piece that overlaps the next one is drawn up to where that begins.

    Parameters
    ----------
    table : dict of list
        Columns of `results.decisions.columns`, with `begin_s` and `end_s`; `file` where there are several.
    classes : sequence
        Of the network; the first few have colours of their own.

    Returns
    -------
    Figure
        Of the first 40 recordings.

    """
    if "begin_s" not in table:
        raise SettingError("Decisions over time need pieces with times: cut recordings first.")
    files = table.get("file", [""] * len(table["recording"]))
    whose = list(zip(files, table["recording"], strict=True))
    rows = list(dict.fromkeys(whose))[:_MOST]
    fig, axes = style.figure(1, 1, (9, 1.2 + 0.35 * len(rows)))
    from matplotlib.patches import Patch  # once the figure has said what to install, if it is missing

    ax = axes[0, 0]
    colour = {name: style.COLOURS[n % len(style.COLOURS)] for n, name in enumerate(classes)}
    origin = min(table["begin_s"], default=0.0)
    origin = origin if origin > _LATE else 0.0
    begins = {
        row: sorted(begin for of, begin in zip(whose, table["begin_s"], strict=True) if of == row) for row in rows
    }
    columns = (table[name] for name in ("begin_s", "end_s", "decision", "confidence"))
    for row, begin, end, decision, confidence in zip(whose, *columns, strict=True):
        if row in rows and decision is not None:
            following = bisect_right(begins[row], begin)
            end = min([end, *begins[row][following : following + 1]])
            ax.barh(
                rows.index(row), max(end - begin, 1e-6), left=begin - origin, height=0.8, color=colour[decision],
                alpha=0.15 + 0.85 * confidence, edgecolor="white", linewidth=0.5,
            )  # fmt: skip
    ax.set_yticks(range(len(rows)), [f"{file} {number}".strip() for file, number in rows])
    ax.invert_yaxis()
    ax.set_xlabel(f"s since {origin:.3f} s" if origin else "time, s")
    seen = [name for name in classes if name in set(table["decision"])]
    handles = [Patch(color=colour[name], label=str(name)) for name in seen[: len(style.COLOURS)]]
    if handles:
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return fig
