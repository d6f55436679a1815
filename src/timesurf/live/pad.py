"""A drawing that a simulated camera looks at: strokes of a mouse or a finger become events.

Two ways to look at it::

    "saccades"   the camera makes N-MNIST's three movements over the drawing as it is now, again and again
    "edges"      the camera rests: ink that appears makes events where it appears, one time per threshold crossed
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import saccades, sources
from timesurf.errors import SettingError
from timesurf.events import Recordings

Array = NDArray[Any]
Look = Literal["saccades", "edges"]
DTYPE = np.dtype([("x", "<i8"), ("y", "<i8"), ("t", "<i8"), ("p", "<i8")])
SIDE = 28  # pixels of the picture that the camera sees, as MNIST's
MOST_POINTS = 20_000  # of a drawing
_FINE = 8  # samples of the drawing per pixel
_INK = 20  # pixels of the longer side of a drawing, as MNIST's digits have
_WIDTH, _DARK = 0.9, 2.2  # pixels, how soft a line is, and how dark: as much ink as pictures of the starter have
_MARGIN = saccades.Camera().margin


class Pad:
    """A drawing, seen by the camera of a network.

    Parameters
    ----------
    field, polarities : tuple of int, int
        Of the network.
    look : {"saccades", "edges"}
        How the camera looks at it.

    Examples
    --------
    >>> pad = Pad((34, 34), 2)
    >>> pad.draw([(0.5, 0.1), (0.5, 0.9)])
    >>> events = pad.events(since=0)
    >>> len(events) > 500, bool(10 < np.median(events["x"]) < 24)
    (True, True)

    """

    def __init__(self, field: tuple[int, ...], polarities: int, look: Look = "saccades") -> None:
        if len(field) != 2:
            raise SettingError(f"One draws on a plane; this network has a field of {len(field)} dimensions.")
        self.field, self.polarities = field, polarities
        self.strokes: list[list[tuple[float, float]]] = []
        self._looks = 0
        self._seen = np.zeros((SIDE, SIDE))
        self.look_by(look)

    def look_by(self, look: str) -> None:
        """Choose how the camera looks."""
        if look not in get_args(Look):
            raise SettingError(f"look = {look!r} must be one of {', '.join(get_args(Look))}.")
        self.look = look

    def draw(self, points: Sequence[Sequence[float]], *, new: bool = True) -> None:
        """Add a stroke, or continue the latest; coordinates from 0 to 1, x to the right, y down."""
        clean = [(float(x), float(y)) for x, y in points]
        if not all(0 <= value <= 1 for point in clean for value in point):  # NaN is refused as well
            raise SettingError("Points of a drawing lie between 0 and 1.")
        if sum(map(len, self.strokes)) + len(clean) > MOST_POINTS:
            raise SettingError(f"A drawing has at most {MOST_POINTS:,} points: clear it.")
        if new or not self.strokes:
            self.strokes.append([])
        self.strokes[-1] += clean

    def clear(self) -> None:
        """Wipe the pad."""
        self.strokes.clear()
        self._seen = np.zeros((SIDE, SIDE))

    @property
    def blank(self) -> bool:
        """Whether there is nothing to see."""
        return not any(self.strokes)

    def picture(self) -> Array:
        """The drawing as the camera sees it, 0 to 1: its longer side fills the frame, and it is in the middle."""
        if self.blank:
            return np.zeros((SIDE, SIDE))
        lines = [np.array(stroke) for stroke in self.strokes if stroke]
        low, high = (side([side(line, axis=0) for line in lines], axis=0) for side in (np.min, np.max))
        scale, middle = _INK / max(float((high - low).max()), 0.15), (low + high) / 2
        if self.look == "edges":  # the frame does not follow what grows
            scale, middle = SIDE, np.full(2, 0.5)
        return _inked(np.concatenate([_dense((line - middle) * scale + SIDE / 2) for line in lines]))

    def events(self, since: int) -> Array:
        """What the camera sees from now on, times from `since` on: a look of 300 ms, or what is new."""
        picture = self.picture()
        self._looks += 1
        if self.look == "edges":
            seen = _appeared(self._seen, picture, self._looks)
            self._seen = picture
        elif self.blank:
            seen = Recordings([[], []], [], [], [0, 0], field=saccades.FIELD, polarities=2)
        else:
            seen = saccades.simulate(picture[None], seed=[7, self._looks], threads=1)
        (events,) = _on(seen, self.field, self.polarities).to_structured()
        found = np.zeros(len(events), DTYPE)
        for name in events.dtype.names or ():
            found[name] = events[name]
        if len(found):
            found["t"] += since - found["t"][0]
        return found


def _dense(points: Array) -> Array:
    """Points along a stroke, a sample of the drawing apart."""
    parts = [points[:1]]
    for a, b in pairwise(points):
        steps = max(int(np.ceil(float(np.abs(b - a).max()) * _FINE)), 1)
        parts.append(a + (b - a) * (np.arange(1, steps + 1) / steps)[:, None])
    return np.concatenate(parts)


def _inked(points: Array) -> Array:
    """Lines through points, in pixels, as a soft picture."""
    from scipy.ndimage import gaussian_filter

    fine = np.zeros((SIDE * _FINE, SIDE * _FINE))
    x, y = np.clip(points * _FINE, 0, SIDE * _FINE - 1).astype(int).T
    fine[y, x] = 1
    near = gaussian_filter(fine, _WIDTH * _FINE)
    soft = near.reshape(SIDE, _FINE, SIDE, _FINE).mean(axis=(1, 3))
    picture: Array = np.clip(_DARK * soft / np.quantile(soft[soft > 1e-6], 0.9), 0, 1)
    return picture


def _appeared(before: Array, now: Array, seed: int) -> Recordings:
    """Events of ink that appears in front of a camera at rest, within 30 ms."""
    camera, rng = saccades.Camera(), np.random.default_rng(seed)
    darker = np.log(camera.dark + 1 - before) - np.log(camera.dark + 1 - now)
    count = np.maximum(np.floor(darker / camera.off + rng.uniform(size=now.shape)), 0).astype(int)
    y, x = (np.repeat(axis, count.ravel()) for axis in np.indices(now.shape).reshape(2, -1))
    t = np.sort(rng.integers(0, 30_000, len(x)))
    order = rng.permutation(len(x))
    coords = [x[order] + _MARGIN, y[order] + _MARGIN]
    return Recordings(coords, t, np.zeros(len(t), int), [0, len(t)], field=saccades.FIELD, polarities=2)


def _on(seen: Recordings, field: tuple[int, ...], polarities: int) -> Recordings:
    """Events of the camera on a network's field: as they are where they fit, else scaled to it."""
    fitting = sources.fitted(seen, field, polarities)
    if fitting.field == field:
        return fitting
    x, y = (np.minimum(v.astype(int) * n // s, n - 1) for v, n, s in zip(seen.coords, field, seen.field, strict=True))
    return Recordings(
        [x, y], seen.t, np.minimum(seen.p, polarities - 1), seen.offsets, field=field, polarities=polarities
    )
