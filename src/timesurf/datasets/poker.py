"""POKER-DVS (Serrano-Gotarredona and Linares-Barranco 2015): pips of playing cards, flipped before an event camera."""

from __future__ import annotations

import os
from pathlib import Path

from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import npz

FIELD = (35, 35)
SUITS = ("cl", "di", "he", "sp")
SAMPLE = "poker_dvs_100.npz"


def read(path: str | Path | None = None) -> Recordings:
    """Recordings labelled with their suit.

    path : an `.npz` in our layout, or a folder that holds one named poker_dvs_100.npz; None: $TIMESURF_DATA
    """
    place = Path(path or os.environ.get("TIMESURF_DATA", "."))
    file = place / SAMPLE if place.is_dir() else place
    if not file.is_file():
        raise EventError(
            f"{file} is not there. Put recordings of POKER-DVS there as .npz (x, y, t, p, offsets, labels), or read "
            "them with timesurf.io.tonic.named('POKERDVS', folder)."
        )
    return npz.read(file, field=FIELD, polarities=2)
