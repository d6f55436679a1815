"""Small digits (scikit-learn's 1,797 images of 8 x 8 pixels) seen by the simulated camera of `saccades`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import check_split, saccades
from timesurf.events import Recordings

Array = NDArray[Any]
ABOUT = "scikit-learn's small digits seen by a simulated camera; needs no file"
LICENCE = "CC BY 4.0 (UCI Optical Recognition of Handwritten Digits)"
FIELD, POLARITIES = (34, 34), 2
_TRAIN = 1200  # the first images; the others are the test split
_ENLARGED = 3  # 8 x 8 pixels to 24 x 24, as large as MNIST's digits
_MARGIN = 2


def images(split: str = "train") -> tuple[Array, Array]:
    """Images (n, 28, 28), from 0 to 1, and digits (n,) of one split, "train" or "test"."""
    from sklearn.datasets import load_digits

    check_split(split)
    small = load_digits()
    part = slice(None, _TRAIN) if split == "train" else slice(_TRAIN, None)
    large = np.kron(small.images[part] / small.images.max(), np.ones((1, _ENLARGED, _ENLARGED)))
    return np.pad(large, ((0, 0), (_MARGIN, _MARGIN), (_MARGIN, _MARGIN))), small.target[part]


def load(split: str = "train") -> Recordings:
    """Recordings of one split, labelled 0 to 9; made each time, in some seconds."""
    pictures, labels = images(split)
    return saccades.simulate(pictures, labels, seed=[0, 0 if split == "train" else 1])
