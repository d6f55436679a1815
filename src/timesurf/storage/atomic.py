"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from timesurf.storage.kinds import check_output


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` when the block ends without an error, and is removed otherwise.

    After a crash `path` holds the old content or the new, never a part. A file that is replaced keeps its mode and, if
    this user may give files away, its owner.

    Parameters
    ----------
    path : str or Path
        Its folder must exist; what is no regular file is refused.

    Yields
    ------
    file
        Open for writing bytes.

    """
    path = Path(path)
    check_output(path)
    handle, temporary = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        put(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, temporary):
            error.filename = str(path)  # what is full or gone is known by the name that was asked for
        raise


def put(whole: str | Path, path: str | Path) -> None:
    """Rename a complete file over `path`, in the same folder or one below, so that it survives a power failure."""
    target = Path(path).resolve()
    check_output(path)
    with open(whole, "r+b") as file:  # Windows flushes only what is open for writing
        os.fsync(file.fileno())
    _adopt(whole, target)
    try:
        os.replace(whole, target)
    except PermissionError as error:
        if os.name != "nt":
            raise
        raise PermissionError(
            f"Cannot write {path}: Windows replaces no file that a program has open, this one included. "
            "Close it there, or choose another name."
        ) from error
    _sync(target.parent)


def _adopt(whole: str | Path, target: Path) -> None:
    """Give a new file the mode and the owner of the one that it replaces; without one, the mode of any new file."""
    try:
        before = target.stat()
    except FileNotFoundError:
        os.chmod(whole, 0o666 & ~_umask())
        return
    new = os.stat(whole)
    if os.name == "posix" and (new.st_uid, new.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):
            os.chown(whole, -1, before.st_gid)
        with suppress(PermissionError):
            os.chown(whole, before.st_uid, -1)
    with suppress(PermissionError):  # it belongs to somebody else now
        os.chmod(whole, stat.S_IMODE(before.st_mode))


def _sync(folder: Path) -> None:
    """Make the new name of a file survive a power failure too, where folders can be synchronised."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
