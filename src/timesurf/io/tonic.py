"""Data sets of tonic, and objects like them: pairs of a structured array of events and a label, by number.

tonic itself (the extra `tonic`, GPL) is imported only when one of its data sets is loaded by name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from timesurf.errors import EventError, MissingEngineError
from timesurf.events import Recordings


def read(dataset: Any, *, progress: Callable[[int, int], None] | None = None) -> Recordings:
    """All recordings of a data set, in its order.

    Parameters
    ----------
    dataset : object
        `len(dataset)` recordings, `dataset[i]` being (events, label), as all of tonic's are. The field is its
        `sensor_size`, if it has one. A label may be None: unknown.
    progress : callable, optional
        Called with the number of recordings read and of all recordings.

    Returns
    -------
    Recordings

    """
    events, labels = [], []
    for i in range(len(dataset)):
        one, label = dataset[i]
        events.append(one)
        labels.append(label)
        if progress and ((i + 1) % 64 == 0 or i + 1 == len(dataset)):
            progress(i + 1, len(dataset))
    if not events:
        raise EventError(f"{type(dataset).__name__} holds no recordings.")
    size = getattr(dataset, "sensor_size", None)
    if size is None or any(n is None for n in size):  # in some of tonic's data sets it differs between recordings
        return Recordings.from_structured(events, labels=labels)
    *places, polarities = size
    names = events[0].dtype.names or ()
    field = [n for n, axis in zip(places, ("x", "y", "z"), strict=False) if axis in names]
    return Recordings.from_structured(events, field=field, polarities=polarities, labels=labels)


def named(name: str, folder: str | Path, *, progress: Callable[[int, int], None] | None = None, **options: Any) -> Any:
    """One of tonic's data sets by its name.

    Parameters
    ----------
    name : str
        `NMNIST`, `POKERDVS`, `DVSGesture`, ...
    folder : str or Path
        Where tonic keeps it; tonic downloads what is not there yet.
    progress : callable, optional
        Called with the number of recordings read and of all recordings.
    **options
        What that data set takes, such as train=False.

    Returns
    -------
    Recordings

    """
    try:
        from tonic import datasets
    except ImportError as error:
        raise MissingEngineError("tonic's data sets need tonic: pip install 'timesurf[tonic]'.") from error
    known = sorted(n for n in vars(datasets) if n[0].isupper())
    if name not in known:
        raise EventError(f"tonic has no data set {name!r}. It has {', '.join(known)}.")
    return read(getattr(datasets, name)(str(folder), **options), progress=progress)
