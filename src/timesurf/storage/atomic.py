"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` when the block ends without an error, and is removed otherwise.

    After a crash `path` holds the old content or the new, never a part.

    Parameters
    ----------
    path : str or Path
        Its folder must exist.

    Yields
    ------
    file
        Open for writing bytes.

    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: its folder does not exist.")
    handle, temporary = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path.resolve())
        _sync(path.resolve().parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
