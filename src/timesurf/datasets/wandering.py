"""Things that move: copies of small recordings, such as digits, that wander over a large field among noise.

What a thing is does not depend on where it is, so a classifier that learns places learns nothing of use here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import check_split, digits
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.times import Time, microseconds
from timesurf.transforms.cutting import pieces
from timesurf.transforms.parts import joined

Array = NDArray[Any]
ABOUT = "three copies of a digit wandering over 346 x 260 pixels among noise, pieces of 1 s; needs no file"
LICENCE = "as digits"
FIELD, POLARITIES = (346, 260), 2
CLASSES = (0, 1, 4, 7)  # digits that no rotation or shift takes for one another
_PER_CLASS = {"train": 30, "test": 20}  # digits; each gives a recording of _SECONDS
_SECONDS = 4
_SPEED = 60.0, 160.0  # pixels per second


def load(split: str = "train", *, seed: int = 0) -> Recordings:
    """Pieces of 1 s of wandering digits, labelled 0, 1, 4 or 7; the digits of the two splits are different ones.

    Each seed gives other ways and noise and, from 1 up, draws other digits; 0 takes the first.
    """
    check_split(split)
    small = digits.load(split)
    labels, order = np.asarray(small.labels), np.arange(len(small))
    if seed:
        order = np.random.default_rng(seed).permutation(order)
    chosen = np.concatenate([order[labels[order] == c][: _PER_CLASS[split]] for c in CLASSES])
    ways = 2 * seed + (0 if split == "train" else 1)
    return pieces(wander(small[chosen], duration=f"{_SECONDS} s", seed=ways), "1 s")


def wander(
    things: Recordings,
    *,
    field: tuple[int, int] = FIELD,
    duration: Time = "20 s",
    copies: int = 3,
    noise: float = 2000.0,
    seed: Any = 0,
) -> Recordings:
    """Let copies of each recording move over a larger field, from edge to edge, over and over, among noise.

    Parameters
    ----------
    things : Recordings
        Two-dimensional, on a field smaller than `field`; each becomes one recording.
    field : tuple of int
        Width and height to wander over.
    duration : float or str
        Of every recording.
    copies : int
        Of the thing, each on a way of its own.
    noise : float
        Events per second anywhere on the field.
    seed : int
        Draws ways and noise.

    Returns
    -------
    Recordings
        As many as `things`, with their labels.
    """
    if len(things.field) != 2 or any(small > large for small, large in zip(things.field, field, strict=True)):
        raise SettingError(f"Things on a field of {things.field} cannot wander over one of {field}.")
    if len(things) == 0:
        raise SettingError("There are no recordings that could wander.")
    length, rng = round(microseconds(duration, "duration")), np.random.default_rng(seed)
    wandering = (_one(things[r], field, length, copies, noise, rng) for r in range(len(things)))
    return joined(wandering, things.labels, on_disk=True)


def _one(
    thing: Recordings, field: tuple[int, int], length: int, copies: int, noise: float, rng: np.random.Generator
) -> Recordings:
    """Copies of one recording on their ways."""
    events, room = [], np.subtract(field, thing.field).astype(float)
    start = thing.t - thing.t.min(initial=0)
    period = int(start.max(initial=0)) + 10_000
    for _ in range(copies):
        begin = rng.uniform(0, room + 1e-9)
        angle, speed = rng.uniform(0, 2 * np.pi), rng.uniform(*_SPEED)
        times = (start[None] + np.arange(length // period + 1)[:, None] * period).ravel()
        way = begin + speed * np.array([np.cos(angle), np.sin(angle)]) * times[:, None] / 1e6
        way = np.abs((way + room) % np.maximum(2 * room, 1) - room)  # there and back
        often = len(times) // max(len(start), 1)
        at = [np.tile(x, often) + np.rint(w) for x, w in zip(thing.coords, way.T, strict=True)]
        events.append((*at, times + rng.integers(0, period), np.tile(thing.p, often)))
    n = round(noise * length / 1e6)
    events.append((
        rng.integers(0, field[0], n), rng.integers(0, field[1], n), rng.integers(0, length, n),
        rng.integers(0, thing.polarities, n),
    ))  # fmt: skip
    x, y, t, p = (np.concatenate([of[k] for of in events]).astype(np.int64) for k in range(4))
    order = np.argsort(t, kind="stable")
    order = order[(t[order] < length) & (x[order] < field[0]) & (y[order] < field[1])]
    coords = [x[order].astype(np.uint16), y[order].astype(np.uint16)]
    return Recordings(coords, t[order], p[order].astype(np.uint8), field=field, polarities=thing.polarities)
