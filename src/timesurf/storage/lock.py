"""One process at a time in a folder.

The lock is held by the operating system on an open file, not by the file's existence: it ends with the process,
however that ends.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from timesurf.errors import FolderInUseError

NAME = ".lock"
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


@contextmanager
def held(folder: str | Path, use: str = "training") -> Iterator[None]:
    """Hold a folder for the length of a `with` block.

    Parameters
    ----------
    folder : str or Path
        Created if it does not exist; a file named `.lock` stays in it.
    use : str
        What the folder is held for, for error messages.

    Raises
    ------
    FolderInUseError
        If another process, or another part of this one, holds it.

    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            _lock(handle)
        except OSError as error:
            if error.errno in _TAKEN:
                raise FolderInUseError(
                    f"{folder} is in use by another {use}: wait until it has ended, or choose another folder."
                ) from error
            logging.getLogger("timesurf").warning(
                "%s is on a file system without locks (%s): run only one %s in it at a time.", folder, error, use
            )
        yield
    finally:
        os.close(handle)  # which also ends the lock


if os.name == "nt":
    import msvcrt

    def _lock(handle: int) -> None:
        """Lock the first byte of an open file, or raise an OSError at once."""
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _lock(handle: int) -> None:
        """Lock an open file, or raise an OSError at once."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
