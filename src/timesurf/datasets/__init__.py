"""Data sets as `Recordings`, by name. They know events, nothing of networks.

A new data set is a module here that offers what `DataSet` lists, and a line in `MODULES`. One that is distributed as a
folder of files also offers `InFolder`, and is then recognised wherever a command takes a folder.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from timesurf.errors import EventError
from timesurf.events import Recordings

MODULES = {
    "digits": "timesurf.datasets.digits",
    "mnist": "timesurf.datasets.saccades",
    "nmnist": "timesurf.datasets.nmnist",
    "poker": "timesurf.datasets.poker",
    "sentences": "timesurf.datasets.sentences",
    "wandering": "timesurf.datasets.wandering",
}
SPLITS = ("train", "test")


@runtime_checkable
class DataSet(Protocol):
    """What a module of this package offers.

    Attributes
    ----------
    ABOUT : str
        What it is and what it needs, in one line.
    LICENCE : str
        Of the data.
    FIELD : tuple of int
        Size of the field along each dimension.
    POLARITIES : int
        How many there are.

    """

    ABOUT: str
    LICENCE: str
    FIELD: tuple[int, ...]
    POLARITIES: int

    def load(self, split: str = "train") -> Recordings:
        """Labelled recordings of one split: made here, or read from $TIMESURF_DATA. Nothing is downloaded."""


@runtime_checkable
class InFolder(Protocol):
    """What a module offers whose data set is distributed as a folder."""

    def found(self, folder: Path, split: str) -> bool:
        """Whether this folder holds the split."""

    def read(self, folder: Path, split: str) -> Recordings:
        """The recordings of the split in this folder."""


def named(name: str) -> Any:
    """The module of a data set, by the name that commands know it by.

    Parameters
    ----------
    name : str
        One of `MODULES`.

    Returns
    -------
    module
        It offers what `DataSet` lists.

    Raises
    ------
    EventError
        If there is no such data set; the message lists those that there are.

    Examples
    --------
    >>> named("sentences").FIELD
    (30, 5)
    >>> named("words")
    Traceback (most recent call last):
    timesurf.errors.EventError: There is no data set 'words'. Data sets by name: digits (scikit-learn's small digits ...

    """
    if name not in MODULES:
        raise EventError(f"There is no data set {name!r}. {described()}")
    return import_module(MODULES[name])


def described() -> str:
    """The names of all data sets, with what each is."""
    return "Data sets by name: " + "; ".join(f"{name} ({named(name).ABOUT})" for name in MODULES) + "."


def check_split(split: str) -> None:
    """Refuse what is neither train nor test."""
    if split not in SPLITS:
        raise EventError(f"split = {split!r} must be one of {', '.join(SPLITS)}.")
