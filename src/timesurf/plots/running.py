"""A network at work: how it feels about each event, how it makes up its mind, how it learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.engines import Trace
from timesurf.errors import NotFittedError, SettingError
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.checks import one
from timesurf.plots.style import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 10  # classes with a line of their own


def separability(network: Network, recording: Recordings, layer: int = -1, ax: Axes | None = None) -> Axes:
    """S (dots) and dS (crosses) of a layer at every output event of a recording: the signals that Sup3r learns from.

    S near +1: one unit at a time fires, and rightly; near -1: wrongly; near 0: units fire all at once. dS is the change
    since the last output at the same place. The line is the mean of S over the last 20 output events. Without a label
    no output is wrong, and S is never negative.
    """
    k = network.layer_number(layer)
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
    """The dS of every output event: S less that of the layer's last output at the same place, 0 before the first."""
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
    total = np.concatenate([[0], np.cumsum(values)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - width, 0)
    mean: Array = (total[last] - total[first]) / (last - first)
    return mean


def decision(network: Network, recording: Recordings, ax: Axes | None = None) -> Axes:
    """Share of the votes so far for each class, over time: the uppermost line is what the network would say.

    A dotted line marks the moment from which on it did not change its mind. The true class, if known, is drawn thick.
    Grey and without a name: classes that got no vote, and all but the ten with most votes in the end.
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
        ax.set_title("no output event: it says nothing", fontsize=10)
    else:
        ax.axvline(ms[since], color="grey", linewidth=1, linestyle=":")
        said = network.classes[shares[-1].argmax()]
        ax.set_title(f"says {said}, and did so from {ms[since]:.3g} ms on", fontsize=10)
    if named:
        _legend_beside(ax)
    return ax


def votes_so_far(network: Network, recording: Recordings) -> Array:
    """Share of the output events on each class after each event of a recording (events, classes); 0 before the first.

    As in `metrics.running_majority`, but of every class and after every event.
    """
    trace = network.trace(recording)
    voted = trace.passed == len(network.stages)
    votes = np.zeros((len(voted), len(network.classes)))
    votes[np.flatnonzero(voted), trace.winner[voted, -1]] = 1
    votes = np.cumsum(votes, axis=0)
    shares: Array = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    return shares


def settled(shares: Array) -> int | None:
    """The event from which on the majority stayed what it was in the end; None if there never was one.

    >>> settled(np.array([[0, 0], [1, 0], [0.5, 0.5], [0.3, 0.7]]))
    3
    """
    if not shares[-1].any():
        return None
    other = (shares.argmax(axis=1) != shares[-1].argmax()) | ~shares.any(axis=1)
    return int(np.flatnonzero(other)[-1]) + 1 if other.any() else 0


def matrix(ax: Axes, counts: Array) -> Axes:
    """A confusion matrix, as counts: rows are the truth, columns what was said; a last one more, nothing."""
    ax.imshow(np.log1p(counts), cmap="viridis")
    bright = np.log1p(counts) > 0.6 * np.log1p(counts.max())
    for i, j in zip(*np.nonzero(counts), strict=True):
        ax.text(
            j, i, f"{counts[i, j]}", ha="center", va="center", fontsize=7, color="black" if bright[i, j] else "white"
        )
    names = [*range(len(counts)), *["none"] * (counts.shape[1] - len(counts))]
    ax.set_xticks(range(counts.shape[1]), names)
    ax.set(xlabel="said", ylabel="true", yticks=range(len(counts)))
    return ax


def confusion(counts: Any, classes: Sequence[Any] | Array, ax: Axes | None = None) -> Axes:
    """A confusion matrix with the names of the classes: rows are the truth, columns what was said, "none" nothing.

    counts : recordings or events by true class and answer, as from `metrics.confusion(votes, label)`
    """
    counts, names = np.asarray(counts), [str(name) for name in classes]
    if counts.ndim != 2 or len(counts) != len(names) or counts.shape[1] - len(names) not in (0, 1):
        raise SettingError(
            f"counts of shape {counts.shape} for {len(names)} classes: one row a class is needed, one column a class "
            "and perhaps one for none; metrics.confusion(votes, label) makes them."
        )
    ax = matrix(style.given(ax, (0.45 * len(names) + 2.5, 0.45 * len(names) + 2)), counts)
    columns = [*names, "none"][: counts.shape[1]]
    upright = max(map(len, columns)) > 4
    ax.set_xticks(range(len(columns)), columns, rotation=90 if upright else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set_title(f"{np.trace(counts) / max(counts.sum(), 1):.1%} of {counts.sum():,} right", fontsize=10)
    return ax


def early(curve: dict[str, Sequence[float]], ax: Axes | None = None) -> Axes:
    """Share of recordings whose majority so far is right, after so many events: how soon a network can decide.

    curve : "events" and "accuracy", as `bench.nmnist.early` gives
    """
    ax = style.given(ax, (5, 3.5))
    ax.plot(curve["events"], curve["accuracy"], marker="o")
    ax.set(xscale="log", ylim=(0, 1), xlabel="events seen", ylabel="majority right", title="how soon it decides")
    ax.grid(alpha=0.3)
    return ax


def learning_curves(history: Sequence[dict[str, Any]], ax: Axes | None = None) -> Axes:
    """How learning went, pass by pass, from `Network.history`.

    accuracy : share of output events on the right class while learning
    kept : output events / input events
    validation : share of held-out recordings whose majority is right; a ring marks the best, the last of equals, which
        `train` goes back to
    """
    if not history:
        raise NotFittedError("No passes to draw: history is empty until the network has learnt.")
    ax = style.given(ax, (6, 3.5))
    passes = np.arange(1, len(history) + 1)
    for n, name in enumerate(("accuracy", "kept", "validation")):
        values = np.array([figures.get(name, np.nan) for figures in history], dtype=float)
        if np.isnan(values).all():
            continue
        ax.plot(passes, values, label=name, marker=style.MARKERS[n], markersize=5, **style.line(n))
        if name == "validation":
            best = int(np.flatnonzero(values == np.nanmax(values))[-1])
            ax.plot(passes[best], values[best], "o", markersize=13, fillstyle="none", color=style.BLACK)
    ax.set(xlabel="pass", ylabel="share", ylim=(0, 1.03), xlim=(0.5, len(history) + 0.5))
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.3)
    _legend_beside(ax)
    return ax


def _legend_beside(ax: Axes) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8, borderaxespad=0, handlelength=3, markerscale=1.5)
