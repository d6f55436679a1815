"""N-MNIST (Orchard et al. 2015): digits seen by an event camera on three saccades, 34 x 34 pixels, both polarities.

The official archives `Train.zip` and `Test.zip` unpack to `Train/0/00002.bin`, `Test/7/00001.bin` and so on: one folder
per digit, one file per recording, 5 bytes per event::

    x (8 bits), y (8), polarity (1), time in us (23)     big endian

`read` decodes a folder once, on all cores, and keeps the result as one memory-mapped file beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.cores import cores
from timesurf.datasets import check_split
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.storage.kinds import check_input
from timesurf.transforms.preparation import Preparation

Array = NDArray[Any]
ABOUT = "N-MNIST, digits seen by a moving event camera; read from $TIMESURF_DATA"
LICENCE = "CC BY-SA 4.0"
FIELD, POLARITIES = (34, 34), 2
PREPARATION = Preparation(crop=(28, 28), corner=(3, 3), polarity="merge")  # as the paper's network takes them
CROPPED = replace(PREPARATION, polarity="both")  # as the preset `digits` takes them
COUNTS = {"train": 60_000, "test": 10_000}  # recordings in the official archives
SAMPLE = "nmnist_train_1000.npz"  # a file of recordings in our layout, found by name where there is no folder
_FILES = "[0-9]/*.bin"
_OVERFLOW = 240  # this y marks an overflow of the clock, not an event
_OVERFLOW_US = 1 << 13
_MOST_OVERFLOWS = (2**31 - 2**23) // _OVERFLOW_US  # more and times would not fit in 32 bits; recordings take 0.3 s
_WHERE = (
    "N-MNIST was not found. Get Train.zip and Test.zip from https://www.garrickorchard.com/datasets/n-mnist (CC BY-SA "
    "4.0), unpack them into one folder, so that it holds Train/0/00002.bin and Test/0/00004.bin, and give that folder, "
    "or set TIMESURF_DATA to it."
)


def read(
    folder: str | Path | None = None,
    split: str = "train",
    *,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Recordings:
    """Recordings of one split, labelled 0 to 9, in the order of their files' numbers.

    Parameters
    ----------
    folder : str or Path, optional
        Holds Train and Test, or is one of them; or an `.npz` file in our layout; None: $TIMESURF_DATA.
    split : str
        "train" or "test".
    cache : bool
        Keep what was decoded as `train.npz` or `test.npz` in the folder, and map that the next time.
    progress : callable, optional
        Called with the number of files decoded and of all files.

    Returns
    -------
    Recordings
        On 34 x 34 pixels, both polarities.

    Raises
    ------
    EventError
        If it is not found, or a file is damaged.

    """
    check_split(split)
    place = Path(folder or os.environ.get("TIMESURF_DATA", "."))
    if place.is_file():
        return npz.read(place, field=FIELD, polarities=POLARITIES)
    kept = place / f"{split}.npz"
    if kept.is_file():
        return npz.read(kept)
    if (place / split.capitalize()).is_dir():
        recordings = decode(place / split.capitalize(), progress)
        if cache and os.access(place, os.W_OK):
            npz.write(kept, recordings)
            recordings = npz.read(kept)
        return recordings
    if split == "train" and (place / SAMPLE).is_file():
        return npz.read(place / SAMPLE, field=FIELD, polarities=POLARITIES)
    if any(place.glob(_FILES)):
        return decode(place, progress)
    raise EventError(f"{place}: {_WHERE}")


def load(split: str = "train") -> Recordings:
    """Recordings of one split, read from $TIMESURF_DATA."""
    return read(None, split)


def found(folder: Path, split: str) -> bool:
    """Whether a folder holds N-MNIST: decoded before, as distributed, one split of it, or the sample."""
    names = [f"{split}.npz", *([SAMPLE] if split == "train" else [])]
    return any((folder / name).is_file() for name in names) or any(
        any(folder.glob(pattern)) for pattern in (f"{split.capitalize()}/{_FILES}", _FILES)
    )


def complete(recordings: Recordings, split: str = "train") -> bool:
    """Whether these are all recordings of the official split."""
    return len(recordings) == COUNTS[split]


def is_whole(recordings: Recordings) -> bool:
    """Whether they are as N-MNIST's camera recorded them: its 34 x 34 pixels, both polarities."""
    return (recordings.field, recordings.polarities) == (FIELD, POLARITIES)


def prepared(recordings: Recordings) -> Recordings:
    """As the paper's network takes them: the middle 28 x 28 pixels, polarities merged."""
    return PREPARATION(recordings)


def cropped(recordings: Recordings) -> Recordings:
    """The same events with both polarities."""
    return CROPPED(recordings)


def decode(folder: str | Path, progress: Callable[[int, int], None] | None = None) -> Recordings:
    """All files `digit/number.bin` in a folder, in the order of their numbers.

    Parameters
    ----------
    folder : str or Path
        Holds one folder per digit.
    progress : callable, optional
        Called with the number of files decoded and of all files.

    Returns
    -------
    Recordings
        Labelled 0 to 9.

    """
    files = sorted(Path(folder).glob(_FILES), key=lambda path: (path.stem, path.parent.name))
    if not files:
        raise EventError(f"{folder} holds no files such as 0/00002.bin. {_WHERE}")
    parts = []
    with ThreadPoolExecutor(cores()) as pool:
        for done, events in enumerate(pool.map(decode_file, files), start=1):
            parts.append(events)
            if progress and (done % 256 == 0 or done == len(files)):
                progress(done, len(files))
    x, y, p, t = (np.concatenate([events[k] for events in parts]) for k in range(4))
    return Recordings(
        [x, y], t, p, np.cumsum([0, *(len(events[0]) for events in parts)]),
        field=FIELD, polarities=POLARITIES, labels=np.array([int(path.parent.name) for path in files]),
    )  # fmt: skip


def decode_file(path: Path) -> tuple[Array, Array, Array, Array]:
    """x, y, p and t of one file."""
    check_input(path)
    raw = np.fromfile(path, dtype=np.uint8)
    if len(raw) % 5:
        raise EventError(f"{path} has {len(raw)} bytes: events are 5 bytes each, so it is cut short. Unpack it again.")
    x, y, high, middle, low = raw.reshape(-1, 5).T
    t = (high & 0x7F).astype(np.int32) << 16 | middle.astype(np.int32) << 8 | low
    overflow = y == _OVERFLOW
    if np.count_nonzero(overflow) > _MOST_OVERFLOWS:
        raise EventError(f"{path}: its clock overflows {np.count_nonzero(overflow)} times. Is it a file of N-MNIST?")
    t = t + _OVERFLOW_US * np.cumsum(overflow, dtype=np.int32)
    event = ~overflow
    off = event & ((x >= FIELD[0]) | (y >= FIELD[1]))
    if off.any():
        i = int(np.argmax(off))
        raise EventError(f"{path}, event {i}: ({x[i]}, {y[i]}) lies off the field of {FIELD[0]} x {FIELD[1]} pixels.")
    back = np.flatnonzero(np.diff(t[event]) < 0)
    if len(back):
        raise EventError(f"{path}, event {back[0] + 1}: time decreases. The file is damaged: unpack it again.")
    return x[event], y[event], (high >> 7)[event], t[event]
