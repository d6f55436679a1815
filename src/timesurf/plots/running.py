"""A network at work: its S at each event, its decision over time, its mistakes, its learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf import metrics
from timesurf.engines import Trace
from timesurf.errors import NotFittedError, SettingError
from timesurf.events import Recordings
from timesurf.inference import layer_number
from timesurf.metrics import SILENT, decide
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.checks import one
from timesurf.plots.style import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 10  # classes that get a line in colour and an entry in the legend


def separability(network: Network, recording: Recordings, layer: int = -1, ax: Axes | None = None) -> Axes:
    """Draw S (dots) and dS (crosses) of a layer at every output event: the signals that Sup3r learns from.

    S near +1: one unit fires at a time, and the class is right; near -1: the class is wrong; near 0: many units fire
    together. dS is the change since the previous output at the same place. The line is the mean of S over the last 20
    output events. Without a label no output is wrong, and S is never negative.

    Parameters
    ----------
    network, recording, layer, ax
        As for `plots.kept`.

    """
    k = layer_number(network.stages, layer)
    trace = network.trace(one(recording))
    out = ~np.isnan(trace.S[:, k])
    S, dS = trace.S[out, k], _changes(network, recording, trace, k)
    ms = (recording.t[out] - recording.t[0]) / 1e3
    ax = style.given(ax, (8, 3.5))
    ax.axhline(0, color="grey", linewidth=0.8)
    ax.plot(ms, dS, "x", color=style.ORANGE, markersize=4, markeredgewidth=0.7, label="dS")
    ax.plot(ms, S, ".", color=style.SKY, markersize=4, label="S")
    ax.plot(ms, _trailing_mean(S, 20), color=style.BLACK, linewidth=1.2, label="S, mean of 20")
    ax.set(xlabel="ms", ylabel=f"layer {k + 1}", ylim=(-2.1, 2.1), yticks=(-2, -1, 0, 1, 2))
    ax.set_title(f"separability at {len(S):,} output events of {len(out):,}", fontsize=10)
    _legend_beside(ax)
    return ax


def _changes(network: Network, recording: Recordings, trace: Trace, k: int) -> Array:
    """The dS of every output event: S minus that of the layer's previous output at the same place, 0 before it."""
    out = ~np.isnan(trace.S[:, k])
    x: Any = tuple(v[out] for v in recording.coords)
    for stage in network.stages[: k + 1]:
        x = stage.layer.output(x)
    S, field = trace.S[out, k], network.stages[k].output_field
    place = np.ravel_multi_index(x, field) if field else np.zeros(len(S), dtype=np.int64)
    order = np.argsort(place, kind="stable")
    previous = np.zeros(len(S))
    same = place[order[1:]] == place[order[:-1]]
    previous[order[1:][same]] = S[order[:-1][same]]
    return np.asarray(S - previous)


def _trailing_mean(values: Array, width: int) -> Array:
    """Mean of each value and those before it, `width` at most."""
    total = np.concatenate([[0], np.cumsum(values)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - width, 0)
    mean: Array = (total[last] - total[first]) / (last - first)
    return mean


def decision(network: Network, recording: Recordings, ax: Axes | None = None) -> Axes:
    """Draw each class's share of the votes so far over time: the highest line is the decision at that time.

    A dotted line marks the time after which the decision did not change. The true class, if known, is drawn thick.
    Classes without votes, and all but the ten with most votes at the end, are grey and not in the legend.

    Parameters
    ----------
    network, recording, ax
        As for `plots.kept`.

    """
    shares = votes_so_far(network, one(recording))
    ms = (recording.t - recording.t[0]) / 1e3
    truth = int(network.class_numbers(recording)[0])
    named = [c for c in np.argsort(-shares[-1], kind="stable")[:_NAMED] if shares[-1, c] or c == truth]
    ax = style.given(ax, (8, 3.5))
    for c, name in enumerate(network.classes.tolist()):
        known = {"label": f"{name} (true)" if c == truth else str(name), **style.line(c)} if c in named else {}
        look = {"color": style.FAINT, "linewidth": 2.5 if c == truth else 1.3, **known}
        ax.plot(ms, shares[:, c], drawstyle="steps-post", **look)
    ax.set(xlabel="ms", ylabel="share of votes so far", ylim=(-0.02, 1.02))
    since = settled(shares)
    if since is None:
        ax.set_title("no output event, no decision", fontsize=10)
    else:
        ax.axvline(ms[since], color="grey", linewidth=1, linestyle=":")
        decided = network.classes[decide(shares[-1]).classes]
        ax.set_title(f"decision: {decided}, unchanged from {ms[since]:.3g} ms", fontsize=10)
    if named:
        _legend_beside(ax)
    return ax


def votes_so_far(network: Network, recording: Recordings) -> Array:
    """Share of the output events on each class after each event of a recording; see `shares_so_far`."""
    vote = metrics.voted(network.trace(recording), network.stages)
    return shares_so_far(vote, len(network.classes))


def shares_so_far(vote: Array, classes: int) -> Array:
    """Share of the votes of each class after each event.

    Parameters
    ----------
    vote : array of int, shape (events,)
        Class of each event, -1 where it was rejected.
    classes : int
        Number of classes.

    Returns
    -------
    array of float, shape (events, classes)
        Shares; 0 before the first vote.

    Examples
    --------
    >>> shares_so_far(np.array([-1, 1, 0]), classes=2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.5, 0.5]]

    """
    votes = np.cumsum(vote[:, None] == np.arange(classes), axis=0)
    shares: Array = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    return shares


def settled(shares: Array) -> int | None:
    """Number of the event after which the decision no longer changed; None without any vote.

    Examples
    --------
    >>> settled(np.array([[0, 0], [1, 0], [0.5, 0.5], [0.3, 0.7]]))
    3

    """
    decided = decide(shares).classes
    if decided[-1] == SILENT:
        return None
    other = decided != decided[-1]
    return int(np.flatnonzero(other)[-1]) + 1 if other.any() else 0


def matrix(ax: Axes, counts: Array) -> Axes:
    """Draw a confusion matrix of counts: rows are true classes, columns decisions; a further column is "none"."""
    ax.imshow(np.log1p(counts), cmap="viridis")
    bright = np.log1p(counts) > 0.6 * np.log1p(counts.max())
    for i, j in zip(*np.nonzero(counts), strict=True):
        ax.text(
            j, i, f"{counts[i, j]}", ha="center", va="center", fontsize=7, color="black" if bright[i, j] else "white"
        )
    names = [*range(len(counts)), *["none"] * (counts.shape[1] - len(counts))]
    ax.set_xticks(range(counts.shape[1]), names)
    ax.set(xlabel="predicted", ylabel="true", yticks=range(len(counts)))
    return ax


def confusion(counts: Any, classes: Sequence[Any] | Array, ax: Axes | None = None) -> Axes:
    """Draw a confusion matrix with the names of the classes.

    Rows are true classes, columns predicted classes; "none" counts recordings without output events.

    Parameters
    ----------
    counts : array of int, shape (classes, classes) or (classes, classes + 1)
        Recordings by true class and decision, as from `metrics.confusion(votes, label)`.
    classes : sequence
        Names of the classes.
    ax
        As for `plots.kept`.

    Raises
    ------
    SettingError
        If the counts do not fit the classes.

    """
    counts, names = np.asarray(counts), [str(name) for name in classes]
    if counts.ndim != 2 or len(counts) != len(names) or counts.shape[1] - len(names) not in (0, 1):
        raise SettingError(
            f"counts of shape {counts.shape} for {len(names)} classes: one row per class is needed, one column per "
            "class and optionally one for none; metrics.confusion(votes, label) makes them."
        )
    ax = matrix(style.given(ax, (0.45 * len(names) + 2.5, 0.45 * len(names) + 2)), counts)
    columns = [*names, "none"][: counts.shape[1]]
    upright = max(map(len, columns)) > 4
    ax.set_xticks(range(len(columns)), columns, rotation=90 if upright else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set_title(f"{np.trace(counts) / max(counts.sum(), 1):.1%} of {counts.sum():,} correct", fontsize=10)
    return ax


def early(curve: dict[str, Sequence[float]], ax: Axes | None = None) -> Axes:
    """Draw recording accuracy over the number of events seen: how soon a network can decide.

    Parameters
    ----------
    curve : dict
        "events" and "recording_accuracy", as `paper.table3.early` gives.
    ax
        As for `plots.kept`.

    """
    ax = style.given(ax, (5, 3.5))
    ax.plot(curve["events"], curve["recording_accuracy"], marker="o")
    ax.set(xscale="log", ylim=(0, 1), xlabel="events seen", ylabel="recording accuracy", title="how soon it decides")
    ax.grid(alpha=0.3)
    return ax


CURVES = {"event_accuracy": "event accuracy", "kept": "kept", "validation_accuracy": "validation accuracy"}


def learning_curves(history: Sequence[dict[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw event accuracy, kept events and validation accuracy over the passes.

    Event accuracy and kept events are those of the recordings learned from, during the pass. Validation accuracy is the
    recording accuracy on recordings set aside; a ring marks its best pass, the last of equals, which `Network.train`
    goes back to.

    Parameters
    ----------
    history : sequence of dict
        `Network.history`: "event_accuracy", "kept" and, with validation, "validation_accuracy" per pass.
    ax
        As for `plots.kept`.

    Raises
    ------
    NotFittedError
        If the history is empty.

    """
    if not history:
        raise NotFittedError("No passes to draw: history is empty until the network has learned.")
    ax = style.given(ax, (6, 3.5))
    passes = np.arange(1, len(history) + 1)
    for n, (name, title) in enumerate(CURVES.items()):
        values = np.array([figures.get(name, np.nan) for figures in history], dtype=float)
        if np.isnan(values).all():
            continue
        ax.plot(passes, values, label=title, marker=style.MARKERS[n], markersize=5, **style.line(n))
        if name == "validation_accuracy":
            best = int(np.flatnonzero(values == np.nanmax(values))[-1])
            ax.plot(passes[best], values[best], "o", markersize=13, fillstyle="none", color=style.BLACK)
    ax.set(xlabel="pass", ylabel="share", ylim=(0, 1.03), xlim=(0.5, len(history) + 0.5))
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.3)
    _legend_beside(ax)
    return ax


def _legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the axes, where it hides nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8, borderaxespad=0, handlelength=3, markerscale=1.5)
