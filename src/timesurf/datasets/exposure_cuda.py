"""The heart of the saccade simulator on a GPU, through CuPy (the extra `cuda`). Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import MissingEngineError

try:
    import cupy as cp

    cp.cuda.runtime.getDeviceCount()
except ImportError as missing:
    raise MissingEngineError(
        "engine 'cuda' needs CuPy: pip install 'timesurf[cuda]', or use engine='cpu'."
    ) from missing
except Exception as error:  # no driver, an old one, no card: CuPy has an error of its own for each
    raise MissingEngineError(f"engine 'cuda' finds no GPU: {error}. Use engine='cpu'.") from error

Array = NDArray[Any]
_AT_ONCE = 4096  # pictures
_ROOM = 8192  # events per picture; one that has more is made again with more room
_THREADS = 256
_CAMERA = np.dtype(
    [
        (name, np.float32)
        for name in ["on", "off", "spread", "jitter", "follow", "dead", "loss", "noise_on", "noise_off"]
    ]
)


def expose(
    images: Array,
    optics: tuple[Array, Array, Array],
    fine: int,
    step: int,
    field: tuple[int, int],
    dark: float,
    camera: tuple[float, ...],
    seed: int,
) -> Iterator[tuple[Array, list[Array]]]:
    """Events of moving pictures, some thousand pictures at a time.

    Parameters
    ----------
    images : array
        uint8, or floats from 0 to 1; one picture per row.
    optics : (array, array, array)
        Rows and columns of the lens, and the path, as in `exposure`.
    fine : int
        Samples of light per pixel.
    step : int
        us between points of the path.
    field : (int, int)
        Width and height of the camera.
    dark : float
        Light that is there without any.
    camera : tuple of float
        As in `exposure`, with noise in events per pixel and step.
    seed : int
        Of the random numbers.

    Yields
    ------
    counts : array
        Events of each picture.
    events : list of arrays
        x, y, p and t of all these events, in order.
    """
    rows, columns, path = optics
    lens = [cp.asarray(np.ascontiguousarray(a, dtype=np.float32)) for a in (rows, columns, path)]
    about, kernel = np.array(camera, np.float32).view(_CAMERA)[0], _compiled().get_function("expose")
    down, across = len(rows), columns.shape[1]
    height, width = images.shape[1:]
    scratch = cp.empty(min(_AT_ONCE, len(images)) * down * (width + across), np.float32)
    room = _ROOM
    for first in range(0, len(images), _AT_ONCE):
        some = cp.asarray(np.ascontiguousarray(images[first : first + _AT_ONCE]))
        ink = some.astype(np.float32) / (255 if images.dtype == np.uint8 else 1)
        while True:
            keys, count = cp.empty(room * len(ink), np.uint64), cp.zeros(1, np.uint64)
            kernel(
                (len(ink),), (_THREADS,),
                (
                    ink, np.int32(height), np.int32(width), lens[0], np.int32(down), lens[1], np.int32(across),
                    lens[2], np.int32(len(path)), np.int32(fine), np.float32(step),
                    np.int32(field[0]), np.int32(field[1]), np.float32(dark), about,
                    np.uint64(seed), np.int32(first), scratch, keys, count, np.uint64(len(keys)),
                ),
            )  # fmt: skip
            made = int(count.get()[0])
            if made <= len(keys):
                break
            room = -(-made // len(ink))
        keys = cp.sort(keys[:made])
        pixel = (keys >> np.uint64(1)).astype(np.int64) & 0x7FFFF
        t = (keys >> np.uint64(20)).astype(np.int64) & 0xFFFFFF
        parts = (pixel % field[0], pixel // field[0], keys & np.uint64(1), t)
        counts = cp.bincount((keys >> np.uint64(44)).astype(np.int64), minlength=len(ink))
        dtypes = (np.uint8, np.uint8, np.uint8, np.int32)
        yield counts.get(), [part.astype(dtype).get() for part, dtype in zip(parts, dtypes, strict=True)]


@lru_cache(maxsize=1)
def _compiled() -> Any:
    code = files("timesurf.datasets").joinpath("exposure.cu").read_text("ascii")
    return cp.RawModule(code=code, options=("-std=c++17",))
