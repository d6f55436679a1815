"""The paper's synthetic benchmark: sentences of two words of three characters, shown by Poisson pixels.

A character is a 5 x 5 bitmap, a sentence six of them in a row: a field of 30 x 5. For 10 ms every lit pixel fires at
10 kHz, every other at 10 Hz. The two sentences differ in one character, x or /, so only those carry the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.datasets import check_split
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.times import Time, microseconds

Array = NDArray[Any]
ABOUT = "the paper's synthetic sentences; needs no file"
LICENCE = "BSD-3-Clause, as timesurf"
FIELD, POLARITIES = (30, 5), 1
_RECORDINGS = 1000  # of each split, as in the paper

_ROWS = {
    "v": "*...* *...* .*.*. .*.*. ..*..",
    "/": "....* ...*. ..*.. .*... *....",
    "x": "*...* .*.*. ..*.. .*.*. *...*",
    "t": "***** ..*.. ..*.. ..*.. ..*..",
    "y": "*...* .*.*. ..*.. ..*.. ..*..",
    "p": "****. *...* ****. *.... *....",
    "o": ".***. *...* *...* *...* .***.",
    "=": "..... ***** ..... ***** .....",
    "n": "*...* **..* *.*.* *..** *...*",
    "k": "*..*. *.*.. **... *.*.. *..*.",
    "s": ".**** *.... .***. ....* ****.",
    "d": "***.. *..*. *...* *..*. ***..",
    "j": "..*** ...*. ...*. *..*. .**..",
}
CHARACTERS = {name: np.array([[c == "*" for c in row] for row in rows.split()]).T for name, rows in _ROWS.items()}
TASKS = tuple((f"v{a}vyty", f"v{b}vyty") for a, b in ("/x", "po", "=n", "ks", "dj"))  # the first two are the paper's
TASK1, TASK2 = TASKS[:2]
SHIFTS = 4  # pixels that are lit in x and not in /


def bitmap(sentence: str) -> Array:
    """Lit pixels of a sentence, indexed [x, y].

    Examples
    --------
    >>> bitmap("v/").shape
    (10, 5)

    """
    unknown = sorted(set(sentence) - set(CHARACTERS))
    if unknown or not sentence:
        raise SettingError(f"No character {unknown or sentence!r}: sentences are made of {''.join(CHARACTERS)}.")
    return np.concatenate([CHARACTERS[c] for c in sentence])


def make(
    recordings: int,
    seed: int | np.random.Generator = 0,
    *,
    sentences: Sequence[str] = TASK1,
    duration: Time = "10 ms",
    high: float = 10e3,
    low: float = 10.0,
) -> Recordings:
    """Recordings of the sentences, in turn, labelled with the sentence.

    Parameters
    ----------
    recordings : int
        How many.
    seed : int or Generator
        The same seed gives the same events.
    sentences : sequence of str
        All of the same length.
    duration : Time
        Of each recording.
    high, low : float
        Firing rates of lit and of dark pixels, Hz.

    Returns
    -------
    Recordings

    Examples
    --------
    >>> make(1000, seed=0).labels[:4].tolist()
    ['v/vyty', 'vxvyty', 'v/vyty', 'vxvyty']

    """
    if recordings < 1:
        raise SettingError(f"recordings = {recordings!r} must be at least 1.")
    number = np.arange(recordings) % len(sentences)
    return poisson(
        np.stack([bitmap(s) for s in sentences])[number],
        np.asarray(sentences)[number],
        seed,
        duration=duration,
        high=high,
        low=low,
    )


def load(split: str = "train") -> Recordings:
    """1,000 recordings of the paper's first task; other ones for "train" and for "test"."""
    check_split(split)
    return make(_RECORDINGS, seed=0 if split == "train" else 1)


def shifted(recordings: int, step: int, seed: int | np.random.Generator = 0, **about: Any) -> Recordings:
    """Recordings of task 1 after some pixels have moved from x to /; after the fourth the two have changed places.

    Parameters
    ----------
    recordings : int
        How many.
    step : int
        Pixels that have moved, 0 to 4.
    seed : int or Generator
        The same seed gives the same events.
    **about
        Duration and firing rates, as for `make`.

    Returns
    -------
    Recordings

    Examples
    --------
    >>> [int(s.sum()) for s in _shift(4)] == [int(CHARACTERS[c].sum()) for c in "x/"]
    True

    """
    number = np.arange(recordings) % len(TASK1)
    lit = np.stack([np.concatenate([CHARACTERS["v"], c, *(CHARACTERS[o] for o in "vyty")]) for c in _shift(step)])
    return poisson(lit[number], np.asarray(TASK1)[number], seed, **about)


def _shift(step: int) -> tuple[Array, Array]:
    """/ and x after `step` moves."""
    if not 0 <= step <= SHIFTS:
        raise SettingError(f"step = {step!r} must lie between 0 and {SHIFTS}.")
    slash, cross = CHARACTERS["/"].copy(), CHARACTERS["x"].copy()
    moved = np.argwhere(cross & ~slash)[:step]
    slash[tuple(moved.T)], cross[tuple(moved.T)] = True, False
    return slash, cross


def poisson(
    lit: Array,
    labels: Any,
    seed: int | np.random.Generator = 0,
    *,
    duration: Time = "10 ms",
    high: float = 10e3,
    low: float = 10.0,
) -> Recordings:
    """One recording of independent Poisson pixels for each bitmap.

    Parameters
    ----------
    lit : array of bool
        (recordings, width, height): which pixels are lit.
    labels : sequence
        One per recording.
    seed, duration, high, low
        As for `make`.

    Returns
    -------
    Recordings

    """
    rng = np.random.default_rng(seed)
    us = microseconds(duration, "duration")
    counts = rng.poisson(np.where(lit, high, low) * us * 1e-6)
    of = np.repeat(np.arange(counts.size), counts.ravel())
    recording, x, y = np.unravel_index(of, counts.shape)
    moment = rng.random(len(of))  # of the duration; equal microseconds then fall in random order
    order = np.argsort(recording + moment)
    return Recordings(
        [x[order].astype(np.uint8), y[order].astype(np.uint8)],
        (moment[order] * us).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(counts.reshape(len(lit), -1).sum(axis=1))]),
        field=lit.shape[1:],
        labels=labels,
    )
