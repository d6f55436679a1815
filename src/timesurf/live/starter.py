"""A model of digits to begin with where none is given: made once, from images that are always there, and cached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf import __version__
from timesurf.datasets import saccades
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.storage.cache import folder as cache_folder

Array = NDArray[Any]
_SIDE, _INK, _MARGIN = 28, 20, 4  # pixels of a picture, of its digit, and around that
_TRAIN = 1200  # of scikit-learn's images; the others are held out
REHEARSED, HELD_OUT = 5, 10  # recordings per class
Report = Callable[[str, int, int], None]


class Start(NamedTuple):
    """A model, and recordings of what it knows."""

    network: Network
    rehearsal: Recordings  # of those that it was trained on
    held_out: Recordings


def pictures() -> tuple[Array, Array]:
    """Scikit-learn's small digits as soft pictures (n, 28, 28), and their digits: first those to train on."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    small = load_digits()
    large = zoom(small.images / small.images.max(), (1, _INK / 8, _INK / 8), order=1, grid_mode=True, mode="nearest")
    ink = np.clip(1.3 * large, 0, 1)
    return np.pad(ink, ((0, 0), (_MARGIN, _MARGIN), (_MARGIN, _MARGIN))), small.target


def make(
    cache: Path | None = None, *, images: int = _TRAIN, passes: int = 40, report: Report = lambda *_: None
) -> Start:
    """The model, trained if it is not in the cache yet.

    Parameters
    ----------
    cache : Path, optional
        Folder that keeps it; None: the user's.
    images, passes : int
        How much to train on, and how often.
    report : callable
        Called with what is done, how much of it, and how much there is.

    Returns
    -------
    Start
        The model, recordings to rehearse with, and recordings that it has not seen.

    """
    shown, digit = pictures()
    folder = cache or cache_folder()
    about = hashlib.sha256(shown.tobytes() + repr((__version__, images, passes)).encode()).hexdigest()[:12]
    path = folder / f"digits-{about}.tsf"
    chosen = np.concatenate([_each(digit[:images], REHEARSED), _TRAIN + _each(digit[_TRAIN:], HELD_OUT)])
    known = saccades.simulate(shown[chosen], digit[chosen], seed=1)
    rehearsal, held_out = known[: 10 * REHEARSED], known[10 * REHEARSED :]
    if path.is_file():
        return Start(Network.load(path), rehearsal, held_out)
    recordings = saccades.simulate(
        shown[:images], digit[:images], seed=0, progress=lambda done, all_: report("simulating", done, all_)
    )
    network = Network.for_data(recordings)
    network.fit(recordings, passes=passes, progress=lambda now: report("training", now.done, now.total))
    network.save(path)
    return Start(network, rehearsal, held_out)


def _each(digit: Array, number: int) -> Array:
    """So many of each digit, the first."""
    return np.concatenate([np.flatnonzero(digit == d)[:number] for d in range(10)])
