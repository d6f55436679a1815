"""MNIST (LeCun, Cortes): 70,000 still images of digits, 28 x 28 pixels. `saccades` turns them into events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import check_split
from timesurf.errors import EventError
from timesurf.io import npz

Array = NDArray[Any]
FILE = "mnist.npz"
_WHERE = (
    "Get mnist.npz from https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz and give the file or its "
    "folder, or set TIMESURF_DATA to the folder."
)


def read(place: str | Path | None = None, split: str = "train") -> tuple[Array, Array]:
    """Images and digits of one split.

    Parameters
    ----------
    place : str or Path, optional
        The file, or the folder that holds it; None: $TIMESURF_DATA.
    split : str
        "train" or "test".

    Returns
    -------
    images : array of uint8
        (n, 28, 28).
    digits : array of int64
        (n,).

    """
    check_split(split)
    path = Path(place or os.environ.get("TIMESURF_DATA", "."))
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise EventError(f"{path}: MNIST was not found. {_WHERE}")
    try:
        images, digits = npz.arrays(path, [f"x_{split}", f"y_{split}"]).values()
    except EventError as error:
        raise EventError(
            f"{error} It is not MNIST as one file of x_train, y_train, x_test, y_test. {_WHERE}"
        ) from error
    if (
        images.ndim != 3
        or images.dtype != np.uint8
        or digits.shape != images.shape[:1]
        or digits.dtype.kind not in "iu"
    ):
        raise EventError(
            f"{path}: {images.dtype} images of shape {images.shape} with {digits.dtype} digits of shape "
            f"{digits.shape}. {_WHERE}"
        )
    return images, digits.astype(np.int64)
