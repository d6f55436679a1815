"""What a path names: only regular files are read, and only regular files are replaced.

Reading a pipe may wait for ever, a device may never end, and a rename over a device node replaces the device.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_OPEN_FILES = ("/dev/fd/", "/dev/std", "/proc/")  # names for what a process has open; a regular file for a moment


def check_input(path: str | Path) -> None:
    """Refuse a pipe, a device or a socket where a file is to be read; a path without anything is left to the reader.

    Parameters
    ----------
    path : str or Path
        The file to read.

    Raises
    ------
    OSError
        If it is not a regular file or a folder.

    """
    kind = _kind(path)
    if kind:
        raise OSError(f"Cannot read {path}: it is {kind}. Write its content to a file, and name that.")


def check_output(path: str | Path) -> None:
    """Refuse a path that no file can be written to: a folder, a pipe, a device, or a place in no folder.

    Parameters
    ----------
    path : str or Path
        The file to write or to replace.

    Raises
    ------
    OSError
        If it cannot be written to.

    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    kind = _kind(path) or ("an open file of a process" if os.path.abspath(path).startswith(_OPEN_FILES) else "")
    if kind:
        raise OSError(f"Cannot write {path}: it is {kind}, which is never replaced. Name a regular file.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: its folder does not exist.")


def _kind(path: str | Path) -> str:
    """What a path is if neither a regular file nor a folder; empty otherwise, also if there is nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "")
