"""Three parts of a data set: recordings that a network learns from, is chosen by, and is reported on.

Choosing the best of many passes, or of many settings, by some recordings makes the accuracy on these recordings too
high. So what is reported is measured on recordings that were used for nothing else: those held out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.events import Recordings

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """Recordings in three parts; none is in two of them.

    Attributes
    ----------
    learn : Recordings
        What networks learn from, all unlabelled recordings among them.
    validation : Recordings or None
        What the best pass, or the best settings, are chosen by.
    held_out : Recordings or None
        What is reported on, and used for nothing else.
    numbers : dict
        The numbers of the recordings in each part, by its name, where all come from one data set.
    """

    learn: Recordings
    validation: Recordings | None
    held_out: Recordings | None
    numbers: dict[str, list[int]] = field(default_factory=dict)


def split(
    recordings: Recordings,
    validation: float = 0.1,
    held_out: float = 0.1,
    seed: int = 0,
    *,
    origin: Array | None = None,
) -> Parts:
    """Split recordings three ways, each class by itself.

    A class keeps at least one recording to learn from. One with two recordings has none to choose by, one with a single
    recording is learned from only.

    Parameters
    ----------
    recordings : Recordings
        At least some of them labelled.
    validation, held_out : float
        Share of each class to choose by, and to report on; 0 for none.
    seed : int
        The same seed gives the same split.
    origin : array of int, optional
        The number of what each recording was cut from: pieces of one long recording, which resemble each other, then
        stay in one part, and shares are of long recordings.

    Returns
    -------
    Parts
        Without `validation` or `held_out` where its share is 0 or all classes are too small.

    Raises
    ------
    SettingError
        If the shares leave nothing to learn from.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> parts = split(sentences.make(100, seed=0), validation=0.2, held_out=0.2)
    >>> len(parts.learn), len(parts.validation), len(parts.held_out)
    (60, 20, 20)
    """
    check_shares(validation, held_out)
    rng, labelled = np.random.default_rng(seed), recordings.labelled
    label = np.full(len(recordings), -1)
    if labelled.any():
        label[labelled] = np.unique(np.asarray(recordings.labels)[labelled], return_inverse=True)[1]
    whose = np.arange(len(label)) if origin is None else np.unique(origin, return_inverse=True)[1]
    label = label[np.unique(whose, return_index=True)[1]]
    rest, reported = np.arange(len(label)), np.empty(0, np.int64)
    if held_out:
        rest, reported = hold_out(label, held_out, rng)
    learned, chosen = np.arange(len(rest)), np.empty(0, np.int64)
    if validation:
        learned, chosen = hold_out(label[rest], validation / (1 - held_out), rng)
    parts = {"learn": rest[learned], "validation": rest[chosen], "held_out": reported}
    numbers = {name: np.flatnonzero(np.isin(whose, some)) for name, some in parts.items()}
    learn, judge, report = (recordings[some] for some in numbers.values())
    which = {name: some.tolist() for name, some in numbers.items()}
    return Parts(learn, judge if len(judge) else None, report if len(report) else None, which)


def check_shares(validation: float, held_out: float) -> None:
    """Refuse shares to choose by and to report on that leave nothing to learn from."""
    for name, share in (("validation", validation), ("held_out", held_out)):
        if not 0 <= share < 1:
            raise SettingError(f"{name} = {share!r} must be a share of the recordings, at least 0 and less than 1.")
    if not validation + held_out < 1:
        raise SettingError(f"validation = {validation} and held_out = {held_out} leave nothing to learn from.")


def hold_out(label: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two parts: the second has this share of each class, at least one recording, but never the whole class.

    Parameters
    ----------
    label : array of int
        Class number of each recording; -1, no label, stays in the first part.
    share : float
        Between 0 and 1.
    rng : numpy.random.Generator
        Draws which recordings.

    Returns
    -------
    first, second : array of int
        Numbers of the recordings. The second is empty where no class has two recordings.
    """
    if not 0 < share < 1:
        raise SettingError(f"validation = {share!r} must lie between 0 and 1: the share of recordings to hold out.")
    held = np.zeros(len(label), dtype=np.bool_)
    for c in np.unique(label[label >= 0]):
        mine = rng.permutation(np.flatnonzero(label == c))
        held[mine[: min(max(round(share * len(mine)), 1), len(mine) - 1)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def folds(label: Array, number: int, rng: np.random.Generator) -> Array:
    """The fold of each recording, for cross-validation: each fold has its share of every class.

    Examples
    --------
    >>> np.bincount(folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))).tolist()
    [2, 2, 2]
    """
    fold = np.empty(len(label), dtype=np.int64)
    for c in np.unique(label):
        mine = rng.permutation(np.flatnonzero(label == c))
        fold[mine] = (np.arange(len(mine)) + rng.integers(number)) % number
    return fold
