"""Events from still images: what an event camera sees of a picture while it makes three quick movements.

N-MNIST was recorded in this way: a camera on a pan-tilt unit in front of a screen with a digit, dark on a bright
background. Here the picture moves over a field of pixels along the path of that camera. A pixel sees it through a lens
that blurs::

    L(x, t) = log(dark + 1 - (ink * blur)(x - path(t)))

and follows with the lag of its receptor. When L has changed by the pixel's threshold, the pixel emits an event,
polarity 1 for brighter and 0 for darker, and is dead for a while. Thresholds differ between pixels and from event to
event; noise adds further events.

The constants of `Camera` are fitted to real recordings by `benchmarks/saccades_fit.py`; docs/simulation.md says how
close the simulation comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.cores import cores
from timesurf.datasets import mnist
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.storage.cache import folder as cache_folder

Array = NDArray[Any]
ABOUT = "MNIST's images seen by a simulated camera, cached; mnist.npz is read from $TIMESURF_DATA"
LICENCE = "that of MNIST (LeCun, Cortes)"
FIELD, POLARITIES = (34, 34), 2
FINE = 4  # samples of the picture per pixel
KNOT = 5_000  # us between points of a path
STEP = 1_000  # us, of the simulation
DTYPES = (np.uint8, np.uint8, np.uint8, np.int32)  # x, y, p, t
_AT_ONCE = 64  # pictures per task of a thread

# Where the picture's corner lies on N-MNIST's sensor, (x, y) in pixels, every 5 ms.
PATH = (
    (0.49, 1.11), (0.48, 1.11), (0.4, 1.27), (0.3, 1.52), (0.31, 1.79), (0.36, 2.08), (0.28, 2.5), (0.25, 2.98),
    (0.3, 3.51), (0.41, 4), (0.6, 4.54), (0.82, 5.07), (1.1, 5.55), (1.42, 5.82), (1.79, 6), (2.03, 6.19),
    (2.09, 6.33), (2.02, 6.35), (1.89, 6.34), (1.81, 6.38), (1.83, 6.44), (1.94, 6.52), (2.06, 6.6), (2.22, 6.59),
    (2.45, 6.45), (2.7, 6.3), (3, 6.16), (3.33, 5.89), (3.64, 5.46), (3.96, 4.91), (4.3, 4.29), (4.56, 3.72),
    (4.73, 3.13), (4.85, 2.6), (5.03, 2.14), (5.21, 1.81), (5.36, 1.59), (5.39, 1.5), (5.37, 1.43), (5.44, 1.3),
    (5.65, 1.16), (5.86, 1.16), (5.93, 1.28), (5.88, 1.37), (5.84, 1.35), (5.83, 1.21), (5.75, 1.11), (5.42, 1.23),
    (4.89, 1.38), (4.38, 1.46), (3.94, 1.46), (3.43, 1.44), (2.92, 1.4), (2.39, 1.39), (1.93, 1.44), (1.5, 1.5),
    (1.19, 1.53), (0.99, 1.39), (0.88, 1.16), (0.83, 1.09), (0.89, 1.25), (0.99, 1.43), (1.01, 1.44),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera and its movement. Lengths in pixels, times in us, light as a share of the background's."""

    path: tuple[tuple[float, float], ...] = PATH
    margin: int = 3  # pixels around the picture
    blur: float = 0.478  # standard deviation of the lens
    dark: float = 0.218  # light of full ink
    on: float = 0.253  # thresholds, in log intensity
    off: float = 0.24
    spread: float = 0.0447  # relative standard deviation of thresholds, between pixels of one recording
    jitter: float = 0.107  # and between events of one pixel, also of its dead time
    lag: float = 716.0  # time constant of the photoreceptor
    dead: float = 322.0  # after an event
    loss: float = 0.208  # share of what changes in the dead time that is never reported
    noise_on: float = 0.37  # events per pixel and second
    noise_off: float = 0.01


def simulate(
    images: Any,
    labels: Any = None,
    *,
    camera: Camera | None = None,
    seed: int | Sequence[int] = 0,
    engine: str = "cpu",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recordings:
    """One recording per picture.

    Parameters
    ----------
    images : array
        (pictures, height, width), uint8 or floats from 0, the background, to 1, ink.
    labels : sequence, optional
        One per picture.
    camera : Camera, optional
        None: N-MNIST's.
    seed : int or sequence of int
        The same seed gives the same events, for any number of threads.
    engine : str
        "cpu", or "cuda" for an NVIDIA GPU: other events with the same statistics, a hundred times as fast.
    threads : int, optional
        None: one per core.
    progress : callable, optional
        Called with the number of pictures done and of all pictures.

    Returns
    -------
    Recordings
        On a field larger than the pictures by the camera's margin, with two polarities.

    Examples
    --------
    >>> bar = np.zeros((1, 28, 28))
    >>> bar[:, 4:24, 12:16] = 1
    >>> simulate(bar, [1]).field
    (34, 34)

    """
    camera = camera or Camera()
    images = _checked(images)
    path = fine_path(camera.path)
    columns, left = _lens(images.shape[2], camera, path[:, 0])
    rows, top = _lens(images.shape[1], camera, path[:, 1])
    optics = rows, np.ascontiguousarray(columns.T), np.stack([top, left], axis=1)
    field = (images.shape[2] + 2 * camera.margin, images.shape[1] + 2 * camera.margin)
    if engine not in _ENGINES:
        raise SettingError(f"engine = {engine!r} must be one of {', '.join(_ENGINES)}.")
    counts: list[int] = [0]
    parts: list[list[Array]] = [[np.empty(0, dtype)] for dtype in DTYPES]
    scene = _Scene(images, seed, optics, field, camera)
    for count, events in _ENGINES[engine](scene, threads):
        counts += count
        for part, values in zip(parts, events, strict=True):
            part.append(values)
        if progress:
            progress(len(counts) - 1, len(images))
    x, y, p, t = (np.concatenate(parts.pop(0)) for _ in DTYPES)  # one after another: they may be gigabytes
    return Recordings([x, y], t, p, np.cumsum(counts), field=field, polarities=POLARITIES, labels=labels)


class _Scene(NamedTuple):
    """What the simulated camera sees."""

    images: Array
    seed: int | Sequence[int]
    optics: tuple[Array, Array, Array]  # weights of rows and of columns, and the path, in samples
    field: tuple[int, int]
    camera: Camera


def _on_cores(scene: _Scene, threads: int | None) -> Iterator[tuple[list[int], list[Array]]]:
    """Some pictures at a time: how many events each has, and x, y, p and t of all."""
    number = len(scene.images)
    some = (slice(a, min(a + _AT_ONCE, number)) for a in range(0, number, _AT_ONCE))
    with ThreadPoolExecutor(threads or cores()) as pool:
        yield from pool.map(partial(_expose_some, scene), some)


def _on_card(scene: _Scene, threads: int | None) -> Iterator[tuple[list[int], list[Array]]]:
    """The same on a GPU."""
    from timesurf.datasets import exposure_cuda

    images, seed, optics, field, camera = scene
    bits = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    constants = _constants(camera, STEP * 1e-6)
    for counts, events in exposure_cuda.expose(images, optics, FINE, STEP, field, camera.dark, constants, bits):
        yield counts.tolist(), events


_ENGINES = {"cpu": _on_cores, "cuda": _on_card}


def _constants(camera: Camera, seconds: float) -> tuple[float, ...]:
    """A camera as the kernels take it; noise as events per pixel in this many seconds."""
    return (
        camera.on, camera.off, camera.spread, camera.jitter, -float(np.expm1(-STEP / camera.lag)), camera.dead,
        camera.loss, camera.noise_on * seconds, camera.noise_off * seconds,
    )  # fmt: skip


def digits(
    place: str | Path | None = None,
    split: str = "train",
    *,
    camera: Camera | None = None,
    seed: int = 0,
    engine: str = "cpu",
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recordings:
    """All of MNIST's images of a split as N-MNIST's camera would have seen them; made once, then mapped into memory.

    Parameters
    ----------
    place : str or Path, optional
        Of MNIST, see `timesurf.datasets.mnist.read`.
    split : str
        "train" or "test".
    camera : Camera, optional
        None: N-MNIST's.
    seed : int
        The same seed gives the same events.
    engine : str
        "cpu" or "cuda", see `simulate`.
    cache : str or Path, optional
        Folder for the result, 1.8 GB for the training split; None: $TIMESURF_CACHE, or ~/.cache/timesurf.
    progress : callable, optional
        Called with the number of pictures done and of all pictures.

    Returns
    -------
    Recordings

    """
    images, labels = mnist.read(place, split)
    camera = camera or Camera()
    folder = cache_folder() if cache is None else Path(cache)
    settings = (astuple(camera), seed, FINE, STEP, *([engine] if engine != "cpu" else []))
    about = hashlib.sha256(images.tobytes() + repr(settings).encode()).hexdigest()[:12]
    kept = folder / f"saccades-{split}-{about}.npz"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        seeds = [seed, 0 if split == "train" else 1]
        npz.write(kept, simulate(images, labels, camera=camera, seed=seeds, engine=engine, progress=progress))
    return npz.read(kept)


def load(split: str = "train") -> Recordings:
    """All of MNIST's images of a split as `digits` makes them, from mnist.npz in $TIMESURF_DATA."""
    return digits(None, split)


def _checked(given: Any) -> Array:
    images: Array = np.asarray(given)
    if images.ndim != 3 or 0 in images.shape[1:]:
        raise EventError(f"images have shape {images.shape}: expected (pictures, height, width).")
    if images.dtype == np.uint8:
        return images
    if not np.issubdtype(images.dtype, np.floating):
        raise EventError(f"images are {images.dtype}: expected uint8, or floats from 0 to 1.")
    if images.size and not (images.min() >= 0 and images.max() <= 1):  # also false for NaN
        raise EventError("images have values outside 0 to 1 (or NaN): scale them, or give uint8.")
    return images


def fine_path(knots: Any) -> Array:
    """The picture's corner at every step of the simulation, (x, y) in pixels: a smooth curve through the knots."""
    from scipy.interpolate import PchipInterpolator

    knots = np.asarray(knots, dtype=float)
    times = np.arange(0, (len(knots) - 1) * KNOT, STEP)
    curve: Array = PchipInterpolator(np.arange(len(knots)) * KNOT, knots)(times)
    return curve


def _lens(size: int, camera: Camera, path: Array) -> tuple[Array, Array]:
    """Weights (samples, size) of a line of the picture at each sample, and the sample under pixel 0 along the path."""
    from scipy.special import ndtr

    least = np.floor(-path.max())
    samples = int(np.ceil((size + 2 * camera.margin - path.min() - least) * FINE)) + 2
    place = least + np.arange(samples) / FINE
    edge = (np.arange(size + 1) - 0.5 - place[:, None]) / camera.blur
    weights = np.diff(ndtr(edge), axis=1)
    weights[weights < 1e-6] = 0  # the kernel skips zeros, which are most of the weights
    return weights.astype(np.float32), (-path - least) * FINE


def _expose_some(scene: _Scene, some: slice) -> tuple[list[int], list[Array]]:
    """How many events some recordings have, and x, y, p and t of all of them."""
    from timesurf.datasets import exposure

    images, seed, (rows, columns, path), field, camera = scene
    constants = _constants(camera, STEP * 1e-6 * field[0] * field[1])  # of all pixels together
    light = np.empty((len(rows), columns.shape[1]), np.float32)
    half = np.empty(columns.shape[0], np.float32)
    room = 1 << 14
    counts: list[int] = []
    parts: list[list[Array]] = [[], [], [], []]
    for number in range(some.start, some.stop):
        picture = images[number].astype(np.float32)
        if images.dtype == np.uint8:
            picture /= 255
        exposure.log_light(picture, rows, columns, camera.dark, half, light)
        out: list[Array] = []
        n = room + 1
        while n > room:
            room = max(room, n)
            out = [np.empty(room, dtype) for dtype in DTYPES]
            rng = np.random.default_rng([*np.atleast_1d(seed), number])
            n = exposure.expose(light, path, FINE, STEP, field, constants, rng, *out)
        counts.append(n)
        for part, values in zip(parts, out, strict=True):
            part.append(values[:n].copy())
    return counts, [np.concatenate(part) for part in parts]
