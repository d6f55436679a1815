"""What a name of data means: a file, a folder, a registered data set or one of tonic's, as recordings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from timesurf import datasets, transforms
from timesurf.datasets import nmnist
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.events.joining import joined
from timesurf.io import camera, formats, npz, tonic
from timesurf.storage import remote
from timesurf.transforms.preparation import Preparation

_NOTHING = Preparation()
SUFFIXES = (".npz", *camera.SUFFIXES)
_ACCEPTED = (
    "Data is one of: an .npz file of recordings; a camera file ("
    + ", ".join(camera.SUFFIXES)
    + "), on this machine or at an address such as s3://bucket/digits.npz; "
    "a folder of such files, or with one folder of them per class; N-MNIST's folder, or its Train or Test; tonic:NAME; "
    f"one of {', '.join(datasets.MODULES)}."
)


def load(what: str | Path, *, split: str = "train", field: Sequence[int] | None = None) -> Recordings:
    """Recordings of a file, a folder or a data set.

    Parameters
    ----------
    what : str or Path
        `digits.npz`, in our layout; `one.aedat4` and the like, one unlabelled recording; either at an address such as
        `s3://bucket/digits.npz`, copied here once; the folder of a ROS 2 bag; a folder with one folder of such files
        per class, in which files outside a class keep the labels that they have; N-MNIST's folder; `tonic:POKERDVS`,
        kept in $TIMESURF_DATA; where no such file exists, a name of `timesurf.datasets.MODULES`.
    split : str
        "train" or "test", where there are both: of data sets by name, or in a folder with `Train` and `Test` (or
        `train.npz` and `test.npz`).
    field : sequence of int, optional
        Size of the sensor, for camera files that do not state it.

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
    if place.is_dir() and not formats.is_bag(place):
        return _folder(place, split, field)
    if not place.exists():
        if str(what) in datasets.MODULES:
            made: Recordings = datasets.named(str(what)).load(split)
            return made
        raise EventError(f"{place} does not exist. {_ACCEPTED}")
    if place.suffix.lower() == ".npz":
        return npz.read(place)
    if place.is_dir() or place.suffix.lower() in camera.SUFFIXES:
        return camera.read(place, field=field)
    lines = " Lines of numbers, such as t x y p, are read from a file that is called .csv."
    raise EventError(
        f"{place} is a file of no known format.{lines if place.suffix.lower() == '.txt' else ''} {_ACCEPTED}"
    )


def fitted(
    recordings: Recordings, field: tuple[int, ...], polarities: int, preparation: Preparation = _NOTHING
) -> Recordings:
    """Recordings as a network takes them, where it is clear how: prepared, cropped, merged, or widened.

    Parameters
    ----------
    recordings : Recordings
        As they were read.
    field : tuple of int
        Of the network.
    polarities : int
        Of the network.
    preparation : Preparation
        What the recordings that the network was trained on went through. Recordings on the network's field, where the
        sensor has another, have been through it.

    Returns
    -------
    Recordings
        Unchanged where it is not clear how; the network then says what does not fit.

    """
    if preparation.changes and not is_prepared(recordings, field, preparation):
        recordings = preparation(recordings)
    elif nmnist.is_whole(recordings) and (field, polarities) == ((28, 28), 1):
        return nmnist.prepared(recordings)
    if polarities == 1 < recordings.polarities:
        recordings = transforms.merge_polarities(recordings)
    smaller = len(recordings.field) == len(field) and recordings.polarities <= polarities
    if smaller and all(a <= b for a, b in zip(recordings.field, field, strict=True)):
        return recordings.on_field(field, polarities)
    return recordings


def is_prepared(recordings: Recordings, field: tuple[int, ...], preparation: Preparation) -> bool:
    """Whether recordings are on the field that a preparation leads to, and that is not the sensor's."""
    return recordings.field == field != preparation.field and preparation.field is not None


def each(
    what: str | Path, *, split: str = "train", field: Sequence[int] | None = None
) -> Iterator[tuple[str | None, Recordings]]:
    """The same file by file, so that only one need be in memory: name and recordings; None where it is no file.

    Parameters
    ----------
    what, split, field
        As for `load`.

    Yields
    ------
    name : str or None
        Of the file, relative to a folder.
    recordings : Recordings
        In it, labelled where `load` labels them.

    """
    datasets.check_split(split)
    place = Path(what)
    if not place.is_dir() or formats.is_bag(place) or _known(place, split) is not None:
        yield place.name if place.is_file() else None, load(what, split=split, field=field)
        return
    for file, label in _files(place, split):
        yield file.relative_to(place).as_posix(), _one(file, label, field)


def _folder(place: Path, split: str, field: Sequence[int] | None) -> Recordings:
    known = _known(place, split)
    if known is not None:
        read: Recordings = known.read(place, split)
        return read
    files = _files(place, split)
    parts = [_one(file, label, field) for file, label in files]
    for (file, _), part in zip(files, parts, strict=True):
        if len(part.field) != len(parts[0].field):
            sized = [
                f"{of.name} has a field of {' x '.join(map(str, some.field))}"
                for of, some in (
                    (files[0][0], parts[0]),
                    (file, part),
                )
            ]
            raise EventError(f"{place}: {' and '.join(sized)}. Recordings of one folder have equally many dimensions.")
    return joined(parts)


def _known(place: Path, split: str) -> Any:
    """The data set whose folder this is, if it is one's."""
    modules = map(datasets.named, datasets.MODULES)
    return next((of for of in modules if isinstance(of, datasets.InFolder) and of.found(place, split)), None)


def _files(place: Path, split: str) -> list[tuple[Path, str | None]]:
    """Files of recordings in a folder or in its folders, each with the name of its folder as its class."""
    for inner in (place / split.capitalize(), place / split, place):
        files = [file for file in sorted([*inner.glob("*"), *inner.glob("*/*")]) if _is_file(file)]
        if files:
            return [(file, None if file.parent == inner else file.parent.name) for file in files]
    raise EventError(f"{place} is a folder without {split} recordings. {_ACCEPTED}")


def _is_file(file: Path) -> bool:
    if file.is_dir():
        return formats.is_bag(file)
    return file.suffix.lower() in SUFFIXES and file.is_file() and not formats.is_bag(file.parent)


def _one(file: Path, label: str | None, field: Sequence[int] | None) -> Recordings:
    """Recordings of a file of a folder, of this class where it has one."""
    recordings = load(file, field=field)
    return recordings if label is None else recordings.with_labels([label] * len(recordings))


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
