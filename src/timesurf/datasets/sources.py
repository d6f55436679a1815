"""What a name of data means: a file, a folder or one of tonic's data sets, as recordings."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from timesurf import transforms
from timesurf.datasets import nmnist
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import camera, npz, tonic
from timesurf.storage import remote

SUFFIXES = (".npz", *camera.SUFFIXES)
_ACCEPTED = (
    "Data is one of: an .npz file of recordings; a file of a camera ("
    + ", ".join(camera.SUFFIXES)
    + "), of this machine or at an address such as s3://bucket/digits.npz; "
    "a folder with one folder of such files a class; N-MNIST's folder, or its Train or Test; tonic:NAME."
)


def load(what: str | Path, *, split: str = "train") -> Recordings:
    """Recordings of a file, a folder or a data set of tonic's.

    what : `digits.npz`, in our layout; `one.aedat4` and the like, one unlabelled recording; either at an address, as
        `s3://bucket/digits.npz`, copied here once; a folder of folders of such files, the inner ones named after
        classes; N-MNIST's folder; `tonic:POKERDVS`, kept in $TIMESURF_DATA
    split : "train" or "test", where there are both: of tonic's, or a folder with `Train` and `Test` (or `train.npz`
        and `test.npz`) in it

    >>> load("digits.mp3")
    Traceback (most recent call last):
    timesurf.errors.EventError: digits.mp3 is not there. Data is one of: an .npz file of recordings; a file of a ...
    """
    if split not in nmnist.COUNTS:
        raise EventError(f"split = {split!r} must be one of {', '.join(nmnist.COUNTS)}.")
    if str(what).startswith("tonic:"):
        return _tonic(str(what).removeprefix("tonic:"), split)
    place = remote.local(str(what)) if remote.is_url(what) else Path(what)
    if place.is_dir():
        return _folder(place, split)
    if not place.exists():
        raise EventError(f"{place} is not there. {_ACCEPTED}")
    if place.suffix.lower() == ".npz":
        return npz.read(place)
    if place.suffix.lower() in camera.SUFFIXES:
        return camera.read(place)
    raise EventError(f"{place} is a file of no known format. {_ACCEPTED}")


def fitted(recordings: Recordings, field: tuple[int, ...], polarities: int) -> Recordings:
    """Recordings on that field and with so many polarities, where it is clear how: cropped, merged, or widened."""
    if nmnist.is_whole(recordings) and (field, polarities) == ((28, 28), 1):
        return nmnist.prepared(recordings)
    if polarities == 1 < recordings.polarities:
        recordings = transforms.merge_polarities(recordings)
    smaller = len(recordings.field) == len(field) and recordings.polarities <= polarities
    if smaller and all(a <= b for a, b in zip(recordings.field, field, strict=True)):
        return recordings.on_field(field, polarities)
    return recordings  # a network says what is wrong with it


def _folder(place: Path, split: str) -> Recordings:
    if (place / f"{split}.npz").is_file() or any(place.glob(f"{split.capitalize()}/[0-9]/*.bin")):
        return nmnist.read(place, split)
    if any(place.glob("[0-9]/*.bin")):
        return nmnist.decode(place)
    for inner in (place / split.capitalize(), place / split, place):
        files = [file for file in sorted(inner.glob("*/*")) if file.suffix.lower() in camera.SUFFIXES]
        if files:
            return _classes(files)
    if split == "train" and (place / nmnist.SAMPLE).is_file():
        return nmnist.read(place, split)
    raise EventError(f"{place} is a folder without {split} recordings. {_ACCEPTED}")


def _classes(files: list[Path]) -> Recordings:
    """One recording a file, labelled with the name of its folder, all on the largest field of them."""
    recordings = [camera.read(file) for file in files]
    return Recordings.from_structured(
        [recording.to_structured()[0] for recording in recordings],
        field=np.max([recording.field for recording in recordings], axis=0).tolist(),
        polarities=2,
        labels=[file.parent.name for file in files],
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
