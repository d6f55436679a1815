"""The folder for files that can be made again: copies of remote files, simulated data sets, prepared events."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def folder() -> Path:
    """$TIMESURF_CACHE, else timesurf in $XDG_CACHE_HOME or in ~/.cache; created if it does not exist.

    Where there is no home that can be written to, as in many containers, it is `temporary()`.
    """
    if place := os.environ.get("TIMESURF_CACHE"):
        path = Path(place)
        path.mkdir(parents=True, exist_ok=True)
        return path
    try:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "timesurf"
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a read-only home; a user without any
        return temporary()
    return path if os.access(path, os.W_OK) else temporary()


def temporary() -> Path:
    """A folder of this user's own among temporary files, the same for all processes where it can be trusted.

    What lies in a cache is trusted, compiled kernels above all, so no other user may write to it. A folder of the same
    name that belongs to somebody else is not used: this process then gets a folder of its own.

    Raises
    ------
    OSError
        If there is no place for temporary files either.

    """
    if os.name != "posix":
        return _of_windows()
    path = Path(tempfile.gettempdir()) / f"timesurf-{os.getuid()}"
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        about = path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
            return Path(tempfile.mkdtemp(prefix="timesurf-"))
    return path


def _of_windows() -> Path:
    """The same on Windows, where what lies in $LOCALAPPDATA is this user's own."""
    with suppress(KeyError, OSError):
        path = Path(os.environ["LOCALAPPDATA"]) / "Temp" / "timesurf"
        path.mkdir(parents=True, exist_ok=True)
        return path
    return Path(tempfile.mkdtemp(prefix="timesurf-"))
