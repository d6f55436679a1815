"""Pictures of events: where and when they happen, which of them a layer keeps, the surface around one of them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from timesurf.engines.reference import surface as surface_of
from timesurf.errors import EventError
from timesurf.events import Recordings, axis_name
from timesurf.inference import layer_number
from timesurf.network import Network
from timesurf.plots import style
from timesurf.plots.checks import one
from timesurf.plots.network import draw, surface_at_once
from timesurf.plots.style import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def space_time(recording: Recordings, ax: Axes | None = None) -> Axes:
    """Draw every event as a point in space and time, with one colour and marker per polarity.

    Events of a camera are drawn in three dimensions: time to the right, x in depth, y down as in an image. In a flat
    `ax`, and for fields of one dimension, x is drawn over time.

    Parameters
    ----------
    recording : Recordings
        One recording.
    ax : Axes, optional
        Where to draw, of projection "3d" or flat; by default a new figure.

    """
    ax = _space(one(recording), ax)
    p = recording.p
    if recording.polarities > len(style.COLOURS):
        shown = _scatter(ax, recording, slice(None), c=p, cmap="viridis", vmin=0, vmax=recording.polarities - 1)
        ax.figure.colorbar(shown, ax=ax, label="polarity", shrink=0.7)
        return ax
    for n in np.unique(p):
        _scatter(ax, recording, p == n, label=f"polarity {n}", **style.points(n))
    if recording.polarities > 1:
        _legend(ax)
    return ax


def kept(network: Network, recording: Recordings, layer: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the events that a layer keeps (dots), those it rejects (crosses), and those rejected before it (faint).

    Laid out as in `space_time`. Points are where events entered the network, whichever layer is shown.

    Parameters
    ----------
    network : Network
        A trained network.
    recording : Recordings
        One recording.
    layer : int
        Number of the layer from 0; -1 is the last.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    """
    k = layer_number(network.stages, layer)
    passed = network.trace(one(recording)).passed
    ax = _space(recording, ax)
    looks: dict[str, tuple[Array, dict[str, Any]]] = {
        "rejected below": (passed < k, {"color": style.REJECTED, "marker": ".", "s": 9}),
        "rejected": (passed == k, {"color": style.ORANGE, "marker": "x", "linewidths": 0.8}),
        "kept": (passed > k, {"color": style.BLUE, "marker": "o"}),
    }
    for name, (some, look) in looks.items():
        if some.any():
            _scatter(ax, recording, some, label=f"{name} ({some.sum():,})", **look)
    ax.set_title(f"layer {k + 1} keeps {(passed > k).mean():.0%} of {len(passed):,} events")
    _legend(ax)
    return ax


def surface(network: Network, recording: Recordings, event: int, layer: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the time surface of a layer at one event: 1 (bright) for a new event, 0 (dark) for an old one or none.

    Laid out as the layer's centroids are (see `centroids`): the unit with the closest centroid fires.

    Parameters
    ----------
    network, recording
        As for `kept`.
    event : int
        Number of the event in the recording, from 0.
    layer, ax
        As for `kept`.

    Raises
    ------
    EventError
        If there is no such event, or it does not reach the layer.

    """
    k = layer_number(network.stages, layer)
    ts = _surface(network, one(recording), _event_number(recording, event), k)
    ax = draw(style.given(ax, (4, 4)), ts)
    ax.set_title(f"event {event} in layer {k + 1}", fontsize=10)
    return ax


def _surface(network: Network, recording: Recordings, event: int, k: int) -> Array:
    """The surface exp(-(t - T) / tau) around one event, the mean over time constants if there are several.

    T are the latest times of the layer's inputs up to it.
    """
    stage, place = network.stages[k], event
    if k:
        passed = network.trace(recording).passed
        if passed[event] < k:
            raise EventError(f"event {event} does not reach layer {k + 1}: layer {passed[event] + 1} rejects it.")
        recording, place = network.transform(recording, k - 1), int((passed[:event] >= k).sum())
    T = np.full((*stage.field, stage.polarities), -np.inf)
    before = slice(place + 1)
    np.maximum.at(T, (*(x[before] for x in recording.coords), recording.p[before]), recording.t[before])
    x = tuple(int(v[place]) for v in recording.coords)
    return surface_at_once(stage, surface_of(stage, T, x, float(recording.t[place])))


def _event_number(recording: Recordings, event: int) -> int:
    """The number of an event from 0; negative numbers count from the end."""
    events = int(recording.counts[0])
    if not -events <= event < events:
        raise EventError(f"event = {event} does not exist: this recording has events 0 to {events - 1}.")
    return operator.index(event) % events


def _space(recording: Recordings, ax: Axes | None) -> Axes:
    """Axes for the recording's field and duration."""
    deep = len(recording.field) > 1
    ax = style.given(ax, (7, 4.2) if deep else (7, 3.5), projection="3d" if deep else None)
    names = [axis_name(d) for d in range(len(recording.field))] or ["polarity"]
    ax.set(xlabel="ms", ylabel=names[0])
    if ax.name == "3d":
        width, height = recording.field[:2]
        solid: Any = ax  # matplotlib's stubs describe flat axes only
        solid.set(ylim=(width - 0.5, -0.5), zlim=(height - 0.5, -0.5), zlabel=names[1])
        solid.set_box_aspect((2, *np.clip(np.array([width, height]) / max(width, height), 0.4, 1)), zoom=1.2)
        solid.locator_params(nbins=4)
        solid.tick_params(labelsize=8, pad=0)
        solid.view_init(elev=20, azim=-70)
    return ax


def _scatter(ax: Axes, recording: Recordings, some: Any, **look: Any) -> Any:
    """Draw some of the events as points, smaller ones if the recording has many events."""
    t, coords = recording.t, recording.coords or (recording.p,)
    ms = (t - t[0]) / 1e3
    where = coords[:2] if ax.name == "3d" else coords[:1]
    look = {"s": np.clip(4e4 / len(t), 3, 20), "rasterized": True, **look}
    if "linewidths" not in look:
        look["linewidths"] = 0
    return ax.scatter(ms[some], *(x[some] for x in where), **look)


def _legend(ax: Axes) -> None:
    """A legend inside the axes."""
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1), fontsize=8, markerscale=1.5, framealpha=0.8)
