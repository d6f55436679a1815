"""Networks and recordings to measure speed with, made on the spot: no download, the same everywhere."""

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
    """Recordings like N-MNIST's: a pen stroke that shakes in front of the sensor for 300 ms, labelled 0 to 9.

    As with a camera, events fall close together in place and time, and so do the memory accesses they cause.
    `anywhere` scatters them over the field instead, the hardest case for the caches. Polarities are drawn at random.
    `spread` is the relative standard deviation of how many events a recording has; N-MNIST's is 0.28.

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
        kept = rng.random((recordings, events)) < share[:, None]
        counts, kept = kept.sum(axis=1), kept.ravel()
        x, y, t, p = x[kept], y[kept], t[kept], None if p is None else p[kept]
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

STILL = Rule(alpha=1e-12, beta=1e-12, gamma=1e-12, delta=1e-12)  # learns, but drifts nowhere while it is timed


def started(layers: tuple[Layer, ...], data: Recordings, engine: str = "cpu") -> Network:
    """A network with a start that keeps every event: thresholds learn, and nothing is rejected."""
    classes = data.classes
    return Network(layers, data.field, data.polarities, classes, engine=engine).start(data[:20], margin=1.4)
