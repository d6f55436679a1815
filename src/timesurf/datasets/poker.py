"""POKER-DVS (Serrano-Gotarredona and Linares-Barranco 2015): playing cards flipped before an event camera."""

from __future__ import annotations

import os
from pathlib import Path

from timesurf.datasets import check_split
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import npz

ABOUT = "POKER-DVS, pips of playing cards; read from $TIMESURF_DATA"
LICENCE = "free to use with citation"
FIELD, POLARITIES = (35, 35), 2
SUITS = ("cl", "di", "he", "sp")
SAMPLE = "poker_dvs_100.npz"


def read(path: str | Path | None = None) -> Recordings:
    """Recordings labelled with their suit.

    Parameters
    ----------
    path : str or Path, optional
        An `.npz` file in our layout, or a folder that holds one named poker_dvs_100.npz; None: $TIMESURF_DATA.

    Returns
    -------
    Recordings

    """
    place = Path(path or os.environ.get("TIMESURF_DATA", "."))
    file = place / SAMPLE if place.is_dir() else place
    if not file.is_file():
        raise EventError(
            f"{file} does not exist. Put recordings of POKER-DVS there as .npz (x, y, t, p, offsets, labels), or read "
            "them with timesurf.io.tonic.named('POKERDVS', folder)."
        )
    return npz.read(file, field=FIELD, polarities=POLARITIES)


def load(split: str = "train") -> Recordings:
    """All recordings, from $TIMESURF_DATA: they are not divided, so there is no test split."""
    check_split(split)
    if split != "train":
        raise EventError("POKER-DVS is not divided into train and test: hold out a share of it (--validation).")
    return read()
