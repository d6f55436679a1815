"""What a name of data means: a file, a folder, a registered data set or one of tonic's, as recordings."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from timesurf import datasets, transforms
from timesurf.datasets import nmnist
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import camera, npz, tonic
from timesurf.storage import remote

SUFFIXES = (".npz", *camera.SUFFIXES)
_ACCEPTED = (
    "Data is one of: an .npz file of recordings; a camera file ("
    + ", ".join(camera.SUFFIXES)
    + "), on this machine or at an address such as s3://bucket/digits.npz; "
    "a folder with one folder of such files per class; N-MNIST's folder, or its Train or Test; tonic:NAME; "
    f"one of {', '.join(datasets.MODULES)}."
)


def load(what: str | Path, *, split: str = "train") -> Recordings:
    """Recordings of a file, a folder or a data set.

    Parameters
    ----------
    what : str or Path
        `digits.npz`, in our layout; `one.aedat4` and the like, one unlabelled recording; either at an address such as
        `s3://bucket/digits.npz`, copied here once; a folder with one folder of camera files per class, in which files
        outside a class are unlabelled recordings; N-MNIST's folder; `tonic:POKERDVS`, kept in $TIMESURF_DATA; where no
        such file exists, a name of `timesurf.datasets.MODULES`.
    split : str
        "train" or "test", where there are both: of data sets by name, or in a folder with `Train` and `Test` (or
        `train.npz` and `test.npz`).

    Returns
    -------
    Recordings

    Raises
    ------
    EventError
        If nothing is found, or what is found is not valid; the message says what is accepted.

    Examples
    --------
    >>> load("sentences")
    Recordings(1,000 recordings, 4,808,321 events, field 30 x 5, 1 polarity, 2 labels)
    >>> load("digits.mp3")
    Traceback (most recent call last):
    timesurf.errors.EventError: digits.mp3 does not exist. Data is one of: an .npz file of recordings; a camera ...

    """
    datasets.check_split(split)
    if str(what).startswith("tonic:"):
        return _tonic(str(what).removeprefix("tonic:"), split)
    place = remote.local(str(what)) if remote.is_url(what) else Path(what)
    if place.is_dir():
        return _folder(place, split)
    if not place.exists():
        if str(what) in datasets.MODULES:
            made: Recordings = datasets.named(str(what)).load(split)
            return made
        raise EventError(f"{place} does not exist. {_ACCEPTED}")
    if place.suffix.lower() == ".npz":
        return npz.read(place)
    if place.suffix.lower() in camera.SUFFIXES:
        return camera.read(place)
    raise EventError(f"{place} is a file of no known format. {_ACCEPTED}")


def fitted(recordings: Recordings, field: tuple[int, ...], polarities: int) -> Recordings:
    """Recordings on a network's field and with its polarities, where it is clear how: cropped, merged, or widened.

    Parameters
    ----------
    recordings : Recordings
        As they were read.
    field : tuple of int
        Of the network.
    polarities : int
        Of the network.

    Returns
    -------
    Recordings
        Unchanged where it is not clear how; the network then says what does not fit.

    """
    if nmnist.is_whole(recordings) and (field, polarities) == ((28, 28), 1):
        return nmnist.prepared(recordings)
    if polarities == 1 < recordings.polarities:
        recordings = transforms.merge_polarities(recordings)
    smaller = len(recordings.field) == len(field) and recordings.polarities <= polarities
    if smaller and all(a <= b for a, b in zip(recordings.field, field, strict=True)):
        return recordings.on_field(field, polarities)
    return recordings


def _folder(place: Path, split: str) -> Recordings:
    for name in datasets.MODULES:
        known = datasets.named(name)
        if isinstance(known, datasets.InFolder) and known.found(place, split):
            return known.read(place, split)
    for inner in (place / split.capitalize(), place / split, place):
        files = [file for file in sorted([*inner.glob("*"), *inner.glob("*/*")]) if _is_camera_file(file)]
        if files:
            return _classes(files, [None if file.parent == inner else file.parent.name for file in files])
    raise EventError(f"{place} is a folder without {split} recordings. {_ACCEPTED}")


def _is_camera_file(file: Path) -> bool:
    return file.suffix.lower() in camera.SUFFIXES and file.is_file()


def _classes(files: list[Path], labels: list[str | None]) -> Recordings:
    """One recording per file, all on the largest field of them."""
    recordings = [camera.read(file) for file in files]
    return Recordings.from_structured(
        [recording.to_structured()[0] for recording in recordings],
        field=np.max([recording.field for recording in recordings], axis=0).tolist(),
        polarities=2,
        labels=labels,
    )


def _tonic(name: str, split: str) -> Recordings:
    folder = os.environ.get("TIMESURF_DATA", ".")
    try:
        recordings: Recordings = tonic.named(name, folder, train=split == "train")
    except TypeError as error:
        if "train" not in str(error):
            raise
        raise EventError(
            f"tonic's {name} is not divided into train and test: read it with io.tonic.named({name!r}, folder), "
            "divide it, and keep both with io.npz.write."
        ) from error
    return recordings
