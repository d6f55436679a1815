"""Networks and recordings for measurements, made on the spot: no download, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.events import Recordings
from timesurf.layers import Full, Layer, Window
from timesurf.network import Network
from timesurf.rule import Rule

Array = NDArray[Any]


def strokes(
    recordings: int,
    seed: int = 0,
    *,
    events: int = 4050,
    field: tuple[int, int] = (28, 28),
    polarities: int = 1,
    anywhere: bool = False,
    spread: float = 0.0,
) -> Recordings:
    """Make recordings like those of N-MNIST: a pen stroke that moves in front of the sensor for 300 ms.

    As with a camera, events are close together in place and time, and so are the memory accesses they cause.

    Parameters
    ----------
    recordings : int
        How many, labelled 0 to 9 in turn.
    seed : int
        Seed of the strokes.
    events : int
        Events per recording.
    field : tuple of int
        Width and height.
    polarities : int
        Polarities, drawn at random.
    anywhere : bool
        Scatter events over the whole field, the hardest case for the caches.
    spread : float
        Relative standard deviation of the number of events per recording; that of N-MNIST is 0.28.

    Returns
    -------
    Recordings
        The recordings.

    Examples
    --------
    >>> strokes(2, events=100)
    Recordings(2 recordings, 200 events, field 28 x 28, 1 polarity, 2 labels)

    """
    rng = np.random.default_rng(seed)
    wanted, events = events, round(events * (1 + 2.5 * spread))
    t = np.sort(rng.integers(0, 300_000, (recordings, events)), axis=1)
    corners = rng.uniform(0.2, 0.8, (recordings, 4, 2)) * field
    along = rng.random((recordings, events, 1))
    bend = np.stack([(1 - along) ** 3, 3 * along * (1 - along) ** 2, 3 * along**2 * (1 - along), along**3])
    place = (bend * corners.transpose(1, 0, 2)[:, :, None, :]).sum(axis=0)
    place += 3 * np.sin(t[..., None] / 300_000 * 2 * np.pi * np.array([1, 1.5])) + rng.normal(0, 0.7, place.shape)
    if anywhere:
        place = rng.uniform(0, field, place.shape)
    x, y = (np.clip(place[..., d], 0, field[d] - 1).astype(np.uint16).ravel() for d in range(2))
    p = None if polarities == 1 else rng.integers(0, polarities, len(x)).astype(np.uint8)
    t, counts = t.ravel().astype(np.int32), np.full(recordings, events)
    if spread:
        share = np.clip(wanted / events * (1 + spread * rng.standard_normal(recordings)), 0.1, 1)
        some = rng.random((recordings, events)) < share[:, None]
        counts, some = some.sum(axis=1), some.ravel()
        x, y, t, p = x[some], y[some], t[some], None if p is None else p[some]
    return Recordings(
        [x, y],
        t,
        p,
        np.concatenate([[0], np.cumsum(counts)]),
        field=field,
        polarities=polarities,
        labels=np.arange(recordings) % 10,
    )


NMNIST: tuple[Layer, ...] = (Window(9, units=32, tau="100 ms"), Full(tau="1 ms"))
DEEPER: tuple[Layer, ...] = (
    Window(9, units=32, tau="10 ms"),
    Window(3, units=64, tau="20 ms", feedback_tau="10 ms"),
    Full(tau="20 ms"),
)

STILL = Rule(
    alpha=1e-12, beta=1e-12, gamma=1e-12, delta=1e-12
)  # so small that weights do not change noticeably while it is timed


def started(layers: tuple[Layer, ...], data: Recordings, engine: str = "cpu") -> Network:
    """A network started with a margin so wide that every event is kept, although thresholds learn."""
    classes = data.classes
    return Network(layers, data.field, data.polarities, classes, engine=engine).start(data[:20], margin=1.4)


STILL_DELTA = Rule(alpha=1e-12, beta=0.0, gamma=0.0, delta=0.0, last="delta")


def resting(units: int, data: Recordings, engine: str = "cpu") -> Network:
    """A network as it is chosen from data: k-means below that rests, pooled places, the delta rule above."""
    layers = (Window(9, units=units, tau="6 ms", stride=4), Full(tau="20 ms"))
    network = Network(layers, data.field, data.polarities, data.classes, engine=engine, rule=STILL_DELTA, seed=0)
    return network.start(data, start="kmeans", margin=np.inf)
