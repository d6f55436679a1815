"""Pictures of digits in slightly other handwriting, seen by slightly other cameras: more to learn from than MNIST has.

Each picture is turned, scaled, sheared and bent by amounts of its own; each of several groups of pictures is seen by a
camera whose constants differ a little from those that `saccades.Camera` was fitted to. A network that learned from such
recordings relies less on one camera, and on the strokes of few writers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.cores import cores
from timesurf.datasets import saccades
from timesurf.datasets.saccades import Camera
from timesurf.events import Recordings
from timesurf.events.joining import joined
from timesurf.storage.kernels import njit

Array = NDArray[Any]
CAMERAS = 8  # per copy of the pictures
TURN, SIZE, SHEAR, BEND = 10.0, 0.1, 0.12, 0.9  # degrees, share, pixels per pixel: at most; pixels: standard deviation
KNOTS = 6  # per side of a grid that a picture is bent by
_FACTORS = {
    "blur": (0.8, 1.3), "dark": (0.7, 1.4), "on": (0.85, 1.2), "off": (0.85, 1.2), "spread": (0.7, 2.0),
    "lag": (0.7, 1.5), "dead": (0.7, 1.5), "loss": (0.5, 1.5), "noise_on": (0.5, 2.5), "noise_off": (1.0, 10.0),
}  # fmt: skip
_AT_ONCE = 1024  # pictures per task of a thread


def rewritten(images: Array, seed: int | Sequence[int] = 0, threads: int | None = None) -> Array:
    """Each picture turned, scaled, sheared and bent, by amounts of its own.

    Parameters
    ----------
    images : array of uint8, shape (pictures, height, width)
        As they are.
    seed : int or sequence of int
        The same seed gives the same pictures, for any number of threads.
    threads : int, optional
        None: one per core.

    Returns
    -------
    array of uint8
        As many pictures of the same size.

    Examples
    --------
    >>> bar = np.zeros((2, 28, 28), np.uint8)
    >>> bar[:, 4:24, 12:16] = 255
    >>> found = rewritten(bar, seed=1)
    >>> found.shape, bool((found[0] != found[1]).any())
    ((2, 28, 28), True)
    """
    rng, n = np.random.default_rng(seed), len(images)
    angle, shear = (rng.uniform(-most, most, n) for most in (np.deg2rad(TURN), SHEAR))
    down, across = rng.uniform(1 - SIZE, 1 + SIZE, (2, n))
    by = np.stack(
        [np.cos(angle) * down, shear - np.sin(angle) * across, np.sin(angle) * down, np.cos(angle) * across], 1
    )
    knots = rng.normal(0, BEND, (n, 2, KNOTS, KNOTS)).astype(np.float32)
    found: Array = np.empty_like(images)
    some = [slice(a, min(a + _AT_ONCE, n)) for a in range(0, n, _AT_ONCE)]
    with ThreadPoolExecutor(threads or cores()) as pool:
        list(pool.map(lambda part: _rewrite(images[part], by[part], knots[part], found[part]), some))
    return found


def camera(rng: np.random.Generator) -> Camera:
    """A camera a little other than N-MNIST's, half a pixel beside it at most."""
    usual = Camera()
    aside = rng.uniform(-0.5, 0.5, 2)
    path = tuple((float(x + aside[0]), float(y + aside[1])) for x, y in usual.path)
    constants = {name: getattr(usual, name) * float(rng.uniform(*between)) for name, between in _FACTORS.items()}
    return replace(usual, path=path, **constants)


def simulate(
    images: Array,
    labels: Any,
    copies: int,
    *,
    seed: int = 0,
    engine: str = "cpu",
    prepare: Callable[[Recordings], Recordings] = lambda recordings: recordings,
) -> Recordings:
    """Recordings of so many copies of the pictures, each in other handwriting, by several cameras per copy.

    Parameters
    ----------
    images : array of uint8, shape (pictures, height, width)
        As they are; they themselves are not among the copies.
    labels : sequence
        One per picture.
    copies : int
        How many of each picture.
    seed : int
        The same seed gives the same events.
    engine : str
        "cpu" or "cuda", see `saccades.simulate`.
    prepare : callable
        What recordings go through, such as `nmnist.cropped`; some at a time, on all cores.

    Returns
    -------
    Recordings
        One copy of all pictures after another.
    """
    labels, parts = np.asarray(labels), []
    cuts = np.linspace(0, len(images), min(CAMERAS, len(images)) + 1).astype(int)
    with ThreadPoolExecutor(cores()) as pool:
        for copy in range(copies):
            rng = np.random.default_rng([seed, copy])
            pictures = rewritten(images, [seed, copy, 1])
            for number, (a, b) in enumerate(pairwise(cuts)):
                how: dict[str, Any] = {"camera": camera(rng), "seed": [seed, copy, 2 + number], "engine": engine}
                parts.append(pool.submit(prepare, saccades.simulate(pictures[a:b], labels[a:b], **how)))
        return joined([part.result() for part in parts])


@njit(cache=True, nogil=True)
def _rewrite(
    images: Array,  # IN   (pictures, height, width)
    by: Array,  # IN   (pictures, 4) matrix of each
    knots: Array,  # IN   (pictures, 2, knots, knots) pixels that a grid over the picture moves by, down and across
    out: Array,  # OUT  as images
) -> None:
    """Every pixel from where its matrix and its grid lead, between four pixels."""
    height, width = images.shape[1], images.shape[2]
    last = knots.shape[2] - 1
    for n in range(len(images)):
        for i in range(height):
            for j in range(width):
                u, v = i * last / (height - 1), j * last / (width - 1)
                k, m = min(int(u), last - 1), min(int(v), last - 1)
                u, v = u - k, v - m
                y, x = i - (height - 1) / 2, j - (width - 1) / 2
                down = by[n, 0] * y + by[n, 1] * x + (height - 1) / 2
                across = by[n, 2] * y + by[n, 3] * x + (width - 1) / 2
                for a, b, weight in (
                    (k, m, (1 - u) * (1 - v)), (k + 1, m, u * (1 - v)), (k, m + 1, (1 - u) * v), (k + 1, m + 1, u * v)
                ):  # fmt: skip
                    down += weight * knots[n, 0, a, b]
                    across += weight * knots[n, 1, a, b]
                down, across = min(max(down, 0.0), height - 1.001), min(max(across, 0.0), width - 1.001)
                k, m = int(down), int(across)
                u, v = down - k, across - m
                above = images[n, k, m] * (1 - v) + images[n, k, m + 1] * v
                below = images[n, k + 1, m] * (1 - v) + images[n, k + 1, m + 1] * v
                out[n, i, j] = np.uint8(above * (1 - u) + below * u)
