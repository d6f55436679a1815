"""The folder for files that can be made again: copies of remote files, simulated data sets, prepared events."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """$TIMESURF_CACHE, else timesurf in $XDG_CACHE_HOME or in ~/.cache; created if it does not exist."""
    place = os.environ.get("TIMESURF_CACHE")
    path = Path(place) if place else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "timesurf"
    path.mkdir(parents=True, exist_ok=True)
    return path
